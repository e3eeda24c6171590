"""Engine: the seam between a table and what holds its rows.

A package of this folder is an engine if it has two functions: `opens(source)` says whether a source is its own, and
`open_engine(source, policy, table=, query=)` gives an `Engine`. Nothing else in the product knows which engines
exist. An engine that does not write files itself hands its rows to one that does: `engine_for(frame,
policy).export(...)`.
"""

from __future__ import annotations

import difflib
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from importlib import import_module
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from discreet.errors import ColumnError, CountError, TooManyColumns, UsageError, WeightError
from discreet.kernel import Coded, Histogram, Recoding, Tally
from discreet.kernel.arrays import Flags, Ints, Label
from discreet.kernel.survey import MOST
from discreet.policy import Policy
from discreet.policy.schema import Formulas
from discreet.sources.numbering import Numbering

if TYPE_CHECKING:
    from discreet.sources.duckdb_scratch import DuckDBDesk

T = TypeVar("T")
Kind = Literal["text", "number", "date", "boolean", "other"]
Cells = dict[str, list[Any]]
"""Rows column by column, each cell as its engine types it."""
MOST_COLUMNS = 4_096
"""Columns of a table; one of many more is most likely turned on its side."""
ASKED_LAST = "duckdb"
"""DuckDB takes any source that no other engine claims, and says in words what it cannot read."""


@dataclass(frozen=True)
class Field:
    """A column as its engine declares it."""

    name: str
    kind: Kind


class Target(Protocol):
    """Somewhere to write a table, and the way it spells what is written there."""

    @property
    def delimiter(self) -> str | None:
        """What separates cells, where that matters."""

    @property
    def blank_is_missing(self) -> bool:
        """Whether an empty text comes back as a missing value."""

    @property
    def guards(self) -> bool:
        """Whether texts are guarded against formulas."""

    def spell(self, text: str) -> str:
        """A published value or the name of a column, as it is written."""


@dataclass(frozen=True, eq=False)
class Marked:
    """Marked classes of a release, and the rows that are not in the table."""

    labels: Sequence[tuple[Label, ...]]
    """Per mark, its class as it is published, in the order of the recoding's columns."""
    cells: Mapping[str, Sequence[Label]]
    """The other columns of further rows, each cell as a text that its type can be made of."""
    places: Ints
    """Per further row, the place of its mark."""
    single: Mapping[str, Sequence[Label]] = field(default_factory=dict)
    """Rows of the table that are marks by themselves, column by column as published; they count on from the classes."""

    @property
    def rows(self) -> int:
        """How many rows are marks by themselves."""
        return max(map(len, self.single.values()), default=0)

    def column(self, place: int) -> list[Label]:
        """A recoded column of the further rows."""
        return [self.labels[mark][place] for mark in self.places.tolist()]


class Pool(Protocol):
    """Where copies are written from: rows that were read and recoded once."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are published."""

    @property
    def content(self) -> str:
        """A digest of the rows of the table, in whatever order they come."""

    def write(self, present: Flags, target: Target, *, secret: bytes, row_ids: str | None) -> int:
        """Write the copy that holds these marks, and count its rows."""


class CopyFolder(Protocol):
    """The folder of one copy, which appears whole or not at all."""

    def target(self, name: str) -> Target:
        """Where the table goes, for now."""

    def write_text(self, name: str, text: str) -> None:
        """Put a text beside it."""

    def digest(self, name: str) -> str:
        """The SHA-256 of what was written under a name."""

    def put(self) -> None:
        """Move the folder to its place, where there must be none."""

    def discard(self) -> None:
        """Remove what is left of it aside."""


class CopyFolders(Protocol):
    """Where the folders of copies are made."""

    def present(self, folder: str, name: str) -> str | None:
        """The digest of a file in its place; None without such a folder."""

    def make(self, folder: str) -> CopyFolder:
        """A new folder, empty."""

    @property
    def scratch(self) -> Path | None:
        """A private folder on the same disk, if there is one."""


class Engine(Protocol):
    """Counts, reads and writes people's rows where they are."""

    @property
    def name(self) -> str:
        """What to call the source in words; never a password."""

    @property
    def fields(self) -> tuple[Field, ...]:
        """The columns, in order."""

    @property
    def ordered(self) -> bool:
        """Whether rows are fetched in the order of the source, every time."""

    @property
    def dialect(self) -> Mapping[str, Any]:
        """How a file is written, as it was found: format, encoding, delimiter; empty elsewhere."""

    def progress(self) -> float | None:
        """Share done of the statement that runs now, asked from another thread; None where unknown."""

    def count(self, by: Sequence[str], *, weight: str | None = None, survey: str | None = None) -> Histogram:
        """People per distinct tuple of `by`.

        A row counts as `weight` people where that column is given. With `survey` the weights of that column are summed
        along, each a positive number.
        """

    def count_each(
        self, names: Sequence[str], *, weight: str | None = None, beside: Sequence[str] = ()
    ) -> Iterator[Histogram]:
        """People per distinct value of each column alone, or of it and those `beside` it, one column after the other."""

    def tallies(self, names: Sequence[str], *, weight: str | None = None) -> Iterator[Tally]:
        """People per value of each column alone, as far as a profile needs it: see `Tally`."""

    def numbering(self, column: str) -> Numbering:
        """Whether the numbers of a column are on one row each."""

    def fetch(self, names: Sequence[str], *, most: int | None = None) -> dict[str, Coded]:
        """The cells of some columns, row by row, coded as `count` codes them.

        Of more than `most` rows so many are taken by chance, in no particular order.
        Files keep the order of their rows; see `ordered`.
        """

    def chosen(self, recoding: Recoding, *, drop: Sequence[str]) -> Cells:
        """The rows that a recoding publishes, without the columns in `drop`.

        They come in no particular order.
        """

    def desk(self, names: Sequence[str]) -> AbstractContextManager[DuckDBDesk]:
        """At least these columns on a DuckDB connection of this process."""

    def staged(self, target: str, policy: Policy, *, overwrite: bool) -> AbstractContextManager[Target]:
        """A private place to write to, or a refusal in words.

        It becomes the target when the block ends well, and vanishes when it does not.
        """

    def export(self, recoding: Recoding, target: Target, *, drop: Sequence[str], shuffled: bool = True) -> int:
        """Write every row as its class is published, and count them.

        Rows of classes that are not published are left out, and so are the columns in `drop`; the other columns stay
        as they are, and columns keep their order. Rows are `shuffled`: the order of the source, or of its values, would
        give hidden values back.
        """

    def arrow(self, recoding: Recoding, *, drop: Sequence[str]) -> Any:
        """The same rows as an Arrow table of this process, shuffled."""

    def formula_cells(self, recoding: Recoding, *, drop: Sequence[str]) -> int:
        """Cells of the published rows that a spreadsheet would run."""

    def folders(self, out: str, *, delimiter: str, formulas: Formulas = "quote") -> AbstractContextManager[CopyFolders]:
        """Where the folders of copies are made: on the disk of `out`."""

    def copies(
        self, recoding: Recoding, marked: Marked, *, drop: Sequence[str], folder: Path | None, guarded: bool
    ) -> AbstractContextManager[Pool]:
        """The pool that copies of a release are written from.

        It vanishes with the block. `folder` is private, and on the disk that copies are written to. From a `guarded`
        pool CSV is written: its texts are guarded against formulas once, not in every copy.
        """


class WorkDone:
    """Which share of the work on a table is done, by its steps; an engine may know more.

    A display asks from another thread.

    >>> steps = WorkDone()
    >>> [steps.share(0.5) for _ in steps.each(["sex", "age"], 2)]
    [0.25, 0.75]
    """

    def __init__(self) -> None:
        self._step: tuple[float, float, float] | None = None
        """Where the step begins and ends, of how much: one value, so that a reader sees no half of it."""
        self._most = 0.0

    def each(self, items: Iterable[T], number: int, *, first: float = 1.0) -> Iterator[T]:
        """The same items, each a step of so many; the `first` may weigh more than the others."""
        outer, whole = self._step, first + max(number, 1) - 1
        if outer is not None:  # a step of other work, which counts by itself
            yield from items
            return
        try:
            done, weight, rest = 0.0, first, iter(items)
            while True:
                self._step, self._most = (done, done + weight, whole), 0.0
                try:
                    item = next(rest)
                except StopIteration:
                    return
                yield item
                done, weight = done + weight, 1.0
        finally:
            self._step = None

    def share(self, statement: float | None) -> float | None:
        """Share done, given that of the statement that runs now; None where neither is known."""
        if (step := self._step) is None:
            return statement
        start, end, whole = step
        # Statements after the first of a step are short: the share does not fall back for them.
        self._most = max(self._most, (start + (statement or 0.0) * (end - start)) / whole)
        return min(1.0, self._most)


def engine_for(source: Any, policy: Policy, *, table: str | None = None, query: str | None = None) -> Engine:
    """The engine that opens a source: every engine is asked, DuckDB last and of a path alone."""
    sources = import_module(__package__)
    names = {module.name for module in pkgutil.iter_modules(sources.__path__) if module.ispkg}
    if isinstance(source, str | PathLike) and "://" not in fspath(source):
        names = {ASKED_LAST}
    for name in sorted(names, key=lambda name: (name == ASKED_LAST, name)):
        package = import_module(f"{__package__}.{name}")
        if hasattr(package, "opens") and package.opens(source):
            engine: Engine = package.open_engine(source, policy, table=table, query=query)
            return engine
    raise AssertionError(f"{ASKED_LAST} opens every source")


def refuse_selection(table: str | None, query: str | None) -> None:
    """Stop if a table or query is named for a source without tables."""
    if table is not None or query is not None:
        raise UsageError(
            "table= and query= go with a PostgreSQL URL.",
            remedy='For example: read("postgresql://host/db", table="people")',
        )


def require(columns: Sequence[str], names: Sequence[str], source: str) -> None:
    """Stop with advice if a column is not there.

    The header is not repeated: in a file without one it would be a person's record.
    """
    known = set(columns)
    missing = next((name for name in names if name not in known), None)
    if missing is None:
        return
    asked = set(names)
    close = difflib.get_close_matches(missing, [name for name in columns if name not in asked], n=1)
    if close:
        advice = f"Did you mean '{close[0]}'?"
    elif len(columns) == 1:
        advice = 'There is only one column: is the delimiter right? Set it in the policy: [data] delimiter = ";"'
    else:
        advice = "Is the first row of the file a header? Is this the right policy?"
        if known & asked:
            advice = (
                "Is this the right policy? A table that was anonymised already is measured by `discreet report`, as "
                "`published` beside its data."
            )
    raise ColumnError(f"{source} has {len(columns)} columns, and none is named '{missing}'.", remedy=advice)


def columnwise(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> Cells:
    """Rows as columns, also where there are none."""
    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    return {name: list(cells) for name, cells in zip(names, columns, strict=True)}


def one_by_one(
    engine: Engine, names: Sequence[str], weight: str | None, beside: Sequence[str] = ()
) -> Iterator[Histogram]:
    """Columns counted by a statement each, where the number of others does not matter."""
    return (engine.count(tuple(dict.fromkeys([name, *beside])), weight=weight) for name in names)


def counted_tallies(engine: Engine, names: Sequence[str], weight: str | None) -> Iterator[Tally]:
    """Tallies of columns that are counted whole."""
    return (Tally.of(histogram) for histogram in engine.count_each(names, weight=weight))


def refuse_wide(columns: int, source: str) -> None:
    """Stop if a table has too many columns."""
    if columns > MOST_COLUMNS:
        raise TooManyColumns(
            f"{source} has {columns:,} columns; a table has at most {MOST_COLUMNS:,}.",
            remedy="Leave out columns that are not needed. If the table is turned on its side, put people into rows.",
            columns=columns,
        )


def count_sql(
    by: Sequence[str],
    *,
    weight: str | None,
    relation: str,
    quote: Callable[[str], str],
    survey: str | None = None,
    real: str = "DOUBLE",
) -> str:
    """The statement that counts; columns come back as c0, c1, ... and n, sums of survey weights as s.

    `real` is the engine's type of real numbers.

    >>> count_sql(["sex"], weight=None, relation="people", quote=lambda name: f'"{name}"')
    'SELECT "sex" AS c0, COUNT(*) AS n FROM people GROUP BY "sex"'
    """
    people = "COUNT(*)" if weight is None else f"SUM(CAST({quote(weight)} AS DECIMAL(38, 0)))"
    columns = [f"{quote(name)} AS c{place}" for place, name in enumerate(by)]
    sums = [] if survey is None else [f"SUM(CAST({quote(survey)} AS {real})) AS s"]
    groups = ", ".join(quote(name) for name in by)
    head = f"SELECT {', '.join([*columns, f'{people} AS n', *sums])} FROM {relation}"
    return f"{head} GROUP BY {groups}" if groups else head


def bad_weight_sql(weight: str, *, relation: str, quote: Callable[[str], str], cast: str = "TRY_CAST") -> str:
    """How many rows have a count that is no whole number of people."""
    number = f"{cast}({quote(weight)} AS DECIMAL(38, 6))"
    return (
        f"SELECT COUNT(*) AS bad FROM {relation} WHERE {number} IS NULL OR {number} < 0 OR {number} <> FLOOR({number})"
    )


def bad_survey_sql(
    survey: str, *, relation: str, quote: Callable[[str], str], cast: str = "TRY_CAST", real: str = "DOUBLE"
) -> str:
    """How many rows have no positive, finite number as their survey weight."""
    # What is not a number compares as larger than all others in every engine.
    number = f"{cast}({quote(survey)} AS {real})"
    return f"SELECT COUNT(*) AS bad FROM {relation} WHERE NOT COALESCE({number} > 0 AND {number} < {MOST:g}, FALSE)"


def refuse_bad_survey(bad: int, survey: str) -> None:
    """Stop if any row's survey weight is no positive number."""
    if bad:
        raise WeightError(
            f"Column '{survey}' holds survey weights, but on {bad:,} rows there is no positive, finite number.",
            remedy="Correct those rows or leave them out; decimals are written as [data] decimal says.",
        )


def refuse_bad_weights(bad: int, weight: str) -> None:
    """Stop if any row's count is no whole number of people."""
    if bad:
        raise CountError(
            f"Column '{weight}' says how many people a row stands for, but {bad} rows hold no whole number from 0 up.",
            remedy="Correct those rows, or remove `count` from [data] in the policy if each row is one person. Survey "
            "weights, which may be fractions, are named by `weight` instead.",
        )
