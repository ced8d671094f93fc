"""Handing a free place on: which review its repository runs next, and a new message for it.

A message that finds its repository busy is dropped, so whoever makes room has to send one.
"""

from datetime import datetime

from sqlalchemy import Connection, case, literal_column, select, update

from bot.db.engine import Database
from bot.db.reviews import is_due
from bot.db.tables import IS_QUEUED, review


def hand_on(db: Database, forge: str, repository: str, now: datetime) -> tuple[int, str] | None:
    """Give id and queue of the review that the repository should run next, for the worker that ended one."""
    with db.transaction() as connection:
        called_up = call_up(connection, forge, repository, now, places=1)
    return called_up[0] if called_up else None


def call_up(
    connection: Connection, forge: str, repository: str, now: datetime, *, places: int
) -> list[tuple[int, str]]:
    """Have the sweeper publish the repository's next reviews, and give their ids and queues.

    Each counts as without a message from then on: should the one that is sent now be lost as well, the
    sweeper's next pass makes up for it. A pull request that has a running review is left out: `claim` would
    refuse its next one.
    """
    other = review.alias()
    is_busy = (
        select(other.c.id)
        .where(
            # Written out like IS_RUNNING, which is about the row itself.
            other.c.state == literal_column("'running'"),
            other.c.forge == review.c.forge,
            other.c.repository == review.c.repository,
            other.c.number == review.c.number,
        )
        .exists()
    )
    # A CTE, for the reason that stands in `sweeping`; what another one calls up at this moment is skipped.
    following = (
        select(review.c.id)
        .where(IS_QUEUED, review.c.forge == forge, review.c.repository == repository, is_due(now), ~is_busy)
        .order_by(case((review.c.queue == "high", 0), else_=1), review.c.received_at, review.c.id)
        .limit(places)
        .with_for_update(skip_locked=True)
        .cte("following")
    )
    rows = connection.execute(
        update(review)
        .where(review.c.id.in_(select(following.c.id)))
        .values(published_at=None)
        .returning(review.c.id, review.c.queue)
    )
    return [(row.id, row.queue) for row in rows]
