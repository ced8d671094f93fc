"""The versions of a merge request's diff: GitLab makes one at each push, a moment later."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from bot.forges.base import ForgeUnavailable
from bot.forges.gitlab_client import Endpoint, GitLabClient, objects_in, understood

T = TypeVar("T")

# A new merge request has its diff after one to five seconds.
READY_PAUSES_S = (0.5, 1.0, 2.0, 3.0)
_RETRY_AFTER_S = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """One version: the three commits that name it, and what GitLab keeps of it.

    `is_whole` tells that all files are kept, and `files` how many those are at least.
    """

    base_sha: str
    start_sha: str
    head_sha: str
    is_ready: bool
    is_whole: bool
    files: int


def read_newest_version(client: GitLabClient, merge_request: Endpoint, what: str) -> Version | None:
    """Read the newest version; None if there is none yet.

    https://docs.gitlab.com/api/merge_requests/#get-merge-request-diff-versions
    """
    endpoint = merge_request.below("/versions", f"the diff versions of {what}")
    versions = objects_in(client.read(endpoint, params={"per_page": 1}), endpoint)
    if not versions:
        return None
    newest = versions[0]
    with understood(endpoint):
        state, size = newest.find_text("state"), newest.find_text("real_size")
        return Version(
            base_sha=newest.get_sha("base_commit_sha"),
            start_sha=newest.get_sha("start_commit_sha"),
            head_sha=newest.get_sha("head_commit_sha"),
            # Before that it is "empty", which it stays if the commits change nothing.
            is_ready=state in {"collected", "without_files"} or state.startswith("overflow"),
            is_whole=state in {"collected", "empty"} and not size.endswith("+"),
            files=int(size) if size.isascii() and size.isdigit() else 0,
        )


def wait_for(read: Callable[[], T | None], what: str, pauses_s: Sequence[float] = READY_PAUSES_S) -> T:
    """Read until there is something; raises ForgeUnavailable after the last pause, in seconds each."""
    for pause_s in pauses_s:
        found = read()
        if found is not None:
            return found
        time.sleep(pause_s)
    found = read()
    if found is None:
        raise ForgeUnavailable(
            f"GitLab has not prepared the diff of {what} yet.", retry_after_s=_RETRY_AFTER_S
        )
    return found
