"""The sweeper: the process that makes up for lost messages, dead workers and authors who were not told.

Several may run at once, since every repair is one compare-and-set in the database.
"""

import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

import structlog
from celery import Celery

from bot.broker import BrokerUnavailable, make_celery, publish_conclusion, publish_review
from bot.db import sweeping
from bot.db.engine import Database, DatabaseError, open_database
from bot.embedded import resolve_broker_url
from bot.settings import Settings, load_settings
from bot.telemetry.logs import set_up_logs

log = structlog.get_logger(__name__)

# Younger reviews have just been published by the receiver; older ones were lost on the way or wait their turn.
_GRACE_S = 10.0
# Longer than a worker needs to show the end itself, or both would post.
_TELL_AFTER_S = 60.0
# A review in `low` that has waited this long goes to `high`, so that a busy day cannot starve it.
_PROMOTE_AFTER_S = 1800.0
_PURGE_EVERY_S = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """What one pass repaired: ids published again, given back, ended as failed, and to be shown as ended."""

    published: tuple[int, ...]
    requeued: tuple[int, ...]
    failed: tuple[int, ...]
    told: tuple[int, ...]


def sweep_once(
    database: Database,
    settings: Settings,
    now: datetime,
    *,
    publish: Callable[[int, str], None],
    publish_conclusion: Callable[[int], None],
) -> Swept:
    """Make one pass. Raises DatabaseError; a broker that is down only postpones the publishing."""
    expired = sweeping.expire_leases(database, now, settings.max_attempts)
    sweeping.promote_old(database, now, _PROMOTE_AFTER_S)
    published: list[int] = []
    told: list[int] = []
    try:
        for review_id, queue in sweeping.due_for_publish(database, now, settings.republish_after_s, _GRACE_S):
            publish(review_id, queue)
            published.append(review_id)
        for review_id in sweeping.untold(database, now, _TELL_AFTER_S):
            publish_conclusion(review_id)
            told.append(review_id)
    except BrokerUnavailable as error:
        log.warning("broker away", error=str(error))
    sweeping.mark_published(database, published, now)
    sweeping.postpone_telling(database, told, now)
    return Swept(
        published=tuple(published), requeued=expired.requeued, failed=expired.failed, told=tuple(told)
    )


def run_sweeper(database: Database, app: Celery, settings: Settings, stopping: threading.Event) -> None:
    """Make passes until told to stop; a database that is away is waited for."""
    purged_at = -_PURGE_EVERY_S
    while not stopping.is_set():
        try:
            swept = sweep_once(
                database,
                settings,
                datetime.now(UTC),
                publish=partial(publish_review, app),
                publish_conclusion=partial(publish_conclusion, app),
            )
            if any((swept.published, swept.requeued, swept.failed, swept.told)):
                log.info(
                    "swept",
                    published=swept.published,
                    requeued=swept.requeued,
                    failed=swept.failed,
                    told=swept.told,
                )
            if time.monotonic() - purged_at >= _PURGE_EVERY_S:
                sweeping.purge(database, datetime.now(UTC), settings.retention_days)
                purged_at = time.monotonic()
        except DatabaseError as error:
            log.error("sweep failed", error=str(error))
        stopping.wait(settings.sweep_interval_s)


def main() -> None:
    """Run the sweeper of this machine until SIGTERM or Ctrl-C."""
    settings = load_settings()
    set_up_logs(settings.log_format)
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    database = open_database(settings.effective_database_url)
    run_sweeper(database, make_celery(resolve_broker_url(settings)), settings, stopping)


if __name__ == "__main__":
    main()
