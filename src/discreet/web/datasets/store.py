"""Data sets in the store."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select, update

from discreet.store.tables.linkage import LOAN
from discreet.store.tables.web import ACCOUNT, DATASET, HIERARCHY, JOB, RESULT
from discreet.store.transitions import update_one
from discreet.web.framework.problems import Problem

KINDS = {
    "upload": "a file that was uploaded",
    "path": "a file that stays where it is",
    "postgres": "a table of a PostgreSQL server",
}
LONGEST_NAME = 80


@dataclass(frozen=True)
class Dataset:
    """A table of people, its policy and its population."""

    id: int
    name: str
    kind: str
    place: str
    """The name of the file in our folder, its path, or the address of the table without a password."""
    secret: str | None = field(repr=False)
    size: int | None
    hash: str | None
    columns: tuple[str, ...]
    encoding: str | None
    owner: str
    made: str
    policy: str | None = field(repr=False)
    version: int
    population: int | None
    """The data set of the people among whom an adversary looks,"""
    population_size: int | None
    """or how many they are."""

    @property
    def subject(self) -> str:
        """What the ledger calls it."""
        return f"dataset:{self.id}"


_WHOLE = select(DATASET, ACCOUNT.c.name.label("owner")).join(ACCOUNT, ACCOUNT.c.id == DATASET.c.account)


def dataset_of(row: Row[Any]) -> Dataset:
    """From a row of the table."""
    values = row._mapping
    plain = {name: values[name] for name in Dataset.__dataclass_fields__ if name != "columns"}
    return Dataset(**plain, columns=tuple(json.loads(values["columns"])))


def find(connection: Connection, number: int) -> Dataset | None:
    """By number."""
    row = connection.execute(_WHOLE.where(DATASET.c.id == number)).one_or_none()
    return None if row is None else dataset_of(row)


def everything(connection: Connection) -> list[Dataset]:
    """All data sets, by name."""
    return [dataset_of(row) for row in connection.execute(_WHOLE.order_by(DATASET.c.name))]


def new_number() -> int:
    """A number that no data set had: the ledger still speaks of removed ones."""
    return 10**7 + secrets.randbelow(9 * 10**7)


def add(
    connection: Connection, number: int, *, name: str, columns: tuple[str, ...], account: int, now: str, **more: Any
) -> None:
    """A new data set; its name is its own."""
    if _taken(connection, name):
        raise Problem(409, "There is a data set with this name already.", remedy="Choose another name.")
    values = {"secret": None, "size": None, "hash": None, "encoding": None, "policy": None, **more}
    values |= {"name": name, "columns": json.dumps(columns), "account": account, "made": now, "version": 0}
    connection.execute(insert(DATASET).values(id=number, **values))


def free_name(connection: Connection, name: str) -> str:
    """The name, with a number after it if there is such a data set."""
    numbered = (f"{name[: LONGEST_NAME - 6]} ({number})" for number in range(2, 10_000))
    return next(candidate for candidate in chain([name], numbered) if not _taken(connection, candidate))


def _taken(connection: Connection, name: str) -> bool:
    return connection.execute(select(DATASET.c.id).where(DATASET.c.name == name)).scalar() is not None


def set_policy(connection: Connection, number: int, policy: str, *, version: int) -> None:
    """A new policy in place of this version; an error if it changed meanwhile."""
    unchanged = (DATASET.c.id == number, DATASET.c.version == version)
    if not update_one(connection, DATASET, *unchanged, policy=policy, version=version + 1):
        raise Problem(
            409,
            "The policy was changed by another person meanwhile.",
            remedy="Look at it again, then repeat your change if it is still needed.",
        )


def set_population(connection: Connection, number: int, *, population: int | None, size: int | None) -> None:
    """Among whom an adversary looks."""
    values = {"population": population, "population_size": size}
    connection.execute(update(DATASET).where(DATASET.c.id == number).values(values))


def remove(connection: Connection, number: int) -> list[str]:
    """Remove all but its ledger entries; gives the files that are useless now."""
    jobs = select(JOB.c.id).where(JOB.c.dataset == number)
    files = connection.execute(select(RESULT.c.file).where(RESULT.c.job.in_(jobs), RESULT.c.file.is_not(None)))
    useless = list(files.scalars())
    row = connection.execute(select(DATASET.c.kind, DATASET.c.place).where(DATASET.c.id == number)).one_or_none()
    if row is not None and row.kind == "upload":
        useless.append(row.place)
    connection.execute(update(DATASET).where(DATASET.c.population == number).values(population=None))
    connection.execute(delete(RESULT).where(RESULT.c.job.in_(jobs)))
    for table in (JOB, HIERARCHY, LOAN):
        connection.execute(delete(table).where(table.c.dataset == number))
    connection.execute(delete(DATASET).where(DATASET.c.id == number))
    return useless


def hierarchies(connection: Connection, number: int) -> dict[str, str]:
    """The files of hierarchies that came with it, by name."""
    files = select(HIERARCHY.c.name, HIERARCHY.c.content).where(HIERARCHY.c.dataset == number)
    return {row.name: row.content for row in connection.execute(files.order_by(HIERARCHY.c.name))}


def set_hierarchy(connection: Connection, number: int, name: str, content: str) -> None:
    """Store a file of a hierarchy, in place of one of its name."""
    connection.execute(delete(HIERARCHY).where(HIERARCHY.c.dataset == number, HIERARCHY.c.name == name))
    connection.execute(insert(HIERARCHY).values(dataset=number, name=name, content=content))
