"""bot.db.engine: URLs, times, transactions and the sentences for what is wrong."""

import threading
from datetime import UTC, datetime, timedelta, timezone

import pytest
from sqlalchemy import insert, select, text

from bot.db.engine import (
    STATEMENT_TIMEOUT_S,
    DatabaseConflict,
    DatabaseError,
    DatabaseUnavailable,
    create_engine,
    open_database,
)
from bot.db.lookups import list_reviews
from bot.db.tables import delivery
from tests.unit.db.builders import T0, queue_review


def row(**values):
    return {
        "forge": "github", "guid": "g", "event": "push", "action": "", "repository": "r", "sender": "s",
        "received_at": T0, "request_id": "", "outcome": "", "reason": "",
    } | values  # fmt: skip


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://redline:hunter2@db.example/redline",
        "postgres://redline:hunter2@db.example/redline",
        "postgresql+psycopg://redline:hunter2@db.example/redline",
    ],
)
def test_postgres_urls_use_psycopg(url):
    database = open_database(url)
    assert database.dialect == "postgresql"
    database.close()


@pytest.mark.parametrize(
    ("url", "advice"),
    [
        ("mysql://redline:hunter2@db.example/redline", "use sqlite:///FILE"),
        ("postgresql+asyncpg://redline:hunter2@db.example/redline", "use sqlite:///FILE"),
        ("redline:hunter2@db.example", "write sqlite:"),
        ("", "write sqlite:"),
        ("sqlite://", "name a file"),
        ("sqlite:///:memory:", "name a file"),
    ],
)
def test_urls_that_cannot_work_say_what_would(url, advice):
    with pytest.raises(DatabaseError, match=advice) as caught:
        open_database(url)
    assert "hunter2" not in str(caught.value)


def test_unreachable_postgres_is_unavailable_and_its_password_stays_secret():
    # Port 9 of the loopback: nothing listens there.
    database = open_database("postgresql://redline:hunter2@127.0.0.1:9/redline")
    with pytest.raises(DatabaseUnavailable, match="does not answer") as caught, database.transaction():
        pass
    assert "hunter2" not in str(caught.value)
    assert "redline:***@127.0.0.1:9/redline" in str(caught.value)
    database.close()


def test_unreachable_sqlite_is_unavailable(tmp_path):
    database = open_database(f"sqlite:///{tmp_path / 'missing' / 'redline.db'}")
    with pytest.raises(DatabaseUnavailable, match="unable to open"), database.transaction():
        pass
    database.close()


def test_missing_schema_is_not_unavailable_but_asks_for_migrate(blank_database_url):
    database = open_database(blank_database_url)
    with pytest.raises(DatabaseError, match="run `redline migrate`") as caught:
        list_reviews(database)
    assert not isinstance(caught.value, DatabaseUnavailable)
    database.close()


def test_errors_do_not_show_the_stored_values(database):
    with pytest.raises(DatabaseConflict) as caught, database.transaction() as connection:
        connection.execute(insert(delivery), row(repository=None, sender="private name"))
    assert "private" not in str(caught.value)
    assert "[SQL parameters hidden" in str(caught.value.__cause__)


@pytest.mark.parametrize(
    "given",
    [
        datetime(2026, 11, 30, 23, 59, 59, 999999, tzinfo=UTC),
        datetime(2026, 3, 29, 2, 30, tzinfo=timezone(timedelta(hours=5, minutes=45))),
        datetime(2026, 1, 1, 0, 0, tzinfo=timezone(-timedelta(hours=11))),
    ],
)
def test_times_come_back_aware_and_in_utc(database, given):
    with database.transaction() as connection:
        connection.execute(insert(delivery), row(received_at=given))
    with database.reading() as connection:
        found = connection.scalar(select(delivery.c.received_at))
    assert found == given
    assert found.tzinfo is UTC


def test_naive_times_are_refused(database):
    with pytest.raises(ValueError, match="time zone"), database.transaction() as connection:
        connection.execute(insert(delivery), row(received_at=datetime(2026, 1, 1)))  # noqa: DTZ001 - the point


def test_transaction_keeps_nothing_of_a_block_that_raised(database):
    with pytest.raises(RuntimeError), database.transaction() as connection:  # noqa: PT012 - the point
        connection.execute(insert(delivery), row())
        raise RuntimeError
    with database.reading() as connection:
        assert connection.scalar(select(delivery.c.id)) is None


def test_sqlite_takes_the_write_lock_before_the_first_read(sqlite_url):
    """Processes read a number and write it back plus one: with a plain BEGIN some of them would fail."""
    database = open_database(sqlite_url)
    with database.transaction() as connection:
        connection.execute(insert(delivery), row(number=0))
    start = threading.Barrier(4)

    def count_up():
        # A database of its own stands for another process: threads of one would take turns.
        own = open_database(sqlite_url)
        start.wait()
        for _ in range(10):
            with own.transaction() as connection:
                number = connection.scalar(select(delivery.c.number))
                connection.execute(delivery.update().values(number=number + 1))
        own.close()

    run_threads(count_up, 4)
    with database.reading() as connection:
        assert connection.scalar(select(delivery.c.number)) == 40
    database.close()


def test_reading_does_not_wait_for_a_writer_nor_a_writer_for_reading(database):
    with database.transaction() as writer:
        writer.execute(insert(delivery), row())
        with database.reading() as reader:
            assert reader.scalar(select(delivery.c.id)) is None
    with database.reading() as reader:
        assert reader.scalar(select(delivery.c.id)) is not None
        queue_review(database)


def test_sqlite_checks_foreign_keys(sqlite_url):
    database = open_database(sqlite_url)
    with pytest.raises(DatabaseConflict, match="FOREIGN KEY"), database.transaction() as connection:
        connection.execute(
            text(
                "INSERT INTO finding"
                " (review_id, ordinal, fingerprint, path, unplaced, code, severity, category, message)"
                " VALUES (99, 0, 'f', 'p', '', '', 'high', 'bug', '')"
            )
        )
    database.close()


def test_first_request_after_postgres_closed_the_connections_succeeds(postgres_url):
    database, other = open_database(postgres_url), open_database(postgres_url)
    with database.reading() as connection:
        connection.execute(text("SELECT 1"))
    with other.transaction() as connection:
        connection.execute(
            text("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
                 " AND pid <> pg_backend_pid()")
        )  # fmt: skip
    queue_review(database)
    database.close()
    other.close()


def test_delivery_rows_keep_any_bytes(database):
    with database.transaction() as connection:
        connection.execute(insert(delivery), row(payload=bytes(range(256))))
    with database.reading() as connection:
        assert connection.scalar(select(delivery.c.payload)) == bytes(range(256))


def run_threads(target, count):
    errors = []

    def guarded():
        try:
            target()
        except BaseException as error:  # noqa: BLE001 - handed to the test
            errors.append(error)

    threads = [threading.Thread(target=guarded) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_on_postgres_no_statement_waits_for_ever_but_a_migrations_may(postgres_url: str) -> None:
    database = open_database(postgres_url)
    with database.transaction() as connection:
        assert connection.exec_driver_sql("SHOW statement_timeout").scalar() == f"{STATEMENT_TIMEOUT_S}s"
    database.close()
    engine = create_engine(postgres_url)
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SHOW statement_timeout").scalar() == "0"
    engine.dispose()
