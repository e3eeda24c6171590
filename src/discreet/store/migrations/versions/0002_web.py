"""The web application: accounts, sessions, one-time links, tokens, limits, and when the ledger was verified."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Make the tables of the web application."""
    op.create_table(
        "web_account",
        sa.Column("id", NUMBER, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("password", sa.Text, nullable=True),
        sa.Column("disabled", sa.Boolean, nullable=False),
        sa.Column("made", sa.Text, nullable=False),
        sa.Column("seen", sa.Text, nullable=True),
        sa.UniqueConstraint("name", name="web_account_name"),
    )
    op.create_table(
        "web_session",
        sa.Column("hash", sa.Text, primary_key=True),
        sa.Column("account", NUMBER, sa.ForeignKey("web_account.id"), nullable=False),
        sa.Column("made", sa.Text, nullable=False),
        sa.Column("seen", sa.Text, nullable=False),
    )
    op.create_index("web_session_account", "web_session", ["account"])
    op.create_table(
        "web_link",
        sa.Column("hash", sa.Text, primary_key=True),
        sa.Column("account", NUMBER, sa.ForeignKey("web_account.id"), nullable=True),
        sa.Column("made", sa.Text, nullable=False),
        sa.Column("expires", sa.Text, nullable=False),
        sa.Column("used", sa.Text, nullable=True),
    )
    op.create_index("web_link_account", "web_link", ["account"])
    op.create_table(
        "web_token",
        sa.Column("id", NUMBER, primary_key=True),
        sa.Column("account", NUMBER, sa.ForeignKey("web_account.id"), nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("hash", sa.Text, nullable=False),
        sa.Column("scopes", sa.Text, nullable=False),
        sa.Column("made", sa.Text, nullable=False),
        sa.Column("expires", sa.Text, nullable=False),
        sa.Column("revoked", sa.Text, nullable=True),
        sa.UniqueConstraint("hash", name="web_token_hash"),
    )
    op.create_index("web_token_account", "web_token", ["account"])
    op.create_table(
        "web_limit",
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("since", sa.Text, nullable=False),
        sa.Column("count", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "web_check",
        sa.Column("id", NUMBER, primary_key=True),
        sa.Column("time", sa.Text, nullable=False),
        sa.Column("actor", sa.Text, nullable=False),
        sa.Column("head", sa.Text, nullable=False),
        sa.Column("problems", sa.BigInteger, nullable=False),
    )
