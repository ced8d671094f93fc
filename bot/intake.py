"""Intake: store what arrived, then tell the workers. Once `accept` returns, the event cannot be lost."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bot.broker import HIGH, LOW
from bot.db import deliveries, reviews
from bot.db.engine import Database
from bot.db.reviews import EnqueueOutcome, NewReview
from bot.events import (
    ChangeReason,
    Delivery,
    Event,
    EventIgnored,
    PullRequestChanged,
    PullRequestWithdrawn,
    ReviewRequested,
)

# A changed line has about 40 characters and brings about as much unchanged context along.
_CHARACTERS_PER_CHANGED_LINE = 80
_CHARACTERS_PER_TOKEN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """What became of a delivery, with the review that stands for it, if any."""

    outcome: str
    reason: str = ""
    review_id: int | None = None
    queue: str = ""


class _Duplicate(Exception):
    """The forge has sent this delivery before; rolls back what was stored for it."""


def accept(
    delivery: Delivery,
    event: Event,
    *,
    database: Database,
    publish: Callable[[int, str], None],
    low_queue_tokens: int,
) -> Accepted:
    """Store the delivery and what follows from it in one transaction, then publish, best effort.

    Accepting the same delivery again changes nothing. Raises DatabaseError, and then nothing is stored.
    """
    try:
        with database.transaction() as connection:
            accepted = _apply(connection, delivery, event, low_queue_tokens)
            stored = deliveries.insert_delivery(
                connection,
                delivery,
                number=None if isinstance(event, EventIgnored) else event.ref.number,
                outcome=accepted.outcome,
                reason=accepted.reason,
                review_id=accepted.review_id,
            )
            if stored is None:
                raise _Duplicate
    except _Duplicate:
        return Accepted(outcome="duplicate", reason="this delivery was received before")
    if accepted.review_id and accepted.outcome in (EnqueueOutcome.QUEUED, EnqueueOutcome.REQUEUED):
        publish(accepted.review_id, accepted.queue)
    return accepted


def estimate_tokens(additions: int | None, deletions: int | None) -> int:
    """Estimate a diff's tokens from its size; 0 if the size is unknown, since the worker will know better."""
    changed = (additions or 0) + (deletions or 0)
    return changed * _CHARACTERS_PER_CHANGED_LINE // _CHARACTERS_PER_TOKEN


def _apply(connection: Any, delivery: Delivery, event: Event, low_queue_tokens: int) -> Accepted:
    match event:
        case EventIgnored():
            return Accepted(outcome="ignored", reason=event.reason)
        case PullRequestWithdrawn():
            ended = reviews.withdraw(connection, event.ref, event.reason, delivery.received_at)
            return Accepted(outcome="withdrawn", reason=f"{event.reason} ({ended} unfinished reviews ended)")
        case ReviewRequested():
            return _enqueue(
                connection,
                NewReview(
                    ref=event.ref,
                    head_sha="",
                    trigger=f"comment:{event.comment.kind}:{event.comment.id}",
                    queue=HIGH,
                    estimated_tokens=0,
                    requested_by=event.requested_by,
                    comment=event.comment,
                    full=event.full,
                    received_at=delivery.received_at,
                ),
            )
        case PullRequestChanged():
            return _enqueue_change(connection, delivery, event, low_queue_tokens)


def _enqueue_change(
    connection: Any, delivery: Delivery, event: PullRequestChanged, low_queue_tokens: int
) -> Accepted:
    estimated_tokens = estimate_tokens(event.additions, event.deletions)
    retargeted = event.reason is ChangeReason.RETARGETED
    if retargeted:
        # The same head has another diff now, so what runs for it is out of date as well.
        reason = f"The pull request was pointed at {event.base_ref}."
        reviews.supersede_all(connection, event.ref, reason, delivery.received_at)
    accepted = _enqueue(
        connection,
        NewReview(
            ref=event.ref,
            head_sha=event.head_sha,
            trigger=f"retarget:{event.base_ref}" if retargeted else reviews.TRIGGER_AUTO,
            queue=LOW if estimated_tokens > low_queue_tokens else HIGH,
            estimated_tokens=estimated_tokens,
            requested_by="",
            comment=None,
            full=False,
            received_at=delivery.received_at,
        ),
    )
    reviews.supersede_older(connection, event.ref, event.head_sha, delivery.received_at)
    return accepted


def _enqueue(connection: Any, new: NewReview) -> Accepted:
    enqueued = reviews.enqueue(connection, new)
    reasons = {
        EnqueueOutcome.ALREADY_QUEUED: "this head is queued already",
        EnqueueOutcome.ALREADY_RUNNING: "this head is being reviewed already",
        EnqueueOutcome.ALREADY_REVIEWED: "this head was reviewed already",
    }
    return Accepted(
        outcome=enqueued.outcome,
        reason=reasons.get(enqueued.outcome, ""),
        review_id=enqueued.review_id,
        queue=new.queue,
    )
