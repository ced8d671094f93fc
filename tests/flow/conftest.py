"""Flow tests: everything in one process, on GitHub and on GitLab, on SQLite and on Postgres."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from bot.db.engine import Database
from tests.world import World

# What differs by database does not differ by forge: each of both once is enough.
ARRANGEMENTS = (("github", "sqlite"), ("gitlab", "postgres"))
ON_GITHUB = (("github", "sqlite"), ("github", "postgres"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test on both forges, or on the one that it is marked with: `@pytest.mark.forge("github")`."""
    if "arrangement" not in metafunc.fixturenames:
        return
    marker = metafunc.definition.get_closest_marker("forge")
    chosen: Sequence[tuple[str, str]] = ARRANGEMENTS
    if marker:
        chosen = ON_GITHUB if "github" in marker.args else ARRANGEMENTS[1:]
    metafunc.parametrize("arrangement", chosen, ids=["-".join(each) for each in chosen])


@pytest.fixture
def database_url(request: pytest.FixtureRequest, arrangement: tuple[str, str]) -> str:
    """Give the URL of an empty database of the arrangement's kind."""
    url: str = request.getfixturevalue(f"{arrangement[1]}_url")
    return url


@pytest.fixture
def world(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    database: Database,
    database_url: str,
    arrangement: tuple[str, str],
) -> Iterator[World]:
    """Give a running world with a token; what it left unfinished fails the test.

    The mark `settings` sets what the test needs otherwise: `@pytest.mark.settings(llm_deadline_s=1)`.
    """
    marker = request.node.get_closest_marker("settings")
    chosen = marker.kwargs if marker else {}
    with running(World(tmp_path, database, database_url, forge=arrangement[0], **chosen)) as world:
        yield world


@pytest.fixture
def app_world(tmp_path: Path, database: Database, database_url: str) -> Iterator[World]:
    """Give a running world in which the bot is a GitHub App."""
    with running(World(tmp_path, database, database_url, as_app=True)) as world:
        yield world


@contextmanager
def running(world: World) -> Iterator[World]:
    """Hold every request against the forge's description, and look at the end whether all is finished."""
    spec = world.host.new_spec()
    if spec:
        world.sandbox.observers.append(spec.check)
    try:
        yield world
        world.finish()
        assert spec is None or not spec.violations, (
            f"the forge's description does not allow: {spec.violations}"
        )
    finally:
        world.stop()
