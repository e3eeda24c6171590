"""Random listings of people with random nested hierarchies, and the plain dictionaries they should come to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hypothesis import settings
from hypothesis import strategies as st

from discreet.kernel import Classes, Histogram, Tree
from discreet.kernel.arrays import Label
from tests.examples import examples

few = settings(max_examples=examples(30), deadline=None)
some = settings(max_examples=examples(80), deadline=None)

Row = tuple[Label, ...]


@dataclass(frozen=True)
class Listing:
    """People in rows, each row standing for a number of them, and a hierarchy per column: the oracle of the kernel."""

    trees: Mapping[str, Tree]
    rows: tuple[Row, ...]
    counts: tuple[int, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.trees)

    @property
    def bottom(self) -> tuple[int, ...]:
        return (0,) * len(self.trees)

    @property
    def people(self) -> int:
        return sum(self.counts)

    def classes(self) -> Classes:
        """The same through the kernel."""
        return Classes.of(self.names, self.rows, self.counts, rules=self.trees)

    def counted(self, levels: Sequence[int] | None = None) -> dict[Row, int]:
        """People per generalised tuple."""
        sums: Counter[Row] = Counter()
        for row, number in zip(self.rows, self.counts, strict=True):
            sums[self.generalised(row, levels or self.bottom)] += number
        return {row: number for row, number in sums.items() if number}

    def generalised(self, row: Row, levels: Sequence[int]) -> Row:
        return tuple(
            climb(tree, value)[level] for tree, value, level in zip(self.trees.values(), row, levels, strict=True)
        )

    def spread(self, column: str, levels: Sequence[int] | None = None) -> dict[tuple[Row, Label], int]:
        """People per generalised tuple of the other columns and value of this one."""
        place = self.names.index(column)
        levels = list(levels or (0,) * (len(self.names) - 1))
        levels.insert(place, 0)
        sums: Counter[tuple[Row, Label]] = Counter()
        for row, number in zip(self.rows, self.counts, strict=True):
            wide = self.generalised(row, levels)
            sums[(*wide[:place], *wide[place + 1 :]), row[place]] += number
        return {pair: number for pair, number in sums.items() if number}

    def classes_with_spread(self, column: str, *, flat: bool = False) -> Classes:
        """The classes of the other columns, with the spread of this one."""
        place = self.names.index(column)
        others = tuple(name for name in self.names if name != column)
        rows = [(*row[:place], *row[place + 1 :]) for row in self.rows]
        classes = Classes.of(others, rows, self.counts, rules=self.trees)
        return classes.with_spread(self.histogram(), column, rule=None if flat else self.trees[column])

    def histogram(self) -> Histogram:
        """What an engine would hand over, rows not grouped."""
        return Histogram.from_rows(
            self.names, [(*row, number) for row, number in zip(self.rows, self.counts, strict=True)]
        )


def climb(tree: Tree, value: Label) -> Row:
    """What a value becomes at each level; a missing one joins the others where all rows of the tree agree."""
    if value is not None:
        return next(row for row in tree.rows if row[0] == value)
    agreed = [labels[0] if len(set(labels)) == 1 else None for labels in zip(*tree.rows, strict=True)]
    return (None, *agreed[1:])


def as_dict(classes: Classes) -> dict[Row, int]:
    """People per tuple; fails if a tuple comes twice."""
    found = dict(zip(classes.tuples(), classes.sizes.tolist(), strict=True))
    assert len(found) == len(classes)
    return found


def spread_as_dict(classes: Classes, name: str) -> dict[tuple[Row, Label], int]:
    """People per tuple and sensitive value; fails if a pair comes twice."""
    rows, spread = list(classes.tuples()), classes.spreads[name]
    triples = zip(spread.owners.tolist(), spread.codes.tolist(), spread.counts.tolist(), strict=True)
    found = {(rows[owner], spread.values[code]): number for owner, code, number in triples}
    assert len(found) == len(spread.counts)
    return found


@st.composite
def trees(draw: st.DrawFn, *, most: int = 6) -> Tree:
    """A random nested hierarchy, with or without a single root; labels of different levels coincide on purpose."""
    leaves = draw(st.integers(1, most))
    parents = st.lists(st.integers(0, leaves - 1), min_size=leaves, max_size=leaves)
    levels = [list(range(leaves))]
    for parent in draw(st.lists(parents, max_size=3)):
        levels.append([parent[node] for node in levels[-1]])
    return Tree(tuple(tuple(f"v{node}" for node in row) for row in zip(*levels, strict=True)))


@st.composite
def listings(
    draw: st.DrawFn,
    *,
    columns: int | None = None,
    fewest: int = 0,
    least: int = 0,
    trees_of: Mapping[str, Tree] | None = None,
) -> Listing:
    """People on a few columns; rows repeat, values go missing, and a row may stand for `least` or more people."""
    if trees_of is None:
        number = draw(st.integers(1, 3)) if columns is None else columns
        trees_of = {f"c{place}": draw(trees()) for place in range(number)}
    cells = [st.sampled_from([*(row[0] for row in tree.rows), None]) for tree in trees_of.values()]
    rows = tuple(draw(st.lists(st.tuples(*cells), min_size=fewest, max_size=25)))
    counts = tuple(draw(st.lists(st.integers(least, 5), min_size=len(rows), max_size=len(rows))))
    return Listing(trees_of, rows, counts)


@st.composite
def levels_of(draw: st.DrawFn, listing: Listing) -> tuple[int, ...]:
    """A node of the lattice."""
    return tuple(draw(st.integers(0, tree.height - 1)) for tree in listing.trees.values())
