"""Where a comment made on an earlier commit stands in today's diff, if it still does."""

from dataclasses import dataclass

from deploy.sandbox.following import follow_line
from deploy.sandbox.github.changes import fork_point, patch_is_shown, pull_diff
from deploy.sandbox.github.state import Pull, Repository, ReviewComment


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
        old, new = fork_point(repository, pull.base_sha, old), fork_point(repository, pull.base_sha, new)
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
