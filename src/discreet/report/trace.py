"""Trace report: accused recipients, evidence, error rate, other explanations."""

from __future__ import annotations

import datetime
import math

from discreet.releases.tracing.evidence import ClaimOrigin
from discreet.releases.tracing.result import MOST_LIGHTS, RecipientEvidence, Trace, power, share, statements
from discreet.report.charts.bars import GAP, LABEL, LINE, Bar, Drawing, Group, percentage, rect, text
from discreet.report.toolkit import page
from discreet.report.toolkit.html import Child, join
from discreet.report.toolkit.page import Figure, Finding, Pill, Table, bullets
from discreet.report.toolkit.words import clip, plural, points
from discreet.wording import measure

REMAINS = points("""
- A recipient whose copy a third party holds as well (an intruder, a subcontractor, a later owner of its disks) cannot
  be distinguished from one who leaked on purpose.
- The error rate holds for recipients whose bits had no part in what was traced. It does not hold against a party who
  knows another recipient's copy and makes up claims or rows to point there.
- That nobody is accused clears nobody. A part of the rows, or rows that were changed beyond recognition, may hold too
  few marks. Of a release without row marks, such as one of an earlier version, a leaker who left out, filled up or
  relabelled the classes of doubtful size was never named.
- Audits must be left out without looking at who holds what, and the same trace must not be repeated with other choices.
- Keep this report with those who must decide: it names recipients.""")
CLAIMS = points("""
- Each claim is brought to its class at the published levels; one claim per class counts, and only hits on marks. For a
  mark that a copy holds with probability p, a hit weighs 0.98/p if the recipient's copy holds it and 0.02/(1 − p) if
  not; for coalitions of c = 2 and 3 recipients 1 + (1 − p)/(c p) and 1 − 1/c. The e-value is the mean over c of the
  products over all marks that were ever hit. It is 1 on average for an innocent recipient, at any time; a recipient is accused when it reaches N/alpha
  (Ville 1939).""")
LEAK = points("""
- Columns are recognised by name, and the level of each by its labels. At that granularity the rows of every copy and of
  every mark fall into cells. Single rows and decoys are looked for by all other columns; how well rows agree that are
  there, and rows that are not, is learnt from control rows, which every copy holds.
- The e-value of a recipient is a product over marks of how likely what was seen is with its bit and the copies of up to
  nine others, divided by the average over both bits; how copies were put together is learnt from earlier marks. It is 1
  on average for an innocent recipient, whatever the leaker did. A recipient is accused when it reaches N/alpha,
  where alpha is shared by all traced files of the release; the p-value is one over it.""")
REFERENCES = points("""
- Grünwald, P., de Heide, R. & Koolen, W. (2024). Safe testing. Journal of the Royal Statistical Society B 86(5).
- Tardos, G. (2008). Optimal probabilistic fingerprint codes. Journal of the ACM 55(2).
- Ville, J. (1939). Étude critique de la notion de collectif. Gauthier-Villars.""")
CARDS = ("recipients", "error-rate", "origin")
MOST_ROWS = 12
"""Recipients whose marks are shown one by one."""
SQUARES, SQUARE = 14, 0.72
"""Height of a square, and its share of the width it has."""
ROOM = 1.1
"""The scale goes beyond the line, so that it can be seen."""


def traced_findings(trace: Trace) -> tuple[Finding, ...]:
    """What was found, in words."""
    return tuple(finding for _, finding in by_topic(trace))


def by_topic(trace: Trace) -> list[tuple[str, Finding]]:
    """Findings with the figure that proves each."""
    return [(said.topic, Finding(said.says, said.then)) for said in statements(trace) if said.topic in CARDS]


def traced_parts(trace: Trace, *, command: str) -> list[page.Part]:
    """The sections of the report: findings, pictures, what was read, alternative explanations, method, command."""
    figures = [recipients(trace)]
    if any(trace.lights.values()):
        figures.append(lights(trace))
    if trace.origin is not None and trace.origin.claims:
        figures.append(decoys(trace.origin))
    read = [f"{said.says} {said.then}".strip() for said in statements(trace) if said.topic == "read"]
    alternatives = [
        words for said in statements(trace) if said.topic == "alternatives" for words in (said.says, said.then) if words
    ]
    return [
        page.findings(by_topic(trace), figures, elsewhere={"error-rate": "method"}),
        page.evidence(figures),
        page.section("listed", "Recipients", standings_table(trace), title="All recipients"),
        page.section("read", "What was read", bullets(read)),
        page.remains("This is evidence, not a verdict:", [*alternatives, *REMAINS]),
        page.method(CLAIMS if trace.kind == "claims" else LEAK, REFERENCES),
        page.reproduce(
            command,
            lead="The same table and release give the same trace with this command; each trace is recorded in the ledger:",
        ),
    ]


def traced_page(trace: Trace, *, created: datetime.datetime, command: str, version: str) -> str:
    """The report as one file."""
    what = "Claims" if trace.kind == "claims" else "A leaked file"
    accused = plural(len(trace.accused), "recipient accused", "recipients accused")
    return page.document(
        traced_parts(trace, command=command),
        kicker="Trace",
        title=f"{what} against release {trace.release}",
        about=[trace.source, plural(trace.family, "recipient"), f"alpha {trace.alpha:g}"],
        pills=[Pill("▲", accused, "danger") if trace.accused else Pill("✓", "Nobody accused", "plain")],
        created=created,
        version=version,
    )


def recipients(trace: Trace) -> Figure:
    """The evidence against each recipient, in powers of ten."""
    # A recipient is accused at N/alpha, which for a p-value is its inverse alpha/N.
    line = trace.log10_needed
    most = max(line * ROOM, *(strength(standing) for standing in trace.standings))
    accused = plural(len(trace.accused), "recipient is", "recipients are")
    meaning = (
        "The evidence (e-value) is 1 on average for an innocent recipient. It grows with every mark that was hit and is in "
        "the copy, and falls with every one that is not."
        if trace.kind == "claims"
        else "How rare the fit of the copy is: at most one in so many innocent recipients fits the file as well."
    )
    bars = tuple(
        Bar(
            standing.recipient,
            power(standing.log10_e) if standing.p_value is None else f"1 in {1 / standing.p_value:,.0f}",
            strength(standing) / most,
            note=f"{plural(standing.hits, 'mark')} for, {standing.misses:,} against, posterior "
            f"{share(standing.posterior)}",
            fill="risk" if standing.accused else "plain",
            mark=line / most,
        )
        for standing in trace.standings
    )
    return Figure(
        key="recipients",
        title="How strongly it speaks against each recipient",
        about=f"{accused} beyond the line, of {len(trace.standings):,}.",
        reading=(
            meaning,
            "The line across each bar is where a recipient is accused; striped bars reach it. Bars count in powers of ten.",
        ),
        chart=(Group(bars),),
        table=standings_table(trace),
    )


def lights(trace: Trace) -> Figure:
    """Marks that came up, as squares that light up where a copy has them."""
    shown = [standing for standing in trace.standings if standing.recipient in trace.lights][:MOST_ROWS]
    parts: list[Child] = []
    y = 0
    for standing in shown:
        own = trace.lights[standing.recipient]
        parts += [
            text(clip(standing.recipient, LABEL), y=y + 14, class_="label"),
            text(f"{sum(own)} of {len(own)}", x="100%", y=y + 14, class_="value", text_anchor="end"),
        ]
        wide = 100 / MOST_LIGHTS
        for place, lit in enumerate(own):
            class_ = f"light on{' danger' if standing.accused else ''}" if lit else "light"
            parts.append(
                rect(
                    x=percentage(place * wide),
                    width=percentage(wide * SQUARE),
                    y=y + LINE,
                    class_=class_,
                    height=SQUARES,
                )
            )
        y += LINE + SQUARES + GAP
    first, marks = shown[0], len(trace.lights[shown[0].recipient])
    others = max((sum(trace.lights[standing.recipient]) for standing in shown[1:]), default=0)
    found = "row or class of the file" if trace.kind == "leak" else "class that was claimed"
    return Figure(
        key="lights",
        title="Which copies have the marks that came up",
        about=f"The copy of {first.recipient} has {sum(trace.lights[first.recipient])} of {marks}, each other one at most {others}.",
        reading=(
            f"Each square is a {found} that only some copies have. It is filled where the copy of the recipient has it.",
            "The copy from which they come lights up from end to end. Other copies light up here and there, as chance decided.",
        ),
        chart=Drawing(join(parts), y),
        table=standings_table(trace),
    )


def strength(standing: RecipientEvidence) -> float:
    """The power of ten of the e-value, or of one over the p-value."""
    return max(0.0, standing.log10_e if standing.p_value is None else -math.log10(standing.p_value))


def standings_table(trace: Trace) -> Table:
    """The evidence in numbers."""
    head = ("Recipient", "Marks for", "Marks against", "e-value", "p-value", "Posterior", "Accused")
    rows = tuple(
        (
            standing.recipient,
            f"{standing.hits:,}",
            f"{standing.misses:,}",
            power(standing.log10_e),
            "not used" if standing.p_value is None else f"{standing.p_value:.2g}",
            share(standing.posterior),
            "yes" if standing.accused else "no",
        )
        for standing in trace.standings
    )
    return Table("The evidence against each recipient", head, rows, (1, 2, 3, 4, 5))


def decoys(origin: ClaimOrigin) -> Figure:
    """Decoys that came up beside those that chance would have brought."""
    most = max(origin.decoys, origin.expected, 1.0)
    found, chance = f"{origin.decoys:,}", measure(origin.expected)
    came_up = Bar("decoys that came up", found, origin.decoys / most)
    by_chance = Bar("decoys by chance", chance, origin.expected / most)
    return Figure(
        key="origin",
        title="Decoys, found and by chance",
        about=f"{found} decoys came up; chance would have brought {chance}.",
        reading=points(f"""
- Decoys are people who are not in the data. A source that picks people of the population with as many look-alikes meets
  some of them by chance; one that uses a copy meets more.
- The probability of so many or more by chance is {origin.p_value:.2g}."""),
        chart=(Group((came_up, by_chance)),),
        table=Table("Decoys", ("What", "Number"), (("that came up", found), ("by chance", chance)), (1,)),
    )
