"""API of data sets: upload, read, change, remove, start jobs; and their routes."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import File, Form, UploadFile
from pydantic import Field

from discreet.web.datasets import dataset_page, ingest, pages
from discreet.web.datasets import store as datasets
from discreet.web.datasets.dataset_page import DATASET
from discreet.web.datasets.ingest import LONGEST_POLICY
from discreet.web.datasets.store import Dataset
from discreet.web.framework.context import Context, Here
from discreet.web.framework.forms import Line, Number, Strict
from discreet.web.framework.problems import Problem, not_found
from discreet.web.framework.route import ApiGet, ApiPost, Page, Route, Submit
from discreet.web.jobs.kinds import AnonymiseWanted, AssessWanted, AttackWanted, ProfileWanted
from discreet.web.jobs.pages import JobModel
from discreet.web.jobs.pages import model as job_model
from discreet.web.jobs.requests import ask

Encoding = Literal["utf-8", "latin-1", "cp1252", "utf-16"]


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
    encoding: Encoding = "utf-8"


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
    file: Annotated[UploadFile | None, File(description="A .csv, .csv.gz or .parquet file.")] = None,
    name: Annotated[str, Form(max_length=80)] = "",
    encoding: Annotated[Encoding, Form()] = "utf-8",
) -> DatasetModel:
    """Keep a file that is sent as multipart/form-data."""
    return _brought(context, ingest.bring_upload(context, file, name=ingest.chosen_name(name), encoding=encoding))


def register(context: Here, wanted: NewFile) -> DatasetModel:
    """Register a file where it is, below a folder that is open for it."""
    return _brought(context, ingest.bring_file(context, wanted.path, name=wanted.name or "", encoding=wanted.encoding))


def connect(context: Here, wanted: NewTable) -> DatasetModel:
    """Register a table of a PostgreSQL server that is open for it."""
    number = ingest.bring_table(
        context, wanted.address, table=wanted.table, password=wanted.password, name=wanted.name or ""
    )
    return _brought(context, number)


def dataset(context: Here, number: str) -> DatasetModel:
    """One data set."""
    return _model(context.loaded)


def policy(context: Here, number: str) -> PolicyModel:
    """Its policy; null before its columns were looked at."""
    return PolicyModel(policy=context.loaded.policy, version=context.loaded.version)


def change_policy(context: Here, number: str, wanted: NewPolicy) -> PolicyModel:
    """Put a policy in force."""
    changed = ingest.change_policy(context, context.loaded, wanted.policy, version=wanted.version)
    return PolicyModel(policy=changed.policy, version=changed.version)


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


def attack(context: Here, number: str, wanted: AttackWanted) -> JobModel:
    """Have an adversary plan an attack on it."""
    return job_model(context, ask(context, context.loaded, "attack", wanted))


def _brought(context: Context, number: int) -> DatasetModel:
    with context.site.store.reading() as connection:
        dataset = datasets.find(connection, number)
    if dataset is None:
        raise not_found()
    return _model(dataset)


def _model(dataset: Dataset) -> DatasetModel:
    return DatasetModel(
        id=dataset.id,
        name=dataset.name,
        kind=dataset.kind,
        place=None if dataset.kind == "upload" else dataset.place,
        size=dataset.size,
        sha256=dataset.hash,
        columns=list(dataset.columns),
        owner=dataset.owner,
        made=dataset.made,
        policy_version=dataset.version,
        population=dataset.population,
        population_size=dataset.population_size,
    )


_PAGE, _API = "/datasets/{number}", "/api/v1/datasets/{number}"
_READ, _CHANGE = "datasets.read", "datasets.change"

DATASET_ROUTES: tuple[Route, ...] = (
    Page("/datasets", _READ, pages.datasets_page),
    Page("/datasets/new", _CHANGE, pages.new_page),
    Submit("/datasets/upload", _CHANGE, pages.upload, body="upload"),
    Submit("/datasets/register", _CHANGE, pages.register),
    Submit("/datasets/connect", _CHANGE, pages.connect),
    Page(_PAGE, _READ, dataset_page.profile_page, live=True, loads=DATASET),
    Page(f"{_PAGE}/risk", _READ, dataset_page.risk_page, live=True, loads=DATASET),
    Page(f"{_PAGE}/attacker", _READ, dataset_page.attacker_page, live=True, loads=DATASET),
    Page(f"{_PAGE}/protect", _READ, dataset_page.protect_page, live=True, loads=DATASET),
    Page(f"{_PAGE}/policy", _READ, dataset_page.policy_page, live=True, loads=DATASET),
    Page(f"{_PAGE}/remove", _CHANGE, pages.remove_page, loads=DATASET),
    Submit(f"{_PAGE}/roles", _CHANGE, pages.roles, loads=DATASET),
    Submit(f"{_PAGE}/policy", _CHANGE, pages.policy, loads=DATASET),
    Submit(f"{_PAGE}/hierarchies", _CHANGE, pages.hierarchy, body="upload", loads=DATASET),
    Submit(f"{_PAGE}/population", _CHANGE, pages.population, loads=DATASET),
    Submit(f"{_PAGE}/profile", _CHANGE, pages.profile, loads=DATASET),
    Submit(f"{_PAGE}/assess", _CHANGE, pages.assess, loads=DATASET),
    Submit(f"{_PAGE}/attack", _CHANGE, pages.attack, loads=DATASET),
    Submit(f"{_PAGE}/protect", _CHANGE, pages.protect, loads=DATASET),
    Submit(f"{_PAGE}/remove", _CHANGE, pages.remove, loads=DATASET),
    ApiGet("/api/v1/datasets", _READ, dataset_list, returns=Datasets),
    ApiPost("/api/v1/datasets", _CHANGE, upload, returns=DatasetModel, status=201, body="upload"),
    ApiPost("/api/v1/datasets/register", _CHANGE, register, returns=DatasetModel, status=201),
    ApiPost("/api/v1/datasets/connect", _CHANGE, connect, returns=DatasetModel, status=201),
    ApiGet(_API, _READ, dataset, returns=DatasetModel, loads=DATASET),
    ApiGet(f"{_API}/policy", _READ, policy, returns=PolicyModel, loads=DATASET),
    ApiPost(f"{_API}/policy", _CHANGE, change_policy, returns=PolicyModel, loads=DATASET),
    ApiPost(f"{_API}/population", _CHANGE, population, returns=DatasetModel, loads=DATASET),
    ApiPost(f"{_API}/profile", _CHANGE, profile, returns=JobModel, status=201, loads=DATASET),
    ApiPost(f"{_API}/assess", _CHANGE, assess, returns=JobModel, status=201, loads=DATASET),
    ApiPost(f"{_API}/anonymise", _CHANGE, anonymise, returns=JobModel, status=201, loads=DATASET),
    ApiPost(f"{_API}/attack", _CHANGE, attack, returns=JobModel, status=201, loads=DATASET),
    ApiPost(f"{_API}/remove", _CHANGE, remove, returns=Removed, loads=DATASET),
)
