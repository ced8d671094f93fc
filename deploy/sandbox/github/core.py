"""The parts of a running sandbox, as the verbs and the HTTP routes both need them."""

import time
from collections import deque
from dataclasses import dataclass, field

from deploy.sandbox.github.errors import ApiError
from deploy.sandbox.github.state import State
from deploy.sandbox.github.webhooks import GitHubOutbox

REQUESTS_PER_HOUR = 5_000
_CONTENT_CREATION_BLOCKED = (
    "You have exceeded a secondary rate limit and have been temporarily blocked from content creation. "
    "Please retry your request again later."
)


@dataclass(slots=True)
class Limits:
    """Count requests per account, and slow down who writes too much.

    https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api
    """

    content_per_minute: int | None = None
    retry_after_s: int | None = 60
    exhausted_until: float = 0.0
    _used: dict[str, int] = field(default_factory=dict)
    _created: "deque[float]" = field(default_factory=deque)
    _hour_started: float = field(default_factory=time.time)

    def count_request(self, account: str) -> dict[str, str]:
        """Count one request and return the headers that say what is left; raises ApiError when nothing is."""
        self._used[account] = self._used.get(account, 0) + 1
        headers = self.headers(account)
        if time.time() < self.exhausted_until:
            raise ApiError(403, f"API rate limit exceeded for {account}.", headers=headers)
        return headers

    def headers(self, account: str) -> dict[str, str]:
        """Describe an account's hour."""
        exhausted = time.time() < self.exhausted_until
        used = REQUESTS_PER_HOUR if exhausted else min(self._used.get(account, 0), REQUESTS_PER_HOUR)
        reset = self.exhausted_until if exhausted else self._hour_started + 3600
        return {
            "X-RateLimit-Limit": str(REQUESTS_PER_HOUR),
            "X-RateLimit-Remaining": str(REQUESTS_PER_HOUR - used),
            "X-RateLimit-Used": str(used),
            "X-RateLimit-Reset": str(int(reset)),
            "X-RateLimit-Resource": "core",
        }

    def count_content(self) -> None:
        """Count one comment, review or the like; raises ApiError above the limit of `content_per_minute`."""
        if self.content_per_minute is None:
            return
        moment = time.monotonic()
        while self._created and self._created[0] <= moment - 60:
            self._created.popleft()
        if len(self._created) >= self.content_per_minute:
            headers = {} if self.retry_after_s is None else {"Retry-After": str(self.retry_after_s)}
            raise ApiError(403, _CONTENT_CREATION_BLOCKED, headers=headers)
        self._created.append(moment)


@dataclass(slots=True, kw_only=True)
class Core:
    """What every operation works on."""

    state: State
    outbox: GitHubOutbox
    limits: Limits = field(default_factory=Limits)
    older_review_errors: bool = False
