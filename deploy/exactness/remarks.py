"""Remarks on random lines of a prompt, written as well and as badly as models write them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from bot.findings import Side
from deploy.exactness.prompt import Row, find_old_number

# How often a model writes so. What is rare in life is frequent here.
KINDS = {
    "as printed": 10,
    "id and quote": 10,
    "with the sign": 4,
    "with the id": 4,
    "other white space": 4,
    "part of a line": 6,
    "off by a few": 12,
    "far off": 4,
    "unchanged by its old number": 6,
    "range": 12,
    "range as printed": 4,
    "range without blanks": 3,
    "range off by a few": 6,
    "between two": 6,
    "other side": 4,
    "other file": 2,
    "invented": 3,
    "no quote": 1,
    "no line": 1,
}
_NAME = re.compile(r"[A-Za-z_]{3,}")
_SHORTEST_PART = 12
_FEWEST_LETTERS = 3
_LONGEST_RANGE = 5  # answers are cut at a length that five lines do not reach
_TRIES = 40
_RETURN = "\\r"  # as prompts show it


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """One remark that was made up, and what has to become of it.

    `code` are the lines it quotes, `side` where its id points. `row` is the first of them if the id names it: then
    there is one right place for it, and no other. `must_decline` tells that there is none.
    """

    number: int
    kind: str
    code: tuple[str, ...]
    side: Side
    row: Row | None
    must_decline: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Aim:
    """What a remark points at: a row, and an id that may be another one's. `is_tie` if it is as near to two."""

    at: int
    file: int
    letter: str
    number: int
    is_tie: bool = False

    @property
    def id(self) -> str:
        return f"{self.file}{self.letter}{self.number}"

    @property
    def side(self) -> Side:
        return Side.OLD if self.letter == "L" else Side.NEW


def write_remark(source: Random, rows: Sequence[Row], number: int) -> tuple[Remark, dict[str, str]]:
    """Make a remark up; the second value are its fields that name and quote code."""
    kind = source.choices(tuple(KINDS), tuple(KINDS.values()))[0]
    aim = _aim(source, rows, kind)
    row = rows[aim.at]
    quoted = _following(source, rows, aim.at) if kind.startswith("range") else [row]
    line, quote = _word(source, kind, aim, quoted, number)
    code = tuple(each.code for each in quoted)
    if kind in ("invented", "part of a line"):
        code = (quote,)
    is_exact = line in (row.id, row.printed) and kind != "invented" and row.code.strip() != ""
    remark = Remark(
        number=number,
        kind=kind,
        code=code,
        side=aim.side,
        row=row if is_exact else None,
        must_decline=aim.is_tie or kind in ("invented", "no quote", "no line"),
    )
    replacement = _replace_something(source, quoted, number) if source.random() < 0.4 else ""
    return remark, {"line": line, "quote": quote, "replacement": replacement}


def _aim(source: Random, rows: Sequence[Row], kind: str) -> _Aim:
    at = source.randrange(len(rows))
    row = rows[at]
    aim = _Aim(at=at, file=row.file, letter=row.letter, number=row.number)
    sign = source.choice((-1, 1))
    match kind:
        case "off by a few" | "range off by a few" | "far off":
            few = 200 if kind == "far off" else 6
            number = max(row.number + sign * source.randint(1, few), 1)
            return _Aim(at=at, file=row.file, letter=row.letter, number=number)
        case "unchanged by its old number" if old := find_old_number(rows, at):
            return _Aim(at=at, file=row.file, letter="L", number=old)
        case "other side":
            return _Aim(at=at, file=row.file, letter="R" if row.letter == "L" else "L", number=row.number)
        case "other file":
            file = row.file + source.choice((sign, 1000))
            return _Aim(at=at, file=file, letter=row.letter, number=row.number)
        case "between two":
            tries = source.sample(range(len(rows)), min(_TRIES, len(rows)))
            found = ((one, middle) for one in tries if (middle := _between_two(rows, rows[one])))
            for one, middle in found:
                return _Aim(at=one, file=rows[one].file, letter=rows[one].letter, number=middle, is_tie=True)
    return aim


def _word(source: Random, kind: str, aim: _Aim, quoted: Sequence[Row], number: int) -> tuple[str, str]:
    """Write the line's name and the quote."""
    row = quoted[0]
    quote = "\n".join(each.code for each in quoted)
    match kind:
        case "as printed":
            return row.printed, ""
        case "no line":
            return "somewhere below", quote
        case "no quote":
            quote = ""
        case "with the sign":
            quote = row.sign + row.code
        case "with the id" | "range as printed":
            quote = "\n".join(each.printed for each in quoted)
        case "range without blanks":
            quote = "\n".join(each.code for each in quoted if each.code.strip())
        case "other white space":
            quote = f" {row.code.strip()}  ".replace("\t", "    ").replace(" ", "  ")
        case "part of a line":
            quote = _part(source, row.code)
        case "invented":
            quote = f"launch_the_rocket({number}, countdown=10)"
    return aim.id, quote


def _following(source: Random, rows: Sequence[Row], at: int) -> list[Row]:
    """Take lines that follow each other in one version of the file."""
    first = rows[at]
    wanted = source.randint(2, _LONGEST_RANGE)
    following = (row for row in rows[at:] if row.hunk == first.hunk and row.is_on(first.side))
    return [row for row, _ in zip(following, range(wanted), strict=False)]


def _part(source: Random, code: str) -> str:
    text = code.strip()
    if len(text) <= _SHORTEST_PART:
        return text
    start = source.randint(0, len(text) - _SHORTEST_PART)
    return text[start : source.randint(start + _SHORTEST_PART, len(text))]


def _replace_something(source: Random, quoted: Sequence[Row], number: int) -> str:
    """Rename something in the code, with its indentation or without."""
    text = "\n".join(row.code for row in quoted)
    names = _NAME.findall(text)
    if not names:
        return ""
    changed = text.replace(source.choice(names), f"other_{number}", 1)
    return changed.lstrip() if source.random() < 0.3 else changed


def _between_two(rows: Sequence[Row], row: Row) -> int | None:
    """Find a number that is as near to a changed line as to another one that says the same, and near to no other."""
    code = _bare(row)
    if row.sign == " " or row.code.endswith(_RETURN) or sum(map(str.isalnum, code)) < _FEWEST_LETTERS:
        return None
    others = [each for each in rows if (each.file, each.sign) == (row.file, row.sign)]
    same = [each.number for each in others if _bare(each) == code]
    following = min((number for number in same if number > row.number), default=row.number)
    middle, rest = divmod(row.number + following, 2)
    nearer = range(row.number + 1, following)
    is_clear = code[0].isalnum() and not any(
        code in each.code and each.number in nearer for each in rows if each.file == row.file
    )
    return middle if following > row.number and not rest and is_clear else None


def _bare(row: Row) -> str:
    """Give the code as it is compared: whatever its white space, and the end of a Windows line."""
    return " ".join(row.code.removesuffix(_RETURN).split())
