"""Page of one data set: content, risk, attacker, protection, policy."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection
from starlette.responses import Response

from discreet.anonymity import LOSSES, SEARCHES
from discreet.anonymity.comparison import KS, SHARES
from discreet.errors import PolicyError
from discreet.report.charts.bars import spark
from discreet.report.toolkit.html import Markup
from discreet.report.toolkit.words import crowd
from discreet.web.datasets import policies
from discreet.web.datasets import store as datasets
from discreet.web.datasets.store import KINDS, Dataset
from discreet.web.framework.context import Context, Here, by_number
from discreet.web.framework.forms import Form
from discreet.web.framework.problems import Problem
from discreet.web.jobs import store as jobs
from discreet.web.jobs.kinds import FORMATS, IN_COPIES, REQUIREMENTS, chosen
from discreet.web.jobs.pages import progress_of
from discreet.web.jobs.store import ACTIVE, Job, JobResult
from discreet.web.linkage.store import is_lent
from discreet.wording import brief_percent

ROLES = {
    "identifier": "names a person",
    "quasi": "an adversary may know it",
    "sensitive": "an adversary would like to learn it",
    "other": "none of these; published as it is",
    "drop": "left out of what is published",
}
TABS = (
    ("profile", "Profile", ""),
    ("risk", "Risk", "/risk"),
    ("attacker", "Attacker", "/attacker"),
    ("compare", "Compare", "/compare"),
    ("protect", "Protect", "/protect"),
    ("releases", "Releases", "/releases"),
    ("result", "Query results", "/result"),
    ("policy", "Policy", "/policy"),
)
MOST_EARLIER = 12
"""Tables whose levels can be chosen again."""
PAGE = 100
"""Columns whose roles are changed at a time."""


DATASET = by_number("data set", datasets.find)
"""Data sets belong to the custodians of the store, who look after them together."""


@dataclass(frozen=True)
class ColumnRow:
    """A column as the page shows it."""

    place: int
    name: str
    role: str
    guessed: bool
    """Has no person confirmed the role?"""
    rule: str
    """The hierarchy as the form sends it."""
    choices: list[policies.HierarchyChoice]
    looks: str
    distinct: int | None
    unique: str
    missing: int | None
    shape: Markup | None
    reason: str


@dataclass(frozen=True)
class Finished:
    """A job that is done, with what it found."""

    job: Job
    result: JobResult


def frame(context: Context, connection: Connection, tab: str, *, of: Dataset | None = None) -> dict[str, Any]:
    """What all tabs show: the data set, by default the one of the path, and its jobs."""
    dataset: Dataset = of or context.loaded
    now = jobs.moment(connection)
    active = jobs.newest(connection, dataset=dataset.id, states=ACTIVE)
    last = jobs.newest(connection, dataset=dataset.id, most=1)
    running = [progress_of(job, now) for job in reversed(active)]
    failed = last[0] if last and last[0].state == "failed" else None
    shown = {"tab": tab, "tabs": TABS, "live": context.route.live, "kinds": KINDS}
    guesses = policies.guesses(dataset.policy)
    return {"dataset": dataset, "running": running, "failed": failed, "guesses": guesses, **shown}


def finished(connection: Connection, number: int, kind: str, *, most: int = 1) -> list[Finished]:
    """The last jobs of a kind that are done."""
    done = jobs.newest(connection, dataset=number, kinds=(kind,), states=("done",), most=most)
    results = [(job, jobs.result(connection, job.id)) for job in done]
    return [Finished(job, result) for job, result in results if result is not None]


def note_readings(context: Context, what: str, *shown: Finished | None) -> None:
    """Write down who looks at what these jobs found, before it is shown."""
    for done in shown:
        if done is not None:
            context.note_reading(done.job.dataset, done.job.id, what, kind=done.job.kind)


def profile_page(context: Here, page: str = "1") -> Response:
    """The columns with their roles, and what was found."""
    dataset: Dataset = context.loaded
    with context.site.store.reading() as connection:
        around = frame(context, connection, "profile")
        profiled = finished(connection, dataset.id, "profile")
        assessed = finished(connection, dataset.id, "assess", most=2)
        hierarchies = datasets.hierarchies(connection, dataset.id)
        lent = is_lent(connection, dataset.id)
    note_readings(context, "profile", *profiled, *assessed)
    numbers = profiled[0].result.numbers if profiled else None
    columns = _columns(dataset, numbers, hierarchies)
    pages = max(1, -(-len(columns) // PAGE))
    at = min(int(page), pages) if page.isascii() and page.isdigit() and 0 < len(page) < 6 and int(page) else 1
    return context.page(
        "dataset_profile.html",
        lent=lent,
        columns=columns[(at - 1) * PAGE : at * PAGE],
        at=at,
        pages=pages,
        roles=ROLES,
        profile=numbers,
        assessed=assessed,
        current=is_current(dataset, assessed, hierarchies),
        **around,
    )


def is_current(dataset: Dataset, assessed: list[Finished], hierarchies: dict[str, str]) -> bool:
    """Was the last result found under the policy as it is now?"""
    if not assessed or dataset.policy is None:
        return False
    try:
        return policies.parse(dataset.policy, hierarchies).digest == assessed[0].result.policy
    except PolicyError:
        return False  # a hierarchy that it names was replaced by one that does not fit


def _columns(dataset: Dataset, profile: dict[str, Any] | None, hierarchies: dict[str, str]) -> list[ColumnRow]:
    profiled = {column["name"]: column for column in profile["columns"]} if profile else {}
    rules = policies.rules(dataset.policy)
    rows = []
    for place, name in enumerate(dataset.columns):
        role, rule = rules.get(name) or ("other?", None)
        about, shape = profiled.get(name), None
        if profile and about and about["distribution"]:
            shares = [share["records"] / profile["records"] for share in about["distribution"]]
            words = f"{len(shares)} bars; the tallest is {brief_percent(max(shares))} of people."
            shape = spark(shares, key=f"shape-{place}", title=f"Distribution of {name}", about=words)
        looks, suggested = (about["type"], about["suggested_hierarchy"]) if about else ("text", None)
        rows.append(
            ColumnRow(
                place,
                name,
                role.removesuffix("?"),
                role.endswith("?"),
                policies.key_of(rule),
                policies.choices(looks, suggested, rule, hierarchies),
                looks,
                about["distinct"] if about else None,
                brief_percent(about["share_unique"]) if about else "",
                about["missing"] if about else None,
                shape,
                about["reason"] if about else "",
            )
        )
    return rows


def risk_page(context: Here) -> Response:
    """The last assessment: findings, pictures, measures; and the population."""
    dataset: Dataset = context.loaded
    with context.site.store.reading() as connection:
        around = frame(context, connection, "risk")
        assessed = finished(connection, dataset.id, "assess", most=2)
        listed = finished(connection, dataset.id, "records")
        others = [other for other in datasets.everything(connection) if other.id != dataset.id]
        hierarchies = datasets.hierarchies(connection, dataset.id)
    note_readings(context, "risk", *assessed, *listed)
    return context.page(
        "dataset_risk.html",
        assessed=assessed,
        current=is_current(dataset, assessed, hierarchies),
        needed=protecting_k(assessed[0].result.numbers) if assessed else None,
        others=others,
        listed=listed[0] if listed else None,
        population=next((other for other in others if other.id == dataset.population), None),
        **around,
    )


def protecting_k(numbers: Mapping[str, Any]) -> int | None:
    """The least k that brings data above their limit below it; None where nothing has to be done, or nothing helps."""
    needed = crowd(numbers["threshold"])
    return needed if numbers["limit"]["exceeded"] and needed <= numbers["records"] else None


def attacker_page(context: Here) -> Response:
    """What an adversary would do, and the way to the lab."""
    with context.site.store.reading() as connection:
        around = frame(context, connection, "attacker")
        attacks = finished(connection, context.loaded.id, "attack")
    note_readings(context, "attacker", *attacks)
    return context.page(
        "dataset_attacker.html",
        found=attacks[0] if attacks else None,
        lab=("GET", "/lab") in context.site.table,
        **around,
    )


def compare_page(context: Here, job: str = "") -> Response:
    """Candidates for publication side by side."""
    with context.site.store.reading() as connection:
        around = frame(context, connection, "compare")
        made = finished(connection, context.loaded.id, "compare", most=20)
    start = {"k": ", ".join(map(str, KS)), "suppression": "; ".join(f"{share * 100:g}" for share in SHARES)}
    start |= {"loss": "loss", "search": "optimal"}
    shown = next((done for done in made if str(done.job.id) == job), made[0] if made else None)
    note_readings(context, "compare", shown)
    return context.page(
        "dataset_compare.html",
        made=made,
        shown=shown,
        typed={name: context.form.text(name, most=200) for name in start} if context.problem else start,
        losses=list(LOSSES),
        searches=SEARCHES,
        **around,
    )


@dataclass(frozen=True)
class EarlierLevels:
    """The levels of a table that was made before, of this data set or of another with the same columns."""

    words: str
    levels: dict[str, int]
    asked: Mapping[str, Any]
    """What it was made for: k, and the share that may be left out."""


def earlier_levels(context: Context, dataset: Dataset) -> dict[str, EarlierLevels]:
    """Levels that can be taken again, by the number of their job, the newest first."""
    found = {}
    with context.site.store.reading() as connection:
        for job in jobs.newest(connection, kinds=("anonymise",), states=("done",), most=MOST_EARLIER):
            result = jobs.result(connection, job.id)
            levels = result.numbers.get("levels") if result is not None else None
            if levels and set(levels) <= set(dataset.columns):
                listed = ", ".join(f"{name} {level}" for name, level in levels.items())
                found[str(job.id)] = EarlierLevels(
                    f"{job.dataset_name}, {jobs.stamp(job.made)[:10]}: {listed}", levels, job.asked
                )
    return found


def protect_page(context: Here, job: str = "", k: str = "", suppression: str = "") -> Response:
    """Choose limits; see what was made of them. A candidate of a comparison brings its own."""
    with context.site.store.reading() as connection:
        around = frame(context, connection, "protect")
        made = finished(connection, context.loaded.id, "anonymise", most=20)
        number = context.loaded.population
        population = None if number is None else datasets.find(connection, number)
    shown = next((done for done in made if str(done.job.id) == job), made[0] if made else None)
    brought = {key: text for key, text in (("k", k), ("suppression", suppression)) if 0 < len(text) <= 20}
    typed = {name: context.form.text(name, most=40) for name in START} if context.problem else {**START, **brought}
    note_readings(context, "protect", shown)
    return context.page(
        "dataset_protect.html",
        made=made,
        shown=shown,
        typed=typed,
        losses=list(LOSSES),
        searches=SEARCHES,
        formats=FORMATS,
        earlier=earlier_levels(context, context.loaded),
        explorable=shown is not None and explorable(shown.result.numbers),
        sensitive=[
            name for name, (role, _) in policies.rules(context.loaded.policy).items() if role.startswith("sensitive")
        ],
        population=population,
        unheld=sorted({*chosen(shown.job.asked, REQUIREMENTS)} - {*IN_COPIES}) if shown is not None else [],
        **around,
    )


MOST_NODES = 20_000
"""Larger lattices are not drawn."""
MOST_PEOPLE = 1_000_000
"""Larger tables are not counted while a page waits."""


def explorable(numbers: Mapping[str, Any]) -> bool:
    """Whether a table was made by levels, and is small enough to be looked at while a page waits."""
    certificate = numbers.get("certificate")
    few = certificate is not None and certificate["nodes"] <= MOST_NODES
    return bool(numbers.get("levels")) and few and numbers["records"] <= MOST_PEOPLE


START = {
    **dict.fromkeys(
        ("max_risk", "average_risk", "levels", "l", "c", "t", "distance", "least", "most", "k_map", "minutes"), ""
    ),
    "k": "5",
    "suppression": "2",
    "loss": "loss",
    "risk_model": "prosecutor",
    "search": "optimal",
    "format": "csv",
    "l_kind": "distinct",
}
"""What the form begins with."""


def requirements_wanted(form: Form) -> dict[str, Any]:
    """What the form asks of the table, as the API takes it."""
    given: dict[str, Any] = {name: form.text(name, most=40) for name in ("loss", "risk_model", "search", "format")}
    given["suppression"] = number_in(form.text("suppression") or "0", "left out") / 100
    for name in ("k", "k_map"):
        if form.text(name):
            given[name] = form.whole(name, least=1, most=10**9)
    for name, words in (("max_risk", "highest risk"), ("average_risk", "average risk")):
        if form.text(name):
            given[name] = number_in(form.text(name), words) / 100
    if form.text("l"):
        given["diversity"] = {
            "l": number_in(form.text("l"), "l", example="3"),
            "kind": form.text("l_kind") or "distinct",
        }
        if form.text("c"):
            given["diversity"]["c"] = number_in(form.text("c"), "c", example="3")
    if form.text("t"):
        given["closeness"] = {
            "t": number_in(form.text("t"), "t", example="0.2"),
            "distance": form.text("distance") or None,
        }
    if form.text("least") or form.text("most"):
        presence = [
            number_in(form.text(name) or whole, "presence") / 100 for name, whole in (("least", "0"), ("most", "100"))
        ]
        given["presence"] = presence
    if form.text("minutes"):
        given["time_limit"] = number_in(form.text("minutes"), "minutes", example="10") * 60
    return given


def number_in(text: str, what: str, *, example: str = "5 or 2.5, in per cent") -> float:
    """A number that a person typed, with a point or a comma."""
    try:
        number = float(text.replace(",", "."))
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise Problem(422, f"{what}: that is not a number.", remedy=f"Write it as {example}.")
    return number
