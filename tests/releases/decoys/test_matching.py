"""Decoys are left-out rows as they are, where their own quasi-identifiers predict what the decoy's do."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import polars
from hypothesis import given
from hypothesis import strategies as st

import discreet
from discreet.anonymity import anonymise
from discreet.kernel import Classes
from discreet.releases.decoys.detectability import exhibit, most_telling, told
from discreet.releases.decoys.donors import DonorColumn
from discreet.releases.decoys.matching import (
    DecoyRows,
    Filler,
    PredictiveMeans,
    QuasiViews,
    nearest_donors,
    shrunken,
    targets_of,
)
from discreet.releases.marks.pairing import MarkPairs
from discreet.releases.marks.selection import mark
from discreet.releases.population_link import Linked
from tests.releases import marked
from tests.releases.marked import KEY, POLICY


def left_out() -> Counter[tuple[Any, ...]]:
    """The other columns of everybody who is left out of all copies, with their class."""
    frame, linked = marked.state()[0].engine.frame, marked.linked()  # type: ignore[attr-defined]
    gone = set(linked.suppressed.tuples())
    hierarchies = [(column.hierarchy, column.level) for column in linked.data.columns]
    found: Counter[tuple[Any, ...]] = Counter()
    for row in frame.select(*linked.data.names, "diagnosis", "income", "plan", "visits").iter_rows():
        label = tuple(
            hierarchy.labels[level][hierarchy.map(0, level)[hierarchy.index[0][str(value)]]]
            for (hierarchy, level), value in zip(hierarchies, row, strict=False)
        )
        if label in gone:
            found[label, row[len(hierarchies) :]] += 1
    return found


def test_every_row_of_a_decoy_is_a_left_out_row_of_another_class_and_none_is_used_twice() -> None:
    made, donors = marked.marking(), left_out()
    rows = Counter(zip(*made.decoys.columns.values(), strict=True))
    whole: Counter[tuple[Any, ...]] = Counter()
    for (_, cells), number in donors.items():
        whole[cells] += number
    assert not rows - whole
    for place, row in zip(made.decoys.places.tolist(), zip(*made.decoys.columns.values(), strict=True), strict=True):
        assert whole[row] - donors[made.marks.labels[place], row] > 0


@given(st.integers(0, 2**32), st.integers(1, 4))
def test_nearest_donors_are_used_once_and_never_from_the_class_itself(seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    owners = np.sort(rng.integers(0, 6, 20))
    sizes, never = np.full(5, size), rng.integers(-1, 6, 5)
    taken = nearest_donors(rng.random((6, 2)), owners, rng.random((5, 2)), sizes, never.tolist(), rng)
    every = np.concatenate([*taken.values(), np.zeros(0, dtype=np.int64)])
    assert len(set(every.tolist())) == len(every) == size * len(taken)
    assert all(never[place] not in owners[rows] for place, rows in taken.items())


def test_means_are_drawn_to_zero_as_far_as_chance_explains_them() -> None:
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(200), 5)
    noise = rng.normal(size=1000)
    assert np.abs(shrunken(noise, groups, 200)).max() < 0.5 * np.abs(np.bincount(groups, noise) / 5).max()
    truth = rng.normal(size=200)
    found = shrunken(truth[groups] + noise, groups, 200)
    plain = np.bincount(groups, truth[groups] + noise) / 5
    assert ((found - truth) ** 2).mean() < ((plain - truth) ** 2).mean()


def test_predictions_find_what_hangs_on_two_quasi_identifiers() -> None:
    rng = np.random.default_rng(2)
    cells = [(str(year), sex) for year in range(1930, 2010) for sex in "FM"]
    classes = Classes.of(["year", "sex"], cells)
    views = QuasiViews.of(classes, classes)
    owners = rng.integers(0, len(classes), 20_000)
    truth = np.array([(int(year or 0) - 1970) / 20 * (1 if sex == "F" else -1) for year, sex in classes.tuples()])
    pay = truth[owners] + rng.normal(size=len(owners))
    targets, weights = targets_of([DonorColumn.of("pay", pay.tolist())])
    codes = views.codes(classes)
    means = PredictiveMeans.of(views, codes[owners], targets)
    assert np.corrcoef(means.of_codes(codes)[:, 0], truth)[0, 1] > 0.98
    assert weights.tolist() == [1.0]


def families(seed: int) -> tuple[discreet.Table, Linked]:
    """A sample with columns of kinds that made-up cells betrayed: formulas, sums, decimals, rounding, dates that hang together."""
    table, everybody = marked.state(1_500_000, 0.01, 3)
    frame = table.engine.frame  # type: ignore[attr-defined]
    rng, n = np.random.default_rng(seed), len(frame)
    age = 2020 - frame["birth_year"].cast(polars.Int64).to_numpy()
    height = (np.where(frame["sex"].to_numpy() == "F", 165, 178) + rng.normal(0, 7, n)).round(1)
    weight = (22 + 0.3 * height + 0.1 * age + rng.normal(0, 12, n)).round(1)
    drugs, care = rng.gamma(2, 500, n).round(2), rng.gamma(1.5, 300, n).round(2)
    day = np.datetime64("2019-01-01") + rng.integers(0, 365, n).astype("timedelta64[D]")
    stay = rng.poisson(2 + age / 20).astype("timedelta64[D]")
    pay = np.exp(rng.normal(10, 0.5, n) + np.minimum(age, 50) / 100)
    columns = {
        "index": (rng.normal(0, 1, n) + age / 8),
        "height": height,
        "weight": weight,
        "bmi": weight / (height / 100) ** 2,
        "drugs": drugs,
        "care": care,
        "total": (drugs + care).round(2),
        "admitted": day.astype(str),
        "left": (day + stay).astype(str),
        "stamp": [f"{9 + quarter // 4:02}:{15 * (quarter % 4):02}" for quarter in rng.integers(0, 36, n).tolist()],
        "salary": np.where(rng.random(n) < 0.7, (pay / 1000).round() * 1000, pay.round()).astype(np.int64),
    }
    wide = discreet.read(
        frame.with_columns(**{name: polars.Series(cells) for name, cells in columns.items()}), policy=POLICY
    )
    return wide, Linked.of(anonymise(wide, k=5, suppression=0.1, loss="dm_star"), everybody)


def test_no_family_of_columns_gives_decoys_away_and_donors_that_do_not_match_do() -> None:
    table, linked = families(1)
    made = mark(linked, table, key=KEY, release="families")
    assert len(made.marks) > 60
    assert made.gate.auc <= max(0.55, made.gate.floor)
    # The same donors, dealt out at random: age hangs on the year of birth, and the gate sees it.
    pairs = _pairs(linked, made.marks.labels)
    filler = Filler.fetch(table, linked, 4000, pairs.real, np.random.default_rng(1), drop=())
    size = int(linked.released.sizes[pairs.real].sum())
    rows = np.random.default_rng(2).permutation(len(filler.left_out))[:size]
    places = np.repeat(np.arange(len(pairs)), linked.released.sizes[pairs.real])[: len(rows)]
    cells = {column.name: [column.cells[row] for row in rows.tolist()] for column in filler.left_out.columns}
    shown = exhibit(linked, filler, pairs, DecoyRows(cells, places), np.random.default_rng(3))
    unmatched = told(shown, np.random.default_rng(4))
    assert unmatched.auc > made.gate.auc + 0.1
    assert most_telling(shown, np.random.default_rng(5))[1] > 0.6


def _pairs(linked: Linked, labels: tuple[tuple[str | None, ...], ...]) -> MarkPairs:
    half = len(labels) // 2
    released = {label: place for place, label in enumerate(linked.released.tuples())}
    free = {label: place for place, label in enumerate(linked.population.tuples())}
    return MarkPairs(
        np.array([released[label] for label in labels[:half]]), np.array([free[label] for label in labels[half:]])
    )


def test_where_donors_run_out_fewer_decoys_are_filled() -> None:
    table, linked = marked.state()[0], marked.linked()
    filler = Filler.fetch(table, linked, 10, np.arange(3), np.random.default_rng(1), drop=())
    some = filler.left_out
    few = replace(filler, left_out=replace(some, columns=some.columns, owners=some.owners[:12]))
    free = linked.population.keep(np.arange(len(linked.population)) < 10)
    made = few.decoys(free, list(free.tuples()), np.full(10, 5), np.random.default_rng(1))
    assert len(np.unique(made.places)) == 2
