"""Recoding as joins: values to codes, classes to published values, cells as types.

Values are matched by the engine that holds them, as values of their own type; what they are called in the classes is
decided in Python, by the spelling that counted them. So engines cannot disagree about casts.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from discreet.errors import UsageError
from discreet.kernel import Column, Recoding
from discreet.kernel.arrays import Ints, Label
from discreet.sources.duckdb_scratch import PLAIN_TYPES, literal
from discreet.sources.engine import Target
from discreet.sources.export.targets import NUMBER, guarded, guarded_sql

NOWHERE = -1
"""The code of a value that is in no class."""
Quote = Callable[[str], str]
Spell = Callable[[str], str]


class Desk(Protocol):
    """Where the statements of one export run: a connection that may have temporary tables."""

    @property
    def relation(self) -> str:
        """The source, as it is put after FROM."""

    def keep(self, table: str, select: str) -> None:
        """Make a temporary table of what a statement finds."""

    def load(self, table: str, columns: Mapping[str, Any]) -> None:
        """Make a temporary table of arrays: objects are text, others whole numbers."""

    def labels(self, table: str, column: str) -> Sequence[Label]:
        """Values of a temporary table by `id`, spelt as in the classes."""


@dataclass(frozen=True)
class Tables:
    """The temporary tables of one export, named so that they meet no others."""

    prefix: str = field(default_factory=lambda: f"discreet_{secrets.token_hex(6)}_")

    def __call__(self, name: str) -> str:
        return self.prefix + name

    def names(self, columns: int) -> list[str]:
        """Every table that may have been made."""
        return [*(self(f"{kind}{place}") for kind in "vcml" for place in range(columns)), self("codes"), self("kept")]


@dataclass(frozen=True)
class Dialect:
    """How an engine wants the statement."""

    quote: Quote
    cell: Callable[[str, str], str] = lambda name, cell: cell
    """The expression of a column that stays as it is, given its name and its cell."""
    fence: str = ""
    """What keeps a planner from joining classes before all codes are known, where it would."""


@dataclass(frozen=True)
class Outline:
    """The columns that are written, in the order of the source."""

    columns: tuple[str, ...]
    recoding: Recoding

    @classmethod
    def of(cls, columns: Sequence[str], recoding: Recoding, *, drop: Sequence[str]) -> Outline:
        """Everything but what is dropped."""
        dropped = set(drop)
        if both := [name for name in recoding.names if name in dropped]:
            raise UsageError(
                f"Column '{both[0]}' is recoded and left out at once.", remedy="Give it one role in the policy."
            )
        left = tuple(name for name in columns if name not in dropped)
        if not left:
            raise UsageError("No column is left to write.", remedy="Not every column can be an identifier.")
        return cls(left, recoding)

    def texts(self, kinds: Mapping[str, str]) -> tuple[str, ...]:
        """Columns whose cells a spreadsheet might run, by what each holds and is published as."""
        labels = dict(zip(self.recoding.names, self.recoding.labels, strict=True))
        return tuple(
            name
            for name in self.columns
            if (
                any(label != guarded(label) for label in labels[name] if label)
                if name in labels
                else kinds[name] not in NUMBERS
            )
        )

    def select(self, dialect: Dialect, *, relation: str, table: Callable[[str], str], title: Spell) -> str:
        """The one statement that recodes."""
        places = {name: place for place, name in enumerate(self.recoding.names)}
        cells = [
            f"k.l{places[name]}" if name in places else dialect.cell(name, f"s.c{number}")
            for number, name in enumerate(self.columns)
        ]
        titles = [dialect.quote(title(name)) for name in self.columns]
        titled = ", ".join(f"{cell} AS {name}" for cell, name in zip(cells, titles, strict=True))
        same = " AND ".join(f"s.b{place} = k.b{place}" for place in places.values()) or "1 = 1"
        # Every row: its columns (c0, c1, ...) and their codes (b0, b1, ...).
        columns = [f"r.{dialect.quote(name)} AS c{number}" for number, name in enumerate(self.columns)]
        maps = []
        for place, column in enumerate(self.recoding.classes.columns):
            cell, missing = f"r.{dialect.quote(column.name)}", base_codes(column, [None])[0]
            columns.append(f"CASE WHEN {cell} IS NULL THEN {missing} ELSE m{place}.code END AS b{place}")
            maps.append(f"LEFT JOIN {table(f'm{place}')} AS m{place} ON {cell} = m{place}.value")
        coded = f"SELECT {', '.join(columns)} FROM (SELECT * FROM {relation}) AS r {' '.join(maps)}"
        return f"SELECT {titled} FROM ({coded}{dialect.fence}) AS s JOIN {table('kept')} AS k ON {same}"


def prepare(desk: Desk, recoding: Recoding, *, table: Tables, quote: Quote, spell: Spell) -> None:
    """Make the temporary tables to join: a map per column, and the published classes."""
    for place, column in enumerate(recoding.classes.columns):
        values, codes, mapped = (table(f"{kind}{place}") for kind in "vcm")
        distinct = f"SELECT DISTINCT {quote(column.name)} AS value FROM {desk.relation}"
        desk.keep(values, f"SELECT ROW_NUMBER() OVER () AS id, value FROM ({distinct}) AS d WHERE value IS NOT NULL")
        known = base_codes(column, desk.labels(values, column.name))
        desk.load(codes, {"id": np.arange(1, len(known) + 1), "code": known})
        desk.keep(mapped, f"SELECT v.value, c.code FROM {values} AS v JOIN {codes} AS c ON v.id = c.id")
    for place, labels in enumerate(recoding.labels):
        texts = {code: spell(label) for code, label in enumerate(labels) if label is not None}
        arrays = {
            "code": np.array(list(texts), dtype=np.int64),
            "label": np.array(list(texts.values()), dtype=object),
        }
        desk.load(table(f"l{place}"), arrays)
    desk.load(table("codes"), kept_codes(recoding))
    places = range(len(recoding.names))
    columns = ["c.id", *(f"c.b{place}, l{place}.label AS l{place}" for place in places)]
    joins = [f"LEFT JOIN {table(f'l{place}')} AS l{place} ON c.p{place} = l{place}.code" for place in places]
    desk.keep(table("kept"), f"SELECT {', '.join(columns)} FROM {table('codes')} AS c {' '.join(joins)}")


def kept_codes(recoding: Recoding) -> dict[str, Ints]:
    """Published classes: codes in the data (b0, ...) and as published (p0, ...)."""
    kept = recoding.kept
    base = {f"b{place}": codes[kept] for place, codes in enumerate(recoding.classes.codes)}
    published = {f"p{place}": codes[kept] for place, codes in enumerate(recoding.codes)}
    return {"id": np.arange(int(kept.sum())), **base, **published}


def base_codes(column: Column, labels: Sequence[Label]) -> Ints:
    """The code of each value in the classes, or -1.

    >>> from discreet.kernel import Classes
    >>> base_codes(Classes.of(["sex"], [("F",), (None,)]).columns[0], ["F", "X", None]).tolist()
    [0, -1, 1]
    """
    index, upwards = column.hierarchy.index[0], column.hierarchy.map(0, column.level)
    codes = np.array([index.get(label, NOWHERE) for label in labels], dtype=np.int64)
    # the place -1 is the last one, so that a value without a code keeps none
    return np.append(upwards, NOWHERE)[codes]


# Cells and types: how CSV, Parquet and PostgreSQL want what DuckDB holds.
WIDE = ("HUGEINT", "UHUGEINT")
NUMBERS = (*PLAIN_TYPES, *WIDE, "DECIMAL", "TIMESTAMP WITH TIME ZONE", "TIME")
"""Types whose text no spreadsheet calculates."""
POSTGRES_TYPES = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "UTINYINT"), "smallint"),
    **dict.fromkeys(("INTEGER", "USMALLINT"), "integer"),
    **dict.fromkeys(("BIGINT", "UINTEGER"), "bigint"),
    **dict.fromkeys(("UBIGINT", "HUGEINT", "UHUGEINT"), "numeric"),
    "FLOAT": "real",
    "DOUBLE": "double precision",
    "BOOLEAN": "boolean",
    "DATE": "date",
    "TIME": "time",
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), "timestamp"),
    "TIMESTAMP WITH TIME ZONE": "timestamptz",
    "INTERVAL": "interval",
    "UUID": "uuid",
    "BLOB": "bytea",
}
DUCKDB_TYPES = {
    "int2": "SMALLINT",
    "int4": "INTEGER",
    "int8": "BIGINT",
    "float4": "FLOAT",
    "float8": "DOUBLE",
    "bool": "BOOLEAN",
    "date": "DATE",
    "time": "TIME",
    "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMP WITH TIME ZONE",
    "uuid": "UUID",
    "bytea": "BLOB",
}
PORTABLE = re.compile(
    r"(int[248]|float[48]|numeric|bool|date|timestamp(tz)?|time(tz)?|interval|uuid|bytea|jsonb?)(\(.*\))?"
)
"""Types that every server has."""


def file_cell(target: Target) -> Callable[[str, str], str]:
    """How a file wants its cells."""
    return csv_cell if target.guards else parquet_cell


def csv_cell(column: str, kind: str) -> str:
    """A column guarded against formulas where it could hold one."""
    if kind in NUMBERS:
        return column
    text = f"CAST({column} AS VARCHAR)"
    return guarded_sql(text, is_number=is_number(text))


def is_number(text: str) -> str:
    """Whether the whole of a text is a number, in DuckDB."""
    return f"regexp_full_match({text}, {literal(NUMBER)})"


def parquet_cell(column: str, kind: str) -> str:
    """A column as Parquet can hold it: integers beyond 64 bits would become floats.

    Of an ENUM the whole dictionary would be written, values that do not occur as empty texts: their number would show,
    and Arrow's readers of dictionaries trip over texts that are there twice.
    """
    if kind == "ENUM":
        return f"CAST({column} AS VARCHAR)"
    return f"CAST({column} AS DECIMAL(38, 0))" if kind in WIDE else column


def server_cell(column: str, kind: str) -> str:
    """A column as PostgreSQL reads it."""
    return f"'\\x' || HEX({column})" if kind == "BLOB" else column


def postgres_type(kind: str) -> str:
    """The type of PostgreSQL that holds a type of DuckDB, or text.

    >>> postgres_type("DECIMAL(6,2)"), postgres_type("UINTEGER"), postgres_type("INTEGER[]")
    ('numeric(6,2)', 'bigint', 'text')
    """
    if re.fullmatch(r"DECIMAL\(\d+, ?\d+\)", kind):
        return kind.replace("DECIMAL", "numeric")
    return POSTGRES_TYPES.get(kind, "text")


def duckdb_type(kind: str) -> str:
    """The type of DuckDB that holds a type of PostgreSQL, or text.

    >>> duckdb_type("numeric(6,2)"), duckdb_type("numeric"), duckdb_type("int4")
    ('DECIMAL(6,2)', 'VARCHAR', 'INTEGER')
    """
    scaled = re.fullmatch(r"numeric\((\d+), ?(\d+)\)", kind)
    if scaled and int(scaled[2]) <= int(scaled[1]) <= 38:
        return f"DECIMAL({scaled[1]},{scaled[2]})"
    return DUCKDB_TYPES.get(re.sub(r"\(.*", "", kind), "VARCHAR")
