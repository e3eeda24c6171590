"""Attacker lab: page whose address holds every setting, API of the attack, routes."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field
from starlette.responses import HTMLResponse, Response

from discreet.attacker import Attack
from discreet.attacker.population import Targets
from discreet.errors import UsageError
from discreet.report.attack_charts import Deterrents
from discreet.web.framework.context import Context, Here
from discreet.web.framework.forms import Strict
from discreet.web.framework.problems import Problem, not_found
from discreet.web.framework.route import ApiPost, Page, Route
from discreet.web.lab import view as groups_of
from discreet.web.lab.query import CONTROLS, PRESETS, STRANGER, TOPICS, LabQuery, against, read
from discreet.web.lab.view import SLOW, LabGroups, LabResult, detection_words, result

MOST = 4_000
"""Group sizes in one question."""
LARGEST = 10**9

Amount = Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)]
Chance = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Size = Annotated[int, Field(ge=0, le=LARGEST)]
TOO_FAR = (
    "Raise the cost of an attempt, or have a fine for each detected attempt and a constant chance of detection. "
    "The command discreet attack looks further."
)


def lab_page(context: Here) -> Response:
    """The controls and their result."""
    query = read(context.request.query_params.multi_items())
    standard = {name: control.standard for name, control in CONTROLS.items()}
    plain = LabQuery(query.texts, {}, {}, query.dataset)
    choices: list[tuple[str, str]] = []
    if context.may("datasets.read"):
        with context.site.store.reading() as connection:
            choices = groups_of.datasets(connection)
    return context.page(
        "lab.html",
        topics=TOPICS,
        presets=[(name, plain.address(**{**standard, **changes})) for name, changes in PRESETS],
        choices=choices,
        **_shown(context, query),
    )


def lab_result(context: Here) -> Response:
    """Only the result, for the page's own script."""
    shown = _shown(context, read(context.request.query_params.multi_items()))
    return HTMLResponse(context.site.render("lab_result.html", shown), status_code=422 if shown["problem"] else 200)


def _shown(context: Context, query: LabQuery) -> dict[str, Any]:
    groups, name = (groups_of.example(), "") if query.dataset is None else _groups(context, query.dataset)
    outcome: LabResult | None = None
    problem: Problem | None = None
    if query.wrong:
        words = query.wrong.get(STRANGER, "Some of the numbers cannot be used; see the message beside each.")
        problem = Problem(422, words, remedy="Correct them, or start again with one of the examples.")
    elif groups is not None:
        try:
            outcome = result(query, groups)
        except UsageError as error:
            problem = Problem(422, error.problem, remedy=TOO_FAR)
    return {
        "query": query,
        "found": outcome,
        "problem": problem,
        "labels": {name: control.label for name, control in CONTROLS.items()},
        "missing": groups is None,
        "dataset_name": name,
        "detection": detection_words(query.attack) if not query.wrong else "",
    }


def _groups(context: Context, dataset: int) -> tuple[LabGroups | None, str]:
    """The people of a data set, if an attack on it was planned, and its name."""
    found = None
    if context.may("datasets.read"):
        with context.site.store.reading() as connection:
            found = groups_of.of_dataset(connection, dataset)
    if found is None:
        raise not_found()
    name, groups = found
    return groups, name


class AttackParameters(Strict):
    """What the adversary gains, pays and risks."""

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


class GroupModel(Strict):
    """People of the data in groups of one size."""

    size: Size
    """People in the external table who look like one of them."""
    people: Annotated[int, Field(ge=1, le=LARGEST)]
    density: Chance | None = None
    """The share of the population that looks so; the size over the external table if left out."""


class AttackQuestion(Strict):
    """The adversary, and group sizes, or people by group size (a histogram)."""

    parameters: AttackParameters
    sizes: list[Size] = Field(default_factory=list, max_length=MOST)
    groups: list[GroupModel] = Field(default_factory=list, max_length=MOST)
    external_size: Annotated[int, Field(ge=1, le=LARGEST)] | None = None
    """People in the external table; needed with `groups`."""
    max_risk: Chance = 0.0
    """The probability of re-identification that the deterrents allow."""


class ThresholdsModel(Strict):
    """Group sizes from which the adversary decides otherwise; null where there is none."""

    stops_early: int | None
    no_access: int | None
    no_exploit: int | None


class AttackPlanModel(Strict):
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
    """The adversary knows the groups before buying the table."""
    unknown: FatesModel
    """The adversary learns them from the table."""


class DeterrenceModel(Strict):
    """The least that keeps the risk within `max_risk`; null where nothing does."""

    for_size: int
    """The smallest group, which is the most attractive."""
    penalty: float | None
    price: float | None
    size: int | None


class AttackModel(Strict):
    """What the adversary would do."""

    thresholds: ThresholdsModel
    plan: AttackPlanModel | None
    people: PeopleModel | None
    deterrence: DeterrenceModel | None
    """Null if every group is empty, or the smallest has more than 1,024 people."""


def attack(context: Here, wanted: AttackQuestion) -> AttackModel:
    """Let the adversary plan. Nothing of what was sent is stored."""
    planner = adversary(wanted.parameters)
    targets = _targets(wanted)
    asked = [*wanted.sizes] or ([] if targets is None else targets.groups.tolist())
    listed = [size for size in asked if size > 0]
    smallest = min(listed, default=0)
    return AttackModel(
        thresholds=ThresholdsModel(**asdict(planner.thresholds())),
        plan=_plan(planner, asked) if asked else None,
        people=None if targets is None else _people(planner, targets),
        deterrence=_deterrence(planner, smallest, wanted.max_risk) if 0 < smallest <= SLOW else None,
    )


def adversary(given: AttackParameters) -> Attack:
    """The adversary that was described."""
    often = given.max_penalties
    numbers: dict[str, Any] = given.model_dump(exclude={"max_penalties"})
    return Attack(**numbers, max_penalties=None if often == "unlimited" else often if given.penalty else 0)


def _targets(wanted: AttackQuestion) -> Targets | None:
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


def _plan(planner: Attack, sizes: list[int]) -> AttackPlanModel:
    plan = planner.known(sizes)
    lists = {name: getattr(plan, name).tolist() for name in AttackPlanModel.model_fields if name != "baseline"}
    return AttackPlanModel(**lists, baseline=planner.baseline(sizes).risk.tolist())


def _people(planner: Attack, targets: Targets) -> PeopleModel:
    struck = against(planner, targets)
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


def _deterrence(planner: Attack, smallest: int, max_risk: float) -> DeterrenceModel:
    if max_risk:
        amounts = (planner.deterring_penalty(smallest, max_risk), planner.deterring_price(smallest, max_risk))
        penalty, price = (amount if math.isfinite(amount) else None for amount in amounts)
        return DeterrenceModel(for_size=smallest, penalty=penalty, price=price, size=planner.least_size(max_risk))
    found = Deterrents(planner, smallest)
    return DeterrenceModel(for_size=smallest, penalty=found.penalty, price=found.price, size=found.size)


LAB_ROUTES: tuple[Route, ...] = (
    Page("/lab", "attack.plan", lab_page, live=True),
    Page("/lab/result", "attack.plan", lab_result, kind="fragment"),
    ApiPost("/api/v1/attack", "attack.plan", attack, returns=AttackModel),
)
