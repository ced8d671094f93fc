"""Where a line of an earlier commit stands in a later one."""

import re
from functools import lru_cache
from pathlib import Path

from deploy.sandbox.git import GitRepository

_HUNK = re.compile(rb"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)


def follow_line(git: GitRepository, old: str, new: str, path: str, line: int) -> int | None:
    """Return an unchanged line's number in the newer commit, or None if the line or its file is gone."""
    if old == new:
        return line
    changes = _changed_spans(git.path, old, new, path)
    if changes is None:
        return None
    shift = 0
    for start, count, added in changes:
        if start <= line < start + count:
            return None
        # A pure addition (count 0) stands behind line `start`, so it does not move that line itself.
        if line > start and line >= start + count:
            shift += added - count
    return line + shift


@lru_cache(maxsize=256)
def _changed_spans(git_path: Path, old: str, new: str, path: str) -> tuple[tuple[int, int, int], ...] | None:
    """List (first old line, old lines, new lines) of each change in a file; None if the file is gone."""
    git = GitRepository(git_path)
    if git.tree_entry(new, path) is None:
        return None
    options = ("--no-color", "--no-ext-diff", "--no-renames", "-U0")
    patch = git.run("diff", *options, old, new, "--", f":(literal){path}")
    return tuple(
        (int(found[1]), int(found[2] or b"1"), int(found[4] or b"1")) for found in _HUNK.finditer(patch)
    )
