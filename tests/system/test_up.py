"""`redline up` with real processes: gunicorn, Celery workers on a real broker, the sweeper, a real database."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from redis import Redis

from bot.embedded import socket_path
from tests.system.stack import Stack
from tests.world import ADMIN_TOKEN, UNSAFE_APP, finding

on_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
on_postgres = pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
pytestmark = [pytest.mark.system, pytest.mark.timeout(120)]


@pytest.fixture
def stack(tmp_path: Path, database_url: str) -> Iterator[Stack]:
    """Run everything, on SQLite and on Postgres unless the test chooses one."""
    stack = Stack(tmp_path, REDLINE_DATABASE_URL=database_url)
    try:
        stack.start()
        yield stack
    finally:
        stack.close()


@on_sqlite
def test_reviews_a_pull_request_end_to_end(stack: Stack) -> None:
    stack.llm.answer_with(lambda _request: [finding()])
    number = stack.open_pull_request({"app.py": UNSAFE_APP})
    stack.wait_for_end(number)

    pull = stack.pull(number)
    assert [(each.path, each.line) for each in pull.comments] == [("app.py", 6)]
    (group,) = httpx.get(
        f"http://127.0.0.1:{stack.port}/admin/latency.json",
        headers={"Authorization": f"Bearer {ADMIN_TOKEN}"},
    ).json()
    assert group["reviews"] == 1
    assert group["ttft_ms"]["p50"] > 0
    assert stack.stop() == 0


@on_postgres
def test_long_reviews_go_to_low_with_a_later_priority(stack: Stack) -> None:
    """The webhook's estimate sends one to `low`; the cleaned diff of the other moves it there."""
    long_source = "".join(f"value_{number} = compute_something_of({number}) + 1\n" for number in range(500))
    short = stack.open_pull_request({"app.py": UNSAFE_APP}, "short")
    long = stack.open_pull_request({"long.py": long_source}, "long")
    wide = stack.open_pull_request({"wide.py": "".join(f"{'x' * 240} = {n}\n" for n in range(60))}, "wide")
    for number in (short, long, wide):
        stack.wait_for_end(number, 60)

    priorities: dict[str, set[int]] = {}
    for request in stack.llm.requests:
        name = next(name for name in ("app.py", "long.py", "wide.py") if name in request.prompt)
        priorities.setdefault(name, set()).add(request.priority)
    assert priorities == {"app.py": {0}, "long.py": {10}, "wide.py": {10}}
    groups = httpx.get(
        f"http://127.0.0.1:{stack.port}/admin/latency.json?by=queue",
        headers={"Authorization": f"Bearer {ADMIN_TOKEN}"},
    ).json()
    assert {group["key"]: group["reviews"] for group in groups} == {"high": 1, "low": 2}


@on_sqlite
def test_everything_killed_in_the_middle_loses_and_repeats_nothing(stack: Stack) -> None:
    """kill -9 of every process while the model is answering; the next start finishes the review, once."""
    stack.llm.answer_with(lambda _request: [finding()])
    stack.llm.hang(after_chunks=2)
    number = stack.open_pull_request({"app.py": UNSAFE_APP})
    stack.wait_for(lambda: stack.llm.requests, "the first question")
    for name in stack.pids():
        stack.kill(name)
    assert stack.process
    stack.process.wait(timeout=30)
    stack.log.write_text("")

    stack.start()
    stack.wait_for_end(number, 60)
    pull = stack.pull(number)
    assert [(each.path, each.line) for each in pull.comments] == [("app.py", 6)]
    assert len(pull.reviews) == 1
    assert len(pull.conversation) == 1


@on_postgres
def test_a_restart_waits_for_no_engine(stack: Stack) -> None:
    """SIGTERM while the model hangs: the review is given back, the engine's slot freed, the next start goes on."""
    stack.llm.answer_with(lambda _request: [finding()])
    stack.llm.hang(after_chunks=2)
    number = stack.open_pull_request({"app.py": UNSAFE_APP})
    stack.wait_for(lambda: stack.llm.requests, "the first question")
    assert stack.stop() == 0
    assert stack.llm.requests[0].closed_early
    stack.log.write_text("")

    stack.start()
    stack.wait_for_end(number, 60)
    assert len(stack.pull(number).reviews) == 1


@on_sqlite
def test_a_broker_that_dies_stops_everything_and_is_named(stack: Stack) -> None:
    data = stack.folder / "data"
    with Redis(unix_socket_path=str(socket_path(data))) as broker:
        os.kill(int(broker.info("server")["process_id"]), signal.SIGKILL)
    assert stack.process
    assert stack.process.wait(timeout=30) == 1
    assert "the embedded broker ended by itself" in stack.log.read_text().splitlines()[-1]
    for process in stack.pids().values():
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


def test_files_carry_the_queue_where_no_broker_can_run(tmp_path: Path, sqlite_url: str) -> None:
    """The last resort of the embedded broker."""
    folder = tmp_path / "queue"
    stack = Stack(tmp_path, REDLINE_DATABASE_URL=sqlite_url, REDLINE_BROKER_URL=f"filesystem://{folder}")
    stack.llm.answer_with(lambda _request: [finding()])
    try:
        stack.start()
        number = stack.open_pull_request({"app.py": UNSAFE_APP})
        stack.wait_for_end(number)
        assert len(stack.pull(number).reviews) == 1
        assert stack.stop() == 0
    finally:
        stack.close()


def test_a_merge_request_is_reviewed_end_to_end(tmp_path: Path, postgres_url: str) -> None:
    stack = Stack(tmp_path, "gitlab", REDLINE_DATABASE_URL=postgres_url)
    stack.llm.answer_with(lambda _request: [finding()])
    try:
        stack.start()
        number = stack.open_pull_request({"app.py": UNSAFE_APP})
        stack.wait_for_end(number)
        merge_request = stack.pull(number)
        assert [(each.path, each.line) for each in merge_request.comments] == [("app.py", 6)]
        assert len(merge_request.conversation) == 1
        assert stack.stop() == 0
    finally:
        stack.close()
