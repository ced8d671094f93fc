"""Flow tests: everything in one process, on SQLite and on Postgres."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.db.engine import Database
from tests.contract.github_spec import GitHubSpec
from tests.world import World


@pytest.fixture
def world(tmp_path: Path, database: Database, database_url: str) -> Iterator[World]:
    """Give a running world; what it left unfinished fails the test."""
    world = World(tmp_path, database, database_url)
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
