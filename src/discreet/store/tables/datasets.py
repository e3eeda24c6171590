"""The web application: data sets and the jobs on them."""

from __future__ import annotations

from sqlalchemy import BigInteger, CheckConstraint, Column, ForeignKey, Index, Table, Text, UniqueConstraint

from discreet.store.tables.base import Number, metadata, queued

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
