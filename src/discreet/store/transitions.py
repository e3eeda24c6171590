"""Guarded transitions: a row moves from state to state in one statement, or not at all.

A state machine lists, as data, which states may follow which. A move is one UPDATE that names the row together with the
states it may be in. Of two writers who act at the same time, one changes the row and the other matches nothing: SQLite
admits one writer at a time, and PostgreSQL evaluates the condition again on the row that it has waited for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, Update, update

Condition = ColumnElement[bool]


@dataclass(frozen=True)
class StateMachine:
    """States of a table's rows (column `state`) and the transitions between them.

    >>> from discreet.errors import Outdated
    >>> from discreet.store.tables.gateway import WITHDRAWAL
    >>> decisions = {"proposed": ("approved", "declined"), "approved": (), "declined": ()}
    >>> machine = StateMachine(WITHDRAWAL, decisions, lambda: Outdated("Decided meanwhile.", remedy="Look again."))
    >>> machine.sources("approved")
    ('proposed',)
    """

    table: Table
    transitions: Mapping[str, Collection[str]]
    """From each state the states that may follow; none after a final one. A state that follows itself may be repeated."""
    too_late: Callable[[], Exception]
    """The error for a row that is no longer in a state that allows the move."""

    def sources(self, state: str) -> tuple[str, ...]:
        """States that a row may come from."""
        return tuple(source for source, following in self.transitions.items() if state in following)

    def update(
        self, *rows: Condition, to: str | None = None, was: Collection[str] | None = None, **values: Any
    ) -> Update:
        """The guarded statement: to a state from any of its sources, or from those in `was`.

        Without `to` the state stays as it is, and `was` says in which states the row may be changed.
        """
        sources = tuple(self.transitions) if to is None else self.sources(to)
        expected = sources if was is None else tuple(was)
        if not expected or not set(expected) <= set(sources):
            raise ValueError(f"{self.table.name} has no transition from {sorted(expected)} to '{to}'")
        new = values if to is None else {"state": to, **values}
        return update(self.table).where(*rows, self.table.c.state.in_(expected)).values(new)

    def attempt(
        self, connection: Connection, *rows: Condition, to: str | None = None, was: Collection[str] | None = None, **values: Any
    ) -> bool:  # fmt: skip
        """Make the move; False if the row is in another state by now, or does not exist."""
        return connection.execute(self.update(*rows, to=to, was=was, **values)).rowcount == 1

    def move(
        self, connection: Connection, *rows: Condition, to: str | None = None, was: Collection[str] | None = None, **values: Any
    ) -> None:  # fmt: skip
        """Make the move, or raise the machine's error."""
        if not self.attempt(connection, *rows, to=to, was=was, **values):
            raise self.too_late()


def update_one(connection: Connection, table: Table, *guards: Condition, **values: Any) -> bool:
    """Change one row that is still as it was read; False if another writer was quicker."""
    return connection.execute(update(table).where(*guards).values(values)).rowcount == 1
