"""Tell the webhook what happened, in the shape of GitLab's payloads.

https://docs.gitlab.com/user/project/integrations/webhook_events/
"""

from collections.abc import Mapping

from deploy.sandbox.gitlab.core import Core
from deploy.sandbox.gitlab.shapes.accounts import Json, hook_user_json
from deploy.sandbox.gitlab.shapes.merge_requests import hook_merge_request_json
from deploy.sandbox.gitlab.shapes.notes import hook_note_json
from deploy.sandbox.gitlab.shapes.projects import hook_project_json, hook_repository_json
from deploy.sandbox.gitlab.state import MergeRequest, Note, User


def merge_request(
    core: Core,
    merge_request: MergeRequest,
    action: str | None,
    user: User,
    *,
    changes: Mapping[str, tuple[object, object]] | None = None,
    old_revision: str | None = None,
    system_action: str | None = None,
) -> None:
    """Send a Merge Request Hook; `changes` are {field: (previous, current)}, and a test has no action."""
    if not core.hook.url:
        return
    state = core.state
    attributes = hook_merge_request_json(core, merge_request)
    if action:
        attributes["action"] = action
    if old_revision:
        attributes["oldrev"] = old_revision
    if core.options.has(18, 6):
        attributes["system"] = system_action is not None
    if system_action and core.options.has(18, 6):
        attributes["system_action"] = system_action
    payload: Json = {
        "object_kind": "merge_request",
        "event_type": "merge_request",
        "user": hook_user_json(user),
        "project": hook_project_json(state, merge_request.project),
        "object_attributes": attributes,
        "labels": attributes["labels"],
        "changes": {
            name: {"previous": previous, "current": current}
            for name, (previous, current) in (changes or {}).items()
        },
        "repository": hook_repository_json(state, merge_request.project),
    }
    if merge_request.assignees:
        payload["assignees"] = [hook_user_json(one) for one in merge_request.assignees]
    if merge_request.reviewers:
        payload["reviewers"] = [hook_user_json(one) for one in merge_request.reviewers]
    core.outbox.send(core.hook, "Merge Request Hook", payload, instance=state.web_url)


def note(core: Core, merge_request: MergeRequest, note: Note, action: str, user: User) -> None:
    """Send a Note Hook."""
    if not core.hook.url:
        return
    state = core.state
    payload: Json = {
        "object_kind": "note",
        "event_type": "note",
        "user": hook_user_json(user),
        "project_id": merge_request.project.id,
        "project": hook_project_json(state, merge_request.project),
        "object_attributes": hook_note_json(core, merge_request, note, action),
        "repository": hook_repository_json(state, merge_request.project),
        "merge_request": hook_merge_request_json(core, merge_request),
    }
    core.outbox.send(core.hook, "Note Hook", payload, instance=state.web_url)
