"""Open a database, run transactions on it, and say in one sentence what is wrong with it."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

import sqlalchemy
from sqlalchemy import Connection, Engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.engine.interfaces import DBAPIConnection

from bot.db.prepared import driver_errors

try:
    import fcntl
except ImportError:  # not on Windows, where SQLite's own lock has to do
    fcntl = None  # type: ignore[assignment] # see above

CONNECT_TIMEOUT_S: Final = 5
POOL_TIMEOUT_S: Final = 5
TCP_TIMEOUT_S: Final = 10
# Everything that we ask of a database takes milliseconds; what takes this long waits for a lock that never comes.
STATEMENT_TIMEOUT_S: Final = 30
# GitHub and GitLab give up on a webhook after 10 s: a writer that waits longer than this answers nobody.
SQLITE_BUSY_TIMEOUT_S: Final = 5

_TURN_POLL_S: Final = 0.0001
# A server that vanished without a word is noticed after this long instead of after the kernel's quarter of an
# hour: https://www.postgresql.org/docs/current/libpq-connect.html
_POSTGRES_OPTIONS: Final = {
    "connect_timeout": CONNECT_TIMEOUT_S,
    "tcp_user_timeout": TCP_TIMEOUT_S * 1000,
    "keepalives_idle": TCP_TIMEOUT_S,
}
_READ_ONLY: Final = "redline_read_only"


class DatabaseError(Exception):
    """The database refused what was asked; the text is a sentence that names it, without its password."""


class DatabaseUnavailable(DatabaseError):
    """The database does not answer, is locked or is full: the same request may work later."""


class DatabaseConflict(DatabaseError):
    """The change would break a unique key or another rule of the schema; nothing was stored."""


class Database:
    """A database and its pool of connections; threads may share it, processes may not."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._name = engine.url.render_as_string(hide_password=True)
        # SQLite lets writers in one by one and has the others sleep and try again, in no order and for up to a
        # tenth of a second. Taking turns here instead, threads and processes, keeps the slowest from starving.
        self._turn = threading.Lock() if self.dialect == "sqlite" else None
        self._turn_file: IO[bytes] | None = None

    @property
    def dialect(self) -> str:
        """Give `postgresql` or `sqlite`."""
        return self._engine.dialect.name

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Commit what the block does, or none of it.

        On SQLite the write lock is taken at once, so that what was read inside cannot have changed before it
        is written. Raises only DatabaseError and its kinds, and whatever the block itself raises.
        """
        with self._in_turn(), translate_errors(self._name), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def _in_turn(self) -> Iterator[None]:
        if self._turn is None:
            yield
            return
        if not self._turn.acquire(timeout=SQLITE_BUSY_TIMEOUT_S):
            raise DatabaseUnavailable(f"the database {self._name} is too busy: no turn to write within 5 s")
        try:
            with self._process_turn():
                yield
        finally:
            self._turn.release()

    @contextmanager
    def _process_turn(self) -> Iterator[None]:
        file = sqlite_file(self._engine.url)
        if fcntl is None or file is None or not file.parent.is_dir():
            yield  # SQLite's own lock decides, as it does in any case
            return
        if self._turn_file is None:
            self._turn_file = file.with_name(f"{file.name}.turn").open("wb")
        until = time.monotonic() + SQLITE_BUSY_TIMEOUT_S
        while not _try_lock(self._turn_file):
            if time.monotonic() > until:
                raise DatabaseUnavailable(
                    f"the database {self._name} is too busy: no turn to write within 5 s"
                )
            time.sleep(_TURN_POLL_S)
        try:
            yield
        finally:
            fcntl.flock(self._turn_file, fcntl.LOCK_UN)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Read without keeping writers waiting; the same errors as `transaction`."""
        with translate_errors(self._name), self._engine.connect() as connection:
            yield connection.execution_options(**{_READ_ONLY: True})

    def close(self) -> None:
        """Close the pooled connections."""
        self._engine.dispose()
        if self._turn_file is not None:
            self._turn_file.close()
            self._turn_file = None


def open_database(url: str) -> Database:
    """Open the database at a SQLAlchemy URL without connecting; raises DatabaseError if it cannot work."""
    return Database(create_engine(url, statement_timeout_s=STATEMENT_TIMEOUT_S))


def create_engine(url: str, *, foreign_keys: bool = True, statement_timeout_s: int | None = None) -> Engine:
    """Build the engine that `open_database` and the migrations share; a migration may take its time."""
    parsed = parse_url(url)
    if parsed.get_backend_name() == "sqlite":
        # isolation_level None: Python's driver must not begin transactions by itself, see `_begin`.
        engine = sqlalchemy.create_engine(
            parsed,
            hide_parameters=True,
            pool_size=10,
            max_overflow=20,
            pool_timeout=POOL_TIMEOUT_S,
            # Every use of a connection ends in COMMIT or ROLLBACK of its own.
            pool_reset_on_return=None,
            connect_args={"isolation_level": None, "timeout": SQLITE_BUSY_TIMEOUT_S},
        )
        event.listen(engine, "connect", _set_pragmas_with_keys if foreign_keys else _set_pragmas)
        event.listen(engine, "begin", _begin)
        return engine
    engine = sqlalchemy.create_engine(
        parsed,
        hide_parameters=True,
        pool_size=10,
        max_overflow=20,
        pool_timeout=POOL_TIMEOUT_S,
        # A restart of Postgres must not cost the first webhook after it: GitHub does not send it again.
        pool_pre_ping=True,
        connect_args={name: value for name, value in _POSTGRES_OPTIONS.items() if name not in parsed.query},
    )
    if statement_timeout_s is not None:
        # Not as a start-up option, which PgBouncer refuses.
        milliseconds = statement_timeout_s * 1000
        event.listen(
            engine, "connect", lambda connection, _record: _set_statement_timeout(connection, milliseconds)
        )
    return engine


def _set_statement_timeout(connection: DBAPIConnection, milliseconds: int) -> None:
    connection.cursor().execute(f"SET statement_timeout = {milliseconds}")
    connection.commit()


def parse_url(url: str) -> URL:
    """Check a database URL; raises DatabaseError that says what would work instead."""
    try:
        # Hosting platforms hand out postgres://, which SQLAlchemy does not know.
        parsed = make_url(
            url.replace("postgres://", "postgresql://", 1) if url.startswith("postgres://") else url
        )
    except sqlalchemy.exc.ArgumentError:
        # Not quoted: what cannot be parsed may have a password anywhere.
        raise DatabaseError(
            "the database URL cannot be read: write sqlite:////path/to/file.db or postgresql://user:password@host/name"
        ) from None
    name = parsed.render_as_string(hide_password=True)
    if parsed.drivername == "postgresql":
        return parsed.set(drivername="postgresql+psycopg")
    if parsed.drivername not in ("sqlite", "sqlite+pysqlite", "postgresql+psycopg"):
        raise DatabaseError(
            f"the database {name} is not supported: use sqlite:///FILE or postgresql://HOST/NAME"
        )
    if parsed.get_backend_name() == "sqlite" and parsed.database in (None, "", ":memory:"):
        raise DatabaseError(
            f"the database {name} would be lost at exit: name a file, as in sqlite:////path/redline.db"
        )
    return parsed


def _set_pragmas(connection: DBAPIConnection, _record: object) -> None:
    # WAL is not set here but once, by `migrate`: concurrent first connections that set it fail with "database
    # is locked". NORMAL is enough with WAL: a power cut may lose the last commits but cannot damage the file.
    connection.cursor().execute("PRAGMA synchronous = NORMAL")


def _set_pragmas_with_keys(connection: DBAPIConnection, record: object) -> None:
    _set_pragmas(connection, record)
    connection.cursor().execute("PRAGMA foreign_keys = ON")


def _begin(connection: Connection) -> None:
    # A plain BEGIN takes the write lock at the first write, and fails there if another writer was quicker.
    read_only = connection.get_execution_options().get(_READ_ONLY, False)
    with driver_errors(connection):
        connection.connection.cursor().execute("BEGIN" if read_only else "BEGIN IMMEDIATE")


@contextmanager
def translate_errors(name: str) -> Iterator[None]:
    """Turn SQLAlchemy's errors into ours; `name` is the database's URL without its password."""
    try:
        yield
    except sqlalchemy.exc.TimeoutError:
        raise DatabaseUnavailable(
            f"the database {name} is too busy: no connection was free for {POOL_TIMEOUT_S} s"
        ) from None
    except sqlalchemy.exc.IntegrityError as error:
        raise DatabaseConflict(f"the database {name} refused a change: {_cause(error)}") from error
    except sqlalchemy.exc.DBAPIError as error:
        if _is_missing_schema(error):
            raise DatabaseError(
                f"the database {name} lacks this version's schema ({_cause(error)}): run `redline migrate`"
            ) from error
        if isinstance(error, sqlalchemy.exc.OperationalError | sqlalchemy.exc.InterfaceError):
            raise DatabaseUnavailable(f"the database {name} does not answer: {_cause(error)}") from error
        raise DatabaseError(f"the database {name} refused a statement: {_cause(error)}") from error
    except sqlalchemy.exc.StatementError as error:
        # A value that our own types refused, such as a time without a zone: the caller's mistake, as it is.
        raise (error.orig or error) from None


def _try_lock(file: IO[bytes]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_missing_schema(error: sqlalchemy.exc.DBAPIError) -> bool:
    # 42P01 and 42703 are Postgres' undefined_table and undefined_column; SQLite has only words for them.
    if getattr(error.orig, "sqlstate", None) in ("42P01", "42703"):
        return True
    return str(error.orig).startswith(("no such table", "no such column"))


def _cause(error: sqlalchemy.exc.DBAPIError) -> str:
    return str(error.orig).strip().partition("\n")[0]


def sqlite_file(url: URL) -> Path | None:
    """Give the file of a SQLite database, None for Postgres."""
    return Path(url.database or "") if url.get_backend_name() == "sqlite" else None
