"""The versions of a merge request's diff: a new one with each push."""

import time

from deploy.sandbox.diffs import merge_base
from deploy.sandbox.gitlab.core import Core
from deploy.sandbox.gitlab.state import DiffVersion, MergeRequest, now


def add_version(core: Core, merge_request: MergeRequest, *, delay_s: float = 0.0) -> None:
    """Record what the merge request is now, unless nothing has changed; it is complete in `delay_s` seconds."""
    git = merge_request.project.git
    start = git.branch_head(merge_request.target_branch) or merge_request.head_sha
    version = DiffVersion(
        id=core.state.next_id(),
        base_sha=merge_base(git.path, start, merge_request.head_sha),
        start_sha=start,
        head_sha=merge_request.head_sha,
        created_at=now(),
        ready_at=time.monotonic() + delay_s,
    )
    last = merge_request.versions[-1] if merge_request.versions else None
    if last is None or (last.base_sha, last.head_sha) != (version.base_sha, version.head_sha):
        merge_request.versions.append(version)
