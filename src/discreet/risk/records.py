"""Risks row by row, in the order of the input: for the custodian only."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol, runtime_checkable

import numpy as np

from discreet.errors import UsageError
from discreet.kernel import Classes
from discreet.kernel.arrays import Floats, Ints
from discreet.kernel.survey import Survey
from discreet.risk.survey import Homes, MemberRisk


@runtime_checkable
class Ordered(Protocol):
    """A table whose rows can be had in the order of its source."""

    def in_order(self, classes: Classes) -> Survey:
        """The class, the household and the person of each row."""


@dataclass(frozen=True, eq=False, repr=False)
class RecordRisks:
    """The risks of each row of a table, in the order of its rows.

    A name gives a column, a number from 0 on a row.

    >>> risks = RecordRisks({"row": np.array([1, 2]), "class_size": np.array([1, 3])})
    >>> len(risks), risks[0], risks["class_size"].tolist()
    (2, {'row': 1, 'class_size': 1}, [1, 3])
    """

    columns: Mapping[str, Ints | Floats]
    """The columns by name; `row` counts from 1."""

    @classmethod
    def of(cls, sample: Classes, rows: Survey, *, linked: Ints | None, members: MemberRisk) -> RecordRisks:
        """From the classes of a table and its rows; `linked` are people of the population, where it is a table."""

        def of_class(values: Any) -> Any:
            """The value of the class of each row; 0 for rows that stand for nobody."""
            return np.where(rows.owners >= 0, values[rows.owners], 0)

        columns = {
            "row": np.arange(1, len(rows.owners) + 1),
            "class_size": of_class(sample.sizes),
            "prosecutor": of_class(1 / sample.sizes),
        }
        if linked is not None:
            columns["journalist"] = of_class(1 / linked)
        if members.kind == "weighted":
            columns["weighted"] = of_class(members.risks)
        if rows.homes is not None:
            homes = Homes.of(rows.homes, rows.persons, rows.counts, of_class(members.risks))
            columns["household"] = homes.risks[homes.places]
        return cls(columns)

    def __len__(self) -> int:
        return len(self.columns["row"])

    def __getitem__(self, place: int | str) -> Any:
        if isinstance(place, str):
            return self.columns[place]
        return {name: column[place].item() for name, column in self.columns.items()}

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self[place] for place in range(len(self)))

    def to_arrow(self) -> Any:
        """The rows as an Arrow table."""
        return _library("pyarrow").table(dict(self.columns))

    def to_pandas(self) -> Any:
        """The rows as a pandas frame."""
        return _library("pandas").DataFrame(dict(self.columns))

    def to_polars(self) -> Any:
        """The rows as a polars frame."""
        return _library("polars").DataFrame(dict(self.columns))

    def __repr__(self) -> str:
        return f"RecordRisks({len(self)} rows by {', '.join(self.columns)}; for the custodian only)"


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise UsageError(
            f"There is no {name} here to make a frame of.", remedy=f"Install it with: pip install {name}"
        ) from None


class Records(int):
    """How many people were assessed; called, it gives the risks of each row.

    >>> Records(3) + 1
    4
    """

    _rows: Callable[[], RecordRisks] | None

    def __new__(cls, number: int, rows: Callable[[], RecordRisks] | None = None) -> Records:
        """The number, and how the risks of the rows are found where a table was assessed."""
        made = super().__new__(cls, number)
        made._rows = rows
        return made

    def __call__(self) -> RecordRisks:
        """One line per row of the table, in its order, for the custodian only."""
        if self._rows is None:
            raise UsageError(
                "Classes have no rows, so there are no risks of rows.",
                remedy="Assess a table: discreet.assess(discreet.read(source, policy=policy)).",
            )
        return self._rows()

    def __reduce__(self) -> tuple[type[int], tuple[int]]:
        # The table stays where it is.
        return Records, (int(self),)
