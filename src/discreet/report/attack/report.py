"""Attack report as one HTML file: outcomes, deterrence, method."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence

import numpy as np

from discreet.attacker import Attacked
from discreet.attacker.population import Expected, Staircase
from discreet.policy import Policy
from discreet.report.assessment.report import REFERENCES as MEASURES
from discreet.report.attack.charts import KNOWN, UNKNOWN, chance, fates, strip
from discreet.report.attack.findings import Case, at_least, by_topic
from discreet.report.charts.axes import Axes, Line, Mark, Scale, line_chart, linear, logarithmic
from discreet.report.charts.bars import Drawing
from discreet.report.toolkit.html import Markup, element, join
from discreet.report.toolkit.page import (
    Figure,
    Part,
    Table,
    document,
    evidence_part,
    findings_part,
    method_part,
    remains_part,
    reproduce_part,
    section,
    table,
    verdict,
)
from discreet.report.toolkit.words import amount, decimal, listed, one_in, people
from discreet.wording import brief_percent, measure, percent

# A table under attack as one HTML file: whom the adversary attacks, how far he goes, and what deters him.
ELSEWHERE = {"harmed": ("measured", "See the measures"), "loss": ("measured", "See the measures")}
"""Where a finding without a picture leads."""


def attack_page(
    struck: Attacked,
    *,
    title: str,
    source: str,
    threshold: float,
    exceeded: bool,
    created: datetime.datetime,
    command: str,
    version: str,
    policy: Policy | None = None,
) -> str:
    """The report: findings, the picture behind each, measures, what remains, parameters, method, command."""
    case = Case(struck, threshold)
    parts = attack_parts(case, source=source, command=command, policy=policy)
    return document(
        parts,
        kicker="Planning adversary",
        title=title,
        about=[source, people(case.records), f"against a list of {people(struck.external_size)}"],
        pills=[verdict(exceeded=exceeded)],
        created=created,
        version=version,
    )


def attack_parts(case: Case, *, source: str, command: str, policy: Policy | None = None) -> list[Part]:
    """The sections of the report, for pages that have a frame of their own."""
    figures = tuple(pictures(case))
    return [
        findings_part(by_topic(case, source), figures, elsewhere=ELSEWHERE),
        evidence_part(figures),
        _measured(case),
        remains_part("This adversary is a model:", remains(case)),
        Part("parameters", "Parameters", section("parameters", "Parameters", table(parameters(case, policy=policy)))),
        method_part(method(case), REFERENCES),
        reproduce_part(command, policy),
    ]


def pictures(case: Case) -> Iterator[Figure]:
    """Every figure that there are numbers for, in the order of the findings."""
    yield strip(case)
    yield chance(case)
    yield fates(case)
    fine = by_fine(case)
    if fine is not None:
        yield fine
    yield by_price(case)


def _measured(case: Case) -> Part:
    lead = "Amounts and numbers of people are expected values over his plan; people who look alike run the same risk."
    content = section("measured", "What was measured", element("p", lead), table(measured(case)))
    return Part("measured", "Measures", content)


STEPS, FEW = 48, 8
"""Fines that are tried, and where each takes its time."""
LARGE = 4000
ROWS = 12


def by_fine(case: Case) -> Figure | None:
    """People re-identified as the fine rises; None where he never pays one."""
    if case.attack.max_penalties == 0:
        return None
    points = _tried(case)
    found = None if case.deterrents is None else case.deterrents.penalty
    return Figure(
        key="fine",
        title="What a fine does",
        about=_about("fine", case.attack.penalty, case.struck.known.reidentified, found),
        reading=tuple(_fine_reading(case, found)),
        groups=(),
        table=_fine_table(points),
        drawing=_chart(
            _lines(points), logarithmic([fine for fine, _ in points]), "Fine", _marks(case.attack.penalty, found)
        ),
    )


def _fine_reading(case: Case, found: float | None) -> Iterator[str]:
    yield "People he is expected to re-identify if he had to pay another fine when he is detected; all else stays the same."
    chance = float(case.attack.detection(np.zeros(1, dtype=np.int64))[0])
    yield f"His first attempt is detected with probability {measure(chance, digits=2)}. The fine counts in powers of ten."
    if found is None:
        yield "No fine deters him from everybody."
    elif found > case.attack.penalty:
        yield f"From {at_least(found)} on he attacks nobody of whom he knows how many people look alike."


def _tried(case: Case) -> list[tuple[float, Expected]]:
    """Fines around the present one and the one that deters, and what comes of each."""
    present, gain = case.attack.penalty, case.attack.gain
    found = case.deterrents.penalty if case.deterrents is not None else None
    there = [amount for amount in (present, found) if amount] or [gain or 1.0]
    heavy = _heavy(case)
    low, high = min(there) / (1 if heavy else 10), max(there) * (1.25 if found else 30)
    fines = sorted({*np.geomspace(low, high, FEW if heavy else STEPS).tolist(), *there})
    return list(zip(fines, case.targets.by_penalty(case.attack, fines), strict=True))


def _heavy(case: Case) -> bool:
    """Whether he might go through groups so large that each plan takes its time."""
    if case.attack.risks_the_same_at_every_exploit:
        return False
    return int(case.targets.worthwhile(case.attack).groups.max(initial=0)) > LARGE


def _lines(points: Sequence[tuple[float, Expected]]) -> list[Line]:
    known = tuple((fine, one.known) for fine, one in points)
    return [Line(KNOWN, known), Line(UNKNOWN, tuple((fine, one.unknown) for fine, one in points))]


def _fine_table(points: Sequence[tuple[float, Expected]]) -> Table:
    shown = points[:: max(1, len(points) // ROWS)]
    shown = [*shown, *([points[-1]] if points[-1] not in shown else [])]
    rows = tuple(
        (
            amount(round(fine)) if fine >= 10 else measure(fine),
            _people(one.known),
            _people(one.unknown),
            f"{one.largest:,}",
        )
        for fine, one in shown
    )
    head = ("Fine", KNOWN, UNKNOWN, "Largest group attacked")
    return Table("People re-identified (expected) by the fine", head, rows, (0, 1, 2, 3))


def by_price(case: Case) -> Figure:
    """People re-identified as the list becomes dearer."""
    known, unknown = case.targets.by_price(case.attack)
    found = None if case.deterrents is None else case.deterrents.price
    most = max([*known.prices.tolist(), *unknown.prices.tolist(), case.attack.access_cost * 1.1, 1.0]) * 1.06
    lines = [_stairs(KNOWN, known, most), _stairs(UNKNOWN, unknown, most)]
    return Figure(
        key="price",
        title="What a dearer list does",
        about=_about("price", case.attack.access_cost, case.struck.known.reidentified, found),
        reading=tuple(_price_reading(case, found)),
        groups=(),
        table=_price_table(known, unknown, case.attack.access_cost, most),
        drawing=_chart(lines, linear([0.0, most]), "Price of the list", _marks(case.attack.access_cost, found)),
    )


def _price_reading(case: Case, found: float | None) -> Iterator[str]:
    yield "People he is expected to re-identify if the list of named people had another price, paid for each target anew."
    yield "The price decides only whether he buys; every step is a group size that stops being worth it."
    if found is not None and found > case.attack.access_cost:
        yield f"From {at_least(found)} on he attacks nobody of whom he knows how many people look alike."


def _stairs(label: str, stairs: Staircase, most: float) -> Line:
    points = [(0.0, stairs.at(0.0))]
    points += [(price, stairs.at(price)) for price in stairs.prices.tolist() if price > 0]
    return Line(label, (*points, (most, 0.0)))


def _price_table(known: Staircase, unknown: Staircase, present: float, most: float) -> Table:
    prices = sorted({*linear([0, most], most=ROWS).ticks, present})
    rows = tuple((amount(price), _people(known.at(price)), _people(unknown.at(price))) for price in prices)
    return Table("People re-identified (expected) by the price of the list", ("Price", KNOWN, UNKNOWN), rows, (0, 1, 2))


def _people(number: float) -> str:
    return measure(number) if number < 1000 else f"{number:,.0f}"


def _about(what: str, present: float, people: float, found: float | None) -> str:
    deters = "nothing deters him from all" if found is None else f"{at_least(found)} deters him from all"
    return f"At the present {what} of {amount(present)} he re-identifies {_people(people)}; {deters}."


def _marks(present: float, found: float | None) -> list[Mark]:
    marks = [Mark(present, f"now {amount(present)}")]
    if found is not None and found > present:
        marks.append(Mark(found, f"{at_least(found)} deters him from all"))
    return marks


def _chart(lines: Sequence[Line], x: Scale, across: str, marks: Sequence[Mark]) -> Drawing:
    people = [height for line in lines for _, height in line.points]
    axes = Axes(x, linear([0.0, *people], zero=True), across, "People re-identified, expected")
    return line_chart(lines, axes, marks=[mark for mark in marks if mark.at > 0 or not x.log])


# The tables of the page: what the attack comes to, and who the adversary is.
def measured(case: Case) -> Table:
    """Every number for both adversaries, with its meaning."""
    head = ("Measure", "Knows the groups", "Does not", "Meaning")
    return Table("What the attack comes to", head, tuple(_measured_measures(case)), (1, 2))


def _measured_measures(case: Case) -> Iterator[tuple[str, ...]]:
    found = [one.to_dict(case.threshold) for one in (case.struck.known, case.struck.unknown)]

    def row(name: str, key: str, meaning: str) -> tuple[str, ...]:
        return name, *(_number(one[key]) for one in found), meaning

    yield row("Attacked", "attacked", "people for whom he tries anybody")
    yield row("In full", "in_full", "of them, to the last candidate")
    yield row("In part", "in_part", "of them, until it no longer pays")
    yield row("Left alone", "not_at_all", "people for whom he tries nobody")
    shares = tuple(brief_percent(one["at_risk"]) for one in found)
    yield "Above the threshold", *shares, f"people re-identified with a probability above {one_in(case.threshold)}"
    yield "Highest risk", *(brief_percent(one["highest"]) for one in found), "probability of the most exposed person"
    yield row("Re-identified", "reidentified", "people, expected")
    yield row("Innocent people exploited", "people_harmed", "people of the list taken for somebody else, expected")
    yield row("Exploits", "exploits", "candidates tried, expected")
    yield row("Penalties", "penalties", "times that he pays, expected")
    yield row("Adversary's value", "adversary_value", "what all attacks are worth to him, discounted")
    yield row("Expected loss", "expected_loss", "what they cost the publisher")
    yield row("Highest loss", "highest_loss", "what the most expensive person costs, expected")


def _number(value: float) -> str:
    if isinstance(value, int) or value >= 1000:
        return f"{value:,.0f}"
    return measure(value) if value else "0"


def parameters(case: Case, *, policy: Policy | None) -> Table:
    """Who the adversary is, and what he is let loose on."""
    return Table("What was assumed before planning", ("Parameter", "Value"), tuple(_parameters(case, policy)))


def _parameters(case: Case, policy: Policy | None) -> Iterator[tuple[str, str | Markup]]:
    attack = case.attack
    yield "In the list", f"{percent(attack.prior)}: how likely the target is in the list of named people at all"
    yield "Gain", f"{amount(attack.gain)} for a re-identification"
    yield "Price of the list", amount(attack.access_cost)
    yield "Cost of linking", amount(attack.link_cost)
    yield "Cost of an attempt", f"{amount(attack.exploit_cost)} for each candidate"
    yield "Fine", _fine(case)
    yield "Detection", _detection(case)
    yield "Discount", f"{attack.discount:g}: what a step later is worth"
    yield "Loss", _loss(case)
    names = case.struck.sample.names
    yield "Columns he knows", join(listed(names, most=len(names) + 1) or "none")
    yield "List of named people", people(case.struck.external_size)
    yield "Threshold", f"{case.threshold:g}: a probability above {one_in(case.threshold)} counts as at risk"
    if policy is not None and policy.file:
        yield "Policy", element("code", policy.file)


def _fine(case: Case) -> str:
    most = case.attack.max_penalties
    often = (
        "each time that he is detected" if most is None else f"{most:,} times at most" if most != 1 else "once at most"
    )
    return f"{amount(case.attack.penalty)}, {often}" if most != 0 else "never paid"


def _detection(case: Case) -> str:
    attack = case.attack
    first, tenth = (float(chance) for chance in attack.detection(np.array([0, 9])))
    if attack.detection_slope == 0:
        return f"{percent(first, below='less than ')} of attempts, whichever it is"
    return f"{decimal(first)} of first attempts, {decimal(tenth)} of tenth ones"


def _loss(case: Case) -> str | Markup:
    losses = case.struck.known.losses
    if losses.column is not None:
        return join("what column ", element("code", losses.column), " says of each person")
    return f"{amount(float(losses.highest.max(initial=0.0)))} for each person"


# How the adversary plans, what the model leaves out, and whose work it rests on.
XIA = (
    "Xia, W., Kantarcioglu, M., Wan, Z., Heatherly, R., Vorobeychik, Y. & Malin, B. (2015). Process-driven data privacy. "
    "CIKM."
)
REFERENCES = (MEASURES["wan"], XIA)


def remains(case: Case) -> tuple[str, ...]:
    """What the model does not see."""
    return tuple(_remains(case))


def _remains(case: Case) -> Iterator[str]:
    yield (
        "The adversary is rational: he acts only where it pays. One who acts out of spite, curiosity or for show does not "
        "count costs, and is not deterred by them."
    )
    yield (
        "His gain, his costs and the chance that he is detected are guesses. Vary them (`discreet attack sweep`) before a "
        "decision rests on them."
    )
    yield (
        "Each person is attacked on their own, and the list is paid for each time. Who attacks many buys it once: then people "
        "whom nobody would attack alone can be attacked together."
    )
    yield (
        "An attempt is detected independently of the others and of whether it is right, with a probability that depends only "
        "on how many came before."
    )
    yield "He knows at once whether he was right. Somebody who cannot tell goes on longer, and harms more people."
    yield (
        "Only the columns named below count, and the list is taken as coded like the data. Whoever knows more makes groups "
        "smaller than shown here."
    )
    if case.unlisted:
        yield (
            "People whom nobody in this list looks like are safe from this list only: another one may hold them under the "
            "same values."
        )


def method(case: Case) -> tuple[str, ...]:
    """How it was computed, with authors and years."""
    return (
        (
            "The attack is a sequence of decisions: buy the list of named people, link it, try one candidate after another, stop. "
            "It is a factored Markov decision process (Xia et al. 2015), solved exactly for every group size by one backward "
            "recursion; an action is taken only if it is worth more than stopping."
        ),
        (
            "With g candidates and i of them tried in vain, the next is right with probability 1/(g/p - i), where p is the "
            "probability that the target is in the list, and detected with probability 1/(1 + exp(-(h0 + h1 i))). Gain and fine "
            "arrive one step after the cost, and later steps are discounted."
        ),
        (
            "Knowing the group, he buys if that is worth more than the price. Not knowing it, he expects binomially many people, by "
            f"the share of the population that looks alike among {case.struck.external_size:,} people. The probability of a "
            "re-identification is that of his plan on the real group, not discounted."
        ),
        (
            "One guess each is the single-shot game (Wan et al. 2015): one random candidate where p/g times the gain exceeds all "
            "costs and the expected fine."
        ),
        (
            "The least fine, price and group size that deter him from everybody are exact, found where what the attack is worth "
            "reaches nothing for the smallest group in the data."
        ),
    )
