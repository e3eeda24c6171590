"""How sensitive values are: experts are asked."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Table, Text, UniqueConstraint

from discreet.store.tables.base import Number, metadata

STUDY = Table(
    "web_study",
    metadata,
    Column("id", Number, primary_key=True),
    Column("name", Text, nullable=False),
    Column("items", Text, nullable=False),
    Column("ratings", BigInteger, nullable=False),
    Column("account", Number, ForeignKey("web_account.id"), nullable=False),
    Column("made", Text, nullable=False),
    Column("closed", Text, nullable=True),
    UniqueConstraint("name", name="web_study_name"),
)
"""Values whose sensitivity experts are asked about; `items` are categories and ranges, never records."""

INTERVIEW = Table(
    "web_interview",
    metadata,
    Column("study", Number, ForeignKey("web_study.id"), primary_key=True, autoincrement=False),
    Column("account", Number, ForeignKey("web_account.id"), primary_key=True, autoincrement=False),
    Column("content", Text, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("changed", Text, nullable=False),
)
"""What one expert was asked and said, as JSON; `version` grows with every answer, so that none is lost."""

SENSITIVITY = Table(
    "web_sensitivity",
    metadata,
    Column("id", Number, primary_key=True),
    Column("study", Number, ForeignKey("web_study.id"), nullable=False),
    Column("digest", Text, nullable=False),
    Column("content", Text, nullable=False),
    Column("account", Number, ForeignKey("web_account.id"), nullable=False),
    Column("made", Text, nullable=False),
    UniqueConstraint("study", "digest", name="web_sensitivity_digest"),
)
"""A version of the sensitivity function: the sections of a policy and how far experts agreed, as JSON."""
