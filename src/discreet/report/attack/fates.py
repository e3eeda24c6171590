"""People attacked in full, in part or not at all, by what the adversary knows."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.attacker import Outcome
from discreet.report.attack.case import Case
from discreet.report.attack.words import expected
from discreet.report.charts.bars import Bar, Fill, Group
from discreet.report.components import Figure, Table
from discreet.wording import brief_percent

KNOWN, UNKNOWN, GUESS = "He knows the groups", "He buys the list unseen", "One guess each"


def fates(case: Case) -> Figure:
    """Three adversaries and what becomes of the people."""
    known, unknown = case.struck.known, case.struck.unknown
    return Figure(
        key="fates",
        title="Whom he attacks, by what he knows",
        about=f"Attacked: {known.attacked:,} with known groups, {unknown.attacked:,} unseen, {case.guessed_at:,} by one guess.",
        reading=(
            (
                "He may know how many people look alike before he buys the list, for instance from a census; or he learns it only "
                "from the list and expects them to be as frequent there as everywhere."
            ),
            "One guess each is the single-shot model: one random candidate, where that pays.",
            "The full width of a bar stands for everybody in the data.",
        ),
        groups=tuple(_groups(case)),
        table=_table(case),
    )


def _groups(case: Case) -> Iterator[Group]:
    for name, outcome in ((KNOWN, case.struck.known), (UNKNOWN, case.struck.unknown)):
        yield Group(tuple(_bars(outcome, case.records)), name, f"re-identified: {_brief(outcome.reidentified)}")
    single = (
        _bar("tries one candidate", case.guessed_at, case.records, "partly"),
        _bar("leaves alone", case.records - case.guessed_at, case.records, "plain"),
    )
    yield Group(single, GUESS, f"re-identified: {_brief(case.guessed)}")


def _brief(number: float) -> str:
    return expected(number).removeprefix("about ")


def _bars(outcome: Outcome, records: int) -> Iterator[Bar]:
    yield _bar("tries every candidate", outcome.in_full, records, "risk")
    yield _bar("tries some candidates", outcome.in_part, records, "partly")
    yield _bar("leaves alone", outcome.not_at_all, records, "plain")


def _bar(label: str, people: int, records: int, fill: Fill) -> Bar:
    return Bar(label, f"{people:,} · {brief_percent(people / records)}", people / records, fill=fill)


def _table(case: Case) -> Table:
    rows = [_row(KNOWN, case.struck.known), _row(UNKNOWN, case.struck.unknown)]
    left = case.records - case.guessed_at
    rows.append((GUESS, "not told apart", f"{case.guessed_at:,}", f"{left:,}", _brief(case.guessed), "not told apart"))
    head = (
        "Adversary",
        "Every candidate",
        "Some candidates",
        "Left alone",
        "Re-identified",
        "Innocent people exploited",
    )
    return Table(f"What becomes of {case.records:,} people", head, tuple(rows), (1, 2, 3, 4, 5))


def _row(name: str, outcome: Outcome) -> tuple[str, ...]:
    numbers = (outcome.in_full, outcome.in_part, outcome.not_at_all)
    return (name, *(f"{number:,}" for number in numbers), _brief(outcome.reidentified), _brief(outcome.harmed))
