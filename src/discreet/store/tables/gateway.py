"""Tables about database users: exposure, sums of the ledger's entries, limits approved by two people."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    LargeBinary,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from discreet.store.tables.base import Number, metadata

READ = Table(
    "gateway_read",
    metadata,
    Column(
        "id", SmallInteger, CheckConstraint("id = 1", name="gateway_read_one"), primary_key=True, autoincrement=False
    ),
    Column("upto", BigInteger, nullable=False),
)
"""The one row that says up to which ledger entry the totals below go."""

WATCHED = Table(
    "gateway_database",
    metadata,
    Column("name", Text, primary_key=True),
    Column("entry", BigInteger, nullable=False),
    Column("since", Text, nullable=False),
    Column("mode", Text, nullable=False),
    Column("tables", BigInteger, nullable=False),
    Column("x", Text, nullable=False),
)
"""A database with a gateway in front of it, as of the gateway's last start."""

USER = Table(
    "gateway_user",
    metadata,
    Column("id", Number, primary_key=True),
    Column("database", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("exposure", BigInteger, nullable=False),
    Column("allowed", BigInteger, nullable=True),
    Column("rule", Text, nullable=False),
    Column("answers", BigInteger, nullable=False),
    Column("repeated", BigInteger, nullable=False),
    Column("refused", BigInteger, nullable=False),
    Column("would", BigInteger, nullable=False),
    Column("over", BigInteger, nullable=False),
    Column("streak", BigInteger, nullable=False),
    Column("seen", Text, nullable=False),
    UniqueConstraint("database", "name", name="gateway_user_name"),
)
"""A user of a gateway. `exposure` and `allowed` are millionths; `would` counts results that shadow mode would have refused,
`over` results let through above the limit, `streak` the last refusals in a row.
"""

DAY = Table(
    "gateway_day",
    metadata,
    Column("user", Number, ForeignKey("gateway_user.id"), primary_key=True, autoincrement=False),
    Column("day", Text, primary_key=True),
    Column("answers", BigInteger, nullable=False),
    Column("rows", BigInteger, nullable=False),
    Column("refused", BigInteger, nullable=False),
    Column("would", BigInteger, nullable=False),
    Column("over", BigInteger, nullable=False),
    Column("streak", BigInteger, nullable=False),
    Column("opened", BigInteger, nullable=False),
    Column("closed", BigInteger, nullable=False),
    Index("gateway_day_day", "day"),
)
"""One day of one user: exposure in the morning (`opened`) and in the evening, and the most refusals in a row."""

REFUSAL = Table(
    "gateway_refusal",
    metadata,
    Column("sequence", Number, ForeignKey("ledger_entry.sequence"), primary_key=True, autoincrement=False),
    Column("user", Number, ForeignKey("gateway_user.id"), nullable=False),
    Column("enforced", Boolean, nullable=False),
    Index("gateway_refusal_user", "user", "sequence"),
)
"""Entries that are refusals, including those that shadow mode only recorded."""

LIMIT = Table(
    "gateway_limit",
    metadata,
    Column("id", Number, primary_key=True),
    Column("database", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("allowed", BigInteger, nullable=False),
    Column("action", Text, nullable=False),
    Column("until", Text, nullable=True),
    Column("reason", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("account", Number, ForeignKey("web_account.id"), nullable=False),
    Column("made", Text, nullable=False),
    Column("decider", Number, ForeignKey("web_account.id"), nullable=True),
    Column("decided", Text, nullable=True),
    Column("answer", Text, nullable=True),
    Column("ended", Text, nullable=True),
    Column("entry", BigInteger, nullable=False, server_default=text("0")),
    CheckConstraint("allowed >= 0", name="gateway_limit_sign"),
    CheckConstraint("action IN ('deny', 'subset', 'mask', 'alert')", name="gateway_limit_action"),
    CheckConstraint(
        "state IN ('proposed', 'approved', 'declined', 'withdrawn', 'replaced')", name="gateway_limit_state"
    ),
    CheckConstraint("state <> 'approved' OR decider IS NOT NULL", name="gateway_limit_decided"),
    CheckConstraint("decider IS NULL OR decider <> account", name="gateway_limit_four_eyes"),
    Index(
        "gateway_limit_one",
        "database",
        "name",
        unique=True,
        sqlite_where=text("state = 'approved'"),
        postgresql_where=text("state = 'approved'"),
    ),
)
"""A limit proposed by one account (`account`) and decided by another (`decider`), for a user of a database or, with the
name *, for all. `allowed` is in millionths; `until` is the moment at which it ends; `entry` is how many entries the ledger
had when it was proposed.
"""

WITHDRAWAL = Table(
    "gateway_withdrawal",
    metadata,
    Column("id", Number, primary_key=True),
    Column("limit", Number, ForeignKey("gateway_limit.id"), nullable=False),
    Column("state", Text, nullable=False),
    Column("account", Number, ForeignKey("web_account.id"), nullable=False),
    Column("made", Text, nullable=False),
    Column("entry", BigInteger, nullable=False),
    Column("decider", Number, ForeignKey("web_account.id"), nullable=True),
    Column("decided", Text, nullable=True),
    Column("answer", Text, nullable=True),
    CheckConstraint("state IN ('proposed', 'approved', 'declined')", name="gateway_withdrawal_state"),
    CheckConstraint("state <> 'approved' OR decider IS NOT NULL", name="gateway_withdrawal_decided"),
    CheckConstraint("decider IS NULL OR decider <> account", name="gateway_withdrawal_four_eyes"),
    Index(
        "gateway_withdrawal_one",
        "limit",
        unique=True,
        sqlite_where=text("state = 'proposed'"),
        postgresql_where=text("state = 'proposed'"),
    ),
)
"""The withdrawal of a limit in force: proposed by one account (`account`), decided by another (`decider`)."""

EXPOSURE = Table(
    "misuse_exposure",
    metadata,
    Column("person", Text, primary_key=True),
    Column("version", BigInteger, nullable=False),
    Column("content", LargeBinary, nullable=False),
)
"""The exposure of one user, as the misuse room serialises it; `version` grows with every change, so that none is lost."""
