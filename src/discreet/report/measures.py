"""The tables of a report: every measure with its meaning, and the parameters behind it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from discreet.policy import Policy
from discreet.report.assessment.findings import allowed
from discreet.report.components import Table
from discreet.report.toolkit.html import Markup, element, join
from discreet.report.toolkit.words import amount, decimal, listed, one_in, people
from discreet.risk import Assessment, Payoffs, Presence
from discreet.wording import brief_percent

Row = tuple[str, str, str]


def measured(assessment: Assessment) -> Table:
    """Every number with what it means."""
    return Table("Each measure with its meaning", ("Measure", "Value", "Meaning"), tuple(measures(assessment)), (1,))


def measures(assessment: Assessment) -> Iterator[Row]:
    """Name, value and meaning of each."""
    yield "People", f"{assessment.records:,}", "everybody in the data"
    yield "Classes", f"{assessment.classes:,}", "sets of people who look alike on the assessed columns"
    yield "Unique people", f"{assessment.uniques:,}", "classes of one"
    yield "k", f"{assessment.k:,}", "people in the smallest class"
    yield (
        "Average risk",
        decimal(assessment.average_risk, digits=4),
        "mean over people of one over the size of their class",
    )
    yield from _adversaries(assessment)
    if assessment.presence is not None:
        yield from _presence(assessment.presence)
    if assessment.economics is not None:
        yield from _economics(assessment.economics)


def _adversaries(assessment: Assessment) -> Iterator[Row]:
    yield (
        "Prosecutor: above the threshold",
        brief_percent(assessment.prosecutor.at_risk),
        "people, if their presence in the data is known",
    )
    yield (
        "Journalist: above the threshold",
        brief_percent(assessment.journalist.at_risk),
        "people, if only their presence in the population is known",
    )
    yield "Marketer: success", brief_percent(assessment.marketer), "people linked rightly when everybody is linked"


def _presence(presence: Presence) -> Iterator[Row]:
    yield "k-map", f"{presence.k_map:,}", "people in the population who look like the rarest person in the data"
    yield (
        "Presence, lowest",
        brief_percent(presence.lowest),
        "least probability that a person of the population is in the data",
    )
    yield "Presence, highest", brief_percent(presence.highest), "largest such probability; 100 % means certain"
    yield "Uncovered people", f"{presence.uncovered:,}", "people of the data whom the population shows too few of"


def _economics(game: Payoffs) -> Iterator[Row]:
    yield "Attacked", f"{game.attacked:,}", "people whom it pays to attack"
    yield "Re-identified", decimal(game.reidentified, digits=1), "of them, expected"
    yield "Adversary's payoff", amount(game.adversary), "expected, in all"
    yield "Publisher's payoff", amount(game.publisher), "expected, in all"


def parameters(assessment: Assessment, *, policy: Policy | None) -> Table:
    """What was chosen before anything was counted."""
    return Table("What was chosen before counting", ("Parameter", "Value"), tuple(_parameters(assessment, policy)))


def _parameters(assessment: Assessment, policy: Policy | None) -> Iterator[tuple[str, str | Markup]]:
    yield "Assessed columns", _columns(assessment)
    yield "Sensitive columns", join(_all(tuple(assessment.inference)) or "none")
    yield "Threshold", f"{assessment.threshold:g}: a risk above {one_in(assessment.threshold)} counts as at risk"
    yield "Limit", f"{allowed(assessment)} above the threshold"
    yield "Population", _population(assessment)
    if policy is not None and policy.file:
        yield "Policy", element("code", policy.file)


def _columns(assessment: Assessment) -> Markup:
    names = [f"{name}{_level(assessment.levels.get(name, 0))}" for name in assessment.columns]
    return join(_all(names) or "none")


def _all(names: Sequence[str]) -> str:
    return listed(names, most=len(names) + 1)


def _level(level: int) -> str:
    return f" (generalised to level {level})" if level else ""


def _population(assessment: Assessment) -> str:
    if assessment.population_size is None:
        return "not given"
    kind = "a size only" if assessment.presence is None else "a table"
    return f"{people(assessment.population_size)}, given as {kind}"
