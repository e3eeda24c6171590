"""Passkeys: what an account's authenticators sign with."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Add the table of passkeys."""
    op.create_table(
        "web_passkey",
        sa.Column("id", NUMBER, primary_key=True),
        sa.Column("account", NUMBER, sa.ForeignKey("web_account.id"), nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("credential", sa.Text, nullable=False),
        sa.Column("public", sa.Text, nullable=False),
        sa.Column("counter", sa.BigInteger, nullable=False),
        sa.Column("made", sa.Text, nullable=False),
        sa.Column("used", sa.Text, nullable=True),
        sa.UniqueConstraint("credential", name="web_passkey_credential"),
    )
    op.create_index("web_passkey_account", "web_passkey", ["account"])
