"""What git itself says of a change, and where our model of its diff says something else."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from bot.diff import Diff, FileDiff, FileStatus, LineKind
from bot.findings import Side
from deploy.exactness.history import SUBMODULE, run_git

_STATUSES = {
    "A": FileStatus.ADDED,
    "D": FileStatus.REMOVED,
    "M": FileStatus.MODIFIED,
    "R": FileStatus.RENAMED,
    "C": FileStatus.COPIED,
}
_TYPE_CHANGED = "T"
_NO_MODE = "000000"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A changed file by `git diff --raw --numstat`; `status` is git's letter, `similarity` in percent.

    `counts` are the added and the deleted lines, None for binary files.
    """

    old_path: str
    new_path: str
    status: str
    similarity: int | None
    old_mode: str
    new_mode: str
    old_id: str
    new_id: str
    counts: tuple[int, int] | None


def list_changes(repository: Path, revisions: str, *options: str) -> tuple[Change, ...]:
    """Ask git what has changed; `revisions` and options, those about renames, are those of `git diff`."""
    out = run_git(repository, "diff", *options, "--raw", "--numstat", "-z", "--no-abbrev", revisions)
    fields = iter([field.decode("utf-8", "surrogateescape") for field in out.split(b"\0")[:-1]])
    raw: list[tuple[list[str], str, str]] = []
    counts: list[tuple[int, int] | None] = []
    for field in fields:
        if field.startswith(":"):
            told = field[1:].split(" ")
            path = next(fields)
            raw.append((told, path, next(fields) if told[4][0] in "RC" else path))
            continue
        added, deleted, path = field.split("\t", 2)
        if not path:  # a rename: both names follow
            next(fields), next(fields)
        counts.append(None if added == "-" else (int(added), int(deleted)))
    return tuple(
        Change(
            old_path=old_path,
            new_path=new_path,
            status=status[0],
            similarity=int(status[1:]) if status[0] in "RC" else None,
            old_mode=old_mode,
            new_mode=new_mode,
            old_id=old_id,
            new_id=new_id,
            counts=count,
        )
        for ((old_mode, new_mode, old_id, new_id, status), old_path, new_path), count in zip(
            raw, counts, strict=True
        )
    )


@lru_cache(maxsize=512)
def read_blob(repository: Path, blob_id: str) -> bytes:
    """Read a file's content."""
    return run_git(repository, "cat-file", "blob", blob_id)


def read_version(repository: Path, change: Change, side: Side) -> bytes:
    """Read one version of a changed file, of a submodule what git shows in its place."""
    mode, blob_id = (change.old_mode, change.old_id) if side is Side.OLD else (change.new_mode, change.new_id)
    if mode == _NO_MODE:
        return b""
    return f"Subproject commit {blob_id}\n".encode() if mode == SUBMODULE else read_blob(repository, blob_id)


def split_lines(content: bytes) -> list[bytes]:
    """Cut a file into lines as git counts them."""
    return content.removesuffix(b"\n").split(b"\n") if content else []


def find_differences(
    diff: Diff, repository: Path, changes: Sequence[Change], *, unknown: Collection[str] = ()
) -> list[str]:
    """List, in a sentence each, where our model and git do not agree.

    Modes and similarity are compared where the diff has them from git. Files in `unknown` are known to be absent.
    """
    expected = [change for change in changes if change.new_path not in unknown]
    # A file that became a symlink is one change to git, and two files in its diff: removed, then added.
    sides = [
        side for change in expected for side in (("D", "A") if change.status == _TYPE_CHANGED else ("",))
    ]
    wanted = [change for change in expected for _ in range(2 if change.status == _TYPE_CHANGED else 1)]
    if len(wanted) != len(diff.files):
        return [f"git has {len(wanted)} files, the diff has {len(diff.files)}"]
    return [
        f"{file.new_path!r}: {problem}"
        for file, change, part in zip(diff.files, wanted, sides, strict=True)
        for problem in (*_compare_header(file, change, part), *_compare_lines(file, repository, change))
    ]


def _compare_header(file: FileDiff, change: Change, part: str) -> Iterator[str]:
    if (file.old_path, file.new_path) != (change.old_path, change.new_path):
        yield f"git names it {change.old_path!r} and {change.new_path!r}"
    # Forges that give the hunks alone do not tell modes.
    has_modes = "\nindex " in file.header or "\nold mode " in file.header
    status = _STATUSES[part or change.status]
    if status is FileStatus.MODIFIED and change.old_id == change.new_id and has_modes:
        status = FileStatus.MODE_CHANGED
    if file.status is not status:
        yield f"git says it was {status}, the diff {file.status}"
    for name, ours, theirs, absent in (
        ("old mode", file.old_mode, change.old_mode, part == "A"),
        ("new mode", file.new_mode, change.new_mode, part == "D"),
    ):
        if has_modes and ours not in ("", _NO_MODE if absent else theirs):
            yield f"git says {name} {theirs}, the diff {ours}"
    if file.similarity not in (None, change.similarity) and not part:
        yield f"git says {change.similarity} % alike, the diff {file.similarity} %"
    kinds = [line.kind for hunk in file.hunks for line in hunk.lines]
    counts = (kinds.count(LineKind.ADDED), kinds.count(LineKind.REMOVED))
    # Of a file whose content stays, a diff does not tell whether it is binary.
    tells_binary = change.old_id != change.new_id and not part and (has_modes or bool(file.hunks))
    if tells_binary and file.is_binary is not (change.counts is None):
        yield "git and the diff do not agree whether it is binary"
    elif change.counts is not None and not part and counts != change.counts:
        yield f"git counts {change.counts} lines added and deleted, the diff {counts}"


def _compare_lines(file: FileDiff, repository: Path, change: Change) -> Iterator[str]:
    contents = {side: read_version(repository, change, side) for side in Side} if file.hunks else {}
    versions = {side: split_lines(content) for side, content in contents.items()}
    for hunk in file.hunks:
        kinds = [line.kind for line in hunk.lines]
        if (kinds.count(LineKind.CONTEXT), len(kinds)) != (hunk.unchanged_count, hunk.line_count):
            yield f"{hunk.header!r} counts its lines wrongly"
        for line in hunk.lines:
            for side in Side:
                if not line.exists_on(side):
                    continue
                number, lines = line.number_on(side), versions[side]
                stands = lines[number - 1] if 0 < number <= len(lines) else None
                if stands != line.text.encode("utf-8", "surrogateescape"):
                    yield f"line {number} of the {side} version is {stands!r}, the diff has {line.text!r}"
                elif line.has_newline is not (number < len(lines) or contents[side].endswith(b"\n")):
                    yield f"line {number} of the {side} version ends differently"
