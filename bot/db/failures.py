"""The latency row of a review that failed: without a result, its numbers are those of its requests to the engine."""

from datetime import datetime

from sqlalchemy import Connection

from bot.db.latency import LatencyRecord, insert_latency
from bot.db.llm_calls import sum_calls
from bot.db.lookups import Review


def insert_failure(connection: Connection, failed: Review, now: datetime) -> None:
    """Store the latency row of a review that has just ended as failed, in the transaction that ends it."""
    calls = sum_calls(connection, failed.review_id, since=failed.received_at)
    claimed_at = failed.claimed_at or now
    record = LatencyRecord(
        review_id=failed.review_id,
        finished_at=now,
        forge=failed.ref.forge,
        repository=failed.ref.repository,
        number=failed.ref.number,
        head_sha=failed.head_sha,
        trigger=failed.trigger,
        queue=failed.queue,
        model=calls.model,
        outcome=failed.state,
        received_at=failed.received_at,
        estimated_tokens=failed.estimated_tokens,
        prompt_tokens=calls.prompt_tokens,
        cached_tokens=calls.cached_tokens,
        completion_tokens=calls.completion_tokens,
        files=0,
        chunks=calls.chunks,
        llm_calls=calls.llm_calls,
        cache_hits=calls.cache_hits,
        truncated=False,
        findings=0,
        posted=0,
        wait_ms=_ms_between(failed.received_at, claimed_at),
        fetch_ms=None,
        clean_ms=None,
        ttft_ms=calls.ttft_ms,
        llm_ms=calls.llm_ms,
        tokens_per_s=calls.tokens_per_s,
        publish_ms=None,
        # By the clock on the wall: the process that failed may be gone, and its own clock with it.
        total_ms=_ms_between(failed.received_at, now),
    )
    insert_latency(connection, record)


def _ms_between(earlier: datetime, later: datetime) -> float:
    return (later - earlier).total_seconds() * 1000
