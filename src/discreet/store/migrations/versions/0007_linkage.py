"""Linkage projects: pairs, who reviews them, what is open in them, and what was decided."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Make the tables of projects, pairs, workers, assignments, cells and decisions."""
    _project()
    _pair()
    _worker()
    _assignment()
    _cell()
    _decision()


def _project() -> None:
    op.create_table(
        "linkage_project",
        sa.Column("id", NUMBER, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("folder", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("attributes", sa.Text, nullable=False),
        sa.Column("records", sa.BigInteger, nullable=False),
        sa.Column("initial", sa.Text, nullable=False),
        sa.Column("kappa", sa.BigInteger, nullable=False),
        sa.Column("strict", sa.Boolean, nullable=False),
        sa.Column("risk_limit", sa.Text, nullable=True),
        sa.Column("characters_limit", sa.Text, nullable=True),
        sa.Column("displays", sa.BigInteger, nullable=False),
        sa.Column("risk_spent", sa.BigInteger, nullable=False),
        sa.Column("risk_allowed", sa.BigInteger, nullable=True),
        sa.Column("characters", sa.BigInteger, nullable=False),
        sa.Column("characters_shown", sa.BigInteger, nullable=False),
        sa.Column("characters_allowed", sa.BigInteger, nullable=True),
        sa.Column("actor", sa.Text, nullable=False),
        sa.Column("made", sa.Text, nullable=False),
        sa.UniqueConstraint("name", name="linkage_project_name"),
        sa.CheckConstraint("state IN ('open', 'closed')", name="linkage_project_state"),
        sa.CheckConstraint("initial IN ('masked', 'minimum', 'moderate', 'full')", name="linkage_project_initial"),
        sa.CheckConstraint("risk_allowed IS NULL OR risk_spent <= risk_allowed", name="linkage_project_risk"),
        sa.CheckConstraint(
            "characters_allowed IS NULL OR characters_shown <= characters_allowed", name="linkage_project_characters"
        ),
    )


def _pair() -> None:
    op.create_table(
        "linkage_pair",
        sa.Column("project", NUMBER, sa.ForeignKey("linkage_project.id"), primary_key=True, autoincrement=False),
        sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("first", sa.BigInteger, nullable=False),
        sa.Column("second", sa.BigInteger, nullable=False),
        sa.Column("probability", sa.Double, nullable=True),
        sa.UniqueConstraint("project", "first", "second", name="linkage_pair_records"),
    )


def _worker() -> None:
    op.create_table(
        "linkage_worker",
        sa.Column("project", NUMBER, sa.ForeignKey("linkage_project.id"), primary_key=True, autoincrement=False),
        sa.Column("worker", sa.Text, primary_key=True),
        sa.Column("risk_limit", sa.Text, nullable=True),
        sa.Column("characters_limit", sa.Text, nullable=True),
        sa.Column("displays", sa.BigInteger, nullable=False),
        sa.Column("characters", sa.BigInteger, nullable=False),
        sa.Column("characters_shown", sa.BigInteger, nullable=False),
        sa.Column("characters_allowed", sa.BigInteger, nullable=True),
        sa.CheckConstraint(
            "characters_allowed IS NULL OR characters_shown <= characters_allowed", name="linkage_worker_characters"
        ),
    )


def _assignment() -> None:
    op.create_table(
        "linkage_assignment",
        sa.Column("id", NUMBER, primary_key=True),
        sa.Column("project", NUMBER, nullable=False),
        sa.Column("pair", sa.BigInteger, nullable=False),
        sa.Column("worker", sa.Text, nullable=False),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("place", sa.BigInteger, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("contribution", sa.Text, nullable=False),
        sa.Column("characters", sa.BigInteger, nullable=False),
        sa.Column("characters_shown", sa.BigInteger, nullable=False),
        sa.Column("made", sa.Text, nullable=False),
        sa.ForeignKeyConstraint(
            ["project", "pair"], ["linkage_pair.project", "linkage_pair.number"], name="linkage_assignment_of"
        ),
        sa.UniqueConstraint("project", "worker", "pair", name="linkage_assignment_once"),
        sa.CheckConstraint("role IN ('review', 'adjudication')", name="linkage_assignment_role"),
        sa.CheckConstraint("state IN ('open', 'decided', 'withdrawn')", name="linkage_assignment_state"),
    )
    op.create_index("linkage_assignment_pair", "linkage_assignment", ["project", "pair"])


def _cell() -> None:
    op.create_table(
        "linkage_cell",
        sa.Column("assignment", NUMBER, sa.ForeignKey("linkage_assignment.id"), primary_key=True, autoincrement=False),
        sa.Column("attribute", sa.Text, primary_key=True),
        sa.Column("mode", sa.Text, primary_key=True),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("at", sa.Text, nullable=False),
        sa.CheckConstraint("mode IN ('partial', 'full')", name="linkage_cell_mode"),
        sa.CheckConstraint("reason IN ('initial', 'asked', 'seen by others')", name="linkage_cell_reason"),
    )


def _decision() -> None:
    op.create_table(
        "linkage_decision",
        sa.Column("id", NUMBER, primary_key=True),
        sa.Column("assignment", NUMBER, sa.ForeignKey("linkage_assignment.id"), nullable=False),
        sa.Column("choice", sa.BigInteger, nullable=True),
        sa.Column("at", sa.Text, nullable=False),
        sa.CheckConstraint("choice IS NULL OR choice BETWEEN 0 AND 6", name="linkage_decision_choice"),
    )
    op.create_index("linkage_decision_of", "linkage_decision", ["assignment", "id"])
