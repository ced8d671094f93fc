"""What a finished review cost, as the rows that are queried later."""

from datetime import datetime, timedelta

from bot.db import llm_calls
from bot.db.claims import ClaimedReview
from bot.db.latency import LatencyRecord
from bot.db.tables import ReviewState
from bot.review.result import LlmCall, Published, ReviewResult


def latency_record(
    claimed: ClaimedReview,
    *,
    queue: str,
    result: ReviewResult,
    published: Published,
    wait_ms: float,
    total_ms: float,
    now: datetime,
) -> LatencyRecord:
    """Build the latency row of a review that is done."""
    return LatencyRecord(
        review_id=claimed.review_id,
        finished_at=now,
        forge=claimed.ref.forge,
        repository=claimed.ref.repository,
        number=claimed.ref.number,
        head_sha=result.head_sha,
        trigger=claimed.trigger,
        queue=queue,
        model=result.model,
        outcome=ReviewState.DONE,
        received_at=claimed.received_at,
        estimated_tokens=result.estimated_tokens,
        prompt_tokens=result.prompt_tokens,
        cached_tokens=result.cached_tokens,
        completion_tokens=result.completion_tokens,
        files=len(result.coverage),
        chunks=result.chunks,
        llm_calls=result.llm_calls,
        cache_hits=0,
        truncated=result.truncated,
        findings=len(result.findings),
        posted=published.posted,
        wait_ms=wait_ms,
        fetch_ms=result.fetch_ms,
        clean_ms=result.clean_ms,
        ttft_ms=result.ttft_ms,
        llm_ms=result.llm_ms if result.llm_calls else None,
        tokens_per_s=result.tokens_per_s,
        publish_ms=published.publish_ms,
        total_ms=total_ms,
    )


def call_record(call: LlmCall, attempt: int, now: datetime) -> llm_calls.LlmCall:
    """Build the row of one request to the engine; `now` is when the request has ended."""
    return llm_calls.LlmCall(
        chunk=call.chunk,
        attempt=attempt,
        model=call.model,
        priority=call.priority,
        started_at=now - timedelta(milliseconds=call.total_ms),
        ttft_ms=call.ttft_ms,
        total_ms=call.total_ms,
        prompt_tokens=call.prompt_tokens,
        cached_tokens=call.cached_tokens,
        completion_tokens=call.completion_tokens,
        tokens_per_s=call.tokens_per_s,
        finish_reason=call.finish_reason,
        outcome=call.outcome,
        error=call.error,
        cache_hit=False,
    )
