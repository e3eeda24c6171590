"""Random small tables with random nested hierarchies."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.anonymity.brute import Data, Path, Person


@st.composite
def trees(draw: st.DrawFn) -> tuple[Path, ...]:
    """A hierarchy of up to seven values and four levels, sometimes without a single top."""
    size = draw(st.integers(1, 7))
    groups = list(range(size))
    rows = [[f"v{value}"] for value in range(size)]
    for level in range(1, draw(st.integers(1, 4))):
        merge = draw(st.lists(st.integers(0, max(groups)), min_size=max(groups) + 1, max_size=max(groups) + 1))
        order = {group: place for place, group in enumerate(dict.fromkeys(merge))}
        groups = [order[merge[group]] for group in groups]
        for value in range(size):
            rows[value].append(f"l{level}-{groups[value]}")
    if draw(st.booleans()):
        rows = [[*row, "*"] for row in rows]
    return tuple(tuple(row) for row in rows)


@st.composite
def tables(draw: st.DrawFn, *, secrets: int = 1, numbers: int | None = None) -> Data:
    """Up to 30 people by up to four columns; with `numbers`, rows of up to so many numbered people."""
    columns = draw(st.lists(trees(), min_size=1, max_size=4))
    person = st.tuples(st.tuples(*(st.sampled_from(tree) for tree in columns)), st.integers(1, secrets))
    people = draw(st.lists(person, min_size=1, max_size=30))
    if numbers is None:
        return Data(tuple(Person(paths, f"s{secret}") for paths, secret in people), tuple(columns))
    rows = st.tuples(st.integers(1, numbers), st.sampled_from([1, 1, 1, 1, 9]))  # some have many rows that look alike
    repeated = [(Person(paths, f"s{secret}", whose), n) for paths, secret in people for whose, n in [draw(rows)]]
    return Data(tuple(row for row, n in repeated for _ in range(n)), tuple(columns))


@st.composite
def wished_tables(draw: st.DrawFn, *, secrets: int = 1) -> Data:
    """Such tables with weights, and with levels that are not allowed."""
    data = draw(tables(secrets=secrets))
    wishes = []
    for tree in data.trees:
        low = draw(st.integers(0, len(tree[0]) - 1))
        high = draw(st.integers(low, len(tree[0]) - 1))
        wishes.append((draw(st.sampled_from([0.25, 1.0, 2.0, 7.5])), low, high))
    return Data(data.people, data.trees, tuple(wishes))
