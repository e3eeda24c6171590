"""Pages of data sets: the list, upload, and changes of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection
from starlette.responses import Response

from discreet.errors import PolicyError
from discreet.policy.draft import Change, edited
from discreet.web.datasets import dataset_page as tabs
from discreet.web.datasets import ingest, policies
from discreet.web.datasets import store as datasets
from discreet.web.datasets.ingest import change_policy, remove_dataset, set_population
from discreet.web.datasets.inspection import ENCODINGS, files_below
from discreet.web.datasets.store import Dataset
from discreet.web.framework.context import Context, Here, again, go, or_again
from discreet.web.framework.problems import Problem, problem_of
from discreet.web.jobs import store as jobs
from discreet.web.jobs.kinds import KINDS
from discreet.web.jobs.requests import ask, wanted_of
from discreet.web.jobs.store import ACTIVE, Job


# Data sets: the list, and the ways to bring one.
@dataclass(frozen=True)
class DatasetRow:
    """A data set with what is known of it."""

    dataset: Dataset
    people: int | None
    exceeded: bool | None
    active: Job | None


def datasets_page(context: Here) -> Response:
    """All data sets, each with its last assessment."""
    rows = []
    with context.site.store.reading() as connection:
        for dataset in datasets.everything(connection):
            numbers = latest_numbers(connection, dataset.id, "assess")
            profile = numbers or latest_numbers(connection, dataset.id, "profile")
            active = jobs.newest(connection, dataset=dataset.id, states=ACTIVE, most=1)
            people = None if profile is None else profile["records"]
            exceeded = None if numbers is None else numbers["limit"]["exceeded"]
            rows.append(DatasetRow(dataset, people, exceeded, active[0] if active else None))
    return context.page("datasets.html", listed=rows)


def latest_numbers(connection: Connection, number: int, kind: str) -> dict[str, Any] | None:
    """What the last finished job of a kind found."""
    done = jobs.newest(connection, dataset=number, kinds=(kind,), states=("done",), most=1)
    result = jobs.result(connection, done[0].id) if done else None
    return None if result is None else result.numbers


def new_page(context: Here) -> Response:
    """The three ways to bring a data set."""
    return _form(context)


def upload(context: Here) -> Response:
    """Store a file that was sent."""
    return _bring(context, "upload")


def register(context: Here) -> Response:
    """A file that stays where it is."""
    return _bring(context, "path")


def connect(context: Here) -> Response:
    """A table of a PostgreSQL server."""
    return _bring(context, "postgres")


def _bring(context: Context, kind: str) -> Response:
    return again(
        lambda: go(f"/datasets/{_brought(context, kind)}", said="brought"),
        lambda problem: _form(context, problem=problem, kind=kind),
    )


def _brought(context: Context, kind: str) -> int:
    form = context.form
    name = ingest.chosen_name(form.text("name", most=500))
    if kind == "postgres":
        given, table = form.text("address", most=1_000), form.text("table", most=500)
        password = form.verbatim("password", most=1_000)
        return ingest.bring_table(context, given, table=table, password=password, name=name)
    encoding = form.choice("encoding", ENCODINGS)
    if kind == "path":
        return ingest.bring_file(context, form.text("path", most=2_000), name=name, encoding=encoding)
    return ingest.bring_upload(context, form.files.get("file"), name=name, encoding=encoding)


def _form(context: Context, *, problem: Problem | None = None, kind: str = "") -> Response:
    settings, form = context.site.settings, context.form
    typed = {field: form.text(field, most=2_000) for field in ("name", "address", "table", "path") if kind}
    return context.page(
        "dataset_new.html",
        problem=problem,
        kind=kind,
        typed=typed,
        files=files_below(settings.folders),
        folders=[str(folder) for folder in settings.folders],
        servers=settings.servers,
        encodings=ENCODINGS,
        largest=settings.largest_upload,
    )


def _in_words(error: Exception) -> Problem:
    return policies.in_words(error) if isinstance(error, PolicyError) else problem_of(error)


@or_again(tabs.profile_tab, _in_words)
def roles(context: Here) -> Response:
    """Other roles and hierarchies for the columns that the form shows; the risk is measured again."""
    dataset: Dataset = context.loaded
    form, known = context.form, policies.rules(dataset.policy)
    changes = {}
    for place, name in enumerate(dataset.columns):
        if f"role-{place}" not in form.fields:
            continue
        role: Any = form.choice(f"role-{place}", list(tabs.ROLES))
        rule = policies.rule_of(form.text(f"rule-{place}", most=500))
        if known.get(name) != (role, rule):
            changes[name] = Change(role, rule)
    text = edited(dataset.policy or "", changes)
    changed = change_policy(context, dataset, text, version=_version(context))
    page = f"/datasets/{dataset.id}"
    if not any(role == "quasi" for role, _ in policies.rules(text).values()):
        return go(page, said="roles-only")
    ask(context, changed, "assess", wanted_of("assess", {}))
    return go(page, said="roles")


def policy(context: Here) -> Response:
    """The policy as text."""
    dataset: Dataset = context.loaded
    text = context.form.verbatim("policy", most=60_000, lines=True).replace("\r\n", "\n")

    def save() -> Response:
        change_policy(context, dataset, text, version=_version(context))
        return go(f"/datasets/{dataset.id}/policy", said="policy")

    return again(save, lambda problem: tabs.policy_tab(context, problem=problem, text=text), _in_words)


def _version(context: Context) -> int:
    """The version of the policy that the form was made from."""
    return context.form.whole("version", least=0, most=10**12)


@or_again(tabs.policy_tab, _in_words)
def hierarchy(context: Here) -> Response:
    """A file of a hierarchy that the policy can name."""
    dataset: Dataset = context.loaded
    upload = context.form.files.get("file")
    if upload is None or not upload.filename:
        raise Problem(422, "No file was chosen.", remedy="Choose a .csv file: one row per value, from fine to coarse.")
    name = policies.file_name(upload.filename)
    text = policies.hierarchy_text(upload.file.read(policies.LARGEST_HIERARCHY + 1))
    sample = f'[columns.x]\nrole = "quasi"\nhierarchy = "{name}"\n'
    policies.parse(sample, {name: text})

    def along(connection: Connection) -> None:
        datasets.set_hierarchy(connection, dataset.id, name, text)

    context.act("web.policy", dataset.subject, along=along, act="hierarchy", file=name, rows=text.count("\n"))
    return go(f"/datasets/{dataset.id}/policy", said="hierarchy")


@or_again(tabs.risk_tab, _in_words)
def population(context: Here) -> Response:
    """Among whom an adversary looks."""
    form, dataset = context.form, context.loaded
    kind = form.choice("kind", ["none", "number", "dataset"])
    size = form.whole("size", least=1, most=10**12) if kind == "number" else None
    other = form.whole("dataset", least=0, most=10**17) if kind == "dataset" else None
    set_population(context, dataset, population=other, size=size)
    return go(f"/datasets/{dataset.id}/risk", said="population")


def profile(context: Here) -> Response:
    """Have the columns looked at again."""
    return _start(context, "profile", {})


@or_again(tabs.risk_tab, _in_words)
def assess(context: Here) -> Response:
    """Measure the risk."""
    return _start(context, "assess", {})


@or_again(tabs.attacker_tab, _in_words)
def attack(context: Here) -> Response:
    """Have the adversary of the published case study plan an attack on it."""
    return _start(context, "attack", {})


@or_again(tabs.protect_tab, _in_words)
def protect(context: Here) -> Response:
    """Search the least lossy table within the limits."""
    form = context.form
    given: dict[str, Any] = {name: form.text(name, most=40) for name in ("loss", "risk_model", "search", "format")}
    if form.text("k"):
        given["k"] = form.whole("k", least=1, most=10**9)
    if form.text("max_risk"):
        given["max_risk"] = _number(form.text("max_risk"), "highest risk") / 100
    given["suppression"] = _number(form.text("suppression") or "0", "left out") / 100
    return _start(context, "anonymise", given)


def _start(context: Context, kind: str, given: dict[str, Any]) -> Response:
    """Queue the job, then show the tab on which its result will be."""
    ask(context, context.loaded, kind, wanted_of(kind, given))
    return go(f"/datasets/{context.loaded.id}{KINDS[kind].tab}")


def _number(text: str, what: str) -> float:
    try:
        return float(text.replace(",", "."))
    except ValueError:
        raise Problem(422, f"{what}: that is not a number.", remedy="Write it as 5 or 2.5, in per cent.") from None


def remove_page(context: Here) -> Response:
    """What removing it would do."""
    with context.site.store.reading() as connection:
        users = [other for other in datasets.everything(connection) if other.population == context.loaded.id]
        tables = tabs.finished(connection, context.loaded.id, "anonymise", most=50)
    return context.page("dataset_remove.html", dataset=context.loaded, users=users, tables=len(tables))


def remove(context: Here) -> Response:
    """Remove it, with its results; what the ledger says about it stays."""
    remove_dataset(context, context.loaded)
    return go("/datasets", said="removed")
