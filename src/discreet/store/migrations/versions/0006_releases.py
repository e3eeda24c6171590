"""Releases with their sealed manifests, and the copy of each recipient."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables of releases and copies."""
    op.create_table(
        "release",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("version", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.Column("sealed", sa.LargeBinary, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("content", sa.Text, nullable=True),
        sa.Column("actor", sa.Text, nullable=False),
        sa.Column("made", sa.Text, nullable=False),
    )
    op.create_table(
        "release_copy",
        sa.Column("release", sa.Text, primary_key=True),
        sa.Column("version", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("recipient", sa.Text, primary_key=True),
        sa.Column("place", sa.BigInteger, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("file", sa.Text, nullable=True),
        sa.Column("rows", sa.BigInteger, nullable=True),
        sa.Column("changed", sa.Text, nullable=False),
        sa.ForeignKeyConstraint(["release", "version"], ["release.name", "release.version"], name="release_copy_of"),
        sa.CheckConstraint("state IN ('planned', 'approved', 'delivered', 'retired')", name="release_copy_state"),
    )
