"""What of a diff is new since an earlier head, line by line, so that nothing is read twice.

Comments stand on lines of the diff from the merge base, so that diff stays what it is, and the changes between
the two heads only tell which of its lines are new: those that both show as changed. What came in by merging the
target branch is no change against the merge base, and drops out by itself.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby

from bot.diff.clean import CleanedDiff, CleanedFile, NewLines
from bot.diff.model import Diff, FileDiff, FileStatus, Hunk, Line, LineKind

# As many unchanged lines as git shows around a change.
_AROUND = 3
_NO_NEWLINE = "\n\\ No newline at end of file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Since:
    """What is known of an earlier head, `sha`, that was read to its end.

    `paths` are the files that were read then, `changes` the diff from it to the present head, and `unknown` the
    files whose changes could not be had. `read` is the diff that was read then, None if it started at the same
    merge base as today's: then a line that is the same in both heads was changed then as now.
    """

    sha: str
    paths: frozenset[str]
    changes: Diff
    unknown: frozenset[str] = frozenset()
    read: Diff | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """Changed lines without an unchanged one between: new lines from `start` up to `end`, and how many old ones.

    Where only lines were added, or only removed, the same change can often be shown a little higher or lower.
    Two diffs need not choose alike, so `up` and `down` tell how far.
    """

    start: int
    end: int
    removed: int
    up: int
    down: int

    @property
    def lines(self) -> range:
        """Give the new lines; a removal touches the two that it has made neighbours."""
        if self.start == self.end:
            return range(self.start - 1, self.start + 1)
        return range(self.start - self.up, self.end + self.down)

    @property
    def gaps(self) -> range:
        """Give where removed lines belong to it, each place by the number of the new line behind."""
        return range(self.start - self.up, self.end + self.down + 1)


def keep_new(cleaned: CleanedDiff, since: Since) -> tuple[CleanedDiff, tuple[str, ...]]:
    """Cut the files to what is new; the second value names those in which nothing is."""
    changes = _by_path(since.changes.files)
    read = None if since.read is None else _by_path(since.read.files)
    kept: list[CleanedFile] = []
    unchanged: list[str] = []
    for file in cleaned.kept:
        new_lines = _find_new_lines(file, since, changes.get(file.path, ()), read)
        hunks = file.hunks
        if new_lines is not None:
            hunks = tuple(part for hunk in file.hunks for part in _cut(hunk, new_lines))
        if hunks:
            kept.append(replace(file, number=len(kept) + 1, hunks=hunks, new_lines=new_lines))
        else:
            unchanged.append(file.path)
    return CleanedDiff(kept=tuple(kept), skipped=cleaned.skipped), tuple(unchanged)


def _by_path(files: Iterable[FileDiff]) -> Mapping[str, Sequence[FileDiff]]:
    found: dict[str, list[FileDiff]] = {}
    for file in files:
        found.setdefault(file.path, []).append(file)
    return found


def _find_new_lines(
    file: CleanedFile,
    since: Since,
    changes: Sequence[FileDiff],
    read: Mapping[str, Sequence[FileDiff]] | None,
) -> NewLines | None:
    """Tell which changed lines of a file are new; None if it has to be read as a whole."""
    if file.path in since.unknown or len(changes) > 1:
        return None
    path = file.path
    runs: tuple[_Run, ...] = ()
    for change in changes:
        if change.is_binary or change.status is FileStatus.COPIED:
            return None
        path, runs = change.old_path, tuple(_find_runs(change))
    if path not in since.paths:
        return None
    lines = {number for run in runs for number in run.lines}
    gaps = {number for run in runs for number in run.gaps}
    then = _Earlier.of(runs, read.get(path, ())) if read is not None else None
    added, removed = set(), set()
    for group in (group for hunk in file.hunks for group in _groups(list(hunk.lines))):
        is_touched = not gaps.isdisjoint(range(group[0].new_number, _end(group) + 1))
        for line in group:
            if line.kind is LineKind.ADDED:
                if line.new_number in lines or (then and not then.was_added(line.new_number)):
                    added.add(line.new_number)
            # All that one change removes stands before what it adds, so which belongs to which is not known.
            elif is_touched or (then and not then.was_removed(line.new_number, line.text)):
                removed.add(line.old_number)
    return NewLines(added=frozenset(added), removed=frozenset(removed))


def _groups(lines: Sequence[Line]) -> Iterator[Sequence[Line]]:
    """Give the changed lines of a hunk, as far as no unchanged one is between them."""
    for is_changed, group in groupby(lines, key=_is_changed):
        if is_changed:
            yield list(group)


def _end(group: Sequence[Line]) -> int:
    """Give the number of the first new line behind changed ones."""
    return group[-1].new_number + (group[-1].kind is LineKind.ADDED)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Earlier:
    """What was changed at the earlier head, asked for by today's numbers of lines that are the same in both."""

    ends: Sequence[int]
    shifts: Sequence[int]
    added: frozenset[int]
    removed: frozenset[tuple[int, str]]

    @classmethod
    def of(cls, runs: Sequence[_Run], read: Sequence[FileDiff]) -> "_Earlier":
        lines = [line for file in read for hunk in file.hunks for line in hunk.lines]
        return cls(
            ends=[run.end for run in runs],
            shifts=list(accumulate((run.end - run.start - run.removed for run in runs), initial=0)),
            added=frozenset(line.new_number for line in lines if line.kind is LineKind.ADDED),
            removed=frozenset(
                (line.new_number, line.text) for line in lines if line.kind is LineKind.REMOVED
            ),
        )

    def was_added(self, number: int) -> bool:
        """Tell whether the line was an added one."""
        return self._number_then(number) in self.added

    def was_removed(self, gap: int, text: str) -> bool:
        """Tell whether such a line was removed there."""
        return (self._number_then(gap), text) in self.removed

    def _number_then(self, number: int) -> int:
        return number - self.shifts[bisect_right(self.ends, number)]


def _find_runs(file: FileDiff) -> Iterator[_Run]:
    for hunk in file.hunks:
        lines = list(hunk.lines)
        at = 0
        for is_changed, group in groupby(lines, key=_is_changed):
            end = at + len(list(group))
            if is_changed:
                yield _make_run(lines, at, end)
            at = end


def _make_run(lines: Sequence[Line], at: int, end: int) -> _Run:
    added = sum(line.kind is LineKind.ADDED for line in lines[at:end])
    removed = end - at - added
    up = down = 0
    if not added or not removed:
        while up < at and _is_same(lines[at - 1 - up], lines[end - 1 - up]):
            up += 1
        while end + down < len(lines) and _is_same(lines[end + down], lines[at + down]):
            down += 1
    start = lines[at].new_number
    return _Run(start=start, end=start + added, removed=removed, up=up, down=down)


def _is_changed(line: Line) -> bool:
    return line.kind is not LineKind.CONTEXT


def _is_same(beside: Line, inside: Line) -> bool:
    return beside.kind is LineKind.CONTEXT and beside.text == inside.text


def _cut(hunk: Hunk, new_lines: NewLines) -> Iterator[Hunk]:
    """Give the parts of a hunk around its new lines."""
    lines = list(hunk.lines)
    parts: list[tuple[int, int]] = []
    for at, line in enumerate(lines):
        if line in new_lines:
            start, end = max(at - _AROUND, 0), min(at + _AROUND + 1, len(lines))
            if parts and start <= parts[-1][1]:
                start = parts.pop()[0]
            parts.append((start, end))
    for start, end in parts:
        yield hunk if end - start == len(lines) else _part(hunk, lines[start:end], is_first=start == 0)


def _part(hunk: Hunk, lines: Sequence[Line], *, is_first: bool) -> Hunk:
    added = sum(line.kind is LineKind.ADDED for line in lines)
    removed = sum(line.kind is LineKind.REMOVED for line in lines)
    unchanged = len(lines) - added - removed
    old_count, new_count = unchanged + removed, unchanged + added
    # A side without lines is given by the line before the gap.
    old_start = lines[0].old_number - (old_count == 0)
    new_start = lines[0].new_number - (new_count == 0)
    # What git names behind the numbers is around the first line only.
    section = f" {hunk.section}" if is_first and hunk.section else ""
    return hunk._replace(
        old_start=old_start,
        old_count=old_count,
        new_start=new_start,
        new_count=new_count,
        unchanged_count=unchanged,
        header=f"@@ -{old_start},{old_count} +{new_start},{new_count} @@{section}",
        body="".join(f"\n{line.kind}{line.text}{'' if line.has_newline else _NO_NEWLINE}" for line in lines),
    )
