"""Several tables about the same entities: JT = PT join T1 .. Tn, scored entity by entity.

Per entity the weights of its *distinct* sensitive values over all its rows are added up; its D is the least D of its
rows; r is the number of entities.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import ColumnError, DataError, UsageError
from discreet.kernel.arrays import Floats, Ints, Label, group
from discreet.misuse.score import Score, Weighed
from discreet.misuse.source.columns import Columns, coded, labels
from discreet.misuse.source.reading import columns_of

if TYPE_CHECKING:
    from discreet.misuse.score import Known, Scorer


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


def score_entities(scorer: Scorer, entity: str, columns: Columns, known: Known) -> Score:
    """The score of a table in which an entity may have several rows."""
    from discreet.misuse.score import added, crowds_of

    plan = scorer.plan((*columns.names, *known.names))
    owners, first = _entities(columns, entity)
    weights = [
        np.full(len(first), known.weights[name])
        if name in known.weights
        else _distinct(columns, name, its, owners, len(first))
        for name, its in plan.weighing
    ]
    crowds = np.full(len(first), len(first), dtype=np.int64)
    if plan.crowds is not None:
        crowds[:] = np.iinfo(np.int64).max
        np.minimum.at(crowds, owners, crowds_of(plan, columns, known))
    scores = np.minimum(added(weights, len(first)), 1.0) / crowds
    found = scorer.score(
        plan, Weighed(weights, crowds, scores, first), float(scores.max(initial=0.0)), len(first), known
    )
    # The same score, normalised by the entities of the source where its rows are at hand.
    from dataclasses import replace

    return replace(found, whole=partial(_whole, found, scorer, entity))


def _entities(columns: Columns, entity: str) -> tuple[Ints, Ints]:
    """The entity of each row, numbered, and the first row of each."""
    if entity not in columns.names:
        raise ColumnError(f"The result has no column '{entity}'.", remedy="entity= names the column of the entities.")
    its = coded(columns.cells(entity))
    missing = sum(int((its.codes == code).sum()) for code, value in enumerate(its.values) if value is None)
    if missing:
        raise DataError(
            f"{missing} rows do not say whom they are about: column '{entity}' is empty there.",
            remedy="Leave these rows out, or score rows instead of entities.",
        )
    first, owners, _ = group(its.codes, max(len(its.values), 1))
    return owners, first


def _distinct(columns: Columns, name: str, weights: Any, owners: Ints, entities: int) -> Floats:
    """Per entity the weights of its distinct values in a column, added up."""
    its = coded(columns.cells(name))
    pairs = np.unique(owners * max(len(its.values), 1) + its.codes)
    table = np.array([weights(value) for value in its.values] or [0.0])
    whose, which = np.divmod(pairs, max(len(its.values), 1))
    return np.bincount(whose, weights=table[which], minlength=entities).astype(np.float64)


def _whole(found: Score, scorer: Scorer, entity: str) -> tuple[int, float] | None:
    source = scorer.source.source
    wanted = {entity, *found.plan.quasi, *found.plan.sensitive}
    if not isinstance(source, Columns) or not wanted <= set(source.names):
        return None
    everything = Columns(tuple(name for name in source.names if name in wanted), source.rows, source.cells)
    from discreet.misuse.score import NOTHING

    whole = score_entities(scorer, entity, everything, NOTHING)
    return whole.rows, whole.record_score
