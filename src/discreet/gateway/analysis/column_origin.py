"""Where each column of a result comes from: what the server says in RowDescription, then its plan, then the statement.

What stays unresolved is taken for the worst: every sensitive column of every table that the statement names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.gateway.catalog.plans import Explained
from discreet.gateway.protocol.messages import Column
from discreet.gateway.reading import Reading
from discreet.policy.gateway_section import GovernedTable
from discreet.sql.catalog import Catalog, Leaf, Origin
from discreet.sql.scope import ROW

SENSITIVE, QUASI, KEY, IDENTIFIER, PLACE = "sensitive", "quasi", "key", "identifier", "row"

COUNTS = ("count", "people")


@dataclass(frozen=True)
class Shown:
    """A column of a result."""

    name: str
    role: str = ""
    """Of a governed column that is shown as it is: what it is to an adversary."""
    table: str = ""
    column: str = ""
    leaves: frozenset[Leaf] = frozenset()
    """Of an expression: the governed columns that it is made of."""
    kind: str = "value"
    """value, count, people, group or collect, as in `reading.Projection`."""

    @property
    def derived(self) -> bool:
        """Whether it is made of governed columns, but none as it is."""
        return not self.role and bool(self.leaves)


def role_of(leaf: Leaf, table: GovernedTable) -> str:
    """What a governed column is to an adversary."""
    column = leaf[1]
    if column in table.sensitive:
        return SENSITIVE
    if column in table.identifiers:
        return IDENTIFIER
    if column in table.key:
        return KEY
    return QUASI if column in table.quasi else PLACE


def needs_plan(columns: Sequence[Column], reading: Reading) -> bool:
    """Whether some column is an expression that the statement says may hold governed values."""
    return any(
        not column.table and reading.projection(place, len(columns)).leaves for place, column in enumerate(columns)
    )


def shown(
    columns: Sequence[Column], reading: Reading, catalog: Catalog, explained: Explained | None = None
) -> tuple[Shown, ...]:
    """The columns of a result, each with where it comes from."""
    if explained is not None and len(explained.origins) != len(columns):
        explained = None
    return tuple(_shown(place, columns, reading, catalog, explained) for place in range(len(columns)))


def _shown(
    place: int, columns: Sequence[Column], reading: Reading, catalog: Catalog, explained: Explained | None
) -> Shown:
    column = columns[place]
    if column.table:
        return _of_table(column, catalog)
    projection = reading.projection(place, len(columns))
    if projection.kind in COUNTS:
        return Shown(column.name, kind=projection.kind)
    # The server may plan away for the gateway what it would not for the client, who has other settings.
    leaves = projection.leaves if explained is None else explained.origins[place].leaves | projection.named
    kind = "collect" if projection.kind == "star" else projection.kind
    return Shown(column.name, leaves=leaves, kind=kind)


def _of_table(column: Column, catalog: Catalog) -> Shown:
    relation = catalog.relations.get(column.table)
    if relation is None and catalog.is_new(column.table):
        return Shown(column.name, leaves=catalog.leaves(), kind="collect")
    if relation is None:
        return Shown(column.name)
    if column.number < 0:
        return Shown(column.name, role=PLACE, table=min(relation.roots), column=ROW)
    if column.number == 0:  # a whole row
        held = frozenset().union(*(origin.leaves for _, origin in relation.columns.values()))
        return Shown(column.name, leaves=held, kind="value" if relation.once else "collect")
    origin = relation.columns.get(column.number, ("", Origin()))[1]
    if not origin.direct:
        return Shown(column.name, leaves=origin.leaves, kind="value" if relation.once else "collect")
    (leaf,) = origin.leaves
    return Shown(column.name, role_of(leaf, catalog.governed[leaf[0]]), *leaf, leaves=origin.leaves)
