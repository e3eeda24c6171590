"""Reads back what was exported, by other means than ours, and tells what it should have been."""

from __future__ import annotations

import csv
import gzip
import io
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus

import numpy as np
import psycopg
import pyarrow.parquet
import pytest

import discreet
from discreet.kernel import Recoding
from discreet.kernel.hierarchy import text

Rows = Counter[tuple[str | None, ...]]
Output = tuple[list[str], Rows]
SCHEMA = "Out 1"


def recoding_of(table: discreet.Table, levels: dict[str, int], *, k: int) -> Recoding:
    """One level per column, and only classes of at least k people."""
    classes = table.classes()
    everybody = Recoding.of_levels(classes, levels, kept=np.ones(len(classes), dtype=bool))
    published = list(zip(*(codes.tolist() for codes in everybody.codes), strict=True))
    people: Counter[tuple[int, ...]] = Counter()
    for codes, size in zip(published, classes.sizes.tolist(), strict=True):
        people[codes] += size
    return Recoding.of_levels(classes, levels, kept=np.array([people[codes] >= k for codes in published]))


def canonical(cell: Any) -> str | None:
    """Numbers by their value, empty cells as missing: what no CSV can tell apart."""
    label = text(cell)
    try:
        return text(Decimal(label)) if label else None
    except InvalidOperation:
        return label


def counted(rows: Iterable[Sequence[Any]]) -> Rows:
    return Counter(tuple(map(canonical, row)) for row in rows)


class FilePlace:
    """A file, or the folder of parts that Spark makes."""

    def __init__(self, folder: Path, suffix: str, mark: str = ";") -> None:
        self.folder, self.suffix, self.mark = folder / "out", suffix, mark
        self.folder.mkdir()
        self.target = str(self.folder / f"published.{suffix}")

    def read(self) -> Output:
        if self.suffix == "parquet":
            table = pyarrow.parquet.read_table(self.target)
            return table.column_names, counted(zip(*(column.to_pylist() for column in table.columns), strict=True))
        tables = [self._csv(path) for path in self._parts()]
        assert all(table[0] == tables[0][0] for table in tables)
        return tables[0][0], counted(row for table in tables for row in table[1:])

    def left(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir())

    def _parts(self) -> list[Path]:
        whole = Path(self.target)
        return sorted(whole.glob(f"part-*.{self.suffix}")) if whole.is_dir() else [whole]

    def _csv(self, path: Path) -> list[list[str]]:
        raw = gzip.decompress(path.read_bytes()) if self.suffix == "csv.gz" else path.read_bytes()
        return list(csv.reader(io.StringIO(raw.decode(), newline=""), delimiter=self.mark, strict=True))


class TablePlace:
    """A table of a PostgreSQL server."""

    def __init__(self, url: str) -> None:
        self.url, self.suffix = url, "postgres"
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f'DROP SCHEMA IF EXISTS "{SCHEMA}" CASCADE'.encode())
            connection.execute(f'CREATE SCHEMA "{SCHEMA}"'.encode())
        self.target = f"{url}{'&' if '?' in url else '?'}table={quote_plus(SCHEMA)}.published"

    def read(self) -> Output:
        with psycopg.connect(self.url) as connection:
            cursor = connection.execute(f'SELECT * FROM "{SCHEMA}".published'.encode())
            return [column.name for column in cursor.description or ()], counted(cursor.fetchall())

    def left(self) -> list[str]:
        with psycopg.connect(self.url) as connection:
            names = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", [SCHEMA])
            return sorted(name for (name,) in names)


Place = FilePlace | TablePlace
PLACES: dict[str, Callable[[pytest.FixtureRequest, Path], Place]] = {
    "csv": lambda _, folder: FilePlace(folder, "csv"),
    "csv.gz": lambda _, folder: FilePlace(folder, "csv.gz"),
    "parquet": lambda _, folder: FilePlace(folder, "parquet"),
    "postgres": lambda request, _: TablePlace(request.getfixturevalue("postgres_url")),
}
