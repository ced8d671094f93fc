"""The whole way from a webhook to posted comments, with the real engine behind it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.db.engine import Database, open_database
from bot.db.llm_calls import list_llm_calls
from bot.db.tables import ReviewState
from deploy.demo.stage import SHOP
from tests.engine.conftest import Engine
from tests.flow.conftest import running
from tests.world import World

LOW_QUEUE_TOKENS = 300  # so that a diff which two cores read in seconds is a long one here

pytestmark = [pytest.mark.engine, pytest.mark.timeout(900)]


@pytest.fixture
def world(tmp_path: Path, sqlite_url: str, engine: Engine) -> Iterator[World]:
    database: Database = open_database(sqlite_url)
    world = World(
        tmp_path,
        database,
        sqlite_url,
        llm_base_url=engine.base_url,
        llm_deadline_s=600.0,
        lease_s=60.0,
        low_queue_tokens=LOW_QUEUE_TOKENS,
    )
    try:
        with running(world):
            yield world
    finally:
        database.close()


def shop(version: str) -> dict[str, str | bytes | None]:
    folder = SHOP / version
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_demo_gets_comments_and_a_second_review_reads_from_the_cache(world: World) -> None:
    """What `make demo` shows: comments under changed lines, and a latency row with the engine's own figures."""
    base = shop("base")
    world.github.commit("acme/shop", "main", base)
    head = shop("head")
    pull = world.open_pull_request({**head, **{path: None for path in base if path not in head}})
    world.run()

    assert pull.review.state is ReviewState.DONE
    assert pull.inline, pull.summary
    (row,) = world.latency()
    assert row.ttft_ms is not None
    assert row.ttft_ms > 0
    assert row.tokens_per_s is not None
    assert row.tokens_per_s > 0
    assert row.prompt_tokens > 500
    assert row.model == world.engine.describe(float("inf")).model

    comments = len(pull.inline)
    pull.comment("/review")
    world.run()
    newest = world.latency()[0]
    assert newest.cached_tokens > 0, "the system prompt and the diff were read a second time"
    assert len(pull.inline) == comments, "the same findings are not posted twice"


def test_a_long_review_carries_a_later_priority(world: World) -> None:
    short = world.open_pull_request({"short.py": "def half(value):\n    return value / 0\n"})
    source = "".join(f"def scale_{n}(value):\n    return value * {n} / 0\n\n\n" for n in range(20))
    long = world.open_pull_request({"long.py": source})
    world.run()

    priorities = {
        pull.number: {call.priority for call in list_llm_calls(world.database, pull.review.review_id)}
        for pull in (short, long)
    }
    assert priorities == {short.number: {0}, long.number: {10}}
    assert {row.number: row.queue for row in world.latency()} == {short.number: "high", long.number: "low"}
