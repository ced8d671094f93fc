"""Where the time went: one wide row per finished review, and percentiles over them.

Postgres computes the percentiles itself. SQLite has no function for it, so the rows are read and the same
interpolation is done here; both give the same numbers.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from math import ceil, floor
from typing import Any, Final, Literal

from sqlalchemy import ColumnElement, Connection, Row, func, insert, literal, select

from bot.db.engine import Database
from bot.db.tables import latency

GroupBy = Literal["queue", "repository", "model", "day"]

MEASURES: Final = (
    "wait_ms", "fetch_ms", "clean_ms", "ttft_ms", "llm_ms", "publish_ms", "total_ms", "tokens_per_s",
)  # fmt: skip
QUANTILES: Final = (0.5, 0.95, 0.99)
_SUMS: Final = (
    "prompt_tokens", "cached_tokens", "completion_tokens", "llm_calls", "cache_hits", "findings", "posted",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyRecord:
    """The latency row of one finished review; durations in milliseconds, None for a step that did not happen.

    `wait_ms` is from received to claimed, `ttft_ms` the first call's time to first token, `outcome` the final
    state, `findings` what the model found and `posted` what became a comment.
    """

    review_id: int
    finished_at: datetime
    forge: str
    repository: str
    number: int
    head_sha: str
    trigger: str
    queue: str
    model: str
    outcome: str
    received_at: datetime
    estimated_tokens: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    files: int
    chunks: int
    llm_calls: int
    cache_hits: int
    truncated: bool
    findings: int
    posted: int
    wait_ms: float | None
    fetch_ms: float | None
    clean_ms: float | None
    ttft_ms: float | None
    llm_ms: float | None
    tokens_per_s: float | None
    publish_ms: float | None
    total_ms: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Percentiles:
    """Three percentiles of one measure, in its unit; None where no review has the measure."""

    p50: float | None
    p95: float | None
    p99: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencySummary:
    """Percentiles and sums over a group of reviews.

    `key` is the queue, repository, model or day (as 2026-11-30, UTC), and empty for all reviews together.
    `cached_ratio` is the part of the prompt tokens that the engine had cached.
    """

    key: str
    count: int
    measures: Mapping[str, Percentiles]
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    llm_calls: int
    cache_hits: int
    findings: int
    posted: int

    @property
    def cached_ratio(self) -> float | None:
        """Give cached prompt tokens per prompt token, None without any."""
        return self.cached_tokens / self.prompt_tokens if self.prompt_tokens else None


def insert_latency(connection: Connection, record: LatencyRecord) -> None:
    """Store the row; normally by `claims.finish`, together with the review's final state."""
    connection.execute(insert(latency), asdict(record))


def list_latency(
    db: Database, *, since: datetime | None = None, before_id: int | None = None, limit: int = 1000
) -> list[tuple[int, LatencyRecord]]:
    """List rows with their ids, newest first; `before_id` continues after a page."""
    statement = select(latency).order_by(latency.c.id.desc()).limit(limit)
    if since is not None:
        statement = statement.where(latency.c.finished_at >= since)
    if before_id is not None:
        statement = statement.where(latency.c.id < before_id)
    with db.reading() as connection:
        rows = [dict(row) for row in connection.execute(statement).mappings()]
    return [(row.pop("id"), LatencyRecord(**row)) for row in rows]


def summarise(
    db: Database,
    *,
    since: datetime | None,
    by: GroupBy | None = None,
    until: datetime | None = None,
    queue: str | None = None,
    repository: str | None = None,
    model: str | None = None,
) -> list[LatencySummary]:
    """Compute percentiles of the reviews that finished in [since, until), a group per row, ordered by key.

    Without a single review the list is empty.
    """
    conditions = [
        column == value
        for column, value in (
            (latency.c.queue, queue),
            (latency.c.repository, repository),
            (latency.c.model, model),
        )
        if value is not None
    ]
    if since is not None:
        conditions.append(latency.c.finished_at >= since)
    if until is not None:
        conditions.append(latency.c.finished_at < until)
    compute = _summarise_in_postgres if db.dialect == "postgresql" else _summarise_in_python
    with db.reading() as connection:
        return sorted(compute(connection, conditions, by), key=lambda summary: summary.key)


def _summarise_in_postgres(
    connection: Connection, conditions: Sequence[ColumnElement[bool]], by: GroupBy | None
) -> list[LatencySummary]:
    key = _postgres_key(by).label("key")
    percentiles = [
        func.percentile_cont(list(QUANTILES)).within_group(latency.c[name]).label(name) for name in MEASURES
    ]
    sums = [func.sum(latency.c[name]).label(name) for name in _SUMS]
    statement = (
        select(key, func.count().label("count"), *percentiles, *sums).where(*conditions).group_by("key")
    )
    return [
        LatencySummary(
            key=row["key"],
            count=row["count"],
            measures={name: _percentiles(row[name] or (None, None, None)) for name in MEASURES},
            **{name: row[name] for name in _SUMS},
        )
        for row in connection.execute(statement).mappings()
    ]


def _postgres_key(by: GroupBy | None) -> ColumnElement[str]:
    if by is None:
        return literal("")
    if by == "day":
        return func.to_char(func.timezone("UTC", latency.c.finished_at), "YYYY-MM-DD")
    return latency.c[by]


def _summarise_in_python(
    connection: Connection, conditions: Sequence[ColumnElement[bool]], by: GroupBy | None
) -> list[LatencySummary]:
    key = literal("") if by is None else latency.c.finished_at if by == "day" else latency.c[by]
    columns = [latency.c[name] for name in (*MEASURES, *_SUMS)]
    groups: defaultdict[str, list[Row[Any]]] = defaultdict(list)
    for row in connection.execute(select(key, *columns).where(*conditions)):
        groups[row[0].date().isoformat() if by == "day" else row[0]].append(row)
    return [_summarise_rows(name, rows) for name, rows in groups.items()]


def _summarise_rows(key: str, rows: Sequence[Row[Any]]) -> LatencySummary:
    _, *columns = zip(*rows, strict=True)
    by_name = dict(zip((*MEASURES, *_SUMS), columns, strict=True))
    return LatencySummary(
        key=key,
        count=len(rows),
        measures={
            name: _percentiles([interpolate(ordered, quantile) for quantile in QUANTILES])
            for name in MEASURES
            for ordered in [sorted(value for value in by_name[name] if value is not None)]
        },
        **{name: sum(by_name[name]) for name in _SUMS},
    )


def _percentiles(values: Sequence[float | None]) -> Percentiles:
    p50, p95, p99 = values
    return Percentiles(p50=p50, p95=p95, p99=p99)


def interpolate(ordered: Sequence[float], quantile: float) -> float | None:
    """Interpolate a quantile between the two nearest values, as `percentile_cont` of Postgres does.

    https://www.postgresql.org/docs/current/functions-aggregate.html#FUNCTIONS-ORDEREDSET-TABLE
    """
    if not ordered:
        return None
    position = quantile * (len(ordered) - 1)
    low, high = ordered[floor(position)], ordered[ceil(position)]
    return low + (position - floor(position)) * (high - low)
