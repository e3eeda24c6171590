"""Pages and API of data sets: the list, upload, changes, jobs; and their routes."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import File, Form, UploadFile
from pydantic import Field
from starlette.responses import Response

from discreet.web.datasets import (
    dataset_page,
    hierarchy_page,
    ingest,
    lattice_page,
    policies,
    policy_page,
    result_page,
)
from discreet.web.datasets import store as datasets
from discreet.web.datasets.dataset_page import DATASET, finished
from discreet.web.datasets.ingest import LONGEST_POLICY
from discreet.web.datasets.inspection import ENCODINGS, LISTED, PLAIN, SheetChoice, files_below
from discreet.web.datasets.store import Dataset
from discreet.web.framework.context import Context, Here, go, or_again
from discreet.web.framework.forms import Line, Number, Strict
from discreet.web.framework.problems import Problem
from discreet.web.framework.route import ApiGet, ApiPost, Page, Route, Submit
from discreet.web.jobs import store as jobs
from discreet.web.jobs.kinds import (
    KINDS,
    AnonymiseWanted,
    AssessWanted,
    AttackWanted,
    CompareWanted,
    ProfileWanted,
    RecordsWanted,
)
from discreet.web.jobs.pages import JobModel, ask, wanted_of
from discreet.web.jobs.pages import model as job_model
from discreet.web.jobs.store import ACTIVE


# Data sets: the list, and the ways to bring one.
def datasets_page(context: Here) -> Response:
    """All data sets, each with its last assessment."""
    rows = []
    with context.site.store.reading() as connection:
        for dataset in datasets.everything(connection):
            assessed = finished(connection, dataset.id, "assess")
            counted = assessed or finished(connection, dataset.id, "profile")
            active = jobs.newest(connection, dataset=dataset.id, states=ACTIVE, most=1)
            people = counted[0].result.numbers["records"] if counted else None
            exceeded = assessed[0].result.numbers["limit"]["exceeded"] if assessed else None
            rows.append(
                {"dataset": dataset, "people": people, "exceeded": exceeded, "active": next(iter(active), None)}
            )
    return context.page("datasets.html", listed=rows)


KINDS_BY_PATH = {"/datasets/upload": "upload", "/datasets/register": "path", "/datasets/connect": "postgres"}
"""The three ways to bring a data set."""
LONGEST_SHEET = 200


def new_page(context: Here) -> Response:
    """The three ways to bring a data set."""
    settings, form = context.site.settings, context.form
    problem = context.problem
    return context.page(
        "dataset_new.html",
        choice=problem if isinstance(problem, SheetChoice) else None,
        kind=KINDS_BY_PATH.get(context.route.path, ""),
        typed={field: form.text(field, most=2_000) for field in ("name", "address", "table", "path", "encoding")},
        files=files_below(settings.folders),
        folders=[str(folder) for folder in settings.folders],
        servers=settings.servers,
        encodings=ENCODINGS,
        largest=settings.largest_upload,
        listed=LISTED,
        endings=PLAIN,
    )


@or_again(new_page)
def bring(context: Here) -> Response:
    """Store an upload, or register a file or table where it is."""
    form, kind = context.form, KINDS_BY_PATH[context.route.path]
    name = ingest.chosen_name(form.text("name", most=500))
    if kind == "postgres":
        given, table = form.text("address", most=1_000), form.text("table", most=500)
        password = form.verbatim("password", most=1_000)
        dataset = ingest.bring_table(context, given, table=table, password=password, name=name)
    elif kind == "path":
        encoding, sheet = form.choice("encoding", ENCODINGS), form.verbatim("sheet", most=LONGEST_SHEET)
        dataset = ingest.bring_file(context, form.text("path", most=2_000), name=name, encoding=encoding, sheet=sheet)
    elif kept := form.text("kept", most=100):
        called, sheet = form.text("called", most=500), form.verbatim("sheet", most=LONGEST_SHEET)
        dataset = ingest.bring_sheet(context, kept, called=called, sheet=sheet, name=name)
    else:
        encoding, sheet = form.choice("encoding", ENCODINGS), form.verbatim("sheet", most=LONGEST_SHEET)
        file = form.files.get("file")
        dataset = ingest.bring_upload(context, file, name=name, encoding=encoding, sheet=sheet, waits=True)
    return go(f"/datasets/{dataset.id}", said="brought")


@or_again(dataset_page.risk_page, policy_page.in_words)
def save_population(context: Here) -> Response:
    """Among whom an adversary looks."""
    form, dataset = context.form, context.loaded
    kind = form.choice("kind", ["none", "number", "dataset"])
    size = form.whole("size", least=1, most=10**12) if kind == "number" else None
    other = form.whole("dataset", least=0, most=10**17) if kind == "dataset" else None
    ingest.set_population(context, dataset, population=other, size=size)
    return go(f"/datasets/{dataset.id}/risk", said="population")


def start_profile(context: Here) -> Response:
    """Have the columns looked at again."""
    return _start(context, "profile", {})


@or_again(dataset_page.risk_page, policy_page.in_words)
def start_assessment(context: Here) -> Response:
    """Measure the risk."""
    return _start(context, "assess", {})


@or_again(dataset_page.attacker_page, policy_page.in_words)
def start_attack(context: Here) -> Response:
    """Have the adversary of the published case study plan an attack on it."""
    return _start(context, "attack", {"prior_column": context.form.text("prior_column", most=500) or None})


@or_again(dataset_page.protect_page, policy_page.in_words)
def start_protection(context: Here) -> Response:
    """Search the least lossy table within the limits."""
    given = dataset_page.requirements_wanted(context.form)
    if earlier := context.form.text("levels"):
        levels = dataset_page.earlier_levels(context, context.loaded)
        if earlier not in levels:
            raise Problem(422, "That table is not there any more.", remedy="Choose another one, or search the levels.")
        given["levels"] = levels[earlier].levels
    return _start(context, "anonymise", given)


@or_again(dataset_page.risk_page, policy_page.in_words)
def start_records(context: Here) -> Response:
    """Have the risk of every record listed."""
    return _start(context, "records", {})


@or_again(dataset_page.compare_page, policy_page.in_words)
def start_comparison(context: Here) -> Response:
    """Have the best tables under several limits put side by side."""
    form = context.form
    sizes = form.text("k").replace(",", " ").replace(";", " ").split()
    if not sizes or not all(part.isascii() and part.isdigit() for part in sizes):
        raise Problem(422, "k: these are no whole numbers.", remedy="Write them as 3 5 10.")
    shares = [
        dataset_page.number_in(part, "left out") / 100 for part in form.text("suppression").replace(";", " ").split()
    ]
    given = {name: form.text(name, most=40) for name in ("loss", "search")}
    return _start(context, "compare", {"k": [int(part) for part in sizes], "suppression": shares, **given})


def _start(context: Context, kind: str, given: dict[str, Any]) -> Response:
    """Queue the job, then show the tab on which its result will be."""
    ask(context, context.loaded, kind, wanted_of(kind, given))
    return go(f"/datasets/{context.loaded.id}{KINDS[kind].tab}")


def remove_page(context: Here) -> Response:
    """What removing it would do."""
    with context.site.store.reading() as connection:
        users = [other for other in datasets.everything(connection) if other.population == context.loaded.id]
        tables = finished(connection, context.loaded.id, "anonymise", most=50)
    return context.page("dataset_remove.html", dataset=context.loaded, users=users, tables=len(tables))


def remove_by_form(context: Here) -> Response:
    """Remove it, with its results; what the ledger says about it stays."""
    ingest.remove_dataset(context, context.loaded)
    return go("/datasets", said="removed")


# The API.
Encoding = Literal["detect", "utf-8", "latin-1", "cp1252", "utf-16"]


class DatasetModel(Strict):
    """A data set. `place` never holds a password."""

    id: int
    name: str
    kind: str
    place: str | None
    """Null for an upload."""
    size: int | None
    sha256: str | None
    columns: list[str]
    owner: str
    made: str
    policy_version: int
    """0 before there is a policy."""
    population: int | None
    population_size: int | None


class Datasets(Strict):
    """All data sets, by name."""

    datasets: list[DatasetModel]


class NewFile(Strict):
    """A file to be registered where it is."""

    path: Annotated[str, Field(min_length=1, max_length=2_000)]
    name: Line | None = None
    encoding: Encoding = "detect"
    sheet: Annotated[str, Field(max_length=LONGEST_SHEET)] = ""
    """Of a workbook in which several sheets have tables."""


class NewTable(Strict):
    """A table of a PostgreSQL server to be registered. The password is kept encrypted and never given out."""

    address: Annotated[str, Field(min_length=1, max_length=1_000)]
    table: Annotated[str, Field(min_length=1, max_length=200)]
    password: Annotated[str, Field(max_length=1_000)] = ""
    name: Line | None = None


class PolicyModel(Strict):
    """The policy of a data set as TOML."""

    policy: str | None
    version: int
    unconfirmed: list[str]
    """Columns whose role is a guess; nothing is written or released while there are any."""


class Confirmation(Strict):
    """Guessed roles to be confirmed in the policy of this version: of some columns, or of all."""

    columns: list[str] = Field(default_factory=list, max_length=5_000)
    all: bool = False
    version: Number


class NewPolicy(Strict):
    """A policy to be put in force in place of the one of this version."""

    policy: Annotated[str, Field(max_length=LONGEST_POLICY)]
    version: Number


class NewPopulation(Strict):
    """Among whom an adversary looks: a data set, a number of people, or null for both."""

    dataset: Number | None = None
    size: Annotated[int, Field(ge=1, le=10**12)] | None = None


class Removed(Strict):
    """The number of what was removed."""

    removed: int


def dataset_list(context: Here) -> Datasets:
    """All data sets."""
    with context.site.store.reading() as connection:
        return Datasets(datasets=[_model(dataset) for dataset in datasets.everything(connection)])


def upload(
    context: Here,
    file: Annotated[UploadFile | None, File(description=f"A file that ends in {LISTED}.")] = None,
    name: Annotated[str, Form(max_length=80)] = "",
    encoding: Annotated[Encoding, Form()] = "detect",
    sheet: Annotated[
        str, Form(max_length=LONGEST_SHEET, description="Of a workbook in which several sheets have tables.")
    ] = "",
) -> DatasetModel:
    """Keep a file that is sent as multipart/form-data."""
    return _model(ingest.bring_upload(context, file, name=ingest.chosen_name(name), encoding=encoding, sheet=sheet))


def register(context: Here, wanted: NewFile) -> DatasetModel:
    """Register a file where it is, below a folder that is open for it."""
    how = {"encoding": wanted.encoding, "sheet": wanted.sheet}
    return _model(ingest.bring_file(context, wanted.path, name=wanted.name or "", **how))


def connect(context: Here, wanted: NewTable) -> DatasetModel:
    """Register a table of a PostgreSQL server that is open for it."""
    source = {"table": wanted.table, "password": wanted.password, "name": wanted.name or ""}
    return _model(ingest.bring_table(context, wanted.address, **source))


def dataset(context: Here, number: str) -> DatasetModel:
    """One data set."""
    return _model(context.loaded)


def policy(context: Here, number: str) -> PolicyModel:
    """Its policy; null before its columns were looked at."""
    return _policy_model(context.loaded)


def change_policy(context: Here, number: str, wanted: NewPolicy) -> PolicyModel:
    """Put a policy in force."""
    return _policy_model(ingest.change_policy(context, context.loaded, wanted.policy, version=wanted.version))


def confirm(context: Here, number: str, wanted: Confirmation) -> PolicyModel:
    """Confirm guessed roles; name the columns, or say that all are meant."""
    if wanted.all == bool(wanted.columns):
        raise Problem(422, "Say which roles to confirm.", remedy='Name "columns", or say "all": true.')
    columns = None if wanted.all else wanted.columns
    return _policy_model(ingest.confirm_roles(context, context.loaded, columns, version=wanted.version))


def population(context: Here, number: str, wanted: NewPopulation) -> DatasetModel:
    """Say among whom an adversary looks."""
    if wanted.dataset is not None and wanted.size is not None:
        raise Problem(422, "A population is a data set or a number of people, not both.", remedy="Leave out one.")
    return _model(ingest.set_population(context, context.loaded, population=wanted.dataset, size=wanted.size))


def remove(context: Here, number: str) -> Removed:
    """Remove it with its results and files; its entries in the ledger stay."""
    ingest.remove_dataset(context, context.loaded)
    return Removed(removed=context.loaded.id)


def profile(context: Here, number: str, wanted: ProfileWanted) -> JobModel:
    """Have its columns looked at."""
    return job_model(context, ask(context, context.loaded, "profile", wanted))


def assess(context: Here, number: str, wanted: AssessWanted) -> JobModel:
    """Have its risk measured."""
    return job_model(context, ask(context, context.loaded, "assess", wanted))


def anonymise(context: Here, number: str, wanted: AnonymiseWanted) -> JobModel:
    """Have the least lossy table within limits made."""
    return job_model(context, ask(context, context.loaded, "anonymise", wanted))


def compare(context: Here, number: str, wanted: CompareWanted) -> JobModel:
    """Have the best tables under several limits put side by side."""
    return job_model(context, ask(context, context.loaded, "compare", wanted))


def records(context: Here, number: str, wanted: RecordsWanted) -> JobModel:
    """Have the risk of every record listed, for the custodian only; the job's file holds it."""
    return job_model(context, ask(context, context.loaded, "records", wanted))


def attack(context: Here, number: str, wanted: AttackWanted) -> JobModel:
    """Have an adversary plan an attack on it."""
    return job_model(context, ask(context, context.loaded, "attack", wanted))


def _policy_model(dataset: Dataset) -> PolicyModel:
    unconfirmed = list(policies.guesses(dataset.policy))
    return PolicyModel(policy=dataset.policy, version=dataset.version, unconfirmed=unconfirmed)


def _model(dataset: Dataset) -> DatasetModel:
    return DatasetModel.of(
        dataset,
        place=None if dataset.kind == "upload" else dataset.place,
        sha256=dataset.hash,
        columns=list(dataset.columns),
        policy_version=dataset.version,
    )


_PAGE, _API = "/datasets/{number}", "/api/v1/datasets/{number}"
_READ, _CHANGE = "datasets.read", "datasets.change"

DATASET_ROUTES: tuple[Route, ...] = (
    Page("/datasets", _READ, datasets_page),
    Page("/datasets/new", _CHANGE, new_page),
    Submit("/datasets/upload", _CHANGE, bring, body="upload"),
    Submit("/datasets/register", _CHANGE, bring),
    Submit("/datasets/connect", _CHANGE, bring),
    Page(_PAGE, _READ, dataset_page.profile_page, live=True, records=True, loads=DATASET),
    Page(f"{_PAGE}/risk", _READ, dataset_page.risk_page, live=True, records=True, loads=DATASET),
    Page(f"{_PAGE}/attacker", _READ, dataset_page.attacker_page, live=True, records=True, loads=DATASET),
    Page(f"{_PAGE}/compare", _READ, dataset_page.compare_page, live=True, records=True, loads=DATASET),
    Page(f"{_PAGE}/protect", _READ, dataset_page.protect_page, live=True, records=True, loads=DATASET),
    Page(
        "/jobs/{number}/lattice",
        "datasets.take",
        lattice_page.lattice_page,
        records=True,
        loads=lattice_page.MADE_TABLE,
    ),
    Page(f"{_PAGE}/policy", _READ, policy_page.policy_page, live=True, loads=DATASET),
    Page(f"{_PAGE}/result", _READ, result_page.result_page, live=True, loads=DATASET),
    Submit(f"{_PAGE}/score", _CHANGE, result_page.score_result, body="upload", loads=DATASET),
    Submit(f"{_PAGE}/reduce", _CHANGE, result_page.reduce_result, body="upload", loads=DATASET),
    Page(f"{_PAGE}/remove", _CHANGE, remove_page, loads=DATASET),
    Submit(f"{_PAGE}/roles", _CHANGE, policy_page.save_roles, loads=DATASET),
    Submit(f"{_PAGE}/policy", _CHANGE, policy_page.save_policy, loads=DATASET),
    Submit(f"{_PAGE}/rows", _CHANGE, policy_page.save_rows, loads=DATASET),
    Submit(f"{_PAGE}/levels", _CHANGE, policy_page.save_levels, loads=DATASET),
    Submit(f"{_PAGE}/confirm", _CHANGE, policy_page.confirm_by_form, loads=DATASET),
    Submit(f"{_PAGE}/hierarchies", _CHANGE, policy_page.save_hierarchy, body="upload", loads=DATASET),
    Page(f"{_PAGE}/hierarchy", _CHANGE, hierarchy_page.hierarchy_page, records=True, loads=DATASET),
    Submit(f"{_PAGE}/hierarchy", _CHANGE, hierarchy_page.change_hierarchy, loads=DATASET),
    Submit(f"{_PAGE}/population", _CHANGE, save_population, loads=DATASET),
    Submit(f"{_PAGE}/profile", _CHANGE, start_profile, loads=DATASET),
    Submit(f"{_PAGE}/assess", _CHANGE, start_assessment, loads=DATASET),
    Submit(f"{_PAGE}/attack", _CHANGE, start_attack, loads=DATASET),
    Submit(f"{_PAGE}/compare", _CHANGE, start_comparison, loads=DATASET),
    Submit(f"{_PAGE}/records", _CHANGE, start_records, loads=DATASET),
    Submit(f"{_PAGE}/protect", _CHANGE, start_protection, loads=DATASET),
    Submit(f"{_PAGE}/remove", _CHANGE, remove_by_form, loads=DATASET),
    ApiGet("/api/v1/datasets", _READ, dataset_list, returns=Datasets),
    ApiPost("/api/v1/datasets", _CHANGE, upload, returns=DatasetModel, status=201, body="upload"),
    ApiPost("/api/v1/datasets/register", _CHANGE, register, returns=DatasetModel, status=201),
    ApiPost("/api/v1/datasets/connect", _CHANGE, connect, returns=DatasetModel, status=201),
    ApiGet(_API, _READ, dataset, returns=DatasetModel, loads=DATASET),
    ApiGet(f"{_API}/policy", _READ, policy, returns=PolicyModel, loads=DATASET),
    ApiPost(f"{_API}/policy", _CHANGE, change_policy, returns=PolicyModel, loads=DATASET),
    ApiPost(f"{_API}/policy/confirm", _CHANGE, confirm, returns=PolicyModel, loads=DATASET),
    ApiPost(f"{_API}/population", _CHANGE, population, returns=DatasetModel, loads=DATASET),
    ApiPost(f"{_API}/profile", _CHANGE, profile, returns=JobModel, status=201, loads=DATASET),
    ApiPost(f"{_API}/assess", _CHANGE, assess, returns=JobModel, status=201, loads=DATASET),
    ApiPost(f"{_API}/anonymise", _CHANGE, anonymise, returns=JobModel, status=201, loads=DATASET),
    ApiPost(f"{_API}/compare", _CHANGE, compare, returns=JobModel, status=201, loads=DATASET),
    ApiPost(f"{_API}/records", _CHANGE, records, returns=JobModel, status=201, loads=DATASET),
    ApiPost(f"{_API}/attack", _CHANGE, attack, returns=JobModel, status=201, loads=DATASET),
    ApiPost(f"{_API}/remove", _CHANGE, remove, returns=Removed, loads=DATASET),
)
