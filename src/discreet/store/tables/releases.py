"""Releases: one copy per recipient, how they are planned, packed and traced."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    LargeBinary,
    Table,
    Text,
    text,
)

from discreet.store.tables.base import Number, metadata

RELEASE = Table(
    "release",
    metadata,
    Column("name", Text, primary_key=True),
    Column("version", BigInteger, primary_key=True, autoincrement=False),
    Column("revision", BigInteger, nullable=False),
    Column("sealed", LargeBinary, nullable=False),
    Column("digest", Text, nullable=False),
    Column("content", Text, nullable=True),
    Column("actor", Text, nullable=False),
    Column("made", Text, nullable=False),
)
"""One version of a release. `sealed` is its manifest, encrypted with a key that is not in the store; `digest` the SHA-256
of that, which the ledger holds as well; `content` a keyed hash of the rows that its copies were written from; `revision`
counts how often recipients were added.
"""

RELEASE_COPY = Table(
    "release_copy",
    metadata,
    Column("release", Text, primary_key=True),
    Column("version", BigInteger, primary_key=True, autoincrement=False),
    Column("recipient", Text, primary_key=True),
    Column("place", BigInteger, nullable=False),
    Column("state", Text, nullable=False),
    Column("file", Text, nullable=True),
    Column("rows", BigInteger, nullable=True),
    Column("changed", Text, nullable=False),
    ForeignKeyConstraint(["release", "version"], ["release.name", "release.version"], name="release_copy_of"),
    CheckConstraint("state IN ('planned', 'approved', 'delivered', 'retired')", name="release_copy_state"),
)
"""One recipient's copy of a version; `file` is the SHA-256 of the last file that was handed over, `place` the order in
which recipients were named.
"""

PLAN = Table(
    "web_plan",
    metadata,
    Column("id", Number, primary_key=True),
    Column("release", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("dataset", BigInteger, nullable=False),
    Column("content", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("state", Text, nullable=False),
    Column("account", Number, ForeignKey("web_account.id"), nullable=False),
    Column("changed", Text, nullable=False),
    Column("preflight", Text, nullable=True),
    Column("decider", Number, ForeignKey("web_account.id"), nullable=True),
    Column("decided", Text, nullable=True),
    Column("reason", Text, nullable=True),
    Column("entry", BigInteger, nullable=False, server_default=text("0")),
    CheckConstraint("kind IN ('new', 'more')", name="web_plan_kind"),
    CheckConstraint(
        "state IN ('planned', 'approved', 'rejected', 'withdrawn', 'making', 'made')", name="web_plan_state"
    ),
    CheckConstraint("decider IS NULL OR decider <> account", name="web_plan_four_eyes"),
    Index("web_plan_of", "release"),
)
"""A release, or further recipients of one, planned by one account (`account`) and decided by another (`decider`).
`content` is what was planned, as JSON, `digest` the SHA-256 of it; `version` grows with every change. `dataset` may be
one that was removed since. `entry` is how many entries the ledger had when it was planned or last changed.
"""

PARCEL = Table(
    "web_parcel",
    metadata,
    Column("release", Text, primary_key=True),
    Column("version", BigInteger, primary_key=True, autoincrement=False),
    Column("recipient", Text, primary_key=True),
    Column("plan", Number, ForeignKey("web_plan.id"), nullable=False),
    Column("file", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("made", Text, nullable=False),
)
"""A packed copy of a recipient in the data folder: the name of its file, its SHA-256 and its size."""

TRACE = Table(
    "web_trace",
    metadata,
    Column("id", Number, primary_key=True),
    Column("release", Text, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("kind", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("account", Number, ForeignKey("web_account.id"), nullable=False),
    Column("made", Text, nullable=False),
    Column("numbers", Text, nullable=False),
    Column("parts", Text, nullable=False),
    Column("report", Text, nullable=False),
    Index("web_trace_of", "release"),
)
"""What a trace found: numbers, sections of a page and the report. None of them holds a value of a claim."""
