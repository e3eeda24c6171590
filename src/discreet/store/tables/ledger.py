"""Tables of the ledger and its budgets, and the parts that all tables share."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.types import TypeEngine

metadata = MetaData()

Number = BigInteger().with_variant(Integer, "sqlite")
"""A key that SQLite uses as its row number."""


Kind = type[TypeEngine[Any]] | TypeEngine[Any] | ForeignKey
"""A type, or the key of another table."""


def required(**kinds: Kind) -> list[Column[Any]]:
    """Columns that every row fills."""
    return [_column(name, kind, nullable=False) for name, kind in kinds.items()]


def optional(**kinds: Kind) -> list[Column[Any]]:
    """Columns that may be empty."""
    return [_column(name, kind, nullable=True) for name, kind in kinds.items()]


def _column(name: str, kind: Kind, *, nullable: bool) -> Column[Any]:
    if isinstance(kind, ForeignKey):
        return Column(name, Number, kind, nullable=nullable)
    return Column(name, kind, nullable=nullable)


def queued() -> list[Column[Any]]:
    """The columns of queued work: request, state, claim and lease, progress, failure."""
    return [
        *required(asked=Text, state=Text, made=BigInteger),
        *optional(started=BigInteger, ended=BigInteger),
        Column("attempts", BigInteger, nullable=False),
        *optional(claim=Text, lease=BigInteger),
        Column("step", Text, nullable=False),
        *optional(progress=BigInteger, problem=Text, remedy=Text),
    ]


ENTRY = Table(
    "ledger_entry",
    metadata,
    Column("sequence", Number, primary_key=True, autoincrement=False),
    *required(time=Text, actor=Text, room=Text, event=Text, outcome=Text, subject=Text, key=Text, leaf=Text, body=Text),
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
    *required(ledger=Text, key=Text, values_check=Text, size=BigInteger, root=Text, peaks=Text, last=Text, time=Text),
    *required(signature=Text),
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
    *required(parts=BigInteger, allowed=BigInteger, spent=BigInteger, reserved=BigInteger, version=BigInteger),
    CheckConstraint("parts >= 1 AND spent >= 0 AND reserved >= 0", name="ledger_budget_signs"),
    CheckConstraint("spent + reserved <= allowed", name="ledger_budget_limit"),
)
"""Amounts are whole numbers of parts, `parts` to the one, so that the database compares them exactly."""

RESERVATION = Table(
    "ledger_reservation",
    metadata,
    Column("sequence", Number, ForeignKey("ledger_entry.sequence"), primary_key=True, autoincrement=False),
    Column("budget", Text, ForeignKey("ledger_budget.name"), nullable=False),
    *required(held=BigInteger, expires=Text),
    Column("closed", BigInteger, nullable=True),
    Index("ledger_reservation_open", "closed", "expires"),
)
"""What is held back until it is settled, released or expired; `closed` is the entry that did so."""
