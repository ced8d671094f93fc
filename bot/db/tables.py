"""The tables. A change here needs a migration: `alembic check` compares the two on both databases."""

from datetime import UTC, datetime
from enum import StrEnum

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Dialect,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    false,
    literal_column,
    text,
)


class ReviewState(StrEnum):
    """State of a review; every review ends in one of the last four."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    SKIPPED = "skipped"
    FAILED = "failed"
    SUPERSEDED = "superseded"


class UtcDateTime(TypeDecorator[datetime]):
    """Store an aware datetime and give it back in UTC; a naive one is refused: its zone would be a guess."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"{value.isoformat()} has no time zone: pass an aware datetime")
        value = value.astimezone(UTC)
        # SQLite has no zones: its text is UTC by this rule.
        return value.replace(tzinfo=None) if dialect.name == "sqlite" else value

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if dialect.name == "sqlite" else value.astimezone(UTC)


# Every constraint has a name on both databases: SQLite's batch migrations cannot drop a nameless one.
metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# As SQL, for Alembic takes a plain empty string for a difference on SQLite.
EMPTY = text("''")

# SQLite counts ids up only for a column of exactly the type INTEGER.
Id = BigInteger().with_variant(Integer, "sqlite")


def _partial(name: str, *columns: str, where: str) -> Index:
    """Index only the few rows that are looked for, so that the index stays small however many are done."""
    return Index(name, *columns, postgresql_where=text(where), sqlite_where=text(where))


delivery = Table(
    "delivery",
    metadata,
    Column("id", Id, primary_key=True),
    Column("forge", String(32), nullable=False),
    Column("guid", String(255), nullable=False),
    Column("event", String(255), nullable=False),
    Column("action", String(255), nullable=False),
    Column("repository", Text, nullable=False),
    Column("number", Integer),
    Column("sender", String(255), nullable=False),
    Column("received_at", UtcDateTime, nullable=False),
    Column("request_id", String(255), nullable=False),
    Column("outcome", String(32), nullable=False),
    Column("reason", Text, nullable=False),
    Column("review_id", BigInteger),
    Column("payload", LargeBinary),
    UniqueConstraint("forge", "guid"),
    _partial("ix_delivery_payload_kept", "received_at", where="payload IS NOT NULL"),
    sqlite_autoincrement=True,
)

review = Table(
    "review",
    metadata,
    Column("id", Id, primary_key=True),
    Column("forge", String(32), nullable=False),
    Column("repository", Text, nullable=False),
    Column("number", Integer, nullable=False),
    Column("head_sha", String(64), nullable=False),
    Column("base_sha", String(64), nullable=False, server_default=EMPTY),
    Column("trigger", Text, nullable=False),
    Column("queue", String(16), nullable=False),
    Column("state", String(16), nullable=False),
    Column("reason", Text, nullable=False, server_default=EMPTY),
    Column("estimated_tokens", Integer, nullable=False),
    Column("requested_by", String(255), nullable=False, server_default=EMPTY),
    Column("comment_kind", String(16)),
    Column("comment_id", String(255)),
    Column("full", Boolean, nullable=False, server_default=false()),
    Column("received_at", UtcDateTime, nullable=False),
    Column("queued_at", UtcDateTime, nullable=False),
    Column("published_at", UtcDateTime),
    Column("claimed_at", UtcDateTime),
    Column("finished_at", UtcDateTime),
    Column("told_at", UtcDateTime),
    Column("attempt", Integer, nullable=False, server_default=text("0")),
    # While it waits: when a worker may take it. After its end: when its author is to be told again.
    Column("not_before", UtcDateTime),
    Column("lease_until", UtcDateTime),
    Column("lease_token", String(32)),
    Column("status_id", Text, nullable=False, server_default=EMPTY),
    Column("result", Text),
    Column("review_ref", Text, nullable=False, server_default=EMPTY),
    Column("summary_ref", Text, nullable=False, server_default=EMPTY),
    UniqueConstraint("forge", "repository", "number", "head_sha", "trigger"),
    CheckConstraint("queue IN ('high', 'low')", name="queue"),
    CheckConstraint(
        "state IN ('queued', 'running', 'done', 'skipped', 'failed', 'superseded')", name="state"
    ),
    CheckConstraint("(state = 'running') = (lease_token IS NOT NULL)", name="leased_while_running"),
    _partial("ix_review_queued", "forge", "repository", "received_at", where="state = 'queued'"),
    _partial("ix_review_running", "forge", "repository", "lease_until", where="state = 'running'"),
    _partial("ix_review_untold", "finished_at", where="finished_at IS NOT NULL AND told_at IS NULL"),
    _partial("ix_review_result_kept", "finished_at", where="finished_at IS NOT NULL AND result IS NOT NULL"),
    sqlite_autoincrement=True,
)

# Written out rather than bound: a plan that Postgres keeps for all values can use a partial index only if the
# statement itself has its condition.
IS_QUEUED = review.c.state == literal_column("'queued'")
IS_RUNNING = review.c.state == literal_column("'running'")

finding = Table(
    "finding",
    metadata,
    Column("id", Id, primary_key=True),
    Column("review_id", ForeignKey("review.id"), nullable=False),
    Column("ordinal", Integer, nullable=False),
    Column("fingerprint", String(255), nullable=False),
    Column("path", Text, nullable=False),
    Column("old_path", Text),
    Column("new_path", Text),
    Column("side", String(8)),
    Column("old_line", Integer),
    Column("new_line", Integer),
    Column("start_line", Integer),
    Column("other_line", Integer),
    Column("other_start_line", Integer),
    Column("start_is_changed", Boolean, nullable=False, server_default=false()),
    Column("unplaced", Text, nullable=False),
    Column("code", Text, nullable=False),
    Column("severity", String(16), nullable=False),
    Column("category", String(32), nullable=False),
    Column("message", Text, nullable=False),
    Column("replacement", Text),
    Column("posted_id", Text),
    UniqueConstraint("review_id", "fingerprint"),
)

llm_call = Table(
    "llm_call",
    metadata,
    Column("id", Id, primary_key=True),
    Column("review_id", ForeignKey("review.id"), nullable=False, index=True),
    Column("chunk", Integer, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("model", Text, nullable=False),
    Column("priority", Integer, nullable=False),
    Column("started_at", UtcDateTime, nullable=False, index=True),
    Column("ttft_ms", Double),
    Column("total_ms", Double, nullable=False),
    Column("prompt_tokens", Integer, nullable=False),
    Column("cached_tokens", Integer, nullable=False),
    Column("completion_tokens", Integer, nullable=False),
    Column("tokens_per_s", Double),
    Column("finish_reason", String(64), nullable=False),
    Column("outcome", String(32), nullable=False),
    Column("error", Text, nullable=False),
    Column("cache_hit", Boolean, nullable=False),
)

# No foreign key: the numbers outlive the review that they came from, and are written once.
latency = Table(
    "latency",
    metadata,
    Column("id", Id, primary_key=True),
    Column("review_id", BigInteger, nullable=False, index=True),
    Column("finished_at", UtcDateTime, nullable=False, index=True),
    Column("forge", String(32), nullable=False),
    Column("repository", Text, nullable=False),
    Column("number", Integer, nullable=False),
    Column("head_sha", String(64), nullable=False),
    Column("trigger", Text, nullable=False),
    Column("queue", String(16), nullable=False),
    Column("model", Text, nullable=False),
    Column("outcome", String(32), nullable=False),
    Column("received_at", UtcDateTime, nullable=False),
    Column("estimated_tokens", Integer, nullable=False),
    Column("prompt_tokens", Integer, nullable=False),
    Column("cached_tokens", Integer, nullable=False),
    Column("completion_tokens", Integer, nullable=False),
    Column("files", Integer, nullable=False),
    Column("chunks", Integer, nullable=False),
    Column("llm_calls", Integer, nullable=False),
    Column("cache_hits", Integer, nullable=False),
    Column("truncated", Boolean, nullable=False),
    Column("findings", Integer, nullable=False),
    Column("posted", Integer, nullable=False),
    Column("wait_ms", Double),
    Column("fetch_ms", Double),
    Column("clean_ms", Double),
    Column("ttft_ms", Double),
    Column("llm_ms", Double),
    Column("tokens_per_s", Double),
    Column("publish_ms", Double),
    Column("total_ms", Double),
    Index(None, "queue", "finished_at"),
    Index(None, "repository", "finished_at"),
    Index(None, "model", "finished_at"),
)
