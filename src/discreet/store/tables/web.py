"""Tables of the web application: accounts, data sets and jobs, sensitivity studies."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Table,
    Text,
    UniqueConstraint,
)

from discreet.store.tables.base import Number, metadata, queued

# -- accounts: who may sign in ------------------------------------------------------------------------------------------

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
    Column("maker", Number, nullable=True),
    UniqueConstraint("hash", name="web_token_hash"),
    Index("web_token_account", "account"),
    Index("web_token_maker", "maker"),
)
"""What a program shows at the API: some of the permissions of its account, for a while. Only its hash is kept. `maker` is
the token that made it, none if a person did.
"""

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

# -- data sets and the jobs on them -----------------------------------------------------------------------------------

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
"""A long-running job. Its runner holds `claim` until `lease`; moments are milliseconds since 1970."""

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

# -- sensitivity studies: experts are asked ---------------------------------------------------------------------------

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
