"""Hidden markers in posted bodies: how Redline finds what it has posted when an answer was lost.

A marker is an HTML comment on the last line of a body. Only the last line counts, so that nothing which the
model or a person wrote above it can pass for one.
"""

import re
from typing import NamedTuple

_MARKER = re.compile(r"\n<!-- redline:([a-z]+)=([A-Za-z0-9._:-]+)(?: run=([A-Za-z0-9._:-]+))? -->\s*\Z")
FINDING = "finding"
REVIEW = "review"
SUMMARY = "summary"


class Marker(NamedTuple):
    """What a marker says: the kind of body, what it is about, and the run that posted it, where that is told."""

    kind: str
    value: str
    run: str = ""


def mark_finding(body: str, fingerprint: str, reference: str) -> str:
    """Mark an inline comment with the finding it carries and the run that posts it."""
    return _mark(body, FINDING, f"{fingerprint} run={reference}")


def mark_review(body: str, reference: str) -> str:
    """Mark the body of a review with the run that posted it."""
    return _mark(body, REVIEW, reference)


def mark_summary(body: str) -> str:
    """Mark the one summary comment of a pull request."""
    return _mark(body, SUMMARY, "1")


def read_marker(body: str) -> Marker | None:
    """Read a body's marker; None if it carries none."""
    found = _MARKER.search("\n" + body)
    return Marker(found[1], found[2], found[3] or "") if found else None


def _mark(body: str, kind: str, value: str) -> str:
    return f"{body.rstrip()}\n\n<!-- redline:{kind}={value} -->"
