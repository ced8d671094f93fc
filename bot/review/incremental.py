"""What is new since the last review, by the ancestry of commits: dates and event payloads say nothing sure."""

from collections.abc import Collection, Iterable

from bot.diff.parse import DiffSyntaxError, parse_diff
from bot.diff.since import Since
from bot.findings import Finding
from bot.forges.base import Forge, ForgeError, PullRequest
from bot.review.result import FileCoverage, FileState, ReviewResult

_READ = (FileState.REVIEWED, FileState.READ_BEFORE)


def find_since(last: ReviewResult | None, pull_request: PullRequest, forge: Forge) -> Since | None:
    """Ask the forge what has changed since the last review; None if everything has to be read.

    That is so after a rebase, a force-push or a change of the target branch, if the last review was not
    complete, if the head is the same, and wherever the forge cannot tell.
    """
    if (
        last is None
        or not last.is_complete
        or last.base_ref != pull_request.base_ref
        or last.head_sha == pull_request.head_sha
    ):
        return None
    try:
        changes = forge.get_diff_since(pull_request.ref, last.head_sha, pull_request.head_sha)
        if changes is None:
            return None
        read = None
        if last.base_sha != pull_request.base_sha:
            # The target branch was merged: what the pull request undid of it is in no diff of the two heads.
            fetched = forge.get_diff_since(pull_request.ref, last.base_sha, last.head_sha)
            if fetched is None:
                return None
            read = parse_diff(fetched.data)
        return Since(
            sha=last.head_sha,
            paths=frozenset(file.path for file in last.coverage if file.state in _READ),
            changes=parse_diff(changes.data),
            unknown=frozenset(file.path for file in changes.missing),
            read=read,
        )
    except (ForgeError, DiffSyntaxError):
        return None


def drop_said(findings: Iterable[Finding], known: Collection[str]) -> tuple[Finding, ...]:
    """Leave out findings that are about lines which were not to be read, and that have been posted before."""
    return tuple(finding for finding in findings if finding.place or finding.fingerprint not in known)


def find_earlier(
    last: ReviewResult, coverage: Iterable[FileCoverage], findings: Iterable[Finding]
) -> tuple[Finding, ...]:
    """Give the findings without a line of the reviews before, which only the summary shows.

    Left out are those that were found again, and those in files that the pull request changes no more.
    """
    paths = {file.path for file in coverage}
    again = {finding.fingerprint for finding in findings}
    return tuple(
        finding
        for finding in (*last.earlier, *last.unplaced)
        if finding.path in paths and finding.fingerprint not in again
    )
