"""What a finished review cost, as the rows that are queried later."""

from datetime import datetime, timedelta

from bot.db import llm_calls
from bot.db.claims import ClaimedReview
from bot.db.latency import LatencyRecord
from bot.db.tables import ReviewState
from bot.review.result import LlmCall, Published, ReviewResult

_MEASURED = (ReviewState.DONE, ReviewState.FAILED)


def latency_record(
    claimed: ClaimedReview,
    *,
    state: ReviewState,
    queue: str,
    head_sha: str,
    result: ReviewResult | None,
    published: Published | None,
    wait_ms: float,
    total_ms: float,
    now: datetime,
) -> LatencyRecord | None:
    """Build the latency row of a review that was worked on to an end; None for one that was called off."""
    if state not in _MEASURED:
        return None
    found = result.findings if result else ()
    return LatencyRecord(
        review_id=claimed.review_id,
        finished_at=now,
        forge=claimed.ref.forge,
        repository=claimed.ref.repository,
        number=claimed.ref.number,
        head_sha=head_sha,
        trigger=claimed.trigger,
        queue=queue,
        model=result.model if result else "",
        outcome=state,
        received_at=claimed.received_at,
        estimated_tokens=result.estimated_tokens if result else claimed.estimated_tokens,
        prompt_tokens=result.prompt_tokens if result else 0,
        cached_tokens=result.cached_tokens if result else 0,
        completion_tokens=result.completion_tokens if result else 0,
        files=len(result.coverage) if result else 0,
        chunks=result.chunks if result else 0,
        llm_calls=result.llm_calls if result else 0,
        cache_hits=0,
        truncated=result.truncated if result else False,
        findings=len(found),
        posted=published.posted if published else 0,
        wait_ms=wait_ms,
        fetch_ms=result.fetch_ms if result else None,
        clean_ms=result.clean_ms if result else None,
        ttft_ms=result.ttft_ms if result else None,
        llm_ms=result.llm_ms if result and result.llm_calls else None,
        tokens_per_s=result.tokens_per_s if result else None,
        publish_ms=published.publish_ms if published else None,
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
