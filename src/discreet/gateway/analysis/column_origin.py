"""Column origin: by RowDescription, the plan, the statement; literals spelled as its cells.

What stays unresolved is taken for the worst: every sensitive column of every table that the statement names.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from discreet.gateway.analysis.analyse import Reading
from discreet.gateway.analysis.disclosure import Undecodable, loader
from discreet.gateway.enforcement.verdicts import Bind
from discreet.gateway.protocol.messages import ResultColumn
from discreet.gateway.upstream_queries import Explained
from discreet.kernel.arrays import Label
from discreet.kernel.hierarchy import text
from discreet.policy.gateway_section import GovernedTable
from discreet.sql.catalog import Catalog, ColumnSource, Leaf
from discreet.sql.scope import ROW

SENSITIVE, QUASI, KEY, IDENTIFIER, PLACE = "sensitive", "quasi", "key", "identifier", "row"


@dataclass(frozen=True)
class ShownColumn:
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


def needs_plan(columns: Sequence[ResultColumn], reading: Reading) -> bool:
    """Whether some column is an expression that the statement says may hold governed values."""
    return any(
        not column.table and reading.projection(place, len(columns)).leaves for place, column in enumerate(columns)
    )


def shown(
    columns: Sequence[ResultColumn], reading: Reading, catalog: Catalog, explained: Explained | None = None
) -> tuple[ShownColumn, ...]:
    """The columns of a result, each with where it comes from."""
    if explained is not None and len(explained.origins) != len(columns):
        explained = None
    origins = []
    for place, column in enumerate(columns):
        projection = reading.projection(place, len(columns))
        if column.table:
            origins.append(_of_table(column, catalog))
        elif projection.kind in ("count", "people"):
            origins.append(ShownColumn(column.name, kind=projection.kind))
        else:
            # The server may plan away for the gateway what it would not for the client, who has other settings.
            leaves = projection.leaves if explained is None else explained.origins[place].leaves | projection.named
            kind = "collect" if projection.kind == "star" else projection.kind
            origins.append(ShownColumn(column.name, leaves=leaves, kind=kind))
    return tuple(origins)


def _of_table(column: ResultColumn, catalog: Catalog) -> ShownColumn:
    relation = catalog.relations.get(column.table)
    if relation is None and catalog.is_new(column.table):
        return ShownColumn(column.name, leaves=catalog.leaves(), kind="collect")
    if relation is None:
        return ShownColumn(column.name)
    if column.number < 0:
        return ShownColumn(column.name, role=PLACE, table=min(relation.roots), column=ROW)
    if column.number == 0:  # a whole row
        held = frozenset().union(*(origin.leaves for _, origin in relation.columns.values()))
        return ShownColumn(column.name, leaves=held, kind="value" if relation.once else "collect")
    origin = relation.columns.get(column.number, ("", ColumnSource()))[1]
    if not origin.direct:
        return ShownColumn(column.name, leaves=origin.leaves, kind="value" if relation.once else "collect")
    (leaf,) = origin.leaves
    return ShownColumn(column.name, role_of(leaf, catalog.governed[leaf[0]]), *leaf, leaves=origin.leaves)


# Values in conditions, spelt as the cells of their column are: what the server takes for equal must weigh the same.
AS_WRITTEN = frozenset(("text", "varchar", "name", "enum"))
NUMERIC_TYPES = frozenset(("int2", "int4", "int8", "numeric", "float4", "float8"))
_SHORT = {"1": "true", "0": "false", "on": "true", "of": "false", "off": "false"}


def spelt(value: Label, kind: str) -> Label:
    """The value as the kernel spells cells of this type; LookupError where it could be spelt in other ways.

    >>> spelt("B20  ", "bpchar"), spelt("T", "bool"), spelt("007.50", "numeric")
    ('B20', 'true', '7.5')
    """
    if value is None or kind in AS_WRITTEN:
        return value
    if kind == "bpchar":
        return value.rstrip(" ")
    written = value.strip().lower()
    if kind == "bool":
        if written in _SHORT:
            return _SHORT[written]
        for truth, word in (("true", "true"), ("false", "false"), ("true", "yes"), ("false", "no")):
            if written and word.startswith(written):
                return truth
        raise LookupError
    if kind in NUMERIC_TYPES:
        try:
            return text(Decimal(written))
        except InvalidOperation:
            raise LookupError from None
    raise LookupError


# The values of parameters, as far as they can be told from a Bind.
TEXTS = frozenset((0, 25, 1043, 1042, 19, 705))
NUMBERS = frozenset((20, 21, 23))
_AS_TEXT, _AS_BYTES = TEXTS | NUMBERS, NUMBERS | (TEXTS - {0})


def told(bind: Bind) -> dict[str, Any]:
    """Numbers of parameters, as $1 is written, with their texts; those that cannot be told are left out.

    >>> body = b"\\0\\0" + b"\\0\\2\\0\\0\\0\\1" + b"\\0\\2\\0\\0\\0\\x017\\0\\0\\0\\2\\0\\1" + b"\\0\\0"
    >>> told(Bind("", "", "SELECT $1, $2", (23,), body))
    {'1': '7'}
    """
    found: dict[str, Any] = {}
    given = bind.values
    formats = given.parameter_formats
    if len(formats) == 1:  # it holds for all parameters
        formats *= len(given.parameters)
    for place, value in enumerate(given.parameters):
        kind = bind.types[place] if place < len(bind.types) else 0
        form = formats[place] if place < len(formats) else 0
        if value is None or kind not in (_AS_BYTES if form else _AS_TEXT):
            continue
        with suppress(Undecodable, UnicodeDecodeError, ValueError):
            found[str(place + 1)] = text(loader(kind, 1)(value)) if form else value.decode()
    return found
