"""The latency table for people and programs: the same figures in the terminal, on the page, as CSV and as JSON."""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, get_args

from bot.db.engine import Database
from bot.db.latency import GroupBy, LatencySummary, Percentiles, summarise
from bot.timespan import format_duration, parse_timespan

GROUPS: Final[tuple[GroupBy, ...]] = get_args(GroupBy)

# Measures in the order of a review's way, with what people call them.
MEASURES: Final = {
    "wait_ms": "wait",
    "fetch_ms": "fetch",
    "clean_ms": "clean",
    "ttft_ms": "first token",
    "llm_ms": "model",
    "publish_ms": "publish",
    "total_ms": "total",
    "tokens_per_s": "tokens/s",
}
_SUMS: Final = (
    "prompt_tokens",
    "cached_tokens",
    "completion_tokens",
    "llm_calls",
    "cache_hits",
    "findings",
    "posted",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRow:
    """One measure of one group as text; `key` and `reviews` are empty but on the group's first row."""

    key: str
    reviews: str
    measure: str
    p50: str
    p95: str
    p99: str


def make_report(database: Database, *, since: str, by: str) -> list[LatencySummary]:
    """Summarise the finished reviews since a time span ago, grouped by a column or not ("").

    Raises ValueError with a sentence for a span or group that cannot be read, and DatabaseError.
    """
    start = datetime.now(UTC) - parse_timespan(since) if since else None
    group = next((name for name in GROUPS if name == by), None)
    if by and group is None:
        raise ValueError(f"{by!r} is nothing to group by: choose {', '.join(GROUPS)}")
    return summarise(database, since=start, by=group)


def report_rows(summaries: Sequence[LatencySummary]) -> Iterator[ReportRow]:
    """Lay the figures out for people, leaving out measures that no review has."""
    for summary in summaries:
        key, reviews = summary.key or "all", f"{summary.count:,}"
        for name, label in MEASURES.items():
            percentiles = summary.measures[name]
            if percentiles.p50 is None:
                continue
            p50, p95, p99 = (_figure(name, value) for value in _values(percentiles))
            yield ReportRow(key=key, reviews=reviews, measure=label, p50=p50, p95=p95, p99=p99)
            key = reviews = ""


def report_json(summaries: Sequence[LatencySummary]) -> list[dict[str, object]]:
    """Lay the figures out for programs; times in milliseconds, null where no review has the measure."""
    return [
        {
            "key": summary.key,
            "reviews": summary.count,
            **{
                name: dict(zip(("p50", "p95", "p99"), _values(summary.measures[name]), strict=True))
                for name in MEASURES
            },
            **{name: getattr(summary, name) for name in _SUMS},
        }
        for summary in summaries
    ]


def report_csv(summaries: Sequence[LatencySummary]) -> str:
    """Lay the figures out as CSV with one line a group; columns such as `ttft_ms_p95`."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        ["key", "reviews", *(f"{name}_{p}" for name in MEASURES for p in ("p50", "p95", "p99")), *_SUMS]
    )
    for summary in summaries:
        figures = [
            "" if value is None else f"{value:.3f}"
            for name in MEASURES
            for value in _values(summary.measures[name])
        ]
        # A repository's name could be read as a formula by a spreadsheet.
        key = f"'{summary.key}" if summary.key[:1] in ("=", "+", "-", "@") else summary.key
        writer.writerow([key, summary.count, *figures, *(getattr(summary, name) for name in _SUMS)])
    return text.getvalue()


def _values(percentiles: Percentiles) -> tuple[float | None, float | None, float | None]:
    return percentiles.p50, percentiles.p95, percentiles.p99


def _figure(name: str, value: float | None) -> str:
    if value is None:
        return ""
    return format_duration(value) if name.endswith("_ms") else f"{value:.1f}"
