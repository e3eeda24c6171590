"""The sections about what was disclosed: to recipients, to reviewers of pairs, to users of databases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from discreet.report.charts.bars import Bar, Group
from discreet.report.components import Figure, Table, paragraphs, table
from discreet.report.project.facts import Content
from discreet.report.project.ledger_facts import Handed, Released, Traced
from discreet.report.project.queries import GatewayUser
from discreet.report.toolkit.html import element, join
from discreet.report.toolkit.words import listed, plural
from discreet.wording import brief_percent, measure

if TYPE_CHECKING:
    from discreet.linkage.progress import Progress

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
