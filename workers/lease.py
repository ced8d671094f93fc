"""Keeping a claimed review: the lease is renewed in the background, and losing it calls the work off."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime

import structlog

from bot.db.claims import ClaimedReview, renew_lease
from bot.db.engine import Database, DatabaseError

_LOOK_EVERY_S = 0.5

log = structlog.get_logger(__name__)


@contextmanager
def kept_lease(
    database: Database,
    claimed: ClaimedReview,
    *,
    lease_s: float,
    cancelled: threading.Event,
    stopping: threading.Event,
    now: Callable[[], datetime],
) -> Iterator[None]:
    """Renew the claim's lease during the block; set `cancelled` once it is lost or the process is to stop."""
    ended = threading.Event()
    thread = threading.Thread(
        target=_renew,
        args=(database, claimed, lease_s, cancelled, stopping, ended, now),
        name=f"lease-{claimed.review_id}",
        daemon=True,
    )
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _renew(
    database: Database,
    claimed: ClaimedReview,
    lease_s: float,
    cancelled: threading.Event,
    stopping: threading.Event,
    ended: threading.Event,
    now: Callable[[], datetime],
) -> None:
    renewed = time.monotonic()
    while not ended.wait(_LOOK_EVERY_S):
        if stopping.is_set():
            cancelled.set()
        if time.monotonic() - renewed < lease_s / 4:
            continue
        if time.monotonic() - renewed > lease_s:
            cancelled.set()  # it has run out, and the review may be another worker's by now
        try:
            if not renew_lease(database, claimed, now(), lease_s):
                cancelled.set()
                return
            renewed = time.monotonic()
        except DatabaseError as error:
            # The lease still runs for a while; if the database stays away, another worker takes over after it.
            log.warning("lease not renewed", error=str(error))
