"""Several tables about the same entities: JT = PT join T1 .. Tn, scored entity by entity.

Per entity the weights of its *distinct* sensitive values over all its rows are added up; its D is the least D of its
rows; r is the number of entities.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from discreet.errors import ColumnError, UsageError
from discreet.kernel.arrays import Ints, Label
from discreet.misuse.source.columns import Columns, labels
from discreet.misuse.source.reading import columns_of


def join(tables: Mapping[str, Any], on: Sequence[str]) -> Columns:
    """Join tables over declared keys, the first table being the one whose rows are all kept.

    `on` holds conditions such as "customers.id = bills.customer"; each table but the first is reached by one of them,
    from a table before it. Columns keep their names; a name that several tables have is written "table.column".

    >>> people = [{"id": 1, "job": "Lawyer"}, {"id": 2, "job": "Teacher"}]
    >>> bills = [{"customer": 1, "bill": 100}, {"customer": 1, "bill": 900}]
    >>> joined = join({"people": people, "bills": bills}, on=["people.id = bills.customer"])
    >>> joined.names, joined.cells("bill")
    (('id', 'job', 'customer', 'bill'), ['100', '900', None])
    """
    opened = {name: columns_of(table) for name, table in tables.items()}
    if not opened:
        raise UsageError("There is nothing to join.", remedy='join({"people": ..., "bills": ...}, on=[...])')
    places = _places(opened, [_condition(text, opened) for text in on])
    names = dict(_named(opened))

    def decode(name: str) -> list[Label]:
        table, column = names[name]
        cells = [*labels(opened[table].cells(column)), None]
        return [cells[place] for place in places[table].tolist()]

    return Columns(tuple(names), len(next(iter(places.values()))), decode)


Side = tuple[str, str]


def _condition(written: str, tables: Mapping[str, Columns]) -> tuple[Side, Side]:
    sides = [_side(part, tables) for part in written.split("=")]
    if len(sides) != 2 or sides[0][0] == sides[1][0]:
        raise UsageError(f"'{written}' joins no two tables.", remedy="Write: customers.id = bills.customer")
    return sides[0], sides[1]


def _side(written: str, tables: Mapping[str, Columns]) -> Side:
    table, _, column = written.strip().partition(".")
    if table not in tables:
        raise UsageError(f"There is no table '{table}' to join.", remedy=f"Known: {', '.join(tables)}.")
    if column not in tables[table].names:
        raise ColumnError(f"Table '{table}' has no column '{column}'.", remedy="Check the names of the columns.")
    return table, column


def _places(tables: Mapping[str, Columns], conditions: Sequence[tuple[Side, Side]]) -> dict[str, Ints]:
    """Per table the row that stands in each row of the join; -1 where none does."""
    first, *rest = tables
    places = {first: np.arange(tables[first].rows)}
    for name in rest:
        links = [pair if pair[1][0] == name else pair[::-1] for pair in conditions if name in (pair[0][0], pair[1][0])]
        links = [(near, far) for near, far in links if near[0] in places]
        if len(links) != 1:
            raise UsageError(
                f"Table '{name}' is reached by {len(links)} conditions from the tables before it.",
                remedy="Declare exactly one, such as customers.id = bills.customer; order the tables from the first outwards.",
            )
        near, far = links[0]
        repeat, found = _matches(tables, places[near[0]], near, far)
        places = {table: its[repeat] for table, its in places.items()} | {name: found}
    return places


def _matches(tables: Mapping[str, Columns], near_rows: Ints, near: Side, far: Side) -> tuple[Ints, Ints]:
    """For each match the row of the join so far and the row over there; rows without a match are kept."""
    over_there: dict[Label, list[int]] = {}
    for place, key in enumerate(labels(tables[far[0]].cells(far[1]))):
        if key is not None:
            over_there.setdefault(key, []).append(place)
    keys = [*labels(tables[near[0]].cells(near[1])), None]
    pairs = [(row, match) for row, at in enumerate(near_rows.tolist()) for match in over_there.get(keys[at], (-1,))]
    left, right = zip(*pairs, strict=True) if pairs else ((), ())
    return np.array(left, dtype=np.int64), np.array(right, dtype=np.int64)


def _named(tables: Mapping[str, Columns]) -> Iterator[tuple[str, Side]]:
    everywhere = [name for table in tables.values() for name in table.names]
    for table, columns in tables.items():
        for name in columns.names:
            yield (name if everywhere.count(name) == 1 else f"{table}.{name}"), (table, name)
