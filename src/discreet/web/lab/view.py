"""What the lab shows: findings, what would deter him, and the pictures behind it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from discreet.attacker import Attack
from discreet.report.attack.charts import chance, fates, strip
from discreet.report.attack.findings import Case, Deterrents, by_topic
from discreet.report.toolkit.html import Markup
from discreet.report.toolkit.page import Finding, figure
from discreet.report.toolkit.words import amount, people
from discreet.web.lab.controls import CONTROLS, Control, shown
from discreet.web.lab.groups import Groups
from discreet.web.lab.query import Query, against, toml

QUICK, SLOW = 64, 1024
"""Up to so large a smallest group the least fine is told where he is deterred already, and where he is not."""


@dataclass(frozen=True)
class Deterrent:
    """One way to deter him, and the address of the lab with it."""

    title: str
    words: str
    name: str
    value: str = ""
    button: str = ""
    address: str = ""


@dataclass(frozen=True)
class Result:
    """Everything that the page shows beside the controls."""

    headline: Finding
    further: list[Finding]
    deterrents: list[Deterrent]
    figures: list[Markup]
    about: str
    toml: str


def result(query: Query, groups: Groups) -> Result:
    """Let the adversary plan."""
    attack = query.attack
    targets = groups.targets.at_least(query.size) if query.size > 1 else groups.targets
    case = Case(against(attack, targets), groups.threshold)
    headline, *further = [finding for _, finding in by_topic(case, groups.source)]
    pictures = [strip(case), chance(case), fates(case)]
    return Result(
        headline,
        further,
        list(deterrents(query, case)),
        [figure(one, number) for number, one in enumerate(pictures, start=1)],
        f"{people(case.records).capitalize()}, against a list of {people(targets.external_size)}.",
        toml(attack),
    )


def deterrents(query: Query, case: Case) -> Iterator[Deterrent]:
    """A fine, a price, a crowd: each with the button that sets it."""
    found = case.deterrents
    if found is None:
        return
    attacks = bool(case.attack.known([found.smallest]).accesses[0])
    yield _fine(query, found, attacks=attacks)
    yield _price(query, found)
    yield _crowd(query, found, case.targets.external_size)


def _fine(query: Query, found: Deterrents, *, attacks: bool) -> Deterrent:
    title, name, attack = "A fine", "penalty", found.attack
    if query.texts["max_penalties"] == "0":
        return Deterrent(title, "He is never fined: no fine deters him.", name)
    if not attacks and found.smallest > QUICK:
        return Deterrent(title, f"The fine of {amount(attack.penalty)} is enough.", name)
    if found.smallest > SLOW:
        return Deterrent(
            title, f"Which fine deters him from groups of {found.smallest:,} takes too long to say here.", name
        )
    able = attack if attack.max_penalties != 0 else _fined(query, attack)
    least = Deterrents(able, found.smallest).penalty
    if least is None or least > _most(name):
        return Deterrent(title, f"No fine up to {_most(name):,.0f} deters him.", name)
    return _button(query, title, name, least, attack.penalty)


def _fined(query: Query, attack: Attack) -> Attack:
    """The same adversary if a fine were not 0."""
    often = query.texts["max_penalties"]
    return replace(attack, max_penalties=None if often == "unlimited" else int(often))


def _price(query: Query, found: Deterrents) -> Deterrent:
    title, name = "The price of the list", "access_cost"
    least = found.price
    if least is None or least > _most(name):
        return Deterrent(title, f"No price up to {_most(name):,.0f} deters him.", name)
    return _button(query, title, name, least, found.attack.access_cost)


def _button(query: Query, title: str, name: str, least: float, present: float) -> Deterrent:
    """Sets the amount to the least that deters, rounded up to a hundredth."""
    up = _up(least)
    value, written = shown(up), f"{up:,.2f}".removesuffix(".00")
    if least > present:
        words = f"From {written} on he attacks nobody; now it is {amount(present)}."
    else:
        words = f"{amount(present)} is enough; {written} would be the least."
    return Deterrent(title, words, name, value, f"Set it to {written}", query.address(**{name: value}))


def _up(amount: float) -> float:
    """To the next hundredth above; also above what rounding may have hidden.

    >>> _up(3593.1600000000003), _up(47.56), _up(0.0)
    (3593.17, 47.57, 0.0)
    """
    return math.ceil((amount * (1 + 1e-12) + 1e-9) * 100) / 100 if amount > 0 else 0.0


def _crowd(query: Query, found: Deterrents, listed: int) -> Deterrent:
    title, name = "A larger crowd", "k"
    least = found.size
    if least is None or least > min(listed, _most(name)):
        return Deterrent(title, "No group that is possible here is large enough to deter him.", name)
    if least > found.smallest:
        words = f"In groups of {least:,} people or more he attacks nobody; the smallest has {found.smallest:,} now."
    else:
        words = f"The smallest group has {found.smallest:,}, which is enough; {least:,} would be the least."
    return Deterrent(title, words, name, str(least), f"Set k to {least:,}", query.address(k=str(least)))


def _most(name: str) -> float:
    control = CONTROLS[name]
    return control.most if isinstance(control, Control) else 0.0


def detection_words(attack: Attack) -> str:
    """What the two numbers about detection mean together."""
    chances = attack.detection(np.array([0, 9, 99])).tolist()
    if attack.detection_slope == 0:
        return f"Every attempt is detected {_one_in(chances[0])}."
    first, tenth, hundredth = (_one_in(chance) for chance in chances)
    return f"The first attempt is detected {first}, the tenth {tenth}, the hundredth {hundredth}."


def _one_in(chance: float) -> str:
    if chance > 0.999:
        return "always"
    return f"1 time in {1 / chance:,.0f}" if chance < 0.1 else f"1 time in {1 / chance:.3g}"
