"""The sweeper's pass, beyond what the flow tests show."""

from datetime import UTC, datetime, timedelta

import pytest

from bot.broker import BrokerUnavailable
from bot.db.engine import Database
from bot.settings import Settings
from tests.unit.db.builders import OTHER_PR, claim_review, new_review, queue_review
from workers.sweep import sweep_once

NOW = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)


def sweep(
    database: Database, now: datetime, *, broken: bool = False
) -> tuple[list[tuple[int, str]], list[int]]:
    published: list[tuple[int, str]] = []
    concluded: list[int] = []

    def publish(review_id: int, queue: str) -> None:
        if broken:
            raise BrokerUnavailable("away")
        published.append((review_id, queue))

    sweep_once(database, Settings(), now, publish=publish, publish_conclusion=concluded.append)
    return published, concluded


@pytest.fixture
def review_id(database: Database) -> int:
    return queue_review(database, new_review(received_at=NOW)).review_id


def test_a_fresh_review_is_left_to_its_receiver(database: Database, review_id: int) -> None:
    assert sweep(database, NOW + timedelta(seconds=2)) == ([], [])


def test_a_lost_message_is_published_once_then_after_a_long_while_again(
    database: Database, review_id: int
) -> None:
    assert sweep(database, NOW + timedelta(seconds=20))[0] == [(review_id, "high")]
    assert sweep(database, NOW + timedelta(seconds=40))[0] == []
    assert sweep(database, NOW + timedelta(seconds=2000))[0] == [(review_id, "high")]


def test_a_broker_that_is_away_costs_nothing_but_time(database: Database, review_id: int) -> None:
    assert sweep(database, NOW + timedelta(seconds=20), broken=True)[0] == []
    assert sweep(database, NOW + timedelta(seconds=30))[0] == [(review_id, "high")]


def test_the_review_of_a_dead_worker_is_published_again_and_given_up_in_the_end(
    database: Database, review_id: int
) -> None:
    now = NOW
    for _ in range(Settings().max_attempts):
        claim_review(database, review_id, now)
        assert sweep(database, now + timedelta(seconds=30))[0] == []
        now += timedelta(seconds=90)
        published, _ = sweep(database, now)
    assert published == [], "tried often enough"
    assert sweep(database, now + timedelta(seconds=30))[1] == [], "its worker may be telling it"
    assert sweep(database, now + timedelta(seconds=90))[1] == [review_id], "and its author is to be told"


def test_the_place_of_a_review_that_was_given_up_is_handed_on(database: Database, review_id: int) -> None:
    waiting = queue_review(database, new_review(ref=OTHER_PR, received_at=NOW)).review_id
    sweep(database, NOW + timedelta(seconds=20))
    now = NOW + timedelta(seconds=20)
    for attempt in range(Settings().max_attempts):
        claim_review(database, review_id, now)
        now += timedelta(seconds=90)
        published, _ = sweep(database, now)
        assert published == [(review_id, "high")] or attempt == Settings().max_attempts - 1
    assert published == [(waiting, "high")], "its message was dropped when the repository was busy"
