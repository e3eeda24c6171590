"""Parts that tables share: metadata, the type of keys, the columns of a queue."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Column, Integer, MetaData, Text

metadata = MetaData()

Number = BigInteger().with_variant(Integer, "sqlite")
"""A key that SQLite uses as its row number."""


def queued() -> list[Column[Any]]:
    """The columns of queued work: request, state, claim and lease, progress, failure."""
    return [
        Column("asked", Text, nullable=False),
        Column("state", Text, nullable=False),
        Column("made", BigInteger, nullable=False),
        Column("started", BigInteger, nullable=True),
        Column("ended", BigInteger, nullable=True),
        Column("attempts", BigInteger, nullable=False),
        Column("claim", Text, nullable=True),
        Column("lease", BigInteger, nullable=True),
        Column("step", Text, nullable=False),
        Column("progress", BigInteger, nullable=True),
        Column("problem", Text, nullable=True),
        Column("remedy", Text, nullable=True),
    ]
