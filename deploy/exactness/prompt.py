"""The lines of a diff in a prompt, read back as a model reads them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bot.findings import Side

_DIFF_STARTS = "Diff, as data:\n"
_FILE = re.compile(r"File ([0-9]+): (?:.* \u2192 )?(.*) \([a-z_]+\)")
_ROW = re.compile(r"([0-9]+)([LR])([0-9]+) ([-+ ])(.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A line as the prompt shows it; `hunk` counts the hunks of the prompt."""

    file: int
    path: str
    hunk: int
    letter: str
    number: int
    sign: str
    code: str

    @property
    def id(self) -> str:
        """Give the id."""
        return f"{self.file}{self.letter}{self.number}"

    @property
    def printed(self) -> str:
        """Give the whole line as it is printed."""
        return f"{self.id} {self.sign}{self.code}"

    @property
    def side(self) -> Side:
        """Give the version of the file that the id counts in."""
        return Side.OLD if self.letter == "L" else Side.NEW

    def is_on(self, side: Side) -> bool:
        """Tell whether a version of the file has the line."""
        return self.sign != ("+" if side is Side.OLD else "-")


def read_rows(prompt: str) -> list[Row]:
    """Read the lines that have an id."""
    return list(_rows(prompt[prompt.rindex(_DIFF_STARTS) :].split("\n")))


def find_old_number(rows: Sequence[Row], at: int) -> int | None:
    """Work out an unchanged line's old number from a removed line above it in the hunk."""
    if rows[at].sign != " ":
        return None
    unchanged = 0
    for row in reversed(rows[: at + 1]):
        if row.hunk != rows[at].hunk:
            return None
        if row.sign == "-":
            return row.number + unchanged
        unchanged += row.sign == " "
    return None


def _rows(lines: Sequence[str]) -> Iterator[Row]:
    path, hunk = "", 0
    for line in lines:
        if found := _ROW.fullmatch(line):
            file, letter, number, sign, code = found.groups()
            yield Row(
                file=int(file), path=path, hunk=hunk, letter=letter, number=int(number), sign=sign, code=code
            )
        elif found := _FILE.fullmatch(line):
            path = found[2]
        else:
            hunk += line.startswith("@@")
