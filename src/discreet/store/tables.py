"""The tables, as statements speak of them. The migrations make them; a test holds the two together."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
)

metadata = MetaData()

Number = BigInteger().with_variant(Integer, "sqlite")
"""A key that SQLite keeps as its row number."""

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

# -- the web application: who may come in ---------------------------------------------------------------------------

ACCOUNT = Table(
    "web_account",
    metadata,
    Column("id", Number, primary_key=True),
    Column("name", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("password", Text, nullable=True),
    Column("disabled", Boolean, nullable=False),
    Column("made", Text, nullable=False),
    Column("seen", Text, nullable=True),
    Column("guide_left", Text, nullable=True),
    UniqueConstraint("name", name="web_account_name"),
)
"""A person. `password` is an argon2id hash, none until the invitation is taken up; `seen` the last time of signing in;
`guide_left` when the first steps were put away, none while they are shown.
"""

SESSION = Table(
    "web_session",
    metadata,
    Column("hash", Text, primary_key=True),
    Column("account", Number, ForeignKey("web_account.id"), nullable=False),
    Column("made", Text, nullable=False),
    Column("seen", Text, nullable=False),
    Index("web_session_account", "account"),
)
"""Somebody who is signed in. Only the hash of the token is kept."""

LINK = Table(
    "web_link",
    metadata,
    Column("hash", Text, primary_key=True),
    Column("account", Number, ForeignKey("web_account.id"), nullable=True),
    Column("made", Text, nullable=False),
    Column("expires", Text, nullable=False),
    Column("used", Text, nullable=True),
    Index("web_link_account", "account"),
)
"""A link that works once: for the account to set a password; without one, to make the first account of all."""

TOKEN = Table(
    "web_token",
    metadata,
    Column("id", Number, primary_key=True),
    Column("account", Number, ForeignKey("web_account.id"), nullable=False),
    Column("name", Text, nullable=False),
    Column("hash", Text, nullable=False),
    Column("scopes", Text, nullable=False),
    Column("made", Text, nullable=False),
    Column("expires", Text, nullable=False),
    Column("revoked", Text, nullable=True),
    UniqueConstraint("hash", name="web_token_hash"),
    Index("web_token_account", "account"),
)
"""What a program shows at the API: some of the permissions of its account, for a while. Only its hash is kept."""

LIMIT = Table(
    "web_limit",
    metadata,
    Column("key", Text, primary_key=True),
    Column("since", Text, nullable=False),
    Column("count", BigInteger, nullable=False),
)
"""How often something was tried since a moment, by the keyed hash of what it was."""

CHECK = Table(
    "web_check",
    metadata,
    Column("id", Number, primary_key=True),
    Column("time", Text, nullable=False),
    Column("actor", Text, nullable=False),
    Column("head", Text, nullable=False),
    Column("problems", BigInteger, nullable=False),
)
"""When the ledger was verified, by whom, up to which head, and how much was found."""

# -- the web application: data sets and the jobs on them --------------------------------------------------------------

DATASET = Table(
    "web_dataset",
    metadata,
    Column("id", Number, primary_key=True),
    Column("name", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("place", Text, nullable=False),
    Column("secret", Text, nullable=True),
    Column("size", BigInteger, nullable=True),
    Column("hash", Text, nullable=True),
    Column("columns", Text, nullable=False),
    Column("encoding", Text, nullable=True),
    Column("account", Number, ForeignKey("web_account.id"), nullable=False),
    Column("made", Text, nullable=False),
    Column("policy", Text, nullable=True),
    Column("version", BigInteger, nullable=False),
    Column("population", Number, ForeignKey("web_dataset.id"), nullable=True),
    Column("population_size", BigInteger, nullable=True),
    UniqueConstraint("name", name="web_dataset_name"),
)
"""A table of people: a file that was uploaded, one that is where it is, or a table of a PostgreSQL server.

`secret` is the password of that server, encrypted with a key that is not in the store; `version` counts the changes of
the policy.
"""

HIERARCHY = Table(
    "web_hierarchy",
    metadata,
    Column("dataset", Number, ForeignKey("web_dataset.id"), primary_key=True, autoincrement=False),
    Column("name", Text, primary_key=True),
    Column("content", Text, nullable=False),
)
"""Files of hierarchies that the policy of a data set names."""


def queued() -> list[Column[Any]]:
    """The columns of work that waits, is claimed for a while, goes on and ends."""
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


JOB = Table(
    "web_job",
    metadata,
    Column("id", Number, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("dataset", Number, ForeignKey("web_dataset.id"), nullable=False),
    Column("account", Number, ForeignKey("web_account.id"), nullable=False),
    *queued(),
    CheckConstraint("state IN ('queued', 'running', 'done', 'failed', 'cancelled')", name="web_job_state"),
    Index("web_job_waiting", "state", "id"),
    Index("web_job_dataset", "dataset", "id"),
    sqlite_autoincrement=True,
)
"""Something that takes its time. Whoever runs it holds `claim` until `lease`; moments are milliseconds since 1970."""

RESULT = Table(
    "web_result",
    metadata,
    Column("job", Number, ForeignKey("web_job.id"), primary_key=True, autoincrement=False),
    Column("numbers", Text, nullable=False),
    Column("parts", Text, nullable=False),
    Column("report", Text, nullable=True),
    Column("policy", Text, nullable=True),
    Column("hash", Text, nullable=True),
    Column("file", Text, nullable=True),
)
"""What a job found: as JSON, as sections of a page, as a report of one file, and the file it wrote."""

# -- how sensitive values are: experts are asked ---------------------------------------------------------------------

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

# -- misuse: what users have learned ---------------------------------------------------------------------------------

EXPOSURE = Table(
    "misuse_exposure",
    metadata,
    Column("person", Text, primary_key=True),
    Column("version", BigInteger, nullable=False),
    Column("content", LargeBinary, nullable=False),
)
"""What one user has learned, as the misuse room packs it; `version` grows with every change, so that none is lost."""

# -- releases: one copy per recipient ---------------------------------------------------------------------------------

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
    CheckConstraint("kind IN ('new', 'more')", name="web_plan_kind"),
    CheckConstraint(
        "state IN ('planned', 'approved', 'rejected', 'withdrawn', 'making', 'made')", name="web_plan_state"
    ),
    CheckConstraint("decider IS NULL OR decider <> account", name="web_plan_four_eyes"),
    Index("web_plan_of", "release"),
)
"""A release, or further recipients of one, that somebody planned (`account`) and somebody else decided on (`decider`).
`content` is what was planned, as JSON, `digest` the SHA-256 of it; `version` grows with every change. `dataset` may be
one that was removed since.
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
"""A recipient's copy that lies in our folder, packed: the name of its file, its SHA-256 and its bytes."""

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
