"""Project folder: import of tables, identifying and sensitive values in separate files.

    PROJECT/
      project.json              what was imported: tables, counts, the link file; no value of a person
      identifying/first.parquet, second.parquet     record, and the attributes as cleaned text
      sensitive/first.parquet, second.parquet       pseudonym, and the sensitive columns as they were
      bridge/first.parquet, second.parquet          record, pseudonym, id: the only thing that joins the two
      pairs/pairs.parquet, model.json, zones.json   candidate pairs, the model that scored them, who decides

Records are numbered from 0 in a random order, the first table before the second. There is no second.parquet where one
table is looked through for duplicates.

Pseudonyms and the order of the records come from a key of 256 random bits that is forgotten at the end: from SHA-256
over the key and the number of the row. So neither the order of a file, nor its size, nor a number in it says which
sensitive row belongs to which name. Rows move inside DuckDB.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt

from discreet.errors import ColumnError, EmptySource, IntegrityError, Refused, UsageError
from discreet.linkage.masking.comparison import Kind
from discreet.linkage.spec import LinkageSpec, cleaned, plain
from discreet.sources import Table, read
from discreet.sources.duckdb_scratch import RELATION, bare, connect, literal, quote, translated
from discreet.sources.export.targets import unwritable
from discreet.sources.table_rows import local_desk

TABLES = ("first", "second", *(f"table{number}" for number in range(3, 1000)))
"""What tables are called in the folder: two at most when it is made, the others as they are added."""
PARTS = ("identifying", "sensitive", "bridge")
BROUGHT = "discreet_brought"
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
    def across(self) -> bool:
        """Whether only records of different tables are compared."""
        return len(self.sizes) > 1 and not self.spec.within and not self.about.get("within")

    @property
    def records(self) -> int:
        """Records of all tables."""
        return sum(self.sizes)

    def table_of(self, records: Records) -> Records:
        """The place of the table of each record."""
        return np.searchsorted(np.cumsum(self.sizes), records, side="right")

    @property
    def possible_pairs(self) -> int:
        """How many pairs there are to choose from."""
        if self.across:
            return (self.records**2 - sum(size**2 for size in self.sizes)) // 2
        return self.records * (self.records - 1) // 2

    def part(self, part: str) -> Path:
        """The folder of a part (`identifying`, `sensitive` or `bridge`), inside the project or in a place of its own."""
        return Path(self.about.get("places", {}).get(part, self.path / part))

    def file(self, part: str, table: str) -> Path:
        """The file of a part of a table."""
        return self.part(part) / f"{table}.parquet"

    @property
    def index_folder(self) -> Path:
        """The identifying values laid out for review, beside the part they are from."""
        apart = "identifying" in self.about.get("places", {})
        return self.part("identifying") / "index" if apart else self.path / "index"

    @property
    def pairs_folder(self) -> Path:
        """The folder of candidate pairs and their model."""
        return self.path / "pairs"

    def identifying(self) -> dict[str, list[str | None]]:
        """Identifying values of all records in the order of their numbers."""
        rows = self._cells(self.spec.names)
        return {name: [row[place] for row in rows] for place, name in enumerate(self.spec.names)}

    def encodings(self) -> list[str | None]:
        """The encodings of all records, in which nobody can read a value."""
        if not self.spec.encoded:
            raise UsageError("The records are not encoded.", remedy='Declare the column with kind = "clk".')
        return [text for (text,) in self._cells(self.spec.names)]

    def _cells(self, names: Sequence[str]) -> list[tuple[Any, ...]]:
        scan = " UNION ALL ".join(f"SELECT * FROM {self.scan('identifying', table)}" for table in self.tables)
        columns = ", ".join(quote(name) for name in names)
        with connect() as own, translated("the project"):
            rows: list[tuple[Any, ...]] = own.execute(f"SELECT {columns} FROM ({scan}) ORDER BY record").fetchall()
        return rows

    def ids(self) -> list[str | None]:
        """The ids of all records in the order of their numbers."""
        scan = " UNION ALL ".join(f"SELECT record, id FROM {self.scan('bridge', table)}" for table in self.tables)
        with connect() as own, translated("the project"):
            return [name for (name,) in own.execute(f"SELECT id FROM ({scan}) ORDER BY record").fetchall()]

    def records_of(self, ids: Sequence[str | None], table: str) -> Records:
        """The numbers of the records with these ids in a table; -1 where there is none."""
        with connect() as own, translated("the project"):
            rows = own.execute(f"SELECT id, record FROM {self.scan('bridge', table)} WHERE id IS NOT NULL").fetchall()
        records = dict(rows)
        return np.array([records.get(name, -1) for name in ids], dtype=np.int64)

    def scan(self, part: str, table: str) -> str:
        """The part of a table, to be written after FROM; refused where this account cannot read it."""
        if not os.access(self.file(part, table), os.R_OK):
            raise Refused(
                f"The part '{part}' of the project is not there, or this account may not read it.",
                remedy="Run this step on the machine and as the account that may; docs/how-to/find-candidate-pairs.md says which needs what.",
            )
        return f"read_parquet({literal(str(self.file(part, table)))})"

    def reviewable(self) -> ProjectFolder:
        """The folder, unless its records are encoded."""
        if self.spec.encoded:
            raise UsageError(
                "Encoded records cannot be reviewed: nobody can read them, which is what they are for.",
                remedy="The machine decides all pairs: leave reviewers out, and export with `discreet link export --keys`.",
            )
        return self

    def __repr__(self) -> str:
        return f"ProjectFolder({self.path.name}: {' + '.join(f'{size:,}' for size in self.sizes)} records)"


def start_project(
    folder: str | Path,
    first: Any,
    second: Any = None,
    *,
    spec: LinkageSpec,
    key: bytes | None = None,
    places: Mapping[str, Path] | None = None,
) -> ProjectFolder:
    """Import one table to look for duplicates in, or two to link, into a new folder.

    `first` and `second` are tables, or anything that `discreet.read` takes. `key` is for tests: with the same key the
    same rows get the same numbers. `places` names new folders for parts that are to lie elsewhere, each perhaps with an
    account and a disk of its own.
    """
    sources = [first] if second is None else [first, second]
    tables = [
        source if isinstance(source, Table) else read(source, side.policy)
        for source, side in zip(sources, spec.sides, strict=False)
    ]
    hidden = (key or secrets.token_bytes(32)).hex()
    home = Path(folder)
    if not home.exists() and not home.parent.is_dir():
        raise UsageError(f"There is no folder {home.parent}.", remedy="Create it first, or check the path.")
    with staged(home) as stage:
        for part in PARTS:
            (stage / part).mkdir(mode=0o700)
        described: list[dict[str, Any]] = []
        for place, table in enumerate(tables):
            before = sum(about["records"] for about in described)
            described.append(_import(table, place, spec, stage, name=TABLES[place], key=hidden, before=before))
        about: dict[str, Any] = {"version": VERSION, "link": spec.content, "tables": described}
        if places:
            about["places"] = _moved_apart(stage, places)
        (stage / "project.json").write_text(json.dumps(about, ensure_ascii=False, indent=1), encoding="utf-8")
    return ProjectFolder.open(folder)


def _moved_apart(stage: Path, places: Mapping[str, Path]) -> dict[str, str]:
    """Move parts to their places, which are new; gives the absolute paths."""
    for part, place in places.items():
        if part not in PARTS or place.exists() or not place.parent.is_dir():
            raise UsageError(
                f"Part '{part}' cannot be put into {place}.",
                remedy="Parts are identifying, sensitive and bridge; each place is a new folder inside one that exists.",
            )
    for part, place in places.items():
        for path in (stage / part).iterdir():
            path.chmod(0o600)
        shutil.move(stage / part, place)
        place.chmod(0o700)
    return {part: str(place.resolve()) for part, place in places.items()}


def add_table(folder: ProjectFolder, source: Any, *, like: str = "first", key: bytes | None = None) -> ProjectFolder:
    """Import one more table into a project, with the columns of its first or second one.

    Records of earlier tables keep their numbers. Where one table was looked through for duplicates, new records are
    compared with each other, too.
    """
    if like not in TABLES[:2]:
        raise UsageError("A table is like the first or the second one.", remedy="Say first or second.")
    place, name = TABLES.index(like), TABLES[len(folder.sizes)]
    spec, hidden = folder.spec, (key or secrets.token_bytes(32)).hex()
    table = source if isinstance(source, Table) else read(source, spec.sides[place].policy)
    with tempfile.TemporaryDirectory(prefix=".discreet-", dir=folder.path) as home:
        stage = Path(home)
        for part in PARTS:
            (stage / part).mkdir(mode=0o700)
        described = _import(table, place, spec, stage, name=name, key=hidden, before=folder.records)
        about = {**folder.about, "tables": [*folder.about["tables"], described]}
        if len(folder.sizes) == 1:
            about["within"] = True
        (stage / "project.json").write_text(json.dumps(about, ensure_ascii=False, indent=1), encoding="utf-8")
        for part in PARTS:
            (stage / part / f"{name}.parquet").chmod(0o600)
            shutil.move(stage / part / f"{name}.parquet", folder.file(part, name))
        (stage / "project.json").chmod(0o600)
        (stage / "project.json").replace(folder.path / "project.json")
        # The index of records is laid out again when review goes on.
        shutil.rmtree(folder.index_folder, ignore_errors=True)
    return ProjectFolder.open(folder.path)


@contextmanager
def staged(folder: Path) -> Iterator[Path]:
    """A private folder beside a new one, which takes its place when all went well."""
    if folder.exists():
        raise UsageError(f"{folder} exists already.", remedy="Give the name of a new folder.")
    try:
        stage = Path(tempfile.mkdtemp(prefix=".discreet-", dir=folder.parent))
    except OSError as error:
        raise unwritable(folder, error) from None
    try:
        yield stage
        for path in stage.rglob("*"):
            path.chmod(0o700 if path.is_dir() else 0o600)
        stage.rename(folder)
    except OSError as error:
        raise unwritable(folder, error) from None
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _import(
    table: Table, place: int, spec: LinkageSpec, stage: Path, *, name: str, key: str, before: int
) -> dict[str, Any]:
    """Write the three parts of one table; gives its counts and the names of its columns."""
    side = spec.sides[place]
    columns = [attribute.columns[place] for attribute in spec.attributes]
    wanted = [*columns, *side.sensitive, *([side.id] if side.id else [])]
    dates = [j for j, attribute in enumerate(spec.attributes) if attribute.kind == "date"]
    with local_desk(table, wanted) as desk, translated(desk.name):
        try:
            desk.keep(BROUGHT, _cleaned_rows(desk.types, place, spec, key))
            counts = ["count(*)", "count(id)", "count(DISTINCT id)"]
            counts += [f"count(*) - count(a{j})" for j in range(len(columns))]
            counts += [f"count(*) FILTER (h{j} AND a{j} IS NULL)" for j in dates]
            rows, named, distinct, *more = map(
                int, desk.run(f"SELECT {', '.join(counts)} FROM {BROUGHT}").fetchall()[0]
            )
            if not rows:
                raise EmptySource(f"There is nobody in {table.name}.", remedy="Give a table with at least one row.")
            if side.id and named < rows:
                raise ColumnError(
                    f"Column '{side.id}' of {table.name} names a record, but {rows - named:,} rows have none.",
                    remedy="Fill it, or remove `id` from the link file.",
                )
            if side.id and distinct < rows:
                raise ColumnError(
                    f"Column '{side.id}' of {table.name} names a record, but {rows - distinct:,} rows repeat a name.",
                    remedy="Choose a column that is different in every row, or remove `id` from the link file.",
                )
            if spec.encoded:
                check_encodings(desk, table.name)
            # Each part in an order of its own.
            seats = f"SELECT *, {before} + row_number() OVER (ORDER BY seat) - 1 AS record FROM {BROUGHT}"
            names = ", ".join(f"a{j} AS {quote(name)}" for j, name in enumerate(spec.names))
            hidden = "".join(f", s{j} AS {quote(name)}" for j, name in enumerate(side.sensitive))
            selects = (
                f"SELECT record, {names} FROM ({seats}) ORDER BY record",
                f"SELECT pseudonym{hidden} FROM {BROUGHT} ORDER BY pseudonym",
                f"SELECT record, pseudonym, id FROM ({seats}) ORDER BY record",
            )
            for part, select in zip(PARTS, selects, strict=True):
                path = stage / part / f"{name}.parquet"
                desk.run(f"COPY ({select}) TO {literal(str(path))} (FORMAT parquet, COMPRESSION zstd)")
        finally:
            with suppress(duckdb.Error):
                desk.run(f"DROP TABLE IF EXISTS {BROUGHT}")
    missing, unread = more[: len(columns)], more[len(columns) :]
    return {
        "name": table.name,
        "records": rows,
        "missing": dict(zip(spec.names, missing, strict=True)),
        "unread_dates": dict(zip((spec.names[j] for j in dates), unread, strict=True)),
        "sensitive": list(side.sensitive),
        "id": side.id,
        "left_out": [name for name in table.columns if name not in wanted],
    }


def check_encodings(desk: Any, name: str) -> None:
    """Stop where a cell is no encoding, or encodings differ in length; none is shown."""
    shaped = "regexp_full_match(a0, '[A-Za-z0-9+/]+={0,2}') AND length(a0) % 4 = 0"
    wrong, lengths = desk.run(
        f"SELECT count(*) FILTER (NOT ({shaped})), count(DISTINCT length(rtrim(a0, '='))) FROM {BROUGHT}"
    ).fetchall()[0]
    if wrong or lengths != 1:
        problem = f"{wrong:,} encodings are not in base64." if wrong else "Encodings are not all of one length."
        raise ColumnError(f"{name}: {problem}", remedy="Make them with: discreet link encode TABLE")


@dataclass(frozen=True)
class CleanedRecords:
    """The records of a table as they would be imported, in a random order."""

    ids: list[str]
    values: list[tuple[str | None, ...]]
    sensitive: list[tuple[Any, ...]]


def cleaned_records(
    source: Any, spec: LinkageSpec, *, like: str = "first", folded: Callable[[str, Kind], str] = lambda cell, _: cell
) -> CleanedRecords:
    """Read a table by a link file, without importing it.

    `folded` makes of the expression of a cleaned value that of what is wanted.
    """
    place = TABLES.index(like)
    side = spec.sides[place]
    table = source if isinstance(source, Table) else read(source, side.policy)
    if side.id is None:
        raise ColumnError(
            "The link file names no column for ids, by which matches could be handed back.",
            remedy='Add `id = "COLUMN"`, a number that says nothing about a person.',
        )
    width = len(spec.attributes)
    wanted = [*(attribute.columns[place] for attribute in spec.attributes), *side.sensitive, side.id]
    with local_desk(table, wanted) as desk, translated(desk.name):
        values = [folded(f"a{j}", attribute.kind) for j, attribute in enumerate(spec.attributes)]
        cells = [*values, *(f"s{j}" for j in range(len(side.sensitive))), "id"]
        cleaned_rows = _cleaned_rows(desk.types, place, spec, secrets.token_hex(32))
        rows = desk.run(f"SELECT {', '.join(cells)} FROM ({cleaned_rows}) ORDER BY seat").fetchall()
    ids = [row[-1] for row in rows]
    if None in ids or len(set(ids)) < len(ids):
        raise ColumnError(
            f"Column '{side.id}' of {table.name} does not name every record by a number of its own.",
            remedy="Choose a column that is different in every row, and never empty.",
        )
    return CleanedRecords(ids, [row[:width] for row in rows], [row[width:-1] for row in rows])


def _cleaned_rows(types: Mapping[str, str], place: int, spec: LinkageSpec, key: str) -> str:
    """Cleaned attributes a0, a1, ...; sensitive columns s0, s1, ...; the id; and two unguessable texts."""
    side, columns = spec.sides[place], [attribute.columns[place] for attribute in spec.attributes]
    cells = {
        f"a{j}": cleaned(quote(columns[j]), bare(types[columns[j]]), attribute, spec, place)
        for j, attribute in enumerate(spec.attributes)
    }
    cells |= {f"h{j}": f"{quote(column)} IS NOT NULL" for j, column in enumerate(columns)}
    cells |= {f"s{j}": quote(name) for j, name in enumerate(side.sensitive)}
    cells["id"] = (
        f"CAST({plain(quote(side.id), bare(types[side.id]))} AS VARCHAR)" if side.id else "CAST(NULL AS VARCHAR)"
    )
    keyed = ", ".join(f"sha256({literal(f'{key}:{use}:{place}:')} || n)[:32] AS {use}" for use in ("pseudonym", "seat"))
    named = ", ".join(f"{cell} AS {name}" for name, cell in cells.items())
    return f"SELECT {', '.join(cells)}, {keyed} FROM (SELECT {named}, row_number() OVER () AS n FROM {RELATION})"
