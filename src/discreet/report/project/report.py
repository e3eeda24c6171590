"""Project report as one HTML file: findings first, evidence per section, ledger last."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from discreet.attacker import Attacked
from discreet.report.assessment import adversaries, combinations, crowds, sensitive
from discreet.report.assessment_findings import allowed, at_risk
from discreet.report.attack_charts import Case, strip
from discreet.report.charts.bars import Bar, Fill, Group
from discreet.report.project.findings import SIGNS, STANDINGS, Story, statements
from discreet.report.project.ledger_facts import GatewayUser, LedgerState, Released
from discreet.report.project.measurement import Measured, Published
from discreet.report.toolkit import page
from discreet.report.toolkit.html import Child, element, join
from discreet.report.toolkit.page import Figure, Row, Table
from discreet.report.toolkit.words import agree, crowd, decimal, every, listed, moment, one_in, people, plural, points
from discreet.risk import Assessment, Profile
from discreet.wording import brief_percent, measure

if TYPE_CHECKING:
    from discreet.linkage.progress import Progress

KINDS = {"above": "danger", "attention": "plain", "unmeasured": "plain", "within": "good"}
REMAINS = points("""
- The risk holds for the quasi-identifiers of the policy. An adversary who knows more about a person than these columns
  finds more.
- The adversary is a model: gains, costs and fines are estimates, written down in the attack file.
- The ledger knows what went through Discreet. A file that was copied past it is not recorded.
- The exposure of a user is what the gateway weighed, not what the user remembers, wrote down or heard from others. The
  gateway is not a barrier against an attacker: a user who set out to get around it may have read far more.
- A verified ledger agrees with itself and with the heads that were given. What came after the last head that was stored
  elsewhere could be rewritten by anyone who has both the store and its keys.""")
ROLES = {
    "identifier": ("Identifiers", "name a person; they are never published"),
    "quasi": ("Quasi-identifiers", "an adversary may know them from elsewhere"),
    "sensitive": ("Sensitive columns", "what an adversary would like to learn"),
    "other": ("Other columns", "neither; published as they are"),
    "drop": ("Dropped columns", "left out of everything that is published"),
}
ROOM = 1.15
"""A scale goes beyond its limits, so that they can be seen."""
MOST_USERS = 20
Content = tuple[Sequence["Child | Table"], Sequence[Figure]]
"""What is in a section, and the figures in it, which are numbered through the report."""


def project_page(story: Story, *, created: datetime.datetime, command: str, version: str) -> str:
    """The report as one file; prints with title, date and head on every page."""
    said = statements(story)
    pills = []
    for standing, words in STANDINGS.items():
        number = sum(statement.standing == standing for statement in said)
        if number:
            pills.append(page.Pill(SIGNS[standing], f"{number} {agree(number, *words)}", KINDS[standing]))  # type: ignore[arg-type]
    return page.document(
        project_parts(story, command=command),
        kicker="A data-sharing project",
        title=story.project.title,
        about=[story.measured.source, people(story.measured.assessment.records)],
        pills=pills,
        created=created,
        version=version,
        style=running(story, created),
    )


def project_parts(story: Story, *, command: str) -> list[page.Part]:
    """The sections, for this file and for pages of the web application."""
    said = statements(story)
    above = sum(statement.standing == "above" for statement in said)
    lead = (
        "Nothing that was measured is above a limit. What needs attention comes first, then what nobody has measured."
    )
    if above:
        lead = f"{plural(above, 'thing is', 'things are')} above a limit of the policy. The worst comes first."
    shown = []
    for statement in said:
        sign, words = element("span", statement.sign, aria_hidden="true"), STANDINGS[statement.standing][0]
        tag = element("p", sign, f" {words[:1].upper()}{words[1:]}", class_=f"tag {KINDS[statement.standing]}")
        link = statement.topic, "See the evidence"
        shown.append(page.card(statement.finding, link=link, tag=tag, kind=statement.standing))
    evidence, number = [], 1
    for key, name, title, (content, drawn) in chapters(story):
        pictures = page.figures(drawn, first=number)
        evidence.append(page.section(key, name, *content, pictures, title=title))
        number += len(drawn)
    return [
        page.section(
            "findings", "Findings", lead, page.cards(shown, kind="statements"), title="What a decision can rest on"
        ),
        *evidence,
        page.remains("What this report does not say:", REMAINS),
        page.reproduce(
            command,
            lead="The same project gives the same report with this command, as long as nothing more is disclosed:",
        ),
    ]


def chapters(story: Story) -> Iterator[tuple[str, str, str, Content]]:
    """Sections in order: key, name, title, content."""
    measured, found = story.measured, story.disclosed
    yield "data", "Data", "The data set", the_data(measured)
    yield "risk", "Risk", "What it risks", the_risk(measured)
    unnamed = "No adversary was named. `discreet attack init --out attack.toml` writes one to be filled in"
    attacked: Content = [f"{unnamed}; name it in the project as `attack`."], []
    if measured.struck is not None:
        attacked = the_attacker(measured, measured.struck)
    yield "attacker", "Adversary", "What an adversary would do", attacked
    write = "`discreet anonymise DATA --policy FILE --k 5 --out safe.csv` writes one"
    coarser: Content = [f"No anonymised table was named. {write}; name it in the project as `published`."], []
    if measured.published is not None:
        coarser = the_anonymisation(measured, measured.published)
    yield "anonymisation", "Anonymisation", "What was made coarser", coarser
    recipients = reviewers = users = ledger = "No store was named: give `store` in the project, or `--store`."
    if found is not None:
        recipients = "The store knows no release. `discreet release plan` begins one."
        reviewers = "The store knows no linkage project. `discreet link init` begins one."
        users = "Nobody asked through a gateway. `discreet gateway` is placed in front of a PostgreSQL server."
    got = the_recipients(found.releases) if found and found.releases else ([recipients], [])
    yield "recipients", "Recipients", "Who got a copy", got
    seen = the_linkage(found.linkage) if found and found.linkage else ([reviewers], [])
    yield "linkage", "Linkage", "What reviewers of pairs saw", seen
    learned = the_queries(found.users) if found and found.users else ([users], [])
    yield "queries", "Queries", "What users of databases learned", learned
    yield "ledger", "Ledger", "The ledger and its head", the_ledger(found.ledger) if found else ([ledger], [])


def running(story: Story, created: datetime.datetime) -> str:
    """What is on every printed page: title, date, head, number of the page."""
    head, title = "no ledger", story.project.title
    if story.disclosed is not None:
        head = f"head {story.disclosed.ledger.head['root'][:16]}, {story.disclosed.ledger.size:,} entries"
    title = title if len(title) <= 60 else f"{title[:59]}…"
    return page.margins({"top-left": title, "top-right": moment(created), "bottom-left": f"Discreet · {head}"})


def the_data(measured: Measured) -> Content:
    """What is to be shared, and what its columns are."""
    found, roles = measured.singling_out, []
    for role, (name, meaning) in ROLES.items():
        columns = measured.policy.named(role)  # type: ignore[arg-type]
        if columns or role != "drop":
            roles.append((name, join(every(columns)), meaning))
    if measured.policy.unconfirmed:
        meaning = "guesses that no person has confirmed; what would be published counts as a quasi-identifier"
        roles.append(("not confirmed", join(every(measured.policy.unconfirmed)), meaning))
    seen = Profile(measured.source, measured.assessment.records, (), found, ())
    figures = []
    if seen.telling:
        reading = (
            "Of all combinations of one, two or more quasi-identifiers, the one of each size that singles out most people.",
            f"Combinations of up to {plural(found.largest, 'column')} were tried, in the data as they are.",
        )
        figures = [replace(combinations(seen), reading=reading)]
    records, width = people(measured.assessment.records), plural(measured.columns, "column")
    content: list[Child | Table] = [
        f"{measured.source} holds {records} in {width}. The policy says what each column is to an adversary:",
        Table("What the columns are", ("Role", "Columns", "Meaning"), tuple(roles)),
        element("p", "Policy digest (SHA-256): ", element("code", measured.policy.digest, class_="digest")),
    ]
    return content, figures


def the_risk(measured: Measured) -> Content:
    """The measures before and after, and the pictures of what leaves the house."""
    found = measured.leaving
    content = [
        (
            f"A person is at risk when fewer than {crowd(found.threshold):,} people look alike on the quasi-identifiers: one who "
            f"guesses is then right more often than {one_in(found.threshold)}. The limit allows {allowed(found)} at risk."
        ),
        f"The figures are about {measured.leaving_name}, which is what recipients get." if measured.published else None,
        _before_and_after(measured, "What was measured now", "Measure", measures),
    ]
    return content, [crowds(found), adversaries(found), *([sensitive(found)] if found.inference else [])]


def measures(found: Assessment) -> Iterator[tuple[str, str]]:
    """Names and values of the risk measures."""
    at_more = f"{at_risk(found):,} · {brief_percent(found.binding.at_risk)}"
    yield "People", f"{found.records:,}"
    yield "People who are alone with their values", f"{found.uniques:,}"
    yield "People in the smallest class (k)", f"{found.k:,}"
    yield f"People at risk, above {one_in(found.threshold)}", at_more
    yield "Highest risk of anybody", brief_percent(found.binding.highest)
    yield "Average risk", decimal(found.average_risk, digits=4)
    yield "Held against", "population" if found.presence is not None else "the data only"


def the_attacker(measured: Measured, struck: Attacked) -> Content:
    """What an adversary would do to what is handed out, and to the data."""
    lead = (
        f"The adversary may buy a list of {people(struck.external_size)}, link it with {measured.leaving_name}, and try one candidate after the "
        "other for as long as it pays. All amounts are those of the attack file."
    )
    caption = "A planning adversary who knows how many look alike"
    table = _before_and_after(measured, caption, "Outcome", outcomes)
    return [lead, table], [strip(Case(struck, measured.leaving.threshold))]


def outcomes(found: Assessment) -> Iterator[tuple[str, str]]:
    """Names and values of what an attack comes to."""
    known = found.attack.known  # type: ignore[union-attr]
    yield "People attacked", f"{known.attacked:,}"
    yield "People re-identified, expected", decimal(known.reidentified, digits=1)
    yield "Innocent people exploited, expected", decimal(known.harmed, digits=1)
    yield "Highest probability for anybody", brief_percent(known.highest)


def _before_and_after(
    measured: Measured, caption: str, first: str, rows: Callable[[Assessment], Iterator[tuple[str, str]]]
) -> Table:
    """The same measures of the data and of what is published."""
    head, both = [first, measured.source], [measured.assessment]
    if measured.published is not None and measured.remaining is not None:
        head.append(measured.published.name)
        both.append(measured.remaining)
    lines = zip(*(rows(found) for found in both), strict=True)
    cells = tuple((line[0][0], *(value for _, value in line)) for line in lines)
    return Table(caption, tuple(head), cells, tuple(range(1, len(head))))


def the_anonymisation(measured: Measured, shown: Published) -> Content:
    """What was made coarser, and how much."""
    records = measured.assessment.records
    left = records - shown.records
    gone = "Nobody was left out"
    if left > 0:
        gone = f"{people(left).capitalize()} of {records:,} {'was' if left == 1 else 'were'} left out"
    content: list[Child | Table] = [
        f"{shown.name} holds {people(shown.records)}. {gone}.",
        f"It lacks {listed(shown.dropped)} altogether." if shown.dropped else None,
    ]
    if shown.levels is None:
        several = "Its values are at several levels of their hierarchies, or at none"
        return [*content, f"{several}: they were recoded class by class, or elsewhere."], []
    rows = []
    for column, codes in zip(shown.counted.columns, shown.counted.codes, strict=True):
        height = column.hierarchy.height
        step = f"{column.level} of {height - 1}" if height > 1 else "as it is"
        now = len(set(codes.tolist()))
        rows.append((join(column.name), step, f"{len(column.hierarchy.labels[0]):,}", f"{now:,}"))
    head = ("Column", "Level", "Values before", "Values now")
    content.append(Table("How coarse each column is", head, tuple(rows), (1, 2, 3)))
    return content, []


def the_recipients(releases: Sequence[Released]) -> Content:
    """Who holds which copy, and what traces said."""
    content: list[Child | Table] = [
        (
            "Every recipient has a copy of its own, with control records that distinguish it. What was handed over is "
            "what the ledger says."
        )
    ]
    for release in releases:
        rows = tuple(
            (
                join(copy.recipient),
                f"{copy.version}",
                copy.state,
                "none" if copy.rows is None else f"{copy.rows:,}",
                day(copy.time) or "not yet",
                element("code", copy.file[:16]) if copy.file else "none",
            )
            for copy in release.copies
        )
        about = [f"at least {release.k} alike"] if release.k is not None else []
        about += [f"signed off as {release.sign_off}"] if release.sign_off else []
        caption = f"Release {release.name}" + (f" ({', '.join(about)})" if about else "")
        head = ("Recipient", "Version", "State", "Rows", "Handed over", "SHA-256")
        content.append(Table(caption, head, rows, (1, 3)))
    traces = tuple(
        (
            join(f"{release.name}, {day(trace.time)}"),
            join(f"{trace.source} ({trace.kind})"),
            f"{trace.rows:,}",
            f"{trace.marks:,}",
            join(listed(trace.accused) or "nobody"),
            trace.alpha,
        )
        for release in releases
        for trace in release.traces
    )
    if traces:
        head = ("Release", "What was traced", "Rows", "Marks that came up", "Accused", "Error rate")
        content.append(Table("Traces", head, traces, (2, 3, 5)))
    return content, []


def the_linkage(projects: Sequence[Progress]) -> Content:
    """Who saw how much of which pairs, against which limits."""
    lead = (
        "Reviewers decide whether two records are one person and see masked values; each look costs. The privacy risk is what "
        "they learned, as a share of all that is before their eyes."
    )
    rows: list[Row] = []
    for project in projects:
        name = join(project.project.name)
        decided = project.pairs - project.verdicts.get("open", 0)
        for worker in project.workers:
            counts = (f"{worker.pairs:,}", f"{worker.decided:,}")
            rows.append((join(worker.worker), name, *counts, *_gauge(worker.characters), *_gauge(worker.risk)))
        both = (*_gauge(project.characters), *_gauge(project.risk))
        rows.append(("All together", name, f"{project.pairs:,}", f"{decided:,}", *both))
    head = ("Reviewer", "Project", "Pairs", "Decided", "Characters seen", "Limit", "Privacy risk", "Limit")
    table = Table("What reviewers saw, and how much they may see", head, tuple(rows), (2, 3, 4, 5, 6, 7))
    if not any(project.workers for project in projects):
        return [lead, table], []
    return [lead], [looks(projects, table)]


def _gauge(gauge: Any) -> tuple[str, str]:
    """What was used, and the limit."""
    return brief_percent(float(gauge.used)), "none" if gauge.limit is None else brief_percent(float(gauge.limit))


def looks(projects: Sequence[Progress], table: Table) -> Figure:
    """The privacy risk and the characters of every reviewer."""
    reviewers = [(project, worker) for project in projects for worker in project.workers]
    gauges = [gauge for _, worker in reviewers for gauge in (worker.risk, worker.characters)]
    most = ROOM * max(float(max(gauge.used, gauge.limit or 0)) for gauge in gauges) or 1.0

    def meter(label: str, gauge: Any) -> Bar:
        used, limit = _gauge(gauge)
        if gauge.limit is None:
            return Bar(label, used, float(gauge.used) / most)
        fill: Fill = "risk" if gauge.used > gauge.limit else "plain"
        return Bar(label, f"{used} of {limit}", float(gauge.used) / most, mark=float(gauge.limit) / most, fill=fill)

    return Figure(
        key="looks",
        title="What reviewers have seen",
        about=f"{plural(len(reviewers), 'reviewer')}, each with the privacy risk learned and the characters seen.",
        reading=(
            "Ticks mark limits; nothing is opened beyond them.",
            f"The full width is {brief_percent(min(1.0, most))}.",
        ),
        chart=tuple(
            Group(
                (meter("Privacy risk", worker.risk), meter("Characters seen", worker.characters)),
                f"{worker.worker}, {project.project.name}",
                plural(worker.pairs, "pair"),
            )
            for project, worker in reviewers
        ),
        table=table,
    )


def the_queries(users: Sequence[GatewayUser]) -> Content:
    """What users of databases have learned, against their limits."""
    lead = (
        "Exposure is the misuse score of everything a user has seen taken together: the more the user could single people out and learn "
        "about them, the larger. It is as the gateway weighed it after the last result."
    )
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
    shown = users[:MOST_USERS]
    most = ROOM * max(max(user.exposure, user.limit or 0.0) for user in shown) or 1.0
    bars = tuple(
        Bar(
            user.user,
            measure(user.exposure) + ("" if user.limit is None else f" of {measure(user.limit)}"),
            user.exposure / most,
            note=f"{plural(user.refused, 'request')} refused" if user.refused else "",
            mark=None if user.limit is None else user.limit / most,
            fill="risk" if user.exceeded else "plain",
        )
        for user in shown
    )
    reading = ["Ticks mark limits; striped bars go beyond them."]
    if len(users) > MOST_USERS:
        reading.append(f"The {MOST_USERS} users nearest to their limits are drawn; the table has all.")
    head = ("User", "Database", "Exposure", "Limit", "Results", "Rows", "Refused", "Last")
    exposures = Figure(
        key="exposures",
        title="What each user has learned, against the limit",
        about=f"{plural(len(shown), 'user')} of databases with their exposure.",
        reading=tuple(reading),
        chart=(Group(bars),),
        table=Table("Users of databases behind a gateway", head, rows, (2, 3, 4, 5, 6)),
    )
    return [lead], [exposures]


def the_ledger(ledger: LedgerState) -> Content:
    """The head of the ledger, and how often each event was written down."""
    from discreet.ledger.entry import EVENTS

    head = ledger.head
    facts = (
        ("Entries", f"{ledger.size:,}"),
        ("Last entry", str(head["time"])[:19].replace("T", " ") + " UTC"),
        ("Root", element("code", str(head["root"]), class_="digest")),
        ("Ledger", element("code", str(head["ledger"]), class_="digest")),
    )
    events = tuple(
        (element("code", code), f"{number:,}", EVENTS.get(code, "")) for code, number in ledger.events.items()
    )
    content: list[Child | Table] = [
        (
            f"Every disclosure of the store is in one append-only ledger. Its {plural(ledger.size, 'entry was', 'entries were')} "
            f"verified for this report; {plural(ledger.refused, 'says', 'say')} that something was refused."
        ),
        Table("The head", ("Fact", "Value"), facts),
        (
            "This is the head, in which all of it is contained. Keep it where nobody who can write to the store can change it: with "
            "this report on paper, or as a file `head.json`. Later, `discreet ledger verify --head head.json` shows that nothing "
            "before it was changed, and `discreet report PROJECT --head head.json` says so in the next report."
        ),
        element("pre", element("code", json.dumps(dict(head), indent=1, sort_keys=True)), class_="head"),
        Table("What was written down", ("Event", "Entries", "Meaning"), events, (1,)),
    ]
    return content, []


def day(moment: str | None) -> str:
    """A moment of the ledger, to the minute.

    >>> day("2026-01-31T12:00:00.000000Z")
    '2026-01-31 12:00'
    """
    return "" if moment is None else moment[:16].replace("T", " ")
