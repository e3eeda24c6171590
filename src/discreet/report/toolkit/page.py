"""Page builder and its components: a report is a list of sections in one offline HTML file."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Literal, TypeAlias

from discreet.policy import Policy
from discreet.report.charts.bars import Drawing, Group, bar_chart, picture
from discreet.report.toolkit.html import Child, Markup, element, join
from discreet.report.toolkit.words import moment

Cell: TypeAlias = str | Markup
Row: TypeAlias = tuple[Cell, ...]


@dataclass(frozen=True)
class Finding:
    """A sentence that says what was found, and what to do about it."""

    headline: str
    next_step: str


def topic(key: str, headline: str, next_step: str) -> tuple[str, Finding]:
    """A finding with the key of the figure or section that proves it."""
    return key, Finding(headline, next_step)


@dataclass(frozen=True)
class Pill:
    """A verdict in two or three words, with a sign for readers without colours."""

    sign: str
    words: str
    kind: Literal["good", "danger", "plain"]


@dataclass(frozen=True)
class Table:
    """A table; the first cell names its row, `numeric` columns are aligned right."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[Row, ...]
    numeric: tuple[int, ...] = ()


@dataclass(frozen=True)
class Figure:
    """A chart with its words, and the table of the same numbers."""

    key: str
    title: str
    about: str
    """What it shows, read aloud in place of the picture."""
    reading: tuple[str, ...]
    """How to read it, beside the picture."""
    chart: tuple[Group, ...] | Drawing
    """Bars, or what is drawn where bars do not do."""
    table: Table


def prose(text: str) -> Markup:
    """Words for people: `code` in backticks, no line break before a per cent sign.

    >>> str(prose("3.7 % with `--k`"))
    '3.7\\xa0% with <code>--k</code>'
    """
    unbroken = text.replace(" %", "\N{NO-BREAK SPACE}%").replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}")
    pieces = re.split(r"`([^`]+)`", unbroken)
    return join([element("code", piece) if place % 2 else piece for place, piece in enumerate(pieces)])


def paragraphs(texts: Sequence[str]) -> list[Markup]:
    """One paragraph each."""
    return [element("p", prose(text)) for text in texts]


def bullets(texts: Sequence[Cell]) -> Markup:
    """A list of points."""
    return element("ul", [element("li", prose(text) if isinstance(text, str) else text) for text in texts])


def pill(data: Pill) -> Markup:
    """The verdict."""
    return element("span", element("span", data.sign, aria_hidden="true"), f" {data.words}", class_=f"pill {data.kind}")


def card(finding: Finding, *, link: tuple[str, str] | None = None, tag: Markup | None = None, kind: str = "") -> Markup:
    """A finding; `link` leads to its evidence, `tag` and `kind` classify it."""
    return element(
        "li",
        tag,
        element("p", prose(finding.headline), class_="headline"),
        element("p", element("b", "Next "), prose(finding.next_step), class_="next"),
        element("p", element("a", link[1], href=f"#{link[0]}"), class_="proof") if link else None,
        class_=f"card {kind}".strip(),
    )


def cards(items: Sequence[Markup], *, kind: str = "") -> Markup:
    """Findings side by side."""
    # Lists without bullets lose their meaning in one screen reader unless the role is named.
    return element("ul", items, class_=f"cards {kind}".strip(), role="list")


def table(data: Table, *, label: str = "") -> Markup:
    """The table, in a frame that scrolls sideways where it must; named by its caption, or otherwise."""

    def cell(column: int, content: Cell, *, heading: str | None) -> Markup:
        aligned = "number" if column in data.numeric else None
        if heading is None:
            return element("td", content, class_=aligned)
        return element("th", content, scope=heading, class_=aligned)

    head = element("tr", [cell(column, name, heading="col") for column, name in enumerate(data.head)])
    body = [
        element(
            "tr",
            [
                cell(column, prose(shown) if isinstance(shown, str) else shown, heading=None if column else "row")
                for column, shown in enumerate(row)
            ],
        )
        for row in data.rows
    ]
    whole = element("table", element("caption", prose(data.caption)), element("thead", head), element("tbody", body))
    return element("div", whole, class_="scroll", tabindex="0", role="region", aria_label=label or data.caption)


def folded_table(data: Table) -> Markup:
    """A table that is folded on screen and open on paper."""
    # Named apart, since a report may show the same table in a section of its own.
    shown = table(data, label=f"{data.caption}: the numbers of the figure")
    return element("details", element("summary", "Show the table"), shown)


def figure(data: Figure, number: int | str) -> Markup:
    """The words, the picture, and the table on demand; a number may be that of another document."""
    named = {"key": f"{data.key}-chart", "title": data.title, "about": data.about}
    if isinstance(data.chart, Drawing):
        size = {"class_": data.chart.class_, "width": "100%", "height": str(data.chart.height)}
        chart = picture([data.chart.parts], **named, **size)
    else:
        chart = bar_chart(data.chart, **named)
    kicker = element("p", f"Figure {number}" if isinstance(number, int) else number, class_="kicker")
    words = element("figcaption", kicker, element("h3", data.title), reading(data.reading))
    return element("figure", words, element("div", chart, folded_table(data.table), class_="plot"), id=data.key)


NEXT_SENTENCE = re.compile(r"(?<=[a-z0-9%)][.!?]) (?=[A-Z])")


def reading(texts: Sequence[str]) -> list[Markup]:
    """How a figure is read: a sentence, and the rest on demand; on paper all of it.

    >>> first, more = reading(["Bars are groups. Long ones are safe.", "Dotted lines are limits."])
    >>> str(first).strip(), "Long ones are safe." in str(more)
    ('<p>Bars are groups.</p>', True)
    """
    if not texts:
        return []
    first, *more = NEXT_SENTENCE.split(texts[0], maxsplit=1)
    rest = paragraphs([*more, *texts[1:]])
    folded = [element("details", element("summary", "More"), rest, class_="more")] if rest else []
    return [*paragraphs([first]), *folded]


def figures(data: Sequence[Figure], *, first: int = 1) -> list[Markup]:
    """Figures in order, numbered from `first` on."""
    return [figure(shown, number) for number, shown in enumerate(data, start=first)]


CONTENT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
MOST_CARDS = 6
"""Beyond, findings are a list."""
SEE = {
    "measured": "See the measures",
    "method": "See the method",
    "remains": "See what remains",
    "rules": "See the rules",
}
"""The words of a link to a section that proves a finding."""
SAME_POLICY = "The same data and policy give the same report with this command:"


@dataclass(frozen=True)
class Part:
    """A section and its name in the contents."""

    key: str
    name: str
    content: Markup | None
    """None leaves it out."""


def section(key: str, name: str, *content: Child | Table, title: str = "") -> Part:
    """A section of paragraphs, tables and markup; left out where it is empty."""
    drawn: list[Child] = []
    for item in content:
        if isinstance(item, str):
            drawn += paragraphs([item])
        elif item is not None:
            drawn.append(table(item) if isinstance(item, Table) else item)
    if not drawn:
        return Part(key, name, None)
    heading = element("h2", title or name, id=f"{key}-heading")
    return Part(key, name, element("section", heading, drawn, id=key, aria_labelledby=f"{key}-heading"))


def findings(
    topics: Iterable[tuple[str, Finding]], shown: Sequence[Figure], *, elsewhere: Mapping[str, str] | None = None
) -> Part:
    """Findings by topic, each with a link to its picture or its section."""
    links = {topic: (key, SEE[key]) for topic, key in (elsewhere or {}).items()}
    links |= {figure.key: (figure.key, f"See figure {number}") for number, figure in enumerate(shown, start=1)}
    found = list(topics)
    further = [finding.headline for _, finding in found[MOST_CARDS:]]
    return section(
        "findings",
        "Findings",
        cards([card(finding, link=links.get(topic)) for topic, finding in found[:MOST_CARDS]]),
        [element("p", element("b", "Further findings")), bullets(further)] if further else None,
    )


def evidence(shown: Sequence[Figure]) -> Part:
    """The pictures in order, numbered."""
    return section("evidence", "Evidence", figures(shown) or None)


def parameters(caption: str, rows: Iterable[Row], policy: Policy | None) -> Part:
    """What was chosen before anything was measured, by which policy."""
    chosen = tuple(rows)
    if policy is not None and policy.file:
        chosen += (("Policy", element("code", policy.file)),)
    return section("parameters", "Parameters", Table(caption, ("Parameter", "Value"), chosen))


def remains(lead: str, points: Iterable[str]) -> Part:
    """What is not protected, or not measured."""
    return section("remains", "What remains", lead, bullets(list(points)))


def method(texts: Iterable[str], references: Sequence[str]) -> Part:
    """How it was done, and whose work it rests on."""
    sources = element("div", element("h3", "References"), bullets(references), class_="references")
    return section("method", "Method", paragraphs(list(texts)), sources)


def reproduce(command: str, *, lead: str = SAME_POLICY, note: Markup | None = None) -> Part:
    """The command that gives the same report; `note` says with which policy."""
    return section("reproduce", "Reproduce", note, lead, element("pre", element("code", without_password(command))))


def policy_note(policy: Policy | None) -> Markup:
    """Which policy a report rests on."""
    if policy is None:
        return element("p", "No policy was given: limits are the defaults.")
    note = "Policy digest (SHA-256 of the policy and its hierarchies): "
    return element("p", note, element("code", policy.digest, class_="digest"))


def without_password(command: str) -> str:
    """A command that can be passed on: addresses keep their user, not the password.

    >>> without_password("discreet assess 'postgresql://ann:secret@host/db?table=t&password=x'")
    "discreet assess 'postgresql://ann:***@host/db?table=t&password=***'"
    """
    hidden = re.sub(r"(://[^/\s:@]*):[^\s']*@", r"\1:***@", command)
    return re.sub(r"""([?&\s'"](?:ssl)?password=)[^&\s'"]*""", r"\1***", hidden)


def verdict(*, exceeded: bool) -> Pill:
    """Whether the result is within its limit."""
    return Pill("▲", "Above the limit", "danger") if exceeded else Pill("✓", "Within the limit", "good")


@cache
def stylesheet() -> str:
    """The page's own style sheet."""
    return resources.files("discreet.report").joinpath("style.css").read_text(encoding="utf-8")


def margins(texts: Mapping[str, str]) -> str:
    """Style of the margins of printed pages: texts by place, and page numbers.

    >>> margins({"top-left": 'a"b</style>'})[:53]
    '@page {@top-left { content: "a\\\\22 b\\\\3c \\\\2f style\\\\3e "'
    """
    boxes = {
        # Whatever is in a text, it is a string of CSS.
        place: '"' + re.sub(r"[^A-Za-z0-9 .,:]", lambda found: f"\\{ord(found[0]):x} ", text) + '"'
        for place, text in texts.items()
    }
    boxes["bottom-right"] = '"Page " counter(page) " of " counter(pages)'
    look = "font: 8pt system-ui, sans-serif; color: #444a52; white-space: nowrap;"
    return "@page {" + " ".join(f"@{place} {{ content: {words}; {look} }}" for place, words in boxes.items()) + "}"


def document(
    parts: Sequence[Part],
    *,
    kicker: str,
    title: str,
    about: Sequence[str],
    pills: Sequence[Pill],
    created: datetime.datetime,
    version: str,
    style: str = "",
) -> str:
    """The whole file; `about` begins with the data set, `style` adds rules."""
    shown = [part for part in parts if part.content is not None]
    source, *facts = about
    when = element("time", moment(created), datetime=created.isoformat())
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=CONTENT_POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", Markup(stylesheet() + style)),
    )
    header = element(
        "header",
        element("p", kicker, class_="kicker"),
        element("h1", title),
        element("p", element("b", source), "".join(f" · {fact}" for fact in facts), " · ", when, class_="about"),
        element("p", [pill(data) for data in pills], class_="pills"),
    )
    links = [element("li", element("a", part.name, href=f"#{part.key}")) for part in shown]
    contents = element("nav", element("ul", links, role="list"), aria_label="Contents")
    made = f"Made with Discreet {version} on {moment(created)}."
    promise = "This report counts people and names columns; it holds no value of any person and loads nothing."
    footer = element("footer", element("p", prose(f"{made} {promise}")))
    body = element("body", header, contents, element("main", [part.content for part in shown]), footer)
    return str(join(Markup("<!doctype html>\n"), element("html", head, body, lang="en-GB")))
