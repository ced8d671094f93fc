"""Sign webhooks, send them in order from one background thread, and remember how that went.

https://docs.github.com/webhooks/webhook-events-and-payloads
https://docs.github.com/webhooks/using-webhooks/handling-failed-webhook-deliveries
"""

import hashlib
import hmac
import http.client
import json
import queue
import threading
import time
import urllib.parse
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from deploy.sandbox.github.state import Hook

TIMEOUT_S = 10.0
PAYLOAD_MAX_BYTES = 25 * 1024 * 1024


@dataclass(slots=True, kw_only=True)
class Delivery:
    """One webhook request; `status_code` is 0 while it waits and if no answer came: `status` says why."""

    id: int
    hook: Hook
    guid: str
    event: str
    action: str | None
    redelivery: bool
    headers: dict[str, str]
    body: bytes
    payload: dict[str, Any]
    delivered_at: datetime | None = None
    duration_s: float = 0.0
    answered_at: float = 0.0  # of the monotonic clock, for measuring
    status: str = "pending"
    status_code: int = 0
    response_headers: dict[str, str] = field(default_factory=dict)
    response_body: bytes = b""


class Outbox:
    """A queue of deliveries and the thread that sends them."""

    def __init__(self, next_id: Callable[[], int]) -> None:
        self.deliveries: list[Delivery] = []
        self._next_id = next_id
        self._queue: queue.Queue[Delivery | None] = queue.Queue()
        self._unsent = 0
        self._changed = threading.Condition()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="sandbox webhooks", daemon=True)

    def start(self) -> None:
        """Begin to send."""
        self._thread.start()

    def stop(self) -> None:
        """Stop after the delivery under way; what still waits is not sent."""
        self._stopping = True
        self._queue.put(None)
        if self._thread.is_alive():
            self._thread.join(TIMEOUT_S + 1)

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
        self._queue_delivery(
            Delivery(
                id=self._next_id(),
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

    def redeliver(self, delivery: Delivery) -> Delivery:
        """Send the same bytes again under the same GUID."""
        again = Delivery(
            id=self._next_id(),
            hook=delivery.hook,
            guid=delivery.guid,
            event=delivery.event,
            action=delivery.action,
            redelivery=True,
            headers=delivery.headers,
            body=delivery.body,
            payload=delivery.payload,
        )
        self._queue_delivery(again)
        return again

    def wait(self, timeout: float) -> None:
        """Return when nothing is left to send; raises TimeoutError after `timeout` seconds."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._unsent == 0, timeout):
                raise TimeoutError(f"{self._unsent} webhooks still unsent after {timeout} s")

    def _queue_delivery(self, delivery: Delivery) -> None:
        with self._changed:
            self._unsent += 1
            self.deliveries.append(delivery)
        self._queue.put(delivery)

    def _run(self) -> None:
        while (delivery := self._queue.get()) is not None and not self._stopping:
            _post(delivery)
            with self._changed:
                self._unsent -= 1
                self._changed.notify_all()


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


def _post(delivery: Delivery) -> None:
    target = urllib.parse.urlsplit(delivery.hook.url)
    kind = http.client.HTTPSConnection if target.scheme == "https" else http.client.HTTPConnection
    connection = kind(target.netloc, timeout=TIMEOUT_S)
    path = urllib.parse.urlunsplit(("", "", target.path or "/", target.query, ""))
    delivery.delivered_at = datetime.now(UTC)
    started = time.monotonic()
    try:
        connection.request("POST", path, delivery.body, delivery.headers)
        response = connection.getresponse()
        delivery.response_headers = dict(response.getheaders())
        delivery.response_body = response.read()
        delivery.status_code = response.status
        # Redirects are not followed and count as failures.
        delivery.status = (
            "OK" if 200 <= response.status < 300 else f"Invalid HTTP Response: {response.status}"
        )
    except TimeoutError:
        delivery.status = "timed out"
    except (OSError, http.client.HTTPException) as error:
        delivery.status = f"failed to connect to host: {error}"
    finally:
        delivery.answered_at = time.monotonic()
        delivery.duration_s = delivery.answered_at - started
        connection.close()
