"""Linkage project in the store: what is linked, shown at first, and limited."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import Connection, Row, insert, select

from discreet.errors import NotThere, UsageError
from discreet.kernel import Amount, exact, written
from discreet.kernel.serialise import json_of
from discreet.ledger import Ledger
from discreet.ledger.entry import timestamp
from discreet.ledger.ledger import utc_now
from discreet.linkage.folder import ProjectFolder
from discreet.linkage.masking.comparison import Kind
from discreet.linkage.masking.kapr import Meter
from discreet.linkage.masking.text import check_name
from discreet.store import Store
from discreet.store.tables.linkage import PROJECT
from discreet.store.transitions import StateMachine

Initial = Literal["masked", "minimum", "moderate", "full"]
INITIAL: dict[Initial, str] = {
    "masked": "nothing is open",
    "minimum": "where values differ in part, the differing characters are open",
    "moderate": "every value that differs is open, in part where that is possible",
    "full": "everything is open",
}
"""What is open before anybody asks; it is charged when pairs are given out."""

NAME = re.compile(r"[\w][\w .-]{0,79}")


@dataclass(frozen=True)
class ReviewStudy:
    """What makes a project a study of reviewers: the interfaces that are compared, and what participants agree to."""

    conditions: tuple[str, ...]
    consent: str

    to_dict = json_of("conditions consent")


@dataclass(frozen=True)
class Project:
    """A project. Holds no value of a person; those are in the folder, which only the server reads."""

    id: int
    name: str
    folder: str
    state: str
    kinds: Mapping[str, Kind]
    records: int
    initial: Initial
    kappa: int
    strict: bool
    risk_limit: str | None
    """What all reviewers together may learn, as a share of the privacy risk of all their pairs."""
    characters_limit: str | None
    actor: str
    made: str
    study: ReviewStudy | None = None

    @property
    def kind(self) -> str:
        """What it is for: linkage, or a study of reviewers."""
        return "linkage" if self.study is None else "study"

    @property
    def attributes(self) -> tuple[str, ...]:
        """The identifying attributes, in the order of the link file."""
        return tuple(self.kinds)

    @property
    def subject(self) -> str:
        """How entries of the ledger call it."""
        return f"linkage:{self.name}"

    def budget(self, worker: str) -> str:
        """The budget of the ledger that a reviewer spends."""
        return f"{self.subject}:{worker}"

    def meter(self, displays: int) -> Meter:
        """The score of so many pairs."""
        return Meter(displays, len(self.kinds), self.kappa)

    to_dict = json_of(
        "name kind folder state records initial kappa strict risk_limit characters_limit actor made kinds study"
    )

    def __repr__(self) -> str:
        return f"Project({self.name}: {', '.join(self.attributes)}; {self.state})"


def register_project(
    ledger: Ledger,
    folder: str | Path,
    *,
    actor: str,
    name: str | None = None,
    initial: Initial = "masked",
    kappa: int = 1,
    strict: bool = False,
    risk_limit: Amount | None = None,
    characters_limit: Amount | None = None,
) -> Project:
    """Register the folder of a project in the store, under its own or another name."""
    home = ProjectFolder.open(folder)
    called = home.path.resolve().name if name is None else name
    if not NAME.fullmatch(called):
        raise UsageError(
            "A project is called by letters, digits, spaces, points and dashes.", remedy="Give another name: --name."
        )
    check_name("initial display", initial, INITIAL)
    if kappa < 1:
        raise UsageError("kappa is at least 1.", remedy="With 1 nothing is refused for it.")
    row = {
        "name": called,
        "folder": str(home.path.resolve()),
        "state": "open",
        "attributes": json.dumps(home.spec.kinds, ensure_ascii=False),
        "records": home.records,
        "initial": initial,
        "kappa": kappa,
        "strict": strict,
        "risk_limit": share(risk_limit),
        "characters_limit": share(characters_limit),
        **dict.fromkeys(("displays", "risk_spent", "characters", "characters_shown"), 0),
        "actor": actor,
        "made": now(),
    }
    ledger.record(
        actor=actor,
        event="linkage.project",
        subject=f"linkage:{called}",
        details={"attributes": len(home.spec.kinds), "records": home.records, "kappa": kappa, "strict": strict,
                 "initial": initial, "risk_limit": row["risk_limit"], "characters_limit": row["characters_limit"]},
        along=lambda connection: _insert(connection, row),
    )  # fmt: skip
    return find_project(ledger.store, called)


def find_project(store: Store, name: str) -> Project:
    """A project by its name; an error that a page answers with "not found" if there is none."""
    with store.reading() as connection:
        row = connection.execute(select(PROJECT).where(PROJECT.c.name == name)).one_or_none()
    if row is None:
        raise _no_such_project()
    return project_of(row)


def _no_such_project() -> NotThere:
    return NotThere("There is no such project.", remedy="List them with: discreet link status")


PROJECTS = StateMachine(PROJECT, {"open": ("closed",), "closed": ("closed",)}, _no_such_project)
"""Closing a closed project again changes nothing."""


def list_projects(store: Store) -> list[Project]:
    """All projects, by name."""
    with store.reading() as connection:
        return [project_of(row) for row in connection.execute(select(PROJECT).order_by(PROJECT.c.name))]


def close_project(ledger: Ledger, project: Project, *, actor: str) -> Project:
    """Nothing more is opened or decided in it."""
    ledger.record(
        actor=actor,
        event="linkage.project",
        subject=project.subject,
        details={"state": "closed"},
        along=lambda connection: PROJECTS.move(connection, PROJECT.c.id == project.id, to="closed"),
    )
    return find_project(ledger.store, project.name)


def project_of(row: Row[Any]) -> Project:
    """A project from its row."""
    columns = {name: getattr(row, name) for name in Project.__dataclass_fields__ if name not in ("kinds", "study")}
    study = None
    if row.study is not None:
        declared = json.loads(row.study)
        study = ReviewStudy(tuple(declared["conditions"]), declared["consent"])
    return Project(**columns, kinds=json.loads(row.attributes), study=study)


def share(limit: Amount | None) -> str | None:
    """A limit as exact text: a share from 0 to 1.

    >>> share("0.12"), share(None)
    ('3/25', None)
    """
    if limit is None:
        return None
    if not 0 <= exact(limit) <= 1:
        raise UsageError("A limit is a share from 0 to 1.", remedy="For example 0.12, which is 12 %.")
    return written(limit)


def now() -> str:
    """The moment, as the ledger writes it."""
    return timestamp(utc_now())


def _insert(connection: Connection, row: dict[str, Any]) -> None:
    if connection.execute(select(PROJECT.c.id).where(PROJECT.c.name == row["name"])).one_or_none() is not None:
        raise UsageError(f"There is a project '{row['name']}' already.", remedy="Give another name: --name.")
    connection.execute(insert(PROJECT).values(row))
