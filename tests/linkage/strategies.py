"""Small tables of made-up people in which almost everything goes wrong."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import strategies as st

KINDS: Any = {"given": "string", "family": "string", "id": "fixed", "born": "date", "sex": "category"}
MISSING = st.sampled_from([None, "", "?", math.nan])


def words(alphabet: str = "abc", most: int = 6) -> st.SearchStrategy[str]:
    """Short texts in which prefixes, repetitions and exchanges are common."""
    return st.text(alphabet, min_size=1, max_size=most)


SIGNS = st.sampled_from(["a", "b", "é", "e\u0301", "ß", "*", "@", "&", " ", "ａ", "中", "\0"])
ODD = st.lists(SIGNS, min_size=1, max_size=5).map("".join)
NAMES = st.one_of(
    st.sampled_from(["Ann", "Anna", "Miller", "Muller", "Al", "Alexander", "Brain", "Brian"]), words(), ODD
).filter(lambda value: value != "?")
IDS = st.one_of(st.text("01", min_size=6, max_size=6), st.text("012", min_size=3, max_size=6))
DATES = st.builds(
    lambda month, day, year: f"{month:02}/{day:02}/{year}",
    st.sampled_from([1, 8, 9, 10, 12]),
    st.sampled_from([1, 8, 9, 10, 12, 28]),
    st.sampled_from([1964, 1946, 1990]),
)
CELLS: dict[str, st.SearchStrategy[Any]] = {
    "given": NAMES,
    "family": NAMES,
    "id": IDS,
    "born": DATES,
    "sex": st.sampled_from(["F", "M", "not said"]),
}


@st.composite
def tables(draw: st.DrawFn, least: int = 2, most: int = 7) -> list[dict[str, Any]]:
    """Records of which some repeat values of others, have names exchanged, or lack something."""
    size = draw(st.integers(least, most))
    records: list[dict[str, Any]] = []
    for _ in range(size):
        record = {name: draw(cells) for name, cells in CELLS.items()}
        if records:
            model = draw(st.sampled_from(records))
            kept = draw(st.sets(st.sampled_from(sorted(CELLS))))
            record |= {name: model[name] for name in kept}
            if draw(st.booleans()) and draw(st.booleans()):
                record |= {"given": model["family"], "family": model["given"]}
        for name in draw(st.lists(st.sampled_from(sorted(CELLS)), max_size=1)):
            record[name] = draw(MISSING)
        records.append(record)
    return records


def pairs_of(records: list[Any], most: int = 4) -> st.SearchStrategy[list[tuple[int, int]]]:
    """Some pairs of different records."""
    places = st.integers(0, len(records) - 1)
    pair = st.tuples(places, places).filter(lambda one: one[0] != one[1])
    return st.lists(pair, min_size=1, max_size=most)


@st.composite
def shown(draw: st.DrawFn, most: int = 7) -> tuple[list[dict[str, Any]], list[tuple[int, int]]]:
    """Records, and pairs of them."""
    records = draw(tables(most=most))
    return records, draw(pairs_of(records))
