"""The seam between a table and the engine that holds it. Every engine passes one contract test-suite."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from discreet.errors import CountError, TooManyColumns
from discreet.kernel import Histogram, Recoding
from discreet.sources.numbering import Numbering

if TYPE_CHECKING:
    from discreet.sources.export.targets import Target

Kind = Literal["text", "number", "date", "boolean", "other"]
MOST_COLUMNS = 4_096
"""Columns of a table; one of many more is most likely turned on its side."""


@dataclass(frozen=True)
class Field:
    """A column as its engine declares it."""

    name: str
    kind: Kind


class Engine(Protocol):
    """Counts people where their rows live."""

    @property
    def name(self) -> str:
        """What to call the source in words; never a password."""
        ...

    @property
    def fields(self) -> tuple[Field, ...]:
        """The columns, in order."""
        ...

    def count(self, by: Sequence[str], *, weight: str | None = None) -> Histogram:
        """People per distinct tuple of `by`; a row stands for `weight` people where that column is given."""
        ...

    def count_each(self, names: Sequence[str], *, weight: str | None = None) -> Iterator[Histogram]:
        """People per distinct value of each column alone, one column after the other."""
        ...

    def numbering(self, column: str) -> Numbering:
        """Whether the numbers of a column are on one row each."""
        ...

    def export(self, recoding: Recoding, target: Target, *, drop: Sequence[str], shuffled: bool = True) -> int:
        """Write every row as its class is published, without the columns in `drop`, and say how many rows.

        Rows of classes that are not published are left out, the other columns stay as they are, and columns keep
        their order. Rows are `shuffled`: the order of the source, or of its values, would give hidden values back.
        """
        ...


def one_by_one(engine: Engine, names: Sequence[str], weight: str | None) -> Iterator[Histogram]:
    """Columns counted each by itself, for engines to which the number of the other columns does not matter."""
    return (engine.count([name], weight=weight) for name in names)


def refuse_wide(columns: int, source: str) -> None:
    """Stop if a table has too many columns, before work is done for each of them."""
    if columns > MOST_COLUMNS:
        raise TooManyColumns(
            f"{source} has {columns:,} columns; a table has at most {MOST_COLUMNS:,}.",
            remedy="Leave out columns that are not needed. If the table is turned on its side, put people into rows.",
            columns=columns,
        )


def count_sql(by: Sequence[str], *, weight: str | None, relation: str, quote: Callable[[str], str]) -> str:
    """The one statement that counts, for engines that speak SQL; columns come back as c0, c1, ... and n.

    >>> count_sql(["sex"], weight=None, relation="people", quote=lambda name: f'"{name}"')
    'SELECT "sex" AS c0, COUNT(*) AS n FROM people GROUP BY "sex"'
    """
    people = "COUNT(*)" if weight is None else f"SUM(CAST({quote(weight)} AS DECIMAL(38, 0)))"
    columns = ", ".join(f"{quote(name)} AS c{place}" for place, name in enumerate(by))
    groups = ", ".join(quote(name) for name in by)
    head = f"SELECT {columns + ', ' if columns else ''}{people} AS n FROM {relation}"
    return f"{head} GROUP BY {groups}" if groups else head


def bad_weight_sql(weight: str, *, relation: str, quote: Callable[[str], str], cast: str = "TRY_CAST") -> str:
    """How many rows have a count that is no whole number of people."""
    number = f"{cast}({quote(weight)} AS DECIMAL(38, 6))"
    return (
        f"SELECT COUNT(*) AS bad FROM {relation} WHERE {number} IS NULL OR {number} < 0 OR {number} <> FLOOR({number})"
    )


def refuse_bad_weights(bad: int, weight: str) -> None:
    """Stop if any row's count is no whole number of people."""
    if bad:
        raise CountError(
            f"Column '{weight}' says how many people a row stands for, but {bad} rows hold no whole number from 0 up.",
            remedy="Correct those rows, or remove `count` from [data] in the policy if each row is one person.",
        )
