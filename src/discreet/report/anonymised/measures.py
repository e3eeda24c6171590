"""The tables of the page: every measure before and after, and what was chosen."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.policy import Policy
from discreet.report.anonymised.case import Case
from discreet.report.anonymised.losses import LOSSES
from discreet.report.components import Table
from discreet.report.measures import measures, parameters
from discreet.report.toolkit.html import Markup, element, join
from discreet.report.toolkit.words import listed, people
from discreet.wording import percent

SEARCHES = {
    "optimal": "until nothing better is left",
    "best": "the best in the time given, with a bound",
    "ola": "the best of the minimal combinations",
}


def compared(case: Case) -> Table:
    """Every measure before and after, with its meaning."""
    head = ("Measure", "Before", "After", "Meaning")
    return Table("Each measure before and after", head, tuple(_compared(case)), (1, 2))


def _compared(case: Case) -> Iterator[tuple[str, ...]]:
    now = {} if case.after is None else {name: value for name, value, _ in measures(case.after)}
    for name, before, meaning in measures(case.before):
        yield name, before, now.get(name, "0" if name == "People" else "not measured"), meaning


def published(case: Case) -> Table:
    """Every column that leaves, its role, and what was done to it."""
    rows = tuple((name, about["role"], about["treatment"]) for name, about in case.result.columns.items())
    return Table("Every column that is published", ("Column", "Role", "Published"), rows)


def chosen(case: Case, *, policy: Policy | None) -> Table:
    """What was chosen before anything was searched."""
    rows = (*_chosen(case), *parameters(case.before, policy=policy).rows[1:])
    return Table("What was chosen before searching", ("Parameter", "Value"), rows)


def _chosen(case: Case) -> Iterator[tuple[str, str | Markup]]:
    names = case.before.columns
    yield "Columns", join(listed(names, most=len(names) + 1) or "none")
    if case.suppressible is not None:
        share = f" ({percent(case.suppressible / case.records)})" if case.suppressible else ""
        yield "May be left out", f"{people(case.suppressible)}{share}"
    yield "Loss", _loss(case)
    yield "Search", _search(case)


def _loss(case: Case) -> Markup:
    name = case.result.loss_name
    meaning = f": {LOSSES[name].meaning}" if name in LOSSES else ""
    return join(element("code", name), meaning)


def _search(case: Case) -> str | Markup:
    if case.result.certificate is None:
        return "class by class"
    name = case.result.certificate.search
    return join(element("code", name), f": {SEARCHES[name]}" if name in SEARCHES else "")


def left_out(case: Case) -> str:
    """How many people were let go, and how many might have been."""
    number = f"{people(case.suppressed)} {'are' if case.suppressed > 1 else 'is'} left out"
    if not case.suppressible:
        return f"{number[:1].upper()}{number[1:]}."
    return (
        f"At most {people(case.suppressible)} ({percent(case.suppressible / case.records)}) may be left out; {number}."
    )
