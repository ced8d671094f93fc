"""The receiver: verify the raw bytes, read the event, store it, answer. Nothing slow happens here."""

import json
import uuid
from datetime import UTC, datetime

import structlog
from flask import Blueprint, Response, request

from bot.db.engine import DatabaseError
from bot.forges.base import BadPayload
from bot.forges.github_signature import verify_github_signature
from bot.forges.github_webhook import read_github_webhook
from bot.web.services import current_services

# GitHub sends no payload over 25 MB: https://docs.github.com/webhooks/webhook-events-and-payloads#payload-cap
BODY_LIMIT = 25 * 1024 * 1024

blueprint = Blueprint("webhooks", __name__)
log = structlog.get_logger(__name__)


@blueprint.post("/webhooks/github")
def receive_github() -> tuple[Response, int]:
    """Take a delivery of GitHub."""
    services = current_services()
    secrets = services.settings.github_webhook_secrets
    if not secrets:
        return _error(
            404, "GitHub is not configured here: set REDLINE_GITHUB_WEBHOOK_SECRET to the webhook's secret."
        )
    refused = _refuse_body()
    if refused:
        return refused
    received_at = datetime.now(UTC)
    raw_body = request.get_data(cache=False)
    if not verify_github_signature(raw_body, request.headers.get("X-Hub-Signature-256"), secrets):
        log.warning("webhook refused", forge="github", reason="signature", remote=request.remote_addr)
        return _error(
            401, "The signature X-Hub-Signature-256 is missing or does not fit the body and secret."
        )
    try:
        delivery, event = read_github_webhook(
            request.headers,
            request.content_type,
            raw_body,
            received_at,
            _request_id(),
            bot_names=(services.settings.bot_name,),
        )
    except BadPayload as error:
        return _error(400, str(error))
    try:
        accepted = services.intake.accept(delivery, event)
    except DatabaseError as error:
        # Not stored, so not accepted: the forge lists the delivery as failed and it can be sent again.
        log.error("webhook not stored", forge="github", guid=delivery.guid, error=str(error))
        return _error(503, "The event could not be stored. Redeliver it when the database is back.")
    log.info(
        "webhook received",
        forge="github",
        guid=delivery.guid,
        kind=delivery.event,
        action=delivery.action,
        outcome=accepted.outcome,
        reason=accepted.reason,
        review=accepted.review_id,
    )
    status = 202 if accepted.review_id and accepted.outcome != "duplicate" else 200
    return _json(outcome=accepted.outcome, reason=accepted.reason, review=accepted.review_id), status


def _refuse_body() -> tuple[Response, int] | None:
    # Werkzeug cuts a chunked body at the limit without a word, so its length has to be known beforehand.
    if request.content_length is None:
        return _error(411, "Send the body with a Content-Length.")
    if request.content_length > BODY_LIMIT:
        return _error(413, f"The body is larger than {BODY_LIMIT // 1024 // 1024} MB.")
    return None


def _request_id() -> str:
    given = request.headers.get("X-Request-Id", "")
    return given if given.isascii() and given.isprintable() and 0 < len(given) <= 200 else uuid.uuid4().hex


def _error(status: int, message: str) -> tuple[Response, int]:
    return _json(error=message), status


def _json(**fields: object) -> Response:
    # jsonify costs several times this, and every delivery pays it.
    return Response(json.dumps(fields), mimetype="application/json")
