"""Flow tests: everything in one process, on SQLite and on Postgres."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bot.db.engine import Database
from tests.contract.github_spec import GitHubSpec
from tests.world import World


@pytest.fixture
def world(
    request: pytest.FixtureRequest, tmp_path: Path, database: Database, database_url: str
) -> Iterator[World]:
    """Give a running world with a token; what it left unfinished fails the test.

    The mark `settings` sets what the test needs otherwise: `@pytest.mark.settings(llm_deadline_s=1)`.
    """
    marker = request.node.get_closest_marker("settings")
    with running(World(tmp_path, database, database_url, **(marker.kwargs if marker else {}))) as world:
        yield world


@pytest.fixture
def app_world(tmp_path: Path, database: Database, database_url: str) -> Iterator[World]:
    """Give a running world in which the bot is a GitHub App."""
    with running(World(tmp_path, database, database_url, as_app=True)) as world:
        yield world


@contextmanager
def running(world: World) -> Iterator[World]:
    """Hold every request against GitHub's specification, and look at the end whether all is finished."""
    spec = GitHubSpec.load() if GitHubSpec.is_available() else None
    if spec:
        world.github.observers.append(spec.check)
    try:
        yield world
        world.finish()
        assert spec is None or not spec.violations, (
            f"GitHub's specification does not allow: {spec.violations}"
        )
    finally:
        world.stop()
