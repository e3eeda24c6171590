"""Export targets: files and tables that stay private until they are verified."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from discreet.errors import UsageError
from discreet.policy.schema import Formulas
from discreet.wording import reason

Format = Literal["csv", "csv.gz", "parquet"]
FORMATS: tuple[Format, ...] = ("csv.gz", "csv", "parquet")


@dataclass(frozen=True)
class _Suffixed:
    """A place whose name says how it is written."""

    address: str
    delimiter: str = ","
    formulas: Formulas = "quote"

    @property
    def format(self) -> Format:
        """How it is written."""
        return format_of(self.address)

    @property
    def blank_is_missing(self) -> bool:
        """A CSV knows no difference."""
        return self.format != "parquet"

    @property
    def guards(self) -> bool:
        """Whether cells that a spreadsheet would run get an apostrophe."""
        return self.format != "parquet" and self.formulas == "quote"

    def spell(self, text: str) -> str:
        """A CSV is guarded against formulas, its header included, unless they are to be kept."""
        return guarded(text) if self.guards else text


@dataclass(frozen=True)
class FileTarget(_Suffixed):
    """A file of this machine."""

    @property
    def path(self) -> Path:
        """Where it is."""
        return Path(self.address)

    def __fspath__(self) -> str:
        return self.address


@dataclass(frozen=True)
class FolderTarget(_Suffixed):
    """A folder of parts on the file system of a Spark cluster."""

    session: Any = field(default=None, repr=False)


@dataclass(frozen=True)
class TableTarget:
    """A table that comes to be inside an open transaction of a PostgreSQL server."""

    name: str
    url: str = field(repr=False)
    connection: Any = field(repr=False)
    count: str | None = None
    """The column that says how many people a row stands for: a number there, also where it comes from a CSV."""

    delimiter = None
    blank_is_missing = False
    guards = False

    def spell(self, text: str) -> str:
        """A database keeps text as it is."""
        return text


@dataclass(frozen=True, eq=False)
class FrameTarget:
    """A frame of this process, on its way out."""

    frame: Any = field(repr=False)
    delimiter = None
    blank_is_missing = False
    guards = False

    def spell(self, text: str) -> str:
        """A frame keeps text as it is."""
        return text


def format_of(name: str) -> Format:
    """How a place of this name is written."""
    for known in FORMATS:
        if name.lower().endswith(f".{known}"):
            return known
    raise UsageError(
        "The name of the target does not say how to write it.",
        remedy="Let it end in .csv, .csv.gz or .parquet, or give a PostgreSQL URL with ?table=schema.name.",
    )


def unfit(source: str, *, remedy: str) -> UsageError:
    """A source and a target that do not go together."""
    return UsageError(f"{source} cannot be written to such a target.", remedy=remedy)


def unwritable(path: str | Path, error: Exception) -> UsageError:
    """What went wrong, without what was being written."""
    return UsageError(
        f"{path} cannot be written ({reason(error)}).",
        remedy="Is the folder yours to write to, and is there space on the disk?",
    )


def occupied(target: str) -> UsageError:
    """There is something at the place already."""
    return UsageError(f"{target} exists already.", remedy="Choose another name, or say overwrite=True to replace it.")


# Cells of a CSV that no spreadsheet takes for a formula.
RISKY = ("=", "+", "-", "@", "\t", "\r")
NUMBER = "[-+]?(([0-9]+([.,][0-9]*)?|[.,][0-9]+)([eE][-+]?[0-9]+)?|[iI][nN][fF]([iI][nN][iI][tT][yY])?|[nN][aA][nN])"
"""Written without backslashes and braces, which engines read differently."""


def guarded(cell: str) -> str:
    """The cell with an apostrophe before what a spreadsheet would calculate; plain numbers stay.

    >>> [guarded(cell) for cell in ("=1+1", "-5", "-inf", "@x", "a=b", "'=x")]
    ["'=1+1", '-5', '-inf', "'@x", 'a=b', "'=x"]
    """
    return f"'{cell}" if cell.startswith(RISKY) and not re.fullmatch(NUMBER, cell) else cell


def formula_sql(cell: str, *, is_number: str) -> str:
    """Whether a spreadsheet would run a cell, in SQL; `is_number` asks whether the whole cell is a number."""
    # No IN: DuckDB makes a join of each list, and hundreds of columns hundreds of joins.
    risky = " OR ".join(f"LEFT({cell}, 1) = CHR({ord(mark)})" for mark in RISKY)
    return f"({risky}) AND NOT {is_number}"


def guarded_sql(cell: str, *, is_number: str) -> str:
    """The cell as `guarded` spells it, in SQL."""
    return f"CASE WHEN {formula_sql(cell, is_number=is_number)} THEN CONCAT(CHR(39), {cell}) ELSE {cell} END"


def formula_count_sql(
    select: str, columns: Sequence[str], *, quote: Callable[[str], str], text: str, is_number: Callable[[str], str]
) -> str:
    """The statement that counts the cells of some columns that a spreadsheet would run."""
    cells = [f"CAST({quote(name)} AS {text})" for name in columns]
    flags = " + ".join(f"CASE WHEN {formula_sql(cell, is_number=is_number(cell))} THEN 1 ELSE 0 END" for cell in cells)
    return f"SELECT CAST(COALESCE(SUM({flags}), 0) AS BIGINT) AS n FROM ({select}) AS published"
