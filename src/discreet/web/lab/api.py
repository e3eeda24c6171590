"""API of the attack: thresholds, plans by group size, deterrence."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from discreet.attacker import Attack
from discreet.attacker.population import Targets
from discreet.report.attack.findings import Deterrents
from discreet.web.framework.context import Here
from discreet.web.framework.models import Strict
from discreet.web.framework.problems import Problem
from discreet.web.lab.query import against
from discreet.web.lab.view import SLOW

MOST = 4_000
"""Group sizes in one question."""
LARGEST = 10**9

Amount = Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)]
Chance = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Size = Annotated[int, Field(ge=0, le=LARGEST)]


class Parameters(Strict):
    """What he gains, pays and risks."""

    prior: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]
    gain: Amount
    access_cost: Amount
    link_cost: Amount
    exploit_cost: Amount
    penalty: Amount
    max_penalties: Annotated[int, Field(ge=0, le=10)] | Literal["unlimited"] = "unlimited"
    detection_intercept: Annotated[float, Field(ge=-50, le=50, allow_inf_nan=False)] = -4.59
    detection_slope: Annotated[float, Field(ge=-10, le=10, allow_inf_nan=False)] = 0.0
    discount: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = 0.9


class Group(Strict):
    """People of the data in groups of one size."""

    size: Size
    """People in the external table who look like one of them."""
    people: Annotated[int, Field(ge=1, le=LARGEST)]
    density: Chance | None = None
    """The share of the population that looks so; the size over the external table if left out."""


class AttackWanted(Strict):
    """The adversary, and group sizes, or people by group size (a histogram)."""

    parameters: Parameters
    sizes: list[Size] = Field(default_factory=list, max_length=MOST)
    groups: list[Group] = Field(default_factory=list, max_length=MOST)
    external_size: Annotated[int, Field(ge=1, le=LARGEST)] | None = None
    """People in the external table; needed with `groups`."""
    max_risk: Chance = 0.0
    """What the deterrents hold the probability of re-identification to."""


class ThresholdsModel(Strict):
    """Group sizes from which he changes his mind; null where he never does."""

    stops_early: int | None
    no_access: int | None
    no_exploit: int | None


class PlanModel(Strict):
    """One entry per size that was asked for."""

    sizes: list[int]
    start_value: list[float]
    access_value: list[float]
    value_raw: list[float]
    value: list[float]
    accesses: list[bool]
    exploits: list[int]
    reidentification: list[float]
    expected_exploits: list[float]
    expected_wrong: list[float]
    expected_penalties: list[float]
    baseline: list[float]
    """The risk by one random guess, where it pays."""


class FatesModel(Strict):
    """What becomes of the people."""

    in_full: int
    in_part: int
    not_at_all: int
    reidentified: float
    people_harmed: float


class PeopleModel(Strict):
    """What becomes of everybody in `groups`."""

    people: int
    known: FatesModel
    """He knows the groups before he buys the table."""
    unknown: FatesModel
    """He learns them from the table."""


class DeterrenceModel(Strict):
    """The least that keeps the risk within `max_risk`; null where nothing does."""

    for_size: int
    """The smallest group, which is the most attractive."""
    penalty: float | None
    price: float | None
    size: int | None


class AttackModel(Strict):
    """What he would do."""

    thresholds: ThresholdsModel
    plan: PlanModel | None
    people: PeopleModel | None
    deterrence: DeterrenceModel | None
    """Null if every group is empty, or the smallest has more than 1,024 people."""


def attack(context: Here, wanted: AttackWanted) -> AttackModel:
    """Let the adversary plan. Nothing is kept of what was sent."""
    his = adversary(wanted.parameters)
    targets = _targets(wanted)
    asked = [*wanted.sizes] or ([] if targets is None else targets.groups.tolist())
    listed = [size for size in asked if size > 0]
    smallest = min(listed, default=0)
    return AttackModel(
        thresholds=ThresholdsModel(**asdict(his.thresholds())),
        plan=_plan(his, asked) if asked else None,
        people=None if targets is None else _people(his, targets),
        deterrence=_deterrence(his, smallest, wanted.max_risk) if 0 < smallest <= SLOW else None,
    )


def adversary(given: Parameters) -> Attack:
    """The adversary that was described."""
    often = given.max_penalties
    numbers: dict[str, Any] = given.model_dump(exclude={"max_penalties"})
    return Attack(**numbers, max_penalties=None if often == "unlimited" else often if given.penalty else 0)


def _targets(wanted: AttackWanted) -> Targets | None:
    if not wanted.groups:
        return None
    listed = wanted.external_size
    if listed is None or any(one.size > listed for one in wanted.groups):
        words = "external_size is needed with groups, and no group is larger than it."
        raise Problem(422, words, remedy="Give the number of people in the external table.")
    sizes = np.array([one.size for one in wanted.groups], dtype=np.int64)
    shares = [one.size / listed if one.density is None else one.density for one in wanted.groups]
    people = np.array([one.people for one in wanted.groups], dtype=np.int64)
    return Targets.grouped(people, sizes, np.array(shares, dtype=np.float64), listed)


def _plan(his: Attack, sizes: list[int]) -> PlanModel:
    plan = his.known(sizes)
    lists = {name: getattr(plan, name).tolist() for name in PlanModel.model_fields if name != "baseline"}
    return PlanModel(**lists, baseline=his.baseline(sizes).risk.tolist())


def _people(his: Attack, targets: Targets) -> PeopleModel:
    struck = against(his, targets)
    found = {
        name: FatesModel(
            in_full=one.in_full,
            in_part=one.in_part,
            not_at_all=one.not_at_all,
            reidentified=one.reidentified,
            people_harmed=one.harmed,
        )
        for name, one in (("known", struck.known), ("unknown", struck.unknown))
    }
    return PeopleModel(people=int(targets.people.sum()), **found)


def _deterrence(his: Attack, smallest: int, max_risk: float) -> DeterrenceModel:
    if max_risk:
        amounts = (his.deterring_penalty(smallest, max_risk), his.deterring_price(smallest, max_risk))
        penalty, price = (amount if math.isfinite(amount) else None for amount in amounts)
        return DeterrenceModel(for_size=smallest, penalty=penalty, price=price, size=his.least_size(max_risk))
    found = Deterrents(his, smallest)
    return DeterrenceModel(for_size=smallest, penalty=found.penalty, price=found.price, size=found.size)
