"""Linkage report: candidate pairs, who decides them, errors by threshold."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from discreet.linkage.evaluation import ConditionResult, LinkEvaluation, ReviewerResult
from discreet.linkage.matching.candidate_pairs import UNCALIBRATED, Candidates
from discreet.linkage.matching.encoded_pairs import likeness_of
from discreet.linkage.matching.thresholds import Distribution, Zones, distribution
from discreet.report.charts.axes import Frame, Scale, logarithmic
from discreet.report.charts.bars import stripes
from discreet.report.charts.lines import Axes, Line, Mark, line_chart, marked, span
from discreet.report.toolkit import page
from discreet.report.toolkit.html import element
from discreet.report.toolkit.page import Figure, Finding, Pill, Table, topic
from discreet.report.toolkit.words import agree, plural, points
from discreet.wording import brief_percent, percent

GUESS = (
    "Nothing outside of the model says whether this is right: where relatives, twins or namesakes are in the tables, it has been "
    "ten times too low."
)
"""What a model's own statement about its errors is worth."""
REMAINS = (
    "Pairs that no rule makes are never looked at. How many true ones are among them is estimated from those that only one rule found, which finds too few missing where rules miss the same pairs.",
    "Attributes are taken to err independently of each other. Relatives, twins and namesakes break that. Pairs whose given name or birth date differs as a whole go to people; relatives that differ in neither do not.",
    "A label sample bounds errors for these tables, and only as well as people answered. Without one, errors are the model's guess.",
)
METHOD = points("""
- The weight of a pair adds up what each attribute says for or against one person (Fellegi & Sunter 1969), and more for
  an agreement on a rare value; it was computed with Splink.
- How often strangers agree comes from random pairs, without the true ones among them; how often two records of one
  person agree comes from expectation maximisation; a level of likeness never speaks more for a pair than a closer one.
- A pair whose given name or birth date differs as a whole, or has neither, is given three bits at most, so that people
  decide it, unless both records have the same number that only one person has.
- Where there are labels, probabilities are the isotonic fit to them; each label counts as many pairs as it represents.
""")
REFERENCES = points("""
- Fellegi, I. & Sunter, A. (1969). A theory for record linkage. Journal of the American Statistical Association 64.
- Linacre, R., Lindsay, S., Manassis, T. et al. (2022). Splink: free software for probabilistic record linkage at scale.
  International Journal of Population Data Science 7(3).
- Chao, A. (1987). Estimating the population size for capture-recapture data with unequal catchability. Biometrics 43.
- Korn, E. & Graubard, B. (1998). Confidence intervals for proportions with small expected number of positive counts
  estimated from survey data. Survey Methodology 24.
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
        waiting = int((candidates.stands > 0).sum())
        if waiting:
            yield topic(
                "zones",
                f"People first review a label sample of {plural(waiting, 'pair')}, drawn at random from sure and unsure ones.",
                "When it is reviewed, write the answers with `discreet link labels` and give them with `--labels`.",
            )
        yield topic(
            "zones",
            f"Of {plural(len(candidates.pairs), 'candidate pair')} the machine calls {counts['same']:,} the "
            f"same and {counts['different']:,} different; {counts['people']:,} {agree(counts['people'], 'goes', 'go')} to people.",
            "More or fewer go to people with `--review N`, or with other shares of errors."
            if candidates.floor is None
            else "Nobody can review encoded records: there is nothing to read.",
        )
        if candidates.floor is not None and candidates.labels == 0:
            yield topic("errors", *errors_by_chance(zones))
            return
        yield topic("errors", *_errors(zones, drawn=bool(waiting)))
        headline = UNCALIBRATED
        step = "Draw a label sample with `--sample 200`, have people review it, and give their answers with `--labels`."
        step = "Give the answers to the label sample with `--labels`." if waiting else step
        if candidates.calibration is not None:
            headline = f"Probabilities are calibrated by {plural(candidates.calibration.labels, 'label')}."
            step = "Calibrate again when people have decided more pairs."
        yield topic("method", headline, step)
    if candidates.model is not None:
        rules, recall = candidates.model.blocking.rules, candidates.model.blocking.recall
        yield topic(
            "rules",
            f"{plural(len(rules), 'rule')} {agree(len(rules), 'makes', 'make')} the candidate pairs; {percent(recall)} of all "
            "true pairs are among them, at most: this is estimated from the pairs that only one rule found.",
            "Allow more pairs with `--most-pairs` to find more.",
        )


def errors_by_chance(zones: Zones) -> tuple[str, str]:
    """What the tables themselves say about the errors among encoded records."""
    if not zones.same:
        return (
            "No two encodings of different tables are more alike than encodings of one table.",
            "Were they made with one secret, one link file and values written alike? If so, the tables share nobody.",
        )
    stated = (
        f"Pairs are the same from a likeness (Dice) of {likeness_of(zones.upper):.2f} on. By the likeness of pairs within each table, who are "
        f"two people if every table has each person once, {zones.false_same:,.1f} of these matches are expected to be wrong "
        f"({brief_percent(zones.false_same_share)}). Below it are {zones.missed:,.0f} more pairs than chance explains: at least about so "
        "many true pairs are missed. These are estimates, not bounds, and nobody can look."
    )
    return stated, "Add --one-to-one where it is true. A larger --false-same misses fewer."


def _errors(zones: Zones, *, drawn: bool) -> tuple[str, str]:
    """What is known about the machine's errors, and what to do about them."""
    if zones.false_same_most is None or zones.missed_most is None:
        guess = (
            f"By the model's own guess the machine is expected to call {zones.false_same:,.1f} pairs the same that are not "
            f"({brief_percent(zones.false_same_share)} of those it calls the same), and to miss {zones.missed:,.1f} "
            f"({brief_percent(zones.missed_share)} of the true candidate pairs). {GUESS}"
        )
        step = "Have the label sample reviewed" if drawn else "Draw a label sample with `--sample 200`"
        return guess, f"{step} before you rely on it."
    bound = (
        f"By the label sample at most {brief_percent(zones.false_same_most)} of the pairs that the machine calls the same are not "
        f"(expected: {zones.false_same:,.1f} pairs), and it misses at most {brief_percent(zones.missed_most)} of the true candidate "
        f"pairs (expected: {zones.missed:,.1f}), each with 95 % confidence."
    )
    return (
        bound,
        "More labels give closer bounds. Lower either share with `--false-same` and `--missed`; people will see more pairs.",
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
                rule.name,
                f"{rule.pairs:,}",
                "not estimated" if rule.recall is None else brief_percent(rule.recall),
            )
            for rule in found.model.blocking.rules
        )
        caption = "Pairs of which one of these rules is true are looked at"
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
        else Pill("●", "Encoded: the machine decides all", "plain")
        if found.floor is not None
        else Pill("▲", "No pair for people: draw a label sample", "danger")
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


def accuracy_figure(costs: Mapping[Any, Any]) -> Figure:
    """What the authors' reviewers got right by what they were shown, and where displays of these pairs are."""
    studied = Line(
        "right in the authors' study, by characters shown", ((0, 74.5), (30, 84.1), (100, 84.1)), steps=False
    )
    marks = [
        Mark(100 * float(costs[way].characters), f"{way} display of these pairs") for way in ("minimum", "moderate")
    ]
    y, x = Scale(70, 90, (70, 75, 80, 85, 90)), Scale(0, 100, (0, 20, 40, 60, 80, 100))
    rows = (("0 %", "74.5 %"), ("30 %", "similar to full access"), ("100 %", "84.1 %"))
    return Figure(
        key="accuracy",
        title="Expected accuracy by what is shown",
        about="Accuracy rises from 74.5 % with everything masked to 84.1 % at about 30 % of the characters, and not beyond.",
        reading=points("""
- Three points are printed: 74.5 % right with everything masked, 84.1 % with everything open, and about as many with 30 %
  of the characters (104 people). Your pairs and reviewers differ: hide gold pairs among them to know."""),
        chart=line_chart(
            [studied], Axes(x, y, "Characters shown, in per cent", "Right decisions, in per cent"), marks=marks
        ),
        table=Table("What the authors print", ("Characters shown", "Right decisions"), rows, (1,)),
    )


def evaluation_parts(found: LinkEvaluation) -> list[page.Part]:
    """The parts of an evaluation: findings, interfaces, reviewers, confidence."""

    def share(value: Fraction | None) -> str:
        return "none" if value is None else brief_percent(float(value))

    def row(name: str, one: ReviewerResult | ConditionResult) -> tuple[str, ...]:
        accuracy = one.accuracy
        shares = (share(part) for part in (accuracy.accuracy, accuracy.precision, accuracy.recall))
        seconds = "none" if one.seconds is None else f"{one.seconds:.0f}"
        return name, f"{accuracy.answered:,}", *shares, seconds, share(one.risk), share(one.characters)

    measures = ("Answers", "Accuracy", "Precision", "Recall", "Seconds a pair", "Privacy risk (KAPR)", "Characters")
    sure = tuple(
        (
            name,
            *(
                "none" if level.accuracy is None else f"{share(level.accuracy)} of {level.answered}"
                for level in one.by_confidence.values()
            ),
        )
        for name, one in found.conditions.items()
    )
    return [
        page.findings(evaluation_findings(found), []),
        page.section(
            "interfaces", "Interfaces",
            Table(
                "By interface: all its reviewers together", ("Interface", "Reviewers", *measures),
                tuple((name, f"{one.reviewers}", *row(name, one)[1:]) for name, one in found.conditions.items()), tuple(range(1, 9)),
            ),
        ),
        page.section(
            "reviewers", "Reviewers",
            Table(
                "By reviewer", ("Reviewer", "Interface", *measures),
                tuple((one.worker, one.condition, *row("", one)[1:]) for one in found.reviewers), tuple(range(2, 9)),
            ),
        ),
        page.section(
            "confidence", "Confidence",
            "Calibration: who says high should be right more often than who says low.",
            Table("Right answers by stated confidence", ("Interface", "High", "Medium", "Low"), sure, (1, 2, 3)),
        ),
    ]  # fmt: skip


def evaluation_findings(found: LinkEvaluation) -> Iterator[tuple[str, Finding]]:
    """Findings of an evaluation: accuracy of the decisions, and of each interface."""
    final = found.final
    right = (
        "nothing was decided"
        if final.accuracy is None
        else f"{brief_percent(float(final.accuracy))} of the decisions are right"
    )
    yield topic(
        "final",
        f"Of {plural(found.pairs, 'pair')} with a known truth {plural(final.answered, 'is', 'are')} decided: {right}.",
        "Adjudicate what is in dispute; have pairs decided twice where errors cost.",
    )
    judged = {
        name: one.accuracy.accuracy for name, one in found.conditions.items() if one.accuracy.accuracy is not None
    }
    if len(judged) > 1:
        best = max(judged, key=lambda name: judged[name])
        least = min(judged, key=lambda name: found.conditions[name].risk)
        yield topic(
            "interfaces",
            f"Most right with the interface {best} ({brief_percent(float(judged[best]))}); the least privacy risk with {least} "
            f"({brief_percent(float(judged[least]))} right).",
            "Choose the interface with the least risk whose accuracy is good enough.",
        )
    for one in found.reviewers:
        if one.too_fast:
            yield topic("fast", f"{one.worker} decides faster than people read.", "Look at these decisions.")


def evaluation_page(found: LinkEvaluation, *, created: datetime.datetime, command: str, version: str) -> str:
    """The report of an evaluation as a file."""
    return page.document(
        [
            *evaluation_parts(found),
            page.reproduce(command, lead="The same answers and truth give the same with this command:"),
        ],
        kicker="Evaluation of reviewers",
        title=f"How well reviewers of {found.project} do",
        about=[found.project, plural(found.pairs, "pair"), plural(len(found.reviewers), "reviewer")],
        pills=[],
        created=created,
        version=version,
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
