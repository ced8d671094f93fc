"""Reads back what stands on the forge, and compares the text under each comment with what it quotes.

The lines come from git's blobs by number, not through anything that has parsed a diff.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bot.diff.display import show_text
from bot.findings import Side
from bot.llm.prompt import WORD_JOINER
from deploy.exactness.remarks import Remark
from deploy.exactness.truth import Change, read_version, split_lines
from deploy.sandbox.forge import InlineComment

_SHORTEST_PART = 12
_SUGGESTION = re.compile(r"^`{3,}suggestion(?::-([0-9]+)\+([0-9]+))?$", re.MULTILINE)
_SIDES = {"LEFT": Side.OLD, "RIGHT": Side.NEW}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """What git has of one pull request, by the paths that its comments name."""

    repository: Path
    changes: Sequence[Change]

    def problems(self, comment: InlineComment, remark: Remark) -> Iterator[str]:
        """Say, in a phrase each, how a comment stands under another text, or elsewhere than its finding says."""
        if remark.must_decline:
            yield "there is no place for it, or two that are as good"
        end = (_SIDES[comment.side], comment.line)
        start = (_SIDES[comment.start_side or comment.side], comment.start_line or comment.line)
        first, last = self._text(comment, *start), self._text(comment, *end)
        if first is None or last is None:
            yield "it stands on no line of the file"
            return
        quoted = [code for code in remark.code if code.strip()]
        stands = [first] if start == end else [first, last]
        if start[0] is end[0] and not (remark.side is Side.OLD and end[0] is Side.NEW):
            numbers = range(start[1] or 0, (end[1] or 0) + 1)
            stands = [self._text(comment, end[0], number) or "" for number in numbers]
        elif len(quoted) > 1:
            # A forge may name the ends by different versions, or unchanged ones by the new: then the ends alone count.
            quoted = [quoted[0], quoted[-1]]
        quoted = [code for code in quoted if not _is_blank(code)]
        stands = [text for text in stands if not _is_blank(text)]
        if len(stands) != len(quoted) or not all(map(_is_quoted, quoted, stands)):
            yield f"it quotes {quoted!r}, and {stands!r} stands there"
        if comment.diff_hunk and not _is_same(comment.diff_hunk.rpartition("\n")[2][1:], last):
            yield f"the forge shows it under {comment.diff_hunk.rpartition(chr(10))[2]!r}"
        if comment.is_outdated or comment.subject_type != "line":
            yield "it is outdated, or on no line"
        yield from _misapplication(comment)
        yield from self._misplacement(comment, remark)

    def _misplacement(self, comment: InlineComment, remark: Remark) -> Iterator[str]:
        row = remark.row
        if row is None:
            return
        named = (row.path.replace(WORD_JOINER, ""), row.side, row.number)
        side, number = comment.start_side or comment.side, comment.start_line or comment.line
        if (show_text(comment.path), _SIDES[side], number) != named:
            yield f"its finding names line {row.number} of the {row.side} {row.path!r}"

    def _text(self, comment: InlineComment, side: Side, number: int | None) -> str | None:
        lines = self._lines(comment.path, side)
        if number is None or not 0 < number <= len(lines):
            return None
        return lines[number - 1].decode("utf-8", "surrogateescape")

    def _lines(self, path: str, side: Side) -> list[bytes]:
        change = next(change for change in self.changes if change.new_path == path)
        return split_lines(read_version(self.repository, change, side))


def _misapplication(comment: InlineComment) -> Iterator[str]:
    """Say where a suggestion would replace other lines than those that its comment is about."""
    suggestion = _SUGGESTION.search(comment.body)
    if suggestion is None:
        return
    if comment.side == "LEFT":
        yield "it suggests a change of the old version"
    above, below = suggestion.groups()
    count = (comment.line or 0) - (comment.start_line or comment.line or 0)
    if above is not None and (int(above), int(below)) != (count, 0):
        yield f"its suggestion replaces {above} lines above it and {below} below, not {count} and 0"


def _is_quoted(quote: str, text: str) -> bool:
    """Tell whether a quote of the prompt's text is a line, or a part of it that is long enough."""
    wanted = _collapse(quote.replace(WORD_JOINER, ""))
    shown = [_collapse(form) for form in (text, show_text(text), show_text(text.removesuffix("\r")))]
    return wanted in shown or (len(wanted) >= _SHORTEST_PART and any(wanted in one for one in shown))


def _is_blank(code: str) -> bool:
    """Tell lines without code; an end of a Windows line is shown as an escape among lines that have none."""
    return not code.replace(show_text("\r"), "").strip()


def _is_same(shown: str, text: str) -> bool:
    """Compare with what a forge shows, where bytes that are not UTF-8 are replaced."""
    raw = text.encode("utf-8", "surrogateescape")
    return shown == raw.decode("utf-8", "replace")


def _collapse(text: str) -> str:
    return " ".join(text.split())
