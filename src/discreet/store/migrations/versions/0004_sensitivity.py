"""Studies of how sensitive values are, the interviews with experts, and the versions made from them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Make the tables of studies, interviews and versions."""
    op.create_table(
        "web_study",
        sa.Column("id", NUMBER, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("items", sa.Text, nullable=False),
        sa.Column("ratings", sa.BigInteger, nullable=False),
        sa.Column("account", NUMBER, sa.ForeignKey("web_account.id"), nullable=False),
        sa.Column("made", sa.Text, nullable=False),
        sa.Column("closed", sa.Text, nullable=True),
        sa.UniqueConstraint("name", name="web_study_name"),
    )
    op.create_table(
        "web_interview",
        sa.Column("study", NUMBER, sa.ForeignKey("web_study.id"), primary_key=True, autoincrement=False),
        sa.Column("account", NUMBER, sa.ForeignKey("web_account.id"), primary_key=True, autoincrement=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("changed", sa.Text, nullable=False),
    )
    op.create_table(
        "web_sensitivity",
        sa.Column("id", NUMBER, primary_key=True),
        sa.Column("study", NUMBER, sa.ForeignKey("web_study.id"), nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("account", NUMBER, sa.ForeignKey("web_account.id"), nullable=False),
        sa.Column("made", sa.Text, nullable=False),
        sa.UniqueConstraint("study", "digest", name="web_sensitivity_digest"),
    )
