"""How many people of each governed table look alike: counted by the database, counted again when it has changed.

Counting goes on beside the sessions: until a new count is there, the old one holds. A tuple that the count does not
know is a crowd of one, so rows that came since are taken for recognisable.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from discreet.errors import DataError, DiscreetError, EmptySource, UsageError
from discreet.gateway.own import Own, may_not_read
from discreet.kernel import Classes
from discreet.misuse import Prepared, prepare
from discreet.policy.gateway_section import GatewayPolicy, GovernedTable
from discreet.sources.postgres.engine import PostgresEngine, quote, quoted


@dataclass(frozen=True)
class Counted:
    """A table, counted."""

    prepared: Prepared | None
    """None for an empty table, or one without quasi-identifiers."""
    rows: int
    at: float
    """When, on the monotonic clock."""
    changes: int
    """How many rows had been changed by then."""


class Histograms:
    """The counts of all governed tables."""

    def __init__(self, own: Own, policy: GatewayPolicy) -> None:
        self._own = own
        self._policy = policy
        self._counted: Mapping[str, Counted] = {}
        self.unique: frozenset[str] = frozenset()
        """Tables in which nobody has two rows."""

    def of(self, table: str) -> Counted:
        """The count of a table that holds now."""
        return self._counted[table]

    def count_all(self, tables: Mapping[str, GovernedTable], oids: Mapping[str, list[int]]) -> None:
        """Count every table; at the start."""
        self._counted = {name: self._count(table, oids[name]) for name, table in tables.items()}

    def refresh(self, tables: Mapping[str, GovernedTable], oids: Mapping[str, list[int]]) -> list[str]:
        """Count those again that are old or have changed much; the names of these."""
        due = [name for name in tables if self._is_due(name, oids[name])]
        for name in due:
            self._counted = {**self._counted, name: self._count(tables[name], oids[name])}
        return due

    def _is_due(self, name: str, oids: list[int]) -> bool:
        counted = self._counted.get(name)
        if counted is None or time.monotonic() - counted.at >= self._policy.refresh_seconds:
            return True
        changed = self._own.changes(oids) - counted.changes
        return changed >= self._policy.refresh_changes or changed < 0  # the server's statistics were reset

    def _count(self, table: GovernedTable, oids: list[int]) -> Counted:
        began, changes = time.monotonic(), self._own.changes(oids)
        self._refuse_too_many(table)
        engine = self._engine(table)
        try:
            histogram = engine.count([*table.quasi])
        except EmptySource:
            return Counted(None, 0, began, changes)
        except DataError:
            raise may_not_read(table.name) from None
        rows = int(histogram.counts.sum())
        if not rows or not table.quasi:
            return Counted(None, rows, began, changes)
        return Counted(prepare(Classes.from_histogram(histogram), table.quasi), rows, began, changes)

    def _engine(self, table: GovernedTable) -> PostgresEngine:
        """People, not rows: where somebody may have several rows, each tuple of hers counts once."""
        if table.name in self.unique or not table.key:
            return PostgresEngine(self._own.url, table=full(table.name))
        columns = ", ".join(quote(name) for name in (*table.key, *table.quasi))
        people = f"SELECT DISTINCT {columns} FROM {quoted(full(table.name))}"  # noqa: S608 - quoted
        return PostgresEngine(self._own.url, query=people)

    def _refuse_too_many(self, table: GovernedTable) -> None:
        most = self._policy.largest_histogram
        columns = ", ".join(quote(name) for name in table.quasi)
        if not columns:
            return
        ask = f"SELECT count(*) FROM (SELECT 1 FROM {quoted(full(table.name))} GROUP BY {columns} LIMIT {most + 1}) AS alike"  # noqa: S608 - quoted
        with self._own.cursor() as cursor:
            try:
                (found,) = cursor.execute(ask).fetchone()
            except DiscreetError:
                raise
            except Exception:
                raise may_not_read(table.name) from None
        if found > most:
            raise UsageError(
                f"Table '{table.name}' has more than {most:,} distinct tuples of quasi-identifiers.",
                remedy="Raise largest_histogram in [gateway], or list fewer quasi-identifiers for it.",
            )


def full(name: str) -> str:
    """The name with its schema.

    >>> full("patients"), full("clinic.patients")
    ('public.patients', 'clinic.patients')
    """
    return name if "." in name else f"public.{name}"
