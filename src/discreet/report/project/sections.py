"""Sections of a project report: data, risk, attack, recipients, reviewers, database users."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from discreet.report.assessment.charts import adversaries, combinations, crowds, sensitive
from discreet.report.assessment.findings import allowed, at_risk
from discreet.report.attack.charts import strip
from discreet.report.attack.findings import Case
from discreet.report.charts.bars import Bar, Group
from discreet.report.project.ledger_facts import GatewayUser, Handed, Released, Traced
from discreet.report.project.measurement import Measured, Published
from discreet.report.toolkit.html import Child, Markup, element, join
from discreet.report.toolkit.page import Figure, Table, paragraphs, table
from discreet.report.toolkit.words import crowd, decimal, listed, one_in, people, plural
from discreet.risk import Assessment, Profile
from discreet.wording import brief_percent, measure

if TYPE_CHECKING:
    from discreet.linkage.progress import Progress


# The sections about the data: what they are, what they risk, what an adversary would do, what was made coarser.
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


ROOM = 1.15
"""A scale goes beyond its limits, so that they can be seen."""


def the_recipients(releases: Iterable[Released]) -> Content:
    """Who holds which copy, and what traces said."""
    found = list(releases)
    lead = (
        "Every recipient has a copy of its own, in which control records stand that tell it apart. What was handed over is "
        "what the ledger says."
    )
    content = [*paragraphs([lead]), *(table(_copies(release)) for release in found)]
    if any(release.traces for release in found):
        said = [(release.name, trace) for release in found for trace in release.traces]
        content.append(table(_traces(said)))
    return list(content), []


def _copies(release: Released) -> Table:
    rows = tuple(_copy(copy) for copy in release.copies)
    about = [f"at least {release.k} alike"] if release.k is not None else []
    about += [f"signed off as {release.sign_off}"] if release.sign_off else []
    caption = f"Release {release.name}" + (f" ({', '.join(about)})" if about else "")
    return Table(caption, ("Recipient", "Version", "State", "Rows", "Handed over", "SHA-256"), rows, (1, 3))


def _copy(copy: Handed) -> tuple[Any, ...]:
    rows = "none" if copy.rows is None else f"{copy.rows:,}"
    file = element("code", (copy.file or "")[:16]) if copy.file else "none"
    return join(copy.recipient), f"{copy.version}", copy.state, rows, day(copy.time) or "not yet", file


def _traces(said: list[tuple[str, Traced]]) -> Table:
    rows = tuple(
        (
            join(f"{name}, {day(trace.time)}"),
            join(f"{trace.source} ({trace.kind})"),
            f"{trace.rows:,}",
            f"{trace.marks:,}",
            join(listed(trace.accused) or "nobody"),
            trace.alpha,
        )
        for name, trace in said
    )
    head = ("Release", "What was traced", "Rows", "Marks that came up", "Accused", "Error rate")
    return Table("Traces", head, rows, (2, 3, 5))


def the_linkage(projects: Iterable[Progress]) -> Content:
    """Who saw how much of which pairs, against which limits."""
    found = list(projects)
    lead = (
        "Reviewers decide whether two records are one person and see masked values; each look costs. The privacy risk is what "
        "they learned, as a share of all that is before their eyes."
    )
    figures = [_looks(found)] if any(project.workers for project in found) else []
    return [*paragraphs([lead]), *([] if figures else [table(_reviewers(found))])], figures


def _reviewers(projects: list[Progress]) -> Table:
    head = ("Reviewer", "Project", "Pairs", "Decided", "Characters seen", "Limit", "Privacy risk", "Limit")
    rows = tuple(row for project in projects for row in _rows(project))
    return Table("What reviewers saw, and how much they may see", head, rows, (2, 3, 4, 5, 6, 7))


def _rows(project: Progress) -> Iterator[tuple[Any, ...]]:
    name = join(project.project.name)
    for worker in project.workers:
        counts = (f"{worker.pairs:,}", f"{worker.decided:,}")
        yield (join(worker.worker), name, *counts, *_gauge(worker.characters), *_gauge(worker.risk))
    decided = project.pairs - project.verdicts.get("open", 0)
    both = (*_gauge(project.characters), *_gauge(project.risk))
    yield ("All together", name, f"{project.pairs:,}", f"{decided:,}", *both)


def _gauge(gauge: Any) -> tuple[str, str]:
    return brief_percent(float(gauge.used)), "none" if gauge.limit is None else brief_percent(float(gauge.limit))


def _looks(projects: list[Progress]) -> Figure:
    people = [(project, worker) for project in projects for worker in project.workers]
    gauges = [gauge for _, worker in people for gauge in (worker.risk, worker.characters)]
    most = ROOM * max(float(max(gauge.used, gauge.limit or 0)) for gauge in gauges) or 1.0
    return Figure(
        key="looks",
        title="What reviewers have seen",
        about=f"{plural(len(people), 'reviewer', 'reviewers')}, each with the privacy risk learned and the characters seen.",
        reading=(
            "Ticks mark limits; nothing is opened beyond them.",
            f"The full width stands for {brief_percent(min(1.0, most))}.",
        ),
        groups=tuple(
            Group(
                (_meter("Privacy risk", worker.risk, most), _meter("Characters seen", worker.characters, most)),
                f"{worker.worker}, {project.project.name}",
                plural(worker.pairs, "pair", "pairs"),
            )
            for project, worker in people
        ),
        table=_reviewers(projects),
    )


def _meter(label: str, gauge: Any, most: float) -> Bar:
    used, limit = _gauge(gauge)
    beyond = gauge.limit is not None and gauge.used > gauge.limit
    mark = None if gauge.limit is None else float(gauge.limit) / most
    value = used if gauge.limit is None else f"{used} of {limit}"
    return Bar(label, value, float(gauge.used) / most, mark=mark, fill="risk" if beyond else "plain")


def the_queries(users: Iterable[GatewayUser]) -> Content:
    """What users of databases have learned, against their limits."""
    found = list(users)
    lead = (
        "Exposure is the misuse score of everything a user has seen taken together: the more she could single people out and learn "
        "about them, the larger. It is as the gateway weighed it after the last result."
    )
    return list(paragraphs([lead])), [_exposures(found)]


def _users(users: list[GatewayUser]) -> Table:
    head = ("User", "Database", "Exposure", "Limit", "Results", "Rows", "Refused", "Last")
    rows = tuple(
        (
            join(user.user),
            join(user.database),
            measure(user.exposure),
            "none" if user.limit is None else measure(user.limit),
            f"{user.answers:,}",
            f"{user.rows:,}",
            f"{user.refused:,}" + (f" (and {user.overlooked:,} let through)" if user.overlooked else ""),
            day(user.last),
        )
        for user in users
    )
    return Table("Users of databases behind a gateway", head, rows, (2, 3, 4, 5, 6))


MOST_USERS = 20


def _exposures(users: list[GatewayUser]) -> Figure:
    shown = users[:MOST_USERS]
    most = ROOM * max(max(user.exposure, user.limit or 0.0) for user in shown) or 1.0
    few = (
        f"The {MOST_USERS} users nearest to their limits are drawn; the table has all."
        if len(users) > MOST_USERS
        else ""
    )
    return Figure(
        key="exposures",
        title="What each user has learned, against her limit",
        about=f"{plural(len(shown), 'user', 'users')} of databases with their exposure.",
        reading=tuple(filter(None, ("Ticks mark limits; striped bars go beyond them.", few))),
        groups=(Group(tuple(_exposure(user, most) for user in shown)),),
        table=_users(users),
    )


def _exposure(user: GatewayUser, most: float) -> Bar:
    value = measure(user.exposure) if user.limit is None else f"{measure(user.exposure)} of {measure(user.limit)}"
    note = f"{plural(user.refused, 'request', 'requests')} refused" if user.refused else ""
    mark = None if user.limit is None else user.limit / most
    fill = "risk" if user.exceeded else "plain"
    return Bar(user.user, value, user.exposure / most, note=note, mark=mark, fill=fill)  # type: ignore[arg-type]


def day(moment: str | None) -> str:
    """A moment of the ledger, to the minute.

    >>> day("2026-01-31T12:00:00.000000Z")
    '2026-01-31 12:00'
    """
    return "" if moment is None else moment[:16].replace("T", " ")


def listed_events(events: dict[str, int]) -> Iterator[tuple[Any, ...]]:
    """Every event that was written down, with its meaning."""
    from discreet.ledger.events import EVENTS

    for code, number in events.items():
        yield element("code", code), f"{number:,}", EVENTS.get(code, "")
