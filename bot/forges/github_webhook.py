"""GitHub's webhooks, read into events. The only reader of their JSON.

https://docs.github.com/en/webhooks/webhook-events-and-payloads
"""

import re
from collections.abc import Sequence
from datetime import datetime
from urllib.parse import parse_qs

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
from bot.forges.payload import Fields, parse_json_object
from bot.forges.webhook import MARKER, Headers, delivery_id

FORGE = "github"

_CHANGES = {
    "opened": ChangeReason.OPENED,
    "reopened": ChangeReason.REOPENED,
    "ready_for_review": ChangeReason.READY,
    "synchronize": ChangeReason.PUSHED,
    "edited": ChangeReason.RETARGETED,
}
_REPOSITORY = re.compile(r"(?!\.{1,2}/)[A-Za-z0-9._-]+/(?!\.{1,2}$)[A-Za-z0-9._-]+")


def read_github_webhook(
    headers: Headers,
    content_type: str | None,
    raw_body: bytes,
    received_at: datetime,
    request_id: str,
    *,
    bot_names: Sequence[str] = (),
) -> tuple[Delivery, Event]:
    """Read a webhook whose signature has been verified; raises BadPayload and nothing else.

    The delivery's payload is the JSON, also where the body was a form, so that it can be read again as
    `application/json`. `headers` are looked up in GitHub's own spelling. `bot_names` are the logins that
    `@<bot> review` may name.
    """
    event = headers.get("X-GitHub-Event") or ""
    if not event.isascii() or not event:
        raise BadPayload("The header X-GitHub-Event is missing: this is not a webhook of GitHub.")
    payload = _json_of(content_type, raw_body)
    fields = parse_json_object(payload)
    delivery = Delivery(
        forge=FORGE,
        guid=delivery_id(headers.get("X-GitHub-Delivery"), raw_body),
        event=event,
        action=fields.find_text("action"),
        repository=fields.find_object("repository").find_text("full_name"),
        sender=fields.find_object("sender").find_text("login"),
        payload=payload,
        request_id=request_id,
        received_at=received_at,
    )
    return delivery, _event_of(delivery, fields, bot_names)


def _json_of(content_type: str | None, raw_body: bytes) -> bytes:
    """Take the JSON out of a form, which is what GitHub sends unless the hook was told otherwise."""
    if (content_type or "").split(";")[0].strip().lower() != "application/x-www-form-urlencoded":
        return raw_body
    try:
        values = parse_qs(raw_body.decode("ascii"), strict_parsing=True, errors="strict").get("payload", [])
    except ValueError:
        raise BadPayload("The body is not a valid form.") from None
    if len(values) != 1:
        raise BadPayload(f"The form has {len(values)} fields named payload: it must have one.")
    return values[0].encode()


def _event_of(delivery: Delivery, fields: Fields, bot_names: Sequence[str]) -> Event:
    match delivery.event, delivery.action:
        case "ping", _:
            return EventIgnored(reason="GitHub's ping: the webhook is set up.")
        case "pull_request", ("closed" | "converted_to_draft") as action:
            return PullRequestWithdrawn(ref=_ref(fields, fields.get_object("pull_request")), reason=action)
        case "pull_request", action if action in _CHANGES:
            return _change_of(fields, _CHANGES[action])
        case "issue_comment", "created":
            return _conversation_request_of(fields, bot_names)
        case "pull_request_review_comment", "created":
            return _inline_request_of(fields, bot_names)
        case event, action:
            return EventIgnored(reason=f"Nothing to do for {event} {action}".rstrip() + ".")


def _change_of(fields: Fields, reason: ChangeReason) -> Event:
    pull = fields.get_object("pull_request")
    author = pull.get_object("user")
    changed = PullRequestChanged(
        ref=_ref(fields, pull),
        reason=reason,
        head_sha=pull.get_object("head").get_sha("sha"),
        base_ref=pull.get_object("base").get_text("ref"),
        author=author.get_text("login"),
        additions=pull.find_number("additions"),
        deletions=pull.find_number("deletions"),
    )
    if reason is ChangeReason.RETARGETED and not fields.find_object("changes").has("base"):
        return EventIgnored(reason="The title or text was edited, not the target branch.")
    if pull.find_text("state") == "closed":
        return EventIgnored(reason="The pull request is closed.")
    if pull.get_flag("draft"):
        return EventIgnored(reason="The pull request is a draft: write /review to have it reviewed now.")
    if _is_bot(author):
        return EventIgnored(
            reason=f"The pull request is by the bot {changed.author}: write /review to have it reviewed."
        )
    return changed


def _conversation_request_of(fields: Fields, bot_names: Sequence[str]) -> Event:
    issue = fields.get_object("issue")
    if not issue.has("pull_request"):
        return EventIgnored(reason="The comment is on an issue, not on a pull request.")
    return _request_of(fields, issue, CommentKind.CONVERSATION, "", bot_names)


def _inline_request_of(fields: Fields, bot_names: Sequence[str]) -> Event:
    pull = fields.get_object("pull_request")
    head_sha = pull.get_object("head").get_sha("sha")
    return _request_of(fields, pull, CommentKind.INLINE, head_sha, bot_names)


def _request_of(
    fields: Fields, numbered: Fields, kind: CommentKind, head_sha: str, bot_names: Sequence[str]
) -> Event:
    comment = fields.get_object("comment")
    body = comment.data.get("body")
    if not isinstance(body, str):
        raise BadPayload("The field comment.body is missing or no text: it must be a string.")
    if MARKER in body:
        return EventIgnored(reason="The comment is one of our own.")
    # A comment of a deleted account has no user, and nobody to check the permission of.
    author = comment.find_object("user")
    if not author.has("login"):
        return EventIgnored(reason="The comment has no author.")
    if _is_bot(author) or comment.has("performed_via_github_app"):
        return EventIgnored(
            reason="The comment was written by a bot or an app: only people may ask for a review."
        )
    command = parse_command(body, bot_names)
    if command is None:
        return EventIgnored(reason="The comment has no /review command.")
    return ReviewRequested(
        ref=_ref(fields, numbered),
        comment=CommentRef(kind=kind, id=comment.get_id("id")),
        requested_by=author.get_text("login"),
        full=command.full,
        head_sha=head_sha,
    )


def _ref(fields: Fields, numbered: Fields) -> PullRequestRef:
    """Name the pull request by the repository it goes *to*: that is where everything is read and posted."""
    repository = fields.get_object("repository").get_text("full_name")
    if _REPOSITORY.fullmatch(repository) is None:
        raise BadPayload("The field repository.full_name is not of the form owner/name.")
    return PullRequestRef(forge=FORGE, repository=repository, number=numbered.get_number("number"))


def _is_bot(user: Fields) -> bool:
    return user.find_text("type") == "Bot" or user.find_text("login").endswith("[bot]")
