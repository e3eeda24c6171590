"""Project report as one HTML file: findings first, evidence per section, ledger last."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from discreet.report.project.ledger_facts import Disclosed, LedgerState
from discreet.report.project.measurement import Measured
from discreet.report.project.sections import (
    Content,
    listed_events,
    the_anonymisation,
    the_attacker,
    the_data,
    the_linkage,
    the_queries,
    the_recipients,
    the_risk,
)
from discreet.report.project.statements import SIGNS, STANDINGS, Statement, Story, statements
from discreet.report.toolkit.html import Child, Markup, element
from discreet.report.toolkit.page import (
    Figure,
    Part,
    Pill,
    Table,
    document,
    figure,
    paragraphs,
    prose,
    remains_part,
    section,
    table,
    without_password,
)
from discreet.report.toolkit.words import agree, moment, people, plural

KINDS = {"above": "danger", "attention": "plain", "unmeasured": "plain", "within": "good"}
REMAINS = (
    "The risk holds for the quasi-identifiers of the policy. Whoever knows more of a person than these columns finds more.",
    "The adversary is a model: his gains, costs and fines are somebody's estimates. They stand in the attack file.",
    "The ledger knows what went through Discreet. A file that was copied past it stands nowhere.",
    (
        "The exposure of a user is what the gateway weighed, not what the user remembers, wrote down or was told. The gateway is "
        "not a barrier against an attacker: a user who set out to get around it may have read far more."
    ),
    (
        "A verified ledger agrees with itself and with the heads that were given. What came after the last head that was kept "
        "elsewhere could be rewritten by somebody who has both the store and its keys."
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
    return document(
        project_parts(story, command=command),
        kicker="A data-sharing project",
        title=story.project.title,
        about=[story.measured.source, people(story.measured.assessment.records)],
        pills=list(_pills(said)),
        created=created,
        version=version,
        style=running(story, created),
    )


def project_parts(story: Story, *, command: str) -> list[Part]:
    """The sections, for this file and for pages of the web application."""
    said = statements(story)
    return [
        Part("findings", "Findings", section("findings", "What a decision can rest on", _counted(said), _cards(said))),
        *_parts(story),
        remains_part("What this report does not say:", REMAINS),
        _reproduced(command),
    ]


def _pills(said: Sequence[Statement]) -> Iterator[Pill]:
    for standing, words in STANDINGS.items():
        number = sum(one.standing == standing for one in said)
        if number:
            yield Pill(SIGNS[standing], f"{number} {agree(number, *words)}", KINDS[standing])  # type: ignore[arg-type]


def _counted(said: Sequence[Statement]) -> Markup:
    above = sum(one.standing == "above" for one in said)
    words = (
        f"{plural(above, 'thing is', 'things are')} above a limit of the policy. The worst comes first."
        if above
        else "Nothing that was measured is above a limit. What needs attention comes first, then what nobody has measured."
    )
    return element("p", words)


def _cards(said: Sequence[Statement]) -> Markup:
    return element("ul", [_card(one) for one in said], class_="cards statements", role="list")


def _card(one: Statement) -> Markup:
    sign = element("span", one.sign, aria_hidden="true")
    words = STANDINGS[one.standing][0]
    tag = element("p", sign, f" {words[:1].upper()}{words[1:]}", class_=f"tag {KINDS[one.standing]}")
    headline = element("p", prose(one.finding.headline), class_="headline")
    step = element("p", element("b", "Next "), prose(one.finding.next_step), class_="next")
    proof = element("p", element("a", "See the evidence", href=f"#{one.topic}"), class_="proof")
    return element("li", tag, headline, step, proof, class_=f"card {one.standing}")


def _parts(story: Story) -> Iterator[Part]:
    number = 1
    for chapter in _chapters(story):
        if chapter.tell is None:
            yield Part(chapter.key, chapter.name, section(chapter.key, chapter.title, paragraphs([chapter.otherwise])))
            continue
        content, figures = chapter.tell()
        yield Part(chapter.key, chapter.name, section(chapter.key, chapter.title, content, _drawn(figures, number)))
        number += len(figures)


def _drawn(figures: Sequence[Figure], first: int) -> list[Markup]:
    return [figure(one, number) for number, one in enumerate(figures, start=first)]


def _chapters(story: Story) -> Iterator[Chapter]:
    yield from _of_the_table(story.measured)
    yield from _of_disclosures(story.disclosed)


def _of_the_table(measured: Measured) -> Iterator[Chapter]:
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


def _of_disclosures(found: Disclosed | None) -> Iterator[Chapter]:
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
        else "Nobody asked through a gateway. `discreet gateway` stands before a PostgreSQL server.",
    )
    yield Chapter(
        "ledger",
        "Ledger",
        "The ledger and its head",
        None if found is None else lambda: _the_ledger(found.ledger),
        store,
    )


def _the_ledger(ledger: LedgerState) -> Content:
    head = ledger.head
    texts = [
        (
            f"Every disclosure of the store stands in one append-only ledger. Its {plural(ledger.size, 'entry was', 'entries were')} "
            f"verified for this report; {plural(ledger.refused, 'says', 'say')} that something was refused."
        ),
    ]
    keep = [
        (
            "This is the head, in which all of it is contained. Keep it where nobody who can write to the store can change it: with "
            "this report on paper, or as a file `head.json`. Later, `discreet ledger verify --head head.json` shows that nothing "
            "before it was changed, and `discreet report PROJECT --head head.json` says so in the next report."
        ),
    ]
    shown = element("pre", element("code", json.dumps(dict(head), indent=1, sort_keys=True)), class_="head")
    facts = (
        ("Entries", f"{ledger.size:,}"),
        ("Last entry", str(head["time"])[:19].replace("T", " ") + " UTC"),
        ("Root", element("code", str(head["root"]), class_="digest")),
        ("Ledger", element("code", str(head["ledger"]), class_="digest")),
    )
    content: list[Child] = [
        *paragraphs(texts),
        table(Table("The head", ("Fact", "Value"), facts)),
        *paragraphs(keep),
        shown,
        table(
            Table(
                "What was written down",
                ("Event", "Entries", "Meaning"),
                tuple(listed_events(dict(ledger.events))),
                (1,),
            )
        ),
    ]
    return content, []


def _reproduced(command: str) -> Part:
    lead = element(
        "p", "The same project gives the same report with this command, as long as nothing more is disclosed:"
    )
    shown = element("pre", element("code", without_password(command)))
    return Part("reproduce", "Reproduce", section("reproduce", "Reproduce", lead, shown))


def running(story: Story, created: datetime.datetime) -> str:
    """What stands on every printed page: title, date, head, number of the page."""
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
