"""Secrets in a diff: taken out before anything reads it, so that no log, prompt or comment can repeat them."""

import re

PLACEHOLDER = b"[secret removed]"

# Shapes that are a credential by themselves. A name such as "password" beside a value is not enough: the
# reviewer has to see that a password is hard-coded.
_TOKEN = re.compile(
    rb"""
      \b(?:AKIA|ASIA)[A-Z0-9]{16}\b                                          # AWS access key ids
    | (?i:\baws_?secret_?access_?key\b["']?\s*[:=]\s*["']?)([A-Za-z0-9/+=]{40})   # and their secrets
    | \bgh[pousr]_[A-Za-z0-9_.-]{20,}                                        # GitHub, also the long stateless ones
    | \bgithub_pat_[A-Za-z0-9_]{20,}
    | \bglpat-[A-Za-z0-9_.-]{20,}                                            # GitLab
    | \bxox[abpr]-[A-Za-z0-9-]{10,}                                          # Slack
    | \bsk-[A-Za-z0-9_-]{20,}                                                # model providers
    | \beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]+         # JSON web tokens
    """,
    re.VERBOSE,
)
# A key that is cut off by the end of its hunk has no END line, so the lines themselves decide.
_PEM = re.compile(
    rb"(-----BEGIN [A-Z ]*PRIVATE KEY-----[ \t]*\r?\n)"
    rb"((?:[ +-]?[ \t]*(?:[A-Za-z0-9+/=]+|Proc-Type:[^\n]*|DEK-Info:[^\n]*)?[ \t]*\r?(?:\n|\Z))+)"
)
_PEM_LINE = re.compile(rb"^([ +-]?[ \t]*)[A-Za-z0-9+/=][^\r\n]*", re.MULTILINE)


def redact(data: bytes) -> bytes:
    """Replace credentials in a diff or text; the number of lines and their first characters stay as they are."""
    data = _TOKEN.sub(_without_token, data)
    if b"PRIVATE KEY-----" in data:
        data = _PEM.sub(lambda found: found[1] + _PEM_LINE.sub(rb"\1" + PLACEHOLDER, found[2]), data)
    return data


def redact_text(text: str) -> str:
    """Replace credentials in a text."""
    return redact(text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")


def _without_token(found: re.Match[bytes]) -> bytes:
    if found[1] is None:
        return PLACEHOLDER
    return found[0][: found.start(1) - found.start()] + PLACEHOLDER
