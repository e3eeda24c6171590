"""Charts of a trace: evidence per recipient, and the accusation threshold."""

from __future__ import annotations

import math
from collections.abc import Iterator

from discreet.releases.tracing.result import Standing, Trace, power, share
from discreet.report.charts.bars import Bar, Group
from discreet.report.toolkit.page import Figure, Table
from discreet.report.toolkit.words import plural
from discreet.wording import measure

ROOM = 1.1
"""The scale goes beyond the line, so that it can be seen."""


def pictures(trace: Trace) -> Iterator[Figure]:
    """Every figure that there are numbers for."""
    yield recipients(trace)
    if trace.origin is not None and trace.origin.claims:
        yield decoys(trace)


def recipients(trace: Trace) -> Figure:
    """The evidence against each recipient, in powers of ten."""
    line = line_of(trace)
    most = max(line * ROOM, *(strength(one) for one in trace.standings))
    named = plural(len(trace.accused), "recipient is", "recipients are")
    return Figure(
        key="recipients",
        title="How strongly it speaks against each recipient",
        about=f"{named} beyond the line, of {len(trace.standings):,}.",
        reading=(
            _meaning(trace),
            "The line across each bar is where a recipient is accused; striped bars reach it. Bars count in powers of ten.",
        ),
        groups=(Group(tuple(_bar(one, line / most, most) for one in trace.standings)),),
        table=standings_table(trace),
    )


def strength(one: Standing) -> float:
    """What is drawn: the power of ten of the e-value, or of one over the p-value."""
    return max(0.0, one.log10_e if one.p_value is None else -math.log10(one.p_value))


def line_of(trace: Trace) -> float:
    """Where a recipient is accused, on the same scale: N/alpha, which for a p-value is its inverse alpha/N."""
    return trace.log10_needed


def _meaning(trace: Trace) -> str:
    if trace.kind == "claims":
        return (
            "The evidence (e-value) is 1 on average for an innocent recipient. It grows with every mark that was hit and is in "
            "the copy, and falls with every one that is not."
        )
    return (
        f"How rare the fit of its copy is: one in so many of {trace.dummies or 0:,} recipients who never were fits the file as "
        "well."
    )


def _bar(one: Standing, line: float, most: float) -> Bar:
    value = power(one.log10_e) if one.p_value is None else f"1 in {1 / one.p_value:,.0f}"
    note = f"{plural(one.hits, 'mark', 'marks')} for, {one.misses:,} against, posterior {share(one.posterior)}"
    return Bar(one.recipient, value, strength(one) / most, note, "risk" if one.accused else "plain", line)


def standings_table(trace: Trace) -> Table:
    """The same in numbers."""
    head = ("Recipient", "Marks for", "Marks against", "e-value", "p-value", "Posterior", "Accused")
    rows = tuple(
        (
            one.recipient,
            f"{one.hits:,}",
            f"{one.misses:,}",
            power(one.log10_e),
            "not used" if one.p_value is None else f"{one.p_value:.2g}",
            share(one.posterior),
            "yes" if one.accused else "no",
        )
        for one in trace.standings
    )
    return Table("The evidence against each recipient", head, rows, (1, 2, 3, 4, 5))


def decoys(trace: Trace) -> Figure:
    """Decoys that came up beside those that chance would have brought."""
    origin = trace.origin
    if origin is None:
        raise AssertionError("a picture of decoys needs to know where claims come from")
    most = max(origin.decoys, origin.expected, 1.0)
    found, chance = f"{origin.decoys:,}", measure(origin.expected)
    return Figure(
        key="origin",
        title="Decoys, found and by chance",
        about=f"{found} decoys came up; chance would have brought {chance}.",
        reading=(
            (
                "Decoys are people who are not in the data. Whoever picks people of the population with as many look-alikes "
                "meets some of them by chance; whoever uses a copy meets more."
            ),
            f"The probability of so many or more by chance is {origin.p_value:.2g}.",
        ),
        groups=(
            Group(
                (
                    Bar("decoys that came up", found, origin.decoys / most),
                    Bar("decoys by chance", chance, origin.expected / most),
                )
            ),
        ),
        table=Table("Decoys", ("What", "Number"), (("that came up", found), ("by chance", chance)), (1,)),
    )
