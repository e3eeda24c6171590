"""A made-up town whose people a release is made of: many classes of doubtful size, and columns of every kind."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from discreet.kernel import Classes
from discreet.ledger.keys import FORMAT
from discreet.policy import Policy
from discreet.releases.preconditions import Gates
from discreet.sources import Table, read

GATES = Gates("a made-up town", "made up", counts_only=True, sign_off="TEST-1")
K = 3
SETTINGS: dict[str, Any] = {"k": K, "suppression": 0.9, "levels": {"zip": 0, "year": 0, "sex": 0}, "gates": GATES}

POLICY = Policy.from_dict(
    {
        "columns": {
            "name": {"role": "identifier"},
            "zip": {"role": "quasi", "hierarchy": {"mask": 3}},
            "year": {"role": "quasi", "hierarchy": {"widths": [2, 4]}},
            "sex": {"role": "quasi", "hierarchy": {"any": "*"}},
            "illness": {"role": "sensitive"},
            "amount": {"role": "other"},
            "day": {"role": "other"},
            "note": {"role": "other"},
        }
    }
)
ILLNESSES = ("flu", "asthma", "=SUM(1)", None, "-5", "broken, arm")


@dataclass(frozen=True)
class World:
    """The town, and the table of those who are in the data."""

    table: Table
    population: Classes
    path: Path

    def again(self) -> Table:
        """The same table, read anew."""
        return read(self.path, policy=POLICY)


def known_keys(path: Path) -> Path:
    """The same secrets in every run, so that what luck decides is decided once and for all."""
    path.write_text(json.dumps({"format": FORMAT, "signing": "17" * 32, "values": "2a" * 32}), encoding="ascii")
    path.chmod(0o600)
    return path


def rows_of(rng: np.random.Generator, zips: int, years: int, people: int) -> tuple[Classes, list[tuple[Any, ...]]]:
    """Everybody counted, and a third of them as rows."""
    cells = [(f"{area:03}", str(1950 + year), sex) for area in range(zips) for year in range(years) for sex in "FM"]
    sizes = rng.poisson(rng.gamma(4.0, people / 4.0, len(cells))) + 1
    everybody = Classes.of(
        ["zip", "year", "sex"], cells, sizes.tolist(), rules={n: POLICY.rule(n) for n in POLICY.quasi}
    )
    rows = []
    for cell, size in zip(cells, sizes.tolist(), strict=True):
        for _ in range(int(rng.binomial(size, 0.3))):
            illness = ILLNESSES[int(rng.integers(len(ILLNESSES)))]
            amount = None if rng.random() < 0.1 else round(float(rng.normal(100, 30)), 2)
            day = f"2020-{int(rng.integers(1, 13)):02}-{int(rng.integers(1, 29)):02}"
            rows.append(
                (
                    f"person {len(rows)}",
                    cell[0],
                    int(cell[1]),
                    cell[2],
                    illness,
                    amount,
                    day,
                    f"note {int(rng.integers(9))}",
                )
            )
    return everybody, rows


def town(
    folder: Path, *, seed: int = 1, zips: int = 28, years: int = 14, people: int = 12, name: str = "town.parquet"
) -> World:
    """A town on the disk; the ending of the name says how its table is written."""
    everybody, rows = rows_of(np.random.default_rng(seed), zips, years, people)
    path = folder / name
    write_rows(rows, path)
    return World(read(path, policy=POLICY), everybody, path)


def roomy(seed: int = 1) -> tuple[Classes, list[tuple[Any, ...]]]:
    """Everybody counted, and rows of people with at least 18 look-alikes: there is room for decoys riskier than all."""
    everybody, rows = rows_of(np.random.default_rng(seed), 28, 14, 20)
    many = {label for label, size in zip(everybody.tuples(), everybody.sizes.tolist(), strict=True) if size >= 18}
    return everybody, [row for row in rows if (row[1], str(row[2]), row[3]) in many]


def write_rows(rows: Sequence[tuple[Any, ...]], path: Path) -> None:
    """Rows as a Parquet or CSV file with types of their own."""
    names = ("name", "zip", "year", "sex", "illness", "amount", "day", "note")
    kinds = ("VARCHAR", "VARCHAR", "SMALLINT", "VARCHAR", "VARCHAR", "DOUBLE", "DATE", "VARCHAR")
    columns = {
        name: np.array([None if row[place] is None else str(row[place]) for row in rows], dtype=object)
        for place, name in enumerate(names)
    }
    with duckdb.connect() as connection:
        connection.register("given", columns)
        cells = ", ".join(f"CAST({name} AS {kind}) AS {name}" for name, kind in zip(names, kinds, strict=True))
        kind = "parquet" if path.suffix == ".parquet" else "csv, HEADER true"
        connection.execute(f"COPY (SELECT {cells} FROM given) TO '{path}' (FORMAT {kind})")


def rows_in(path: Path) -> list[tuple[Any, ...]]:
    """The rows of a copy as they lie in the file, without their numbers."""
    with duckdb.connect() as connection:
        source = f"read_csv('{path}', all_varchar = true)" if path.suffix == ".csv" else f"'{path}'"
        found = connection.execute(f"SELECT * FROM {source}").fetchall()
    return [row[1:] for row in found]
