"""Counting generated people where they are: in memory, by their codes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from discreet.kernel import Classes, Coded, Histogram, Rule
from discreet.kernel.hierarchy import text
from discreet.people.columns import Coded as Words
from discreet.people.columns import Column
from discreet.people.population import People

__all__ = ["counted"]


def counted(people: People, *names: str, rules: Mapping[str, Rule] | None = None) -> Classes:
    """Who looks alike on these columns, or on all; `rules` say how their values generalise.

    >>> from discreet.people import State, generate
    >>> counted(generate(State.of(1_000), seed=1, columns=("sex",)))
    Classes(1000 people in 2 classes by sex)
    """
    chosen = people.select(*names) if names else people
    columns = {name: _coded(column) for name, column in chosen.columns.items()}
    return Classes.from_histogram(Histogram(columns, np.ones(len(people), dtype=np.int64)), rules=rules)


def _coded(column: Column) -> Coded:
    if isinstance(column, Words):
        return Coded(tuple(text(label) for label in column.labels.tolist()), column.codes.astype(np.int64))
    values, codes = np.unique(column, return_inverse=True)
    return Coded(tuple(text(value) for value in values.tolist()), codes.reshape(-1))
