"""Put a finding on a line: by the id that the model names and the code that it quotes, or not at all.

Both must agree. The quoted code is looked for on the named line first. It counts as found there if it is
the whole line, or a part of it of at least 12 characters; white space around and runs of it inside are
ignored. If it is elsewhere, the nearest place on the same side of the same file is taken, changed lines first,
if no other is as near. A quote of less than three letters or digits is never looked for elsewhere: `}` is
everywhere.

A quote may have the id and the sign that the prompt shows before each line. Since code may begin so too
(`- item`, `--x`), it is first read as code alone; and whole lines go before parts of longer ones.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from bot.diff.display import show_text
from bot.diff.model import Line, LineKind
from bot.findings import Place, Side

_ID = re.compile(r"\s*([0-9]{1,9})([LR])([0-9]{1,9})\b")
_SHOWN_START = re.compile(r"\s*[0-9]{1,9}[LR][0-9]{1,9} ?(?=[-+ ]|$)")
_SHORTEST_PART = 12
_FEWEST_LETTERS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Unanchored:
    """A finding has no place; `reason` is a sentence for the summary."""

    reason: str


def anchor(
    lines: Mapping[str, Line], line_id: str, quote: str, *, end_line_id: str | None = None
) -> Place | Unanchored:
    """Find the place of a finding among the lines that the model saw (`Chunk.line_ids`).

    A quote of several lines must match lines that follow each other in one hunk and gives a range. With
    `end_line_id` the range goes on to that line, which must be in the same hunk and on the same side.
    """
    named = _ID.match(line_id)
    if named is None:
        return Unanchored(reason=f"The model named no line of the diff, but {line_id[:40]!r}.")
    file_number, side = named[1], Side.OLD if named[2] == "L" else Side.NEW
    readings = _read_quote(quote)
    if not readings:
        return Unanchored(reason="The model quoted no code for this finding.")
    candidates = _lines_of(lines, file_number, side)
    if not candidates:
        return Unanchored(reason=f"The model named {line_id.strip()[:40]}, which is not in the diff.")
    found = _find(candidates, side, int(named[3]), readings)
    if isinstance(found, Unanchored):
        return found
    first, last = found
    if end_line_id is not None:
        end = _ID.match(end_line_id)
        last_line = lines.get(end[0].strip()) if end else None
        if (
            last_line is None
            or end is None
            or (end[1], end[2]) != (file_number, named[2])
            or last_line.hunk is not first.hunk
            or last_line.number_on(side) < last.number_on(side)
        ):
            return Unanchored(reason="The range that the model named does not lie in one hunk of the diff.")
        last = last_line
    return make_place(first, last, side)


def make_place(first: Line, last: Line, side: Side) -> Place:
    """Make the place of a comment under `last` that covers the lines from `first` on."""
    other = Side.OLD if side is Side.NEW else Side.NEW
    # Forges refuse a range that starts where it ends.
    is_range = first.number_on(side) < last.number_on(side)
    return Place(
        old_path=last.old_path,
        new_path=last.new_path,
        side=side,
        old_line=last.old_number if last.exists_on(Side.OLD) else None,
        new_line=last.new_number if last.exists_on(Side.NEW) else None,
        start_line=first.number_on(side) if is_range else None,
        other_line=_count_on(last, other),
        other_start_line=_count_on(first, other) if is_range else None,
        start_is_changed=is_range and first.kind is not LineKind.CONTEXT,
    )


def _count_on(line: Line, side: Side) -> int:
    """Give how far a side has counted at a line; where it has no lines at all, git writes what comes before."""
    is_empty = (line.hunk.old_count if side is Side.OLD else line.hunk.new_count) == 0
    return line.number_on(side) - is_empty


def lines_at(lines: Mapping[str, Line], place: Place) -> tuple[Line, ...]:
    """List the lines that a place covers, first to last; empty if one of them is not among `lines`."""
    first = place.line if place.start_line is None else place.start_line
    by_number = {
        line.number_on(place.side): line
        for line in lines.values()
        if line.exists_on(place.side) and (line.old_path, line.new_path) == (place.old_path, place.new_path)
    }
    numbers = range(first, place.line + 1)
    return tuple(by_number[number] for number in numbers) if all(map(by_number.__contains__, numbers)) else ()


class _Candidate(NamedTuple):
    """A line that a quote may be of, in each form in which a model may have it."""

    line: Line
    texts: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """One way to understand a quote: with signs before the code or without, as whole lines or as parts."""

    wanted: tuple[str, ...]
    has_signs: bool
    is_whole: bool

    def fits(self, candidate: _Candidate, text: str) -> bool:
        """Tell whether one line of the quote is this line."""
        if self.has_signs:
            text = _collapse(text.removeprefix(candidate.line.kind))
        if self.is_whole:
            return text != "" and text in candidate.texts
        return len(text) >= _SHORTEST_PART and any(text in code for code in candidate.texts)


def _read_quote(quote: str) -> tuple[_Reading, ...]:
    """List the ways to read a quote, the surest first; none if there is no code in it."""
    raw = quote.split("\n")
    code = tuple(text for text in map(_collapse, raw) if text)
    printed = tuple(text for text in (_collapse(_SHOWN_START.sub("", line)) for line in raw) if text)
    # A blank line as it is printed is a sign alone.
    signed = tuple(text for text in printed if text not in ("+", "-")) or printed
    return tuple(
        _Reading(wanted=wanted, has_signs=has_signs, is_whole=is_whole)
        for is_whole in (True, False)
        for wanted, has_signs in ((code, False), (signed, True))
        if printed
    )


def _lines_of(lines: Mapping[str, Line], file_number: str, side: Side) -> list[_Candidate]:
    prefixes = (f"{file_number}L", f"{file_number}R")
    found = [line for name, line in lines.items() if name.startswith(prefixes) and line.exists_on(side)]
    return [
        _Candidate(line=line, texts=_texts(line.text))
        for line in sorted(found, key=lambda line: line.number_on(side))
    ]


def _texts(text: str) -> frozenset[str]:
    """Give a line as it is, and as prompts show it: with the \\r of a Windows line, or without."""
    return frozenset(map(_collapse, (text, show_text(text), show_text(text.removesuffix("\r")))))


def _find(
    candidates: Sequence[_Candidate], side: Side, number: int, readings: Sequence[_Reading]
) -> tuple[Line, Line] | Unanchored:
    found = [list(_ranges(candidates, side, reading)) for reading in readings]
    for ranges in found:
        here = [each for each in ranges if _distance(each, number, side) == 0]
        if here:
            return _only([each for each in here if each[0].number_on(side) == number] or here)
    if sum(character.isalnum() for text in readings[-1].wanted for character in text) < _FEWEST_LETTERS:
        return Unanchored(reason="The quoted code is not on the line that the model named.")
    for ranges in found:
        changed = [each for each in ranges if _is_changed(each, candidates, side)] or ranges
        if changed:
            nearest = min(_distance(each, number, side) for each in changed)
            return _only([each for each in changed if _distance(each, number, side) == nearest])
    return Unanchored(reason="The quoted code is not in the part of the diff that the model was shown.")


def _only(found: list[tuple[Line, Line]]) -> tuple[Line, Line] | Unanchored:
    if len(found) == 1:
        return found[0]
    return Unanchored(reason="The quoted code is at several places that are equally near to the named line.")


def _ranges(candidates: Sequence[_Candidate], side: Side, reading: _Reading) -> Iterator[tuple[Line, Line]]:
    for at, candidate in enumerate(candidates):
        if reading.fits(candidate, reading.wanted[0]):
            last = _match_from(candidates, at, side, reading)
            if last is not None:
                yield candidate.line, last


def _match_from(candidates: Sequence[_Candidate], at: int, side: Side, reading: _Reading) -> Line | None:
    """Find the last line of a quote whose first is here; blank lines may be missing in it."""
    last = candidates[at].line
    for text in reading.wanted[1:]:
        for candidate in candidates[at + 1 :]:
            if not _follows(candidate.line, last, side):
                return None
            at, last = at + 1, candidate.line
            if reading.fits(candidate, text):
                break
            if last.text.strip():
                return None
        else:
            return None
    return last


def _follows(line: Line, previous: Line, side: Side) -> bool:
    return line.hunk is previous.hunk and line.number_on(side) == previous.number_on(side) + 1


def _is_changed(found: tuple[Line, Line], candidates: Sequence[_Candidate], side: Side) -> bool:
    first, last = (line.number_on(side) for line in found)
    start = bisect_left(candidates, first, key=lambda candidate: candidate.line.number_on(side))
    within = candidates[start : start + last - first + 1]
    return any(candidate.line.kind is not LineKind.CONTEXT for candidate in within)


def _distance(found: tuple[Line, Line], number: int, side: Side) -> int:
    first, last = found[0].number_on(side), found[1].number_on(side)
    return max(first - number, number - last, 0)


def _collapse(text: str) -> str:
    return " ".join(text.split())
