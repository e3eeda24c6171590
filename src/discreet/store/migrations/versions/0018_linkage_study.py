"""Studies of reviewers: conditions, participants, the log of their acts; pairs of known truth."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns of a study, and the table of its log."""
    op.add_column("linkage_project", sa.Column("study", sa.Text, nullable=True))
    op.add_column("linkage_pair", sa.Column("gold", sa.Boolean, nullable=True))
    for name in ("condition", "stage", "answers"):
        op.add_column("linkage_worker", sa.Column(name, sa.Text, nullable=True))
    op.create_table(
        "linkage_event",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True),
        sa.Column(
            "project",
            sa.BigInteger().with_variant(sa.Integer, "sqlite"),
            sa.ForeignKey("linkage_project.id"),
            nullable=False,
        ),
        sa.Column("worker", sa.Text, nullable=False),
        sa.Column("pair", sa.BigInteger, nullable=True),
        sa.Column("act", sa.Text, nullable=False),
        sa.Column("attribute", sa.Text, nullable=True),
        sa.Column("since", sa.BigInteger, nullable=True),
        sa.Column("lasted", sa.BigInteger, nullable=True),
        sa.Column("at", sa.Text, nullable=False),
    )
    op.create_index("linkage_event_of", "linkage_event", ["project", "id"])
