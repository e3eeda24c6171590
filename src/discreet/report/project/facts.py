"""The sections about the data: what they are, what they risk, what an adversary would do, what was made coarser."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from discreet.report.assessment.charts import adversaries, crowds
from discreet.report.assessment.findings import allowed, at_risk
from discreet.report.attack.case import Case
from discreet.report.attack.charts import strip
from discreet.report.charts.combinations import combinations
from discreet.report.charts.inference import sensitive
from discreet.report.components import Figure, Table, paragraphs, table
from discreet.report.project.measuring import Measured
from discreet.report.project.published import Published
from discreet.report.toolkit.html import Child, Markup, element, join
from discreet.report.toolkit.words import crowd, decimal, listed, one_in, people, plural
from discreet.risk import Assessment, Profile
from discreet.wording import brief_percent

ROLES = {
    "identifier": ("Identifiers", "name a person; they never leave the house"),
    "quasi": ("Quasi-identifiers", "an adversary may know them from elsewhere"),
    "sensitive": ("Sensitive columns", "what he would like to learn"),
    "other": ("Other columns", "neither; published as they are"),
    "drop": ("Dropped columns", "left out of everything that is published"),
}
Content = tuple[list[Child], list[Figure]]
"""What stands in a section, and the figures in it, which are numbered through the report."""


def the_data(measured: Measured) -> Content:
    """What is to be shared, and what its columns are."""
    found = measured.assessment
    lead = (
        f"{measured.source} holds {people(found.records)} in {plural(measured.columns, 'column', 'columns')}. The policy says what "
        "each column is to an adversary:"
    )
    policy = element("p", "Policy digest (SHA-256): ", element("code", measured.policy.digest, class_="digest"))
    return [*paragraphs([lead]), table(_roles(measured)), policy], list(_telling(measured))


def _telling(measured: Measured) -> Iterator[Figure]:
    found = measured.singling_out
    seen = Profile(measured.source, measured.assessment.records, (), found, ())
    if seen.telling:
        reading = (
            "Of all combinations of one, two or more quasi-identifiers, the one of each size that singles out most people.",
            f"Combinations of up to {plural(found.largest, 'column', 'columns')} were tried, in the data as they are.",
        )
        yield replace(combinations(seen), reading=reading)


def _roles(measured: Measured) -> Table:
    rows = tuple(
        (name, join(listed(columns, most=len(columns) + 1) or "none"), meaning)
        for role, (name, meaning) in ROLES.items()
        for columns in [measured.policy.named(role)]  # type: ignore[arg-type]
        if columns or role != "drop"
    )
    return Table("What the columns are", ("Role", "Columns", "Meaning"), rows)


def the_risk(measured: Measured) -> Content:
    """The measures before and after, and the pictures of what leaves the house."""
    found = measured.leaving
    lead = (
        f"A person is at risk when fewer than {crowd(found.threshold):,} people look alike on the quasi-identifiers: somebody who guesses is then "
        f"right more often than {one_in(found.threshold)}. The limit allows {allowed(found)} at risk."
    )
    whose = f"The figures are about {measured.leaving_name}, which leaves the house." if measured.published else ""
    return [*paragraphs([lead, *filter(None, [whose])]), table(_before_and_after(measured))], [
        crowds(found),
        adversaries(found),
        *([sensitive(found)] if found.inference else []),
    ]


def _before_and_after(measured: Measured) -> Table:
    both = [measured.assessment] + ([] if measured.remaining is None else [measured.remaining])
    head = ("Measure", measured.source) + (() if measured.published is None else (measured.published.name,))
    columns = [list(_measures(one)) for one in both]
    rows = tuple((name, *(column[place][1] for column in columns)) for place, (name, _) in enumerate(columns[0]))
    return Table("What was measured now", head, rows, tuple(range(1, len(head))))


def _measures(found: Assessment) -> Iterator[tuple[str, str]]:
    yield "People", f"{found.records:,}"
    yield "People who are alone with their values", f"{found.uniques:,}"
    yield "People in the smallest class (k)", f"{found.k:,}"
    yield (
        f"People at risk, above {one_in(found.threshold)}",
        f"{at_risk(found):,} · {brief_percent(found.binding.at_risk)}",
    )
    yield "Highest risk of anybody", brief_percent(found.binding.highest)
    yield "Average risk", decimal(found.average_risk, digits=4)
    yield "Held against", "population" if found.presence is not None else "the data only"


def the_attacker(measured: Measured) -> Content:
    """What he would do to what leaves the house, and would have done to the data."""
    struck = measured.struck
    assert struck is not None  # noqa: S101 - the section is left out otherwise
    case = Case(struck, measured.leaving.threshold)
    lead = (
        f"He may buy a list of {people(struck.external_size)}, link it with {measured.leaving_name}, and try one candidate after the "
        "other for as long as it pays. All amounts are those of the attack file."
    )
    return [*paragraphs([lead]), table(_outcomes(measured))], [strip(case)]


def _outcomes(measured: Measured) -> Table:
    both = [measured.assessment] + ([] if measured.remaining is None else [measured.remaining])
    head = ("What he does", measured.source) + (() if measured.published is None else (measured.published.name,))
    columns = [list(_fates(one)) for one in both]
    rows = tuple((name, *(column[place][1] for column in columns)) for place, (name, _) in enumerate(columns[0]))
    return Table("A planning adversary, if he knows how many look alike", head, rows, tuple(range(1, len(head))))


def _fates(found: Assessment) -> Iterator[tuple[str, str]]:
    known = found.attack.known  # type: ignore[union-attr]
    yield "People he attacks", f"{known.attacked:,}"
    yield "People he re-identifies, expected", decimal(known.reidentified, digits=1)
    yield "Innocent people he exploits, expected", decimal(known.harmed, digits=1)
    yield "Highest probability for anybody", brief_percent(known.highest)


def the_anonymisation(measured: Measured) -> Content:
    """What was made coarser, and how much."""
    shown = measured.published
    assert shown is not None  # noqa: S101 - the section is left out otherwise
    left = measured.assessment.records - shown.records
    gone = (
        f"{people(left).capitalize()} of {measured.assessment.records:,} {'was' if left == 1 else 'were'} left out"
        if left > 0
        else "Nobody was left out"
    )
    lead = f"{shown.name} holds {people(shown.records)}. {gone}."
    dropped = f"It lacks {listed(shown.dropped)} altogether." if shown.dropped else ""
    texts = [lead, *filter(None, [dropped, _mixed(shown)])]
    return [*paragraphs(texts), *([] if shown.levels is None else [table(_coarser(shown))])], []


def _mixed(shown: Published) -> str:
    if shown.levels is not None:
        return ""
    return "Its values stand on several levels of their hierarchies, or on none: they were recoded class by class, or elsewhere."


def _coarser(shown: Published) -> Table:
    return Table(
        "How coarse each column is",
        ("Column", "Level", "Values before", "Values now"),
        tuple(_levels(shown)),
        (1, 2, 3),
    )


def _levels(shown: Published) -> Iterator[tuple[str | Markup, ...]]:
    for column in shown.counted.columns:
        now = len(set(shown.counted.codes[shown.counted.names.index(column.name)].tolist()))
        step = f"{column.level} of {column.hierarchy.height - 1}" if column.hierarchy.height > 1 else "as it is"
        yield join(column.name), step, f"{len(column.hierarchy.labels[0]):,}", f"{now:,}"
