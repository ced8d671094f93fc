"""JSON of webhooks and their deliveries."""

from deploy.sandbox.github.shapes.accounts import Json, timestamp
from deploy.sandbox.github.state import Hook, State
from deploy.sandbox.outbox import Delivery


def hook_json(state: State, hook: Hook) -> Json:
    """Shape a webhook (schema hook); a secret is never shown."""
    url = (
        f"{state.api_url}/repos/{hook.repository}/hooks/{hook.id}"
        if hook.repository
        else f"{state.api_url}/app/hook"
    )
    return {
        "type": "Repository",
        "id": hook.id,
        "name": "web",
        "active": True,
        "events": list(hook.events),
        "config": hook_config_json(hook),
        "updated_at": timestamp(hook.created_at),
        "created_at": timestamp(hook.created_at),
        "url": url,
        "test_url": f"{url}/test",
        "ping_url": f"{url}/pings",
        "deliveries_url": f"{url}/deliveries",
        "last_response": {"code": None, "status": "unused", "message": None},
    }


def hook_config_json(hook: Hook) -> Json:
    """Shape a webhook's configuration (schema webhook-config)."""
    secret = {"secret": "********"} if hook.secret else {}
    return {"url": hook.url, "content_type": hook.content_type, "insecure_ssl": "0"} | secret


def delivery_json(delivery: Delivery, repository_id: int | None, installation_id: int | None) -> Json:
    """Shape a delivery as a list shows it (schema hook-delivery-item)."""
    return {
        "id": delivery.id,
        "guid": delivery.guid,
        "delivered_at": timestamp(delivery.delivered_at),
        "redelivery": delivery.redelivery,
        "duration": round(delivery.duration_s, 2),
        "status": delivery.status,
        "status_code": delivery.status_code,
        "event": delivery.event,
        "action": delivery.action,
        "installation_id": installation_id,
        "repository_id": repository_id,
        "throttled_at": None,
    }


def full_delivery_json(delivery: Delivery, repository_id: int | None, installation_id: int | None) -> Json:
    """Shape a single delivery, with what was sent and answered (schema hook-delivery)."""
    return delivery_json(delivery, repository_id, installation_id) | {
        "url": delivery.hook.url,
        "request": {"headers": delivery.headers, "payload": delivery.payload},
        "response": {
            "headers": delivery.response_headers,
            "payload": delivery.response_body.decode(errors="replace"),
        },
    }
