"""Attacker lab: page whose address holds every setting, its result, API of the attack."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import cache, lru_cache
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field
from sqlalchemy import Connection, select
from starlette.responses import HTMLResponse, Response

from discreet.attacker import Attack
from discreet.attacker.extensions import RecordPriors, extension_rows, purchase_for_all
from discreet.attacker.population import Targets
from discreet.errors import UsageError
from discreet.report.attack import by_topic
from discreet.report.attack_charts import Case, Deterrents, chance, fates, strip
from discreet.report.toolkit.html import Markup
from discreet.report.toolkit.page import Finding, figures
from discreet.report.toolkit.words import amount, people
from discreet.store.tables.web import DATASET, JOB, RESULT
from discreet.web.framework.context import Context, Here
from discreet.web.framework.forms import Strict
from discreet.web.framework.problems import Problem, not_found
from discreet.web.framework.route import ApiPost, Page, Route
from discreet.web.lab import controls
from discreet.web.lab.controls import CONTROLS, LabQuery, against, refuse_endless, shown, toml

QUICK, SLOW = 64, 1024
"""Largest smallest group for which the least fine is computed if the adversary is deterred already, and if not."""
TOO_FAR = "Raise the cost of an attempt, or have a fine for each detected attempt and a constant chance of detection."


def lab_page(context: Here) -> Response:
    """The controls and their result."""
    values = _shown(context)
    query: LabQuery = values["query"]
    standard = {name: control.standard for name, control in CONTROLS.items()}
    plain = LabQuery(query.texts, {}, {}, query.dataset)
    presets = [(name, plain.address(**{**standard, **changes})) for name, changes in controls.PRESETS]
    choices: list[tuple[str, str]] = []
    if context.may("datasets.read"):
        with context.site.store.reading() as connection:
            choices = datasets(connection)
    return context.page("lab.html", topics=controls.TOPICS, presets=presets, choices=choices, **values)


def lab_result(context: Here) -> Response:
    """Only the result, for the page's own script."""
    values = _shown(context)
    return HTMLResponse(context.site.render("lab_result.html", values), status_code=422 if values["problem"] else 200)


def _shown(context: Context) -> dict[str, Any]:
    query = controls.read(context.request.query_params.multi_items())
    name = ""
    groups: LabGroups | None = example()
    if query.dataset is not None:
        stored = None
        if context.may("datasets.read"):
            with context.site.store.reading() as connection:
                stored = of_dataset(connection, query.dataset)
        if stored is None:
            raise not_found()
        name, groups, job = stored
        if groups is not None:
            context.note_reading(query.dataset, job, "lab", kind="attack")
    outcome: LabResult | None = None
    problem: Problem | None = None
    if query.wrong:
        words = query.wrong.get(controls.STRANGER, "Some of the numbers cannot be used; see the message beside each.")
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


# -- the result -------------------------------------------------------------------------------------------------------


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
    beyond: list[tuple[str, str]]
    """What extensions of the paper's model change for one target,"""
    everybody: list[tuple[str, str]]
    """and for everybody: one purchase of the list, a prior for each record."""
    toml: str


def result(query: LabQuery, groups: LabGroups) -> LabResult:
    """The attack that the adversary plans, with its figures."""
    attack = query.attack
    targets = groups.targets.at_least(query.size) if query.size > 1 else groups.targets
    case = Case(against(attack, targets), groups.threshold)
    headline, *further = [finding for _, finding in by_topic(case, groups.source)]
    return LabResult(
        headline,
        further,
        list(deterrents(query, case)),
        figures([strip(case), chance(case), fates(case)]),
        f"{people(case.records).capitalize()}, against a list of {people(targets.external_size)}.",
        query.beyond,
        for_everybody(query, targets, groups.priors),
        toml(attack, query.extensions),
    )


def for_everybody(query: LabQuery, targets: Targets, priors: RecordPriors | None) -> list[tuple[str, str]]:
    """What one purchase of the list changes, and a prior for each record where the data set has them."""
    found = {}
    if query.extensions.shared:
        found["shared"] = purchase_for_all(query.attack, targets.groups, targets.people)
    if priors is not None:
        refuse_endless(replace(query.attack, prior=float(priors.priors.max())), targets)
        found["prior_column"] = priors.at_least(min(query.size, targets.external_size)).outcome(query.attack)
    return extension_rows(found)


def deterrents(query: LabQuery, case: Case) -> Iterator[Deterrent]:
    """A fine, a price, a group size: each with the button that sets it."""
    if case.deterrents is None:
        return
    least, attack, smallest = case.deterrents, case.deterrents.attack, case.deterrents.smallest
    title, often = "A fine", query.texts["max_penalties"]
    if often == "0":
        yield Deterrent(title, "Attempts are never fined: no fine is a deterrent.", "penalty")
    elif smallest > QUICK and not case.attack.known([smallest]).accesses[0]:
        yield Deterrent(title, f"The fine of {amount(attack.penalty)} is enough.", "penalty")
    elif smallest > SLOW:
        words = f"The least fine for groups of {smallest:,} takes too long to compute here."
        yield Deterrent(title, words, "penalty")
    else:
        if attack.max_penalties == 0:  # the fine is 0; how would it be if it were not?
            attack = replace(attack, max_penalties=None if often == "unlimited" else int(often))
        yield _amount(query, title, "penalty", Deterrents(attack, smallest).penalty, attack.penalty)

    yield _amount(query, "The price of the list", "access_cost", least.price, attack.access_cost)

    title, size = "Larger groups", least.size
    if size is None or size > min(case.targets.external_size, controls.LARGEST_K):
        yield Deterrent(title, "No group that is possible here is large enough.", "k")
        return
    words = f"The smallest group has {smallest:,}, which is enough; {size:,} would be the least."
    if size > smallest:
        words = f"In groups of {size:,} people or more nobody is attacked; the smallest has {smallest:,} now."
    yield Deterrent(title, words, "k", str(size), f"Set k to {size:,}", query.address(k=str(size)))


def _amount(query: LabQuery, title: str, name: str, least: float | None, present: float) -> Deterrent:
    """The fine or the price, with the button that sets the least that deters."""
    if least is None or least > controls.DEAREST:
        noun = "fine" if name == "penalty" else "price"
        return Deterrent(title, f"No {noun} up to {controls.DEAREST:,.0f} is a deterrent.", name)
    # To the next hundredth above; also above what rounding may have hidden.
    up = math.ceil((least * (1 + 1e-12) + 1e-9) * 100) / 100 if least > 0 else 0.0
    value, written = shown(up), f"{up:,.2f}".removesuffix(".00")
    if least > present:
        words = f"From {written} on nobody is attacked; now it is {amount(present)}."
    else:
        words = f"{amount(present)} is enough; {written} would be the least."
    return Deterrent(title, words, name, value, f"Set it to {written}", query.address(**{name: value}))


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
    priors: RecordPriors | None = None
    """The people by a prior of their own, where a column holds one."""


def of_dataset(connection: Connection, number: int) -> tuple[str, LabGroups | None, int] | None:
    """Name of a data set, the counts of its newest attack, if any, and the number of that job."""
    name = connection.execute(select(DATASET.c.name).where(DATASET.c.id == number)).scalar_one_or_none()
    if name is None:
        return None
    mine = (JOB.c.dataset == number, JOB.c.kind == "attack", JOB.c.state == "done")
    newest = (
        select(RESULT.c.numbers, JOB.c.id).join(JOB, JOB.c.id == RESULT.c.job).where(*mine).order_by(JOB.c.id.desc())
    )
    row = connection.execute(newest.limit(1)).one_or_none()
    counted = None if row is None else _read(row.numbers)
    if row is None or counted is None:
        return name, None, 0
    targets, threshold, priors = counted
    return name, LabGroups(targets, name, threshold, priors), int(row.id)


def datasets(connection: Connection) -> list[tuple[str, str]]:
    """The data sets that can be looked at here: number and name."""
    planned = select(JOB.c.dataset).where(JOB.c.kind == "attack", JOB.c.state == "done")
    query = select(DATASET.c.id, DATASET.c.name).where(DATASET.c.id.in_(planned)).order_by(DATASET.c.name)
    return [(str(row.id), row.name) for row in connection.execute(query)]


@lru_cache(maxsize=8)
def _read(numbers: str) -> tuple[Targets, float, RecordPriors | None] | None:
    """What a job counted; cached, since a slider asks for the same many times."""
    content: dict[str, Any] = json.loads(numbers)
    if "targets" not in content:
        return None
    priors = RecordPriors.from_dict(content["priors"]) if "priors" in content else None
    return Targets.from_dict(content["targets"]), float(content["threshold"]), priors


@cache
def example() -> LabGroups:
    """Synthetic people: some are unique, most in groups of a dozen to a hundred."""
    sizes = np.unique(np.round(np.geomspace(1, 3_000, 160)).astype(np.int64))
    weights = np.exp(-0.5 * ((np.log(sizes) - np.log(TYPICAL)) / SPREAD) ** 2)
    counts = np.floor(weights / weights.sum() * PEOPLE).astype(np.int64)
    counts[np.argmax(counts)] += PEOPLE - counts.sum()
    return LabGroups(Targets.grouped(counts, sizes, sizes / LISTED, LISTED), EXAMPLE)


# -- API --------------------------------------------------------------------------------------------------------------

MOST = 4_000
"""Group sizes in one question."""
LARGEST = 10**9
Amount = Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)]
Chance = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Size = Annotated[int, Field(ge=0, le=LARGEST)]


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
    often = wanted.parameters.max_penalties
    numbers: dict[str, Any] = wanted.parameters.model_dump(exclude={"max_penalties"})
    planner = Attack(**numbers, max_penalties=None if often == "unlimited" else often if numbers["penalty"] else 0)
    targets = None
    if wanted.groups:
        listed = wanted.external_size
        if listed is None or any(group.size > listed for group in wanted.groups):
            words = "external_size is needed with groups, and no group is larger than it."
            raise Problem(422, words, remedy="Give the number of people in the external table.")
        sizes = np.array([group.size for group in wanted.groups], dtype=np.int64)
        shares = [group.size / listed if group.density is None else group.density for group in wanted.groups]
        counts = np.array([group.people for group in wanted.groups], dtype=np.int64)
        targets = Targets.grouped(counts, sizes, np.array(shares, dtype=np.float64), listed)
    asked = [*wanted.sizes] or ([] if targets is None else targets.groups.tolist())
    answer = AttackModel(
        thresholds=ThresholdsModel(**asdict(planner.thresholds())), plan=None, people=None, deterrence=None
    )

    if asked:
        plan, baseline = planner.known(asked), planner.baseline(asked).risk.tolist()
        lists = {name: getattr(plan, name).tolist() for name in AttackPlanModel.model_fields if name != "baseline"}
        answer.plan = AttackPlanModel(**lists, baseline=baseline)
    if targets is not None:
        attacked = against(planner, targets)
        known, unknown = (FatesModel.of(fate, people_harmed=fate.harmed) for fate in (attacked.known, attacked.unknown))
        answer.people = PeopleModel(people=int(targets.people.sum()), known=known, unknown=unknown)
    smallest = min((size for size in asked if size > 0), default=0)
    if 0 < smallest <= SLOW and not wanted.max_risk:
        answer.deterrence = DeterrenceModel.of(Deterrents(planner, smallest), for_size=smallest)
    elif 0 < smallest <= SLOW:
        risk = wanted.max_risk
        amounts = (planner.deterring_penalty(smallest, risk), planner.deterring_price(smallest, risk))
        penalty, price = (amount if math.isfinite(amount) else None for amount in amounts)
        least = planner.least_size(risk)
        answer.deterrence = DeterrenceModel(for_size=smallest, penalty=penalty, price=price, size=least)
    return answer


LAB_ROUTES: tuple[Route, ...] = (
    Page("/lab", "attack.plan", lab_page, live=True, records=True),
    Page("/lab/result", "attack.plan", lab_result, kind="fragment", records=True),
    ApiPost("/api/v1/attack", "attack.plan", attack, returns=AttackModel),
)
