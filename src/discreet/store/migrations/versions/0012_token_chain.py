"""Which token made a token, so that it ends with it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Add the number of the token that made it; nobody knows that of those there are."""
    op.add_column("web_token", sa.Column("maker", NUMBER, nullable=True))
    op.create_index("web_token_maker", "web_token", ["maker"])
