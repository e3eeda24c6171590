"""Small tables of made-up customers."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import strategies as st

from tests.misuse.paper import QUASI

CELLS: dict[str, st.SearchStrategy[Any]] = {
    "job": st.sampled_from(["Lawyer", "Teacher", None]),
    "city": st.sampled_from(["NY", "LA"]),
    "sex": st.sampled_from(["Female", "Male", ""]),
    "account": st.sampled_from(["Gold", "Silver", "Bronze", "White", "Copper", None]),
    "bill": st.sampled_from([0, 100, 100.5, 250, 400, 699.99, 700, 701, -5, None, math.nan]),
    "note": st.sampled_from(["a", "b"]),
}
XS = st.sampled_from([1.0, 1.5, 2.0, 3.0, math.inf])


def rows(
    names: tuple[str, ...] = tuple(CELLS), *, least: int = 0, most: int = 8
) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Rows with these columns."""
    return st.lists(st.fixed_dictionaries({name: CELLS[name] for name in names}), min_size=least, max_size=most)


def columns() -> st.SearchStrategy[tuple[str, ...]]:
    """Some of the columns, in their order."""
    chosen = st.sets(st.sampled_from(sorted(CELLS)))
    return chosen.map(lambda names: tuple(name for name in CELLS if name in names))


def results(most: int = 8) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Results with some of the columns."""
    return columns().flatmap(lambda names: rows(names, most=most))


__all__ = ["CELLS", "QUASI", "XS", "columns", "results", "rows"]
