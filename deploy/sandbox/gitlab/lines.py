"""The lines of a diff as GitLab counts them, which is how it finds the line of a position.

lib/gitlab/diff/parser.rb and lines_unfolder.rb of GitLab say how. Its parser has a trap: behind an unchanged
line it takes a line that reads like a file header ("--- a...", "+++ b...") for one. Such a line is passed over,
and the numbers of the lines below it in the hunk fall behind.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

_HUNK = re.compile(rb"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_LIKE_FILE_NAMES = (
    b"--- /dev/null", b"+++ /dev/null", b"--- a", b"+++ b", b"+++ a", b"--- /tmp/diffy", b"+++ /tmp/diffy",
)  # fmt: skip
UNFOLDED_AROUND = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line; `kind` is new, old, unchanged, match (a hunk's header) or nonewline.

    Both positions are always known: on an added line the old one is where it would stand in the old file.
    `row` counts the lines of the patch; an unfolded line is not one of them.
    """

    kind: str
    old_pos: int
    new_pos: int
    text: bytes
    header: bytes
    row: int | None = None

    @property
    def old_line(self) -> int | None:
        """Return the number in the old file, if the line is there."""
        return self.old_pos if self.kind in ("old", "unchanged") else None

    @property
    def new_line(self) -> int | None:
        """Return the number in the new file, if the line is there."""
        return self.new_pos if self.kind in ("new", "unchanged") else None


@lru_cache(maxsize=512)
def parse_lines(patch: bytes) -> tuple[Line, ...]:
    """Number the lines of a file's patch."""
    lines = []
    old = new = 1
    header = b""
    kind = "nothing"
    for row, text in enumerate(patch.removesuffix(b"\n").split(b"\n") if patch else ()):
        if text.startswith(_LIKE_FILE_NAMES) and kind == "unchanged":
            continue
        found = _HUNK.match(text)
        if found:
            kind, header, old, new = "match", text, int(found[1]), int(found[2])
            if old <= 1 and new <= 1:
                continue
        elif text.startswith(b"\\"):
            kind = "nonewline"
        else:
            kind = {b"+": "new", b"-": "old"}.get(text[:1], "unchanged")
        lines.append(Line(kind=kind, old_pos=old, new_pos=new, text=text, header=header, row=row))
        old += kind in ("old", "unchanged")
        new += kind in ("new", "unchanged")
    return tuple(lines)


def find_line(lines: Sequence[Line], old_line: int | None, new_line: int | None) -> Line | None:
    """Find the line with exactly these two numbers, the lowest one if there are several."""
    pair = (old_line, new_line)
    found = (line for line in reversed(lines) if (line.old_line, line.new_line) == pair)
    return next((line for line in found if line.kind not in ("match", "nonewline")), None)


def unfold_line(lines: Sequence[Line], old_blob: bytes, old_line: int, new_line: int) -> Line | None:
    """Find an unchanged line that no hunk shows, by the shift of the hunk below it, or of the last line."""
    last = lines[-1]
    if old_line > last.old_pos:
        anchor, above, below = last, last.old_pos, None
    else:
        at = next(
            (at for at, line in enumerate(lines) if line.kind == "match" and line.old_pos > old_line), None
        )
        if at is None:
            return None
        anchor, above, below = lines[at], lines[at - 1].old_pos if at else 0, lines[at + 1].old_pos
    blob_lines = old_blob.removesuffix(b"\n").split(b"\n") if old_blob else []
    first = max(old_line - UNFOLDED_AROUND, above + 1)
    end = len(blob_lines) if below is None else min(below - 1, len(blob_lines))
    shift = anchor.new_pos - anchor.old_pos
    if not first <= old_line <= end or old_line + shift != new_line:
        return None
    return Line(
        kind="unchanged",
        old_pos=old_line,
        new_pos=new_line,
        text=b" " + blob_lines[old_line - 1],
        header=b"@@ -%d +%d @@" % (old_line, new_line),
    )


def line_code(path: str, line: Line) -> str:
    """Name a line as GitLab does."""
    hashed = hashlib.sha1(path.encode(errors="surrogateescape"), usedforsecurity=False).hexdigest()
    return f"{hashed}_{line.old_pos}_{line.new_pos}"


def diff_hunk(lines: Sequence[Line], line: Line) -> str:
    """Quote the hunk down to a line; of an unfolded line only itself."""
    shown = [line.text]
    if line in lines:
        shown = [
            one.text
            for one in lines[: lines.index(line) + 1]
            if one.header == line.header and one.kind != "match"
        ]
    return b"\n".join([line.header, *shown]).decode(errors="replace")
