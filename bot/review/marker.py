"""Hidden markers in posted bodies: how Redline finds what it has posted when an answer was lost.

A marker is an HTML comment on the last line of a body. Only the last line counts, so that nothing which the
model or a person wrote above it can pass for one.
"""

import re

_MARKER = re.compile(r"\n<!-- redline:([a-z]+)=([A-Za-z0-9._:-]+) -->\s*\Z")
SUMMARY = "summary"


def mark_finding(body: str, fingerprint: str) -> str:
    """Mark an inline comment with the finding it carries."""
    return _mark(body, "finding", fingerprint)


def mark_review(body: str, reference: str) -> str:
    """Mark the body of a review with the run that posted it."""
    return _mark(body, "review", reference)


def mark_summary(body: str) -> str:
    """Mark the one summary comment of a pull request."""
    return _mark(body, SUMMARY, "1")


def read_marker(body: str) -> tuple[str, str] | None:
    """Read a body's marker as kind and value; None if it carries none."""
    found = _MARKER.search("\n" + body)
    return (found[1], found[2]) if found else None


def _mark(body: str, kind: str, value: str) -> str:
    return f"{body.rstrip()}\n\n<!-- redline:{kind}={value} -->"
