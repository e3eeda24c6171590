"""Risk in survey samples: individual risk from sampling weights, and the risk of whole households.

A class of f people in the sample stands for an unknown number F of people in the population, which the weights estimate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from discreet.kernel import Classes
from discreet.kernel.arrays import Flags, Floats, Ints, group, pack
from discreet.kernel.serialise import json_of

FEW = 20
"""Up to so many people the recursion is quick; from there on the series is."""
TERMS = 120
"""Terms of the series: with more than FEW people, or p from one half up, the rest is below rounding."""


def individual(sizes: Ints, population: Floats) -> Floats:
    """Individual risk of each class by Benedetti and Franconi (1998).

    `population` holds the sums of weights. Given f, the number F of people in the population has the negative binomial
    distribution with f successes and p = f / sum of weights; the risk is the mean of 1/F, which is the integral of
    p u^(f-1) / (p + (1-p) u) for u from 0 to 1. Sums of weights below f count as f.

    >>> individual(np.array([1, 2]), np.array([100.0, 2.0])).round(4).tolist()
    [0.0465, 0.5]
    """
    f = sizes.astype(np.float64)
    whole = np.maximum(population, f)
    p, q = f / whole, (whole - f) / whole
    risk = np.empty(len(f))
    few = (sizes <= FEW) & (q > 0.5)
    risk[few] = _recursion(sizes[few], p[few] / q[few])
    risk[~few] = _series(f[~few], p[~few], q[~few])
    return np.minimum(risk, 1 / f)


def _recursion(sizes: Ints, a: Floats) -> Floats:
    """The integral by its recursion in f, from its closed form for f = 1: a ln(1 + 1/a), with a = p/(1-p).

    I(f) = 1/(f-1) - a I(f-1). With a below 1 rounding does not grow.
    """
    integral = np.log1p(1 / a)
    for step in range(2, int(sizes.max(initial=1)) + 1):
        integral = np.where(sizes >= step, 1 / (step - 1) - a * integral, integral)
    return np.asarray(a * integral)


def _series(f: Floats, p: Floats, q: Floats) -> Floats:
    """The integral as p/f times the hypergeometric series of (1, 1; f+1) at q, whose terms are all positive."""
    term = p / f
    result = term.copy()
    for place in range(1, TERMS):
        term = term * q * place / (f + place)
        result += term
    return result


Individual = Literal["weighted", "journalist", "prosecutor"]


@dataclass(frozen=True, eq=False)
class MemberRisk:
    """The risk of the people of each class, as the best knowledge of the population gives it."""

    risks: Floats
    kind: Individual

    @classmethod
    def of(cls, sample: Classes, linked: Ints, *, known: bool) -> MemberRisk:
        """By survey weights; else among `linked` people, which are those of the population where it is `known`."""
        population = None if sample.survey is None else sample.survey.people(len(sample))
        if population is not None:
            return cls(individual(sample.sizes, population), "weighted")
        return cls(1 / linked, "journalist" if known else "prosecutor")


@dataclass(frozen=True)
class WeightedRisk:
    """What survey weights say about the risk of the people in a sample."""

    at_risk: float
    """Share of people whose individual risk is above the threshold."""
    highest: float
    """The largest individual risk."""
    global_risk: float
    """Mean of the individual risks: the expected share of people who are re-identified."""
    expected_reidentifications: float
    """Sum of the individual risks: the expected number of people who are re-identified."""
    population: float
    """Sum of the weights: the estimated number of people in the population."""

    to_dict = json_of()


def weighted(sample: Classes, members: MemberRisk, *, threshold: float) -> WeightedRisk | None:
    """Global risk of a sample with survey weights; a person in several classes counts with the highest risk."""
    survey = sample.survey
    if survey is None or members.kind != "weighted":
        return None
    risks, people = members.risks, sample.sizes
    if survey.persons is not None:
        risks = _highest(survey.persons, risks[survey.owners])
        people = np.ones(len(risks), dtype=np.int64)
    number, expected = int(people.sum()), float((people * risks).sum())
    everybody = survey.over(np.zeros(len(sample), dtype=np.int64)).people(1)
    return WeightedRisk(
        at_risk=int(people[risks > threshold].sum()) / number,
        highest=float(risks.max()),
        global_risk=expected / number,
        expected_reidentifications=expected,
        population=0.0 if everybody is None else float(everybody[0]),
    )


@dataclass(frozen=True)
class HouseholdRisk:
    """The risk that at least one member of a household is re-identified."""

    households: int
    at_risk: float
    """Share of households whose risk is above the threshold."""
    highest: float
    average: float
    """Mean over households."""
    expected_households: float
    """Expected number of households with a member who is re-identified."""
    without_number: int
    """People without a household number, each counted as a household of one."""
    individual: Individual
    """The risk of the members from which it follows."""

    to_dict = json_of()


def households(sample: Classes, members: MemberRisk, *, threshold: float) -> HouseholdRisk | None:
    """Household risk of a sample with household numbers."""
    survey = sample.survey
    if survey is None or survey.homes is None:
        return None
    homes = Homes.of(survey.homes, survey.persons, survey.counts, members.risks[survey.owners])
    number, expected = int(homes.numbers.sum()), float((homes.numbers * homes.risks).sum())
    return HouseholdRisk(
        households=number,
        at_risk=int(homes.numbers[homes.risks > threshold].sum()) / number,
        highest=float(homes.risks.max()),
        average=expected / number,
        expected_households=expected,
        without_number=int(homes.numbers[homes.alone].sum()),
        individual=members.kind,
    )


@dataclass(frozen=True, eq=False)
class Homes:
    """Households of some lines of people, and the risk of each."""

    places: Ints
    """The household of each line."""
    risks: Floats
    """Per household, the probability that at least one member is re-identified."""
    numbers: Ints
    """How many households of that kind there are: people without a number are households of one."""
    alone: Flags
    """Which are such."""

    @classmethod
    def of(cls, homes: Ints, persons: Ints | None, counts: Ints, risk: Floats) -> Homes:
        """From the household, the person, the number of people and the individual risk of each line.

        The risk is 1 - product of (1 - r) over members; a person on several lines counts once, with the highest risk.
        """
        unknown = homes < 0
        own = np.arange(len(homes)) if persons is None else persons
        named = np.where(unknown, int(homes.max(initial=-1)) + 1 + own, homes)
        first, places, number = group(named, int(named.max(initial=0)) + 1)
        several = np.ones(number, dtype=np.int64)
        if persons is None:
            several = np.where(unknown[first], counts[first], 1)
            members, powers, risks = places, np.where(unknown, 1, counts), risk
        else:
            keys, bound = pack([places, persons], [number, int(persons.max(initial=0)) + 1], len(places))
            met, pairs, _ = group(keys, bound)
            members, powers, risks = places[met], np.ones(len(met), dtype=np.int64), _highest(pairs, risk)
        with np.errstate(divide="ignore"):
            logs = powers * np.log1p(-risks)  # a risk of 1 becomes minus infinity, and the household's 1
        return cls(places, -np.expm1(np.bincount(members, weights=logs, minlength=number)), several, unknown[first])


def _highest(persons: Ints, risk: Floats) -> Floats:
    """The highest risk of each person, or of whatever the numbers are of."""
    _, places, number = group(persons, int(persons.max(initial=0)) + 1)
    highest = np.zeros(number)
    np.maximum.at(highest, places, risk)
    return highest
