"""Studies of sensitivity: values from a form, interviews, the panel of experts, versions.

In the form a column is written in brackets, and its values follow. `up to 250` is a range, `over 250` everything above it;
a group of values has a name, and bars between its values: `Heart: I21 | I50`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from discreet.errors import DataError
from discreet.misuse import Sensitivity
from discreet.misuse.elicitation import Interview, Item, combine, sections, toml
from discreet.misuse.elicitation.comparisons import TOLERABLE
from discreet.misuse.elicitation.items import REST
from discreet.misuse.sensitivity import reminder
from discreet.policy.model import Misuse
from discreet.report.toolkit.words import plural
from discreet.store.tables.web import ACCOUNT, INTERVIEW, SENSITIVITY, STUDY
from discreet.store.transitions import update_one
from discreet.web.framework.problems import Problem


@dataclass(frozen=True)
class Study:
    """Values that experts are asked about."""

    id: int
    name: str
    items: tuple[Item, ...]
    ratings: int
    owner: str
    made: str
    closed: str | None

    @property
    def subject(self) -> str:
        """The subject of ledger entries about it."""
        return f"study:{self.name}"

    @property
    def columns(self) -> list[str]:
        """The columns that values belong to."""
        return list(dict.fromkeys(item.column for item in self.items))


@dataclass(frozen=True)
class StoredInterview:
    """One expert's interview, and its version when it was read."""

    study: int
    account: int
    name: str
    talk: Interview
    version: int
    changed: str

    @property
    def percent(self) -> int:
        """The share of questions that are answered."""
        answered = len(self.talk.answers)
        return round(100 * answered / max(1, answered + self.talk.left))

    @property
    def finished(self) -> bool:
        """Was enough asked?"""
        return self.talk.left == 0


@dataclass(frozen=True)
class SensitivityVersion:
    """A version of the sensitivity function."""

    id: int
    study: int
    study_name: str
    digest: str
    content: dict[str, Any]
    owner: str
    made: str

    @property
    def toml(self) -> str:
        """The sections for the policy, with the day they were made."""
        return text_of(self.content, self.digest, elicited=self.made[:10])

    def reminder(self, today: str) -> str:
        """A sentence if experts said this long ago."""
        tables = {name: {"elicited": self.made[:10]} for name in self.content["sensitivity"]}
        return reminder(tables, date.fromisoformat(today), days=Misuse().review_days)


_STUDIES = select(STUDY, ACCOUNT.c.name.label("owner")).join(ACCOUNT, ACCOUNT.c.id == STUDY.c.account)
_TALKS = select(INTERVIEW, ACCOUNT.c.name).join(ACCOUNT, ACCOUNT.c.id == INTERVIEW.c.account)
_VERSIONS = (
    select(SENSITIVITY, ACCOUNT.c.name.label("owner"), STUDY.c.name.label("study_name"))
    .join(ACCOUNT, ACCOUNT.c.id == SENSITIVITY.c.account)
    .join(STUDY, STUDY.c.id == SENSITIVITY.c.study)
)


def _study_of(row: Row[Any]) -> Study:
    listed = json.loads(row.items)
    items = tuple(Item(item["column"], item["label"], tuple(item["values"]), item["upper"]) for item in listed)
    return Study(row.id, row.name, items, row.ratings, row.owner, row.made, row.closed)


def _interview_of(row: Row[Any]) -> StoredInterview:
    talk = Interview.from_dict(json.loads(row.content))
    return StoredInterview(row.study, row.account, row.name, talk, row.version, row.changed)


def _version_of(row: Row[Any]) -> SensitivityVersion:
    return SensitivityVersion(
        row.id, row.study, row.study_name, row.digest, json.loads(row.content), row.owner, row.made
    )


def find(connection: Connection, number: int) -> Study | None:
    """By number."""
    row = connection.execute(_STUDIES.where(STUDY.c.id == number)).one_or_none()
    return None if row is None else _study_of(row)


def everything(connection: Connection) -> list[Study]:
    """All studies, the newest first."""
    return [_study_of(row) for row in connection.execute(_STUDIES.order_by(STUDY.c.id.desc()))]


def of_expert(connection: Connection, account: int) -> list[tuple[Study, StoredInterview]]:
    """The open studies to which an expert is invited, the newest first."""
    invited_to = select(INTERVIEW.c.study).where(INTERVIEW.c.account == account)
    open_studies = _STUDIES.where(STUDY.c.id.in_(invited_to), STUDY.c.closed.is_(None)).order_by(STUDY.c.id.desc())
    invited = [(_study_of(row), interview(connection, row.id, account)) for row in connection.execute(open_studies)]
    return [(study, talk) for study, talk in invited if talk is not None]


def interview(connection: Connection, study: int, account: int) -> StoredInterview | None:
    """One expert's interview; None if they are not invited."""
    row = connection.execute(_TALKS.where(INTERVIEW.c.study == study, INTERVIEW.c.account == account)).one_or_none()
    return None if row is None else _interview_of(row)


def interviews(connection: Connection, study: int) -> list[StoredInterview]:
    """All experts of a study, by name."""
    every = _TALKS.where(INTERVIEW.c.study == study).order_by(ACCOUNT.c.name)
    return [_interview_of(row) for row in connection.execute(every)]


def add(connection: Connection, *, name: str, items: Sequence[Item], ratings: int, account: int, now: str) -> Study:
    """A new study, with a name that no other has."""
    if connection.execute(select(STUDY.c.id).where(STUDY.c.name == name)).scalar() is not None:
        raise Problem(409, "There is a study with this name already.", remedy="Choose another name.")
    content = json.dumps([item.to_dict() for item in items])
    values = {"name": name, "items": content, "ratings": ratings, "account": account, "made": now}
    number = connection.execute(insert(STUDY).values(values).returning(STUDY.c.id)).scalar_one()
    return _study_of(connection.execute(_STUDIES.where(STUDY.c.id == number)).one())


def invite(connection: Connection, study: Study, account: int, now: str) -> bool:
    """Invite one more expert; False if they were invited already.

    Each expert gets the questions in an order of their own.
    """
    if interview(connection, study.id, account) is not None:
        return False
    name = connection.execute(select(ACCOUNT.c.name).where(ACCOUNT.c.id == account)).scalar_one()
    talk = Interview.begin(name, study.items, ratings=study.ratings, seed=account)
    values = {"study": study.id, "account": account, "content": json.dumps(talk.to_dict())}
    connection.execute(insert(INTERVIEW).values(**values, version=0, changed=now))
    return True


def save(connection: Connection, read: StoredInterview, talk: Interview, now: str) -> bool:
    """Store the interview in place of the version read; False if that has changed."""
    same = (INTERVIEW.c.study == read.study, INTERVIEW.c.account == read.account, INTERVIEW.c.version == read.version)
    values = {"content": json.dumps(talk.to_dict()), "version": read.version + 1, "changed": now}
    return update_one(connection, INTERVIEW, *same, **values)


def ask_again(connection: Connection, study: int, items: Sequence[int], *, most: int, now: str) -> int:
    """Repeat the last questions about these items; gives to how many experts."""
    asked = 0
    for stored in interviews(connection, study):
        talk = stored.talk.ask_again(items, most=most)
        if talk.again and save(connection, stored, talk, now):
            asked += 1
    return asked


def close(connection: Connection, number: int, now: str | None) -> None:
    """Take no further answers; or, without a moment, take them again."""
    connection.execute(update(STUDY).where(STUDY.c.id == number).values(closed=now))


def keep_version(connection: Connection, study: int, *, digest: str, content: Any, account: int, now: str) -> int:
    """Store a version unless it is there; gives its number."""
    same = (SENSITIVITY.c.study == study, SENSITIVITY.c.digest == digest)
    stored = connection.execute(select(SENSITIVITY.c.id).where(*same)).scalar()
    if stored is not None:
        return int(stored)
    values = {"study": study, "digest": digest, "content": json.dumps(content), "account": account, "made": now}
    return int(connection.execute(insert(SENSITIVITY).values(values).returning(SENSITIVITY.c.id)).scalar_one())


def versions(connection: Connection, study: int) -> list[SensitivityVersion]:
    """The versions of a study, the newest first."""
    newest = _VERSIONS.where(SENSITIVITY.c.study == study).order_by(SENSITIVITY.c.id.desc())
    return [_version_of(row) for row in connection.execute(newest)]


def version(connection: Connection, number: int) -> SensitivityVersion | None:
    """By number."""
    row = connection.execute(_VERSIONS.where(SENSITIVITY.c.id == number)).one_or_none()
    return None if row is None else _version_of(row)


# -- the panel: combined scores, agreement, disputes, and the text for the policy -------------------------------------

CLOSE = 0.6
"""Kendall's tau from which on experts mostly agree on the order."""
DISPUTED = 0.5
"""Spread of logarithms above which a value is in dispute: experts differ by a factor of two."""
MOST_DISPUTED = 8
AGAIN = 10
"""Questions that are repeated to each expert."""


@dataclass(frozen=True)
class ScoreRow:
    """One value, its combined score and each expert's."""

    item: str
    score: float
    single: list[float | None]
    disputed: bool


@dataclass(frozen=True)
class Combined:
    """The combined answers of a panel, as the page shows them."""

    experts: tuple[str, ...]
    rows: list[ScoreRow]
    disputed: list[int]
    agreement: float | None
    digest: str
    toml: str
    content: dict[str, Any]

    @property
    def agreement_words(self) -> str:
        """Kendall's tau in words."""
        if self.agreement is None:
            return "There is only one expert, so agreement cannot be measured."
        order = "they mostly agree on the order" if self.agreement >= CLOSE else "they disagree on the order"
        return f"Agreement (Kendall's tau, averaged over pairs of experts): {self.agreement:.2f}, {order}."


def together(interviews: Sequence[StoredInterview]) -> Combined:
    """The scores of all experts who have answered something, with equal weight."""
    talks = [interview.talk for interview in interviews if interview.talk.pairs or interview.talk.rated]
    if not talks:
        raise Problem(409, "No expert has answered yet.", remedy="Wait for the experts.")
    try:
        panel = combine(talks)
    except DataError as error:
        raise Problem(409, error.problem, remedy="Wait until the experts have answered more.") from None
    content = {"sensitivity": sections(panel.items, panel.scores), **panel.to_dict()}
    digest = Sensitivity.from_dict(content["sensitivity"]).version
    spread = panel.disagreement
    rows = [
        ScoreRow(
            str(item),
            float(panel.scores[index]),
            [None if math.isnan(score) else float(score) for score in panel.single[:, index]],
            bool(spread[index] > DISPUTED),
        )
        for index, item in enumerate(panel.items)
    ]
    disputed = [index for index in panel.disputed if spread[index] > DISPUTED][:MOST_DISPUTED]
    return Combined(panel.experts, rows, disputed, panel.agreement, digest, text_of(content, digest), content)


def text_of(content: dict[str, Any], digest: str, *, elicited: str = "") -> str:
    """The sections of a version for the policy."""
    experts = plural(len(content["experts"]), "expert", "experts")
    tau = content["agreement"]
    agreement = "" if tau is None else f", agreement (Kendall's tau) {tau:.2f}"
    return toml(
        content["sensitivity"], notes=[f"Sensitivity version {digest}, from {experts}{agreement}."], elicited=elicited
    )


def contradiction(interview: StoredInterview) -> str:
    """The sentence about comparisons that contradict each other; empty if they do not."""
    consistency = interview.talk.consistency
    if consistency.tolerable or consistency.ratio is None:
        return ""
    return (
        f"Some comparisons contradict each other: the consistency ratio is {consistency.ratio:.2f}, and up to "
        f"{TOLERABLE:.2f} is good."
    )


# -- values from a form -----------------------------------------------------------------------------------------------

FEWEST, MOST, COLUMNS = 2, 40, 12
LONGEST = 120
UPPER = re.compile(r"up to ([0-9]{1,15}(?:\.[0-9]{1,6})?)", re.ASCII)
OVER = re.compile(r"over [0-9]{1,15}(?:\.[0-9]{1,6})?", re.ASCII)
EXAMPLE = """[diagnosis]
Flu
Angina
Depression
HIV
any other value

[bill]
up to 100
up to 1000
over 1000
"""


def items_of(text: str) -> list[Item]:
    """The items that a text describes; a problem names the line that is wrong.

    >>> [str(item) for item in items_of("[bill]\\nup to 100\\nover 100")]
    ['bill: up to 100', 'bill: over 100']
    """
    items: list[Item] = []
    column: str | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        words = " ".join(line.split())
        if not words:
            continue
        if len(words) > LONGEST:
            raise _unfit(f"Line {number} is longer than {LONGEST} characters.")
        if words.startswith("[") and words.endswith("]"):
            column = words[1:-1].strip()
            if not column:
                raise _unfit(f"Line {number} names no column.")
        elif column is None:
            raise _unfit(f"Line {number} comes before the first column; a column is written [like this].")
        elif (upper := UPPER.fullmatch(words)) is not None:
            items.append(Item(column, words, upper=float(upper[1])))
        elif words.lower() == REST or OVER.fullmatch(words):
            items.append(Item(column, words))
        else:
            label, colon, members = words.partition(": ")
            grouped = tuple(member.strip() for member in members.split("|") if member.strip())
            group = colon and "|" in members
            items.append(Item(column, label, values=grouped) if group else Item(column, words, values=(words,)))
    _check(items)
    return items


def _check(items: Sequence[Item]) -> None:
    if not FEWEST <= len(items) <= MOST:
        raise _unfit(f"Experts can be asked about {FEWEST} to {MOST} values; these are {len(items)}.")
    columns = dict.fromkeys(item.column for item in items)
    if len(columns) > COLUMNS:
        raise _unfit(f"Experts can be asked about up to {COLUMNS} columns.")
    if len({(item.column, item.label) for item in items}) < len(items):
        raise _unfit("A value is listed twice.")
    for column in columns:
        of_column = [item for item in items if item.column == column]
        if sum(item.kind == "rest" for item in of_column) > 1:
            raise _unfit("A column has only one line for all other values.")
        listed = [value for item in of_column for value in item.values]
        if len(set(listed)) < len(listed):
            raise _unfit("A value is in two groups.")
        bounds = [item.upper for item in of_column if item.upper is not None]
        if any(low >= high for low, high in pairwise(bounds)):
            raise _unfit("The bounds of ranges must increase from line to line.")


def _unfit(words: str) -> Problem:
    return Problem(422, words, remedy="Correct the values and send the form again.")
