"""The rules of commit statuses: each is a job of a pipeline, and a job cannot go back.

https://docs.gitlab.com/api/commits/#set-commit-pipeline-status
"""

from collections.abc import Mapping
from typing import Any

from deploy.sandbox.gitlab.core import Core
from deploy.sandbox.gitlab.errors import ApiError, invalid_params, not_found
from deploy.sandbox.gitlab.state import CommitStatus, Project, User, now

STATES = ("pending", "running", "success", "failed", "canceled", "skipped")
TEXT_MAX_CHARACTERS = 255
# Answered when another update of the same commit holds the lock for ten seconds.
CONFLICT = {"message": "Another update to this commit status is in progress"}
_EVENTS = {
    "pending": "enqueue", "running": "run", "success": "success", "failed": "drop", "canceled": "cancel",
    "skipped": "skip",
}  # fmt: skip
_UNFINISHED = ("created", "pending", "running")
# From where an event leads on; a job that has ended is left alone, and a new one begun.
_FROM = {
    "enqueue": ("created",), "run": ("created", "pending"), "success": _UNFINISHED, "drop": _UNFINISHED,
    "cancel": _UNFINISHED, "skip": ("created", "pending"),
}  # fmt: skip


def set_status(core: Core, project: Project, user: User, sha: str, wanted: Mapping[str, Any]) -> CommitStatus:
    """Set a status of a commit; raises ApiError 400 or 404."""
    state = wanted.get("state")
    if state is None:
        raise invalid_params("state is missing")
    if state not in STATES:
        raise invalid_params("state does not have a valid value")
    if project.git.resolve(sha) is None:
        raise not_found("Commit")
    ref = wanted.get("ref") or _branch_with(project, sha)
    name = wanted.get("name") or wanted.get("context") or "default"
    for key in ("description", "target_url"):
        if len(wanted.get(key) or "") > TEXT_MAX_CHARACTERS:
            problem = f"is too long (maximum is {TEXT_MAX_CHARACTERS} characters)"
            raise ApiError(400, {"message": {key: [problem]}})
    status = _unfinished(project, sha, ref, name, user)
    event, before = _EVENTS[state], status.status if status else "created"
    if before not in _FROM[event]:
        raise ApiError(
            400,
            {
                "message": f"Cannot transition status via :{event} from :{before} (Reason(s): Status cannot "
                f'transition via "{event}")'
            },
        )
    if status is None:
        status = _new(core, project, user, sha=sha, ref=ref, name=name)
        project.statuses.append(status)
    _apply(status, state, wanted)
    project.status_changes.append((sha, name, state, status.description or ""))
    return status


def _new(core: Core, project: Project, user: User, *, sha: str, ref: str, name: str) -> CommitStatus:
    pipeline = next((one.pipeline_id for one in project.statuses if (one.sha, one.ref) == (sha, ref)), None)
    return CommitStatus(
        id=core.state.next_id(),
        pipeline_id=pipeline or core.state.next_id(),
        sha=sha,
        ref=ref,
        user=user,
        name=name,
        status="created",
        description=None,
        target_url=None,
        created_at=now(),
    )


def _apply(status: CommitStatus, state: str, wanted: Mapping[str, Any]) -> None:
    status.status = state
    status.description = wanted.get("description", status.description)
    status.target_url = wanted.get("target_url", status.target_url)
    if state == "running":
        status.started_at = now()
    elif state != "pending":
        status.finished_at = now()


def _unfinished(project: Project, sha: str, ref: str, name: str, user: User) -> CommitStatus | None:
    for status in reversed(project.statuses):
        same = (status.sha, status.ref, status.name, status.user) == (sha, ref, name, user)
        if same and status.status in _UNFINISHED:
            return status
    return None


def _branch_with(project: Project, sha: str) -> str:
    """Find a branch of this project that has the commit: the branch of a fork's merge request is not one."""
    out = project.git.run("for-each-ref", f"--contains={sha}", "--format=%(refname:lstrip=2)", "refs/heads")
    for branch in out.decode().splitlines():
        if branch not in project.branches_of_forks:
            return branch
    raise not_found("References for commit")
