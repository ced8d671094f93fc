"""bot.db.claims: one worker per review, and what a worker may do that has lost its claim."""

from dataclasses import replace

import pytest

from bot.db.claims import (
    ClaimedReview,
    ClaimRefusal,
    ClaimRefused,
    HeadOutcome,
    claim,
    finish,
    is_current,
    renew_lease,
    requeue,
    set_head,
    set_status_id,
    set_summary_ref,
)
from bot.db.findings import load_findings, mark_posted, posted_fingerprints, save_result
from bot.db.latency import list_latency
from bot.db.reviews import enqueue, supersede_older, withdraw
from bot.db.sweeping import expire_leases, mark_published
from bot.db.tables import ReviewState
from tests.unit.db.builders import (
    HEAD,
    NEWER,
    OTHER_PR,
    PR,
    T0,
    after,
    claim_review,
    claimed_review,
    latency_record,
    new_finding,
    new_review,
    queue_review,
    read,
)


def refused(database, review_id, *, limit=10, now=T0):
    outcome = claim(database, review_id, lease_s=60, repository_limit=limit, now=now)
    return outcome.reason if isinstance(outcome, ClaimRefused) else outcome


def push_newer(database):
    with database.transaction() as connection:
        enqueue(connection, new_review(head_sha=NEWER))
        supersede_older(connection, PR, NEWER, after(5))


def close(database):
    with database.transaction() as connection:
        withdraw(connection, PR, "The pull request was closed.", after(5))


def expire(database):
    assert expire_leases(database, after(61), max_attempts=5).requeued


def take_over(database):
    expire(database)
    claim_review(database, 1, after(62))


LOSSES = pytest.mark.parametrize("lose", [push_newer, close, expire, take_over])


def test_a_claim_carries_all_that_a_worker_needs(database):
    new = new_review(comment_id="5", queue="low", received_at=after(-30))
    claimed = claimed_review(database, new)
    assert (claimed.ref, claimed.head_sha, claimed.trigger, claimed.queue) == (PR, "", "comment:5", "low")
    assert (claimed.comment, claimed.requested_by, claimed.full) == (new.comment, "maria", False)
    assert (claimed.received_at, claimed.claimed_at, claimed.attempt) == (after(-30), T0, 1)
    assert (claimed.estimated_tokens, claimed.status_id, claimed.result) == (1200, "", None)
    review = read(database, claimed.review_id)
    assert (review.state, review.lease_until) == (ReviewState.RUNNING, after(60))


def test_only_claim_makes_a_claimed_review(database):
    claimed = claimed_review(database)
    with pytest.raises((TypeError, ValueError)):
        replace(claimed, review_id=99)
    values = {name: getattr(claimed, name) for name in ClaimedReview.__slots__}
    with pytest.raises(TypeError, match="only"):
        ClaimedReview(**values, proof=object())


def test_the_token_is_not_shown_in_logs(database):
    claimed = claimed_review(database)
    assert claimed.lease_token not in repr(claimed)


def test_claims_are_refused_with_the_reason(database):
    first = queue_review(database).review_id
    same_pr = queue_review(database, new_review(head_sha=NEWER)).review_id
    other_pr = queue_review(database, new_review(ref=OTHER_PR)).review_id
    assert refused(database, 99) is ClaimRefusal.MISSING
    claim_review(database, first)
    assert refused(database, first) is ClaimRefusal.NOT_QUEUED
    assert refused(database, same_pr) is ClaimRefusal.PULL_REQUEST_BUSY
    assert refused(database, other_pr, limit=1) is ClaimRefusal.REPOSITORY_BUSY
    for review_id in (same_pr, other_pr):
        review = read(database, review_id)
        assert (review.state, review.attempt, review.lease_until) == (ReviewState.QUEUED, 0, None)


def test_b8_a_message_that_arrives_twice_runs_once(database):
    claimed = claimed_review(database)
    assert finish(database, claimed, state=ReviewState.DONE, reason="", now=T0, latency=None)
    assert refused(database, claimed.review_id) is ClaimRefusal.NOT_QUEUED


def test_the_limit_is_per_repository(database):
    for number, repository in enumerate(["team/app", "team/app", "team/other"]):
        ref = replace(PR, repository=repository, number=number)
        outcome = refused(database, queue_review(database, new_review(ref=ref)).review_id, limit=1)
        assert (outcome is ClaimRefusal.REPOSITORY_BUSY) == (number == 1)
    elsewhere = queue_review(database, new_review(ref=replace(PR, forge="gitlab"))).review_id
    assert isinstance(refused(database, elsewhere, limit=1), ClaimedReview)


def test_a_review_that_ended_makes_room(database):
    first = claimed_review(database)
    second = queue_review(database, new_review(ref=OTHER_PR)).review_id
    assert refused(database, second, limit=1) is ClaimRefusal.REPOSITORY_BUSY
    finish(database, first, state=ReviewState.FAILED, reason="", now=T0, latency=None)
    assert isinstance(refused(database, second, limit=1), ClaimedReview)


@pytest.mark.parametrize(
    "stop",
    [
        lambda db, claimed: finish(db, claimed, state=ReviewState.DONE, reason="", now=T0, latency=None),
        lambda db, claimed: requeue(db, claimed, now=T0, reason="engine away", not_before=after(99)),
        lambda db, _: push_newer(db),
        lambda db, _: expire(db),
    ],
    ids=["finished", "given back", "superseded", "expired"],
)
def test_a_review_waits_until_no_other_of_its_pull_request_runs(database, stop):
    """Two at once would both find no summary comment, and post one each."""
    first = claimed_review(database)
    request = queue_review(database, new_review(comment_id="5")).review_id
    assert refused(database, request) is ClaimRefusal.PULL_REQUEST_BUSY
    assert is_current(database, first)
    stop(database, first)
    assert isinstance(refused(database, request), ClaimedReview)


@pytest.mark.parametrize("other", [{"number": 8}, {"repository": "team/other"}, {"forge": "gitlab"}])
def test_another_pull_request_need_not_wait(database, other):
    claimed_review(database)
    review_id = queue_review(database, new_review(ref=replace(PR, **other))).review_id
    assert isinstance(refused(database, review_id), ClaimedReview)


def test_a_lease_can_be_renewed(database):
    claimed = claimed_review(database)
    assert renew_lease(database, claimed, after(50), 60)
    assert read(database, claimed.review_id).lease_until == after(110)
    assert expire_leases(database, after(61), max_attempts=5).requeued == ()


@LOSSES
def test_a_lost_claim_changes_nothing(database, lose):
    claimed = claimed_review(database)
    assert is_current(database, claimed)
    lose(database)
    before = read(database, claimed.review_id)
    assert not is_current(database, claimed)
    assert not renew_lease(database, claimed, after(63), 60)
    assert set_head(database, claimed, "d" * 40, "e" * 40) is HeadOutcome.LOST
    assert not requeue(database, claimed, now=after(63), reason="late")
    assert not save_result(database, claimed, "{}", [new_finding()])
    assert not finish(
        database, claimed, state=ReviewState.DONE, reason="late", now=after(63), latency=latency_record()
    )
    assert read(database, claimed.review_id) == before
    assert load_findings(database, claimed.review_id) == []
    assert list_latency(database) == []


@LOSSES
def test_what_stands_on_the_forge_is_stored_without_the_claim_too(database, lose):
    claimed = claimed_review(database)
    save_result(database, claimed, "{}", [new_finding("f1")])
    lose(database)
    set_status_id(database, claimed, "status-1")
    set_summary_ref(database, claimed, "summary-1")
    mark_posted(database, claimed, {"f1": "comment-1"}, "review-1")
    review = read(database, claimed.review_id)
    assert (review.status_id, review.summary_ref, review.review_ref) == ("status-1", "summary-1", "review-1")
    assert posted_fingerprints(database, PR) == {"f1"}


def test_finish_stores_the_end_and_the_latency_row_together(database):
    claimed = claimed_review(database)
    record = latency_record(claimed.review_id, after(30))
    assert finish(database, claimed, state=ReviewState.DONE, reason="ok", now=after(30), latency=record)
    review = read(database, claimed.review_id)
    assert (review.state, review.reason, review.finished_at) == (ReviewState.DONE, "ok", after(30))
    assert review.lease_until is review.told_at is None
    assert [each for _, each in list_latency(database)] == [record]
    assert not finish(database, claimed, state=ReviewState.FAILED, reason="", now=after(31), latency=record)


def test_a_latency_row_that_is_refused_leaves_the_review_running(database):
    claimed = claimed_review(database)
    broken = latency_record(claimed.review_id, T0, model=None)
    with pytest.raises(Exception, match="model"):
        finish(database, claimed, state=ReviewState.DONE, reason="", now=T0, latency=broken)
    assert is_current(database, claimed)


@pytest.mark.parametrize("state", [ReviewState.QUEUED, ReviewState.RUNNING])
def test_a_review_cannot_end_unfinished(database, state):
    with pytest.raises(ValueError, match="not a state"):
        finish(database, claimed_review(database), state=state, reason="", now=T0, latency=None)


def test_a_request_learns_its_head(database):
    claimed = claimed_review(database, new_review(comment_id="5"))
    assert set_head(database, claimed, HEAD, "base") is HeadOutcome.SET
    review = read(database, claimed.review_id)
    assert (review.head_sha, review.base_sha) == (HEAD, "base")
    # From now on a newer push replaces it.
    push_newer(database)
    assert read(database, claimed.review_id).state is ReviewState.SUPERSEDED


def test_a_head_that_another_row_has_is_taken(database):
    queue_review(database, new_review(head_sha=NEWER))
    claimed = claimed_review(database)
    assert set_head(database, claimed, NEWER, "base") is HeadOutcome.TAKEN
    assert read(database, claimed.review_id).head_sha == HEAD
    assert is_current(database, claimed)


def test_requeue_gives_the_review_back_for_later(database):
    claimed = claimed_review(database)
    mark_published(database, [claimed.review_id], T0)
    assert requeue(database, claimed, now=after(10), reason="engine away", not_before=after(40))
    review = read(database, claimed.review_id)
    assert (review.state, review.reason, review.queue) == (ReviewState.QUEUED, "engine away", "high")
    assert (review.attempt, review.not_before, review.queued_at) == (1, after(40), after(10))
    assert review.published_at is review.lease_until is review.finished_at is None
    assert refused(database, claimed.review_id, now=after(39)) is ClaimRefusal.NOT_DUE
    again = claim_review(database, claimed.review_id, after(40))
    assert again.attempt == 2
    assert read(database, claimed.review_id).not_before is None


def test_requeue_to_another_queue_is_no_attempt(database):
    claimed = claimed_review(database)
    requeue(database, claimed, now=T0, reason="", queue="low", estimated_tokens=9000, count_attempt=False)
    review = read(database, claimed.review_id)
    assert (review.queue, review.estimated_tokens, review.attempt) == ("low", 9000, 0)


def test_the_next_attempt_gets_what_the_last_one_stored(database):
    claimed = claimed_review(database)
    save_result(database, claimed, '{"files": 3}', [new_finding()])
    set_status_id(database, claimed, "status-1")
    set_summary_ref(database, claimed, "summary-1")
    set_head(database, claimed, HEAD, "base")
    mark_posted(database, claimed, {}, "review-1")
    requeue(database, claimed, now=T0, reason="forge away")
    again = claim_review(database, claimed.review_id)
    assert (again.result, again.status_id, again.base_sha) == ('{"files": 3}', "status-1", "base")
    assert (again.summary_ref, again.review_ref) == ("summary-1", "review-1")
    assert again.lease_token != claimed.lease_token
