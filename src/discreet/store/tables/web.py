"""Tables of releases and of the web application: accounts, data sets and jobs, sensitivity studies."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    LargeBinary,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from discreet.store.tables.ledger import Number, metadata, optional, queued, required

# -- accounts: who may sign in ------------------------------------------------------------------------------------------

ACCOUNT = Table(
    "web_account",
    metadata,
    Column("id", Number, primary_key=True),
    *required(name=Text, role=Text),
    Column("password", Text, nullable=True),
    *required(disabled=Boolean, made=Text),
    *optional(seen=Text, guide_left=Text, issuer=Text, subject=Text),
    UniqueConstraint("name", name="web_account_name"),
    Index("web_account_subject", "issuer", "subject", unique=True),
)
"""A person. `password` is an argon2id hash, none until the invitation is taken up; `seen` the last time of signing in;
`guide_left` when the first steps were put away, none while they are shown; `issuer` and `subject` the provider of single
sign-on and its name for the person.
"""

SESSION = Table(
    "web_session",
    metadata,
    Column("hash", Text, primary_key=True),
    *required(account=ForeignKey("web_account.id"), made=Text, seen=Text),
    *optional(method=Text, agent=Text),
    Index("web_session_account", "account"),
)
"""A person who is signed in. Only the hash of the token is stored; `method` says what was shown, `agent` is the browser."""

FACTOR = Table(
    "web_factor",
    metadata,
    Column("id", Number, primary_key=True),
    *required(account=ForeignKey("web_account.id"), kind=Text, secret=Text, made=Text, counter=BigInteger),
    Column("used", Text, nullable=True),
    CheckConstraint("kind IN ('totp', 'recovery')", name="web_factor_kind"),
    Index("web_factor_account", "account"),
)
"""What an account shows beside its password. The `secret` of an app (totp) is encrypted with a key that is not in the store,
`counter` the last period whose code was used; of a recovery code only the hash is stored.
"""

PASSKEY = Table(
    "web_passkey",
    metadata,
    Column("id", Number, primary_key=True),
    *required(
        account=ForeignKey("web_account.id"), name=Text, credential=Text, public=Text, counter=BigInteger, made=Text
    ),
    Column("used", Text, nullable=True),
    UniqueConstraint("credential", name="web_passkey_credential"),
    Index("web_passkey_account", "account"),
)
"""An authenticator that signs for an account: its number for it (`credential`), its `public` key, and how often it has
signed, if it counts.
"""

LINK = Table(
    "web_link",
    metadata,
    Column("hash", Text, primary_key=True),
    Column("account", Number, ForeignKey("web_account.id"), nullable=True),
    *required(made=Text, expires=Text),
    *optional(used=Text, role=Text),
    Index("web_link_account", "account"),
)
"""A link that works once: for the account to set a password; without one, to make the first account in `role`."""

ROLE_CHANGE = Table(
    "web_role_change",
    metadata,
    Column("id", Number, primary_key=True),
    *required(account=ForeignKey("web_account.id"), role=Text, was=Text, reason=Text, state=Text),
    *required(proposer=ForeignKey("web_account.id"), made=Text, entry=BigInteger),
    *optional(decider=ForeignKey("web_account.id"), decided=Text, answer=Text),
    CheckConstraint("state IN ('proposed', 'approved', 'rejected', 'withdrawn')", name="web_role_change_state"),
    CheckConstraint(
        "decider IS NULL OR (decider <> proposer AND decider <> account)", name="web_role_change_four_eyes"
    ),
    Index("web_role_change_account", "account"),
)
"""Another role for an account, proposed by an administrator and decided by a custodian. `entry` is how many entries the
ledger had when it was proposed.
"""

TOKEN = Table(
    "web_token",
    metadata,
    Column("id", Number, primary_key=True),
    *required(account=ForeignKey("web_account.id"), name=Text, hash=Text, scopes=Text, made=Text, expires=Text),
    *optional(revoked=Text, maker=Number),
    UniqueConstraint("hash", name="web_token_hash"),
    Index("web_token_account", "account"),
    Index("web_token_maker", "maker"),
)
"""What a program shows at the API: some of the permissions of its account, for a while. Only its hash is stored. `maker` is
the token that made it, none if a person did.
"""

LIMIT = Table(
    "web_limit",
    metadata,
    Column("key", Text, primary_key=True),
    *required(since=Text, count=BigInteger),
)
"""How often something was tried since a moment, by the keyed hash of what it was."""

CHECK = Table(
    "web_check",
    metadata,
    Column("id", Number, primary_key=True),
    *required(time=Text, actor=Text, head=Text, problems=BigInteger),
)
"""When the ledger was verified, by whom, up to which head, and how much was found."""

# -- data sets and the jobs on them -----------------------------------------------------------------------------------

DATASET = Table(
    "web_dataset",
    metadata,
    Column("id", Number, primary_key=True),
    *required(name=Text, kind=Text, place=Text),
    *optional(secret=Text, size=BigInteger, hash=Text),
    Column("columns", Text, nullable=False),
    Column("encoding", Text, nullable=True),
    *required(account=ForeignKey("web_account.id"), made=Text),
    Column("policy", Text, nullable=True),
    Column("version", BigInteger, nullable=False),
    *optional(population=ForeignKey("web_dataset.id"), population_size=BigInteger),
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
    *required(kind=Text, dataset=ForeignKey("web_dataset.id"), account=ForeignKey("web_account.id")),
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
    *required(numbers=Text, parts=Text),
    *optional(report=Text, policy=Text, hash=Text, file=Text),
)
"""What a job found: as JSON, as sections of a page, as a report of one file, and the file it wrote."""

# -- sensitivity studies: experts are asked ---------------------------------------------------------------------------

STUDY = Table(
    "web_study",
    metadata,
    Column("id", Number, primary_key=True),
    *required(name=Text, items=Text, ratings=BigInteger, account=ForeignKey("web_account.id"), made=Text),
    Column("closed", Text, nullable=True),
    UniqueConstraint("name", name="web_study_name"),
)
"""Values whose sensitivity experts are asked about; `items` are categories and ranges, never records."""

INTERVIEW = Table(
    "web_interview",
    metadata,
    Column("study", Number, ForeignKey("web_study.id"), primary_key=True, autoincrement=False),
    Column("account", Number, ForeignKey("web_account.id"), primary_key=True, autoincrement=False),
    *required(content=Text, version=BigInteger, changed=Text),
)
"""What one expert was asked and said, as JSON; `version` grows with every answer, so that none is lost."""

SENSITIVITY = Table(
    "web_sensitivity",
    metadata,
    Column("id", Number, primary_key=True),
    *required(study=ForeignKey("web_study.id"), digest=Text, content=Text, account=ForeignKey("web_account.id")),
    *required(made=Text),
    UniqueConstraint("study", "digest", name="web_sensitivity_digest"),
)
"""A version of the sensitivity function: the sections of a policy and how far experts agreed, as JSON."""

# -- releases: one copy per recipient, how they are planned, packed and traced ------------------------------------------

RELEASE = Table(
    "release",
    metadata,
    Column("name", Text, primary_key=True),
    Column("version", BigInteger, primary_key=True, autoincrement=False),
    *required(revision=BigInteger, sealed=LargeBinary, digest=Text),
    Column("content", Text, nullable=True),
    *required(actor=Text, made=Text),
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
    *required(place=BigInteger, state=Text),
    *optional(file=Text, rows=BigInteger),
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
    *required(release=Text, kind=Text, dataset=BigInteger, content=Text, digest=Text, version=BigInteger, state=Text),
    *required(account=ForeignKey("web_account.id"), changed=Text),
    *optional(preflight=Text, decider=ForeignKey("web_account.id"), decided=Text, reason=Text),
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
    *required(plan=ForeignKey("web_plan.id"), file=Text, digest=Text, size=BigInteger, made=Text),
)
"""A packed copy of a recipient in the data folder: the name of its file, its SHA-256 and its size."""

TRACE = Table(
    "web_trace",
    metadata,
    Column("id", Number, primary_key=True),
    *required(release=Text, version=BigInteger, kind=Text, source=Text, account=ForeignKey("web_account.id")),
    *required(made=Text, numbers=Text, parts=Text, report=Text),
    Index("web_trace_of", "release"),
)
"""What a trace found: numbers, sections of a page and the report. None of them holds a value of a claim."""
