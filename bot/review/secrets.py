"""Secrets in a diff: taken out before anything reads it, so that no log, prompt or comment can repeat them."""

import re
from dataclasses import replace

from bot.diff.model import Diff, FileDiff, Hunk

PLACEHOLDER = b"[secret removed]"

# Shapes that are a credential by themselves. A name such as "password" beside a value is not enough: the
# reviewer has to see that a password is hard-coded. Each begins with a letter, and only then asks whether a
# word begins there: `re` goes over all other letters quickly.
_TOKEN = re.compile(
    rb"""
      A(?<=\bA)(?:KI|SI)A[A-Z0-9]{16}\b                                         # AWS access key ids
    | [Aa](?<=\b[Aa])(?i:ws_?secret_?access_?key)\b["']?\s*[:=][ \t]*           # and their secrets,
      (?:\r?\n[ +-][ \t]*)?["']?([A-Za-z0-9/+=]{40,})                           # also on the next line
    | g(?<=\bg)h[pousr]_[A-Za-z0-9_.-]{20,}                                     # GitHub, also the stateless ones
    | g(?<=\bg)ithub_pat_[A-Za-z0-9_]{20,}
    | g(?<=\bg)lpat-[A-Za-z0-9_.-]{20,}                                         # GitLab
    | x(?<=\bx)ox[abpr]-[A-Za-z0-9-]{10,}                                       # Slack
    | s(?<=\bs)k-[A-Za-z0-9_-]{20,}                                             # model providers
    | e(?<=\be)yJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]+      # JSON web tokens
    """,
    re.VERBOSE,
)
# Where none of these is, no token is. Each begins with one letter, as rare as there is in the token, which is
# what `re` finds fastest.
_HINTS = tuple(
    re.compile(pattern)
    for pattern in (
        rb"A(?:KI|SI)A[A-Z0-9]{16}",
        rb"k(?<=(?i:ess|ss_)k)(?i:ey)\b",
        rb"K(?<=(?i:ess|ss_)K)(?i:ey)\b",
        rb"g(?:h[pousr]_|ithub_pat_|lpat-)[A-Za-z0-9_.-]{20}",
        rb"xox[abpr]-[A-Za-z0-9-]{10}",
        rb"k-(?<=\bsk-)[A-Za-z0-9_-]{20}",
        rb"J(?<=\beyJ)[A-Za-z0-9_-]{10,}\.eyJ",
    )
)
# A key that is cut off by the end of its hunk has no END line, so the lines themselves decide.
_PEM = re.compile(
    rb"(-----BEGIN [A-Z ]*PRIVATE KEY-----[ \t]*\r?\n)"
    rb"((?:[ +-]?[ \t]*(?:[A-Za-z0-9+/=]+|Proc-Type:[^\n]*|DEK-Info:[^\n]*)?[ \t]*\r?(?:\n|\Z))+)"
)
# A `+` alone is a sign before an empty line, and stays.
_PEM_LINE = re.compile(rb"^([ +-]?+[ \t]*+)[A-Za-z0-9+/=][^\r\n]*", re.MULTILINE)


def redact(data: bytes) -> bytes:
    """Replace credentials in a diff or text; the number of lines and the signs before them stay as they are."""
    if b"PRIVATE KEY-----" in data:
        data = _PEM.sub(lambda found: found[1] + _PEM_LINE.sub(rb"\1" + PLACEHOLDER, found[2]), data)
    if any(hint.search(data) for hint in _HINTS):
        data = _TOKEN.sub(_without_token, data)
    return data


def redact_diff(diff: Diff) -> Diff:
    """Replace credentials in the code of a diff; names of files stay, or no comment would find its file."""
    return replace(diff, files=tuple(_redact_file(file) for file in diff.files))


def _redact_file(file: FileDiff) -> FileDiff:
    hunks = tuple(_redact_hunk(hunk) for hunk in file.hunks)
    return file if hunks == file.hunks else replace(file, hunks=hunks)


def _redact_hunk(hunk: Hunk) -> Hunk:
    # The header repeats a line of the code behind its numbers.
    return hunk._replace(header=redact_text(hunk.header), body=redact_text(hunk.body))


def redact_text(text: str) -> str:
    """Replace credentials in a text."""
    return redact(text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")


def _without_token(found: re.Match[bytes]) -> bytes:
    if found[1] is None:
        return PLACEHOLDER
    return found[0][: found.start(1) - found.start()] + PLACEHOLDER
