"""Misuse: what users have learned."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, LargeBinary, Table, Text

from discreet.store.tables.base import metadata

EXPOSURE = Table(
    "misuse_exposure",
    metadata,
    Column("person", Text, primary_key=True),
    Column("version", BigInteger, nullable=False),
    Column("content", LargeBinary, nullable=False),
)
"""What one user has learned, as the misuse room packs it; `version` grows with every change, so that none is lost."""
