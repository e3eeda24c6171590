"""Administrators: roles that two people change, and a first link for each role that needs one.

No account changes its role here. A store from before has custodians, and none of them makes accounts any more: the next start
of the server prints a link that makes the first administrator.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Add the role of first links, and the table of role changes."""
    op.add_column("web_link", sa.Column("role", sa.Text, nullable=True))
    # A first link that still waits was printed as a custodian's.
    op.execute("UPDATE web_link SET role = 'custodian' WHERE account IS NULL")
    op.create_table(
        "web_role_change",
        sa.Column("id", NUMBER, primary_key=True),
        sa.Column("account", NUMBER, sa.ForeignKey("web_account.id"), nullable=False),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("was", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("proposer", NUMBER, sa.ForeignKey("web_account.id"), nullable=False),
        sa.Column("made", sa.Text, nullable=False),
        sa.Column("entry", sa.BigInteger, nullable=False),
        sa.Column("decider", NUMBER, sa.ForeignKey("web_account.id"), nullable=True),
        sa.Column("decided", sa.Text, nullable=True),
        sa.Column("answer", sa.Text, nullable=True),
        sa.CheckConstraint("state IN ('proposed', 'approved', 'rejected', 'withdrawn')", name="web_role_change_state"),
        sa.CheckConstraint(
            "decider IS NULL OR (decider <> proposer AND decider <> account)", name="web_role_change_four_eyes"
        ),
    )
    op.create_index("web_role_change_account", "web_role_change", ["account"])
