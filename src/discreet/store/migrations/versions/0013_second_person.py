"""How far the ledger was when something was asked for, which tells who had an account then; and limits withdrawn by two."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Add the number of entries to plans and limits, and the table of withdrawals."""
    for table, moment, state in (("web_plan", "changed", "planned"), ("gateway_limit", "made", "proposed")):
        op.add_column(table, sa.Column("entry", sa.BigInteger, nullable=False, server_default=sa.text("0")))
        # What waits: its own entry was written at that moment or later, so that the first entry since is not after it.
        first = f"SELECT MIN(sequence) FROM ledger_entry WHERE time >= {table}.{moment}"  # noqa: S608 - names of ours
        op.execute(f"UPDATE {table} SET entry = COALESCE(({first}), 0) WHERE state = '{state}'")  # noqa: S608
    _make_withdrawals()


def _make_withdrawals() -> None:
    op.create_table(
        "gateway_withdrawal",
        sa.Column("id", NUMBER, primary_key=True),
        sa.Column("limit", NUMBER, sa.ForeignKey("gateway_limit.id"), nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("account", NUMBER, sa.ForeignKey("web_account.id"), nullable=False),
        sa.Column("made", sa.Text, nullable=False),
        sa.Column("entry", sa.BigInteger, nullable=False),
        sa.Column("decider", NUMBER, sa.ForeignKey("web_account.id"), nullable=True),
        sa.Column("decided", sa.Text, nullable=True),
        sa.Column("answer", sa.Text, nullable=True),
        sa.CheckConstraint("state IN ('proposed', 'approved', 'declined')", name="gateway_withdrawal_state"),
        sa.CheckConstraint("state <> 'approved' OR decider IS NOT NULL", name="gateway_withdrawal_decided"),
        sa.CheckConstraint("decider IS NULL OR decider <> account", name="gateway_withdrawal_four_eyes"),
    )
    op.create_index(
        "gateway_withdrawal_one",
        "gateway_withdrawal",
        ["limit"],
        unique=True,
        sqlite_where=sa.text("state = 'proposed'"),
        postgresql_where=sa.text("state = 'proposed'"),
    )
