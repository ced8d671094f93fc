"""Intake: store what arrived, then tell the workers. Once `accept` returns, the event cannot be lost."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from bot.broker import HIGH, LOW
from bot.db import deliveries, reviews
from bot.db.engine import Database, DatabaseUnavailable
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
_REASONS = {
    EnqueueOutcome.ALREADY_QUEUED: "this head is queued already",
    EnqueueOutcome.ALREADY_RUNNING: "this head is being reviewed already",
    EnqueueOutcome.ALREADY_REVIEWED: "this head was reviewed already",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """What became of a delivery, with the review that stands for it, if any."""

    outcome: str
    reason: str = ""
    review_id: int | None = None
    queue: str = ""


class _Duplicate(Exception):
    """The forge has sent this delivery before; rolls back what was stored for it."""


class Intake:
    """Store deliveries and what follows from them; threads may share it, processes may not.

    What arrives while another transaction holds the database goes into the next one, all of it together: in a
    burst the cost of a commit, and of waiting for one's turn at SQLite, is shared.
    """

    def __init__(
        self, *, database: Database, publish: Callable[[int, str], None], low_queue_tokens: int
    ) -> None:
        self._database = database
        self._publish = publish
        self._low_queue_tokens = low_queue_tokens
        self._lock = threading.Lock()
        self._is_storing = False
        self._waiting: list[_Arrival] = []

    def accept(self, delivery: Delivery, event: Event) -> Accepted:
        """Store the delivery and what follows from it in one transaction, then publish, best effort.

        Accepting the same delivery again changes nothing. Raises DatabaseError, and then nothing is stored.
        """
        arrival = _Arrival(delivery, event)
        with self._lock:
            self._waiting.append(arrival)
            may_begin, self._is_storing = not self._is_storing, True
        if not may_begin:
            arrival.turn.wait()
        if not arrival.is_settled:
            self._store_waiting()
        accepted = arrival.outcome()
        if accepted.review_id and accepted.outcome in (EnqueueOutcome.QUEUED, EnqueueOutcome.REQUEUED):
            self._publish(accepted.review_id, accepted.queue)
        return accepted

    def _store_waiting(self) -> None:
        arrivals: list[_Arrival] = []
        try:
            with self._database.transaction() as connection:
                # Only now that it is our turn at the database: until then others still join.
                arrivals = self._take_waiting()
                accepted = [self._store(connection, arrival) for arrival in arrivals]
            for arrival, each in zip(arrivals, accepted, strict=True):
                arrival.accepted = each
        except DatabaseUnavailable as error:
            arrivals = arrivals or self._take_waiting()
            for arrival in arrivals:
                arrival.error = error
        except Exception:  # noqa: BLE001 - raised again in the thread whose delivery it is
            # One of them cannot be stored with the others; which one shows when each is stored by itself.
            arrivals = arrivals or self._take_waiting()
            for arrival in arrivals:
                self._store_alone(arrival)
        finally:
            with self._lock:
                following = self._waiting[:1]
                self._is_storing = bool(following)
            # The next one to store first, so that the database does not wait for those who only answer.
            for arrival in following + arrivals:
                arrival.turn.set()

    def _take_waiting(self) -> "list[_Arrival]":
        with self._lock:
            arrivals, self._waiting = self._waiting, []
        # In one order for everybody, since each locks its pull request until the commit.
        return sorted(arrivals, key=_pull_request_of)

    def _store_alone(self, arrival: "_Arrival") -> None:
        try:
            with self._database.transaction() as connection:
                accepted = self._store(connection, arrival)
            arrival.accepted = accepted
        except _Duplicate:
            arrival.accepted = Accepted(outcome="duplicate", reason="this delivery was received before")
        except Exception as error:  # noqa: BLE001 - raised again in the thread whose delivery it is
            arrival.error = error

    def _store(self, connection: Any, arrival: "_Arrival") -> Accepted:
        delivery, event = arrival.delivery, arrival.event
        accepted = _apply(connection, delivery, event, self._low_queue_tokens)
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
        return accepted


@dataclass(slots=True)
class _Arrival:
    """A delivery that waits to be stored, and then what became of it.

    `turn` is set when it has been stored, or when its own thread is to store all that wait.
    """

    delivery: Delivery
    event: Event
    turn: threading.Event = field(default_factory=threading.Event)
    accepted: Accepted | None = None
    error: Exception | None = None

    @property
    def is_settled(self) -> bool:
        return self.accepted is not None or self.error is not None

    def outcome(self) -> Accepted:
        if self.error is not None:
            raise self.error
        assert self.accepted is not None  # noqa: S101 - settled is one or the other
        return self.accepted


def _pull_request_of(arrival: _Arrival) -> tuple[str, str, int]:
    event = arrival.event
    if isinstance(event, EventIgnored):
        return ("", "", 0)
    return (event.ref.forge, event.ref.repository, event.ref.number)


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
    return Accepted(
        outcome=enqueued.outcome,
        reason=_REASONS.get(enqueued.outcome, ""),
        review_id=enqueued.review_id,
        queue=new.queue,
    )
