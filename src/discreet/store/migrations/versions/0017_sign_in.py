"""Sign-in with more than a password: second factors, accounts of a provider, and what a session began with."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Add second factors, the provider's name of an account, and how and where a session began."""
    op.add_column("web_account", sa.Column("issuer", sa.Text, nullable=True))
    op.add_column("web_account", sa.Column("subject", sa.Text, nullable=True))
    op.create_index("web_account_subject", "web_account", ["issuer", "subject"], unique=True)
    op.add_column("web_session", sa.Column("method", sa.Text, nullable=True))
    op.add_column("web_session", sa.Column("agent", sa.Text, nullable=True))
    op.create_table(
        "web_factor",
        sa.Column("id", NUMBER, primary_key=True),
        sa.Column("account", NUMBER, sa.ForeignKey("web_account.id"), nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("secret", sa.Text, nullable=False),
        sa.Column("made", sa.Text, nullable=False),
        sa.Column("counter", sa.BigInteger, nullable=False),
        sa.Column("used", sa.Text, nullable=True),
        sa.CheckConstraint("kind IN ('totp', 'recovery')", name="web_factor_kind"),
    )
    op.create_index("web_factor_account", "web_factor", ["account"])
