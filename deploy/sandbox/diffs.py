"""What git says changed between two commits: files, hunks and numbered lines."""

import re
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from deploy.sandbox.git import GitRepository

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
SIMILARITY_PERCENT = 50  # what git itself calls a rename
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
    """One changed file; `patch` is its hunks as text, empty if there are none (binary, mode, pure rename).

    `section` is all that git wrote of it, headers included; a mode is "000000" where there is no file.
    """

    path: str
    old_path: str
    status: str
    old_mode: str
    new_mode: str
    old_sha: str
    new_sha: str
    is_binary: bool
    patch: bytes
    section: bytes = field(repr=False)
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


@lru_cache(maxsize=256)
def merge_base(git_path: Path, base: str, head: str) -> str:
    """Return the commit that a three-dot diff starts from; unrelated histories start from nothing."""
    return GitRepository(git_path).merge_base(base, head) or EMPTY_TREE


@lru_cache(maxsize=64)
def diff_between(git_path: Path, base: str, head: str, similarity: int = SIMILARITY_PERCENT) -> Diff:
    """Read the diff of two commits; they never change, so it is read once."""
    return read_diff(GitRepository(git_path), base, head, similarity)


def read_diff(git: GitRepository, base: str, head: str, similarity: int = SIMILARITY_PERCENT) -> Diff:
    """Compute what changed from `base` to `head`, commits or trees; files alike in `similarity` % are renamed."""
    renames = f"--find-renames={similarity}%"
    data = git.diff(base, head, renames)
    sections = _sections(data)
    files = []
    for (old_mode, new_mode, old_sha, new_sha, status), old_path, path in _raw_changes(
        git.diff(base, head, renames, "--raw", "-z", "--no-abbrev")
    ):
        # A type change (file to symlink) is one entry here, and there two sections: deletion and addition.
        section = sections.pop(0) + (sections.pop(0) if status[0] == "T" else b"")
        first_hunk = re.search(rb"^@@ ", section, re.MULTILINE)
        patch = section[first_hunk.start() :] if first_hunk else b""
        if status[0] == "T":
            patch = b""
        files.append(
            FileDiff(
                path=path,
                old_path=old_path,
                status=_STATUS[status[0]],
                old_mode=old_mode,
                new_mode=new_mode,
                old_sha=old_sha,
                new_sha=new_sha,
                is_binary=not patch and b"\nBinary files " in section,
                patch=patch.removesuffix(b"\n"),
                section=section,
                hunks=parse_hunks(patch),
            )
        )
    return Diff(data=data, files=tuple(files))


def _raw_changes(raw: bytes) -> list[tuple[list[str], str, str]]:
    """List (modes, SHAs and status; old path; path) of each change."""
    fields = raw.split(b"\0")[:-1]
    changes = []
    while fields:
        told = fields.pop(0).decode().removeprefix(":").split(" ")
        status = told[-1]
        old_path = fields.pop(0).decode(errors="surrogateescape")
        path = fields.pop(0).decode(errors="surrogateescape") if status[0] in "RC" else old_path
        changes.append((told, old_path, path))
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
