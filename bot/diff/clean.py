"""Take out of a diff what a reviewer would skip, and name every removal with its rule."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from bot.diff.hunk_rules import classify_hunk
from bot.diff.model import Diff, FileDiff, FileStatus, Hunk, Line, LineKind
from bot.diff.rules import Rule, classify_path, compile_globs

CHARACTERS_PER_TOKEN = 3
_MINIFIED_MEAN_LENGTH = 300
_PROSE = frozenset(("md", "rst", "txt", "adoc", "tex", "csv"))
_LFS_VERSION = "version https://git-lfs.github.com/spec/v1"
_MARKER_LINES = 20
# A comment that tools recognise, at the start of a line. See https://go.dev/s/generatedcode for the first.
_GENERATED_MARKER = re.compile(
    r"\n([ +-])[^\S\n]*(?://|\#|/\*|\*|<!--|--|;|%)+!?[^\S\n]*(?:Code generated .{0,200}DO NOT EDIT|.{0,80}@generated\b"
    r"|(?:this file|this code) (?:is|was) (?:auto(?:matically)?[ -]?)?generated\b"
    r"|auto-?generated (?:file|code|by)\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedHunks:
    """Hunks of one file that were taken out by one rule."""

    rule: Rule
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NewLines:
    """The changed lines of a file that are new since an earlier review, by their numbers on their side."""

    added: frozenset[int]
    removed: frozenset[int]

    def __contains__(self, line: Line) -> bool:
        if line.kind is LineKind.ADDED:
            return line.new_number in self.added
        return line.kind is LineKind.REMOVED and line.old_number in self.removed


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanedFile:
    """A file to review. `file` is as it was in the diff; `hunks` are those of it that are reviewed.

    `number` counts the kept files from 1 and stays the same over the whole review: line ids start with it.
    `new_lines` is None where all changed lines are to be read, not only those since an earlier review.
    """

    number: int
    file: FileDiff
    hunks: tuple[Hunk, ...]
    removed: tuple[RemovedHunks, ...]
    new_lines: NewLines | None = None

    @property
    def path(self) -> str:
        """Give the path that people know the file by."""
        return self.file.path


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A file that is not reviewed; `detail` is a phrase for people."""

    path: str
    rule: Rule
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanedDiff:
    """What is reviewed and what is not; together they name every file of the diff."""

    kept: tuple[CleanedFile, ...]
    skipped: tuple[Skipped, ...]

    @property
    def characters(self) -> int:
        """Count the characters of the hunks that are reviewed."""
        return sum(len(hunk.header) + len(hunk.body) for file in self.kept for hunk in file.hunks)


def estimate_tokens(characters: int) -> int:
    """Estimate how many tokens a text of so many characters has, before the engine has counted for real."""
    return math.ceil(characters / CHARACTERS_PER_TOKEN)


def clean_diff(diff: Diff, ignore: Sequence[str] = ()) -> CleanedDiff:
    """Sort the files into kept and skipped; `ignore` holds further globs, read as in .gitignore."""
    ignored = compile_globs(tuple(ignore))
    kept: list[CleanedFile] = []
    skipped: list[Skipped] = []
    for file in diff.files:
        rule = Rule.IGNORED if ignored and ignored.search(file.path) else _classify_file(file)
        if rule is not None:
            skipped.append(Skipped(path=file.path, rule=rule, detail=_describe(file, rule)))
            continue
        extension = _extension(file.path)
        hunks: list[Hunk] = []
        removed: list[Rule] = []
        for hunk in file.hunks:
            hunk_rule = classify_hunk(hunk, extension)
            if hunk_rule is None:
                hunks.append(hunk)
            else:
                removed.append(hunk_rule)
        counts = _count(removed) if removed else ()
        if hunks:
            kept.append(CleanedFile(number=len(kept) + 1, file=file, hunks=tuple(hunks), removed=counts))
        else:
            detail = "; ".join(each.rule.phrase for each in counts)
            most = max(counts, key=lambda each: each.count)
            skipped.append(Skipped(path=file.path, rule=most.rule, detail=detail))
    return CleanedDiff(kept=tuple(kept), skipped=tuple(skipped))


def _count(removed: Sequence[Rule]) -> tuple[RemovedHunks, ...]:
    return tuple(RemovedHunks(rule=rule, count=count) for rule, count in Counter(removed).items())


def _extension(path: str) -> str:
    stem, dot, extension = path.rpartition(".")
    return extension.lower() if dot and stem and "/" not in extension else ""


def _classify_file(file: FileDiff) -> Rule | None:
    if file.is_submodule:
        return Rule.SUBMODULE
    if file.is_binary:
        return Rule.BINARY
    by_path = classify_path(file.path)
    if by_path is not None:
        return by_path
    if not file.hunks:
        if file.status in (FileStatus.RENAMED, FileStatus.COPIED):
            return Rule.PURE_RENAME
        return Rule.MODE_CHANGE if file.status is FileStatus.MODE_CHANGED else Rule.EMPTY
    return _classify_text(file)


def _classify_text(file: FileDiff) -> Rule | None:
    first = file.hunks[0]
    if max(first.old_start, first.new_start) <= 1:
        if first.body.startswith(_LFS_VERSION, 2):
            return Rule.LFS_POINTER
        # A marker that the pull request itself puts into an existing file would be a way to avoid the review.
        sign = "+" if file.status is FileStatus.ADDED else "-" if file.status is FileStatus.REMOVED else " "
        top = "\n".join(first.body.split("\n", _MARKER_LINES + 1)[: _MARKER_LINES + 1])
        if "generated" in top.lower() and any(found[1] == sign for found in _GENERATED_MARKER.finditer(top)):
            return Rule.GENERATED
    characters = sum([len(hunk.body) for hunk in file.hunks])
    if characters > _MINIFIED_MEAN_LENGTH * sum([hunk.line_count for hunk in file.hunks]):
        return None if _extension(file.path) in _PROSE else Rule.MINIFIED
    return None


def _describe(file: FileDiff, rule: Rule) -> str:
    if rule is Rule.PURE_RENAME:
        verb = "copied" if file.status is FileStatus.COPIED else "renamed"
        return f"{verb} from {file.old_path} without a change"
    if rule is Rule.MODE_CHANGE:
        return f"file mode changed from {file.old_mode} to {file.new_mode}"
    return rule.phrase
