"""bot.db.reviews: what becomes of a review that is asked for, replaced or withdrawn."""

import threading
from dataclasses import replace

import pytest

from bot.db.claims import HeadOutcome, finish, is_current, set_head, set_status_id
from bot.db.findings import save_result
from bot.db.lookups import get_review, list_reviews
from bot.db.reviews import enqueue, supersede_all, supersede_older, withdraw
from bot.db.sweeping import mark_published, mark_told
from bot.db.tables import ReviewState
from bot.events import CommentKind, CommentRef
from tests.unit.db.builders import (
    HEAD,
    NEWER,
    OTHER_PR,
    PR,
    T0,
    after,
    claimed_review,
    new_review,
    queue_review,
    read,
)


def end(database, claimed, state, *, now=T0):
    assert finish(database, claimed, state=state, reason="", now=now, latency=None)


def test_a_queued_review_can_be_read_back(database):
    new = new_review(comment_id="99", received_at=after(1))
    review = read(database, queue_review(database, new).review_id)
    assert review.state is ReviewState.QUEUED
    assert (review.ref, review.head_sha, review.trigger) == (PR, "", "comment:99")
    assert review.comment == CommentRef(kind=CommentKind.CONVERSATION, id="99")
    assert (review.requested_by, review.received_at, review.queued_at) == ("maria", after(1), after(1))
    assert (review.attempt, review.published_at, review.claimed_at, review.result) == (0, None, None, None)
    assert get_review(database, review.review_id + 1) is None


def test_the_same_review_is_queued_once(database):
    first = queue_review(database)
    second = queue_review(database)
    assert (first.outcome, second.outcome) == ("queued", "already_queued")
    assert first.review_id == second.review_id


@pytest.mark.parametrize(
    "other",
    [
        new_review(head_sha=NEWER),
        new_review(trigger="retarget:main"),
        new_review(comment_id="1"),
        new_review(ref=OTHER_PR),
        new_review(ref=replace(PR, forge="gitlab")),
        new_review(ref=replace(PR, repository="team/other")),
    ],
    ids=["head", "trigger", "comment", "number", "forge", "repository"],
)
def test_any_part_of_the_key_makes_another_review(database, other):
    assert queue_review(database).review_id != queue_review(database, other).review_id
    assert len(list_reviews(database)) == 2


def test_a_running_review_is_not_queued_again(database):
    claimed = claimed_review(database)
    again = queue_review(database)
    assert (again.review_id, again.outcome) == (claimed.review_id, "already_running")
    assert is_current(database, claimed)


def test_a_done_review_stays_done(database):
    claimed = claimed_review(database)
    end(database, claimed, ReviewState.DONE)
    assert queue_review(database).outcome == "already_reviewed"
    assert read(database, claimed.review_id).state is ReviewState.DONE


@pytest.mark.parametrize("state", [ReviewState.SKIPPED, ReviewState.FAILED, ReviewState.SUPERSEDED])
def test_a_review_that_ended_otherwise_starts_afresh(database, state):
    claimed = claimed_review(database)
    set_status_id(database, claimed, "status-1")
    save_result(database, claimed, "{}", [])
    mark_published(database, [claimed.review_id], T0)
    end(database, claimed, state)
    mark_told(database, [claimed.review_id], after(31))
    again = queue_review(
        database, replace(new_review(queue="low", received_at=after(60)), estimated_tokens=9000)
    )
    assert (again.review_id, again.outcome) == (claimed.review_id, "requeued")
    review = read(database, claimed.review_id)
    assert (review.state, review.queue, review.estimated_tokens, review.attempt) == ("queued", "low", 9000, 0)
    assert (review.received_at, review.queued_at) == (after(60), after(60))
    assert review.told_at is review.finished_at is review.claimed_at is review.published_at is None
    assert review.reason == ""
    # The mark on the commit is a fact about the forge; the result may be of a base that it has no longer.
    assert (review.status_id, review.result) == ("status-1", None)


def test_a_request_stays_one_review_after_it_has_learnt_its_head(database):
    """The head is part of the unique key, so the same comment delivered again looks like a new row."""
    claimed = claimed_review(database, new_review(comment_id="5"))
    assert set_head(database, claimed, HEAD, "base") is HeadOutcome.SET
    assert queue_review(database, new_review(comment_id="5")).outcome == "already_running"
    end(database, claimed, ReviewState.DONE)
    assert queue_review(database, new_review(comment_id="5")).outcome == "already_reviewed"
    assert len(list_reviews(database)) == 1


def test_b10_a_second_request_is_reviewed_although_the_head_is_the_same(database):
    end(database, claimed_review(database, new_review(comment_id="5")), ReviewState.DONE)
    assert queue_review(database, new_review(comment_id="6")).outcome == "queued"


def test_a_newer_head_supersedes_what_waits_and_what_runs(database):
    running = claimed_review(database)
    waiting = queue_review(database, new_review(head_sha="c" * 40))
    with database.transaction() as connection:
        newest = enqueue(connection, new_review(head_sha=NEWER))
        assert supersede_older(connection, PR, NEWER, after(5)) == 2
    for review_id in (running.review_id, waiting.review_id):
        review = read(database, review_id)
        assert (review.state, review.finished_at) == (ReviewState.SUPERSEDED, after(5))
        assert NEWER[:12] in review.reason
    assert read(database, newest.review_id).state is ReviewState.QUEUED
    assert not is_current(database, running)


def test_a_newer_head_leaves_alone_what_it_does_not_replace(database):
    done = claimed_review(database)
    end(database, done, ReviewState.DONE)
    request = queue_review(database, new_review(comment_id="5"))
    other_pr = queue_review(database, new_review(ref=OTHER_PR))
    same_head = queue_review(database, new_review(head_sha=NEWER, trigger="retarget:main"))
    with database.transaction() as connection:
        assert supersede_older(connection, PR, NEWER, after(5)) == 0
    states = [read(database, each.review_id).state for each in (done, request, other_pr, same_head)]
    assert states == ["done", "queued", "queued", "queued"]


def test_another_base_supersedes_the_same_head_as_well(database):
    waiting = queue_review(database)
    request = queue_review(database, new_review(comment_id="5"))
    with database.transaction() as connection:
        assert supersede_all(connection, PR, "The target branch is main now.", after(5)) == 1
    assert read(database, waiting.review_id).reason == "The target branch is main now."
    assert read(database, request.review_id).state is ReviewState.QUEUED


def test_a_superseded_head_that_is_pushed_again_is_reviewed(database):
    first = queue_review(database)
    with database.transaction() as connection:
        second = enqueue(connection, new_review(head_sha=NEWER))
        supersede_older(connection, PR, NEWER, after(1))
    with database.transaction() as connection:
        assert enqueue(connection, new_review()).outcome == "requeued"
        supersede_older(connection, PR, HEAD, after(2))
    assert read(database, first.review_id).state is ReviewState.QUEUED
    assert read(database, second.review_id).state is ReviewState.SUPERSEDED


def test_two_pushes_at_the_same_time_leave_one_review(database):
    """Neither transaction sees the other's uncommitted row, so only a lock makes one supersede the other."""

    def push_newer():
        with database.transaction() as connection:
            enqueue(connection, new_review(head_sha=NEWER))
            supersede_older(connection, PR, NEWER, after(1))

    second = threading.Thread(target=push_newer)
    with database.transaction() as connection:
        enqueue(connection, new_review())
        second.start()
        second.join(0.3)
        supersede_older(connection, PR, HEAD, after(1))
    second.join()
    states = {review.head_sha: review.state for review in list_reviews(database)}
    assert states == {HEAD: "superseded", NEWER: "queued"}


def test_withdraw_ends_all_unfinished_reviews_of_the_pull_request(database):
    done = claimed_review(database, new_review(head_sha=NEWER))
    end(database, done, ReviewState.DONE)
    running = claimed_review(database)
    request = queue_review(database, new_review(comment_id="5"))
    other_pr = queue_review(database, new_review(ref=OTHER_PR))
    with database.transaction() as connection:
        assert withdraw(connection, PR, "The pull request was closed.", after(5)) == 2
    for review_id in (running.review_id, request.review_id):
        review = read(database, review_id)
        assert (review.state, review.reason) == (ReviewState.SKIPPED, "The pull request was closed.")
        assert (review.finished_at, review.lease_until) == (after(5), None)
    assert read(database, other_pr.review_id).state is ReviewState.QUEUED
    assert read(database, done.review_id).state is ReviewState.DONE
    assert not finish(database, running, state=ReviewState.DONE, reason="", now=after(6), latency=None)
