"""The measure word by word, without any cleverness: the oracle of this room."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from discreet.kernel.hierarchy import text
from discreet.misuse import Sensitivity

Row = Mapping[str, Any]


def record_scores(rows: Sequence[Row], source: Sequence[Row], quasi: Sequence[str], f: Sensitivity) -> list[float]:
    """RS of each row: what it weighs, at most 1, divided by the people of the source who look like it."""
    names = {name for row in rows for name in row}
    present = [name for name in quasi if name in names]
    found = []
    for row in rows:
        weight = min(1.0, sum(f(name, row.get(name)) for name in f.columns if name in names))
        mine = [text(row.get(name)) for name in present]
        alike = sum([text(other.get(name)) for name in present] == mine for other in source)
        found.append(weight / (max(alike, 1) if present else len(rows)))
    return found


def score(rows: Sequence[Row], source: Sequence[Row], quasi: Sequence[str], f: Sensitivity, x: float) -> float:
    """M = r^(1/x) * RS."""
    scores = record_scores(rows, source, quasi, f)
    return len(rows) ** (1 / x) * max(scores) if scores else 0.0


def largest_part(rows: Sequence[Row], source: Any, quasi: Sequence[str], f: Sensitivity, x: float, limit: float) -> int:
    """The size of the largest part within the limit, by trying all parts."""
    names = {name for row in rows for name in row}
    for size in range(len(rows), 0, -1):
        for part in itertools.combinations(rows, size):
            full = [{name: row.get(name) for name in names} for row in part]
            if score(full, source, quasi, f, x) <= limit:
                return size
    return 0


def fewest_cells(rows: Sequence[Row], source: Any, quasi: Sequence[str], f: Sensitivity, x: float, limit: float) -> int:
    """The fewest cells to empty, by trying all ways."""
    cells = [(place, name) for place, row in enumerate(rows) for name in f.columns if name in row]
    for number in range(len(cells) + 1):
        for chosen in itertools.combinations(cells, number):
            emptied = [{n: None if (p, n) in chosen else v for n, v in row.items()} for p, row in enumerate(rows)]
            if score(emptied, source, quasi, f, x) <= limit:
                return number
    raise AssertionError("with all cells empty the score is 0")


Publication = tuple[Sequence[int], Mapping[str, Sequence[Any]], Sequence[int]]


def exposure(publications: Iterable[Publication], f: Sensitivity, x: float) -> float:
    """The largest score over all sets of attributes, of everybody of whom at least these are known."""
    cells: dict[int, dict[str, float]] = {}
    crowds: dict[int, int] = {}
    for entities, values, distinguishing in publications:
        for place, entity in enumerate(entities):
            for name, column in values.items():
                if name in f.columns:
                    weight = f(name, column[place])
                    known = cells.setdefault(entity, {})
                    known[name] = max(known.get(name, 0.0), weight)
                    crowds[entity] = min(crowds.get(entity, distinguishing[place]), distinguishing[place])
    best = 0.0
    for size in range(1, len(f.columns) + 1):
        for attributes in itertools.combinations(sorted(f.columns), size):
            members = [entity for entity, known in cells.items() if all(name in known for name in attributes)]
            if members:
                scores = [min(1.0, sum(cells[e][name] for name in attributes)) / crowds[e] for e in members]
                best = max(best, len(members) ** (1 / x) * max(scores))
    return best


def close(one: float, other: float) -> bool:
    """Equal up to rounding."""
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
