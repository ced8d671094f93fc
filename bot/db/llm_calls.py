"""Requests to the engine, one row each, to look up what a review cost and where it was slow."""

from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import insert, select

from bot.db.engine import Database
from bot.db.tables import llm_call


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmCall:
    """One request to the engine; durations in milliseconds.

    `chunk` counts the review's questions from 0, `attempt` the tries of one of them from 1. `outcome` is a
    word such as `ok`, `error` says what went wrong and is empty otherwise.
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


def record_llm_call(db: Database, review_id: int, call: LlmCall) -> None:
    """Store one request of a review."""
    with db.transaction() as connection:
        connection.execute(insert(llm_call), {"review_id": review_id, **asdict(call)})


def list_llm_calls(db: Database, review_id: int) -> list[LlmCall]:
    """List the requests of a review in the order in which they ended."""
    statement = select(llm_call).where(llm_call.c.review_id == review_id).order_by(llm_call.c.id)
    with db.reading() as connection:
        rows = [dict(row) for row in connection.execute(statement).mappings()]
    for row in rows:
        del row["id"], row["review_id"]
    return [LlmCall(**row) for row in rows]
