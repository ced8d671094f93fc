"""GitLab's webhooks: headers, signatures, and when GitLab stops to send.

https://docs.gitlab.com/user/project/integrations/webhooks/
https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
"""

import base64
import hashlib
import hmac
import json
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from deploy.sandbox.gitlab.options import Options
from deploy.sandbox.gitlab.state import Hook
from deploy.sandbox.outbox import Delivery, Outbox

PAYLOAD_MAX_BYTES = 25 * 1024 * 1024
# What GitLab itself counts with, in app/models/concerns/web_hooks/auto_disabling.rb.
TOLERATED_FAILURES = 3
LAST_FAILURE = 40
FIRST_PAUSE_S = 60.0
LONGEST_PAUSE_S = 24 * 3600.0


@dataclass(slots=True)
class Health:
    """Count the failures of a webhook: the 4th in a row pauses it, longer each time, and the 40th ends it."""

    failures: int = 0
    paused_until: float = 0.0

    @property
    def is_disabled(self) -> bool:
        """Tell whether a GitLab with auto-disabling would send nothing now."""
        return self.failures >= LAST_FAILURE or time.monotonic() < self.paused_until

    def count(self, *, success: bool) -> None:
        """Take note of one answer."""
        if success:
            self.failures, self.paused_until = 0, 0.0
            return
        self.failures += 1
        if self.failures > TOLERATED_FAILURES:
            doubled = FIRST_PAUSE_S * 2 ** (self.failures - TOLERATED_FAILURES - 1)
            self.paused_until = time.monotonic() + min(doubled, LONGEST_PAUSE_S)


class GitLabOutbox(Outbox):
    """Send events as GitLab does; `auto_disable` is off on self-managed instances until somebody turns it on."""

    def __init__(self, next_id: Callable[[], int], options: Options, *, auto_disable: bool) -> None:
        super().__init__(next_id)
        self.health = Health()
        self._options = options
        self._auto_disable = auto_disable

    def send(self, hook: Hook, event: str, payload: dict[str, Any], *, instance: str) -> None:
        """Queue one event, such as "Note Hook"."""
        body = json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode()
        if not hook.url or len(body) > PAYLOAD_MAX_BYTES:
            return
        guid = str(uuid.uuid4())
        headers = {
            "Content-Type": "application/json",
            "User-Agent": f"GitLab/{self._options.version}",
            "X-Gitlab-Event": event,
        }
        if self._options.has(15, 0):
            headers["X-Gitlab-Instance"] = instance
        if self._options.has(17, 4):
            headers["Idempotency-Key"] = guid
        self.queue(
            Delivery(
                id=self.next_id(),
                hook=hook,
                guid=guid,
                event=event,
                action=payload["object_attributes"].get("action"),
                redelivery=False,
                headers=headers | self._each_time(hook, guid, body),
                body=body,
                payload=payload,
            )
        )

    def headers_again(self, delivery: Delivery) -> dict[str, str]:
        """Keep the key and sign anew, for an old timestamp is refused."""
        assert isinstance(delivery.hook, Hook)  # noqa: S101 - this outbox has no other
        return delivery.headers | self._each_time(delivery.hook, delivery.guid, delivery.body)

    def admits(self, delivery: Delivery) -> bool:
        """Send nothing to a webhook that is disabled."""
        if self._auto_disable and self.health.is_disabled:
            delivery.status = "Hook disabled"
            return False
        return True

    def is_success(self, status_code: int) -> bool:
        """Take redirects for success too, as GitLab does."""
        return 200 <= status_code < 400

    def answered(self, delivery: Delivery) -> None:
        """Count it."""
        self.health.count(success=delivery.status == "OK")

    def _each_time(self, hook: Hook, guid: str, body: bytes) -> dict[str, str]:
        headers = {}
        if self._options.has(15, 0):
            headers["X-Gitlab-Webhook-UUID"] = str(uuid.uuid4())
            headers["X-Gitlab-Event-UUID"] = str(uuid.uuid4())
        if hook.secret:
            headers["X-Gitlab-Token"] = hook.secret
        if hook.signing_token:
            headers |= sign(hook.signing_token, guid, str(int(time.time())), body)
        return headers


def sign(token: str, identity: str, timestamp: str, body: bytes) -> dict[str, str]:
    """Sign with a token `whsec_...` as Standard Webhooks has it."""
    key = base64.b64decode(token.removeprefix("whsec_"))
    signed = hmac.new(key, f"{identity}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    return {
        "webhook-id": identity,
        "webhook-timestamp": timestamp,
        "webhook-signature": f"v1,{base64.b64encode(signed).decode()}",
    }
