"""Pages of data sets: the list, upload, and changes of one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection
from starlette.responses import Response

from discreet.errors import DiscreetError, PolicyError
from discreet.policy.draft import Change, edited
from discreet.web.datasets import dataset_page as tabs
from discreet.web.datasets import ingest, policies
from discreet.web.datasets import store as dataset_store
from discreet.web.datasets import store as datasets
from discreet.web.datasets.ingest import change_policy, remove_dataset, set_population
from discreet.web.datasets.inspection import ENCODINGS, files_below
from discreet.web.datasets.store import Dataset
from discreet.web.framework.context import Context, Here, go
from discreet.web.framework.format import remark
from discreet.web.framework.problems import Problem, problem_of
from discreet.web.jobs import store as jobs
from discreet.web.jobs.requests import ask, wanted_of
from discreet.web.jobs.store import ACTIVE, Job


# Data sets: the list, and the ways to bring one.
@dataclass(frozen=True)
class Listed:
    """A data set with what is known of it."""

    dataset: Dataset
    people: int | None
    exceeded: bool | None
    active: Job | None


def datasets_page(context: Here, said: str = "") -> Response:
    """All data sets, each with its last assessment."""
    with context.site.store.reading() as connection:
        listed = [_listed(connection, one) for one in dataset_store.everything(connection)]
    return context.page("datasets.html", listed=listed, said=remark(said))


def _listed(connection: Connection, one: Dataset) -> Listed:
    numbers = latest_numbers(connection, one.id, "assess")
    looked = numbers or latest_numbers(connection, one.id, "profile")
    active = jobs.newest(connection, dataset=one.id, states=ACTIVE, most=1)
    return Listed(
        one,
        None if looked is None else looked["records"],
        None if numbers is None else numbers["limit"]["exceeded"],
        active[0] if active else None,
    )


def latest_numbers(connection: Connection, number: int, kind: str) -> dict[str, Any] | None:
    """What the last job of a kind found, if any did."""
    done = jobs.newest(connection, dataset=number, kinds=(kind,), states=("done",), most=1)
    found = jobs.result(connection, done[0].id) if done else None
    return None if found is None else found.numbers


def new_page(context: Here) -> Response:
    """The three ways to bring a data set."""
    return _form(context)


def upload(context: Here) -> Response:
    """Keep a file that was sent."""
    return _bring(context, "upload")


def register(context: Here) -> Response:
    """A file that stays where it is."""
    return _bring(context, "path")


def connect(context: Here) -> Response:
    """A table of a PostgreSQL server."""
    return _bring(context, "postgres")


def _bring(context: Context, kind: str) -> Response:
    try:
        number = _brought(context, kind)
    except Exception as error:
        problem = problem_of(error)
        if problem.status >= 500:
            raise
        return _form(context, problem=problem, kind=kind)
    return go(f"/datasets/{number}", said="brought")


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
        status=problem.status if problem else 200,
        problem=problem,
        kind=kind,
        typed=typed,
        files=files_below(settings.folders),
        folders=[str(folder) for folder in settings.folders],
        servers=settings.servers,
        encodings=ENCODINGS,
        largest=settings.largest_upload,
    )


def _or_say(context: Context, page: Callable[..., Response], act: Callable[[], Response]) -> Response:
    """Do it; if it cannot be done, the page again, with what is wrong."""
    try:
        return act()
    except DiscreetError as error:
        problem = problem_of(policies.in_words(error) if isinstance(error, PolicyError) else error)
        if problem.status >= 500:
            raise
        return page(context, problem=problem)


def roles(context: Here) -> Response:
    """Other roles and hierarchies for the columns that the form shows; the risk is measured anew."""
    return _or_say(context, tabs.profile_tab, lambda: _roles(context))


def _roles(context: Context) -> Response:
    dataset: Dataset = context.loaded
    version = context.form.whole("version", least=0, most=10**12)
    changes = dict(_changes(context, dataset))
    text = edited(dataset.policy or "", changes)
    changed = change_policy(context, dataset, text, version=version)
    back = f"/datasets/{dataset.id}"
    if not any(role == "quasi" for role, _ in policies.rules(text).values()):
        return go(back, said="roles-only")
    ask(context, changed, "assess", wanted_of("assess", {}))
    return go(back, said="roles")


def _changes(context: Context, dataset: Dataset) -> list[tuple[str, Change]]:
    form, known = context.form, policies.rules(dataset.policy)
    found = []
    for place, name in enumerate(dataset.columns):
        if f"role-{place}" not in form.fields:
            continue
        role: Any = form.choice(f"role-{place}", list(tabs.ROLES))
        rule = policies.rule_of(form.text(f"rule-{place}", most=500))
        if known.get(name) != (role, rule):
            found.append((name, Change(role, rule)))
    return found


def policy(context: Here) -> Response:
    """The policy as text."""
    text = context.form.verbatim("policy", most=60_000, lines=True).replace("\r\n", "\n")
    return _or_say(
        context,
        lambda context, problem: tabs.policy_tab(context, problem=problem, text=text),
        lambda: _policy(context, text),
    )


def _policy(context: Context, text: str) -> Response:
    dataset: Dataset = context.loaded
    change_policy(context, dataset, text, version=context.form.whole("version", least=0, most=10**12))
    return go(f"/datasets/{dataset.id}/policy", said="policy")


def hierarchy(context: Here) -> Response:
    """A file of a hierarchy that the policy can name."""
    return _or_say(context, tabs.policy_tab, lambda: _hierarchy(context))


def _hierarchy(context: Context) -> Response:
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


def population(context: Here) -> Response:
    """Among whom an adversary looks."""
    return _or_say(context, tabs.risk_tab, lambda: _population(context))


def _population(context: Context) -> Response:
    dataset: Dataset = context.loaded
    kind = context.form.choice("kind", ["none", "number", "dataset"])
    size = context.form.whole("size", least=1, most=10**12) if kind == "number" else None
    other = context.form.whole("dataset", least=0, most=10**17) if kind == "dataset" else None
    set_population(context, dataset, population=other, size=size)
    return go(f"/datasets/{dataset.id}/risk", said="population")


def profile(context: Here) -> Response:
    """Have the columns looked at again."""
    ask(context, context.loaded, "profile", wanted_of("profile", {}))
    return go(f"/datasets/{context.loaded.id}")


def assess(context: Here) -> Response:
    """Measure the risk."""
    return _or_say(context, tabs.risk_tab, lambda: _started(context, "assess", "risk", {}))


def attack(context: Here) -> Response:
    """Let the adversary of the published case study loose on it."""
    return _or_say(context, tabs.attacker_tab, lambda: _started(context, "attack", "attacker", {}))


def protect(context: Here) -> Response:
    """Search the least lossy table within the limits."""
    return _or_say(context, tabs.protect_tab, lambda: _started(context, "anonymise", "protect", _limits(context)))


def _started(context: Context, kind: str, tab: str, given: dict[str, Any]) -> Response:
    ask(context, context.loaded, kind, wanted_of(kind, given))
    return go(f"/datasets/{context.loaded.id}/{tab}")


def _limits(context: Context) -> dict[str, Any]:
    form = context.form
    given: dict[str, Any] = {name: form.text(name, most=40) for name in ("loss", "risk_model", "search", "format")}
    if form.text("k"):
        given["k"] = form.whole("k", least=1, most=10**9)
    if form.text("max_risk"):
        given["max_risk"] = _number(form.text("max_risk"), "highest risk") / 100
    given["suppression"] = _number(form.text("suppression") or "0", "left out") / 100
    return given


def _number(text: str, what: str) -> float:
    try:
        return float(text.replace(",", "."))
    except ValueError:
        raise Problem(422, f"{what}: that is not a number.", remedy="Write it as 5 or 2.5, in per cent.") from None


def remove_page(context: Here) -> Response:
    """What removing it would do."""
    with context.site.store.reading() as connection:
        users = [one for one in datasets.everything(connection) if one.population == context.loaded.id]
        tables = tabs.finished(connection, context.loaded.id, "anonymise", most=50)
    return context.page("dataset_remove.html", dataset=context.loaded, users=users, tables=len(tables))


def remove(context: Here) -> Response:
    """Remove it, with its results; what the ledger says about it stays."""
    remove_dataset(context, context.loaded)
    return go("/datasets", said="removed")
