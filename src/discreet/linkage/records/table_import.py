"""Import of tables: identifying and sensitive values part, joined by a random pseudonym.

Pseudonyms and the order of the records come from a key of 256 random bits that is forgotten at the end: from SHA-256
over the key and the number of the row. So neither the order of a file, nor its size, nor a number in it says which
sensitive row belongs to which name. Rows move inside DuckDB.
"""

from __future__ import annotations

import json
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from discreet.errors import ColumnError, EmptySource, UsageError
from discreet.linkage.records.folder import TABLES, VERSION, ProjectFolder
from discreet.linkage.records.spec import Attribute, Case, LinkageSpec
from discreet.sources import Table, read
from discreet.sources.desk import RELATION, DuckDBDesk, bare, literal, quote, translated
from discreet.sources.export.targets import unwritable
from discreet.sources.table import local_desk

PARTS = ("identifying", "sensitive", "bridge")
BROUGHT = "discreet_brought"


def start_project(
    folder: str | Path, first: Any, second: Any = None, *, spec: LinkageSpec, key: bytes | None = None
) -> ProjectFolder:
    """Import one table to look for duplicates in, or two to link, into a new folder.

    `first` and `second` are tables, or anything that `discreet.read` takes. `key` is for tests: with the same key the
    same rows get the same numbers.
    """
    sources = [first] if second is None else [first, second]
    tables = [
        source if isinstance(source, Table) else read(source, side.policy)
        for source, side in zip(sources, spec.sides, strict=False)
    ]
    hidden = (key or secrets.token_bytes(32)).hex()
    with _staged(Path(folder)) as stage:
        described: list[dict[str, Any]] = []
        for place, table in enumerate(tables):
            before = sum(one["records"] for one in described)
            described.append(_Import(table, place, spec, stage, hidden).run(before))
        about = {"version": VERSION, "link": spec.content, "tables": described}
        (stage / "project.json").write_text(json.dumps(about, ensure_ascii=False, indent=1), encoding="utf-8")
    return ProjectFolder.open(folder)


@contextmanager
def _staged(folder: Path) -> Iterator[Path]:
    """A folder beside the one that is wanted, which takes its place when all went well. Only its owner can open it."""
    if folder.exists():
        raise UsageError(f"{folder} exists already.", remedy="Give the name of a new folder.")
    if not folder.parent.is_dir():
        raise UsageError(f"There is no folder {folder.parent}.", remedy="Create it first, or check the path.")
    try:
        stage = Path(tempfile.mkdtemp(prefix=".discreet-", dir=folder.parent))
    except OSError as error:
        raise unwritable(folder, error) from None
    try:
        for part in PARTS:
            (stage / part).mkdir(mode=0o700)
        yield stage
        stage.rename(folder)
    except OSError as error:
        raise unwritable(folder, error) from None
    finally:
        shutil.rmtree(stage, ignore_errors=True)


@dataclass(frozen=True)
class _Import:
    """One table on its way."""

    table: Table
    place: int
    spec: LinkageSpec
    stage: Path
    key: str

    def run(self, before: int) -> dict[str, Any]:
        with local_desk(self.table, self._wanted()) as desk, translated(desk.name), _swept(desk):
            desk.keep(BROUGHT, self._cleaned(desk))
            self._check(desk)
            for part, select in zip(PARTS, self._parts(before), strict=True):
                path = self.stage / part / f"{TABLES[self.place]}.parquet"
                desk.run(f"COPY ({select}) TO {literal(str(path))} (FORMAT parquet, COMPRESSION zstd)")
            return self._described(desk)

    @property
    def _side(self) -> Any:
        return self.spec.sides[self.place]

    @property
    def _columns(self) -> dict[str, str]:
        return {attribute.name: attribute.columns[self.place] for attribute in self.spec.attributes}

    def _wanted(self) -> list[str]:
        return [*self._columns.values(), *self._side.sensitive, *([self._side.id] if self._side.id else [])]

    def _cleaned(self, desk: DuckDBDesk) -> str:
        """Cleaned attributes a0, a1, ...; sensitive columns s0, s1, ...; the id; and two unguessable texts."""
        types = {name: bare(kind) for name, kind in desk.types.items()}
        cells = [
            f"{cleaned(quote(column), types[column], attribute, self.spec)} AS a{place}"
            for place, (attribute, column) in enumerate(zip(self.spec.attributes, self._columns.values(), strict=True))
        ]
        raw = [f"{quote(column)} IS NOT NULL AS h{place}" for place, column in enumerate(self._columns.values())]
        cells += raw + [f"{quote(name)} AS s{place}" for place, name in enumerate(self._side.sensitive)]
        cells.append(f"{plain(quote(self._side.id), types[self._side.id])} AS id" if self._side.id else "NULL AS id")
        kept = [*(f"a{place}" for place in range(len(self._columns))), *(f"h{place}" for place in range(len(raw)))]
        kept += [*(f"s{place}" for place in range(len(self._side.sensitive))), "CAST(id AS VARCHAR) AS id"]
        keyed = ", ".join(
            f"sha256({literal(f'{self.key}:{use}:{self.place}:')} || n)[:32] AS {use}" for use in ("pseudonym", "seat")
        )
        numbered = f"SELECT {', '.join(cells)}, row_number() OVER () AS n FROM {RELATION}"
        return f"SELECT {', '.join(kept)}, {keyed} FROM ({numbered})"

    def _parts(self, before: int) -> tuple[str, str, str]:
        """Each part in an order of its own."""
        seats = f"SELECT *, {before} + row_number() OVER (ORDER BY seat) - 1 AS record FROM {BROUGHT}"
        names = ", ".join(f"a{place} AS {quote(name)}" for place, name in enumerate(self._columns))
        hidden = "".join(f", s{place} AS {quote(name)}" for place, name in enumerate(self._side.sensitive))
        return (
            f"SELECT record, {names} FROM ({seats}) ORDER BY record",
            f"SELECT pseudonym{hidden} FROM {BROUGHT} ORDER BY pseudonym",
            f"SELECT record, pseudonym, id FROM ({seats}) ORDER BY record",
        )

    def _check(self, desk: DuckDBDesk) -> None:
        rows, named, distinct = self._one(desk, "count(*), count(id), count(DISTINCT id)")
        if not rows:
            raise EmptySource(f"There is nobody in {self.table.name}.", remedy="Give a table with at least one row.")
        if self._side.id and named < rows:
            raise ColumnError(
                f"Column '{self._side.id}' of {self.table.name} names a record, but {rows - named:,} rows have none.",
                remedy="Fill it, or remove `id` from the link file.",
            )
        if self._side.id and distinct < rows:
            raise ColumnError(
                f"Column '{self._side.id}' of {self.table.name} names a record, but {rows - distinct:,} rows repeat a name.",
                remedy="Choose a column that is different in every row, or remove `id` from the link file.",
            )

    def _described(self, desk: DuckDBDesk) -> dict[str, Any]:
        """Counts, and names of columns."""
        names = list(self._columns)
        missing = self._one(desk, ", ".join(f"count(*) - count(a{place})" for place in range(len(names))))
        dates = [place for place, attribute in enumerate(self.spec.attributes) if attribute.kind == "date"]
        unread = self._one(
            desk, ", ".join(["0", *(f"count(*) FILTER (h{place} AND a{place} IS NULL)" for place in dates)])
        )[1:]
        wanted = set(self._wanted())
        return {
            "name": self.table.name,
            "records": int(self._one(desk, "count(*)")[0]),
            "missing": {name: int(count) for name, count in zip(names, missing, strict=True)},
            "unread_dates": {names[place]: int(count) for place, count in zip(dates, unread, strict=True)},
            "sensitive": list(self._side.sensitive),
            "id": self._side.id,
            "left_out": [name for name in self.table.columns if name not in wanted],
        }

    def _one(self, desk: DuckDBDesk, select: str) -> tuple[Any, ...]:
        found: tuple[Any, ...] = desk.run(f"SELECT {select} FROM {BROUGHT}").fetchall()[0]
        return found


@contextmanager
def _swept(desk: DuckDBDesk) -> Iterator[None]:
    try:
        yield
    finally:
        with suppress(duckdb.Error):
            desk.run(f"DROP TABLE IF EXISTS {BROUGHT}")


# How a cell becomes the text that is compared and shown, as expressions of DuckDB: no value passes through Python.
DAYS = ("DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE")
FLOATS = ("FLOAT", "DOUBLE")
GROUPS = {"%Y": "([0-9]{4})", "%m": "([0-9]{1,2})", "%d": "([0-9]{1,2})"}
FOLDS: dict[Case, str] = {"upper": "upper", "lower": "lower", "keep": ""}


def cleaned(cell: str, kind: str, attribute: Attribute, spec: LinkageSpec) -> str:
    """The expression for a cell of a column of this type of DuckDB; missing values become NULL."""
    if attribute.kind == "date":
        # YYYY-MM-DD. The digits are moved, not checked: a month 13 is a slip that people who decide should see.
        formats = attribute.formats
        if kind in DAYS:
            return f"strftime({cell}, '%Y-%m-%d')"
        text = _present(f"trim({_written(cell, kind)})", spec.missing)
        return f"coalesce({', '.join(_moved(text, one) for one in formats)})"
    return _text(_written(cell, kind), spec.case, spec.missing)


def plain(cell: str, kind: str) -> str:
    """The cell as text, without its blanks; what is empty is missing."""
    return f"nullif(trim({_written(cell, kind)}), '')"


def _written(cell: str, kind: str) -> str:
    """A whole number that a frame holds as a float, since others are missing, is written without its point."""
    text = f"CAST({cell} AS VARCHAR)"
    if kind not in FLOATS:
        return text
    return f"CASE WHEN {cell} = floor({cell}) AND abs({cell}) < 1e15 THEN CAST(CAST({cell} AS BIGINT) AS VARCHAR) ELSE {text} END"


def _text(cell: str, case: Case, missing: Sequence[str]) -> str:
    """Composed letters, single blanks, one case."""
    folded = f"{FOLDS[case]}(trim(regexp_replace(nfc_normalize({cell}), '\\s+', ' ', 'g')))"
    return _present(folded, missing)


def _present(cell: str, missing: Sequence[str]) -> str:
    words = ", ".join(f"upper({literal(word.strip())})" for word in ("", *missing))
    return f"CASE WHEN upper({cell}) IN ({words}) THEN NULL ELSE {cell} END"


def _moved(cell: str, written: str) -> str:
    pattern, order = pattern_of(written)
    year, month, day = (
        f"lpad(regexp_extract({cell}, {literal(pattern)}, {order.index(part) + 1}), {width}, '0')"
        for part, width in (("%Y", 4), ("%m", 2), ("%d", 2))
    )
    return f"CASE WHEN regexp_full_match({cell}, {literal(pattern)}) THEN {year} || '-' || {month} || '-' || {day} END"


def pattern_of(written: str) -> tuple[str, list[str]]:
    """A date format as a pattern, and the order of its parts.

    >>> pattern_of("%d.%m.%Y")
    ('([0-9]{1,2})\\\\.([0-9]{1,2})\\\\.([0-9]{4})', ['%d', '%m', '%Y'])
    >>> pattern_of("%Y%m%d")[0]
    '([0-9]{4})([0-9]{2})([0-9]{2})'
    """
    pieces = re.split(r"(%[Ymd])", written)
    glued = any(not piece for piece in pieces[2:-1:2])
    pattern = "".join(GROUPS.get(piece, re.escape(piece)) for piece in pieces)
    return (pattern.replace("{1,2}", "{2}") if glued else pattern), [piece for piece in pieces if piece in GROUPS]
