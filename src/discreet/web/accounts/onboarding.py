"""Onboarding: four steps from a table to a report, ticked off by the store.

All that is stored is that an account has hidden the guide. Whether a step is done follows from the data sets, the jobs and the
ledger, so that nothing can be ticked that was not done, and a data set that is removed takes its ticks with it.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, select, update

from discreet.store.tables.ledger import ENTRY
from discreet.store.tables.web import ACCOUNT, DATASET
from discreet.web.accounts.accounts import Account
from discreet.web.datasets.policies import guesses, rules
from discreet.web.framework.permissions import GRANTED
from discreet.web.jobs.store import ACTIVE, newest

LOOKED_AT = 50
"""So many of the newest assessments are checked for readers of their report."""
ALONG = ("datasets", "jobs", "reports")
"""Where the next step is shown above the page, by the first word of the path."""
BROUGHT = 1
"""The step that adds a data set; up to there the pages themselves say what to do."""


@dataclass(frozen=True)
class GuideStep:
    """One thing to do: what, how, where, and whether it is done."""

    name: str
    words: str
    link: str
    path: str
    done: bool


@dataclass(frozen=True)
class Guide:
    """The steps in their order."""

    steps: tuple[GuideStep, ...]

    @property
    def done(self) -> int:
        """How many are done."""
        return sum(step.done for step in self.steps)

    @property
    def complete(self) -> bool:
        """Are all done?"""
        return self.done == len(self.steps)

    @property
    def following(self) -> GuideStep | None:
        """The first that is not."""
        return next((step for step in self.steps if not step.done), None)

    @property
    def number(self) -> int:
        """Which one that is, from 1 on."""
        return len(self.steps) if self.following is None else self.steps.index(self.following) + 1


@dataclass(frozen=True)
class GuideProgress:
    """How far the most advanced data set has come."""

    dataset: int | None = None
    name: str = ""
    confirmed: bool = False
    measuring: bool = False
    report: int | None = None
    """The assessment whose report can be read."""
    read: bool = False


def guide_of(connection: Connection, account: Account) -> Guide:
    """The steps of a custodian."""
    progress = _progress(connection, account.name)
    here = "/datasets/new" if progress.dataset is None else f"/datasets/{progress.dataset}"
    name = progress.name or "the data set"
    added = "A CSV or Parquet file with one row per person. Only custodians see it, and nothing is disclosed."
    roles = (
        f"Roles are suggested for {name}: what an adversary may know, and what they would like to learn. "
        "Correct them, then choose “Confirm all roles and measure the risk”."
    )
    measured = "How many people can be re-identified, and by whom."
    risk = here if progress.dataset is None else f"{here}/risk"
    read = "Findings in words, with the figures behind them. Print it, or download it as one file."
    report = "/reports" if progress.report is None else f"/reports/{progress.report}"
    steps = (
        ("Add a data set", added, "Add a data set", "/datasets/new", progress.dataset is not None),
        ("Confirm the roles of the columns", roles, f"Go to the columns of {name}", here, progress.confirmed),
        (
            "Measure the risk",
            "It is being measured now." if progress.measuring else measured,
            f"Go to the risk of {name}",
            risk,
            progress.report is not None,
        ),
        ("Read the report", read, "Read the report", report, progress.read),
    )
    return Guide(tuple(GuideStep(*step) for step in steps))


def _progress(connection: Connection, reader: str) -> GuideProgress:
    """Progress of the last assessed data set, else of the newest one."""
    assessed = newest(connection, kinds=("assess",), states=("done",), most=LOOKED_AT)
    if assessed:
        last, subjects = assessed[0], [f"dataset:{job.dataset}/job:{job.id}" for job in assessed]
        shown = (ENTRY.c.subject.in_(subjects), ENTRY.c.event == "web.shown", ENTRY.c.actor == reader)
        read = connection.execute(select(ENTRY.c.sequence).where(*shown).limit(1)).first() is not None
        sure = _confirmed(connection, last.dataset)
        return GuideProgress(last.dataset, last.dataset_name, confirmed=sure, report=last.id, read=read)
    for asked in newest(connection, kinds=("assess",), states=(*ACTIVE, "failed"), most=1):
        sure = _confirmed(connection, asked.dataset)
        return GuideProgress(asked.dataset, asked.dataset_name, confirmed=sure, measuring=asked.active)
    named = select(DATASET.c.id, DATASET.c.name, DATASET.c.policy).order_by(DATASET.c.made.desc())
    added = connection.execute(named.limit(1)).first()
    if added is None:
        return GuideProgress()
    saved = select(ENTRY.c.sequence).where(ENTRY.c.subject == f"dataset:{added.id}", ENTRY.c.event == "web.policy")
    measurable = any(role == "quasi" for role, _ in rules(added.policy).values()) and not guesses(added.policy)
    confirmed = measurable and connection.execute(saved.limit(1)).first() is not None
    return GuideProgress(added.id, added.name, confirmed=confirmed)


def _confirmed(connection: Connection, dataset: int) -> bool:
    """Whether no role of a data set is a guess."""
    return not guesses(connection.execute(select(DATASET.c.policy).where(DATASET.c.id == dataset)).scalar())


def first_steps(connection: Connection, account: Account) -> bool:
    """Is this a custodian for whom there is nothing to do yet but to add the first data set?"""
    return account.guided and "datasets.change" in GRANTED[account.role] and guide_of(connection, account).done == 0


def hide_guide(connection: Connection, account: int, now: str | None) -> None:
    """Hide the guide (with the moment), or show it again (None)."""
    connection.execute(update(ACCOUNT).where(ACCOUNT.c.id == account).values(guide_left=now))
