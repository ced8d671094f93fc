"""Send webhooks in order from one background thread, and remember how that went."""

import http.client
import queue
import threading
import time
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

TIMEOUT_S = 10.0  # GitHub waits this long, and GitLab by default


class Destination(Protocol):
    """A webhook as the outbox sees it."""

    id: int
    url: str


@dataclass(slots=True, kw_only=True)
class Delivery:
    """One webhook request; `status_code` is 0 while it waits and if no answer came: `status` says why.

    `guid` is the key that stays the same when it is sent again.
    """

    id: int
    hook: Destination
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
    """A queue of deliveries and the thread that sends them; a forge says which answers it takes for success."""

    def __init__(self, next_id: Callable[[], int]) -> None:
        self.deliveries: list[Delivery] = []
        self.next_id = next_id
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

    def queue(self, delivery: Delivery) -> None:
        """Add a delivery behind those that wait."""
        with self._changed:
            self._unsent += 1
            self.deliveries.append(delivery)
        self._queue.put(delivery)

    def redeliver(self, delivery: Delivery) -> None:
        """Send the same bytes again under the same key."""
        self.queue(
            Delivery(
                id=self.next_id(),
                hook=delivery.hook,
                guid=delivery.guid,
                event=delivery.event,
                action=delivery.action,
                redelivery=True,
                headers=self.headers_again(delivery),
                body=delivery.body,
                payload=delivery.payload,
            )
        )

    def wait(self, timeout: float) -> None:
        """Return when nothing is left to send; raises TimeoutError after `timeout` seconds."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._unsent == 0, timeout):
                raise TimeoutError(f"{self._unsent} webhooks still unsent after {timeout} s")

    def headers_again(self, delivery: Delivery) -> dict[str, str]:
        """Return the headers that a second attempt carries."""
        return delivery.headers

    def admits(self, delivery: Delivery) -> bool:
        """Tell whether a delivery is sent at all."""
        return True

    def is_success(self, status_code: int) -> bool:
        """Tell whether an answer counts as received; redirects are followed by no forge."""
        return 200 <= status_code < 300

    def answered(self, delivery: Delivery) -> None:
        """Take note of how a delivery went."""

    def _run(self) -> None:
        while (delivery := self._queue.get()) is not None and not self._stopping:
            if self.admits(delivery):
                self._post(delivery)
                self.answered(delivery)
            with self._changed:
                self._unsent -= 1
                self._changed.notify_all()

    def _post(self, delivery: Delivery) -> None:
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
            delivery.status = (
                "OK" if self.is_success(response.status) else f"Invalid HTTP Response: {response.status}"
            )
        except TimeoutError:
            delivery.status = "timed out"
        except (OSError, http.client.HTTPException) as error:
            delivery.status = f"failed to connect to host: {error}"
        finally:
            delivery.answered_at = time.monotonic()
            delivery.duration_s = delivery.answered_at - started
            connection.close()
