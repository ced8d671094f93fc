"""A diff as data: files, hunks and lines, with both line numbers and both paths on every line.

Text is decoded once as UTF-8 with `surrogateescape`, so bytes that are not UTF-8 survive and `Diff.to_bytes`
gives back exactly what was parsed. Parsing cuts the text into headers and hunks; `Hunk.lines` cuts a hunk into
lines when asked.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import zip_longest
from typing import NamedTuple

from bot.findings import Side


class FileStatus(StrEnum):
    """Tell what happened to a file."""

    ADDED = "added"
    REMOVED = "removed"
    MODIFIED = "modified"
    RENAMED = "renamed"
    COPIED = "copied"
    MODE_CHANGED = "mode_changed"


class LineKind(StrEnum):
    """Tell what happened to a line; the value is the sign that a diff writes before it."""

    CONTEXT = " "
    ADDED = "+"
    REMOVED = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a hunk, without its sign and its newline.

    Both numbers are always set, because each version's count goes on while the other's stands still: an added
    line's `old_number` is the number that the next line of the old version has, and the other way round.
    `exists_on` and `number_on` say which of them is real.
    """

    kind: LineKind
    text: str
    old_number: int
    new_number: int
    has_newline: bool
    hunk: "Hunk" = field(repr=False, compare=False)

    @property
    def old_path(self) -> str:
        """Give the file's path before the change."""
        return self.hunk.old_path

    @property
    def new_path(self) -> str:
        """Give the file's path after the change."""
        return self.hunk.new_path

    def exists_on(self, side: Side) -> bool:
        """Tell whether the version of the file on this side has the line."""
        return self.kind is not (LineKind.ADDED if side is Side.OLD else LineKind.REMOVED)

    def number_on(self, side: Side) -> int:
        """Give the line's number on a side."""
        return self.old_number if side is Side.OLD else self.new_number


# No dataclass: a large diff has thousands of hunks, and making a frozen one takes twice as long.
class Hunk(NamedTuple):
    """One `@@` block.

    `body` is its lines as they are in the diff, `\\ No newline` markers included, with the newline before each
    line instead of after it: `"\\n+"` finds the added lines, the first one too. A line of no characters is an
    empty unchanged one whose sign mail or an editor has stripped.
    """

    old_path: str
    new_path: str
    old_start: int
    old_count: int
    new_start: int
    new_count: int
    unchanged_count: int
    header: str
    body: str

    @property
    def line_count(self) -> int:
        """Count the lines, those of both sides once."""
        return self.old_count + self.new_count - self.unchanged_count

    @property
    def section(self) -> str:
        """Give what stands behind the numbers: the start of the function or class around, as git guesses."""
        return self.header.split("@@", 2)[2].removeprefix(" ").removesuffix("\r")

    @property
    def raw_lines(self) -> list[str]:
        """Cut the body into lines, which begin with their sign."""
        return self.body[1:].split("\n")

    @property
    def first_numbers(self) -> tuple[int, int]:
        """Give the old and the new number that counting begins with."""
        # A side without lines is given by the line before the gap.
        return self.old_start + (self.old_count == 0), self.new_start + (self.new_count == 0)

    @property
    def lines(self) -> Iterator[Line]:
        """Make the hunk's lines one after the other, counting on both sides."""
        return self.lines_between(0, len(self.body), *self.first_numbers)

    def lines_between(self, start: int, end: int, old: int, new: int) -> Iterator[Line]:
        """Make the lines of a part of the body; `old` and `new` are the numbers that it begins with."""
        raw_lines = self.body[start + 1 : end].split("\n")
        for raw, following in zip_longest(raw_lines, raw_lines[1:], fillvalue=""):
            if raw.startswith("\\"):
                continue
            kind = LineKind(raw[:1] or " ")
            yield Line(
                kind=kind,
                text=raw[1:],
                old_number=old,
                new_number=new,
                has_newline=not following.startswith("\\"),
                hunk=self,
            )
            old += kind is not LineKind.ADDED
            new += kind is not LineKind.REMOVED

    def covers(self, side: Side, number: int) -> bool:
        """Tell whether the line with this number on this side lies in the hunk."""
        if side is Side.OLD:
            return self.old_start <= number < self.old_start + self.old_count
        return self.new_start <= number < self.new_start + self.new_count


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDiff:
    """The change of one file. The two paths differ only for renames and copies, as on the forges.

    `header` is the text before the first hunk as it is in the diff; for a binary patch it is all of it.
    Modes are git's octal strings, "" where the diff does not say; `similarity` is in percent.
    """

    old_path: str
    new_path: str
    status: FileStatus
    old_mode: str = ""
    new_mode: str = ""
    similarity: int | None = None
    is_binary: bool = False
    header: str = ""
    hunks: tuple[Hunk, ...] = ()

    @property
    def path(self) -> str:
        """Give the path that people know the file by."""
        return self.new_path

    @property
    def is_submodule(self) -> bool:
        """Tell whether the entry is a pointer to a commit of another repository."""
        return "160000" in (self.old_mode, self.new_mode)


@dataclass(frozen=True, slots=True, kw_only=True)
class Diff:
    """All files of a diff in order; `preamble` and `trailer` are what `git show` and mail put around them."""

    files: tuple[FileDiff, ...]
    preamble: str = ""
    trailer: str = ""

    def to_bytes(self) -> bytes:
        """Write the diff again, to the byte as it was parsed."""
        parts = [self.preamble]
        for file in self.files:
            parts.append(file.header)
            parts.extend(f"{hunk.header}{hunk.body}\n" for hunk in file.hunks)
        parts.append(self.trailer)
        return "".join(parts).encode("utf-8", "surrogateescape")
