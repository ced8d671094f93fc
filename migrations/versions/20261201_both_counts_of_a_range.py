"""both counts of a range"""

import sqlalchemy as sa
from alembic import op

revision = "20261201a"
down_revision = "20261130a"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("finding", sa.Column("other_line", sa.Integer))
    op.add_column("finding", sa.Column("other_start_line", sa.Integer))
    op.add_column(
        "finding", sa.Column("start_is_changed", sa.Boolean, nullable=False, server_default=sa.false())
    )


def downgrade() -> None:
    for column in ("start_is_changed", "other_start_line", "other_line"):
        op.drop_column("finding", column)
