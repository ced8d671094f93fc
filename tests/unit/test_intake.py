"""Intake under a burst: what arrives together is stored together, and nobody pays for another's delivery."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import Connection

from bot.db.deliveries import list_deliveries
from bot.db.engine import Database, DatabaseUnavailable
from bot.events import ChangeReason, Delivery, EventIgnored, PullRequestChanged, PullRequestRef
from bot.intake import Accepted, Intake

DEADLINE_S = 20


class Watched:
    """A database whose first transaction waits until it is let go, and which counts them."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.transactions = 0
        self.is_away = False
        self.entered = threading.Event()
        self.go_on = threading.Event()

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        self.transactions += 1
        if self.transactions == 1:
            self.entered.set()
            assert self.go_on.wait(DEADLINE_S)
        if self.is_away:
            raise DatabaseUnavailable("the database does not answer")
        with self._database.transaction() as connection:
            yield connection


def delivery(guid: str, **values: Any) -> Delivery:
    return Delivery(
        **{
            "forge": "github",
            "guid": guid,
            "event": "pull_request",
            "action": "opened",
            "repository": "acme/shop",
            "sender": "ada",
            "payload": b"{}",
            "request_id": guid,
            "received_at": datetime.now(UTC),
            **values,
        }
    )


def opened(number: int) -> PullRequestChanged:
    return PullRequestChanged(
        ref=PullRequestRef(forge="github", repository="acme/shop", number=number),
        reason=ChangeReason.OPENED,
        head_sha=f"{number:040x}",
        base_ref="main",
        author="ada",
        additions=1,
        deletions=0,
    )


class Burst:
    """One delivery that is being stored while others arrive; `settle` lets all of them end."""

    def __init__(self, database: Database) -> None:
        self.watched = Watched(database)
        self.published: list[int] = []
        self.intake = Intake(
            database=self.watched,  # type: ignore[arg-type] # it has the one method that is used
            publish=lambda review_id, _queue: self.published.append(review_id),
            low_queue_tokens=4000,
        )
        self.outcomes: dict[int, Accepted | Exception] = {}
        self.threads: list[threading.Thread] = []
        self.arrive(delivery("first"), opened(1000))
        assert self.watched.entered.wait(DEADLINE_S)

    def arrive(self, new: Delivery, event: PullRequestChanged | EventIgnored) -> None:
        place = len(self.threads)

        def work() -> None:
            try:
                self.outcomes[place] = self.intake.accept(new, event)
            except Exception as error:  # noqa: BLE001 - told to whoever reads the outcomes
                self.outcomes[place] = error

        self.threads.append(threading.Thread(target=work))
        self.threads[-1].start()

    def settle(self) -> list[Accepted | Exception]:
        until = threading.Event()
        while len(self.intake._waiting) < len(self.threads):
            until.wait(0.005)
        self.watched.go_on.set()
        for thread in self.threads:
            thread.join(DEADLINE_S)
        return [self.outcomes[place] for place in range(len(self.threads))]


def outcome(settled: Accepted | Exception) -> str:
    return settled.outcome if isinstance(settled, Accepted) else type(settled).__name__


def test_what_arrives_while_the_database_is_busy_is_stored_together(database: Database) -> None:
    burst = Burst(database)
    for number in range(1, 9):
        burst.arrive(delivery(f"guid-{number}"), opened(number))
    settled = burst.settle()

    assert [outcome(each) for each in settled] == ["queued"] * 9
    assert burst.watched.transactions == 1
    assert len(list_deliveries(database)) == 9
    ids = {each.review_id for each in settled if isinstance(each, Accepted)}
    assert len(ids) == 9
    assert set(burst.published) == ids


def test_a_duplicate_does_not_undo_its_neighbours(database: Database) -> None:
    """Case B1: both copies arrive before either is stored."""
    burst = Burst(database)
    for guid, number in (("a", 1), ("b", 2), ("b", 2), ("c", 3)):
        burst.arrive(delivery(guid), opened(number))
    settled = burst.settle()

    assert sorted(outcome(each) for each in settled) == ["duplicate", "queued", "queued", "queued", "queued"]
    assert sorted(each.guid for each in list_deliveries(database)) == ["a", "b", "c", "first"]
    assert len(burst.published) == 4


def test_a_delivery_that_cannot_be_stored_fails_alone(database: Database) -> None:
    burst = Burst(database)
    burst.arrive(delivery("a"), opened(1))
    burst.arrive(delivery("naive", received_at=datetime(2026, 1, 1)), opened(2))  # noqa: DTZ001 - what is refused
    burst.arrive(delivery("b"), EventIgnored(reason="nothing to do"))
    settled = burst.settle()

    assert [outcome(each) for each in settled] == ["queued", "queued", "ValueError", "ignored"]
    assert sorted(each.guid for each in list_deliveries(database)) == ["a", "b", "first"]


def test_a_database_that_is_away_is_asked_once_for_all(database: Database) -> None:
    burst = Burst(database)
    for number in range(1, 5):
        burst.arrive(delivery(f"guid-{number}"), opened(number))
    burst.watched.is_away = True
    settled = burst.settle()

    assert [outcome(each) for each in settled] == ["DatabaseUnavailable"] * 5
    assert burst.watched.transactions == 1, "each would wait for its own time limit, one after another"
    burst.watched.is_away = False
    assert burst.intake.accept(delivery("later"), opened(9)).outcome == "queued"


@pytest.mark.parametrize("repeat", range(3))
def test_accepting_again_changes_nothing(database: Database, repeat: int) -> None:
    intake = Intake(database=database, publish=lambda *_: None, low_queue_tokens=4000)
    outcomes = [intake.accept(delivery("a"), opened(1)).outcome for _ in range(repeat + 1)]
    assert outcomes == ["queued", *["duplicate"] * repeat]
