"""first tables"""

import sqlalchemy as sa
from alembic import op

revision = "20261130a"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "delivery",
        row_id(),
        sa.Column("forge", sa.String(32), nullable=False),
        sa.Column("guid", sa.String(255), nullable=False),
        sa.Column("event", sa.String(255), nullable=False),
        sa.Column("action", sa.String(255), nullable=False),
        sa.Column("repository", sa.Text, nullable=False),
        sa.Column("number", sa.Integer),
        sa.Column("sender", sa.String(255), nullable=False),
        time("received_at", nullable=False),
        sa.Column("request_id", sa.String(255), nullable=False),
        sa.Column("outcome", sa.String(32), nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("review_id", sa.BigInteger),
        sa.Column("payload", sa.LargeBinary),
        sa.PrimaryKeyConstraint("id", name="pk_delivery"),
        sa.UniqueConstraint("forge", "guid", name="uq_delivery_forge_guid"),
        sqlite_autoincrement=True,
    )
    partial_index("ix_delivery_payload_kept", "delivery", ["received_at"], where="payload IS NOT NULL")

    op.create_table(
        "review",
        row_id(),
        sa.Column("forge", sa.String(32), nullable=False),
        sa.Column("repository", sa.Text, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("head_sha", sa.String(64), nullable=False),
        sa.Column("base_sha", sa.String(64), nullable=False, server_default=sa.text("''")),
        sa.Column("trigger", sa.Text, nullable=False),
        sa.Column("queue", sa.String(16), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("reason", sa.Text, nullable=False, server_default=sa.text("''")),
        sa.Column("estimated_tokens", sa.Integer, nullable=False),
        sa.Column("requested_by", sa.String(255), nullable=False, server_default=sa.text("''")),
        sa.Column("comment_kind", sa.String(16)),
        sa.Column("comment_id", sa.String(255)),
        sa.Column("full", sa.Boolean, nullable=False, server_default=sa.false()),
        time("received_at", nullable=False),
        time("queued_at", nullable=False),
        time("published_at"),
        time("claimed_at"),
        time("finished_at"),
        time("told_at"),
        sa.Column("attempt", sa.Integer, nullable=False, server_default=sa.text("0")),
        time("not_before"),
        time("lease_until"),
        sa.Column("lease_token", sa.String(32)),
        sa.Column("status_id", sa.Text, nullable=False, server_default=sa.text("''")),
        sa.Column("result", sa.Text),
        sa.Column("review_ref", sa.Text, nullable=False, server_default=sa.text("''")),
        sa.Column("summary_ref", sa.Text, nullable=False, server_default=sa.text("''")),
        sa.CheckConstraint("queue IN ('high', 'low')", name=op.f("ck_review_queue")),
        sa.CheckConstraint(
            "state IN ('queued', 'running', 'done', 'skipped', 'failed', 'superseded')",
            name=op.f("ck_review_state"),
        ),
        sa.CheckConstraint(
            "(state = 'running') = (lease_token IS NOT NULL)", name=op.f("ck_review_leased_while_running")
        ),
        sa.PrimaryKeyConstraint("id", name="pk_review"),
        sa.UniqueConstraint(
            "forge",
            "repository",
            "number",
            "head_sha",
            "trigger",
            name="uq_review_forge_repository_number_head_sha_trigger",
        ),
        sqlite_autoincrement=True,
    )
    partial_index(
        "ix_review_queued", "review", ["forge", "repository", "received_at"], where="state = 'queued'"
    )
    partial_index(
        "ix_review_running", "review", ["forge", "repository", "lease_until"], where="state = 'running'"
    )
    partial_index(
        "ix_review_untold", "review", ["finished_at"], where="finished_at IS NOT NULL AND told_at IS NULL"
    )
    partial_index(
        "ix_review_result_kept",
        "review",
        ["finished_at"],
        where="finished_at IS NOT NULL AND result IS NOT NULL",
    )

    op.create_table(
        "finding",
        row_id(),
        sa.Column("review_id", big_integer(), nullable=False),
        sa.Column("ordinal", sa.Integer, nullable=False),
        sa.Column("fingerprint", sa.String(255), nullable=False),
        sa.Column("path", sa.Text, nullable=False),
        sa.Column("old_path", sa.Text),
        sa.Column("new_path", sa.Text),
        sa.Column("side", sa.String(8)),
        sa.Column("old_line", sa.Integer),
        sa.Column("new_line", sa.Integer),
        sa.Column("start_line", sa.Integer),
        sa.Column("unplaced", sa.Text, nullable=False),
        sa.Column("code", sa.Text, nullable=False),
        sa.Column("severity", sa.String(16), nullable=False),
        sa.Column("category", sa.String(32), nullable=False),
        sa.Column("message", sa.Text, nullable=False),
        sa.Column("replacement", sa.Text),
        sa.Column("posted_id", sa.Text),
        sa.PrimaryKeyConstraint("id", name="pk_finding"),
        sa.ForeignKeyConstraint(["review_id"], ["review.id"], name="fk_finding_review_id_review"),
        sa.UniqueConstraint("review_id", "fingerprint", name="uq_finding_review_id_fingerprint"),
    )

    op.create_table(
        "llm_call",
        row_id(),
        sa.Column("review_id", big_integer(), nullable=False),
        sa.Column("chunk", sa.Integer, nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("priority", sa.Integer, nullable=False),
        time("started_at", nullable=False),
        sa.Column("ttft_ms", sa.Double),
        sa.Column("total_ms", sa.Double, nullable=False),
        sa.Column("prompt_tokens", sa.Integer, nullable=False),
        sa.Column("cached_tokens", sa.Integer, nullable=False),
        sa.Column("completion_tokens", sa.Integer, nullable=False),
        sa.Column("tokens_per_s", sa.Double),
        sa.Column("finish_reason", sa.String(64), nullable=False),
        sa.Column("outcome", sa.String(32), nullable=False),
        sa.Column("error", sa.Text, nullable=False),
        sa.Column("cache_hit", sa.Boolean, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_llm_call"),
        sa.ForeignKeyConstraint(["review_id"], ["review.id"], name="fk_llm_call_review_id_review"),
    )
    op.create_index("ix_llm_call_review_id", "llm_call", ["review_id"])
    op.create_index("ix_llm_call_started_at", "llm_call", ["started_at"])

    op.create_table(
        "latency",
        row_id(),
        sa.Column("review_id", sa.BigInteger, nullable=False),
        time("finished_at", nullable=False),
        sa.Column("forge", sa.String(32), nullable=False),
        sa.Column("repository", sa.Text, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("head_sha", sa.String(64), nullable=False),
        sa.Column("trigger", sa.Text, nullable=False),
        sa.Column("queue", sa.String(16), nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("outcome", sa.String(32), nullable=False),
        time("received_at", nullable=False),
        sa.Column("estimated_tokens", sa.Integer, nullable=False),
        sa.Column("prompt_tokens", sa.Integer, nullable=False),
        sa.Column("cached_tokens", sa.Integer, nullable=False),
        sa.Column("completion_tokens", sa.Integer, nullable=False),
        sa.Column("files", sa.Integer, nullable=False),
        sa.Column("chunks", sa.Integer, nullable=False),
        sa.Column("llm_calls", sa.Integer, nullable=False),
        sa.Column("cache_hits", sa.Integer, nullable=False),
        sa.Column("truncated", sa.Boolean, nullable=False),
        sa.Column("findings", sa.Integer, nullable=False),
        sa.Column("posted", sa.Integer, nullable=False),
        sa.Column("wait_ms", sa.Double),
        sa.Column("fetch_ms", sa.Double),
        sa.Column("clean_ms", sa.Double),
        sa.Column("ttft_ms", sa.Double),
        sa.Column("llm_ms", sa.Double),
        sa.Column("tokens_per_s", sa.Double),
        sa.Column("publish_ms", sa.Double),
        sa.Column("total_ms", sa.Double),
        sa.PrimaryKeyConstraint("id", name="pk_latency"),
    )
    op.create_index("ix_latency_review_id", "latency", ["review_id"])
    op.create_index("ix_latency_finished_at", "latency", ["finished_at"])
    op.create_index("ix_latency_queue_finished_at", "latency", ["queue", "finished_at"])
    op.create_index("ix_latency_repository_finished_at", "latency", ["repository", "finished_at"])
    op.create_index("ix_latency_model_finished_at", "latency", ["model", "finished_at"])


def downgrade() -> None:
    for table in ("latency", "llm_call", "finding", "review", "delivery"):
        op.drop_table(table)


def big_integer() -> sa.types.TypeEngine[int]:
    """Build the type of row ids: SQLite counts ids up only for a column of exactly the type INTEGER."""
    return sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def row_id() -> sa.Column[int]:
    """Build the column `id`."""
    return sa.Column("id", big_integer(), nullable=False)


def time(name: str, *, nullable: bool = True) -> sa.Column[object]:
    """Build a column of UTC times."""
    return sa.Column(name, sa.DateTime(timezone=True), nullable=nullable)


def partial_index(name: str, table: str, columns: list[str], *, where: str) -> None:
    """Build an index of the rows that meet a condition."""
    op.create_index(name, table, columns, postgresql_where=sa.text(where), sqlite_where=sa.text(where))
