"""Lines of the head file around what is reviewed: what a change is inside of, and what stands beside it.

They help to judge and are no part of the diff: a forge takes no comment on them, so they carry no id.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from bot.diff.display import show_text

# Above and below each hunk, beside the three that git gives.
CONTEXT_LINES = 10
_MOST_HEADERS = 4
LONGEST_UNNAMED = 160
_TAB = 8
_GAP = "| ...\n"
# What stands further left than the code around it and encloses nothing: comments, and lines of a preprocessor.
_ENCLOSES_NOTHING = re.compile(
    r"\s*(?://|/\*|\*|--|<!--|#(?:\s|!|if|ifdef|ifndef|else|elif|endif|define|undef|pragma|region|endregion)|#$)"
)
_CLOSES_OR_OPENS = re.compile(r"\s*(?:[)\]}]|\{\s*$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Lines of a head file that a prompt shows, from number `start` up to, without, `end`.

    `file` is the file's number and `lines` its whole text, none if it is not known. `changed_at` is the first
    line that is changed, or the one behind lines that were removed, and `changed_text` what it says.
    """

    file: int
    lines: Sequence[str]
    start: int
    end: int
    changed_at: int
    changed_text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """Rows to show above and below a span; they have no id."""

    above: tuple[str, ...] = ()
    below: tuple[str, ...] = ()


NOTHING_AROUND = Around()


@dataclass(slots=True, kw_only=True)
class _Growing:
    """The numbers chosen so far around one span, and whether more may be taken on either side."""

    span: Span
    above: set[int] = field(default_factory=set)
    below: set[int] = field(default_factory=set)
    is_open: dict[int, bool] = field(default_factory=lambda: {-1: True, 1: True})


def show_unnamed(text: str, limit: int = LONGEST_UNNAMED) -> str:
    """Write a line that is for reading only, as a row without an id; of its code at most `limit` characters."""
    shown = show_text(text.removesuffix("\r"))
    return f"| {shown[:limit]} [...]\n" if len(shown) > limit else f"| {shown}\n"


def surround(spans: Sequence[Span], room: int) -> list[Around]:
    """Choose what to show around each span, in no more characters than `room`.

    First come the headers of the blocks around, then lines from near to far, as many for each span. No line is
    shown twice.
    """
    shown: dict[int, set[int]] = {}
    for span in spans:
        shown.setdefault(span.file, set()).update(range(span.start, span.end))
    growing = [_Growing(span=span) for span in spans]
    for each in growing:
        room = _take_headers(each, shown[each.span.file], room)
    for distance in range(1, CONTEXT_LINES + 1):
        for each in growing:
            for direction in (-1, 1):
                room = _take_next(each, distance, direction, shown[each.span.file], room)
    return [_rows(each) for each in growing]


def _take_headers(each: _Growing, shown: set[int], room: int) -> int:
    span = each.span
    found = find_headers(span.lines, span.changed_at, span.changed_text)
    wanted = [number for number in found if number < span.start and number not in shown]
    cost = sum(len(show_unnamed(span.lines[number - 1])) + len(_GAP) for number in wanted)
    if cost > room:
        return room
    each.above.update(wanted)
    shown.update(wanted)
    return room - cost


def _take_next(each: _Growing, distance: int, direction: int, shown: set[int], room: int) -> int:
    span = each.span
    number = span.start - distance if direction < 0 else span.end - 1 + distance
    chosen = each.above if direction < 0 else each.below
    if number in chosen or not each.is_open[direction]:
        return room
    is_there = 1 <= number <= len(span.lines)
    cost = len(show_unnamed(span.lines[number - 1])) if is_there else 0
    # What another span shows already ends this one's growing, and so does a line that does not fit.
    if not is_there or number in shown or cost > room:
        each.is_open[direction] = False
        return room
    chosen.add(number)
    shown.add(number)
    return room - cost


def _rows(each: _Growing) -> Around:
    span = each.span
    return Around(
        above=tuple(_with_gaps(span.lines, each.above, span.start)),
        below=tuple(show_unnamed(span.lines[number - 1]) for number in sorted(each.below)),
    )


def _with_gaps(lines: Sequence[str], numbers: set[int], end: int) -> Iterator[str]:
    for number in sorted(numbers):
        yield show_unnamed(lines[number - 1])
        if number + 1 != end and number + 1 not in numbers:
            yield _GAP


def find_headers(lines: Sequence[str], number: int, text: str) -> tuple[int, ...]:
    """Find the lines that begin the blocks around line `number`, the outermost first, by indentation alone.

    `text` tells how far the line is indented. A line that only opens or closes a bracket belongs to the one
    that the block begins with, which is given too. Of many the two outermost and the two innermost are given.
    """
    found: list[int] = []
    indentation = _indentation(text)
    seeks_beginning = False
    for at in range(min(number - 1, len(lines)), 0, -1):
        if not indentation and not seeks_beginning:
            break
        line = lines[at - 1]
        if not line.strip() or _ENCLOSES_NOTHING.match(line):
            continue
        here = _indentation(line)
        if here < indentation or (seeks_beginning and here == indentation):
            found.append(at)
            indentation = here
            seeks_beginning = _CLOSES_OR_OPENS.match(line) is not None
    found.reverse()
    half = _MOST_HEADERS // 2
    return tuple(found if len(found) <= _MOST_HEADERS else found[:half] + found[-half:])


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip()) if "\t" not in line else _wide_indentation(line)


def _wide_indentation(line: str) -> int:
    wide = line.expandtabs(_TAB)
    return len(wide) - len(wide.lstrip())
