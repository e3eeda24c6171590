"""The ledger: its entries, its tree, budgets and what is held back."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")

APPEND_ONLY = {
    "sqlite": [
        f"CREATE TRIGGER ledger_entry_no_{what} BEFORE {what} ON ledger_entry"
        " BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"
        for what in ("update", "delete")
    ],
    "postgresql": [
        """CREATE FUNCTION ledger_entry_is_append_only() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'the ledger is append-only'; END $$""",
        """CREATE TRIGGER ledger_entry_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_entry
        FOR EACH STATEMENT EXECUTE FUNCTION ledger_entry_is_append_only()""",
    ],
}
"""Against slips, not against an owner of the database: he can drop a trigger, and the verifier sees what he did."""


def upgrade() -> None:
    """Make the tables of the ledger."""
    op.create_table(
        "ledger_entry",
        sa.Column("sequence", NUMBER, primary_key=True, autoincrement=False),
        sa.Column("time", sa.Text, nullable=False),
        sa.Column("actor", sa.Text, nullable=False),
        sa.Column("room", sa.Text, nullable=False),
        sa.Column("event", sa.Text, nullable=False),
        sa.Column("outcome", sa.Text, nullable=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("leaf", sa.Text, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.UniqueConstraint("key", "actor", name="ledger_entry_key"),
    )
    op.create_index("ledger_entry_subject", "ledger_entry", ["subject"])
    tree = op.create_table(
        "ledger_tree",
        sa.Column(
            "id",
            sa.SmallInteger,
            sa.CheckConstraint("id = 1", name="ledger_tree_one"),
            primary_key=True,
            autoincrement=False,
        ),
        sa.Column("ledger", sa.Text, nullable=False),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("values_check", sa.Text, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("root", sa.Text, nullable=False),
        sa.Column("peaks", sa.Text, nullable=False),
        sa.Column("last", sa.Text, nullable=False),
        sa.Column("time", sa.Text, nullable=False),
        sa.Column("signature", sa.Text, nullable=False),
    )
    unopened = dict.fromkeys(("ledger", "key", "values_check", "root", "peaks", "last", "time", "signature"), "")
    op.bulk_insert(tree, [{"id": 1, "size": 0, **unopened}])
    op.create_table(
        "ledger_node",
        sa.Column("level", sa.SmallInteger, primary_key=True, autoincrement=False),
        sa.Column("position", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("hash", sa.Text, nullable=False),
    )
    op.create_table(
        "ledger_budget",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("parts", sa.BigInteger, nullable=False),
        sa.Column("allowed", sa.BigInteger, nullable=False),
        sa.Column("spent", sa.BigInteger, nullable=False),
        sa.Column("reserved", sa.BigInteger, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.CheckConstraint("parts >= 1 AND spent >= 0 AND reserved >= 0", name="ledger_budget_signs"),
        sa.CheckConstraint("spent + reserved <= allowed", name="ledger_budget_limit"),
    )
    op.create_table(
        "ledger_reservation",
        sa.Column("sequence", NUMBER, sa.ForeignKey("ledger_entry.sequence"), primary_key=True, autoincrement=False),
        sa.Column("budget", sa.Text, sa.ForeignKey("ledger_budget.name"), nullable=False),
        sa.Column("held", sa.BigInteger, nullable=False),
        sa.Column("expires", sa.Text, nullable=False),
        sa.Column("closed", sa.BigInteger, nullable=True),
    )
    op.create_index("ledger_reservation_open", "ledger_reservation", ["closed", "expires"])
    for statement in APPEND_ONLY[op.get_bind().dialect.name]:
        op.execute(statement)
