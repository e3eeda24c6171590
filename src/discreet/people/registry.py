"""A registry of many people made from a table of few: counts by class, never a row.

Nobody can say what the people outside a table are like. A registry made from it is half of people who look like those
in the table, half of people who only have the same ages, the same places ... each on its own: so combinations exist
that the table does not have, and rare people of the table have few or many look-alikes.

The share of a class among the former is not its share in the table, which would give everybody who is alone there the
same number of look-alikes, but drawn around it: Dirichlet with the numbers of people in the classes (the Bayesian
bootstrap, Rubin 1981).
"""

from __future__ import annotations

import numpy as np

from discreet.errors import EmptySource, UsageError
from discreet.kernel import Classes
from discreet.people.population import Array, stream

__all__ = ["registry"]

SHUFFLED = 0.5
SLICE = 1 << 20
"""Cells drawn at once."""


def registry(sample: Classes, *, people: int, seed: int, shuffled: float = SHUFFLED) -> Classes:
    """A registry of so many people, of whom the share `shuffled` has each column independently of the others.

    >>> few = Classes.of(["sex", "zip"], [("F", "1"), ("M", "2")], [3, 1])
    >>> registry(few, people=1_000, seed=1).records
    1000
    """
    if not sample.records:
        raise EmptySource("There is nobody to make a registry from.", remedy="Give a table with at least one person.")
    if people < 1 or not 0 <= shuffled <= 1:
        raise UsageError(
            "A registry has at least 1 person and a share from 0 to 1 of shuffled ones.",
            remedy="Use people=6_018_999 and leave shuffled out.",
        )
    independent = int(stream(seed, "registry").binomial(people, shuffled))
    # People of the classes of the table.
    rng = stream(seed, "registry alike")
    shares = rng.gamma(sample.sizes.astype(np.float64))
    alike = np.asarray(rng.multinomial(people - independent, shares / shares.sum()))
    # People with independent columns: all are split by the first column, each part by the second, and so on, in slices
    # of cells; empty cells go.
    rng = stream(seed, "registry mixed")
    mixed: tuple[Array, ...] = ()
    counts = np.array([independent], dtype=np.int64)
    for column, codes in zip(sample.columns, sample.codes, strict=True):
        numbers = np.bincount(codes, weights=sample.sizes, minlength=len(column.labels))
        step = max(1, SLICE // len(numbers))
        split = [np.zeros((3, 0), dtype=np.int64)]
        for start in range(0, len(counts), step):
            drawn = rng.multinomial(counts[start : start + step], numbers / numbers.sum())
            place, value = np.nonzero(drawn)
            split.append(np.stack([place + start, value, drawn[place, value]]))
        cells, values, counts = np.concatenate(split, axis=1)
        mixed = (*(codes[cells] for codes in mixed), values)
    sizes = np.concatenate([alike, counts])
    peopled = sizes > 0
    both = tuple(np.concatenate([own, others])[peopled] for own, others in zip(sample.codes, mixed, strict=True))
    return Classes(sample.columns, both, sizes[peopled]).regrouped()
