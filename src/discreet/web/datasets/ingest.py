"""Ingestion of data sets: uploads, files and tables in place; changes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import Connection
from starlette.datastructures import UploadFile

from discreet.policy.draft import confirmed, value
from discreet.sources import read
from discreet.web.datasets import files, inspection, policies
from discreet.web.datasets import store as datasets
from discreet.web.datasets.files import CHUNK, hash_of, unwritable
from discreet.web.datasets.store import Dataset
from discreet.web.framework.context import Context
from discreet.web.framework.problems import Problem, not_found
from discreet.web.jobs import store as jobs


def bring_upload(
    context: Context,
    upload: UploadFile | None,
    *,
    name: str = "",
    encoding: str = inspection.DETECT,
    sheet: str = "",
    waits: bool = False,
) -> Dataset:
    """Store an upload, if it is a table; a workbook waits for the choice of a sheet if the caller can ask."""
    if upload is None or not upload.filename:
        raise Problem(422, "No file was chosen.", remedy=f"Choose a file that ends in {inspection.LISTED}.")
    called = plain_name(upload.filename)
    path = context.site.places.folder.new("upload", inspection.ending_of(called))
    try:
        keep(context, upload, path)
        return _bring_kept(context, path, called, name=name, encoding=encoding, sheet=sheet)
    except inspection.SheetChoice as choice:
        if not waits:
            path.unlink(missing_ok=True)
            raise
        # What nothing in the store speaks of is swept out after an hour.
        choice.kept, choice.called = path.name, called
        raise
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def bring_sheet(context: Context, kept: str, *, called: str, sheet: str, name: str = "") -> Dataset:
    """Store an upload that waited for the choice of its sheet."""
    path = context.site.places.folder.find(kept) if kept.startswith("upload-") else None
    with context.site.store.reading() as connection:
        taken = any(dataset.place == kept for dataset in datasets.everything(connection))
    if path is None or taken:
        raise Problem(422, "The workbook is not there any more.", remedy="Choose the file again, and send it.")
    called = plain_name(called) or path.name
    try:
        return _bring_kept(context, path, called, name=name, encoding=inspection.DETECT, sheet=sheet)
    except inspection.SheetChoice as choice:
        choice.kept, choice.called = kept, called
        raise


def _bring_kept(context: Context, path: Path, called: str, *, name: str, encoding: str, sheet: str) -> Dataset:
    """The data set of an upload that is on the disk."""
    found = inspected(context, path, called, inspection.ending_of(path.name), encoding, sheet)
    about = {"kind": "upload", "place": path.name, "size": path.stat().st_size, "hash": hash_of(path)}
    return _bring(context, name, called, found.columns, sheet, encoding=found.encoding, **about)


def bring_file(
    context: Context, given: str, *, name: str = "", encoding: str = inspection.DETECT, sheet: str = ""
) -> Dataset:
    """Register a file where it is."""
    path = inspection.allowed_file(given, context.site.settings.folders)
    found = inspected(context, path, path.name, inspection.ending_of(path.name), encoding, sheet)
    about = {"kind": "path", "place": str(path), "size": path.stat().st_size, "hash": hash_of(path)}
    return _bring(context, name, plain_name(path.name), found.columns, sheet, encoding=found.encoding, **about)


def bring_table(context: Context, given: str, *, table: str, password: str = "", name: str = "") -> Dataset:
    """Register a table of a PostgreSQL server; the password is stored encrypted."""
    settings = context.site.settings
    source = inspection.server_table(given, table, password, settings.servers)
    columns = read(source.url()).columns
    inspection.refuse_columns(columns, table, settings)
    secret = None if source.password is None else files.seal(context.site.ledger.keys, source.password)
    return _bring(context, name, plain_name(table), columns, "", kind="postgres", place=source.place, secret=secret)


def keep(context: Context, upload: UploadFile, path: Path) -> None:
    """Copy it into our folder, and onto the disk."""
    with context.site.places.folder.create(path) as file:
        try:
            shutil.copyfileobj(upload.file, file, CHUNK)
            file.flush()
            os.fsync(file.fileno())
        except OSError as error:
            raise unwritable(error) from None


def inspected(
    context: Context, path: Path, name: str, ending: str, encoding: str, sheet: str = ""
) -> inspection.Inspected:
    """Its columns, if it is a table within the limits."""
    settings = context.site.settings
    try:
        return inspection.inspect(path, name=name, ending=ending, settings=settings, encoding=encoding, sheet=sheet)
    except OSError as error:
        raise Problem(
            422, f"{name} cannot be read ({type(error).__name__}).", remedy="Is it complete, and may it be read?"
        ) from None


def _bring(context: Context, name: str, called: str, columns: tuple[str, ...], sheet: str, **about: Any) -> Dataset:
    """The data set, its entry, and its first job: all, or nothing."""
    site, number = context.site, datasets.new_number()
    # A policy without columns yet, which the draft takes over: everything that reads the file reads this sheet.
    policy = f"[data]\nsheet = {value(sheet)}\n" if sheet else None
    about["policy"] = policy
    with site.store.reading() as connection:
        chosen = name or datasets.free_name(connection, called)

    def along(connection: Connection) -> Dataset:
        account = context.owner.id
        datasets.add(connection, number, name=chosen, columns=columns, account=account, now=site.stamp(), **about)
        jobs.enqueue(
            connection, kind="profile", dataset=number, account=account, asked={"policy": policy} if policy else {}
        )
        return _stored(connection, number)

    facts = {"kind": about["kind"], "bytes": about.get("size"), "sha256": about.get("hash"), "columns": len(columns)}
    added: Dataset = context.act(
        "web.dataset", f"dataset:{number}", along=along, act="registered", name=chosen, **facts
    )
    site.wake_supervisor()
    return added


def plain_name(given: str) -> str:
    """The last part of a path, without what cannot be printed.

    >>> plain_name("C:\\\\data\\\\people.csv"), plain_name("../../etc/passwd.csv")
    ('people.csv', 'passwd.csv')
    """
    last = given.replace("\\", "/").rpartition("/")[2]
    clean = "".join(letter for letter in last if letter.isprintable()).strip()
    most = datasets.LONGEST_NAME
    return clean if len(clean) <= most else clean[: most - 20] + clean[-20:]


def chosen_name(given: str) -> str:
    """A name that was typed."""
    if len(given) > datasets.LONGEST_NAME or not given.isprintable():
        words = f"A name is one line of at most {datasets.LONGEST_NAME} characters."
        raise Problem(422, words, remedy="Choose a shorter one, or leave it out.")
    return given.strip()


# Changes of a data set, each with its entry in the ledger. Pages and the API share this.
LONGEST_POLICY = 60_000


def change_policy(context: Context, dataset: Dataset, text: str, *, version: int) -> Dataset:
    """Put a policy in force in place of this version."""
    if len(text) > LONGEST_POLICY:
        raise Problem(
            413, f"A policy has at most {LONGEST_POLICY:,} characters here.", remedy="Leave out what it can do without."
        )
    policy = policies.checked(context.site.store, dataset, text)

    def along(connection: Connection) -> Dataset:
        datasets.set_policy(connection, dataset.id, text, version=version)
        return _stored(connection, dataset.id)

    facts: dict[str, Any] = {"version": version + 1, "quasi": len(policy.quasi), "sensitive": len(policy.sensitive)}
    changed: Dataset = context.act(
        "web.policy", dataset.subject, along=along, act="changed", digest=policy.digest, **facts
    )
    return changed


def confirm_roles(context: Context, dataset: Dataset, columns: Sequence[str] | None, *, version: int) -> Dataset:
    """Confirm the guessed roles of some columns, or of all; nothing else in the policy changes."""
    guesses = policies.guesses(dataset.policy)
    names = list(guesses) if columns is None else list(columns)
    if unknown := [name for name in names if name not in guesses]:
        raise Problem(
            422, f"The role of '{unknown[0]}' is no guess.", remedy=f"Not confirmed: {', '.join(guesses) or 'none'}."
        )
    return change_policy(context, dataset, confirmed(dataset.policy or "", names), version=version)


def set_population(context: Context, dataset: Dataset, *, population: int | None, size: int | None) -> Dataset:
    """Among whom an adversary looks: another data set, a number of people, or unknown."""
    with context.site.store.reading() as connection:
        other = None if population is None else datasets.find(connection, population)
    if population is not None and (other is None or population == dataset.id):
        raise Problem(422, "The population is another data set.", remedy="Choose one of the list.")

    def along(connection: Connection) -> Dataset:
        datasets.set_population(connection, dataset.id, population=population, size=size)
        return _stored(connection, dataset.id)

    facts: dict[str, Any] = {"act": "population", "of": population, "people": size}
    changed: Dataset = context.act("web.dataset", dataset.subject, along=along, **facts)
    return changed


def remove_dataset(context: Context, dataset: Dataset) -> None:
    """Remove it with its jobs, results and files; the ledger stays."""
    useless = context.act(
        "web.dataset",
        dataset.subject,
        along=lambda connection: datasets.remove(connection, dataset.id),
        act="removed",
        name=dataset.name,
    )
    context.site.places.folder.forget(useless)
    context.site.wake_supervisor()


def _stored(connection: Connection, number: int) -> Dataset:
    """The data set as the transaction leaves it."""
    dataset = datasets.find(connection, number)
    if dataset is None:
        raise not_found()
    return dataset
