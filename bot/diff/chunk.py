"""Cut cleaned files into prompts that fit a budget: by file, then hunk, then inside a hunk with overlap.

No line is left out. A line that alone is longer than the budget is shortened where the model reads it, with a
mark that says so; its `Line` keeps the whole text. Lines that are for reading only have no id: those that an
earlier review has read, and those of the head file around, which fill the room that is left.

A chunk remembers where its lines are in their hunks, and writes its text when asked: prompts of a very large
diff are not all needed at once, and would take several times its memory.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from bot.diff.clean import CHARACTERS_PER_TOKEN, CleanedFile, NewLines
from bot.diff.display import show_text
from bot.diff.model import FileStatus, Hunk, Line, LineKind
from bot.diff.surroundings import LONGEST_UNNAMED, NOTHING_AROUND, Around, Span, show_unnamed, surround
from bot.findings import Side

OVERLAP_LINES = 3
# A very small budget still shows this much of each line; below it a prompt says nothing.
_MINIMUM_LINE = 80
_LONGEST_SECTION = 120


class ChunkTooSmallError(ValueError):
    """A chunk cannot be split: it has a single line."""


class _Row(NamedTuple):
    """One line of a hunk as the prompt shows it; `id` is "" for one that is for reading only.

    It begins at `at` in the hunk's body, where the two sides have reached the numbers `old` and `new`.
    """

    id: str
    shown: str
    at: int
    old: int
    new: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    """Consecutive rows of one hunk, from `start` up to `end` in its body; the first may also end the piece before.

    `old` and `new` are the numbers that it begins with, `size` counts the characters of its rows, and `room` is
    what one of them may have.
    """

    file: CleanedFile
    hunk: Hunk
    start: int
    end: int
    old: int
    new: int
    size: int
    room: int
    is_crlf: bool
    has_named_only: bool = False
    around: Around = NOTHING_AROUND

    def rows(self) -> Iterator[_Row]:
        """Write the rows."""
        number, is_plain = self.file.number, _is_plain(self.hunk.body)
        at, old, new = self.start, self.old, self.new
        for raw in self.hunk.body[self.start + 1 : self.end].split("\n"):
            sign, text = raw[:1] or " ", raw[1:]
            if sign != "\\":
                removed = sign == "-"
                if self.file.new_lines is None or _is_named(self.file.new_lines, sign, old, new):
                    row_id = f"{number}L{old}" if removed else f"{number}R{new}"
                    shown = text if is_plain else show_text(text.removesuffix("\r") if self.is_crlf else text)
                    if len(row_id) + len(shown) + 3 > self.room:
                        shown = _shorten(shown, self.room - len(row_id) - 3)
                    yield _Row(row_id, f"{row_id} {sign}{shown}\n", at, old, new)
                elif not removed and not self.has_named_only:
                    # It has been spoken of: an added line is one of the file now, a removed one is gone.
                    yield _Row("", show_unnamed(text, min(LONGEST_UNNAMED, self.room // 2)), at, old, new)
                old += sign != "+"
                new += not removed
            at += len(raw) + 1

    def lines(self) -> Iterator[tuple[str, Line]]:
        """Make the lines behind the rows, each with its id."""
        made = self.hunk.lines_between(self.start, self.end, self.old, self.new)
        lines = {(line.old_number, line.new_number): line for line in made}
        return ((row.id, lines[row.old, row.new]) for row in self.rows())

    @property
    def is_bare(self) -> bool:
        """Tell whether every row has an id."""
        if self.around != NOTHING_AROUND:
            return False
        return self.has_named_only or self.file.new_lines is None or all(row.id for row in self.rows())

    def bare(self) -> "_Piece":
        """Leave out the rows without an id."""
        bare = replace(self, has_named_only=True, around=NOTHING_AROUND)
        return bare if self.is_bare else replace(bare, size=sum(len(row.shown) for row in bare.rows()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A part of the diff for one question to the engine.

    Parts of a chunk that was split, or given surroundings, keep its `index`.
    """

    index: int
    files: tuple[CleanedFile, ...]
    estimated_tokens: int
    _size: int = field(repr=False)
    _pieces: tuple[_Piece, ...] = field(repr=False)
    _tokens_per_character: float = field(repr=False)

    @property
    def text(self) -> str:
        """Write the chunk as it goes into the prompt."""
        parts: list[str] = []
        file: CleanedFile | None = None
        for piece in self._pieces:
            if piece.file is not file:
                file = piece.file
                parts.append(_file_header(file))
            parts.append(_hunk_header(piece.hunk))
            parts.extend(piece.around.above)
            parts.extend([row.shown for row in piece.rows()])
            parts.extend(piece.around.below)
        return "".join(parts)

    @property
    def line_ids(self) -> Mapping[str, Line]:
        """Find the line behind every id in the text."""
        return {line_id: line for piece in self._pieces for line_id, line in piece.lines() if line_id}

    @property
    def is_bare(self) -> bool:
        """Tell whether every line in it has an id."""
        return all(piece.is_bare for piece in self._pieces)

    def bare(self) -> "Chunk":
        """Leave out the lines that are for reading only: they are the first to go when room is short."""
        pieces = [piece.bare() for piece in self._pieces]
        return _make_chunk(self.index, pieces, self._tokens_per_character)

    def surround(self, heads: Mapping[int, Sequence[str]], budget_tokens: int) -> "Chunk":
        """Show lines around the hunks, as many as fit the budget; `heads` are head files by file number."""
        if heads.keys().isdisjoint(file.number for file in self.files):
            return self
        room = int(budget_tokens / self._tokens_per_character) - self._size
        spans = [_span(piece, heads.get(piece.file.number, ())) for piece in self._pieces]
        pieces = [
            replace(piece, around=around)
            for piece, around in zip(self._pieces, surround(spans, max(room, 0)), strict=True)
        ]
        return _make_chunk(self.index, pieces, self._tokens_per_character)

    def split(self) -> "tuple[Chunk, Chunk]":
        """Cut into two smaller chunks, between files or hunks if that is near the middle.

        Raises ChunkTooSmallError if there is only one line.
        """
        first, second = _halve(self._pieces)
        return (
            _make_chunk(self.index, first, self._tokens_per_character),
            _make_chunk(self.index, second, self._tokens_per_character),
        )


def chunk_files(
    kept: Sequence[CleanedFile],
    budget_tokens: int,
    tokens_per_character: float = 1 / CHARACTERS_PER_TOKEN,
    *,
    overlap_lines: int = OVERLAP_LINES,
) -> tuple[Chunk, ...]:
    """Pack files into chunks of at most `budget_tokens` estimated tokens, in their order.

    A file stays whole if it fits a chunk of its own, a hunk likewise. Only headers that are themselves larger
    than the budget can make a chunk exceed it. Raises ValueError for a budget that is not positive.
    """
    if budget_tokens <= 0 or tokens_per_character <= 0:
        raise ValueError(f"a chunk needs a positive budget, not {budget_tokens} tokens")
    budget = int(budget_tokens / tokens_per_character)
    packer = _Packer(budget)
    for file in kept:
        pieces = [piece for hunk in file.hunks for piece in _cut_hunk(file, hunk, budget, overlap_lines)]
        packer.add_file(pieces)
    packer.close()
    return tuple(
        _make_chunk(index, pieces, tokens_per_character) for index, pieces in enumerate(packer.chunks)
    )


class _Packer:
    """Fill one chunk after the other; sizes are in characters."""

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self.chunks: list[tuple[_Piece, ...]] = []
        self.open: list[_Piece] = []
        self.size = 0

    def add_file(self, pieces: list[_Piece]) -> None:
        if self.size + _size(pieces) > self.budget:
            self.close()
        for piece in pieces:
            header = 0 if self.open and self.open[-1].file is piece.file else len(_file_header(piece.file))
            if self.open and self.size + header + _piece_size(piece) > self.budget:
                self.close()
                header = len(_file_header(piece.file))
            self.open.append(piece)
            self.size += header + _piece_size(piece)

    def close(self) -> None:
        if self.open:
            self.chunks.append(tuple(self.open))
        self.open, self.size = [], 0


def _size(pieces: Sequence[_Piece]) -> int:
    return len(_file_header(pieces[0].file)) + sum(map(_piece_size, pieces))


def _piece_size(piece: _Piece) -> int:
    around = sum(map(len, piece.around.above)) + sum(map(len, piece.around.below))
    return len(_hunk_header(piece.hunk)) + piece.size + around


def _cut_hunk(file: CleanedFile, hunk: Hunk, budget: int, overlap: int) -> Iterator[_Piece]:
    room = max(budget - len(_file_header(file)) - len(_hunk_header(hunk)), _MINIMUM_LINE)
    old, new = hunk.first_numbers
    # In a file with Windows line ends the \r says nothing; a single one does.
    is_crlf = "\r" in hunk.body and all(
        raw.endswith("\r") for raw in hunk.raw_lines if not raw.startswith("\\")
    )
    whole = _Piece(
        file=file,
        hunk=hunk,
        start=0,
        end=len(hunk.body),
        old=old,
        new=new,
        size=0,
        room=room,
        is_crlf=is_crlf,
    )
    rows = list(whole.rows())
    start = 0
    repeated = 0
    while start < len(rows):
        end, size = start, 0
        while end < len(rows) and size + len(rows[end].shown) <= room:
            size += len(rows[end].shown)
            end += 1
        if end <= start + repeated:
            # The repeated rows leave no room for the next: do without them.
            start, repeated = start + repeated, 0
            continue
        yield _take(whole, rows, start, end)
        if end == len(rows):
            return
        repeated = min(overlap, (end - start) // 2)
        start = end - repeated


def _take(piece: _Piece, rows: Sequence[_Row], start: int, end: int) -> _Piece:
    """Take some of a piece's rows."""
    first = rows[start]
    return replace(
        piece,
        start=first.at,
        end=rows[end].at if end < len(rows) else piece.end,
        old=first.old,
        new=first.new,
        size=sum([len(row.shown) for row in rows[start:end]]),
    )


def _is_named(new_lines: NewLines, sign: str, old: int, new: int) -> bool:
    """Tell whether a line is reviewed: one that is not changed can always be named."""
    if sign == " ":
        return True
    return old in new_lines.removed if sign == "-" else new in new_lines.added


def _is_plain(body: str) -> bool:
    """Tell of most hunks at once that every line is shown as it is."""
    if not body.isascii() or "<" in body or "[" in body:
        return False
    return body.replace("\n", "").replace("\t", "").isprintable()


def _shorten(shown: str, room: int) -> str:
    mark = f" [... shortened, {len(shown):,} characters]"
    return shown[: max(room - len(mark), 0)] + mark


def _span(piece: _Piece, lines: Sequence[str]) -> Span:
    shown = list(piece.lines())
    first, last = shown[0][1], shown[-1][1]
    changed = next(
        (
            line
            for line_id, line in shown
            if line_id and line.kind is not LineKind.CONTEXT and line.text.strip()
        ),
        first,
    )
    return Span(
        file=piece.file.number,
        lines=lines,
        start=first.new_number,
        end=last.new_number + last.exists_on(Side.NEW),
        changed_at=changed.new_number,
        changed_text=changed.text,
    )


def _file_header(file: CleanedFile) -> str:
    diff = file.file
    name = show_text(diff.path)
    if diff.status in (FileStatus.RENAMED, FileStatus.COPIED):
        name = f"{show_text(diff.old_path)} \u2192 {name}"
    return f"File {file.number}: {name} ({diff.status})\n"


def _hunk_header(hunk: Hunk) -> str:
    return f"@@ {show_text(hunk.section[:_LONGEST_SECTION])}".rstrip() + "\n"


def _make_chunk(index: int, pieces: Sequence[_Piece], tokens_per_character: float) -> Chunk:
    files: list[CleanedFile] = []
    size = 0
    for piece in pieces:
        if not files or files[-1] is not piece.file:
            files.append(piece.file)
            size += len(_file_header(piece.file))
        size += _piece_size(piece)
    return Chunk(
        index=index,
        files=tuple(files),
        estimated_tokens=math.ceil(size * tokens_per_character),
        _size=size,
        _pieces=tuple(pieces),
        _tokens_per_character=tokens_per_character,
    )


def _halve(pieces: Sequence[_Piece]) -> tuple[tuple[_Piece, ...], tuple[_Piece, ...]]:
    """Cut at the border of a file or hunk that is nearest to the middle, or inside the only hunk."""
    if len(pieces) == 1:
        return _halve_piece(pieces[0])
    sizes = [_piece_size(piece) for piece in pieces]
    total = sum(sizes)
    cut = min(range(1, len(pieces)), key=lambda at: abs(2 * sum(sizes[:at]) - total))
    return tuple(pieces[:cut]), tuple(pieces[cut:])


def _halve_piece(piece: _Piece) -> tuple[tuple[_Piece], tuple[_Piece]]:
    bare = piece.bare()
    rows = list(bare.rows())
    if len(rows) < 2:
        raise ChunkTooSmallError(f"{piece.file.path} cannot be split further: only one line is left")
    size = 0
    middle = 0
    while middle < len(rows) - 1 and (middle == 0 or 2 * size < bare.size):
        size += len(rows[middle].shown)
        middle += 1
    repeated = min(OVERLAP_LINES, middle // 2, (len(rows) - middle) // 2)
    first, second = _take(bare, rows, 0, middle), _take(bare, rows, middle - repeated, len(rows))
    return (
        (replace(first, around=replace(piece.around, below=())),),
        (replace(second, around=replace(piece.around, above=())),),
    )
