"""What became of every changed file: nothing is left out, and nothing counts as read that was not."""

from collections.abc import Iterable, Sequence

from bot.diff.clean import CleanedDiff, CleanedFile
from bot.forges.base import MissingFile
from bot.review.ask import ChunkAnswer
from bot.review.result import FileCoverage, FileState
from bot.review.text import storable


def cover(
    cleaned: CleanedDiff,
    missing: Iterable[MissingFile],
    answers: Iterable[ChunkAnswer],
    *,
    read_before: Sequence[str] = (),
    since_sha: str = "",
) -> tuple[FileCoverage, ...]:
    """List every file of the pull request with its state, and the reason wherever it was not read to the end.

    `read_before` are the files in which nothing is new since the head that was read before.
    """
    failures: dict[int, str] = {}
    for answer in answers:
        if answer.failure:
            for file in answer.chunk.files:
                failures.setdefault(file.number, answer.failure)
    rows = [_reviewed(file, failures.get(file.number, ""), since_sha) for file in cleaned.kept]
    rows += [
        FileCoverage(
            path=storable(path), state=FileState.READ_BEFORE, reason=f"unchanged since {since_sha[:7]}"
        )
        for path in read_before
    ]
    rows += [
        FileCoverage(path=storable(skipped.path), state=FileState.SKIPPED, reason=skipped.detail)
        for skipped in cleaned.skipped
    ]
    rows += [
        FileCoverage(path=storable(file.path), state=FileState.UNAVAILABLE, reason=file.reason)
        for file in missing
    ]
    return tuple(sorted(rows, key=lambda row: row.path))


def _reviewed(file: CleanedFile, failure: str, since_sha: str) -> FileCoverage:
    if failure:
        return FileCoverage(path=storable(file.path), state=FileState.FAILED, reason=failure)
    reasons = [] if file.new_lines is None else [f"what changed since {since_sha[:7]}"]
    reasons += [
        f"{removed.count} {'hunk' if removed.count == 1 else 'hunks'} left out: {removed.rule.phrase}"
        for removed in file.removed
    ]
    return FileCoverage(path=storable(file.path), state=FileState.REVIEWED, reason=", ".join(reasons))
