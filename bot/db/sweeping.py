"""What the sweeper repairs: messages that were lost, workers that died, authors who were not told, old rows.

Each statement takes only rows that nobody else holds, so a pass never waits for a worker and can run twice.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Select, Table, and_, bindparam, delete, or_, select, update
from sqlalchemy.sql.dml import ReturningDelete, ReturningUpdate

from bot.db.engine import Database
from bot.db.failures import insert_failure
from bot.db.handover import call_up
from bot.db.lookups import read_review
from bot.db.reviews import UNCLAIMED, is_due
from bot.db.tables import IS_QUEUED, IS_RUNNING, ReviewState, delivery, llm_call, review

BATCH = 500
_TELL_AGAIN_S = 60.0
_TELL_AGAIN_AT_MOST_S = 3600.0


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
    """Give the reviews of dead workers back to the queue; those that were tried too often end as failed.

    Their repositories' next reviews are published again too: the dead worker did not hand its place on.
    """
    expired = and_(IS_RUNNING, review.c.lease_until < now)
    given_up = review.c.attempt >= max_attempts
    with db.transaction() as connection:
        failed = connection.execute(
            update(review)
            .where(review.c.id.in_(_free(review, expired, given_up)))
            .values(
                **UNCLAIMED,
                state=ReviewState.FAILED,
                reason=f"The review was tried {max_attempts} times and its worker stopped each time.",
                finished_at=now,
            )
            .returning(*review.c)
        ).all()
        for row in failed:
            insert_failure(connection, read_review(row), now)
        requeued = connection.execute(
            update(review)
            .where(review.c.id.in_(_free(review, expired, ~given_up)))
            .values(
                **UNCLAIMED,
                state=ReviewState.QUEUED,
                reason="The worker stopped, so another one starts over.",
                published_at=None,
            )
            .returning(review.c.id, review.c.forge, review.c.repository)
        ).all()
        freed = Counter((row.forge, row.repository) for row in (*failed, *requeued))
        for (forge, repository), places in freed.items():
            call_up(connection, forge, repository, now, places=places)
    return Expired(
        requeued=tuple(row.id for row in requeued),
        failed=tuple(row.id for row in failed),
    )


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
                    is_due(now),
                    or_(review.c.status_id != "", review.c.claimed_at.is_not(None)),
                )
                .order_by(review.c.finished_at, review.c.id)
                .limit(limit)
            )
        )


def postpone_telling(db: Database, ids: Sequence[int], now: datetime, at_least_s: float = 0.0) -> None:
    """Have `untold` leave these reviews out for a while: as long again as they have waited, at most an hour.

    So a forge that is away for long is asked ever less often. `at_least_s` is the forge's own wish.
    """
    with db.transaction() as connection:
        ended = connection.execute(
            select(review.c.id, review.c.finished_at, review.c.not_before)
            .where(review.c.id.in_(ids), review.c.finished_at.is_not(None), review.c.told_at.is_(None))
            .with_for_update(skip_locked=True)
        ).all()
        later = []
        for row in ended:
            waited_s = (now - row.finished_at).total_seconds()
            wait_s = max(min(max(waited_s, _TELL_AGAIN_S), _TELL_AGAIN_AT_MOST_S), at_least_s)
            until = max(row.not_before or now, now + timedelta(seconds=wait_s))
            later.append({"of_id": row.id, "until": until})
        if later:
            connection.execute(
                update(review).where(review.c.id == bindparam("of_id")).values(not_before=bindparam("until")),
                later,
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
