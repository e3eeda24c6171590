"""Statistics that users of the gateway were answered: audit of who sets, and budget."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table of answers."""
    op.create_table(
        "gateway_answers",
        sa.Column("database", sa.Text, primary_key=True),
        sa.Column("account", sa.Text, primary_key=True),
        sa.Column("attribute", sa.Text, primary_key=True),
        *(
            sa.Column(name, sa.BigInteger, nullable=False)
            for name in ("version", "used", "allowed", "reduction", "ceiling")
        ),
        *(sa.Column(name, sa.LargeBinary, nullable=False) for name in ("people", "content", "known")),
    )
