"""GitHub's webhooks: headers, signatures, and what is not delivered.

https://docs.github.com/webhooks/webhook-events-and-payloads
https://docs.github.com/webhooks/using-webhooks/handling-failed-webhook-deliveries
"""

import hashlib
import hmac
import json
import urllib.parse
import uuid
from typing import Any

from deploy.sandbox.github.state import Hook
from deploy.sandbox.outbox import Delivery, Outbox

PAYLOAD_MAX_BYTES = 25 * 1024 * 1024


class GitHubOutbox(Outbox):
    """Send events as GitHub does; a redelivery repeats the headers too."""

    def send(
        self, hook: Hook, event: str, payload: dict[str, Any], *, guid: str, target: tuple[str, int]
    ) -> None:
        """Queue one event for one hook; `target` is what the hook is installed on, (type, id)."""
        text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
        body = text.encode()
        if len(body) > PAYLOAD_MAX_BYTES:
            return  # GitHub does not deliver these at all
        if hook.content_type == "form":
            body = b"payload=" + urllib.parse.quote_plus(text).encode()
        headers = {
            "Accept": "*/*",
            "Content-Type": (
                "application/x-www-form-urlencoded" if hook.content_type == "form" else "application/json"
            ),
            "User-Agent": "GitHub-Hookshot/5a2d0be",
            "X-GitHub-Delivery": guid,
            "X-GitHub-Event": event,
            "X-GitHub-Hook-ID": str(hook.id),
            "X-GitHub-Hook-Installation-Target-Type": target[0],
            "X-GitHub-Hook-Installation-Target-ID": str(target[1]),
            **signatures(hook.secret, body),
        }
        self.queue(
            Delivery(
                id=self.next_id(),
                hook=hook,
                guid=guid,
                event=event,
                action=payload.get("action"),
                redelivery=False,
                headers=headers,
                body=body,
                payload=payload,
            )
        )


def signatures(secret: str, body: bytes) -> dict[str, str]:
    """Sign the raw body; without a secret there are no signature headers."""
    if not secret:
        return {}
    return {
        "X-Hub-Signature": f"sha1={hmac.new(secret.encode(), body, hashlib.sha1).hexdigest()}",
        "X-Hub-Signature-256": f"sha256={hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}",
    }


def new_guid() -> str:
    """Draw the id that all deliveries of one event share."""
    return str(uuid.uuid4())
