"""Linkage in the web application: data sets that are lent, and projects in the making."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Make the tables of loans and of work."""
    op.create_table(
        "linkage_loan",
        sa.Column("dataset", NUMBER, sa.ForeignKey("web_dataset.id"), primary_key=True, autoincrement=False),
        sa.Column("account", NUMBER, sa.ForeignKey("web_account.id"), nullable=False),
        sa.Column("made", sa.Text, nullable=False),
    )
    op.create_table(
        "linkage_work",
        sa.Column("id", NUMBER, primary_key=True),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("account", NUMBER, sa.ForeignKey("web_account.id"), nullable=False),
        sa.Column("project", NUMBER, sa.ForeignKey("linkage_project.id"), nullable=True),
        sa.Column("asked", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("made", sa.BigInteger, nullable=False),
        sa.Column("started", sa.BigInteger, nullable=True),
        sa.Column("ended", sa.BigInteger, nullable=True),
        sa.Column("attempts", sa.BigInteger, nullable=False),
        sa.Column("claim", sa.Text, nullable=True),
        sa.Column("lease", sa.BigInteger, nullable=True),
        sa.Column("step", sa.Text, nullable=False),
        sa.Column("progress", sa.BigInteger, nullable=True),
        sa.Column("problem", sa.Text, nullable=True),
        sa.Column("remedy", sa.Text, nullable=True),
        sa.CheckConstraint("kind IN ('make', 'retrain')", name="linkage_work_kind"),
        sa.CheckConstraint(
            "state IN ('declared', 'queued', 'running', 'done', 'failed', 'cancelled')", name="linkage_work_state"
        ),
        sqlite_autoincrement=True,
    )
    op.create_index("linkage_work_waiting", "linkage_work", ["state", "id"])
