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

from discreet.store.tables.ledger import Number, metadata, optional, required


def _unique(name: str, *columns: str, where: str) -> Index:
    """An index that admits one row of each kind among those that meet a condition."""
    return Index(name, *columns, unique=True, sqlite_where=text(where), postgresql_where=text(where))


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
    *required(entry=BigInteger, since=Text, mode=Text, tables=BigInteger, x=Text),
)
"""A database with a gateway in front of it, as of the gateway's last start."""

USER = Table(
    "gateway_user",
    metadata,
    Column("id", Number, primary_key=True),
    *required(database=Text, name=Text, exposure=BigInteger),
    Column("allowed", BigInteger, nullable=True),
    *required(rule=Text, answers=BigInteger, repeated=BigInteger, refused=BigInteger, would=BigInteger),
    *required(over=BigInteger, streak=BigInteger, seen=Text),
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
    *required(answers=BigInteger, rows=BigInteger, refused=BigInteger, would=BigInteger, over=BigInteger),
    *required(streak=BigInteger, opened=BigInteger, closed=BigInteger),
    Index("gateway_day_day", "day"),
)
"""One day of one user: exposure in the morning (`opened`) and in the evening, and the most refusals in a row."""

REFUSAL = Table(
    "gateway_refusal",
    metadata,
    Column("sequence", Number, ForeignKey("ledger_entry.sequence"), primary_key=True, autoincrement=False),
    *required(user=ForeignKey("gateway_user.id"), enforced=Boolean),
    Index("gateway_refusal_user", "user", "sequence"),
)
"""Entries that are refusals, including those that shadow mode only recorded."""

LIMIT = Table(
    "gateway_limit",
    metadata,
    Column("id", Number, primary_key=True),
    *required(database=Text, name=Text, allowed=BigInteger, action=Text),
    Column("until", Text, nullable=True),
    *required(reason=Text, state=Text, account=ForeignKey("web_account.id"), made=Text),
    *optional(decider=ForeignKey("web_account.id"), decided=Text, answer=Text, ended=Text),
    Column("entry", BigInteger, nullable=False, server_default=text("0")),
    CheckConstraint("allowed >= 0", name="gateway_limit_sign"),
    CheckConstraint("action IN ('deny', 'subset', 'mask', 'alert')", name="gateway_limit_action"),
    CheckConstraint(
        "state IN ('proposed', 'approved', 'declined', 'withdrawn', 'replaced')", name="gateway_limit_state"
    ),
    CheckConstraint("state <> 'approved' OR decider IS NOT NULL", name="gateway_limit_decided"),
    CheckConstraint("decider IS NULL OR decider <> account", name="gateway_limit_four_eyes"),
    _unique("gateway_limit_one", "database", "name", where="state = 'approved'"),
)
"""A limit proposed by one account (`account`) and decided by another (`decider`), for a user of a database or, with the
name *, for all. `allowed` is in millionths; `until` is the moment at which it ends; `entry` is how many entries the ledger
had when it was proposed.
"""

WITHDRAWAL = Table(
    "gateway_withdrawal",
    metadata,
    Column("id", Number, primary_key=True),
    *required(limit=ForeignKey("gateway_limit.id"), state=Text, account=ForeignKey("web_account.id"), made=Text),
    *required(entry=BigInteger),
    *optional(decider=ForeignKey("web_account.id"), decided=Text, answer=Text),
    CheckConstraint("state IN ('proposed', 'approved', 'declined')", name="gateway_withdrawal_state"),
    CheckConstraint("state <> 'approved' OR decider IS NOT NULL", name="gateway_withdrawal_decided"),
    CheckConstraint("decider IS NULL OR decider <> account", name="gateway_withdrawal_four_eyes"),
    _unique("gateway_withdrawal_one", "limit", where="state = 'proposed'"),
)
"""The withdrawal of a limit in force: proposed by one account (`account`), decided by another (`decider`)."""

EXPOSURE = Table(
    "misuse_exposure",
    metadata,
    Column("person", Text, primary_key=True),
    *required(version=BigInteger, content=LargeBinary),
)
"""The exposure of one user, as the misuse room serialises it; `version` grows with every change, so that none is lost."""

ANSWERS = Table(
    "gateway_answers",
    metadata,
    Column("database", Text, primary_key=True),
    Column("account", Text, primary_key=True),
    Column("attribute", Text, primary_key=True),
    *required(version=BigInteger, used=BigInteger, allowed=BigInteger, reduction=BigInteger, ceiling=BigInteger),
    *required(people=LargeBinary, content=LargeBinary, known=LargeBinary),
)
"""Statistics that an account was answered about a sensitive column: people asked about, audit, budget, known answers.

`allowed` is the budget and `ceiling` the audit's limit when it was last charged; `reduction` and `ceiling` are in millionths; `version` grows with every change, so that none is lost.
"""

DENIAL = Table(
    "gateway_denial",
    metadata,
    Column("person", Text, primary_key=True),
    Column("minute", BigInteger, primary_key=True, autoincrement=False),
    *required(denials=BigInteger),
)
"""How often the gateway refused a user (`person`) within a minute; older ones than an hour are not kept."""
