"""GitLab's webhooks, read into events. The only reader of their JSON.

https://docs.gitlab.com/user/project/integrations/webhook_events/
"""

from collections.abc import Sequence
from datetime import datetime

from bot.events import (
    ChangeReason,
    CommentKind,
    CommentRef,
    Delivery,
    Event,
    EventIgnored,
    PullRequestChanged,
    PullRequestRef,
    PullRequestWithdrawn,
    ReviewRequested,
)
from bot.forges.base import BadPayload
from bot.forges.command import parse_command
from bot.forges.gitlab_names import FORGE, is_bot_name, is_project_path
from bot.forges.payload import Fields, parse_json_object
from bot.forges.webhook import MARKER, Headers, delivery_id

_OPENED = {"open": ChangeReason.OPENED, "reopen": ChangeReason.REOPENED}


def read_gitlab_webhook(
    headers: Headers,
    raw_body: bytes,
    received_at: datetime,
    request_id: str,
    *,
    bot_names: Sequence[str] = (),
) -> tuple[Delivery, Event]:
    """Read a webhook whose secret has been verified; raises BadPayload and nothing else.

    `headers` are looked up in GitLab's own spelling. `bot_names` are the names that `@<bot> review` may call.
    """
    event = headers.get("X-Gitlab-Event") or ""
    if not event.isascii() or not event:
        raise BadPayload("The header X-Gitlab-Event is missing: this is not a webhook of GitLab.")
    fields = parse_json_object(raw_body)
    project = fields.find_object("project")
    delivery = Delivery(
        forge=FORGE,
        # Before 17.4 there is no id: the same body of the same project is the same event then.
        guid=delivery_id(headers.get("Idempotency-Key"), raw_body, suffix=f"-{project.find_number('id')}"),
        event=event,
        action=fields.find_object("object_attributes").find_text("action"),
        repository=project.find_text("path_with_namespace"),
        sender=fields.find_object("user").find_text("username"),
        payload=raw_body,
        request_id=request_id,
        received_at=received_at,
    )
    return delivery, _event_of(fields, bot_names)


def _event_of(fields: Fields, bot_names: Sequence[str]) -> Event:
    match fields.find_text("object_kind"):
        case "merge_request":
            return _merge_request_event_of(fields)
        case "note":
            return _request_of(fields, bot_names)
        case kind:
            return EventIgnored(reason=f"Nothing to do for {kind or 'an event without object_kind'}.")


def _merge_request_event_of(fields: Fields) -> Event:
    merge_request = fields.get_object("object_attributes")
    # A push that resets approvals sends a second hook: https://docs.gitlab.com/user/project/integrations/webhook_events/
    if merge_request.get_flag("system") or fields.get_flag("system"):
        return EventIgnored(
            reason="GitLab itself did this, and the push that it follows has a webhook of its own."
        )
    match merge_request.find_text("action"):
        case ("close" | "merge") as action:
            return PullRequestWithdrawn(ref=_ref(fields, merge_request), reason=action)
        case action if action in _OPENED:
            return _change_of(fields, merge_request, _OPENED[action])
        case "update":
            return _update_of(fields, merge_request)
        case "":  # also what the button "Test" sends, about any merge request
            return EventIgnored(reason="The event names no action.")
        case action:
            return EventIgnored(reason=f"Nothing to do for merge_request {action}.")


def _update_of(fields: Fields, merge_request: Fields) -> Event:
    """Find out what an update is about: labels, titles and resolved threads are updates too."""
    changes = fields.find_object("changes")
    draft = changes.find_object("draft")
    if draft.get_flag("current"):
        return PullRequestWithdrawn(ref=_ref(fields, merge_request), reason="converted_to_draft")
    if changes.has("target_branch"):
        return _change_of(fields, merge_request, ChangeReason.RETARGETED)
    if merge_request.has("oldrev"):  # only there if commits were pushed or a suggestion was applied
        return _change_of(fields, merge_request, ChangeReason.PUSHED)
    if draft.get_flag("previous"):
        return _change_of(fields, merge_request, ChangeReason.READY)
    return EventIgnored(reason="Neither code nor target branch has changed.")


def _change_of(fields: Fields, merge_request: Fields, reason: ChangeReason) -> Event:
    ref = _ref(fields, merge_request)
    author = _author_of(fields, merge_request)
    if not merge_request.has("last_commit"):
        return EventIgnored(reason="The merge request has no commits.")
    changed = PullRequestChanged(
        ref=ref,
        reason=reason,
        head_sha=merge_request.get_object("last_commit").get_sha("id"),
        base_ref=merge_request.get_text("target_branch"),
        author=author,
        additions=None,
        deletions=None,
    )
    if merge_request.find_text("state") in {"closed", "merged", "locked"}:
        return EventIgnored(reason="The merge request is closed.")
    if is_draft(merge_request):
        return EventIgnored(reason="The merge request is a draft: write /review to have it reviewed now.")
    if is_bot_name(author):
        return EventIgnored(
            reason=f"The merge request is by the bot {author}: write /review to have it reviewed."
        )
    return changed


def is_draft(merge_request: Fields) -> bool:
    """Tell whether a merge request is a draft; old versions have the field under another name, or null."""
    return merge_request.get_flag("draft" if merge_request.has("draft") else "work_in_progress")


def _author_of(fields: Fields, merge_request: Fields) -> str:
    """Give the author's name, known only if it was the author who did this; "" else."""
    user = fields.find_object("user")
    is_author = user.has("id") and user.get_id("id") == str(merge_request.data.get("author_id"))
    return user.find_text("username") if is_author else ""


def _request_of(fields: Fields, bot_names: Sequence[str]) -> Event:
    note = fields.get_object("object_attributes")
    body = note.data.get("note")
    if not isinstance(body, str):
        raise BadPayload("The field object_attributes.note is missing or no text: it must be a string.")
    author = fields.get_object("user").get_text("username")
    command = parse_command(body, bot_names)
    if reason := _why_not_obeyed(note, body, author):
        return EventIgnored(reason=reason)
    if command is None:
        return EventIgnored(reason="The note has no /review command.")
    merge_request = fields.get_object("merge_request")
    last_commit = merge_request.find_object("last_commit")
    kind = CommentKind.INLINE if note.find_text("type") == "DiffNote" else CommentKind.CONVERSATION
    return ReviewRequested(
        ref=_ref(fields, merge_request),
        comment=CommentRef(kind=kind, id=note.get_id("id")),
        requested_by=author,
        full=command.full,
        head_sha=last_commit.get_sha("id") if last_commit.has("id") else "",
    )


def _why_not_obeyed(note: Fields, body: str, author: str) -> str:
    """Say why a note asks for nothing, whatever it says; "" if it may."""
    if note.find_text("noteable_type") != "MergeRequest":
        return "The note is not on a merge request."
    if note.get_flag("system"):
        return "The note is GitLab's own."
    if note.find_text("action") not in {"", "create"}:  # before 16.11 there is no action
        return "The note was edited, not written."
    if MARKER in body:
        return "The note is one of our own."
    if is_bot_name(author):
        return "The note was written by a bot: only people may ask for a review."
    return ""


def _ref(fields: Fields, merge_request: Fields) -> PullRequestRef:
    """Name the merge request by the project it goes *to*, which is the event's: that is where it lives."""
    repository = fields.get_object("project").get_text("path_with_namespace")
    if not is_project_path(repository):
        raise BadPayload("The field project.path_with_namespace is not of the form group/project.")
    return PullRequestRef(forge=FORGE, repository=repository, number=merge_request.get_number("iid"))
