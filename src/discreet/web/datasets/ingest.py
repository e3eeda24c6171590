"""Ingestion of data sets: uploads, files and tables in place; changes."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import Connection
from starlette.datastructures import UploadFile

from discreet.policy.draft import confirmed
from discreet.sources import read
from discreet.web.datasets import files, inspection, policies
from discreet.web.datasets import store as datasets
from discreet.web.datasets.files import CHUNK, hash_of, unwritable
from discreet.web.datasets.store import Dataset
from discreet.web.framework.context import Context
from discreet.web.framework.problems import Problem, not_found
from discreet.web.jobs import store as jobs


def bring_upload(
    context: Context, upload: UploadFile | None, *, name: str = "", encoding: str = inspection.DETECT
) -> Dataset:
    """Store an upload, if it is a table."""
    if upload is None or not upload.filename:
        raise Problem(422, "No file was chosen.", remedy=f"Choose a file that ends in {inspection.LISTED}.")
    called = plain_name(upload.filename)
    ending = inspection.ending_of(called)
    path = context.site.places.folder.new("upload", ending)
    try:
        size, digest = keep(context, upload, path)
        found = inspected(context, path, called, ending, encoding)
        about = {"kind": "upload", "place": path.name, "size": size, "hash": digest}
        return _bring(context, name, called, found.columns, encoding=found.encoding, **about)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def bring_file(context: Context, given: str, *, name: str = "", encoding: str = inspection.DETECT) -> Dataset:
    """Register a file where it is."""
    path = inspection.allowed_file(given, context.site.settings.folders)
    ending = inspection.ending_of(path.name)
    found = inspected(context, path, path.name, ending, encoding)
    about = {"kind": "path", "place": str(path), "size": path.stat().st_size, "hash": hash_of(path)}
    return _bring(context, name, plain_name(path.name), found.columns, encoding=found.encoding, **about)


def bring_table(context: Context, given: str, *, table: str, password: str = "", name: str = "") -> Dataset:
    """Register a table of a PostgreSQL server; the password is stored encrypted."""
    settings = context.site.settings
    source = inspection.server_table(given, table, password, settings.servers)
    columns = read(source.url()).columns
    inspection.refuse_columns(columns, table, settings)
    secret = None if source.password is None else files.seal(context.site.ledger.keys, source.password)
    return _bring(context, name, plain_name(table), columns, kind="postgres", place=source.place, secret=secret)


def keep(context: Context, upload: UploadFile, path: Path) -> tuple[int, str]:
    """Copy it into our folder, byte by byte accounted for, and onto the disk."""
    size, digest = 0, hashlib.sha256()
    with context.site.places.folder.create(path) as file:
        try:
            while piece := upload.file.read(CHUNK):
                size += len(piece)
                digest.update(piece)
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        except OSError as error:
            raise unwritable(error) from None
    return size, digest.hexdigest()


def inspected(context: Context, path: Path, name: str, ending: str, encoding: str) -> inspection.Inspected:
    """Its columns, if it is a table within the limits."""
    try:
        return inspection.inspect(path, name=name, ending=ending, settings=context.site.settings, encoding=encoding)
    except OSError as error:
        raise Problem(
            422, f"{name} cannot be read ({type(error).__name__}).", remedy="Is it complete, and may it be read?"
        ) from None


def _bring(context: Context, name: str, called: str, columns: tuple[str, ...], **about: Any) -> Dataset:
    """The data set, its entry, and its first job: all, or nothing."""
    site, number = context.site, datasets.new_number()
    with site.store.reading() as connection:
        chosen = name or datasets.free_name(connection, called)

    def along(connection: Connection) -> Dataset:
        account = context.owner.id
        datasets.add(connection, number, name=chosen, columns=columns, account=account, now=site.stamp(), **about)
        jobs.enqueue(connection, kind="profile", dataset=number, account=account, asked={})
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
