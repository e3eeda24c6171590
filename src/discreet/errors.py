"""Every error that Discreet raises on purpose, drawn as one tree, with the exit code of each branch.

DiscreetError                      70  a bug, if it is ever raised as itself
├── UsageError                      2  the call cannot be understood
│   ├── MissingExtra                2  a capability is not installed
│   ├── RequestError                2  a request in SQL cannot be understood
│   ├── KeyReused                   2  an idempotency key came back with another request
│   ├── Unsatisfiable               2  no published table satisfies the limits
│   └── NotThere                    2  no such project or pair, or none for this account
├── DataError                       3  the data cannot be used as they are
│   ├── SourceNotFound              3  no such file, table or server
│   ├── SourceUnreadable            3  ragged rows, wrong encoding, not the format it claims to be
│   │   └── SheetNeeded             3  a workbook has several sheets with tables, or none of that name
│   ├── ColumnError                 3  a column is missing, doubled, unnamed or of the wrong kind
│   │   └── TooManyColumns          3  more columns than a table may have
│   ├── EmptySource                 3  there is nobody in it
│   ├── CountError                  3  a count column holds something that is no number of people
│   ├── WeightError                 3  a survey weight is no positive number
│   ├── OutsideHierarchy            3  values that their hierarchy does not know
│   └── PopulationError             3  the population is not that of the data
├── PolicyError                     4  the policy file is wrong
│   └── HierarchyError              4  a hierarchy file or rule is wrong
├── Refused                         5  a permission or a budget says no
│   ├── BudgetExhausted             5  what is left is less than what it costs
│   └── Outdated                    5  it was decided on a state that has changed since
├── IntegrityError                  6  stored state is not what was written
└── StoreError                     69  the store cannot be used now, so nothing is disclosed
    ├── StoreUnreachable           69  no such file, folder, database or server, or it does not let us in
    ├── StoreBusy                  69  another process has held the lock for too long
    ├── StoreFull                  69  there is no room left to write
    ├── StoreReadOnly              69  it can be read but not written
    └── StoreTooNew                69  it was written by a newer version of Discreet

A message says what was expected, what came, and what to do next. It never carries a value from a person's
record: it counts, and it names columns, files and line numbers. Only of values outside a hierarchy, those that at least
five people hold are named.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

__all__ = [
    "BudgetExhausted",
    "ColumnError",
    "CountError",
    "DataError",
    "DiscreetError",
    "EmptySource",
    "HierarchyError",
    "IntegrityError",
    "KeyReused",
    "MissingExtra",
    "NotThere",
    "Outdated",
    "OutsideHierarchy",
    "PolicyError",
    "PopulationError",
    "Refused",
    "RequestError",
    "SourceNotFound",
    "SourceUnreadable",
    "StoreBusy",
    "StoreError",
    "StoreFull",
    "StoreReadOnly",
    "StoreTooNew",
    "StoreUnreachable",
    "TooManyColumns",
    "Unsatisfiable",
    "UsageError",
    "WeightError",
]


class DiscreetError(Exception):
    """The root of the tree: what went wrong (`str(error)`) and what to do next (`error.remedy`)."""

    exit_code: ClassVar[int] = 70

    def __init__(self, problem: str, *, remedy: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.problem} {self.remedy}".strip()


class UsageError(DiscreetError):
    """The call cannot be understood."""

    exit_code = 2


class MissingExtra(UsageError):
    """A capability is not installed."""

    def __init__(self, extra: str, *, needed_for: str) -> None:
        super().__init__(
            f"{needed_for} needs the extra '{extra}', which is not installed.",
            remedy=f"Install it with: pip install 'discreet[{extra}]'",
        )
        self.extra = extra


class RequestError(UsageError):
    """A request in SQL cannot be understood; what is not understood is not let through."""


class KeyReused(UsageError):
    """An idempotency key came back with another request."""


class Unsatisfiable(UsageError):
    """No published table satisfies the limits."""


class NotThere(UsageError):
    """There is no such thing, or none for this account: the answer is the same."""


class DataError(DiscreetError):
    """The data cannot be used as they are."""

    exit_code = 3


class SourceNotFound(DataError):
    """No such file, table or server."""


class SourceUnreadable(DataError):
    """Ragged rows, wrong encoding, or not the format it claims to be."""


class ColumnError(DataError):
    """A column is missing, doubled, unnamed or of the wrong kind."""


class TooManyColumns(ColumnError):
    """More columns than a table may have."""

    def __init__(self, problem: str, *, remedy: str = "", columns: int = 0) -> None:
        super().__init__(problem, remedy=remedy)
        self.columns = columns


class SheetNeeded(SourceUnreadable):
    """A workbook has several sheets with tables, or none of the name that was given."""

    def __init__(self, problem: str, *, remedy: str = "", sheets: Sequence[str] = ()) -> None:
        super().__init__(problem, remedy=remedy)
        self.sheets = tuple(sheets)
        """Those among which one can be chosen."""


class EmptySource(DataError):
    """There is nobody in it."""


class CountError(DataError):
    """A count column holds something that is no number of people."""


class WeightError(DataError):
    """A survey weight is no positive number."""


class OutsideHierarchy(DataError):
    """Values that their hierarchy does not know."""


class PopulationError(DataError):
    """The population is not that of the data: people of the data are not in it, or it is written otherwise."""


class PolicyError(DiscreetError):
    """The policy file is wrong; carries the file and the line where they are known."""

    exit_code = 4

    def __init__(self, problem: str, *, remedy: str = "", file: str = "", line: int | None = None) -> None:
        place = f"{file}:{line}: " if file and line else f"{file}: " if file else ""
        super().__init__(f"{place}{problem}", remedy=remedy)
        self.file = file
        self.line = line


class HierarchyError(PolicyError):
    """A hierarchy file or rule is wrong."""


class Refused(DiscreetError):
    """A permission or a budget says no."""

    exit_code = 5


class BudgetExhausted(Refused):
    """What is left is less than what it costs."""


class Outdated(Refused):
    """It was decided on a state that has changed since; read it again and decide again."""


class IntegrityError(DiscreetError):
    """Stored state is not what was written."""

    exit_code = 6


class StoreError(DiscreetError):
    """The store cannot be used now, so nothing is disclosed."""

    exit_code = 69


class StoreUnreachable(StoreError):
    """No such file, folder, database or server, or it does not let us in."""


class StoreBusy(StoreError):
    """Another process has held the lock for too long."""


class StoreFull(StoreError):
    """There is no room left to write."""


class StoreReadOnly(StoreError):
    """It can be read but not written."""


class StoreTooNew(StoreError):
    """It was written by a newer version of Discreet."""
