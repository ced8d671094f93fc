"""Alembic's entry: run the migrations on the given connection or engine, or on the configured database.

From the command line, `alembic -x url=sqlite:////tmp/try.db upgrade head` names another one.
"""

from alembic import context
from sqlalchemy import Connection, Engine

from bot.db.engine import create_engine
from bot.db.tables import metadata
from bot.settings import load_settings

# A migration that waits for a lock makes every later statement on the table wait behind it.
LOCK_TIMEOUT = "10s"


def run(connection: Connection) -> None:
    """Run what was asked for in one transaction."""
    context.configure(
        connection=connection,
        target_metadata=metadata,
        # SQLite cannot change a column in place: Alembic copies the table.
        render_as_batch=connection.dialect.name == "sqlite",
        compare_server_default=True,
        # Alembic thinks that SQLite cannot roll back a CREATE TABLE: it can, once the driver's own
        # transactions are switched off, as `create_engine` does.
        transactional_ddl=True,
    )
    with context.begin_transaction():
        if connection.dialect.name == "postgresql":
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
        context.run_migrations()


def target() -> Connection | Engine:
    """Choose where to run: what the caller passed, or `-x url=`, or the settings."""
    passed = context.config.attributes.get("connection")
    if passed is not None:
        return passed
    url = context.get_x_argument(as_dictionary=True).get("url")
    return create_engine(url or load_settings().effective_database_url, foreign_keys=False)


where = target()
if isinstance(where, Engine):
    with where.connect() as connection:
        run(connection)
else:
    run(where)
