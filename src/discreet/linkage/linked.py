"""The linked, de-identified table: sensitive columns that belong to one person, under a pseudonym that nothing else has.

It is joined on DuckDB through the random pseudonyms of the import. Every person gets a new pseudonym, made with a key
that is forgotten at the end, and rows are written in the order of it: nothing in the file says which record of the
identifying file a row belongs to.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass

import numpy as np

from discreet.linkage.matching.clusters import Clusters
from discreet.linkage.records.folder import ProjectFolder
from discreet.sources.duckdb.engine import connect, literal, quote, translated
from discreet.sources.duckdb.export import copy, file_cell
from discreet.sources.export.targets import FileTarget

PERSON, SEAT = "person", "discreet_seat"


@dataclass(frozen=True)
class Linked:
    """What was written."""

    rows: int
    people: int
    columns: tuple[str, ...]


def write_linked(
    folder: ProjectFolder, clusters: Clusters, target: FileTarget, *, everybody: bool = False, key: bytes | None = None
) -> Linked:
    """Write the linked table to a file.

    From one table: a row per record, the rows of one person under one pseudonym. From two: a row per record of the
    first table and record of the second that are one person, columns side by side; with `everybody` also those who are
    in one table only. `key` is for tests.
    """
    hidden = (key or secrets.token_bytes(32)).hex()
    with connect() as own, translated("the project"):
        own.register(
            "discreet_clusters", {"record": np.arange(len(clusters.of), dtype=np.int64), "cluster": clusters.of}
        )
        own.execute(f"CREATE TEMP TABLE people AS SELECT record, {_hashed(hidden, 'cluster')} AS {PERSON}, "
                    f"{_hashed(hidden, 'record')} AS {SEAT} FROM discreet_clusters")  # fmt: skip
        own.execute(f"CREATE TEMP TABLE linked AS {_joined(folder, everybody)}")
        kinds = {name: str(kind) for name, kind, *_ in own.execute("DESCRIBE linked").fetchall() if name != SEAT}
        spelt = file_cell(target)
        cells = ", ".join(f"{spelt(quote(name), kind)} AS {quote(target.spell(name))}" for name, kind in kinds.items())
        rows = copy(own.execute, f"SELECT {cells} FROM linked ORDER BY {PERSON}, {SEAT}", target)
        people = own.execute(f"SELECT count(DISTINCT {PERSON}) FROM linked").fetchall()[0][0]
    return Linked(rows, int(people), tuple(kinds))


def _hashed(key: str, column: str) -> str:
    return f"sha256({literal(f'{key}:{column}:')} || {column})[:32]"


def _joined(folder: ProjectFolder, everybody: bool) -> str:
    names = _names(folder)
    if not folder.two:
        return _part(folder, 0, names[0])
    first, second = (_part(folder, place, names[place]) for place in (0, 1))
    listed = ", ".join(quote(name) for called in names for name in called.values())
    kind = "FULL" if everybody else "INNER"
    seat = f"coalesce(a.{SEAT}, '') || coalesce(b.{SEAT}, '') AS {SEAT}"
    also = f", {listed}" if listed else ""
    return f"SELECT {PERSON}{also}, {seat} FROM ({first}) a {kind} JOIN ({second}) b USING ({PERSON})"


def _part(folder: ProjectFolder, place: int, names: dict[str, str]) -> str:
    table = folder.tables[place]
    cells = "".join(f", s.{quote(name)} AS {quote(called)}" for name, called in names.items())
    return (
        f"SELECT p.{PERSON}, p.{SEAT}{cells} FROM people p "
        f"JOIN {folder.scan('bridge', table)} b ON b.record = p.record "
        f"JOIN {folder.scan('sensitive', table)} s ON s.pseudonym = b.pseudonym"
    )


def _sensitive(folder: ProjectFolder, place: int) -> list[str]:
    found: list[str] = folder.about["tables"][place]["sensitive"]
    return found


def _names(folder: ProjectFolder) -> list[dict[str, str]]:
    """What the columns of each table are called: a name that is taken twice is followed by the table."""
    listed = [_sensitive(folder, place) for place in range(len(folder.tables))]
    met = [PERSON, SEAT, *(name for names in listed for name in names)]
    return [
        {name: f"{name}_{folder.tables[place]}" if met.count(name) > 1 else name for name in names}
        for place, names in enumerate(listed)
    ]
