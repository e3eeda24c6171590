"""Report of the case study as one HTML file."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from discreet.policy import Policy
from discreet.reference import case_study
from discreet.reference.case_study import (
    DISCOUNTS,
    ONCE,
    PRINTED,
    PRINTED_PAIR,
    VARIED,
    CaseStudy,
    Discounted,
    PrintedPair,
)
from discreet.reference.charts import BRIEF, NAMES, OWN, pictures
from discreet.report.attack import REFERENCES, method, parameters, remains
from discreet.report.attack_charts import Case, at_least
from discreet.report.toolkit import page
from discreet.report.toolkit.page import Finding, Pill, Table, bullets
from discreet.report.toolkit.words import about, amount, listed, people
from discreet.wording import percent

THRESHOLD = 0.2
TITLE = "Printed thresholds that do not come out"
MEANINGS = {"stops_early": "stops early", "no_access": "does not buy", "no_exploit": "does not start"}


def case_study_page(
    study: CaseStudy,
    *,
    source: str,
    registry: str,
    created: datetime.datetime,
    command: str,
    version: str,
    policy: Policy | None = None,
) -> str:
    """The report: five statements, six figures, thresholds that do not come out; `registry` describes the list."""
    figures, case = pictures(study), Case(study.attacked, THRESHOLD)
    names = study.attacked.sample.names
    classes = f"{len(study.attacked.sample):,} classes by {listed(names, most=len(names) + 1)}"
    done = (
        f"{people(study.people)} in {classes}.",
        registry,
        (
            "Three adversaries with the published gain, costs and penalty: detection constant and penalties unlimited; one "
            "penalty only; detection rising with every exploit (h1 = 0.18)."
        ),
        (
            "One guess here is one random candidate for everybody. The paper's baseline is another: it stops attacking at a "
            "threshold of its own, so that it is never above the planning adversary."
        ),
        "The six figures are our own, and their numbers are not those of the paper's figures.",
    )
    pairs, discounts = case_study.pairs(), case_study.discounts()
    misses = (
        "Three things do not come out as printed, and no constant was tuned to hide it:",
        bullets([sunk_words(), pair_words(pairs), discount_words(discounts)]),
        pair_table(pairs),
        discount_table(discounts),
    )
    parts = [
        page.findings(by_topic(study), figures),
        page.evidence(figures),
        page.section("misses", TITLE, *misses),
        page.section("done", "What was done", OWN, bullets(done)),
        page.remains("The adversaries are models:", remains(case)),
        page.parameters("What was assumed before planning", parameters(case), policy),
        page.method(method(case), REFERENCES),
        page.reproduce(command, note=page.policy_note(policy)),
    ]
    return page.document(
        parts,
        kicker="Case study",
        title="A planning adversary: a case study after a paper",
        about=[source, people(study.people), f"against a registry of {people(study.attacked.external_size)}"],
        pills=[Pill("○", "Not a reproduction", "plain")],
        created=created,
        version=version,
    )


# The five statements in words, each with the numbers that it rests on.
Numbers = Mapping[str, Any]
Teller = Callable[[Numbers], tuple[str, str]]
"""What a claim says, and what follows from it."""


def case_study_findings(study: CaseStudy) -> list[Finding]:
    """The findings in order."""
    return [finding for _, finding in by_topic(study)]


def by_topic(study: CaseStudy) -> Iterator[tuple[str, Finding]]:
    """The findings, each with the figure that shows it; one that these data do not show says so."""
    for claim in study.claims:
        topic, tell = TELLERS[claim.key]
        words, step = tell(claim.numbers)
        headline = f"{words[:1].upper()}{words[1:]}" if claim.holds else f"Not on these data: {words}"
        yield topic, Finding(headline, step)


def _size(size: int | None) -> str:
    return "no number" if size is None else f"{size:,}"


def ends(sizes: tuple[int, int] | None) -> str:
    """Group sizes from one to another.

    >>> ends((14, 28)), ends((3, 3)), ends(None)
    ('14 to 28', '3', 'no size')
    """
    if sizes is None:
        return "no size"
    first, last = sizes
    return f"{first:,}" if first == last else f"{first:,} to {last:,}"


def one_guess(found: Numbers) -> tuple[str, str]:
    """One guess misjudges the risk both ways."""
    return (
        (
            f"the adversary tries all candidates, several, one or none. With the list in hand and rising detection: all up to "
            f"{_size(found['all_up_to'])}, several at {ends(found['several'])}, one at {ends(found['one'])}, none from "
            f"{_size(found['none_from'])} on. So exactly one guess is wrong both ways: too low for "
            f"{found['people_underestimated']:,} people of the data, too high for {found['people_overestimated']:,}."
        ),
        (
            f"Do not read one guess as the risk: by one each {about(found['one_guess'])} people are re-identified, by planning with "
            f"constant detection {about(found['reidentified'])}."
        ),
    )


def all_or_nothing(found: Numbers) -> tuple[str, str]:
    """Constant detection and unlimited penalties: in full or not at all."""
    return (
        (
            f"with constant detection and unlimited penalties it is all or nothing. {found['adversaries']:,} adversaries with "
            f"other gains and penalties, groups of 1 to {found['sizes']:,}: {found['attacks_in_part']:,} attacks stop part way. "
            f"In the data {found['people_in_full']:,} people are attacked in full, {found['people_in_part']:,} in part."
        ),
        "Look at one number only in this case: the smallest group that is left alone.",
    )


def part_way(found: Numbers) -> tuple[str, str]:
    """Rising detection ends attacks part way."""
    return (
        (
            f"with rising detection the adversary stops part way from {_size(found['stops_early'])} candidates on, does not buy the list from "
            f"{_size(found['no_access'])} on, and does not start from {_size(found['no_exploit'])} on even with the list in hand. In the data "
            f"{found['people_in_full']:,} people are attacked in full, {found['people_in_part']:,} in part."
        ),
        "Let repeated look-ups cost more or be noticed sooner: a look-up service that remembers its user stops an attack early.",
    )


def embolden(found: Numbers) -> tuple[str, str]:
    """A limit on the number of penalties emboldens."""
    once, unlimited = ("any size" if found[key] is None else f"{found[key] - 1:,}" for key in ("once", "unlimited"))
    return (
        (
            f"limiting the number of penalties emboldens the adversary. Fined once at most, the list is bought up to a group of "
            f"{once} instead of {unlimited}: {found['attacked_once']:,} people of the data "
            f"are attacked instead of {found['attacked_unlimited']:,}."
        ),
        "Agree on a penalty for each breach, not on one for the whole contract.",
    )


def deterrence(found: Numbers) -> tuple[str, str]:
    """Penalty and price deter."""
    if not found["reidentified"]:
        return "nobody is re-identified in the first place.", "No deterrent is needed: these groups are too large."
    size = f", or groups of at least {found['size']:,}" if found["size"] is not None else ""
    return (
        (
            f"penalty and price deter. Now {about(found['reidentified'])} people are re-identified in expectation; that falls in "
            f"steps to nobody at a penalty of {at_least(found['penalty'])}, or a list that costs {at_least(found['price'])} "
            f"(smallest group: {found['smallest_group']:,}){size}."
        ),
        "Ask which of the three is cheapest to have: a contract, a fee, or coarser values.",
    )


TELLERS: dict[str, tuple[str, Teller]] = {
    "one_guess_is_wrong": ("chance", one_guess),
    "all_or_nothing": ("exploits", all_or_nothing),
    "stops_part_way": ("exploits", part_way),
    "limits_embolden": ("people", embolden),
    "deterrence_works": ("penalty", deterrence),
}


def sunk_words() -> str:
    """The threshold of one penalty."""
    computed, printed = case_study.sunk()
    return (
        f"With one penalty the paper prints {printed:,} as the smallest group that is left alone even with the list in hand. "
        f"The model gives {computed:,}."
    )


def pair_words(pairs: tuple[PrintedPair, ...]) -> str:
    """The pair about the penalty."""
    first, second = PRINTED_PAIR
    found = [pair for pair in pairs if pair.common is not None]
    would = "; ".join(f"{_range(pair.common)} if it is the {pair.reading}" for pair in found)
    ours = listed([f"{low} and {high} with {BRIEF[key]}" for key, (low, high) in case_study.by_setting().items()])
    return (
        f"The paper's Figure 10 has another adversary than its case study: certain that the target is in the list, a gain of "
        f"{amount(VARIED['gain'])}. It prints {first[1]} people at a penalty of {amount(first[0])} and {second[1]} at "
        f"{amount(second[0])} as the smallest group that is left alone. With the printed detection of "
        f"{percent(case_study.detection())} for the first attempt it is {ours}. A constant detection probability that gives "
        f"both: {would or 'none'}."
    )


def _range(ends: tuple[float, float] | None) -> str:
    return "none" if ends is None else f"{ends[0]:.4f} to {ends[1]:.4f}"


def pair_table(pairs: tuple[PrintedPair, ...]) -> Table:
    """The pair in every reading."""
    (low, few), (high, fewer) = PRINTED_PAIR
    head = (
        "If it counts the",
        "Computed",
        f"Gives {few} at {amount(low)}",
        f"Gives {fewer} at {amount(high)}",
        "Gives both",
    )
    rows = tuple(
        (pair.reading, f"{pair.computed[0]} and {pair.computed[1]}", *map(_range, pair.ranges), _range(pair.common))
        for pair in pairs
    )
    return Table("Constant detection probabilities that would give the printed pair", head, rows)


def discount_words(found: tuple[Discounted, ...]) -> str:
    """The discount that is not printed."""
    agreeing = [f"{tried.discount:g}" for tried in found if tried.agrees]
    printed = [f"{number} ({NAMES[key].lower()}: {MEANINGS[which]})" for (key, which), number in PRINTED.items()]
    other = ""
    for tried in found:
        # A discount that gives the one threshold above, and what it does not give.
        if not other and tried.thresholds[ONCE].no_exploit == case_study.PRINTED_SUNK:
            missed = [
                str(number)
                for (key, which), number in PRINTED.items()
                if getattr(tried.thresholds[key], which) != number
            ]
            other = f" {tried.discount:g} would give the {case_study.PRINTED_SUNK} above, but not {listed(missed)}."
    return (
        f"No discount is printed. Of {DISCOUNTS[0]:g} to {DISCOUNTS[-1]:g} in steps of 0.05 only {', '.join(agreeing) or 'none'} "
        f"gives the other thresholds that are printed: {listed(printed)}.{other}"
    )


def discount_table(found: tuple[Discounted, ...]) -> Table:
    """The thresholds at each discount."""
    rows = tuple(
        (
            f"{one.discount:g}",
            *(f"{few.stops_early} / {few.no_access} / {few.no_exploit}" for few in one.thresholds.values()),
            "yes" if one.agrees else "no",
        )
        for one in found
    )
    head = ("Discount", *(NAMES[key] for key in found[0].thresholds), "As printed")
    return Table("Stops early / does not buy / does not start, from so many people on", head, rows, (1, 2, 3))
