"""The receiver: verify the raw bytes, read the event, store it, answer. Nothing slow happens here."""

import json
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import structlog
from flask import Blueprint, Request, Response, request

from bot.db.engine import DatabaseError
from bot.events import Delivery, Event
from bot.forges.base import BadPayload
from bot.forges.github_signature import verify_github_signature
from bot.forges.github_webhook import read_github_webhook
from bot.forges.gitlab_signature import verify_gitlab_webhook
from bot.forges.gitlab_webhook import read_gitlab_webhook
from bot.settings import Settings
from bot.web.services import current_services

# Neither forge sends a payload over 25 MB:
# https://docs.github.com/webhooks/webhook-events-and-payloads#payload-cap
BODY_LIMIT = 25 * 1024 * 1024

blueprint = Blueprint("webhooks", __name__)
log = structlog.get_logger(__name__)

_Answer = tuple[Response, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sender:
    """What differs between the forges: where the secrets are, how one is verified, how the body is read.

    `unreadable_status` answers a webhook that is genuine and makes no sense.
    """

    forge: str
    secrets: Callable[[Settings], Sequence[bytes]]
    unconfigured: str
    verify: Callable[[Request, bytes, Sequence[bytes]], bool]
    unverified: str
    read: Callable[[Request, bytes, datetime, Settings], tuple[Delivery, Event]]
    unreadable_status: int


_GITHUB = _Sender(
    forge="github",
    secrets=lambda settings: settings.github_webhook_secrets,
    unconfigured="GitHub is not configured here: set REDLINE_GITHUB_WEBHOOK_SECRET to the webhook's secret.",
    verify=lambda request, body, secrets: verify_github_signature(
        body, request.headers.get("X-Hub-Signature-256"), secrets
    ),
    unverified="The signature X-Hub-Signature-256 is missing or does not fit the body and secret.",
    read=lambda request, body, received_at, settings: read_github_webhook(
        request.headers,
        request.content_type,
        body,
        received_at,
        _request_id(),
        bot_names=(settings.bot_name,),
    ),
    unreadable_status=400,
)
_GITLAB = _Sender(
    forge="gitlab",
    secrets=lambda settings: settings.gitlab_webhook_secrets,
    unconfigured="GitLab is not configured here: set REDLINE_GITLAB_WEBHOOK_SECRET to the webhook's token.",
    verify=lambda request, body, secrets: verify_gitlab_webhook(body, request.headers, secrets),
    unverified="Neither X-Gitlab-Token nor webhook-signature fits a secret that is configured here.",
    read=lambda request, body, received_at, settings: read_gitlab_webhook(
        request.headers, body, received_at, _request_id(), bot_names=(settings.bot_name,)
    ),
    # GitLab turns a webhook off after four failures in a row, for which one odd event is no reason:
    # https://docs.gitlab.com/user/project/integrations/webhooks/#auto-disabled-webhooks
    unreadable_status=200,
)


@blueprint.post("/webhooks/github")
def receive_github() -> _Answer:
    """Take a delivery of GitHub."""
    return _receive(_GITHUB)


@blueprint.post("/webhooks/gitlab")
def receive_gitlab() -> _Answer:
    """Take a delivery of GitLab."""
    return _receive(_GITLAB)


def _receive(sender: _Sender) -> _Answer:
    services = current_services()
    secrets = sender.secrets(services.settings)
    if not secrets:
        return _error(404, sender.unconfigured)
    refused = _refuse_body()
    if refused:
        return refused
    received_at = datetime.now(UTC)
    raw_body = request.get_data(cache=False)
    if not sender.verify(request, raw_body, secrets):
        log.warning("webhook refused", forge=sender.forge, reason="secret", remote=request.remote_addr)
        return _error(401, sender.unverified)
    try:
        delivery, event = sender.read(request, raw_body, received_at, services.settings)
    except BadPayload as error:
        log.warning("webhook not understood", forge=sender.forge, reason=str(error))
        return _error(sender.unreadable_status, str(error))
    try:
        accepted = services.intake.accept(delivery, event)
    except DatabaseError as error:
        # Not stored, so not accepted: the forge lists the delivery as failed and it can be sent again.
        log.error("webhook not stored", forge=sender.forge, guid=delivery.guid, error=str(error))
        return _error(503, "The event could not be stored. Redeliver it when the database is back.")
    log.info(
        "webhook received",
        forge=sender.forge,
        guid=delivery.guid,
        kind=delivery.event,
        action=delivery.action,
        outcome=accepted.outcome,
        reason=accepted.reason,
        review=accepted.review_id,
    )
    status = 202 if accepted.review_id and accepted.outcome != "duplicate" else 200
    return _json(outcome=accepted.outcome, reason=accepted.reason, review=accepted.review_id), status


def _refuse_body() -> _Answer | None:
    # Werkzeug cuts a chunked body at the limit without a word, so its length has to be known beforehand.
    if request.content_length is None:
        return _error(411, "Send the body with a Content-Length.")
    if request.content_length > BODY_LIMIT:
        return _error(413, f"The body is larger than {BODY_LIMIT // 1024 // 1024} MB.")
    return None


def _request_id() -> str:
    given = request.headers.get("X-Request-Id", "")
    return given if given.isascii() and given.isprintable() and 0 < len(given) <= 200 else uuid.uuid4().hex


def _error(status: int, message: str) -> _Answer:
    return _json(error=message), status


def _json(**fields: object) -> Response:
    # jsonify costs several times this, and every delivery pays it.
    return Response(json.dumps(fields), mimetype="application/json")
