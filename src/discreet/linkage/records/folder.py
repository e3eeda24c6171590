"""Project folder: identifying and sensitive values in separate files.

    PROJECT/
      project.json              what was imported: tables, counts, the link file; no value of a person
      identifying/first.parquet, second.parquet     record, and the attributes as cleaned text
      sensitive/first.parquet, second.parquet       pseudonym, and the sensitive columns as they were
      bridge/first.parquet, second.parquet          record, pseudonym, id: the only thing that joins the two
      pairs/pairs.parquet, model.json, zones.json   candidate pairs, the model that scored them, who decides

Records are numbered from 0 in a random order, the first table before the second. There is no second.parquet where one
table is looked through for duplicates.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import IntegrityError, UsageError
from discreet.linkage.records.spec import LinkageSpec
from discreet.sources.desk import connect, literal, quote, translated

TABLES = ("first", "second")
VERSION = 1
Records = npt.NDArray[np.int64]


@dataclass(frozen=True)
class ProjectFolder:
    """The data of a linkage project on disk, without what people do with them."""

    path: Path

    @classmethod
    def open(cls, path: str | Path) -> ProjectFolder:
        """An existing project."""
        folder = cls(Path(path))
        if not (folder.path / "project.json").is_file():
            raise UsageError(
                f"{folder.path} is no linkage project.",
                remedy="Start one with: discreet link init DATA --spec link.toml --out PROJECT",
            )
        if folder.about.get("version") != VERSION:
            raise UsageError(
                f"{folder.path} was written by another version of Discreet.", remedy="Use the version that wrote it."
            )
        return folder

    @cached_property
    def about(self) -> dict[str, Any]:
        """What was imported, as project.json has it."""
        try:
            found: dict[str, Any] = json.loads((self.path / "project.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise IntegrityError(
                f"project.json of {self.path} cannot be read.", remedy="Restore the folder, or import again."
            ) from None
        return found

    @cached_property
    def spec(self) -> LinkageSpec:
        """What is linked by what."""
        return LinkageSpec.from_dict(self.about["link"])

    @property
    def sizes(self) -> tuple[int, ...]:
        """Records of each table."""
        return tuple(table["records"] for table in self.about["tables"])

    @property
    def tables(self) -> tuple[str, ...]:
        """`first`, and `second` where two tables are linked."""
        return TABLES[: len(self.sizes)]

    @property
    def two(self) -> bool:
        """Whether two tables are linked, rather than one looked through for duplicates."""
        return len(self.sizes) == 2

    @property
    def records(self) -> int:
        """Records of all tables."""
        return sum(self.sizes)

    @property
    def possible_pairs(self) -> int:
        """How many pairs there are to choose from."""
        if self.two:
            return self.sizes[0] * self.sizes[1]
        return self.records * (self.records - 1) // 2

    def file(self, part: str, table: str) -> Path:
        """Where a part (`identifying`, `sensitive` or `bridge`) of a table lies."""
        return self.path / part / f"{table}.parquet"

    @property
    def pairs_folder(self) -> Path:
        """Where candidate pairs and their model lie."""
        return self.path / "pairs"

    def identifying(self) -> dict[str, list[str | None]]:
        """The attributes of all records in the order of their numbers, for the index and for those who may see them."""
        scan = " UNION ALL ".join(f"SELECT * FROM {self.scan('identifying', table)}" for table in self.tables)
        names = self.spec.names
        with connect() as own, translated("the project"):
            columns = ", ".join(quote(name) for name in names)
            rows = own.execute(f"SELECT {columns} FROM ({scan}) ORDER BY record").fetchall()
        return {name: [row[place] for row in rows] for place, name in enumerate(names)}

    def records_of(self, ids: Sequence[str | None], table: str) -> Records:
        """The numbers of the records with these ids in a table; -1 where there is none."""
        with connect() as own, translated("the project"):
            found = own.execute(f"SELECT id, record FROM {self.scan('bridge', table)} WHERE id IS NOT NULL").fetchall()
        known = dict(found)
        return np.array([known.get(one, -1) for one in ids], dtype=np.int64)

    def scan(self, part: str, table: str) -> str:
        """The part of a table as it stands after FROM."""
        return f"read_parquet({literal(str(self.file(part, table)))})"

    def __repr__(self) -> str:
        return f"ProjectFolder({self.path.name}: {' + '.join(f'{size:,}' for size in self.sizes)} records)"
