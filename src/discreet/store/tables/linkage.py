"""Tables of linkage projects: assigned pairs, opened cells, decisions. None contains a value of a person."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Table,
    Text,
    UniqueConstraint,
)

from discreet.store.tables.ledger import Number, metadata, optional, queued, required

PROJECT = Table(
    "linkage_project",
    metadata,
    Column("id", Number, primary_key=True),
    *required(name=Text, folder=Text, state=Text, attributes=Text, records=BigInteger, initial=Text, kappa=BigInteger),
    *required(strict=Boolean),
    *optional(risk_limit=Text, characters_limit=Text),
    *required(displays=BigInteger, risk_spent=BigInteger),
    Column("risk_allowed", BigInteger, nullable=True),
    *required(characters=BigInteger, characters_shown=BigInteger),
    Column("characters_allowed", BigInteger, nullable=True),
    *required(actor=Text, made=Text),
    *optional(study=Text),
    UniqueConstraint("name", name="linkage_project_name"),
    CheckConstraint("state IN ('open', 'closed')", name="linkage_project_state"),
    CheckConstraint("initial IN ('masked', 'minimum', 'moderate', 'full')", name="linkage_project_initial"),
    CheckConstraint("risk_allowed IS NULL OR risk_spent <= risk_allowed", name="linkage_project_risk"),
    CheckConstraint(
        "characters_allowed IS NULL OR characters_shown <= characters_allowed", name="linkage_project_characters"
    ),
)
"""A project. The values of its people are in `folder`. Limits are exact shares as text; what is allowed and spent follows
from them in parts and characters, over all `displays` (a pair before one person's eyes is one). `study` holds the conditions
and the consent text of a study of reviewers, as JSON.
"""

PAIR = Table(
    "linkage_pair",
    metadata,
    Column("project", Number, ForeignKey("linkage_project.id"), primary_key=True, autoincrement=False),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    *required(first=BigInteger, second=BigInteger),
    Column("probability", Double, nullable=True),
    Column("gold", Boolean, nullable=True),
    UniqueConstraint("project", "first", "second", name="linkage_pair_records"),
)
"""Two records by their numbers, for people to decide, and what the machine thinks of them. `gold` is the truth of a pair
that is hidden among the others to see how reviewers do: same or not.
"""

WORKER = Table(
    "linkage_worker",
    metadata,
    Column("project", Number, ForeignKey("linkage_project.id"), primary_key=True, autoincrement=False),
    Column("worker", Text, primary_key=True),
    *optional(risk_limit=Text, characters_limit=Text),
    *required(displays=BigInteger, characters=BigInteger, characters_shown=BigInteger),
    Column("characters_allowed", BigInteger, nullable=True),
    *optional(condition=Text, stage=Text, answers=Text),
    CheckConstraint(
        "characters_allowed IS NULL OR characters_shown <= characters_allowed", name="linkage_worker_characters"
    ),
)
"""A reviewer of a project. Their privacy risk is a budget of the ledger; characters are counted here. A participant of a
study also has a condition, a stage (consent, tutorial, practice, quiz, pairs, declined) and answers to practice and quiz.
"""

ASSIGNMENT = Table(
    "linkage_assignment",
    metadata,
    Column("id", Number, primary_key=True),
    *required(project=Number, pair=BigInteger, worker=Text, role=Text, place=BigInteger, state=Text),
    *required(version=BigInteger, contribution=Text, characters=BigInteger, characters_shown=BigInteger, made=Text),
    ForeignKeyConstraint(
        ["project", "pair"], ["linkage_pair.project", "linkage_pair.number"], name="linkage_assignment_of"
    ),
    UniqueConstraint("project", "worker", "pair", name="linkage_assignment_once"),
    Index("linkage_assignment_pair", "project", "pair"),
    CheckConstraint("role IN ('review', 'adjudication')", name="linkage_assignment_role"),
    CheckConstraint("state IN ('open', 'decided', 'withdrawn')", name="linkage_assignment_state"),
)
"""A pair assigned to one reviewer. `version` grows with every cell that is opened; `contribution` is what the pair
contributes to the privacy score now, exactly.
"""

CELL = Table(
    "linkage_cell",
    metadata,
    Column("assignment", Number, ForeignKey("linkage_assignment.id"), primary_key=True, autoincrement=False),
    Column("attribute", Text, primary_key=True),
    Column("mode", Text, primary_key=True),
    *required(reason=Text, at=Text),
    CheckConstraint("mode IN ('partial', 'full')", name="linkage_cell_mode"),
    CheckConstraint("reason IN ('initial', 'asked', 'seen by others')", name="linkage_cell_reason"),
)
"""What was opened, when and why; never what it says. The furthest mode of a cell is the one it is in."""

DECISION = Table(
    "linkage_decision",
    metadata,
    Column("id", Number, primary_key=True),
    Column("assignment", Number, ForeignKey("linkage_assignment.id"), nullable=False),
    Column("choice", BigInteger, nullable=True),
    Column("at", Text, nullable=False),
    Index("linkage_decision_of", "assignment", "id"),
    CheckConstraint("choice IS NULL OR choice BETWEEN 0 AND 6", name="linkage_decision_choice"),
)
"""Decisions: the last row counts, and one without a choice undoes the one before it."""

EVENT = Table(
    "linkage_event",
    metadata,
    Column("id", Number, primary_key=True),
    Column("project", Number, ForeignKey("linkage_project.id"), nullable=False),
    *required(worker=Text),
    Column("pair", BigInteger, nullable=True),
    *required(act=Text),
    *optional(attribute=Text),
    Column("since", BigInteger, nullable=True),
    Column("lasted", BigInteger, nullable=True),
    *required(at=Text),
    Index("linkage_event_of", "project", "id"),
)
"""What participants of a study do, in order: consent, stages, hovers, openings, decisions. `since` and `lasted` are
milliseconds since the pair was shown, as the page measured them.
"""

# -- in the web application -------------------------------------------------------------------------------------------

LOAN = Table(
    "linkage_loan",
    metadata,
    Column("dataset", Number, ForeignKey("web_dataset.id"), primary_key=True, autoincrement=False),
    *required(account=ForeignKey("web_account.id"), made=Text),
)
"""A data set that a custodian lends to the managers of linkage projects."""

WORK = Table(
    "linkage_work",
    metadata,
    Column("id", Number, primary_key=True),
    *required(kind=Text, name=Text, account=ForeignKey("web_account.id")),
    Column("project", Number, ForeignKey("linkage_project.id"), nullable=True),
    *queued(),
    CheckConstraint("kind IN ('make', 'retrain')", name="linkage_work_kind"),
    CheckConstraint(
        "state IN ('declared', 'queued', 'running', 'done', 'failed', 'cancelled')", name="linkage_work_state"
    ),
    Index("linkage_work_waiting", "state", "id"),
    sqlite_autoincrement=True,
)
"""A project in the making, or the training of its model: a job about tables that are no data sets. While it is `declared`,
its columns are not declared completely yet. The columns of the queue are those of `web_job`.
"""
