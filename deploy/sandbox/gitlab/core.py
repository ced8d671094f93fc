"""The parts of a running sandbox, as the verbs and the HTTP routes both need them."""

import time
from collections import deque
from dataclasses import dataclass, field

from deploy.sandbox.gitlab.errors import ApiError
from deploy.sandbox.gitlab.options import Options
from deploy.sandbox.gitlab.state import Hook, State
from deploy.sandbox.gitlab.webhooks import GitLabOutbox

# https://docs.gitlab.com/administration/settings/rate_limit_on_notes_creation/
NOTES_PER_MINUTE = 300
_TOO_MANY = {"message": {"error": "This endpoint has been requested too many times. Try again later."}}


@dataclass(slots=True)
class Limits:
    """Slow down who asks or writes too much.

    https://docs.gitlab.com/administration/settings/user_and_ip_rate_limits/
    """

    notes_per_minute: int | None = NOTES_PER_MINUTE
    retry_after_s: int | None = 60
    exhausted_until: float = 0.0
    _created: "dict[str, deque[float]]" = field(default_factory=dict)

    def count_request(self) -> None:
        """Count one request; raises ApiError 429 while the limit is exhausted."""
        left = self.exhausted_until - time.time()
        if left > 0:
            headers = {
                "Retry-After": str(max(int(left), 1)),
                "RateLimit-Limit": "600",
                "RateLimit-Remaining": "0",
                "RateLimit-Reset": str(int(self.exhausted_until)),
                "Content-Type": "text/plain",
            }
            raise ApiError(429, "Retry later\n", headers=headers)

    def count_note(self, account: str) -> None:
        """Count one new note; raises ApiError 429 above `notes_per_minute`."""
        if self.notes_per_minute is None:
            return
        created = self._created.setdefault(account, deque())
        moment = time.monotonic()
        while created and created[0] <= moment - 60:
            created.popleft()
        if len(created) >= self.notes_per_minute:
            headers = {} if self.retry_after_s is None else {"Retry-After": str(self.retry_after_s)}
            raise ApiError(429, _TOO_MANY, headers=headers)
        created.append(moment)


@dataclass(slots=True, kw_only=True)
class Core:
    """What every operation works on."""

    state: State
    hook: Hook
    outbox: GitLabOutbox
    options: Options
    limits: Limits = field(default_factory=Limits)
