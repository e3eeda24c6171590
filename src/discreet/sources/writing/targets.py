"""What an engine can write to. Each is new and private until it has been checked: see `staging`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from discreet.errors import UsageError
from discreet.sources.writing.cells import guarded

if TYPE_CHECKING:
    from discreet.policy import Policy
    from discreet.sources.table import Table

Format = Literal["csv", "csv.gz", "parquet"]
FORMATS: tuple[Format, ...] = ("csv.gz", "csv", "parquet")


class Target(Protocol):
    """Somewhere to write a table, and the way it spells what is written there."""

    @property
    def delimiter(self) -> str | None:
        """What separates cells, where that is asked."""
        ...

    @property
    def blank_is_missing(self) -> bool:
        """Whether an empty text comes back as a missing value."""
        ...

    def spell(self, text: str) -> str:
        """A published value or the name of a column, as it is written."""
        ...

    def table(self, policy: Policy) -> Table:
        """What was written, read back."""
        ...


@dataclass(frozen=True)
class FileTarget:
    """A file; its suffix says how it is written."""

    path: Path
    delimiter: str = ","

    @property
    def format(self) -> Format:
        """How it is written."""
        return format_of(self.path.name)

    @property
    def blank_is_missing(self) -> bool:
        """A CSV knows no difference."""
        return self.format != "parquet"

    def spell(self, text: str) -> str:
        """A CSV is guarded against formulas."""
        return text if self.format == "parquet" else guarded(text)

    def table(self, policy: Policy) -> Table:
        """What was written, read back."""
        from discreet.sources.reading import read

        return read(self.path, policy)


@dataclass(frozen=True)
class FolderTarget:
    """A folder of parts on the file system of a Spark cluster."""

    session: Any = field(repr=False)
    address: str
    delimiter: str = ","
    columns: tuple[str, ...] = ()

    @property
    def format(self) -> Format:
        """How its parts are written."""
        return format_of(self.address)

    @property
    def blank_is_missing(self) -> bool:
        """A CSV knows no difference."""
        return self.format != "parquet"

    def spell(self, text: str) -> str:
        """A CSV is guarded against formulas."""
        return text if self.format == "parquet" else guarded(text)

    def table(self, policy: Policy) -> Table:
        """What was written, read back by the cluster."""
        from discreet.sources.reading import read
        from discreet.sources.writing.spark import parts

        return read(parts(self, tuple(policy.roles)), policy)


@dataclass(frozen=True)
class TableTarget:
    """A table that comes to be inside an open transaction of a PostgreSQL server."""

    connection: Any = field(repr=False)
    url: str = field(repr=False)
    name: str = "a new table"
    delimiter = None
    blank_is_missing = False

    def spell(self, text: str) -> str:
        """A database keeps text as it is."""
        return text

    def table(self, policy: Policy) -> Table:
        """What was written, seen from inside the transaction."""
        from discreet.sources.postgres import PostgresEngine
        from discreet.sources.table import Table

        return Table(PostgresEngine(self.url, table=self.name, connection=self.connection), policy)


def format_of(name: str) -> Format:
    """How a file of this name is written."""
    for known in FORMATS:
        if name.lower().endswith(f".{known}"):
            return known
    raise UsageError(
        "The name of the target does not say how to write it.",
        remedy="Let it end in .csv, .csv.gz or .parquet, or give a PostgreSQL URL with ?table=schema.name.",
    )


def cannot_write(engine: str, remedy: str) -> UsageError:
    """An engine and a target that do not go together."""
    return UsageError(f"{engine} cannot be written to such a target.", remedy=remedy)
