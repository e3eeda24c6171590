"""Whether an account has put the first steps away."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the moment at which somebody put them away."""
    op.add_column("web_account", sa.Column("guide_left", sa.Text, nullable=True))
