"""The diff of a merge request as GitLab lists it, and what it leaves out."""

from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from deploy.sandbox.diffs import FileDiff, diff_between
from deploy.sandbox.gitlab.options import DiffLimits, Options
from deploy.sandbox.gitlab.state import DiffVersion, Project

# Gitaly runs `git diff --find-renames=30%` for /diffs and for positions, but not for /raw_diffs.
SIMILARITY_PERCENT = 30
_NO_MODE = "0"
_GENERATED = ("package-lock.json", "yarn.lock", "Gemfile.lock", "poetry.lock", "Cargo.lock", "go.sum")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One entry of the list of changed files; `patch` starts at the first hunk, and is empty without one."""

    old_path: str
    new_path: str
    a_mode: str
    b_mode: str
    status: str
    is_binary: bool
    patch: bytes = field(repr=False)

    @property
    def new_file(self) -> bool:
        """Tell whether the file was added."""
        return self.status == "added"

    @property
    def deleted_file(self) -> bool:
        """Tell whether the file was removed."""
        return self.status == "removed"

    @property
    def renamed_file(self) -> bool:
        """Tell whether the file has another path now."""
        return self.status == "renamed"

    @property
    def generated_file(self) -> bool:
        """Tell whether GitLab takes it for a generated file."""
        return self.new_path.rpartition("/")[2] in _GENERATED

    @property
    def line_count(self) -> int:
        """Count the lines of the patch."""
        return self.patch.count(b"\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A change as one endpoint shows it: without its patch if it is collapsed or too large."""

    change: Change
    collapsed: bool = False
    too_large: bool = False

    @property
    def patch(self) -> bytes:
        """Return what is shown."""
        return b"" if self.collapsed or self.too_large else self.change.patch


def version_changes(project: Project, version: DiffVersion) -> tuple[Change, ...]:
    """List what a version of a merge request changes."""
    return changes_between(project.git.path, version.base_sha, version.head_sha)


@lru_cache(maxsize=64)
def changes_between(git_path: Path, base: str, head: str) -> tuple[Change, ...]:
    """List what changed between two commits."""
    changes: list[Change] = []
    for file in diff_between(git_path, base, head, SIMILARITY_PERCENT).files:
        changes += _type_change(file) if file.status == "changed" else [_change(file)]
    return tuple(changes)


def find_change(changes: tuple[Change, ...], old_path: str, new_path: str) -> Change | None:
    """Find the first change of a file; of a file that became a symlink that is its removal."""
    return next((one for one in changes if (one.old_path, one.new_path) == (old_path, new_path)), None)


def is_too_large(change: Change, limits: DiffLimits) -> bool:
    """Tell whether GitLab shows no line of a change, whatever is asked."""
    return len(change.patch) > limits.patch_max_bytes


def list_expanded(changes: tuple[Change, ...], options: Options) -> list[Listed]:
    """List changes as /diffs does: between 18.4 and 19.1 all is collapsed behind some 5,000 lines."""
    limits = options.diff_limits
    collapses = not options.has(19, 2)
    listed, lines = [], 0
    for change in changes:
        lines += change.line_count
        too_large = is_too_large(change, limits)
        collapsed = collapses and not too_large and lines > limits.collapse_after_lines
        listed.append(Listed(change=change, collapsed=collapsed, too_large=too_large))
    return listed


def list_limited(changes: tuple[Change, ...], limits: DiffLimits) -> tuple[list[Listed], bool]:
    """List changes as /changes does without raw diffs, and tell whether that is less than all (overflow)."""
    listed, lines = [], 0
    shown = changes[: limits.overflow_after_files]
    for number, change in enumerate(shown):
        lines += change.line_count
        too_large = is_too_large(change, limits)
        collapsed = not too_large and (
            number >= limits.collapse_after_files
            or lines > limits.collapse_after_lines
            or len(change.patch) > limits.collapse_patch_bytes
        )
        listed.append(Listed(change=change, collapsed=collapsed, too_large=too_large))
    overflow = len(shown) < len(changes) or any(one.collapsed for one in listed)
    return listed, overflow


def _change(file: FileDiff) -> Change:
    added, removed = file.status == "added", file.status == "removed"
    return Change(
        old_path=file.old_path,
        new_path=file.path,
        a_mode=_NO_MODE if added else file.old_mode,
        b_mode=_NO_MODE if removed else file.new_mode,
        status=file.status,
        is_binary=file.is_binary,
        patch=file.patch + b"\n" if file.patch else b"",
    )


def _type_change(file: FileDiff) -> list[Change]:
    """Show a file that became a symlink as a removal and an addition."""
    removal, _, addition = file.section.partition(b"\ndiff --git ")
    return [
        Change(
            old_path=file.old_path,
            new_path=file.path,
            a_mode=file.old_mode if is_removal else _NO_MODE,
            b_mode=_NO_MODE if is_removal else file.new_mode,
            status="removed" if is_removal else "added",
            is_binary=b"\nBinary files " in section,
            patch=_hunks_of(section),
        )
        for section, is_removal in ((removal + b"\n", True), (addition, False))
    ]


def _hunks_of(section: bytes) -> bytes:
    start = section.find(b"\n@@ ")
    return b"" if start < 0 else section[start + 1 :]
