"""Tables to anonymise: Adult and FARS from beside the project, and generated ones of published shapes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.measure import SHARED

if TYPE_CHECKING:  # peers read this file where Discreet is not installed
    from discreet.kernel import Classes, Coded, Tree

Levels = Sequence[int]


def shared_policy(name: str) -> dict[str, object] | None:
    """The policy of a table that lies beside the project: every column a quasi-identifier with its hierarchy."""
    folder = SHARED / name
    if not folder.exists():
        return None
    with (folder / f"{name}.csv").open(encoding="utf-8") as file:
        names = file.readline().strip().split(";")
    columns = {one: {"role": "quasi", "hierarchy": f"{folder}/{name}_hierarchy_{one}.csv"} for one in names}
    return {"data": {"delimiter": ";"}, "columns": columns}


def shared_path(name: str) -> Path:
    """Where it lies."""
    return SHARED / name / f"{name}.csv"


def shared_classes(name: str) -> Classes | None:
    """Its classes."""
    import discreet

    policy = shared_policy(name)
    if policy is None:
        return None
    return discreet.read(shared_path(name), policy=discreet.Policy.from_dict(policy)).classes()


def tree(sizes: Levels) -> Tree:
    """A hierarchy with so many values per level, from fine to coarse, neighbours merging."""
    from discreet.kernel import Tree

    rows = []
    for value in range(sizes[0]):
        path = [value]
        for finer, coarser in pairwise(sizes):
            path.append(path[-1] * coarser // finer)
        rows.append(tuple(f"{level}.{code}" for level, code in enumerate(path)))
    return Tree(tuple(rows))


SURVEY: dict[str, Levels] = {
    "region": (51, 9, 1),
    "age": (81, 40, 20, 10, 5, 1),
    "sex": (2, 1),
    "race": (23, 6, 1),
    "marital": (7, 3, 1),
    "citizenship": (5, 2, 1),
    "birthplace": (155, 12, 1),
    "education": (18, 6, 3, 1),
    "labour": (5, 2, 1),
}
"""The shape of a well-known time-use survey: 539,253 people, nine columns, 34,992 nodes."""


def survey(people: int = 539_253, *, seed: int = 1) -> Classes:
    """People whose answers depend on one another: a few types of person, each with its own habits."""
    rng = np.random.default_rng(seed)
    kinds = rng.choice(40, people, p=_zipf(40))
    return _counted({name: _answers(rng, kinds, sizes[0]) for name, sizes in SURVEY.items()}, SURVEY)


def _answers(rng: np.random.Generator, kinds: np.ndarray, size: int) -> np.ndarray:
    habits = np.stack([rng.permutation(size) for _ in range(int(kinds.max()) + 1)])
    own = habits[kinds, rng.choice(size, len(kinds), p=_zipf(size, 3.0))]
    common = rng.choice(size, len(kinds), p=_zipf(size, 1.9))
    return np.where(rng.random(len(kinds)) < 0.5, common, own)


def _zipf(size: int, power: float = 1.0) -> np.ndarray:
    weights = 1 / np.arange(1, size + 1) ** power
    return np.asarray(weights / weights.sum())


EXTRA: dict[str, Levels] = {
    "hours": (50, 10, 5, 3, 2, 1),
    "gain": (30, 6, 1),
    "industry": (20, 5, 1),
    "branch": (12, 4, 1),
}
"""Four more columns for Adult: 12,960 * 162 = 2,099,520 nodes."""


def wide_adult(*, seed: int = 1) -> Classes | None:
    """Adult with four generated columns that depend on those it has."""
    adult = shared_classes("adult")
    if adult is None:
        return None
    from discreet.kernel import Coded

    rng = np.random.default_rng(seed)
    rows = np.repeat(np.arange(len(adult)), adult.sizes)
    kinds = (adult.codes[4][rows] * 7 + adult.codes[7][rows]) % 40
    answers = {name: _answers(rng, kinds, sizes[0]) for name, sizes in EXTRA.items()}
    columns = {
        column.name: Coded(column.labels, codes[rows]) for column, codes in zip(adult.columns, adult.codes, strict=True)
    }
    extra = _coded(answers, EXTRA)
    policy = shared_policy("adult")
    assert policy is not None
    import discreet
    from discreet.kernel import Classes, Histogram

    rules = {**discreet.Policy.from_dict(policy).rules, **{name: tree(sizes) for name, sizes in EXTRA.items()}}
    return Classes.from_histogram(Histogram({**columns, **extra}, np.ones(len(rows), dtype=np.int64)), rules=rules)


def _coded(answers: dict[str, np.ndarray], shapes: dict[str, Levels]) -> dict[str, Coded]:
    from discreet.kernel import Coded

    return {
        name: Coded(tuple(f"0.{value}" for value in range(shapes[name][0])), codes.astype(np.int64))
        for name, codes in answers.items()
    }


def _counted(answers: dict[str, np.ndarray], shapes: dict[str, Levels]) -> Classes:
    from discreet.kernel import Classes, Histogram

    people = len(next(iter(answers.values())))
    histogram = Histogram(_coded(answers, shapes), np.ones(people, dtype=np.int64))
    return Classes.from_histogram(histogram, rules={name: tree(sizes) for name, sizes in shapes.items()})
