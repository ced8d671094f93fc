"""Requests to the engine, one row each, to look up what a review cost and where it was slow."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection, insert, select

from bot.db.engine import Database
from bot.db.tables import llm_call


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmCall:
    """One request to the engine; durations in milliseconds.

    `chunk` counts the review's questions from 0, `attempt` the tries of the review from 1. `outcome` is a
    word such as `answered`, `error` says what went wrong and is empty otherwise.
    """

    chunk: int
    attempt: int
    model: str
    priority: int
    started_at: datetime
    ttft_ms: float | None
    total_ms: float
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    tokens_per_s: float | None
    finish_reason: str
    outcome: str
    error: str
    cache_hit: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CallTotals:
    """What several requests cost together; `llm_ms` leaves out the time between two tries of the review."""

    model: str
    chunks: int
    llm_calls: int
    cache_hits: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    ttft_ms: float | None
    llm_ms: float | None
    tokens_per_s: float | None


def record_llm_call(db: Database, review_id: int, call: LlmCall) -> None:
    """Store one request of a review."""
    with db.transaction() as connection:
        connection.execute(insert(llm_call), {"review_id": review_id, **asdict(call)})


def list_llm_calls(db: Database, review_id: int) -> list[LlmCall]:
    """List the requests of a review in the order in which they ended."""
    with db.reading() as connection:
        return _read_calls(connection, review_id)


def sum_calls(connection: Connection, review_id: int, since: datetime) -> CallTotals:
    """Sum up what a review has asked since a time: a review that is queued again keeps its old requests."""
    calls = [call for call in _read_calls(connection, review_id) if call.started_at >= since]
    return CallTotals(
        model=next((call.model for call in calls if call.model), ""),
        chunks=len({call.chunk for call in calls}),
        llm_calls=len(calls),
        cache_hits=sum(call.cache_hit for call in calls),
        prompt_tokens=sum(call.prompt_tokens for call in calls),
        cached_tokens=sum(call.cached_tokens for call in calls),
        completion_tokens=sum(call.completion_tokens for call in calls),
        ttft_ms=next((call.ttft_ms for call in calls if call.ttft_ms is not None), None),
        llm_ms=_llm_ms(calls),
        tokens_per_s=_tokens_per_s(calls),
    )


def _read_calls(connection: Connection, review_id: int) -> list[LlmCall]:
    statement = select(llm_call).where(llm_call.c.review_id == review_id).order_by(llm_call.c.id)
    rows = [dict(row) for row in connection.execute(statement).mappings()]
    for row in rows:
        del row["id"], row["review_id"]
    return [LlmCall(**row) for row in rows]


def _llm_ms(calls: Sequence[LlmCall]) -> float | None:
    """Add up, over the tries, the time from the first question to the last answer."""
    tries: defaultdict[int, list[LlmCall]] = defaultdict(list)
    for call in calls:
        tries[call.attempt].append(call)
    spans = (
        max(call.started_at + timedelta(milliseconds=call.total_ms) for call in group)
        - min(call.started_at for call in group)
        for group in tries.values()
    )
    return sum(span.total_seconds() for span in spans) * 1000 if tries else None


def _tokens_per_s(calls: Sequence[LlmCall]) -> float | None:
    """Divide the tokens after each answer's first one by the time that they took."""
    measured = [(call.completion_tokens - 1, call.tokens_per_s) for call in calls if call.tokens_per_s]
    seconds = sum(tokens / speed for tokens, speed in measured)
    return sum(tokens for tokens, _ in measured) / seconds if seconds else None
