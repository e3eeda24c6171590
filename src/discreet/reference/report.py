"""Printed thresholds that do not come out, in words and tables."""

from __future__ import annotations

from collections.abc import Iterable

from discreet.attacker import unreproduced
from discreet.attacker.unreproduced import DISCOUNTS, PRINTED, PRINTED_PAIR, Discounted, Pair
from discreet.reference.case_study import ONCE, VARIED
from discreet.report.case_study.words import BRIEF, NAMES
from discreet.report.toolkit.html import element
from discreet.report.toolkit.page import Part, Table, bullets, prose, section, table
from discreet.report.toolkit.words import amount, listed
from discreet.wording import percent

TITLE = "Printed thresholds that do not come out"
MEANINGS = {"stops_early": "stops early", "no_access": "does not buy", "no_exploit": "does not start"}


def misses_part() -> Part:
    """Three things, each with its numbers."""
    pairs, discounts = unreproduced.pairs(), unreproduced.discounts()
    content = section(
        "misses",
        TITLE,
        element("p", prose("Three things do not come out as printed, and no constant was tuned to hide it:")),
        bullets([sunk_words(), pair_words(pairs), discount_words(discounts)]),
        table(pair_table(pairs)),
        table(discount_table(discounts)),
    )
    return Part("misses", TITLE, content)


def sunk_words() -> str:
    """The threshold of one penalty."""
    computed, printed = unreproduced.sunk()
    return (
        f"With one penalty the paper prints {printed:,} as the smallest group that he leaves alone even if he has the list. "
        f"The model gives {computed:,}."
    )


def pair_words(pairs: tuple[Pair, ...]) -> str:
    """The pair about the penalty."""
    first, second = PRINTED_PAIR
    found = [pair for pair in pairs if pair.common is not None]
    would = "; ".join(f"{_range(pair.common)} if it is the {pair.reading}" for pair in found)
    ours = listed([f"{low} and {high} with {BRIEF[key]}" for key, (low, high) in unreproduced.by_setting().items()])
    return (
        f"The paper's Figure 10 has another adversary than its case study: certain that the target is in the list, a gain of "
        f"{amount(VARIED['gain'])}. It prints {first[1]} people at a penalty of {amount(first[0])} and {second[1]} at "
        f"{amount(second[0])} as the smallest group that is left alone. With the printed detection of "
        f"{percent(unreproduced.detection())} for the first attempt it is {ours}. A constant detection probability that gives "
        f"both: {would or 'none'}."
    )


def _range(ends: tuple[float, float] | None) -> str:
    return "none" if ends is None else f"{ends[0]:.4f} to {ends[1]:.4f}"


def pair_table(pairs: tuple[Pair, ...]) -> Table:
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
    agreeing = [f"{one.discount:g}" for one in found if one.agrees]
    return (
        f"No discount is printed. Of {DISCOUNTS[0]:g} to {DISCOUNTS[-1]:g} in steps of 0.05 only {', '.join(agreeing) or 'none'} "
        f"gives the other thresholds that are printed: {_printed(PRINTED)}.{_other(found)}"
    )


def _printed(thresholds: Iterable[tuple[str, str]]) -> str:
    return listed([f"{PRINTED[one]} ({NAMES[one[0]].lower()}: {MEANINGS[one[1]]})" for one in thresholds])


def _other(found: tuple[Discounted, ...]) -> str:
    """A discount that gives the one threshold above, and what it does not give."""
    for one in found:
        if one.thresholds[ONCE].no_exploit == unreproduced.PRINTED_SUNK:
            missed = [key for key, number in PRINTED.items() if getattr(one.thresholds[key[0]], key[1]) != number]
            numbers = listed([str(PRINTED[key]) for key in missed])
            return f" {one.discount:g} would give the {unreproduced.PRINTED_SUNK} above, but not {numbers}."
    return ""


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
