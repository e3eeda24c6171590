"""The ledger and its budgets."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
)

from discreet.store.tables.base import Number, metadata

ENTRY = Table(
    "ledger_entry",
    metadata,
    Column("sequence", Number, primary_key=True, autoincrement=False),
    Column("time", Text, nullable=False),
    Column("actor", Text, nullable=False),
    Column("room", Text, nullable=False),
    Column("event", Text, nullable=False),
    Column("outcome", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("leaf", Text, nullable=False),
    Column("body", Text, nullable=False),
    UniqueConstraint("key", "actor", name="ledger_entry_key"),
    Index("ledger_entry_subject", "subject"),
)
"""One disclosure, refusal or decision each. `body` is what is hashed; the other columns only help to find it."""

TREE = Table(
    "ledger_tree",
    metadata,
    Column(
        "id", SmallInteger, CheckConstraint("id = 1", name="ledger_tree_one"), primary_key=True, autoincrement=False
    ),
    Column("ledger", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("values_check", Text, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("root", Text, nullable=False),
    Column("peaks", Text, nullable=False),
    Column("last", Text, nullable=False),
    Column("time", Text, nullable=False),
    Column("signature", Text, nullable=False),
)
"""The one row that every writer locks first: the tree so far, and its signed head."""

NODE = Table(
    "ledger_node",
    metadata,
    Column("level", SmallInteger, primary_key=True, autoincrement=False),
    Column("position", BigInteger, primary_key=True, autoincrement=False),
    Column("hash", Text, nullable=False),
)
"""Hashes of some complete subtrees, so that a proof need not read everything. Never trusted by the verifier."""

BUDGET = Table(
    "ledger_budget",
    metadata,
    Column("name", Text, primary_key=True),
    Column("parts", BigInteger, nullable=False),
    Column("allowed", BigInteger, nullable=False),
    Column("spent", BigInteger, nullable=False),
    Column("reserved", BigInteger, nullable=False),
    Column("version", BigInteger, nullable=False),
    CheckConstraint("parts >= 1 AND spent >= 0 AND reserved >= 0", name="ledger_budget_signs"),
    CheckConstraint("spent + reserved <= allowed", name="ledger_budget_limit"),
)
"""Amounts are whole numbers of parts, `parts` to the one, so that the database compares them exactly."""

RESERVATION = Table(
    "ledger_reservation",
    metadata,
    Column("sequence", Number, ForeignKey("ledger_entry.sequence"), primary_key=True, autoincrement=False),
    Column("budget", Text, ForeignKey("ledger_budget.name"), nullable=False),
    Column("held", BigInteger, nullable=False),
    Column("expires", Text, nullable=False),
    Column("closed", BigInteger, nullable=True),
    Index("ledger_reservation_open", "closed", "expires"),
)
"""What is held back until it is settled, released or expired; `closed` is the entry that did so."""
