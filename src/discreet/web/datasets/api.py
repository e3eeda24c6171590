"""API of data sets: upload, read, change, remove, start jobs."""

from __future__ import annotations

from typing import Annotated

from fastapi import File, Form, UploadFile

from discreet.web.datasets import ingest
from discreet.web.datasets import store as datasets
from discreet.web.datasets.models import (
    DatasetModel,
    Datasets,
    Encoding,
    JobModel,
    NewFile,
    NewPolicy,
    NewPopulation,
    NewTable,
    PolicyModel,
    Removed,
)
from discreet.web.datasets.store import Dataset
from discreet.web.framework.context import Context, Here
from discreet.web.framework.models import Strict
from discreet.web.framework.problems import Problem, not_found
from discreet.web.jobs.api import model as job_model
from discreet.web.jobs.requests import AnonymiseWanted, AssessWanted, AttackWanted, ProfileWanted, ask


def dataset_list(context: Here) -> Datasets:
    """All data sets."""
    with context.site.store.reading() as connection:
        return Datasets(datasets=[_model(one) for one in datasets.everything(connection)])


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
    return _started(context, "profile", wanted)


def assess(context: Here, number: str, wanted: AssessWanted) -> JobModel:
    """Have its risk measured."""
    return _started(context, "assess", wanted)


def anonymise(context: Here, number: str, wanted: AnonymiseWanted) -> JobModel:
    """Have the least lossy table within limits made."""
    return _started(context, "anonymise", wanted)


def attack(context: Here, number: str, wanted: AttackWanted) -> JobModel:
    """Have an adversary plan his attack on it."""
    return _started(context, "attack", wanted)


def _started(context: Context, kind: str, wanted: Strict) -> JobModel:
    return job_model(context, ask(context, context.loaded, kind, wanted))


def _brought(context: Context, number: int) -> DatasetModel:
    with context.site.store.reading() as connection:
        found = datasets.find(connection, number)
    if found is None:
        raise not_found()
    return _model(found)


def _model(one: Dataset) -> DatasetModel:
    return DatasetModel(
        id=one.id,
        name=one.name,
        kind=one.kind,
        place=None if one.kind == "upload" else one.place,
        size=one.size,
        sha256=one.hash,
        columns=list(one.columns),
        owner=one.owner,
        made=one.made,
        policy_version=one.version,
        population=one.population,
        population_size=one.population_size,
    )
