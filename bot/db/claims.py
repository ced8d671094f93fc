"""A review in the hands of one worker: claimed, renewed, and ended or given back.

A claim is a random token in the row. Everything that changes the state compares it first, so that a worker
that was too slow, or whose review was superseded, changes nothing. What happened on the forge is stored in
any case: it is a fact, whoever holds the claim.
"""

import secrets
from dataclasses import InitVar, dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, Row, and_, select, update

from bot.db.engine import Database, DatabaseConflict
from bot.db.failures import insert_failure
from bot.db.latency import LatencyRecord, insert_latency
from bot.db.locks import lock_until_commit
from bot.db.lookups import read_comment, read_review
from bot.db.reviews import UNCLAIMED, is_due
from bot.db.tables import IS_QUEUED, IS_RUNNING, ReviewState, review
from bot.events import CommentRef, PullRequestRef

_MADE_BY_CLAIM = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedReview:
    """A review that one worker holds; only `claim` makes one, so having it proves the right to work on it."""

    review_id: int
    ref: PullRequestRef
    head_sha: str
    base_sha: str
    trigger: str
    queue: str
    estimated_tokens: int
    requested_by: str
    comment: CommentRef | None
    full: bool
    received_at: datetime
    claimed_at: datetime
    attempt: int
    lease_token: str = field(repr=False)
    status_id: str
    result: str | None = field(repr=False)
    review_ref: str
    summary_ref: str
    proof: InitVar[object]

    def __post_init__(self, proof: object) -> None:
        if proof is not _MADE_BY_CLAIM:
            raise TypeError("a ClaimedReview comes from claim() only")


class ClaimRefusal(StrEnum):
    """Why a review was not given to the worker that asked for it."""

    MISSING = "missing"
    NOT_QUEUED = "not_queued"
    NOT_DUE = "not_due"
    REPOSITORY_BUSY = "repository_busy"
    PULL_REQUEST_BUSY = "pull_request_busy"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRefused:
    """The review was not claimed; the message that asked for it can be dropped: the row knows the rest."""

    reason: ClaimRefusal


class HeadOutcome(StrEnum):
    """What became of telling a review its head; `taken` means that the same review of it exists already."""

    SET = "set"
    TAKEN = "taken"
    LOST = "lost"


def claim(
    db: Database, review_id: int, *, lease_s: float, repository_limit: int, now: datetime
) -> ClaimedReview | ClaimRefused:
    """Take a queued review for this worker, unless its repository already runs as many as it may.

    Of one pull request only one review runs at a time.
    """
    token = secrets.token_hex(16)
    with db.transaction() as connection:
        found = connection.execute(
            select(
                review.c.forge, review.c.repository, review.c.number, review.c.state, review.c.not_before
            ).where(review.c.id == review_id)
        ).one_or_none()
        if found is None:
            return ClaimRefused(reason=ClaimRefusal.MISSING)
        if found.state != ReviewState.QUEUED:
            return ClaimRefused(reason=ClaimRefusal.NOT_QUEUED)
        if found.not_before is not None and found.not_before > now:
            return ClaimRefused(reason=ClaimRefusal.NOT_DUE)
        # Counting and taking must be one step, or two workers would both see the last free place.
        lock_until_commit(connection, "repository", found.forge, found.repository)
        running = connection.scalars(
            select(review.c.number).where(
                IS_RUNNING, review.c.forge == found.forge, review.c.repository == found.repository
            )
        ).all()
        # Two at once would both look for the summary comment, find none, and post one each.
        if found.number in running:
            return ClaimRefused(reason=ClaimRefusal.PULL_REQUEST_BUSY)
        if len(running) >= repository_limit:
            return ClaimRefused(reason=ClaimRefusal.REPOSITORY_BUSY)
        row = connection.execute(
            update(review)
            .where(review.c.id == review_id, IS_QUEUED, is_due(now))
            .values(
                state=ReviewState.RUNNING,
                claimed_at=now,
                attempt=review.c.attempt + 1,
                not_before=None,
                lease_until=now + timedelta(seconds=lease_s),
                lease_token=token,
            )
            .returning(*review.c)
        ).one_or_none()
    return ClaimRefused(reason=ClaimRefusal.NOT_QUEUED) if row is None else _read_claimed(row)


def _read_claimed(row: Row[Any]) -> ClaimedReview:
    return ClaimedReview(
        review_id=row.id,
        ref=PullRequestRef(forge=row.forge, repository=row.repository, number=row.number),
        head_sha=row.head_sha,
        base_sha=row.base_sha,
        trigger=row.trigger,
        queue=row.queue,
        estimated_tokens=row.estimated_tokens,
        requested_by=row.requested_by,
        comment=read_comment(row.comment_kind, row.comment_id),
        full=row.full,
        received_at=row.received_at,
        claimed_at=row.claimed_at,
        attempt=row.attempt,
        lease_token=row.lease_token,
        status_id=row.status_id,
        result=row.result,
        review_ref=row.review_ref,
        summary_ref=row.summary_ref,
        proof=_MADE_BY_CLAIM,
    )


def holds(claimed: ClaimedReview) -> ColumnElement[bool]:
    """Build the condition that the row still belongs to this claim."""
    return and_(review.c.id == claimed.review_id, IS_RUNNING, review.c.lease_token == claimed.lease_token)


def _change(db: Database, condition: ColumnElement[bool], **values: object) -> bool:
    with db.transaction() as connection:
        return connection.execute(update(review).where(condition).values(**values)).rowcount == 1


def renew_lease(db: Database, claimed: ClaimedReview, now: datetime, lease_s: float) -> bool:
    """Keep the review for another `lease_s` seconds; False if it was superseded, withdrawn or lost."""
    return _change(db, holds(claimed), lease_until=now + timedelta(seconds=lease_s))


def is_current(db: Database, claimed: ClaimedReview) -> bool:
    """Tell whether the claim still holds, without renewing it."""
    with db.reading() as connection:
        return connection.execute(select(review.c.id).where(holds(claimed))).one_or_none() is not None


def set_head(db: Database, claimed: ClaimedReview, head_sha: str, base_sha: str) -> HeadOutcome:
    """Store which commits the review is about, once the forge has told; requests start without a head."""
    try:
        changed = _change(db, holds(claimed), head_sha=head_sha, base_sha=base_sha)
    except DatabaseConflict:
        return HeadOutcome.TAKEN
    return HeadOutcome.SET if changed else HeadOutcome.LOST


def set_status_id(db: Database, claimed: ClaimedReview, status_id: str) -> None:
    """Store the id of the mark on the commit, so that it is always closed later."""
    _change(db, review.c.id == claimed.review_id, status_id=status_id)


def set_summary_ref(db: Database, claimed: ClaimedReview, summary_ref: str) -> None:
    """Store the id of the summary comment, so that the next run edits it."""
    _change(db, review.c.id == claimed.review_id, summary_ref=summary_ref)


def requeue(
    db: Database,
    claimed: ClaimedReview,
    *,
    now: datetime,
    reason: str,
    not_before: datetime | None = None,
    queue: str | None = None,
    estimated_tokens: int | None = None,
    count_attempt: bool = True,
    drop_result: bool = False,
) -> bool:
    """Give the review back to the queue; False if the claim was lost.

    The sweeper publishes it at `not_before`, or at its next pass. `count_attempt=False` is for a worker that
    was told to stop, and for a review that only moves to another queue.
    """
    values: dict[str, Any] = {
        **UNCLAIMED,
        "state": ReviewState.QUEUED,
        "reason": reason,
        "not_before": not_before,
        "queued_at": now,
        "published_at": None,
    }
    if queue is not None:
        values["queue"] = queue
    if estimated_tokens is not None:
        values["estimated_tokens"] = estimated_tokens
    if drop_result:
        values["result"] = None
    if not count_attempt:
        values["attempt"] = review.c.attempt - 1
    return _change(db, holds(claimed), **values)


def finish(
    db: Database,
    claimed: ClaimedReview,
    *,
    state: ReviewState,
    reason: str,
    now: datetime,
    latency: LatencyRecord | None,
) -> bool:
    """End the review and store its latency row together; False, and nothing stored, if the claim was lost.

    `latency` is the row of a review that is done; one that failed gets its own here.
    """
    if state in (ReviewState.QUEUED, ReviewState.RUNNING):
        raise ValueError(f"{state} is not a state that a review can end in")
    with db.transaction() as connection:
        ended = connection.execute(
            update(review)
            .where(holds(claimed))
            .values(**UNCLAIMED, state=state, reason=reason, finished_at=now)
            .returning(*review.c)
        ).one_or_none()
        if ended is not None and state is ReviewState.FAILED:
            insert_failure(connection, read_review(ended), now)
        elif ended is not None and latency is not None:
            insert_latency(connection, latency)
    return ended is not None
