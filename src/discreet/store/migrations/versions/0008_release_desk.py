"""The release desk: plans that wait for a second pair of eyes, copies that lie ready, and traces."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Make the tables of plans, parcels and traces."""
    op.create_table(
        "web_plan",
        sa.Column("id", NUMBER, primary_key=True),
        sa.Column("release", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("dataset", sa.BigInteger, nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("account", NUMBER, sa.ForeignKey("web_account.id"), nullable=False),
        sa.Column("changed", sa.Text, nullable=False),
        sa.Column("preflight", sa.Text, nullable=True),
        sa.Column("decider", NUMBER, sa.ForeignKey("web_account.id"), nullable=True),
        sa.Column("decided", sa.Text, nullable=True),
        sa.Column("reason", sa.Text, nullable=True),
        sa.CheckConstraint("kind IN ('new', 'more')", name="web_plan_kind"),
        sa.CheckConstraint(
            "state IN ('planned', 'approved', 'rejected', 'withdrawn', 'making', 'made')", name="web_plan_state"
        ),
        sa.CheckConstraint("decider IS NULL OR decider <> account", name="web_plan_four_eyes"),
    )
    op.create_index("web_plan_of", "web_plan", ["release"])
    op.create_table(
        "web_parcel",
        sa.Column("release", sa.Text, primary_key=True),
        sa.Column("version", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("recipient", sa.Text, primary_key=True),
        sa.Column("plan", NUMBER, sa.ForeignKey("web_plan.id"), nullable=False),
        sa.Column("file", sa.Text, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("made", sa.Text, nullable=False),
    )
    op.create_table(
        "web_trace",
        sa.Column("id", NUMBER, primary_key=True),
        sa.Column("release", sa.Text, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("account", NUMBER, sa.ForeignKey("web_account.id"), nullable=False),
        sa.Column("made", sa.Text, nullable=False),
        sa.Column("numbers", sa.Text, nullable=False),
        sa.Column("parts", sa.Text, nullable=False),
        sa.Column("report", sa.Text, nullable=False),
    )
    op.create_index("web_trace_of", "web_trace", ["release"])
