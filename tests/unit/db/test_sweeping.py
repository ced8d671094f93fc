"""bot.db.sweeping: what is published again, taken from dead workers, shown to authors, deleted."""

import threading
from dataclasses import replace

from bot.db.claims import finish, requeue, set_status_id
from bot.db.engine import open_database
from bot.db.findings import load_findings, save_result
from bot.db.llm_calls import LlmCall, list_llm_calls, record_llm_call
from bot.db.reviews import enqueue, supersede_older, withdraw
from bot.db.sweeping import (
    BATCH,
    Expired,
    Purged,
    due_for_publish,
    expire_leases,
    mark_published,
    mark_told,
    promote_old,
    purge,
    untold,
)
from bot.db.tables import ReviewState, llm_call
from tests.unit.db.builders import (
    HEAD,
    NEWER,
    OTHER_PR,
    PR,
    T0,
    after,
    claim_review,
    claimed_review,
    new_finding,
    new_review,
    queue_review,
    read,
)

DAY = 86_400


def end(database, claimed, state=ReviewState.DONE, now=T0):
    assert finish(database, claimed, state=state, reason="", now=now, latency=None)


def test_a_review_without_a_message_is_published(database):
    high = queue_review(database, new_review(received_at=after(1))).review_id
    low = queue_review(database, new_review(head_sha=NEWER, queue="low")).review_id
    claimed_review(database, new_review(head_sha="c" * 40))
    assert due_for_publish(database, after(1), 900) == [(low, "low"), (high, "high")]
    assert due_for_publish(database, after(1), 900, limit=1) == [(low, "low")]


def test_a_published_review_is_published_again_only_after_a_while(database):
    review_id = queue_review(database).review_id
    mark_published(database, [review_id], after(10))
    assert due_for_publish(database, after(909), 900) == []
    assert due_for_publish(database, after(910), 900) == [(review_id, "high")]


def test_a_review_that_was_just_queued_is_left_to_whoever_queued_it(database):
    review_id = queue_review(database).review_id
    assert due_for_publish(database, after(9), 900, 10) == []
    assert due_for_publish(database, after(10), 900, 10) == [(review_id, "high")]
    claimed = claim_review(database, review_id)
    requeue(database, claimed, now=after(20), reason="")
    assert due_for_publish(database, after(29), 900, 10) == []
    assert due_for_publish(database, after(30), 900, 10) == [(review_id, "high")]


def test_a_review_that_waits_for_a_time_is_published_then(database):
    claimed = claimed_review(database)
    requeue(database, claimed, now=T0, reason="engine away", not_before=after(60))
    assert due_for_publish(database, after(59), 900) == []
    assert due_for_publish(database, after(60), 900) == [(claimed.review_id, "high")]


def test_marking_published_leaves_alone_what_is_no_longer_queued(database):
    claimed = claimed_review(database)
    mark_published(database, [claimed.review_id, 99], after(5))
    mark_published(database, [], after(5))
    assert read(database, claimed.review_id).published_at is None


def test_dead_workers_reviews_go_back_to_the_queue_at_once(database):
    dead = claimed_review(database)
    alive = claim_review(database, queue_review(database, new_review(ref=OTHER_PR)).review_id, after(30))
    mark_published(database, [dead.review_id], T0)
    assert expire_leases(database, after(60), max_attempts=3) == Expired(requeued=(), failed=())
    assert expire_leases(database, after(61), max_attempts=3) == Expired(
        requeued=(dead.review_id,), failed=()
    )
    review = read(database, dead.review_id)
    assert (review.state, review.attempt, review.lease_until) == (ReviewState.QUEUED, 1, None)
    assert due_for_publish(database, after(61), 900, 10) == [(dead.review_id, "high")]
    assert read(database, alive.review_id).state is ReviewState.RUNNING


def test_a_review_that_kills_its_workers_ends_as_failed_for_its_author_to_see(database):
    review_id = queue_review(database).review_id
    for attempt in range(1, 4):
        now = after(attempt * 100)
        claim_review(database, review_id, now)
        expired = expire_leases(database, after(attempt * 100 + 61), max_attempts=3)
        assert expired == Expired(
            requeued=(review_id,) if attempt < 3 else (), failed=() if attempt < 3 else (1,)
        )
    review = read(database, review_id)
    assert (review.state, review.finished_at) == (ReviewState.FAILED, after(361))
    assert "3 times" in review.reason
    assert untold(database, after(400), 15) == [review_id]


def test_a_sweep_does_not_wait_for_rows_that_others_hold(postgres_url):
    database = open_database(postgres_url)
    held = claimed_review(database)
    free = claimed_review(database, new_review(ref=OTHER_PR))
    with database.transaction() as connection:
        withdraw(connection, PR, "closed", after(61))
        swept: list[Expired] = []
        thread = threading.Thread(target=lambda: swept.append(expire_leases(database, after(61), 3)))
        thread.start()
        thread.join(5)
        assert swept == [Expired(requeued=(free.review_id,), failed=())]
    assert read(database, held.review_id).state is ReviewState.SKIPPED
    database.close()


def test_old_reviews_in_low_move_to_high_and_are_published_there(database):
    old = queue_review(database, new_review(queue="low")).review_id
    young = queue_review(database, new_review(head_sha=NEWER, queue="low", received_at=after(60))).review_id
    running = claimed_review(database, new_review(head_sha="c" * 40, queue="low"))
    mark_published(database, [old, young], after(60))
    assert promote_old(database, after(601), 600) == [old]
    assert promote_old(database, after(601), 600) == []
    assert due_for_publish(database, after(601), 900) == [(old, "high")]
    assert [read(database, each).queue for each in (young, running.review_id)] == ["low", "low"]


def test_h3_an_end_that_the_author_does_not_see_is_listed_until_told(database):
    claimed = claimed_review(database)
    end(database, claimed, ReviewState.FAILED, now=after(10))
    assert untold(database, after(25), 15) == []
    assert untold(database, after(26), 15) == [claimed.review_id]
    mark_told(database, [claimed.review_id], after(27))
    assert untold(database, after(28), 15) == []
    assert read(database, claimed.review_id).told_at == after(27)


def test_h3_superseded_and_withdrawn_reviews_are_listed_if_they_left_a_trace(database):
    claimed = claimed_review(database)
    set_status_id(database, claimed, "status-1")
    with database.transaction() as connection:
        waiting = enqueue(connection, new_review(head_sha=NEWER))
        supersede_older(connection, PR, NEWER, after(1))
        withdraw(connection, PR, "closed", after(2))
    assert untold(database, after(60), 15) == [claimed.review_id]
    assert read(database, waiting.review_id).state is ReviewState.SKIPPED


def test_h3_a_mark_is_remembered_when_its_review_is_queued_again(database):
    claimed = claimed_review(database)
    set_status_id(database, claimed, "status-1")
    end(database, claimed, ReviewState.SUPERSEDED)
    assert queue_review(database).outcome == "requeued"
    with database.transaction() as connection:
        withdraw(connection, PR, "closed", after(2))
    assert untold(database, after(60), 15) == [claimed.review_id]


def test_telling_does_not_mark_a_review_that_was_queued_again_meanwhile(database):
    claimed = claimed_review(database)
    end(database, claimed, ReviewState.FAILED)
    queue_review(database)
    mark_told(database, [claimed.review_id], after(5))
    mark_told(database, [], after(5))
    assert read(database, claimed.review_id).told_at is None


def test_purge_deletes_what_is_old_and_keeps_what_tells_a_duplicate(database):
    call = LlmCall(
        chunk=0, attempt=1, model="coder", priority=0, started_at=T0, ttft_ms=1, total_ms=2, prompt_tokens=1,
        cached_tokens=0, completion_tokens=1, tokens_per_s=None, finish_reason="stop", outcome="ok", error="",
        cache_hit=False,
    )  # fmt: skip
    ended = []
    for head, days in ((HEAD, 0), (NEWER, 5)):
        claimed = claimed_review(database, new_review(head_sha=head))
        save_result(database, claimed, "{}", [new_finding()])
        record_llm_call(database, claimed.review_id, replace(call, started_at=after(days * DAY)))
        end(database, claimed, now=after(days * DAY))
        ended.append(claimed)
    old, young = ended
    unfinished = claimed_review(database, new_review(head_sha="c" * 40))
    save_result(database, unfinished, "{}", [])
    assert purge(database, after(9 * DAY), retention_days=5) == Purged(payloads=0, llm_calls=1, results=1)
    assert purge(database, after(9 * DAY), retention_days=5) == Purged(payloads=0, llm_calls=0, results=0)
    results = [read(database, each.review_id).result for each in (old, young, unfinished)]
    assert results == [None, "{}", "{}"]
    assert [len(list_llm_calls(database, each.review_id)) for each in (old, young)] == [0, 1]
    assert len(load_findings(database, old.review_id)) == 1
    assert queue_review(database).outcome == "already_reviewed"


def test_purge_takes_as_many_steps_as_it_needs(database):
    claimed = claimed_review(database)
    call = {
        "review_id": claimed.review_id, "chunk": 0, "attempt": 1, "model": "", "priority": 0, "total_ms": 1.0,
        "prompt_tokens": 0, "cached_tokens": 0, "completion_tokens": 0, "finish_reason": "", "outcome": "",
        "error": "", "cache_hit": False, "started_at": T0,
    }  # fmt: skip
    with database.transaction() as connection:
        connection.execute(llm_call.insert(), [call] * (2 * BATCH + 1))
    assert purge(database, after(DAY), 0.5).llm_calls == 2 * BATCH + 1


def test_marking_takes_any_number_of_ids(database):
    with database.transaction() as connection:
        ids = [enqueue(connection, new_review(head_sha=f"{n:040}")).review_id for n in range(BATCH + 1)]
    mark_published(database, ids, after(1))
    assert due_for_publish(database, after(2), 900) == []
