"""Refusals of the gateway, by user and minute."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table of denials."""
    op.create_table(
        "gateway_denial",
        sa.Column("person", sa.Text, primary_key=True),
        sa.Column("minute", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("denials", sa.BigInteger, nullable=False),
    )
