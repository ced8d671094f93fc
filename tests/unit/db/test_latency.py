"""bot.db.latency: the wide row, and percentiles that both databases agree on."""

import statistics
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete

from bot.db.engine import open_database
from bot.db.latency import (
    MEASURES,
    LatencyRecord,
    Percentiles,
    insert_latency,
    interpolate,
    list_latency,
    summarise,
)
from bot.db.tables import latency
from tests.unit.db.builders import T0, after, latency_record


def store(database, *records):
    with database.transaction() as connection:
        for record in records:
            insert_latency(connection, record)


def test_a_row_comes_back_as_it_was_stored(database):
    record = latency_record(3, after(5), ttft_ms=None, truncated=True, received_at=after(-5))
    store(database, record)
    assert [each for _, each in list_latency(database)] == [record]


def test_the_record_is_the_table():
    assert {"id", *LatencyRecord.__slots__} == set(latency.c.keys())


def test_rows_are_listed_newest_first_since_a_time_and_by_page(database):
    store(database, *(latency_record(n, after(n)) for n in range(4)))
    ids = [row_id for row_id, _ in list_latency(database)]
    assert ids == sorted(ids, reverse=True)
    assert [each.review_id for _, each in list_latency(database, since=after(2))] == [3, 2]
    assert [each.review_id for _, each in list_latency(database, before_id=ids[1], limit=1)] == [1]


def test_no_rows_no_summary(database):
    assert summarise(database, since=None) == []
    assert summarise(database, since=None, by="queue") == []


def test_percentiles_of_known_values(database):
    store(database, *(latency_record(n, total_ms=float(n)) for n in range(1, 101)))
    (summary,) = summarise(database, since=None)
    assert (summary.key, summary.count) == ("", 100)
    found = summary.measures["total_ms"]
    assert (found.p50, found.p95, found.p99) == pytest.approx((50.5, 95.05, 99.01))


def test_missing_measures_are_ignored_not_counted_as_zero(database):
    store(
        database,
        latency_record(1, ttft_ms=100.0, llm_ms=None),
        latency_record(2, ttft_ms=None, llm_ms=None),
        latency_record(3, ttft_ms=300.0, llm_ms=None),
    )
    (summary,) = summarise(database, since=None)
    assert summary.measures["ttft_ms"].p50 == 200.0
    assert summary.measures["llm_ms"] == Percentiles(p50=None, p95=None, p99=None)


def test_groups_by_queue_repository_model_and_day(database):
    store(
        database,
        latency_record(1, T0, queue="high", repository="team/b", model="coder"),
        latency_record(2, T0 + timedelta(hours=11, minutes=59), queue="low", repository="team/a", model=""),
        latency_record(3, T0 + timedelta(hours=12), queue="high", repository="team/b", model="coder"),
    )

    def groups(by):
        return {summary.key: summary.count for summary in summarise(database, since=None, by=by)}

    assert groups("queue") == {"high": 2, "low": 1}
    assert groups("repository") == {"team/a": 1, "team/b": 2}
    assert groups("model") == {"": 1, "coder": 2}
    assert groups("day") == {"2026-11-30": 2, "2026-12-01": 1}
    assert [each.key for each in summarise(database, since=None, by="repository")] == ["team/a", "team/b"]


def test_filters_and_time_range(database):
    store(
        database,
        latency_record(1, after(0), queue="high", repository="team/a", model="m1"),
        latency_record(2, after(10), queue="low", repository="team/b", model="m2"),
        latency_record(3, after(20), queue="low", repository="team/a", model="m2"),
    )

    def count(**filters):
        return sum(each.count for each in summarise(database, **({"since": None} | filters)))

    assert count() == 3
    assert count(since=after(10)) == 2
    assert count(since=after(10), until=after(20)) == 1
    assert (count(queue="low"), count(repository="team/a"), count(model="m2")) == (2, 2, 2)
    assert count(queue="low", repository="team/a") == 1


def test_sums_and_the_cached_part(database):
    store(
        database,
        latency_record(1, prompt_tokens=1000, cached_tokens=750, completion_tokens=10, findings=2, posted=1),
        latency_record(
            2, prompt_tokens=1000, cached_tokens=0, completion_tokens=5, llm_calls=7, cache_hits=3
        ),
    )
    (summary,) = summarise(database, since=None)
    assert (summary.prompt_tokens, summary.cached_tokens, summary.completion_tokens) == (2000, 750, 15)
    assert (summary.llm_calls, summary.cache_hits, summary.findings, summary.posted) == (9, 3, 3, 2)
    assert summary.cached_ratio == 0.375
    assert replace(summary, prompt_tokens=0).cached_ratio is None


@given(st.lists(st.floats(min_value=0, max_value=1e9), min_size=2, max_size=200))
def test_interpolation_is_the_inclusive_method_of_the_standard_library(values):
    cuts = statistics.quantiles(values, n=100, method="inclusive")
    for quantile in (0.5, 0.95, 0.99):
        expected = cuts[round(quantile * 100) - 1]
        assert interpolate(sorted(values), quantile) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_interpolation_of_one_value_and_of_none():
    assert interpolate([7.5], 0.99) == 7.5
    assert interpolate([], 0.5) is None


@pytest.fixture
def both_databases(sqlite_url, postgres_url):
    opened = [open_database(sqlite_url), open_database(postgres_url)]
    yield opened
    for each in opened:
        each.close()


_MILLISECONDS = st.none() | st.floats(min_value=0, max_value=1e7, allow_nan=False)
_ROWS = st.lists(
    st.builds(
        latency_record,
        finished_at=st.integers(0, 3 * 86_400).map(after),
        queue=st.sampled_from(["high", "low"]),
        repository=st.sampled_from(["team/app", "team/ü", "Team/App"]),
        model=st.sampled_from(["", "coder"]),
        prompt_tokens=st.integers(0, 100_000),
        **dict.fromkeys(MEASURES, _MILLISECONDS),
    ),
    max_size=25,
)


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(rows=_ROWS, by=st.sampled_from([None, "queue", "repository", "model", "day"]))
def test_sqlite_and_postgres_agree(both_databases, rows, by):
    answers = []
    for database in both_databases:
        with database.transaction() as connection:
            connection.execute(delete(latency))
        store(database, *rows)
        answers.append(summarise(database, since=after(100), by=by))
    assert answers[0] == answers[1]
