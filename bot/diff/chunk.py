"""Cut cleaned files into prompts that fit a budget: by file, then hunk, then inside a hunk with overlap.

No line is left out. A line that alone is longer than the budget is shortened where the model reads it, with a
mark that says so; its `Line` keeps the whole text.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from bot.diff.clean import CHARACTERS_PER_TOKEN, CleanedFile
from bot.diff.display import show_text
from bot.diff.model import FileStatus, Hunk, Line, LineKind

OVERLAP_LINES = 3
# A very small budget still shows this much of each line; below it a prompt says nothing.
_MINIMUM_LINE = 80
_LONGEST_SECTION = 120


class ChunkTooSmallError(ValueError):
    """A chunk cannot be split: it has a single line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """One line of a hunk as the prompt shows it."""

    id: str
    line: Line
    shown: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    """Consecutive rows of one hunk; the first of them may also end the piece before."""

    file: CleanedFile
    hunk: Hunk
    rows: tuple[_Row, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A part of the diff for one question to the engine.

    `text` goes into the prompt as it is. `line_ids` finds the line behind every id in it. Parts of a chunk
    that was split keep its `index`.
    """

    index: int
    text: str
    line_ids: Mapping[str, Line]
    files: tuple[CleanedFile, ...]
    estimated_tokens: int
    _pieces: tuple[_Piece, ...] = field(repr=False)
    _tokens_per_character: float = field(repr=False)

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
    return len(_hunk_header(piece.hunk)) + sum(len(row.shown) for row in piece.rows)


def _cut_hunk(file: CleanedFile, hunk: Hunk, budget: int, overlap: int) -> Iterator[_Piece]:
    room = max(budget - len(_file_header(file)) - len(_hunk_header(hunk)), _MINIMUM_LINE)
    rows = tuple(_show_rows(file, hunk, room))
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
        yield _Piece(file=file, hunk=hunk, rows=rows[start:end])
        if end == len(rows):
            return
        repeated = min(overlap, (end - start) // 2)
        start = end - repeated


def _show_rows(file: CleanedFile, hunk: Hunk, room: int) -> Iterator[_Row]:
    lines = list(hunk.lines)
    # In a file with Windows line ends the \r says nothing; a single one does.
    is_crlf = all(line.text.endswith("\r") for line in lines)
    for line in lines:
        removed = line.kind is LineKind.REMOVED
        line_id = f"{file.number}{'L' if removed else 'R'}{line.old_number if removed else line.new_number}"
        start = f"{line_id} {line.kind}"
        text = show_text(line.text.removesuffix("\r") if is_crlf else line.text)
        if len(start) + len(text) + 1 > room:
            mark = f" [... shortened, {len(text):,} characters]"
            text = text[: max(room - len(start) - len(mark) - 1, 0)] + mark
        yield _Row(id=line_id, line=line, shown=f"{start}{text}\n")


def _file_header(file: CleanedFile) -> str:
    diff = file.file
    name = show_text(diff.path)
    if diff.status in (FileStatus.RENAMED, FileStatus.COPIED):
        name = f"{show_text(diff.old_path)} \u2192 {name}"
    return f"File {file.number}: {name} ({diff.status})\n"


def _hunk_header(hunk: Hunk) -> str:
    return f"@@ {show_text(hunk.section[:_LONGEST_SECTION])}".rstrip() + "\n"


def _make_chunk(index: int, pieces: Sequence[_Piece], tokens_per_character: float) -> Chunk:
    parts: list[str] = []
    files: list[CleanedFile] = []
    for piece in pieces:
        if not files or files[-1] is not piece.file:
            files.append(piece.file)
            parts.append(_file_header(piece.file))
        parts.append(_hunk_header(piece.hunk))
        parts.extend(row.shown for row in piece.rows)
    text = "".join(parts)
    return Chunk(
        index=index,
        text=text,
        line_ids={row.id: row.line for piece in pieces for row in piece.rows},
        files=tuple(files),
        estimated_tokens=math.ceil(len(text) * tokens_per_character),
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
    rows = piece.rows
    if len(rows) < 2:
        raise ChunkTooSmallError(f"{piece.file.path} cannot be split further: only one line is left")
    total = sum(len(row.shown) for row in rows)
    size = 0
    middle = 0
    while middle < len(rows) - 1 and (middle == 0 or 2 * size < total):
        size += len(rows[middle].shown)
        middle += 1
    repeated = min(OVERLAP_LINES, middle // 2, (len(rows) - middle) // 2)
    return (replace(piece, rows=rows[:middle]),), (replace(piece, rows=rows[middle - repeated :]),)
