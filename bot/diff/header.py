"""Read the lines between `diff --git` and the first hunk. See "Generating patch text" in git-diff(1)."""

import re
from dataclasses import dataclass

from bot.diff.model import FileStatus
from bot.diff.paths import DEV_NULL, read_git_names, read_header_path, strip_prefixes, unquote

_FIELDS = {
    "old mode ": ("old_mode", FileStatus.MODE_CHANGED),
    "new mode ": ("new_mode", FileStatus.MODE_CHANGED),
    "new file mode ": ("new_mode", FileStatus.ADDED),
    "deleted file mode ": ("old_mode", FileStatus.REMOVED),
    "rename from ": ("old_path", FileStatus.RENAMED),
    "rename to ": ("new_path", FileStatus.RENAMED),
    "copy from ": ("old_path", FileStatus.COPIED),
    "copy to ": ("new_path", FileStatus.COPIED),
}
_SIMILARITY = re.compile("similarity index ([0-9]{1,3})%")


@dataclass(slots=True, kw_only=True)
class FileHeader:
    """What the header lines say; `length` counts those that were understood, `problem` is what is wrong."""

    old_path: str = ""
    new_path: str = ""
    status: FileStatus = FileStatus.MODIFIED
    old_mode: str = ""
    new_mode: str = ""
    similarity: int | None = None
    is_binary: bool = False
    expects_hunks: bool = False
    length: int = 0
    problem: str = ""


def read_git_header(lines: tuple[str, ...], start: int) -> FileHeader:
    """Read a header that starts with `diff --git`; raises PathSyntaxError for names that cannot be read."""
    header = FileHeader()
    marked: list[str] = []
    first = _without_return(lines[start])
    at = start + 1
    while at < len(lines):
        line = _without_return(lines[at])
        if line.startswith(("--- ", "+++ ")):
            marked.append(read_header_path(line[4:]))
        elif line.startswith("GIT binary patch"):
            header.is_binary = True
            at = _skip_binary_patch(lines, at)
            continue
        elif not _read_line(header, line):
            break
        at += 1
    header.length = at - start
    header.expects_hunks = bool(marked)
    if header.status is FileStatus.MODE_CHANGED and (marked or header.is_binary):
        header.status = FileStatus.MODIFIED
    _settle_paths(header, first, marked)
    return header


def _without_return(line: str) -> str:
    # Headers alone may lose a \r: transports add it, and git quotes names that hold one.
    return line.removesuffix("\r")


def _skip_binary_patch(lines: tuple[str, ...], at: int) -> int:
    """Find the end of the base-85 blocks, which is where the next file starts."""
    while at < len(lines) and not lines[at].startswith("diff --git "):
        at += 1
    return at


def _read_line(header: FileHeader, line: str) -> bool:
    """Take one line in; False if git does not write such a line in a header."""
    if line.startswith("index "):
        mode = line[6:].partition(" ")[2]
        header.old_mode = header.old_mode or mode
        header.new_mode = header.new_mode or mode
        return True
    for start, (field, status) in _FIELDS.items():
        if line.startswith(start):
            value = line[len(start) :]
            setattr(header, field, unquote(value) if field.endswith("path") else value)
            header.status = status
            return True
    if line.startswith("Binary files "):
        header.is_binary = True
    elif similarity := _SIMILARITY.fullmatch(line):
        header.similarity = int(similarity[1])
    else:
        return line.startswith("dissimilarity index ")
    return True


def _settle_paths(header: FileHeader, first: str, marked: list[str]) -> None:
    if marked and len(marked) != 2:
        header.problem = "a '---' line needs a '+++' line, and the other way round"
        return
    if not (header.old_path and header.new_path):
        names = read_git_names(first.removeprefix("diff --git "))
        if names is None and marked:
            names = (marked[0], marked[1])
        if names is None:
            header.problem = f"cannot tell the file's name from {first[:200]!r}"
            return
        header.old_path, header.new_path = _strip_pair(*names)
    for name, path in zip(marked, (header.old_path, header.new_path), strict=False):
        if name[2:] != path and name not in (DEV_NULL, path) and not name.endswith(f"/{path}"):
            header.problem = f"the headers name different files: {name!r} and {path!r}"


def _strip_pair(old: str, new: str) -> tuple[str, str]:
    """Remove prefixes; the side on which the file does not exist takes the other's name, as on the forges."""
    old, new = strip_prefixes(old, new)
    return (new if old == DEV_NULL else old), (old if new == DEV_NULL else new)


def read_plain_header(lines: tuple[str, ...], start: int) -> FileHeader:
    """Read `---` and `+++` with an optional line of diff(1) before them; raises PathSyntaxError."""
    at = start + lines[start].startswith("diff ")
    header = FileHeader(expects_hunks=True, length=at + 2 - start)
    marks = [_without_return(line) for line in lines[at : at + 2]]
    if [mark[:4] for mark in marks] != ["--- ", "+++ "]:
        header.problem = "expected a '---' line and a '+++' line"
        return header
    old, new = (read_header_path(mark[4:]) for mark in marks)
    if old == DEV_NULL:
        header.status = FileStatus.ADDED
    elif new == DEV_NULL:
        header.status = FileStatus.REMOVED
    header.old_path, header.new_path = _strip_pair(old, new)
    return header
