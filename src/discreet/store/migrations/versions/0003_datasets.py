"""Data sets, their hierarchies, the jobs on them and what those found."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")
STATES = "state IN ('queued', 'running', 'done', 'failed', 'cancelled')"


def upgrade() -> None:
    """Make the tables of data sets and jobs."""
    op.create_table(
        "web_dataset",
        sa.Column("id", NUMBER, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("place", sa.Text, nullable=False),
        sa.Column("secret", sa.Text, nullable=True),
        sa.Column("size", sa.BigInteger, nullable=True),
        sa.Column("hash", sa.Text, nullable=True),
        sa.Column("columns", sa.Text, nullable=False),
        sa.Column("encoding", sa.Text, nullable=True),
        sa.Column("account", NUMBER, sa.ForeignKey("web_account.id"), nullable=False),
        sa.Column("made", sa.Text, nullable=False),
        sa.Column("policy", sa.Text, nullable=True),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("population", NUMBER, sa.ForeignKey("web_dataset.id"), nullable=True),
        sa.Column("population_size", sa.BigInteger, nullable=True),
        sa.UniqueConstraint("name", name="web_dataset_name"),
    )
    op.create_table(
        "web_hierarchy",
        sa.Column("dataset", NUMBER, sa.ForeignKey("web_dataset.id"), primary_key=True, autoincrement=False),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("content", sa.Text, nullable=False),
    )
    op.create_table(
        "web_job",
        sa.Column("id", NUMBER, primary_key=True),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("dataset", NUMBER, sa.ForeignKey("web_dataset.id"), nullable=False),
        sa.Column("account", NUMBER, sa.ForeignKey("web_account.id"), nullable=False),
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
        sa.CheckConstraint(STATES, name="web_job_state"),
        sqlite_autoincrement=True,  # a number is never given again, since the ledger speaks of it
    )
    op.create_index("web_job_waiting", "web_job", ["state", "id"])
    op.create_index("web_job_dataset", "web_job", ["dataset", "id"])
    op.create_table(
        "web_result",
        sa.Column("job", NUMBER, sa.ForeignKey("web_job.id"), primary_key=True, autoincrement=False),
        sa.Column("numbers", sa.Text, nullable=False),
        sa.Column("parts", sa.Text, nullable=False),
        sa.Column("report", sa.Text, nullable=True),
        sa.Column("policy", sa.Text, nullable=True),
        sa.Column("hash", sa.Text, nullable=True),
        sa.Column("file", sa.Text, nullable=True),
    )
