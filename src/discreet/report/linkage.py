"""Linkage report: candidate pairs, who decides them, errors by threshold."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator

from discreet.linkage.matching.candidate_pairs import UNCALIBRATED, Candidates
from discreet.linkage.matching.thresholds import Distribution, distribution
from discreet.report.charts.axes import Frame, Scale, logarithmic
from discreet.report.charts.bars import stripes
from discreet.report.charts.lines import Axes, Line, Mark, line_chart, marked, span
from discreet.report.toolkit import page
from discreet.report.toolkit.html import element
from discreet.report.toolkit.page import Figure, Finding, Pill, Table, topic
from discreet.report.toolkit.words import agree, plural, points
from discreet.wording import brief_percent, percent

TRIED = (
    "Where relatives, twins or namesakes were in the tables, 5 to 16 % of the pairs called the same were wrong in trials, and two to "
    "three times as many true ones were missed as stated."
)
"""What trials on other tables found, where a stated error is only as good as the model."""
REMAINS = (
    "Pairs that no rule makes are never looked at. How many true ones are among them is the model's guess, and can be far too high.",
    "Attributes are taken to err independently of each other. Relatives, twins, and fathers and sons of one name, break that: they agree on several attributes for one reason, and the model is sure of them.",
    f"Expected errors are sums of probabilities, and hold for pairs like those from which the model was estimated or which were labelled. {TRIED}",
)
METHOD = points("""
- The weight of a pair adds up what each attribute says for or against one person (Fellegi & Sunter 1969), and more for
  an agreement on a rare value; it was computed with Splink.
- How often strangers agree comes from random pairs, without the true ones among them; how often two records of one
  person agree comes from expectation maximisation; a level of likeness never speaks more for a pair than a closer one.
- Where there are labels, probabilities are the isotonic fit to them; each label counts as many pairs as it represents.
""")
REFERENCES = points("""
- Fellegi, I. & Sunter, A. (1969). A theory for record linkage. Journal of the American Statistical Association 64.
- Linacre, R., Lindsay, S., Manassis, T. et al. (2022). Splink: free software for probabilistic record linkage at scale.
  International Journal of Population Data Science 7(3).
- Zadrozny, B. & Elkan, C. (2002). Transforming classifier scores into accurate multiclass probability estimates. KDD.
""")
HEIGHT, TOP = 220, 70
STEPS = (1, 2, 5, 10, 20, 50, 100)
MOST_TICKS = 9
FAINTEST = 0.1
"""Expected errors below this are drawn as this: the axis counts in powers of ten."""


def pairs_findings(found: Candidates) -> tuple[Finding, ...]:
    """The findings without their topics."""
    return tuple(finding for _, finding in by_topic(found))


def by_topic(candidates: Candidates) -> Iterator[tuple[str, Finding]]:
    """Findings with the figure that proves each."""
    counts, zones = candidates.counts, candidates.zones
    if zones is None:
        yield topic(
            "zones",
            f"{plural(len(candidates.pairs), 'pair')} came without a score: people decide all of them.",
            "Import them with a score, or let `discreet link pairs` find and score pairs.",
        )
    else:
        yield topic(
            "zones",
            f"Of {plural(len(candidates.pairs), 'candidate pair')} the machine calls {counts['same']:,} the "
            f"same and {counts['different']:,} different; {counts['people']:,} {agree(counts['people'], 'goes', 'go')} to people.",
            "More or fewer go to people with `--review N`, or with other shares of errors.",
        )
        guess = "By the model's own guess the"
        by = guess if candidates.calibration is None else "For pairs like those that were labelled the"
        yield topic(
            "errors",
            f"{by} machine is expected to call {zones.false_same:,.1f} pairs the same that are not "
            f"({brief_percent(zones.false_same_share)} of those it calls the same), and to miss {zones.missed:,.1f} "
            f"({brief_percent(zones.missed_share)} of the true candidate pairs). {TRIED}",
            "Let people look at a sample of the pairs that the machine decides. Lower either share with `--false-same` and `--missed`; "
            "people will see more pairs.",
        )
        headline = UNCALIBRATED
        step = "Label some pairs and give them with `--labels`; then probabilities are calibrated by them."
        if candidates.calibration is not None:
            headline = f"Probabilities are calibrated by {plural(candidates.calibration.labels, 'label')}."
            step = "Calibrate again when people have decided more pairs."
        yield topic("method", headline, step)
    if candidates.model is not None:
        rules, recall = candidates.model.blocking.rules, candidates.model.blocking.recall
        yield topic(
            "rules",
            f"{plural(len(rules), 'rule')} {agree(len(rules), 'makes', 'make')} the candidate "
            f"pairs; by the model's guess {percent(recall)} of all true pairs are among them. In a trial it said 94.6 % where "
            "73.5 % was true: pairs that agree on no whole value are not counted.",
            "Allow more pairs with `--most-pairs` to find more.",
        )


def pairs_page(found: Candidates, *, source: str, created: datetime.datetime, command: str, version: str) -> str:
    """The report: findings, pictures, rules, what remains, method, command."""
    figures = []
    if found.zones is not None and len(found.pairs):
        data = distribution(found.pairs, found.zones)
        figures = [zones_figure(data), errors_figure(data)]
    rules = None
    if found.model is not None:
        rows = tuple(
            (
                f"{' and '.join(rule.attributes)} swapped" if rule.crossed else " and ".join(rule.attributes),
                f"{rule.pairs:,}",
                "not estimated" if rule.recall is None else brief_percent(rule.recall),
            )
            for rule in found.model.blocking.rules
        )
        caption = "Pairs that agree on these attributes are looked at"
        rules = Table(caption, ("Rule", "Pairs", "True pairs found"), rows, (1, 2))
    parts = [
        page.findings(by_topic(found), figures, elsewhere={"method": "method", "rules": "rules"}),
        page.evidence(figures),
        page.section("rules", "Rules", rules, title="The rules"),
        page.remains("What the machine does not see:", REMAINS),
        page.method(METHOD, REFERENCES),
        page.reproduce(command, lead="The same project gives the same pairs with this command:"),
    ]
    waiting = found.counts["people"]
    verdict = (
        Pill("●", f"{plural(waiting, 'pair')} for people", "plain")
        if waiting
        else Pill("▲", "No pair for people: look at a sample", "danger")
    )
    return page.document(
        parts,
        kicker="Candidate pairs",
        title=f"Candidate pairs of {source}",
        about=[source, plural(len(found.pairs), "pair")],
        pills=[verdict],
        created=created,
        version=version,
    )


def zones_figure(data: Distribution) -> Figure:
    """How many pairs have which weight, and who decides them."""
    zones = data.zones
    frame = Frame(_weights(data), logarithmic([0.9, *filter(None, data.counts)]), TOP, HEIGHT)
    bars, rows = [], []
    for place, count in enumerate(data.counts):
        if not count:
            continue
        ends = data.edges[place], data.edges[place + 1]
        middle = sum(ends) / 2
        zone = "same" if middle >= zones.upper else "people" if middle >= zones.lower else "different"
        top = frame.down(count)
        striped = {"class_": "bar", "fill": "url(#zones-people)"}
        look = striped if zone == "people" else {"class_": "bar plain", "fill": None}
        bars.append(span(frame, ends, top, max(frame.bottom - top, 1.0), gap=0.3, **look))
        rows.append((f"{ends[0]:.1f} to {ends[1]:.1f}", f"{count:,}", f"{data.expected[place]:,.1f}", zone))
    patterns = element("defs", stripes("zones-people", 6, kind="ruled"))
    return Figure(
        key="zones",
        title="Pairs by what speaks for one person",
        about=(
            f"{zones.different:,} pairs are different by machine, {zones.people:,} go to people and {zones.same:,} are the same by "
            "machine, in the order of their weight."
        ),
        reading=points("""
- One more point of weight doubles the odds that two records are one person. Bars count pairs in powers of ten.
- Striped bars go to people; the dotted lines are the two thresholds."""),
        chart=frame.drawing(
            patterns, bars, marked(frame, _thresholds(data), 30), upwards="Pairs", across="Weight", written=_count
        ),
        table=Table("Pairs by weight", ("Weight", "Pairs", "Expected the same", "Decided by"), tuple(rows), (1, 2)),
    )


def errors_figure(data: Distribution) -> Figure:
    """What a single threshold would cost."""

    def line(label: str, errors: tuple[float, ...]) -> Line:
        points = zip(data.thresholds, errors, strict=True)
        return Line(label, tuple((threshold, max(FAINTEST, error)) for threshold, error in points))

    wrong = line("wrongly the same, if everything from here on is called the same", data.false_same)
    lost = line("missed, if everything below is called different", data.missed)
    y = logarithmic([FAINTEST, *(error for drawn in (wrong, lost) for _, error in drawn.points)])
    rows = tuple(
        (f"{threshold:.1f}", f"{same:,.1f}", f"{missed:,.1f}")
        for threshold, same, missed in zip(data.thresholds, data.false_same, data.missed, strict=True)
    )
    head = ("Threshold", "Wrongly the same", "Missed")
    return Figure(
        key="errors",
        title="Expected errors by threshold",
        about="The expected number of wrong and of missed pairs for every threshold of the weight.",
        reading=points("""
- People look at the pairs between the thresholds: the machine errs right of the upper and left of the lower only.
- Both numbers are sums of the model's probabilities. They hold for pairs like those it was estimated on or labelled
  with, and are far too low where relatives or namesakes are in the tables."""),
        chart=line_chart([wrong, lost], Axes(_weights(data), y, "Weight", "Pairs", _count), marks=_thresholds(data)),
        table=Table(f"Expected errors at {plural(len(rows), 'threshold')}", head, rows, (1, 2)),
    )


def _count(value: float) -> str:
    return f"{value:,.10g}"


def _weights(data: Distribution) -> Scale:
    """All weights, with ticks at whole numbers."""
    low, high = data.edges[0], data.edges[-1]
    step = next((step for step in STEPS if (high - low) / step <= MOST_TICKS), STEPS[-1])
    ticks = range(math.ceil(low / step), math.floor(high / step) + 1)
    return Scale(low, high, tuple(float(tick * step) for tick in ticks))


def _thresholds(data: Distribution) -> list[Mark]:
    """Thresholds that are on the axis; one where no pair goes to people."""
    zones = data.zones
    both = [Mark(zones.lower, "people from here on"), Mark(zones.upper, "same by machine from here on")]
    inside = [mark for mark in both if data.edges[0] <= mark.at <= data.edges[-1]]
    return inside if zones.people else inside[1:] or inside[:1]
