"""What the page of a pull request shows, whatever forge it is of: conversation, files, threads below their lines."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from markupsafe import Markup

from deploy.sandbox.diffs import DiffLine, Hunk

ROWS_SHOWN = 400  # a longer file starts folded, unless somebody commented it
_KINDS = {"+": "add", "-": "del", " ": "context", "\\": "note"}
_MARKS = {
    "success": ("ok", "✓"), "failure": ("bad", "✕"), "failed": ("bad", "✕"), "error": ("bad", "✕"),
    "pending": ("wait", "●"), "running": ("wait", "●"), "queued": ("wait", "●"), "in_progress": ("wait", "●"),
}  # fmt: skip


class Person(Protocol):
    """An account as the page names it; `kind` is "Bot" for one that is no human."""

    login: str
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One comment or review with its text; `place` is the line's name on comments that have one."""

    anchor: str
    user: Person
    verb: str
    at: datetime
    body: Markup
    reactions: list[tuple[str, int]] = field(default_factory=list)
    place: str = ""
    path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    """Comments that stand together below the rows of these positions; above all rows if there are none."""

    said: list[Said]
    positions: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of a diff and the threads below it; `in_range` marks lines that a comment spans."""

    kind: str
    sign: str
    old: int | None
    new: int | None
    text: str
    in_range: bool
    threads: list[list[Said]]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileView:
    """One changed file; `rows` of kind "hunk" are the headers between hunks."""

    path: str
    old_path: str
    status: str
    additions: int
    deletions: int
    note: str
    rows: list[Row]
    threads: list[list[Said]]
    is_open: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A commit status or check run; `kind` picks the colour, `shape` and `word` say the same without it."""

    name: str
    kind: str
    shape: str
    word: str
    text: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PullSummary:
    """A pull request as a list shows it; `number` is written as the forge does, #1 or !1."""

    number: str
    url: str
    title: str
    author: Person
    opened_at: datetime
    state: str
    marks: list[Mark]


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryView:
    """A repository and its pull requests, newest first."""

    name: str
    pulls: list[PullSummary]


@dataclass(frozen=True, slots=True, kw_only=True)
class PullView:
    """All that the page of a pull request shows."""

    summary: PullSummary
    repository: str
    source: str
    target: str
    head_sha: str
    description: str
    conversation: list[Said]
    outdated: list[list[Said]]
    files: list[FileView]

    @property
    def additions(self) -> int:
        """Count added lines."""
        return sum(file.additions for file in self.files)

    @property
    def deletions(self) -> int:
        """Count deleted lines."""
        return sum(file.deletions for file in self.files)


def view_file(
    *,
    path: str,
    old_path: str,
    status: str,
    hunks: Sequence[Hunk],
    is_binary: bool,
    threads: Sequence[Thread],
) -> FileView:
    """Arrange a changed file, each thread below the last row that it is about."""
    lines = [line for hunk in hunks for line in hunk.lines]
    commented = {position for thread in threads for position in thread.positions}
    below: dict[int, list[list[Said]]] = {}
    for thread in threads:
        if thread.positions:
            below.setdefault(max(thread.positions), []).append(thread.said)
    rows = [row for hunk in hunks for row in _rows(hunk, commented, below)]
    note = "Binary file: no lines to show." if is_binary else "" if hunks else "No line was changed."
    return FileView(
        path=path,
        old_path=old_path,
        status=status,
        additions=sum(line.sign == "+" for line in lines),
        deletions=sum(line.sign == "-" for line in lines),
        note=note,
        rows=rows,
        threads=[thread.said for thread in threads if not thread.positions],
        is_open=len(rows) <= ROWS_SHOWN or bool(threads),
    )


def view_mark(*, name: str, word: str, text: str, url: str) -> Mark:
    """Arrange a status; only links to the web are followed."""
    kind, shape = _MARKS.get(word, ("none", "■"))
    safe_url = url if url.startswith(("http://", "https://")) else ""
    return Mark(name=name, kind=kind, shape=shape, word=word.replace("_", " "), text=text, url=safe_url)


def _rows(hunk: Hunk, commented: set[int], below: dict[int, list[list[Said]]]) -> list[Row]:
    header = hunk.header.decode(errors="replace")
    shown = Row(kind="hunk", sign="", old=None, new=None, text=header, in_range=False, threads=[])
    return [shown, *(_row(line, commented, below) for line in hunk.lines)]


def _row(line: DiffLine, commented: set[int], below: dict[int, list[list[Said]]]) -> Row:
    return Row(
        kind=_KINDS[line.sign],
        sign="" if line.sign == "\\" else line.sign,
        old=line.old,
        new=line.new,
        text=line.text.decode(errors="replace"),
        in_range=line.position in commented,
        threads=below.get(line.position, []),
    )
