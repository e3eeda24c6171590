"""The tables of the page: what the attack comes to, and who the adversary is."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from discreet.policy import Policy
from discreet.report.attack.case import Case
from discreet.report.components import Table
from discreet.report.toolkit.html import Markup, element, join
from discreet.report.toolkit.words import amount, decimal, listed, one_in, people
from discreet.wording import brief_percent, measure, percent


def measured(case: Case) -> Table:
    """Every number for both adversaries, with its meaning."""
    head = ("Measure", "Knows the groups", "Does not", "Meaning")
    return Table("What the attack comes to", head, tuple(_measured(case)), (1, 2))


def _measured(case: Case) -> Iterator[tuple[str, ...]]:
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
