"""The mark on the commit while its review runs. `conclude` sets the last one, from the row alone."""

import time
from dataclasses import dataclass, field

import structlog

from bot.db import claims
from bot.db.claims import ClaimedReview
from bot.forges.base import ForgeError, Status
from bot.review import render
from workers.resources import Resources

_SET_EVERY_S = 5.0

log = structlog.get_logger(__name__)


@dataclass(slots=True, kw_only=True)
class Mark:
    """Set the mark of one claimed review; its id is stored at once, so that it is always ended later."""

    claimed: ClaimedReview
    resources: Resources
    head_sha: str = field(init=False)
    _id: str = field(init=False)
    _set_at: float = 0.0

    def __post_init__(self) -> None:
        self.head_sha = self.claimed.head_sha
        self._id = self.claimed.status_id

    def is_due(self) -> bool:
        """Tell whether the last setting is long enough ago for mere progress."""
        return time.monotonic() - self._set_at >= _SET_EVERY_S

    def move_to(self, head_sha: str) -> None:
        """Go over to another head, and end the mark on the one before."""
        if self.head_sha not in ("", head_sha):
            self.end(f"the head moved to {head_sha[:7]}")
        self.head_sha = head_sha

    def end(self, reason: str) -> None:
        """End the mark on a head that the review leaves for another."""
        if self._id:
            self.set(render.status_ended(reason))
            self._store("")

    def set(self, status: Status) -> None:
        """Set the mark; that it could not be set must not cost the review."""
        self._set_at = time.monotonic()
        if not self.head_sha:
            return
        try:
            forge = self.resources.forge_of(self.claimed.ref.forge)
            status_id = forge.set_status(
                self.claimed.ref,
                self.head_sha,
                status,
                self._id,
                reference=str(self.claimed.review_id),
            )
        except ForgeError as error:
            log.warning("status not set", error=str(error))
            return
        if status_id != self._id:
            self._store(status_id)

    def _store(self, status_id: str) -> None:
        self._id = status_id
        claims.set_status_id(self.resources.database, self.claimed, status_id)
