"""bot.db.failures: every review that failed has one latency row, with what it cost until then."""

from bot.db.claims import finish, requeue
from bot.db.latency import list_latency
from bot.db.llm_calls import LlmCall, record_llm_call
from bot.db.sweeping import expire_leases
from bot.db.tables import ReviewState
from tests.unit.db.builders import after, claim_review, claimed_review, new_review, queue_review


def call(at, attempt=1, chunk=0, **values):
    defaults = {
        "model": "coder", "priority": 0, "ttft_ms": 100.0, "total_ms": 1000.0, "prompt_tokens": 500,
        "cached_tokens": 200, "completion_tokens": 11, "tokens_per_s": 20.0, "finish_reason": "stop",
        "outcome": "answered", "error": "", "cache_hit": False,
    }  # fmt: skip
    return LlmCall(chunk=chunk, attempt=attempt, started_at=after(at), **(defaults | values))


def fail(database, claimed, now):
    return finish(
        database, claimed, state=ReviewState.FAILED, reason="engine away", now=after(now), latency=None
    )


def test_the_row_sums_up_all_tries_but_not_the_time_between_them(database):
    claimed = claimed_review(database)
    record_llm_call(database, claimed.review_id, call(10, ttft_ms=None, model="", tokens_per_s=None))
    requeue(database, claimed, now=after(20), reason="")
    claimed = claim_review(database, claimed.review_id, after(600))
    record_llm_call(database, claimed.review_id, call(601, attempt=2, chunk=0))
    record_llm_call(database, claimed.review_id, call(602, attempt=2, chunk=1, tokens_per_s=10.0))
    assert fail(database, claimed, 700)
    assert not fail(database, claimed, 701)

    ((_, row),) = list_latency(database)
    assert (row.outcome, row.model, row.chunks, row.llm_calls) == ("failed", "coder", 2, 3)
    assert (row.prompt_tokens, row.cached_tokens, row.completion_tokens) == (1500, 600, 33)
    assert (row.ttft_ms, row.llm_ms) == (100.0, 3000.0)
    assert row.tokens_per_s == 20 / 1.5
    assert (row.wait_ms, row.total_ms) == (600_000.0, 700_000.0)


def test_what_the_review_asked_before_it_was_queued_again_is_in_its_earlier_row(database):
    claimed = claimed_review(database)
    record_llm_call(database, claimed.review_id, call(10))
    fail(database, claimed, 20)
    queue_review(database, new_review(received_at=after(100)))
    claimed = claim_review(database, claimed.review_id, after(101))
    fail(database, claimed, 110)
    assert [row.llm_calls for _, row in list_latency(database)] == [0, 1]
    assert [row.llm_ms for _, row in list_latency(database)] == [None, 1000.0]


def test_a_review_that_the_sweeper_gives_up_has_its_row_too(database):
    claimed = claimed_review(database)
    record_llm_call(database, claimed.review_id, call(10))
    assert expire_leases(database, after(61), max_attempts=1).failed == (claimed.review_id,)
    assert not fail(database, claimed, 62), "the worker was only slow"
    ((_, row),) = list_latency(database)
    assert (row.outcome, row.llm_calls, row.total_ms) == ("failed", 1, 61_000.0)
