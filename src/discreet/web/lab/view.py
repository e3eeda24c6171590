"""View of the lab: findings, deterrence, charts, people by group size."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any

import numpy as np
from sqlalchemy import Connection, select

from discreet.attacker import Attack
from discreet.attacker.population import Targets
from discreet.report.attack import by_topic
from discreet.report.attack_charts import Case, Deterrents, chance, fates, strip
from discreet.report.toolkit.html import Markup
from discreet.report.toolkit.page import Finding, figures
from discreet.report.toolkit.words import amount, people
from discreet.store.tables.web import DATASET, JOB, RESULT
from discreet.web.lab.query import CONTROLS, Control, LabQuery, against, shown, toml

QUICK, SLOW = 64, 1024
"""Largest smallest group for which the least fine is computed if the adversary is deterred already, and if not."""


@dataclass(frozen=True)
class Deterrent:
    """One way to deter the adversary, and the address of the lab with it."""

    title: str
    words: str
    name: str
    value: str = ""
    button: str = ""
    address: str = ""


@dataclass(frozen=True)
class LabResult:
    """Everything that the page shows beside the controls."""

    headline: Finding
    further: list[Finding]
    deterrents: list[Deterrent]
    figures: list[Markup]
    about: str
    toml: str


def result(query: LabQuery, groups: LabGroups) -> LabResult:
    """The attack that the adversary plans, with its figures."""
    attack = query.attack
    targets = groups.targets.at_least(query.size) if query.size > 1 else groups.targets
    case = Case(against(attack, targets), groups.threshold)
    headline, *further = [finding for _, finding in by_topic(case, groups.source)]
    pictures = [strip(case), chance(case), fates(case)]
    return LabResult(
        headline,
        further,
        list(deterrents(query, case)),
        figures(pictures),
        f"{people(case.records).capitalize()}, against a list of {people(targets.external_size)}.",
        toml(attack),
    )


def deterrents(query: LabQuery, case: Case) -> Iterator[Deterrent]:
    """A fine, a price, a group size: each with the button that sets it."""
    least = case.deterrents
    if least is None:
        return
    attacks = bool(case.attack.known([least.smallest]).accesses[0])
    yield _fine(query, least, attacks=attacks)
    yield _price(query, least)
    yield _group_size(query, least, case.targets.external_size)


def _fine(query: LabQuery, found: Deterrents, *, attacks: bool) -> Deterrent:
    title, name, attack = "A fine", "penalty", found.attack
    if query.texts["max_penalties"] == "0":
        return Deterrent(title, "Attempts are never fined: no fine is a deterrent.", name)
    if not attacks and found.smallest > QUICK:
        return Deterrent(title, f"The fine of {amount(attack.penalty)} is enough.", name)
    if found.smallest > SLOW:
        return Deterrent(
            title, f"The least fine for groups of {found.smallest:,} takes too long to compute here.", name
        )
    if attack.max_penalties == 0:  # the fine is 0; how would it be if it were not?
        often = query.texts["max_penalties"]
        attack = replace(attack, max_penalties=None if often == "unlimited" else int(often))
    least = Deterrents(attack, found.smallest).penalty
    if least is None or least > _most(name):
        return Deterrent(title, f"No fine up to {_most(name):,.0f} is a deterrent.", name)
    return _button(query, title, name, least, attack.penalty)


def _price(query: LabQuery, found: Deterrents) -> Deterrent:
    title, name = "The price of the list", "access_cost"
    least = found.price
    if least is None or least > _most(name):
        return Deterrent(title, f"No price up to {_most(name):,.0f} is a deterrent.", name)
    return _button(query, title, name, least, found.attack.access_cost)


def _button(query: LabQuery, title: str, name: str, least: float, present: float) -> Deterrent:
    """Sets the amount to the least that deters, rounded up to a hundredth."""
    up = _up(least)
    value, written = shown(up), f"{up:,.2f}".removesuffix(".00")
    if least > present:
        words = f"From {written} on nobody is attacked; now it is {amount(present)}."
    else:
        words = f"{amount(present)} is enough; {written} would be the least."
    return Deterrent(title, words, name, value, f"Set it to {written}", query.address(**{name: value}))


def _up(amount: float) -> float:
    """To the next hundredth above; also above what rounding may have hidden.

    >>> _up(3593.1600000000003), _up(47.56), _up(0.0)
    (3593.17, 47.57, 0.0)
    """
    return math.ceil((amount * (1 + 1e-12) + 1e-9) * 100) / 100 if amount > 0 else 0.0


def _group_size(query: LabQuery, found: Deterrents, listed: int) -> Deterrent:
    title, name = "Larger groups", "k"
    least = found.size
    if least is None or least > min(listed, _most(name)):
        return Deterrent(title, "No group that is possible here is large enough.", name)
    if least > found.smallest:
        words = f"In groups of {least:,} people or more nobody is attacked; the smallest has {found.smallest:,} now."
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


# The people of the lab, counted by the size of their group and by how frequent it is. A data set has them once an attack on
# it was planned: that job stores `Targets` with its result, and the lab only ever sees these counts.
EXAMPLE = "the example"
PEOPLE, LISTED, TYPICAL, SPREAD = 10_000, 100_000, 25.0, 1.6
THRESHOLD = 0.2
"""The risk above which a person counts as at risk, where no policy says another."""


@dataclass(frozen=True)
class LabGroups:
    """The people under attack."""

    targets: Targets
    source: str
    """What it is called in a sentence."""
    threshold: float = THRESHOLD


def of_dataset(connection: Connection, number: int) -> tuple[str, LabGroups | None] | None:
    """The name of a data set, with the counts of its newest attack if there is one; None if there is no data set."""
    name = connection.execute(select(DATASET.c.name).where(DATASET.c.id == number)).scalar_one_or_none()
    if name is None:
        return None
    mine = (JOB.c.dataset == number, JOB.c.kind == "attack", JOB.c.state == "done")
    newest = select(RESULT.c.numbers).join(JOB, JOB.c.id == RESULT.c.job).where(*mine).order_by(JOB.c.id.desc())
    numbers = connection.execute(newest.limit(1)).scalar_one_or_none()
    counted = None if numbers is None else _read(numbers)
    return name, None if counted is None else LabGroups(counted[0], name, counted[1])


def datasets(connection: Connection) -> list[tuple[str, str]]:
    """The data sets that can be looked at here: number and name."""
    planned = select(JOB.c.dataset).where(JOB.c.kind == "attack", JOB.c.state == "done")
    query = select(DATASET.c.id, DATASET.c.name).where(DATASET.c.id.in_(planned)).order_by(DATASET.c.name)
    return [(str(row.id), row.name) for row in connection.execute(query)]


@lru_cache(maxsize=8)
def _read(numbers: str) -> tuple[Targets, float] | None:
    """What a job counted; cached, since a slider asks for the same many times."""
    content: dict[str, Any] = json.loads(numbers)
    if "targets" not in content:
        return None
    return Targets.from_dict(content["targets"]), float(content["threshold"])


@cache
def example() -> LabGroups:
    """Synthetic people: some are unique, most are in groups of a dozen to a hundred."""
    sizes = np.unique(np.round(np.geomspace(1, 3_000, 160)).astype(np.int64))
    weights = np.exp(-0.5 * ((np.log(sizes) - np.log(TYPICAL)) / SPREAD) ** 2)
    counts = np.floor(weights / weights.sum() * PEOPLE).astype(np.int64)
    counts[np.argmax(counts)] += PEOPLE - counts.sum()
    return LabGroups(Targets.grouped(counts, sizes, sizes / LISTED, LISTED), EXAMPLE)
