"""What the sweeper repairs: messages that were lost, workers that died, authors who were not told, old rows.

Each statement takes only rows that nobody else holds, so a pass never waits for a worker and can run twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Select, Table, and_, delete, func, or_, select, update
from sqlalchemy.sql.dml import ReturningDelete, ReturningUpdate

from bot.db.engine import Database
from bot.db.reviews import UNCLAIMED, is_due
from bot.db.tables import IS_QUEUED, IS_RUNNING, ReviewState, delivery, llm_call, review

BATCH = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Expired:
    """Ids of the reviews whose worker stopped renewing its lease."""

    requeued: tuple[int, ...]
    failed: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Purged:
    """How many payloads, engine calls and results were deleted."""

    payloads: int
    llm_calls: int
    results: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueDepth:
    """How much waits and runs in a queue, and since when its oldest review waits (None if none does)."""

    queue: str
    queued: int
    running: int
    oldest_received_at: datetime | None


def due_for_publish(
    db: Database, now: datetime, republish_after_s: float, grace_s: float = 0.0, limit: int = BATCH
) -> list[tuple[int, str]]:
    """List id and queue of the waiting reviews that no message stands for, or whose message seems lost.

    Those that were queued within the last `grace_s` seconds are left to whoever queued them.
    """
    lost_before = now - timedelta(seconds=republish_after_s)
    with db.reading() as connection:
        rows = connection.execute(
            select(review.c.id, review.c.queue)
            .where(
                IS_QUEUED,
                is_due(now),
                review.c.queued_at <= now - timedelta(seconds=grace_s),
                or_(review.c.published_at.is_(None), review.c.published_at <= lost_before),
            )
            .order_by(review.c.queued_at, review.c.id)
            .limit(limit)
        )
        return [(row.id, row.queue) for row in rows]


def mark_published(db: Database, ids: Sequence[int], now: datetime) -> None:
    """Store that messages for these reviews were sent."""
    if ids:
        with db.transaction() as connection:
            connection.execute(
                update(review)
                .where(review.c.id.in_(_free(review, IS_QUEUED, review.c.id.in_(ids), limit=None)))
                .values(published_at=now)
            )


def expire_leases(db: Database, now: datetime, max_attempts: int) -> Expired:
    """Give the reviews of dead workers back to the queue; those that were tried too often end as failed."""
    expired = and_(IS_RUNNING, review.c.lease_until < now)
    given_up = review.c.attempt >= max_attempts
    with db.transaction() as connection:
        failed = connection.scalars(
            update(review)
            .where(review.c.id.in_(_free(review, expired, given_up)))
            .values(
                **UNCLAIMED,
                state=ReviewState.FAILED,
                reason=f"The review was tried {max_attempts} times and its worker stopped each time.",
                finished_at=now,
            )
            .returning(review.c.id)
        ).all()
        requeued = connection.scalars(
            update(review)
            .where(review.c.id.in_(_free(review, expired, ~given_up)))
            .values(
                **UNCLAIMED,
                state=ReviewState.QUEUED,
                reason="The worker stopped, so another one starts over.",
                published_at=None,
            )
            .returning(review.c.id)
        ).all()
    return Expired(requeued=tuple(requeued), failed=tuple(failed))


def promote_old(db: Database, now: datetime, after_s: float) -> list[int]:
    """Move reviews that have waited too long from `low` to `high`, to be published there; give their ids."""
    waiting = and_(
        IS_QUEUED, review.c.queue == "low", review.c.received_at < now - timedelta(seconds=after_s)
    )
    with db.transaction() as connection:
        return list(
            connection.scalars(
                update(review)
                .where(review.c.id.in_(_free(review, waiting)))
                .values(queue="high", published_at=None)
                .returning(review.c.id)
            )
        )


def untold(db: Database, now: datetime, after_s: float, limit: int = BATCH) -> list[int]:
    """List reviews that ended `after_s` seconds ago or earlier and still look unfinished to their author."""
    with db.reading() as connection:
        return list(
            connection.scalars(
                select(review.c.id)
                .where(
                    review.c.finished_at < now - timedelta(seconds=after_s),
                    review.c.told_at.is_(None),
                    or_(review.c.status_id != "", review.c.claimed_at.is_not(None)),
                )
                .order_by(review.c.finished_at, review.c.id)
                .limit(limit)
            )
        )


def mark_told(db: Database, ids: Sequence[int], now: datetime) -> None:
    """Store that the authors see how these reviews ended; what was queued again meanwhile is left alone."""
    if ids:
        with db.transaction() as connection:
            connection.execute(
                update(review)
                .where(
                    review.c.id.in_(
                        _free(review, review.c.id.in_(ids), review.c.finished_at.is_not(None), limit=None)
                    )
                )
                .values(told_at=now)
            )


def purge(db: Database, now: datetime, retention_days: float) -> Purged:
    """Delete payloads, engine calls and stored results that are older than `retention_days`, in small steps.

    The rows of deliveries and reviews stay: they are what tells a duplicate.
    """
    before = now - timedelta(days=retention_days)
    payloads = _free(delivery, delivery.c.received_at < before, delivery.c.payload.is_not(None))
    calls = _free(llm_call, llm_call.c.started_at < before)
    results = _free(review, review.c.finished_at < before, review.c.result.is_not(None))
    return Purged(
        payloads=_repeat(
            db,
            update(delivery).where(delivery.c.id.in_(payloads)).values(payload=None).returning(delivery.c.id),
        ),
        llm_calls=_repeat(db, delete(llm_call).where(llm_call.c.id.in_(calls)).returning(llm_call.c.id)),
        results=_repeat(
            db, update(review).where(review.c.id.in_(results)).values(result=None).returning(review.c.id)
        ),
    )


def queue_depths(db: Database) -> list[QueueDepth]:
    """Count what waits and runs in both queues."""
    # Two statements, since none has an index that serves both conditions.
    waiting = select(
        review.c.queue, func.count().label("reviews"), func.min(review.c.received_at).label("oldest")
    )
    working = select(review.c.queue, func.count().label("reviews"))
    with db.reading() as connection:
        queued = {
            row.queue: row for row in connection.execute(waiting.where(IS_QUEUED).group_by(review.c.queue))
        }
        running = {
            row.queue: row for row in connection.execute(working.where(IS_RUNNING).group_by(review.c.queue))
        }
    return [
        QueueDepth(
            queue=queue,
            queued=queued[queue].reviews if queue in queued else 0,
            running=running[queue].reviews if queue in running else 0,
            oldest_received_at=queued[queue].oldest if queue in queued else None,
        )
        for queue in ("high", "low")
    ]


def _free(table: Table, *conditions: ColumnElement[bool], limit: int | None = BATCH) -> Select[int]:
    # Skipping what others hold means that two updates of many rows cannot wait for each other in a circle. A
    # CTE, because Postgres may run a subquery of IN more than once, and would then lock more than the limit.
    free = select(table.c.id).where(*conditions).limit(limit).with_for_update(skip_locked=True).cte("free")
    return select(free.c.id)


def _repeat(db: Database, statement: ReturningUpdate[int] | ReturningDelete[int]) -> int:
    # Returned ids are counted: SQLite's driver does not count the rows of a statement that begins with WITH.
    total = 0
    while True:
        with db.transaction() as connection:
            changed = len(connection.scalars(statement).all())
        total += changed
        if changed < BATCH:
            return total
