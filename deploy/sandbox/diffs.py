"""What git says changed between two commits: files, hunks and numbered lines."""

import re
from dataclasses import dataclass, field

from deploy.sandbox.git import GitRepository

_HUNK = re.compile(rb"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_STATUS = {"A": "added", "D": "removed", "M": "modified", "T": "changed", "R": "renamed", "C": "copied"}


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffLine:
    """One line below a hunk header; `sign` is " ", "+", "-" or "\\", `position` counts from the first one."""

    sign: str
    old: int | None
    new: int | None
    position: int
    text: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """A hunk's header line, as git wrote it, and the lines below it."""

    header: bytes
    lines: tuple[DiffLine, ...]

    def line(self, number: int, side: str) -> DiffLine | None:
        """Find a line by its number on the LEFT (old) or RIGHT (new) side, or None."""
        attribute = "old" if side == "LEFT" else "new"
        return next((line for line in self.lines if getattr(line, attribute) == number), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDiff:
    """One changed file; `patch` is its hunks as text, empty if there are none (binary, mode, pure rename)."""

    path: str
    old_path: str
    status: str
    old_sha: str
    new_sha: str
    is_binary: bool
    patch: bytes
    hunks: tuple[Hunk, ...] = field(repr=False)

    @property
    def additions(self) -> int:
        """Count added lines."""
        return sum(line.sign == "+" for hunk in self.hunks for line in hunk.lines)

    @property
    def deletions(self) -> int:
        """Count deleted lines."""
        return sum(line.sign == "-" for hunk in self.hunks for line in hunk.lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Diff:
    """The diff of two commits as bytes and as files."""

    data: bytes
    files: tuple[FileDiff, ...]

    def file(self, path: str) -> FileDiff | None:
        """Find a changed file by its present path, or None."""
        return next((file for file in self.files if file.path == path), None)


def read_diff(git: GitRepository, base: str, head: str) -> Diff:
    """Compute what changed from `base` to `head`; both are commits or trees."""
    data = git.diff(base, head)
    sections = _sections(data)
    files = []
    for status, old_sha, new_sha, old_path, path in _raw_changes(
        git.diff(base, head, "--raw", "-z", "--no-abbrev")
    ):
        # A type change (file to symlink) is one entry here, and there two sections: deletion and addition.
        section = sections.pop(0) + (sections.pop(0) if status == "T" else b"")
        first_hunk = re.search(rb"^@@ ", section, re.MULTILINE)
        patch = section[first_hunk.start() :] if first_hunk else b""
        if status == "T":
            patch = b""
        files.append(
            FileDiff(
                path=path,
                old_path=old_path,
                status=_STATUS[status],
                old_sha=old_sha,
                new_sha=new_sha,
                is_binary=not patch and b"\nBinary files " in section,
                patch=patch.removesuffix(b"\n"),
                hunks=parse_hunks(patch),
            )
        )
    return Diff(data=data, files=tuple(files))


def _raw_changes(raw: bytes) -> list[tuple[str, str, str, str, str]]:
    fields = raw.split(b"\0")[:-1]
    changes = []
    while fields:
        _, _, old_sha, new_sha, status = fields.pop(0).decode().split(" ")
        old_path = fields.pop(0).decode(errors="surrogateescape")
        path = fields.pop(0).decode(errors="surrogateescape") if status[0] in "RC" else old_path
        changes.append((status[0], old_sha, new_sha, old_path, path))
    return changes


def _sections(diff: bytes) -> list[bytes]:
    """Split at the `diff --git` lines; content is never mistaken for one, for it has a sign in front."""
    starts = [found.start() for found in re.finditer(rb"^diff --git ", diff, re.MULTILINE)]
    ends = [*starts[1:], len(diff)]
    return [diff[start:end] for start, end in zip(starts, ends, strict=False)]


def parse_hunks(patch: bytes) -> tuple[Hunk, ...]:
    """Number the lines of a file's hunks; only a newline ends a line."""
    hunks: list[tuple[bytes, list[DiffLine]]] = []
    old = new = 0
    for position, text in enumerate(patch.removesuffix(b"\n").split(b"\n") if patch else []):
        header = _HUNK.match(text)
        if header:
            old, new = int(header[1]), int(header[2])
            hunks.append((text, []))
            continue
        sign = chr(text[0])
        hunks[-1][1].append(
            DiffLine(
                sign=sign,
                position=position,
                text=text[1:],
                old=old if sign in " -" else None,
                new=new if sign in " +" else None,
            )
        )
        old += sign in " -"
        new += sign in " +"
    return tuple(Hunk(header=header, lines=tuple(lines)) for header, lines in hunks)
