"""Reviews on their way into the queue: asked for, replaced by a newer head, withdrawn.

A review is `queued → running → done | skipped | failed`, or `superseded` when a newer head arrives. `claims`
has the part from `queued` to the end, `lookups` reads them.
"""

from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Row, and_, bindparam, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite

from bot.db.locks import lock_until_commit
from bot.db.prepared import Prepared
from bot.db.tables import IS_QUEUED, IS_RUNNING, ReviewState, review
from bot.events import CommentRef, PullRequestRef

TRIGGER_AUTO: Final = "auto"

_KEY = ("forge", "repository", "number", "head_sha", "trigger")
_INSERT = {
    "sqlite": sqlite.insert(review).on_conflict_do_nothing(index_elements=_KEY).returning(review.c.id),
    "postgresql": postgresql.insert(review)
    .on_conflict_do_nothing(index_elements=_KEY)
    .returning(review.c.id),
}
_INSERT_REVIEW = Prepared(
    _INSERT,
    (
        *_KEY,
        *("state", "queue", "estimated_tokens", "requested_by", "comment_kind", "comment_id", "full"),
        *("received_at", "queued_at"),
    ),
)
_UNFINISHED = or_(IS_QUEUED, IS_RUNNING)
# What a review that waits, or has ended, must not have: its worker's claim.
UNCLAIMED: Final[dict[str, Any]] = {"lease_until": None, "lease_token": None, "not_before": None}
_SUPERSEDE = (
    update(review)
    .where(
        review.c.forge == bindparam("of_forge"),
        review.c.repository == bindparam("of_repository"),
        review.c.number == bindparam("of_number"),
        _UNFINISHED,
        review.c.head_sha != "",
        review.c.head_sha != bindparam("except_head"),
    )
    .values(
        state=ReviewState.SUPERSEDED, reason=bindparam("because"), finished_at=bindparam("at"), **UNCLAIMED
    )
)
_SUPERSEDE_REVIEWS = Prepared(
    {"sqlite": _SUPERSEDE, "postgresql": _SUPERSEDE},
    ("of_forge", "of_repository", "of_number", "except_head", "because", "at"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewReview:
    """A review to be queued.

    `trigger` tells apart reviews of one head: `auto` for events, `retarget:<base>`, and `comment:<id>` for
    requests. `head_sha` is empty where a request does not carry it.
    """

    ref: PullRequestRef
    head_sha: str
    trigger: str
    queue: str
    estimated_tokens: int
    requested_by: str
    comment: CommentRef | None
    full: bool
    received_at: datetime


class EnqueueOutcome(StrEnum):
    """What became of a review that was asked for."""

    QUEUED = "queued"
    REQUEUED = "requeued"
    ALREADY_QUEUED = "already_queued"
    ALREADY_RUNNING = "already_running"
    ALREADY_REVIEWED = "already_reviewed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Enqueued:
    """The review that stands for the request, and whether it has to be published."""

    review_id: int
    outcome: EnqueueOutcome


def enqueue(connection: Connection, new: NewReview) -> Enqueued:
    """Queue a review unless the same one waits, runs or is done; one that ended otherwise is queued again."""
    ref = new.ref
    _lock_pull_request(connection, ref)
    existing = _find_requested(connection, new) if new.comment else None
    if existing is None:
        row = {
            **_columns(new),
            "forge": ref.forge,
            "repository": ref.repository,
            "number": ref.number,
            "head_sha": new.head_sha,
            "trigger": new.trigger,
            "state": ReviewState.QUEUED.value,
        }
        with closing(_INSERT_REVIEW.run(connection, row)) as cursor:
            inserted = cursor.fetchone()
        if inserted is not None:
            return Enqueued(review_id=inserted[0], outcome=EnqueueOutcome.QUEUED)
        existing = connection.execute(
            select(review.c.id, review.c.state)
            .where(of_pull_request(ref), review.c.head_sha == new.head_sha, review.c.trigger == new.trigger)
            .with_for_update()
        ).one()
    outcome = {
        ReviewState.QUEUED: EnqueueOutcome.ALREADY_QUEUED,
        ReviewState.RUNNING: EnqueueOutcome.ALREADY_RUNNING,
        ReviewState.DONE: EnqueueOutcome.ALREADY_REVIEWED,
    }.get(ReviewState(existing.state), EnqueueOutcome.REQUEUED)
    if outcome is EnqueueOutcome.REQUEUED:
        _queue_again(connection, existing.id, new)
    return Enqueued(review_id=existing.id, outcome=outcome)


def _find_requested(connection: Connection, new: NewReview) -> Row[int, str] | None:
    # A request is one review even after its row has learnt the head, which is part of the unique key.
    return connection.execute(
        select(review.c.id, review.c.state)
        .where(of_pull_request(new.ref), review.c.trigger == new.trigger)
        .order_by(review.c.id.desc())
        .limit(1)
        .with_for_update()
    ).one_or_none()


def _queue_again(connection: Connection, review_id: int, new: NewReview) -> None:
    # status_id and what was posted stay: they are facts about the forge. The result may be of another base.
    connection.execute(
        update(review)
        .where(review.c.id == review_id)
        .values(
            **_columns(new),
            **UNCLAIMED,
            state=ReviewState.QUEUED,
            reason="",
            result=None,
            attempt=0,
            published_at=None,
            claimed_at=None,
            finished_at=None,
            told_at=None,
        )
    )


def _columns(new: NewReview) -> dict[str, Any]:
    return {
        "queue": new.queue,
        "estimated_tokens": new.estimated_tokens,
        "requested_by": new.requested_by,
        "comment_kind": new.comment.kind.value if new.comment else None,
        "comment_id": new.comment.id if new.comment else None,
        "full": new.full,
        "received_at": new.received_at,
        "queued_at": new.received_at,
    }


def supersede_older(connection: Connection, ref: PullRequestRef, head_sha: str, now: datetime) -> int:
    """End the unfinished reviews of the pull request's other heads, and tell how many.

    Requests whose head is not known yet are left alone: they will read the newest.
    """
    return _supersede(connection, ref, head_sha, f"A newer commit, {head_sha[:12]}, was pushed.", now)


def supersede_all(connection: Connection, ref: PullRequestRef, reason: str, now: datetime) -> int:
    """End the unfinished reviews of all heads, for when the same head has another diff, and tell how many.

    Requests whose head is not known yet are left alone: they will read the new diff.
    """
    return _supersede(connection, ref, "", reason, now)


def _supersede(
    connection: Connection, ref: PullRequestRef, except_head: str, reason: str, now: datetime
) -> int:
    _lock_pull_request(connection, ref)
    parameters = {
        "of_forge": ref.forge,
        "of_repository": ref.repository,
        "of_number": ref.number,
        "except_head": except_head,
        "because": reason,
        "at": now,
    }
    with closing(_SUPERSEDE_REVIEWS.run(connection, parameters)) as cursor:
        return int(cursor.rowcount)


def withdraw(connection: Connection, ref: PullRequestRef, reason: str, now: datetime) -> int:
    """End all unfinished reviews of the pull request as skipped, and tell how many."""
    _lock_pull_request(connection, ref)
    return connection.execute(
        update(review)
        .where(of_pull_request(ref), _UNFINISHED)
        .values(state=ReviewState.SKIPPED, reason=reason, finished_at=now, **UNCLAIMED)
    ).rowcount


def _lock_pull_request(connection: Connection, ref: PullRequestRef) -> None:
    # Without it two pushes that arrive together would not see each other's review and supersede neither; and
    # two transactions that change several reviews of one pull request could wait for each other in a circle.
    lock_until_commit(connection, "pull request", ref.forge, ref.repository, str(ref.number))


def of_pull_request(ref: PullRequestRef) -> ColumnElement[bool]:
    """Build the condition that a row of `review` belongs to this pull request."""
    return and_(
        review.c.forge == ref.forge, review.c.repository == ref.repository, review.c.number == ref.number
    )


def is_due(now: datetime) -> ColumnElement[bool]:
    """Build the condition that a queued review need not wait any longer."""
    return or_(review.c.not_before.is_(None), review.c.not_before <= now)
