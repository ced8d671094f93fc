"""Queries that run all the time use an index, however many finished reviews there are."""

import re

import pytest
from sqlalchemy import event, text

from bot.db.claims import claim, finish
from bot.db.engine import open_database
from bot.db.handover import hand_on
from bot.db.lookups import last_finished
from bot.db.reviews import withdraw
from bot.db.sweeping import (
    due_for_publish,
    expire_leases,
    postpone_telling,
    promote_old,
    purge,
    untold,
)
from bot.db.tables import ReviewState, review
from tests.unit.db.builders import PR, T0, claim_review, new_review, queue_review

# The few rows that a statement has picked by index before.
_HARMLESS = ("SCAN free", "SCAN following", "SCAN CONSTANT ROW")


def scans(database, run):
    """Run a function and give SQLite's plan lines of its statements that read a whole table."""
    statements = []

    def remember(connection, _cursor, statement, parameters, _context, _many):
        if statement.startswith(("SELECT", "UPDATE", "DELETE", "WITH")):
            plan = connection.connection.cursor().execute(f"EXPLAIN QUERY PLAN {statement}", parameters)
            statements.extend(row[3] for row in plan.fetchall())

    event.listen(database._engine, "before_cursor_execute", remember)
    run()
    assert statements, "the function sent nothing"
    return [
        line
        for line in statements
        if line.startswith("SCAN ") and "USING" not in line and line not in _HARMLESS
    ]


RUNS = {
    "claim": lambda db: claim(db, 2, lease_s=60, repository_limit=5, now=T0),
    "finish": lambda db: finish(
        db, claim_review(db, 2), state=ReviewState.DONE, reason="", now=T0, latency=None
    ),
    "enqueue again": lambda db: queue_review(db, new_review(head_sha="1" * 40)),
    "enqueue request": lambda db: queue_review(db, new_review(comment_id="5")),
    "next": lambda db: hand_on(db, "github", "team/app", T0),
    "due": lambda db: due_for_publish(db, T0, 900, 10),
    "expire": lambda db: expire_leases(db, T0, 3),
    "promote": lambda db: promote_old(db, T0, 60),
    "untold": lambda db: untold(db, T0, 15),
    "postpone": lambda db: postpone_telling(db, [1], T0),
    "purge": lambda db: purge(db, T0, 90),
    "last finished": lambda db: last_finished(db, PR, 2),
}


@pytest.mark.parametrize("name", RUNS)
def test_no_table_is_read_from_end_to_end(sqlite_url, name):
    database = open_database(sqlite_url)
    for head in ("1", "2"):
        queue_review(database, new_review(head_sha=head * 40))
    assert scans(database, lambda: RUNS[name](database)) == []
    database.close()


def test_withdraw_finds_the_pull_request_by_index(sqlite_url):
    database = open_database(sqlite_url)

    def run():
        with database.transaction() as connection:
            withdraw(connection, PR, "closed", T0)

    assert scans(database, run) == []
    database.close()


def fill(database):
    """Store many finished reviews, and a few that wait or run, and let Postgres count them."""
    states = ["running", "queued", "queued"] + ["done"] * 97
    rows = [
        {
            "forge": "github",
            "repository": f"team/{n % 7}",
            "number": n // 7,
            "head_sha": f"{n:040}",
            "trigger": "auto",
            "queue": "high",
            "state": states[n % len(states)],
            "estimated_tokens": 1,
            "received_at": T0,
            "queued_at": T0,
            "lease_token": "token" if n % len(states) == 0 else None,
        }
        for n in range(5000)
    ]
    with database.transaction() as connection:
        connection.execute(review.insert(), rows)
        connection.execute(text("ANALYZE review"))


def test_postgres_uses_the_partial_indexes_in_a_plan_that_it_keeps(postgres_url):
    """The driver prepares what is sent often, and Postgres may then plan without knowing the values."""
    database = open_database(postgres_url)
    fill(database)
    plans = []

    def remember(connection, _cursor, statement, parameters, _context, _many):
        numbers = {name: f"${n}" for n, name in enumerate(parameters, start=1)}
        general = re.sub(r"%\((\w+)\)s", lambda match: numbers[match[1]], statement)
        with connection.connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN (GENERIC_PLAN) {general}")
            plans.append(set(re.findall(r"(Seq Scan|\b(?:ix|uq|pk)_\w+)", str(cursor.fetchall()))))

    event.listen(database._engine, "before_cursor_execute", remember)
    due_for_publish(database, T0, 900, 10)
    hand_on(database, "github", "team/1", T0)
    assert plans == [{"ix_review_queued"}, {"ix_review_queued", "ix_review_running", "pk_review"}]
    database.close()
