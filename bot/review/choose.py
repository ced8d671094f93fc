"""Which findings are worth a person's time: no empty advice, nothing twice, the most important first."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from bot.findings import Finding, Severity

# Advice that names no defect. It is what readers call noise, and what makes them stop reading.
_EMPTY_ADVICE = re.compile(
    r"""^\W*(?:
        (?:please\s+)?(?:consider|you\s+(?:may|might|could|should))\s+(?:adding|add)\s+(?:an?\s+|some\s+|more\s+)?
            (?:comments?|docstrings?|documentation|(?:unit\s+)?tests?|logging)\b
      | (?:please\s+)?(?:verify|ensure|make\s+sure|double[- ]check|confirm|check)\s+(?:that|whether|if)\b
      | (?:looks|good|great|nice|well)\b.{0,20}\b(?:good|job|work|change|done)\b
      | (?:the|these|this)\s+(?:findings?|review|diff|changes?)\s+(?:is|are|was|were|has|have)\b
      | no\s+(?:issues?|problems?|changes?|findings?)\b
    )""",
    re.VERBOSE | re.IGNORECASE,
)


def is_empty_advice(message: str) -> bool:
    """Tell whether a message asks for comments, checks or praise instead of naming a defect."""
    return not message.strip() or _EMPTY_ADVICE.match(message) is not None


def drop_minor(findings: Sequence[Finding], minimum: Severity) -> tuple[tuple[Finding, ...], int]:
    """Keep the findings that are as severe as the minimum, and count the others, each once."""
    kept = tuple(finding for finding in findings if finding.severity.rank <= minimum.rank)
    left = {finding.fingerprint for finding in findings} - {finding.fingerprint for finding in kept}
    return kept, len(left)


def choose(findings: Iterable[Finding], max_comments: int) -> tuple[Finding, ...]:
    """Order findings by severity, keep each fingerprint once, and move those over the cap off their lines.

    What is over the cap is not lost: it is listed in the summary.
    """
    unique: dict[str, Finding] = {}
    for finding in findings:
        known = unique.get(finding.fingerprint)
        if known is None or _importance(finding) < _importance(known):
            unique[finding.fingerprint] = finding
    ordered = sorted(unique.values(), key=_importance)
    placed = [finding for finding in ordered if finding.place]
    over = {finding.fingerprint for finding in placed[max_comments:]}
    return tuple(
        replace(finding, place=None, unplaced=f"more than {max_comments} comments")
        if finding.fingerprint in over
        else finding
        for finding in ordered
    )


def new_findings(findings: Sequence[Finding], posted: Iterable[str]) -> tuple[Finding, ...]:
    """Keep the placed findings that do not stand on the pull request yet."""
    known = set(posted)
    return tuple(finding for finding in findings if finding.place and finding.fingerprint not in known)


def _importance(finding: Finding) -> tuple[int, bool]:
    return finding.severity.rank, finding.place is None
