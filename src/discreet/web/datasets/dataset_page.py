"""Page of one data set: content, risk, attacker, protection, policy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection
from starlette.responses import Response

from discreet.anonymity import LOSSES, SEARCHES
from discreet.errors import PolicyError
from discreet.report.charts.bars import spark
from discreet.report.toolkit.html import Markup
from discreet.web.datasets import policies
from discreet.web.datasets import store as datasets
from discreet.web.datasets.store import KINDS, Dataset
from discreet.web.framework.context import Context, Here
from discreet.web.framework.format import remark
from discreet.web.framework.problems import Problem
from discreet.web.framework.route import Loads, numbered
from discreet.web.jobs import queue
from discreet.web.jobs import store as jobs
from discreet.web.jobs.pages import progress_of
from discreet.web.jobs.requests import FORMATS
from discreet.web.jobs.store import ACTIVE, Job, Result
from discreet.web.linkage.store import is_lent
from discreet.wording import brief_percent

ROLES = {
    "identifier": "names a person",
    "quasi": "an adversary may know it",
    "sensitive": "he would like to learn it",
    "other": "none of these; published as it is",
    "drop": "left out of what is published",
}
TABS = (
    ("profile", "Profile", ""),
    ("risk", "Risk", "/risk"),
    ("attacker", "Attacker", "/attacker"),
    ("protect", "Protect", "/protect"),
    ("releases", "Releases", "/releases"),
    ("policy", "Policy", "/policy"),
)
PAGE = 100
"""Columns whose roles are changed at a time."""


def _find(context: Context, path: dict[str, str]) -> Dataset | None:
    with context.site.store.reading() as connection:
        return datasets.find(connection, numbered(path["number"]))


DATASET = Loads("data set", find=_find, may=lambda context, dataset: context.may(context.route.permission))
"""Data sets belong to the custodians of the store, who look after them together."""


@dataclass(frozen=True)
class Shown:
    """A column as the page shows it."""

    place: int
    name: str
    role: str
    rule: str
    """The hierarchy as the form sends it."""
    choices: list[policies.Choice]
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
    result: Result


def frame(context: Context, connection: Connection, tab: str) -> dict[str, Any]:
    """What all tabs show: the data set and its jobs, seen in the same state of the store as their results."""
    dataset: Dataset = context.loaded
    now = queue.moment(connection)
    active = jobs.newest(connection, dataset=dataset.id, states=ACTIVE)
    last = jobs.newest(connection, dataset=dataset.id, most=1)
    running = [progress_of(job, now) for job in reversed(active)]
    failed = last[0] if last and last[0].state == "failed" else None
    shown = {"tab": tab, "tabs": TABS, "live": context.route.live, "kinds": KINDS}
    return {"dataset": dataset, "running": running, "failed": failed, **shown}


def finished(connection: Connection, number: int, kind: str, *, most: int = 1) -> list[Finished]:
    """The last jobs of a kind that are done."""
    done = jobs.newest(connection, dataset=number, kinds=(kind,), states=("done",), most=most)
    found = [(job, jobs.result(connection, job.id)) for job in done]
    return [Finished(job, result) for job, result in found if result is not None]


def profile_page(context: Here, said: str = "", page: str = "1") -> Response:
    """The columns with their roles, and what was found."""
    return profile_tab(context, said=remark(said), page=page)


def profile_tab(context: Context, *, said: str = "", page: str = "1", problem: Problem | None = None) -> Response:
    """The first tab, also with what went wrong in its form."""
    dataset: Dataset = context.loaded
    with context.site.store.reading() as connection:
        around = frame(context, connection, "profile")
        profiled = finished(connection, dataset.id, "profile")
        assessed = finished(connection, dataset.id, "assess", most=2)
        hierarchies = datasets.hierarchies(connection, dataset.id)
        lent = is_lent(connection, dataset.id)
    columns = _columns(dataset, profiled[0].result.numbers if profiled else None, hierarchies)
    pages = max(1, -(-len(columns) // PAGE))
    at = min(int(page), pages) if page.isascii() and page.isdigit() and 0 < len(page) < 6 and int(page) else 1
    return context.page(
        "dataset_profile.html",
        status=problem.status if problem else 200,
        problem=problem,
        lent=lent,
        said=said,
        columns=columns[(at - 1) * PAGE : at * PAGE],
        at=at,
        pages=pages,
        roles=ROLES,
        profile=profiled[0].result.numbers if profiled else None,
        assessed=assessed,
        current=is_current(dataset, assessed, hierarchies),
        **around,
    )


def is_current(dataset: Dataset, found: list[Finished], hierarchies: dict[str, str]) -> bool:
    """Was the last result found under the policy as it is now?"""
    if not found or dataset.policy is None:
        return False
    try:
        return policies.parse(dataset.policy, hierarchies).digest == found[0].result.policy
    except PolicyError:
        return False  # a hierarchy that it names was replaced by one that does not fit


def _columns(dataset: Dataset, profile: dict[str, Any] | None, hierarchies: dict[str, str]) -> list[Shown]:
    known = {column["name"]: column for column in profile["columns"]} if profile else {}
    records = profile["records"] if profile else 1
    rules = policies.rules(dataset.policy)
    return [
        _shown(place, name, known.get(name), records, rules.get(name), hierarchies)
        for place, name in enumerate(dataset.columns)
    ]


def _shown(
    place: int,
    name: str,
    known: dict[str, Any] | None,
    records: int,
    rule: tuple[str, Any] | None,
    hierarchies: dict[str, str],
) -> Shown:
    role, present = rule or ("other", None)
    looks = known["type"] if known else "text"
    suggested = known["suggested_hierarchy"] if known else None
    return Shown(
        place,
        name,
        role,
        policies.key_of(present),
        policies.choices(looks, suggested, present, hierarchies),
        looks,
        known["distinct"] if known else None,
        brief_percent(known["share_unique"]) if known else "",
        known["missing"] if known else None,
        _shape(place, name, known, records) if known else None,
        known["reason"] if known else "",
    )


def _shape(place: int, name: str, known: dict[str, Any], records: int) -> Markup | None:
    shares = [share["records"] / records for share in known["distribution"]]
    if not shares:
        return None
    about = f"{len(shares)} bars; the tallest stands for {brief_percent(max(shares))} of people."
    return spark(shares, key=f"shape-{place}", title=f"Distribution of {name}", about=about)


def risk_page(context: Here, said: str = "") -> Response:
    """The last assessment: findings, pictures, measures; and the population."""
    return risk_tab(context, said=remark(said))


def risk_tab(context: Context, *, said: str = "", problem: Problem | None = None) -> Response:
    """The second tab, also with what went wrong in its forms."""
    dataset: Dataset = context.loaded
    with context.site.store.reading() as connection:
        around = frame(context, connection, "risk")
        assessed = finished(connection, dataset.id, "assess", most=2)
        others = [one for one in datasets.everything(connection) if one.id != dataset.id]
        hierarchies = datasets.hierarchies(connection, dataset.id)
    return context.page(
        "dataset_risk.html",
        status=problem.status if problem else 200,
        problem=problem,
        said=said,
        assessed=assessed,
        current=is_current(dataset, assessed, hierarchies),
        others=others,
        population=next((one for one in others if one.id == dataset.population), None),
        **around,
    )


def attacker_page(context: Here) -> Response:
    """What an adversary would do, and the way to the lab."""
    return attacker_tab(context)


def attacker_tab(context: Context, *, problem: Problem | None = None) -> Response:
    """The third tab, also with what went wrong in its form."""
    with context.site.store.reading() as connection:
        around = frame(context, connection, "attacker")
        found = finished(connection, context.loaded.id, "attack")
    return context.page(
        "dataset_attacker.html",
        status=problem.status if problem else 200,
        problem=problem,
        found=found[0] if found else None,
        lab=("GET", "/lab") in context.site.table,
        **around,
    )


def protect_page(context: Here, job: str = "") -> Response:
    """Choose limits; see what was made of them."""
    return protect_tab(context, chosen=job)


def protect_tab(context: Context, *, chosen: str = "", problem: Problem | None = None) -> Response:
    """The fourth tab, also with what went wrong in its form."""
    with context.site.store.reading() as connection:
        around = frame(context, connection, "protect")
        made = finished(connection, context.loaded.id, "anonymise", most=20)
    shown = next((one for one in made if str(one.job.id) == chosen), made[0] if made else None)
    values = {name: context.form.text(name, most=40) for name in ("k", "suppression", "loss", "max_risk", "risk_model", "search", "format")}  # fmt: skip
    typed = {**START, **{name: value for name, value in values.items() if problem}}
    return context.page(
        "dataset_protect.html",
        status=problem.status if problem else 200,
        problem=problem,
        made=made,
        shown=shown,
        typed=typed,
        losses=list(LOSSES),
        searches=SEARCHES,
        formats=FORMATS,
        **around,
    )


START = {"k": "5", "suppression": "2", "loss": "loss", "max_risk": "", "risk_model": "prosecutor", "search": "optimal", "format": "csv"}  # fmt: skip
"""What the form begins with."""


def policy_page(context: Here, said: str = "") -> Response:
    """The policy as text, and files of hierarchies."""
    return policy_tab(context, said=remark(said))


def policy_tab(
    context: Context, *, said: str = "", problem: Problem | None = None, text: str | None = None
) -> Response:
    """The last tab, also with what went wrong in its forms and with what somebody typed."""
    dataset: Dataset = context.loaded
    with context.site.store.reading() as connection:
        around = frame(context, connection, "policy")
        hierarchies = datasets.hierarchies(connection, dataset.id)
    return context.page(
        "dataset_policy.html",
        status=problem.status if problem else 200,
        problem=problem,
        said=said,
        text=dataset.policy or "" if text is None else text,
        hierarchies={name: content.count("\n") for name, content in hierarchies.items()},
        **around,
    )
