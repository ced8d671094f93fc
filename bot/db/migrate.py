"""Bring a database to this version's schema, and tell whether it is there."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Engine, text

from bot.db.engine import Database, DatabaseError, DatabaseUnavailable, create_engine, translate_errors
from bot.db.locks import lock_key

LOCK_WAIT_S: Final = 60
_POLL_S: Final = 0.2


def migrate(url: str) -> None:
    """Upgrade the database to the newest schema, making the SQLite file if need be; twice is harmless.

    Several processes may call it at once: one upgrades, the others wait up to `LOCK_WAIT_S`.
    """
    # Without foreign keys: SQLite changes a table by copying it, and the copy's first step drops the old one.
    engine = create_engine(url, foreign_keys=False)
    name = engine.url.render_as_string(hide_password=True)
    try:
        with translate_errors(name), _prepared(engine, name):
            config = alembic_config(find_scripts())
            config.attributes["connection"] = engine
            command.upgrade(config, "head")
    except CommandError as error:
        raise DatabaseError(
            f"the database {name} cannot be upgraded: {error}; it may belong to a newer version of Redline"
        ) from error
    finally:
        engine.dispose()


def schema_revision_is_current(db: Database) -> bool:
    """Tell whether the database has exactly this version's schema; DatabaseUnavailable if it is down."""
    try:
        with db.reading() as connection:
            found: str | None = connection.scalar(text("SELECT version_num FROM alembic_version"))
    except DatabaseUnavailable:
        raise
    except DatabaseError:
        return False
    return found == newest_revision()


@cache
def newest_revision() -> str:
    """Give the revision that this version's code is written for."""
    revision = ScriptDirectory.from_config(alembic_config(find_scripts())).get_current_head()
    if revision is None:
        raise DatabaseError("the migrations are missing from this installation: install Redline again")
    return revision


def find_scripts() -> Path:
    """Find the migrations: inside the installed package, or beside it in the source tree."""
    here = Path(__file__).resolve()
    packaged = here.parent / "_migrations"
    return packaged if packaged.is_dir() else here.parents[2] / "migrations"


def alembic_config(scripts: Path) -> Config:
    """Build Alembic's configuration for a folder of migrations."""
    config = Config()
    # Alembic expands % in its options.
    config.set_main_option("script_location", str(scripts).replace("%", "%%"))
    return config


@contextmanager
def _prepared(engine: Engine, name: str) -> Iterator[None]:
    if engine.dialect.name == "sqlite":
        Path(engine.url.database or "").parent.mkdir(parents=True, exist_ok=True)
        raw = engine.raw_connection()
        try:
            # Kept in the file. Readers do not stop the writer, nor it them.
            raw.cursor().execute("PRAGMA journal_mode = WAL")
        finally:
            raw.close()
        yield
        return
    # In autocommit and polled: a session that waits for the lock inside a transaction has a snapshot, and an
    # index that the winner builds concurrently would wait for that snapshot to end.
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        key = lock_key("migration")
        deadline = time.monotonic() + LOCK_WAIT_S
        while not connection.scalar(text("SELECT pg_try_advisory_lock(:key)"), {"key": key}):
            if time.monotonic() > deadline:
                raise DatabaseUnavailable(
                    f"the database {name} is being upgraded by another process: try again"
                )
            time.sleep(_POLL_S)
        try:
            yield
        finally:
            connection.execute(text("SELECT pg_advisory_unlock(:key)"), {"key": key})
