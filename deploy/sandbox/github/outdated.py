"""Where a comment made on an earlier commit stands in today's diff, if it still does."""

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from deploy.sandbox.git import GitRepository
from deploy.sandbox.github.changes import merge_base, patch_is_shown, pull_diff
from deploy.sandbox.github.state import Pull, Repository, ReviewComment

_HUNK = re.compile(rb"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A comment's place now; all None on an outdated comment, whose `commit_id` stays the original one."""

    line: int | None
    start_line: int | None
    position: int | None
    commit_id: str

    @property
    def is_outdated(self) -> bool:
        """Tell whether the line is gone from the diff."""
        return self.position is None


def find_standing(repository: Repository, pull: Pull, comment: ReviewComment) -> Standing:
    """Follow a comment's lines from the commit it was made on to the head."""
    outdated = Standing(line=None, start_line=None, position=None, commit_id=comment.original_commit_id)
    file = pull_diff(repository, pull).file(comment.path)
    if file is None:
        return outdated
    if comment.subject_type == "file":
        return Standing(line=None, start_line=None, position=1, commit_id=pull.head_sha)
    if comment.line is None or not patch_is_shown(file):
        return outdated
    old, new = comment.original_commit_id, pull.head_sha
    if comment.side == "LEFT":
        old, new = merge_base(repository, pull.base_sha, old), merge_base(repository, pull.base_sha, new)
    path = file.old_path if comment.side == "LEFT" else comment.path
    line = follow_line(repository.git, old, new, path, comment.line)
    start = comment.start_line
    if start is not None and (comment.start_side or comment.side) == comment.side:
        start = follow_line(repository.git, old, new, path, start)
    if line is None or (comment.start_line is not None and start is None):
        return outdated
    for hunk in file.hunks:
        found = hunk.line(line, comment.side)
        if found:
            return Standing(line=line, start_line=start, position=found.position, commit_id=pull.head_sha)
    return outdated


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
