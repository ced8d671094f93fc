"""Put a finding on a line: by the id that the model names and the code that it quotes, or not at all.

Both must agree. The quoted code is looked for on the named line first. It counts as found there if it is
the whole line, or a part of it of at least 12 characters; white space around and runs of it inside are
ignored, and so are the id and the sign that the prompt shows before each line. If it is elsewhere, the
nearest place on the same side of the same file is taken, changed lines first, if no other is as near. A quote
of less than three letters or digits is never looked for elsewhere: `}` is everywhere.
"""

import re
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass

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
    wanted = [text for text in map(_normalise_quote, quote.strip("\n").split("\n")) if text]
    if not wanted:
        return Unanchored(reason="The model quoted no code for this finding.")
    candidates = _lines_of(lines, file_number, side)
    if not candidates:
        return Unanchored(reason=f"The model named {line_id.strip()[:40]}, which is not in the diff.")
    found = _find(candidates, side, int(named[3]), wanted)
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
    return Place(
        old_path=last.old_path,
        new_path=last.new_path,
        side=side,
        old_line=last.old_number if last.exists_on(Side.OLD) else None,
        new_line=last.new_number if last.exists_on(Side.NEW) else None,
        # Forges refuse a range that starts where it ends.
        start_line=first.number_on(side) if first.number_on(side) < last.number_on(side) else None,
    )


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


def _lines_of(lines: Mapping[str, Line], file_number: str, side: Side) -> list[Line]:
    prefixes = (f"{file_number}L", f"{file_number}R")
    found = [line for name, line in lines.items() if name.startswith(prefixes) and line.exists_on(side)]
    return sorted(found, key=lambda line: line.number_on(side))


def _find(
    candidates: list[Line], side: Side, number: int, wanted: list[str]
) -> tuple[Line, Line] | Unanchored:
    ranges = [
        (candidates[at], end)
        for at in range(len(candidates))
        if (end := _match_from(candidates, at, side, wanted)) is not None
    ]
    here = [found for found in ranges if _distance(found, number, side) == 0]
    starting_here = [found for found in here if found[0].number_on(side) == number]
    if here:
        return _only(starting_here or here)
    if sum(character.isalnum() for text in wanted for character in text) < _FEWEST_LETTERS:
        return Unanchored(reason="The quoted code is not on the line that the model named.")
    ranges = [found for found in ranges if _is_changed(found, candidates, side)] or ranges
    if not ranges:
        return Unanchored(reason="The quoted code is not in the part of the diff that the model was shown.")
    nearest = min(_distance(found, number, side) for found in ranges)
    return _only([found for found in ranges if _distance(found, number, side) == nearest])


def _only(found: list[tuple[Line, Line]]) -> tuple[Line, Line] | Unanchored:
    if len(found) == 1:
        return found[0]
    return Unanchored(reason="The quoted code is at several places that are equally near to the named line.")


def _match_from(candidates: list[Line], at: int, side: Side, wanted: list[str]) -> Line | None:
    first = last = candidates[at]
    if not _matches(first, wanted[0]):
        return None
    for text in wanted[1:]:
        at += 1
        while (
            at < len(candidates) and _follows(candidates[at], last, side) and not candidates[at].text.strip()
        ):
            last = candidates[at]
            at += 1
        if (
            at == len(candidates)
            or not _follows(candidates[at], last, side)
            or not _matches(candidates[at], text)
        ):
            return None
        last = candidates[at]
    return last


def _follows(line: Line, previous: Line, side: Side) -> bool:
    return line.hunk is previous.hunk and line.number_on(side) == previous.number_on(side) + 1


def _matches(line: Line, wanted: str) -> bool:
    for text in {line.text, show_text(line.text)}:
        code = _collapse(text)
        for quote in (wanted, _collapse(wanted.removeprefix(line.kind))):
            if quote and (quote == code or (len(quote) >= _SHORTEST_PART and quote in code)):
                return True
    return False


def _is_changed(found: tuple[Line, Line], candidates: list[Line], side: Side) -> bool:
    first, last = (line.number_on(side) for line in found)
    start = bisect_left(candidates, first, key=lambda line: line.number_on(side))
    return any(line.kind is not LineKind.CONTEXT for line in candidates[start : start + last - first + 1])


def _distance(found: tuple[Line, Line], number: int, side: Side) -> int:
    first, last = found[0].number_on(side), found[1].number_on(side)
    return max(first - number, number - last, 0)


def _normalise_quote(text: str) -> str:
    return _collapse(_SHOWN_START.sub("", text))


def _collapse(text: str) -> str:
    return " ".join(text.split())
