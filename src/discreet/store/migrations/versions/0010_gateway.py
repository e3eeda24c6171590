"""Users of the gateway: what the ledger tells of each, and limits that two people agreed on."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Make the tables of users, their days and refusals, and of limits."""
    op.create_table(
        "gateway_read",
        sa.Column("id", sa.SmallInteger, primary_key=True, autoincrement=False),
        sa.Column("upto", sa.BigInteger, nullable=False),
        sa.CheckConstraint("id = 1", name="gateway_read_one"),
    )
    op.execute("INSERT INTO gateway_read (id, upto) VALUES (1, -1)")
    op.create_table(
        "gateway_database",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("entry", sa.BigInteger, nullable=False),
        sa.Column("since", sa.Text, nullable=False),
        sa.Column("mode", sa.Text, nullable=False),
        sa.Column("tables", sa.BigInteger, nullable=False),
        sa.Column("x", sa.Text, nullable=False),
    )
    op.create_table(
        "gateway_user",
        sa.Column("id", NUMBER, primary_key=True),
        sa.Column("database", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("exposure", sa.BigInteger, nullable=False),
        sa.Column("allowed", sa.BigInteger, nullable=True),
        sa.Column("rule", sa.Text, nullable=False),
        *(
            sa.Column(name, sa.BigInteger, nullable=False)
            for name in ("answers", "repeated", "refused", "would", "over", "streak")
        ),
        sa.Column("seen", sa.Text, nullable=False),
        sa.UniqueConstraint("database", "name", name="gateway_user_name"),
    )
    op.create_table(
        "gateway_day",
        sa.Column("user", NUMBER, sa.ForeignKey("gateway_user.id"), primary_key=True, autoincrement=False),
        sa.Column("day", sa.Text, primary_key=True),
        *(
            sa.Column(name, sa.BigInteger, nullable=False)
            for name in ("answers", "rows", "refused", "would", "over", "streak", "opened", "closed")
        ),
    )
    op.create_index("gateway_day_day", "gateway_day", ["day"])
    op.create_table(
        "gateway_refusal",
        sa.Column("sequence", NUMBER, sa.ForeignKey("ledger_entry.sequence"), primary_key=True, autoincrement=False),
        sa.Column("user", NUMBER, sa.ForeignKey("gateway_user.id"), nullable=False),
        sa.Column("enforced", sa.Boolean, nullable=False),
    )
    op.create_index("gateway_refusal_user", "gateway_refusal", ["user", "sequence"])
    _make_limits()


def _make_limits() -> None:
    op.create_table(
        "gateway_limit",
        sa.Column("id", NUMBER, primary_key=True),
        sa.Column("database", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("allowed", sa.BigInteger, nullable=False),
        sa.Column("action", sa.Text, nullable=False),
        sa.Column("until", sa.Text, nullable=True),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("account", NUMBER, sa.ForeignKey("web_account.id"), nullable=False),
        sa.Column("made", sa.Text, nullable=False),
        sa.Column("decider", NUMBER, sa.ForeignKey("web_account.id"), nullable=True),
        sa.Column("decided", sa.Text, nullable=True),
        sa.Column("answer", sa.Text, nullable=True),
        sa.Column("ended", sa.Text, nullable=True),
        sa.CheckConstraint("allowed >= 0", name="gateway_limit_sign"),
        sa.CheckConstraint("action IN ('deny', 'subset', 'mask', 'alert')", name="gateway_limit_action"),
        sa.CheckConstraint(
            "state IN ('proposed', 'approved', 'declined', 'withdrawn', 'replaced')", name="gateway_limit_state"
        ),
        sa.CheckConstraint("state <> 'approved' OR decider IS NOT NULL", name="gateway_limit_decided"),
        sa.CheckConstraint("decider IS NULL OR decider <> account", name="gateway_limit_four_eyes"),
    )
    op.create_index(
        "gateway_limit_one",
        "gateway_limit",
        ["database", "name"],
        unique=True,
        sqlite_where=sa.text("state = 'approved'"),
        postgresql_where=sa.text("state = 'approved'"),
    )
