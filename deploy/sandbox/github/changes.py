"""The diff of a pull request: computed once per pair of commits, and refused when GitHub would refuse it."""

from functools import lru_cache
from pathlib import Path

from deploy.sandbox.diffs import Diff, FileDiff, diff_between, merge_base
from deploy.sandbox.git import GitRepository
from deploy.sandbox.github.errors import ApiError
from deploy.sandbox.github.state import Pull, Repository

# https://docs.github.com/en/repositories/creating-and-managing-repositories/repository-limits
DIFF_MAX_FILES = 300
DIFF_MAX_LINES = 20_000
DIFF_MAX_BYTES = 1_000_000
# GitHub leaves out `patch` of large files without saying where it draws the line. It was seen missing for a
# one-line file of 373 kB and for one of 6,736 lines; drawn lower here, so that a client meets it early.
PATCH_MAX_LINES = 3_000
PATCH_MAX_BYTES = 300_000


def fork_point(repository: Repository, base: str, head: str) -> str:
    """Return the commit that a three-dot diff starts from."""
    return merge_base(repository.git.path, base, head)


def pull_diff(repository: Repository, pull: Pull, head: str | None = None) -> Diff:
    """Read what a pull request changes, from the merge base to its head or to an earlier commit of it."""
    head = head or pull.head_sha
    return diff_between(repository.git.path, fork_point(repository, pull.base_sha, head), head)


def pull_counts(repository: Repository, pull: Pull) -> dict[str, int]:
    """Count what the pull request object states about its diff."""
    diff = pull_diff(repository, pull)
    return {
        "commits": _count_commits(repository.git.path, pull.base_sha, pull.head_sha),
        "additions": sum(file.additions for file in diff.files),
        "deletions": sum(file.deletions for file in diff.files),
        "changed_files": len(diff.files),
    }


@lru_cache(maxsize=256)
def _count_commits(path: Path, base: str, head: str) -> int:
    return int(GitRepository(path).run("rev-list", "--count", f"{base}..{head}"))


def patch_is_shown(file: FileDiff) -> bool:
    """Tell whether GitHub would send this file's patch; without it no line of the file can be commented."""
    return 0 < len(file.patch) <= PATCH_MAX_BYTES and file.patch.count(b"\n") < PATCH_MAX_LINES


def refuse_large_diff(diff: Diff) -> None:
    """Raise the 406 that the diff media type answers for large pull requests."""
    if len(diff.files) > DIFF_MAX_FILES:
        raise _too_large(f"files ({DIFF_MAX_FILES})")
    if diff.data.count(b"\n") > DIFF_MAX_LINES:
        raise _too_large(f"lines ({DIFF_MAX_LINES})")
    if len(diff.data) > DIFF_MAX_BYTES:
        raise _too_large(f"bytes ({DIFF_MAX_BYTES})")


def _too_large(limit: str) -> ApiError:
    return ApiError(
        406,
        f"Sorry, the diff exceeded the maximum number of {limit}. Consider using 'List pull requests files' "
        "API or locally cloning the repository instead.",
        errors=[{"resource": "PullRequest", "field": "diff", "code": "too_large"}],
        documentation_url="https://docs.github.com/rest/pulls/pulls#list-pull-requests-files",
    )
