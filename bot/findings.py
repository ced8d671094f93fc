"""A finding: one remark about one place, from the model's answer to the posted comment."""

from dataclasses import dataclass, field
from enum import StrEnum


class Side(StrEnum):
    """Tell which version of a file a line number counts in."""

    OLD = "old"
    NEW = "new"


class Severity(StrEnum):
    """Rank a finding; the order of the members is the order of importance."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"

    @property
    def rank(self) -> int:
        """Give 0 for the most important."""
        return list(Severity).index(self)


class Category(StrEnum):
    """Name the kind of defect."""

    BUG = "bug"
    SECURITY = "security"
    PERFORMANCE = "performance"
    MAINTAINABILITY = "maintainability"
    STYLE = "style"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Name the line, or the range of lines ending in it, that a comment stands under.

    `old_path` and `new_path` differ only for renames. `old_line` and `new_line` count in the two versions of
    the file: an added line has no `old_line`, a removed one no `new_line`, an unchanged one has both.
    `start_line` counts on the same `side` as the line itself and is absent for a single line.

    `other_line` and `other_start_line` are how far the other side has counted at the two lines, whether or not
    it has them, and `start_is_changed` tells that it does not have the first. They follow from the rest and the
    diff, so they do not make a place another one.
    """

    old_path: str
    new_path: str
    side: Side
    old_line: int | None
    new_line: int | None
    start_line: int | None = None
    other_line: int | None = field(default=None, compare=False)
    other_start_line: int | None = field(default=None, compare=False)
    start_is_changed: bool = field(default=False, compare=False)

    @property
    def path(self) -> str:
        """Give the path that people know the file by: the new one, or the old one of a deleted file."""
        return self.new_path or self.old_path

    @property
    def line(self) -> int:
        """Give the line's number on its side."""
        number = self.old_line if self.side is Side.OLD else self.new_line
        if number is None:
            raise ValueError(f"a place on the {self.side} side of {self.path} needs a line number there")
        return number


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One remark of the model that was checked against the diff.

    `place` is None when it could not be put on a line; `unplaced` then says why, as a sentence. `code` is
    the text of the line as the diff has it. `replacement` is the text that would replace the placed lines.
    """

    fingerprint: str
    path: str
    place: Place | None
    unplaced: str
    code: str
    severity: Severity
    category: Category
    message: str
    replacement: str | None
