"""Project report as one HTML file: findings first, evidence per section, ledger last."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from discreet.report.project.findings import SIGNS, STANDINGS, Story, statements
from discreet.report.project.sections import (
    Content,
    the_anonymisation,
    the_attacker,
    the_data,
    the_ledger,
    the_linkage,
    the_queries,
    the_recipients,
    the_risk,
)
from discreet.report.toolkit import page
from discreet.report.toolkit.components import Pill, card, cards, figures
from discreet.report.toolkit.html import element
from discreet.report.toolkit.words import agree, moment, people, plural

KINDS = {"above": "danger", "attention": "plain", "unmeasured": "plain", "within": "good"}
REMAINS = (
    "The risk holds for the quasi-identifiers of the policy. An adversary who knows more about a person than these columns finds more.",
    "The adversary is a model: gains, costs and fines are estimates, written down in the attack file.",
    "The ledger knows what went through Discreet. A file that was copied past it is not recorded.",
    (
        "The exposure of a user is what the gateway weighed, not what the user remembers, wrote down or heard from others. The gateway is "
        "not a barrier against an attacker: a user who set out to get around it may have read far more."
    ),
    (
        "A verified ledger agrees with itself and with the heads that were given. What came after the last head that was stored "
        "elsewhere could be rewritten by anyone who has both the store and its keys."
    ),
)


@dataclass(frozen=True)
class Chapter:
    """A section: its name, what it tells, or in one line why there is nothing to tell and how to get it."""

    key: str
    name: str
    title: str
    tell: Callable[[], Content] | None
    otherwise: str = ""


def project_page(story: Story, *, created: datetime.datetime, command: str, version: str) -> str:
    """The report as one file; prints with title, date and head on every page."""
    said = statements(story)
    pills = []
    for standing, words in STANDINGS.items():
        number = sum(statement.standing == standing for statement in said)
        if number:
            pills.append(Pill(SIGNS[standing], f"{number} {agree(number, *words)}", KINDS[standing]))  # type: ignore[arg-type]
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
        shown.append(card(statement.finding, link=link, tag=tag, kind=statement.standing))
    evidence, number = [], 1
    for chapter in chapters(story):
        content, drawn = ([chapter.otherwise], []) if chapter.tell is None else chapter.tell()
        pictures = figures(drawn, first=number)
        evidence.append(page.section(chapter.key, chapter.name, *content, pictures, title=chapter.title))
        number += len(drawn)
    return [
        page.section(
            "findings", "Findings", lead, cards(shown, kind="statements"), title="What a decision can rest on"
        ),
        *evidence,
        page.remains("What this report does not say:", REMAINS),
        page.reproduce(
            command,
            lead="The same project gives the same report with this command, as long as nothing more is disclosed:",
        ),
    ]


def chapters(story: Story) -> Iterator[Chapter]:
    """The sections in order: what was measured, then what was disclosed."""
    measured, found = story.measured, story.disclosed
    yield Chapter("data", "Data", "The data set", lambda: the_data(measured))
    yield Chapter("risk", "Risk", "What it risks", lambda: the_risk(measured))
    yield Chapter(
        "attacker",
        "Adversary",
        "What an adversary would do",
        None if measured.struck is None else lambda: the_attacker(measured),
        "No adversary was named. `discreet attack init --out attack.toml` writes one to be filled in; name it in the project as "
        "`attack`.",
    )
    yield Chapter(
        "anonymisation",
        "Anonymisation",
        "What was made coarser",
        None if measured.published is None else lambda: the_anonymisation(measured),
        "No anonymised table was named. `discreet anonymise DATA --policy FILE --k 5 --out safe.csv` writes one; name it in the "
        "project as `published`.",
    )
    store = "No store was named: give `store` in the project, or `--store`."
    yield Chapter(
        "recipients",
        "Recipients",
        "Who got a copy",
        None if found is None or not found.releases else lambda: the_recipients(found.releases),
        store if found is None else "The store knows no release. `discreet release plan` begins one.",
    )
    yield Chapter(
        "linkage",
        "Linkage",
        "What reviewers of pairs saw",
        None if found is None or not found.linkage else lambda: the_linkage(found.linkage),
        store if found is None else "The store knows no linkage project. `discreet link init` begins one.",
    )
    yield Chapter(
        "queries",
        "Queries",
        "What users of databases learned",
        None if found is None or not found.users else lambda: the_queries(found.users),
        store
        if found is None
        else "Nobody asked through a gateway. `discreet gateway` is placed in front of a PostgreSQL server.",
    )
    yield Chapter(
        "ledger",
        "Ledger",
        "The ledger and its head",
        None if found is None else lambda: the_ledger(found.ledger),
        store,
    )


def running(story: Story, created: datetime.datetime) -> str:
    """What is on every printed page: title, date, head, number of the page."""
    head = (
        "no ledger"
        if story.disclosed is None
        else f"head {story.disclosed.ledger.head['root'][:16]}, {story.disclosed.ledger.size:,} entries"
    )
    title = story.project.title if len(story.project.title) <= 60 else f"{story.project.title[:59]}…"
    boxes = {
        "top-left": _css(title),
        "top-right": _css(moment(created)),
        "bottom-left": _css(f"Discreet · {head}"),
        "bottom-right": '"Page " counter(page) " of " counter(pages)',
    }
    look = "font: 8pt system-ui, sans-serif; color: #444a52; white-space: nowrap;"
    return "@page {" + " ".join(f"@{box} {{ content: {words}; {look} }}" for box, words in boxes.items()) + "}"


def _css(text: str) -> str:
    """A text as a string of CSS, whatever is in it.

    >>> print(_css('a"b</style>'))
    "a\\22 b\\3c \\2f style\\3e "
    """
    return '"' + re.sub(r"[^A-Za-z0-9 .,:]", lambda found: f"\\{ord(found[0]):x} ", text) + '"'
