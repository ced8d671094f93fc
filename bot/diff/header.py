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
# A file whose text was changed, added or removed, up to its first hunk: what nearly all headers look like.
_COMMON = re.compile(
    r"diff --git (?P<names>.+)\n"
    r"(?:new file mode (?P<added>[0-7]+)\n|deleted file mode (?P<removed>[0-7]+)\n)?"
    r"index [0-9a-f.]+(?: (?P<mode>[0-7]+))?\n"
    r"--- (?P<old>[^\t\n]+)\n"
    r"\+\+\+ (?P<new>[^\t\n]+)\n(?=@)"
)


@dataclass(slots=True, kw_only=True)
class FileHeader:
    """What a header says that ends at `end` in the text; `problem` is what is wrong with it."""

    old_path: str = ""
    new_path: str = ""
    status: FileStatus = FileStatus.MODIFIED
    old_mode: str = ""
    new_mode: str = ""
    similarity: int | None = None
    is_binary: bool = False
    expects_hunks: bool = False
    end: int = 0
    problem: str = ""


def read_common_header(text: str, start: int) -> FileHeader | None:
    """Read a header of the most common shape at once; None if only `read_git_header` can read it."""
    match = _COMMON.match(text, start)
    if match is None or '"' in match["names"] or "\r" in match[0]:
        return None
    names, added, removed, mode, old, new = match.groups()
    if added is not None:
        status, path, marks = FileStatus.ADDED, new[2:], (DEV_NULL, f"b/{new[2:]}")
    elif removed is not None:
        status, path, marks = FileStatus.REMOVED, old[2:], (f"a/{old[2:]}", DEV_NULL)
    else:
        status, path, marks = FileStatus.MODIFIED, new[2:], (f"a/{new[2:]}", f"b/{new[2:]}")
    if names != f"a/{path} b/{path}" or (old, new) != marks:
        return None
    return FileHeader(
        old_path=path,
        new_path=path,
        status=status,
        old_mode=removed or mode or "",
        new_mode=added or mode or "",
        expects_hunks=True,
        end=match.end(),
    )


def read_git_header(text: str, start: int) -> FileHeader:
    """Read a header that starts with `diff --git`; raises PathSyntaxError for names that cannot be read."""
    header = FileHeader()
    marked: list[str] = []
    first, at = _read_line(text, start)
    while at < len(text):
        line, following = _read_line(text, at)
        if line.startswith(("--- ", "+++ ")):
            marked.append(read_header_path(line[4:]))
        elif line.startswith("GIT binary patch"):
            header.is_binary = True
            # Its base-85 blocks go on to the next file.
            following = text.find("\ndiff --git ", at) + 1 or len(text)
        elif not _take(header, line):
            break
        at = following
    header.end = at
    header.expects_hunks = bool(marked)
    if header.status is FileStatus.MODE_CHANGED and (marked or header.is_binary):
        header.status = FileStatus.MODIFIED
    _settle_paths(header, first, marked)
    return header


def _read_line(text: str, at: int) -> tuple[str, int]:
    """Give the line that begins here, and where the next one begins."""
    end = text.index("\n", at)
    # Headers alone may lose a \r: transports add it, and git quotes names that hold one.
    return text[at:end].removesuffix("\r"), end + 1


def _take(header: FileHeader, line: str) -> bool:
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


def read_plain_header(text: str, start: int) -> FileHeader:
    """Read `---` and `+++` with an optional line of diff(1) before them; raises PathSyntaxError."""
    at = text.index("\n", start) + 1 if text.startswith("diff ", start) else start
    marks: list[str] = []
    for mark in ("--- ", "+++ "):
        if not text.startswith(mark, at):
            return FileHeader(problem="expected a '---' line and a '+++' line")
        line, at = _read_line(text, at)
        marks.append(read_header_path(line[4:]))
    old, new = marks
    status = {old: FileStatus.ADDED, new: FileStatus.REMOVED}.get(DEV_NULL, FileStatus.MODIFIED)
    old_path, new_path = _strip_pair(old, new)
    return FileHeader(old_path=old_path, new_path=new_path, status=status, expects_hunks=True, end=at)
