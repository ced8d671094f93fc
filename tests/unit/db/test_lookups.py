"""bot.db.lookups and bot.db.handover: the last review, what was asked for, what runs next, and lists."""

from dataclasses import replace

import pytest

from bot.db.claims import finish, requeue
from bot.db.handover import hand_on
from bot.db.lookups import count_requested_since, last_finished, list_reviews
from bot.db.sweeping import due_for_publish, mark_published
from bot.db.tables import ReviewState
from tests.unit.db.builders import (
    NEWER,
    OTHER_PR,
    PR,
    T0,
    after,
    claim_review,
    claimed_review,
    new_review,
    queue_review,
)


def end(database, claimed, state, *, now=T0):
    assert finish(database, claimed, state=state, reason="", now=now, latency=None)


def test_l1_the_last_finished_review_is_the_one_that_ended_last(database):
    # The older row runs later: a force-push has brought its head back.
    older_id = queue_review(database).review_id
    newer = claimed_review(database, new_review(head_sha=NEWER))
    other = claimed_review(database, new_review(ref=OTHER_PR, head_sha="c" * 40))
    assert last_finished(database, PR, newer.review_id) is None
    end(database, newer, ReviewState.DONE, now=after(10))
    end(database, other, ReviewState.DONE, now=after(30))
    older = claim_review(database, older_id)
    assert last_finished(database, PR, older.review_id).review_id == newer.review_id
    end(database, older, ReviewState.FAILED, now=after(20))
    assert last_finished(database, PR, 0).review_id == older.review_id
    assert last_finished(database, PR, older.review_id).review_id == newer.review_id


@pytest.mark.parametrize("state", [ReviewState.SKIPPED, ReviewState.SUPERSEDED])
def test_l1_reviews_that_ended_without_reading_are_passed_over(database, state):
    done = claimed_review(database)
    end(database, done, ReviewState.DONE)
    end(database, claimed_review(database, new_review(head_sha=NEWER)), state, now=after(9))
    assert last_finished(database, PR, 0).review_id == done.review_id


def test_m3_requests_count_when_a_worker_took_them_on(database):
    end(database, claimed_review(database, new_review(comment_id="1")), ReviewState.DONE)
    end(database, claimed_review(database), ReviewState.DONE)
    old = claimed_review(database, new_review(comment_id="5", received_at=after(-3601)))
    end(database, old, ReviewState.DONE)
    claimed_review(database, new_review(comment_id="2"))
    queue_review(database, new_review(comment_id="3"))
    claimed_review(database, new_review(ref=OTHER_PR, comment_id="4"))
    assert count_requested_since(database, PR, after(-3600)) == 2


def test_m3_a_strangers_refused_requests_do_not_use_up_the_teams(database):
    for number in range(20):
        refused = claimed_review(database, new_review(comment_id=f"stranger-{number}"))
        end(database, refused, ReviewState.SKIPPED)
    claimed_review(database, new_review(comment_id="member"))
    assert count_requested_since(database, PR, after(-3600)) == 1


def test_next_of_repository_is_high_before_low_then_oldest_and_only_what_is_due(database):
    prs = [replace(PR, number=number) for number in range(4)]
    low = queue_review(database, new_review(prs[0], queue="low", received_at=after(-9)))
    late = queue_review(database, new_review(prs[1], received_at=after(2)))
    early = queue_review(database, new_review(prs[2], received_at=after(1)))
    queue_review(database, new_review(ref=replace(PR, repository="team/other"), received_at=after(-60)))
    waits = claimed_review(database, new_review(prs[3]))
    requeue(database, waits, now=after(3), reason="", not_before=after(100))

    def take(now):
        found = hand_on(database, "github", "team/app", now)
        if found:
            claim_review(database, found[0], now)
        return found

    assert [take(after(10)) for _ in range(4)] == [
        (early.review_id, "high"),
        (late.review_id, "high"),
        (low.review_id, "low"),
        None,
    ]
    assert take(after(100)) == (waits.review_id, "high")


def test_next_of_repository_is_not_of_a_pull_request_that_has_a_running_review(database):
    def following(repository="team/app"):
        found = hand_on(database, "github", repository, after(10))
        return found and found[0]

    running = claimed_review(database)
    oldest = queue_review(database, new_review(head_sha=NEWER, received_at=after(1)))
    assert following() is None
    other_pr = queue_review(database, new_review(ref=OTHER_PR, received_at=after(2)))
    assert following() == other_pr.review_id
    end(database, running, ReviewState.DONE)
    assert following() == oldest.review_id
    # Pull requests have the same numbers in every repository and on every forge.
    for elsewhere in (replace(PR, repository="team/other"), replace(PR, forge="gitlab")):
        claimed_review(database, new_review(ref=elsewhere))
    assert following() == oldest.review_id
    claim_review(database, oldest.review_id)
    same_number = queue_review(database, new_review(ref=replace(OTHER_PR, repository="team/other")))
    assert following("team/other") == same_number.review_id


def test_what_is_called_up_is_without_a_message_until_the_sweeper_has_sent_one(database):
    queued = queue_review(database)
    mark_published(database, [queued.review_id], after(1))
    assert due_for_publish(database, after(20), 900) == []
    assert hand_on(database, "github", "team/app", after(20)) == (queued.review_id, "high")
    assert due_for_publish(database, after(20), 900) == [(queued.review_id, "high")]


def test_list_is_newest_first_filtered_and_paged(database):
    ids = [queue_review(database, new_review(head_sha=f"{n:040}", queue="low")).review_id for n in range(5)]
    other = queue_review(database, new_review(ref=OTHER_PR))
    claim_review(database, ids[0])

    def listed(**filters):
        return [review.review_id for review in list_reviews(database, **filters)]

    assert listed(limit=2) == [other.review_id, ids[4]]
    assert listed(before_id=ids[2]) == [ids[1], ids[0]]
    assert listed(number=8) == listed(queue="high") == [other.review_id]
    assert listed(states=[ReviewState.RUNNING]) == [ids[0]]
    assert listed(forge="gitlab") == listed(repository="team/other") == []
    assert due_for_publish(database, T0, 60)[0] == (ids[1], "low")
