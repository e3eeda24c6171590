"""A data set released again: the same marks under any name, decoys that change as classes do, donors that are shown nowhere."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.errors import Refused
from discreet.kernel import Classes
from discreet.ledger import Ledger
from discreet.releases.delivery.release import Release, continued, release
from discreet.releases.delivery.service import Registry
from discreet.releases.manifest import Manifest
from discreet.releases.marks.turnover import expected_few, shares_people
from discreet.releases.plan import find_node
from discreet.sources import Table, read
from tests.releases.world import POLICY, SETTINGS, known_keys, rows_in, rows_of, write_rows

NAMES = ("north", "south", "west")
Rows = list[tuple[Any, ...]]


@dataclass(frozen=True)
class Town:
    """A town, those in the data at first, and those a year later."""

    population: Classes
    first: Rows
    later: Rows
    folder: Path

    def table(self, rows: Rows, name: str) -> Table:
        """Some rows as a table."""
        path = self.folder / f"{name}.parquet"
        write_rows(rows, path)
        return read(path, policy=POLICY)

    def release(self, ledger: Ledger, rows: Rows, name: str = "spring", **options: Any) -> Release:
        """A release of them."""
        table = self.table(rows, f"{name}-{len(rows)}")
        return release(table, self.population, NAMES, name=name, force=True, store=ledger, **{**SETTINGS, **options})


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Town:
    """A fifth of the people leave, and others come."""
    population, rows = rows_of(np.random.default_rng(1), 28, 14, 14)
    _, others = rows_of(np.random.default_rng(2), 28, 14, 14)
    rng = np.random.default_rng(3)
    stay = [row for row in rows if rng.random() > 0.2]
    come = [(f"newcomer {number}", *row[1:]) for number, row in enumerate(others) if rng.random() < 0.2]
    return Town(population, rows, [*stay, *come], tmp_path_factory.mktemp("turnover"))


@pytest.fixture(scope="module")
def two(place: Town) -> tuple[Release, Release, Ledger]:
    """Two versions, from one store."""
    known_keys(place.folder / "store.db.keys")
    ledger = Ledger.open(place.folder / "store.db", create=True)
    return place.release(ledger, place.first), place.release(ledger, place.later), ledger


def decoys_of(manifest: Manifest) -> dict[Any, int]:
    marks = manifest.codebook.marks
    return {
        label: size for label, size, decoy in zip(marks.labels, marks.sizes.tolist(), marks.decoy, strict=True) if decoy
    }


def people(rows: Rows) -> Counter[tuple[str | None, ...]]:
    """Rows as they are published, without names."""
    return Counter(tuple(None if cell is None else str(cell) for cell in row[1:]) for row in rows)


def written(made: Release, folder: Path, recipient: str = "north") -> Counter[tuple[str | None, ...]]:
    made.write(folder, recipients=[recipient])
    return people([("", *row) for row in rows_in(folder / recipient / "data.parquet")])


def test_another_name_changes_no_copy(place: Town, tmp_path: Path) -> None:
    known_keys(tmp_path / "store.db.keys")
    with Ledger.open(tmp_path / "store.db", create=True) as ledger:
        spring = place.release(ledger, place.first)
        autumn = place.release(ledger, list(reversed(place.first)), name="autumn")
        third = place.release(ledger, place.first, name="winter")
        assert [one.manifest.scope for one in (spring, autumn, third)] == ["spring"] * 3
        assert [one.version for one in (spring, autumn, third)] == [1, 1, 1]
        copies = [written(one, tmp_path / one.name) for one in (spring, autumn, third)]
        assert copies[0] == copies[1] == copies[2] != written(spring, tmp_path / "spring", "south")
        late = autumn.add_recipient("east")
        again = spring.add_recipient("east")
        assert (late.manifest.present("east") == again.manifest.present("east")).all()


def test_people_who_lend_their_values_are_in_no_copy(
    place: Town, two: tuple[Release, Release, Ledger], tmp_path: Path
) -> None:
    first, later, _ = two
    lent, rows = later.manifest.reserved, later.manifest.rows
    assert lent is not None
    assert rows is not None
    assert rows.rows.withheld > 0
    order = sorted(lent.cells)
    names = ("zip", "year", "sex", "illness", "amount", "day", "note")
    columns = later.manifest.codebook.marks.columns
    everybody, copy = people(place.later), written(later, tmp_path / "later")
    decoy_rows = Counter[tuple[str | None, ...]]()
    present = later.manifest.codebook.row("north")
    cells = later.manifest.decoys
    for row, mark in enumerate(cells.places.tolist()):
        if present[mark]:
            whole = dict(zip(columns, later.manifest.codebook.marks.labels[mark], strict=True))
            whole |= {name: cells.columns[name][row] for name in order}
            decoy_rows[tuple(whole[name] for name in names)] += 1
    assert not decoy_rows - copy
    real = copy - decoy_rows
    assert not real - everybody
    for number, label in enumerate(lent.labels):
        whole = dict(zip(columns, label, strict=True)) | {name: lent.cells[name][number] for name in order}
        key = tuple(whole[name] for name in names)
        assert real[key] < max(everybody[key], 1), "a donor is shown in their own class"
    classes = Counter(key[:3] for key in real.elements())
    assert min(classes.values()) >= SETTINGS["k"]
    assert first.manifest.release == later.manifest.release


def test_decoys_lose_those_who_left_and_gain_as_real_classes_do(two: tuple[Release, Release, Ledger]) -> None:
    first, later, _ = two
    before, after = decoys_of(first.manifest), decoys_of(later.manifest)
    assert set(after) < set(before)
    assert all(size >= SETTINGS["k"] for size in after.values())
    assert any(after[label] != before[label] for label in after)
    released = set(later.manifest.released.project(later.manifest.codebook.marks.columns).tuples())
    assert not released & set(after)
    assert 0.1 < later.preflight["turnover"]["leaving"] < 0.35
    assert "groups of fewer than k" in later.preflight["notes"][1]
    again = Manifest.from_bytes(later.manifest.to_bytes())
    assert again.to_bytes() == later.manifest.to_bytes()
    lent, old = again.reserved, first.manifest.reserved
    assert lent is not None
    assert old is not None
    assert lent.labels[: len(old)] == old.labels, "who lent their values stays reserved"


def test_a_class_that_becomes_real_under_a_decoy_is_left_out(
    place: Town, two: tuple[Release, Release, Ledger], tmp_path: Path
) -> None:
    label = dict(zip(two[0].manifest.codebook.marks.columns, next(iter(decoys_of(two[0].manifest))), strict=True))
    crowd = [
        (f"mover {n}", label["zip"], label["year"], label["sex"], "flu", 1.0 + n, "2020-02-02", "note 1")
        for n in range(9)
    ]
    known_keys(tmp_path / "store.db.keys")
    with Ledger.open(tmp_path / "store.db", create=True) as ledger:
        place.release(ledger, place.first)
        made = place.release(ledger, [*place.first, *crowd], name="third", dataset="spring")
        shown = written(made, tmp_path / "copies")
        place_of = tuple(label[name] for name in ("zip", "year", "sex"))
        assert not [
            row
            for row in shown
            if row[:3] == place_of and row[5] == "2020-02-02" and row[6] == "note 1" and row[3] == "flu"
        ]
        assert made.preflight["turnover"]["closed"] >= 9


def test_the_same_people_are_recognised_and_cannot_be_another_data_set(
    place: Town, two: tuple[Release, Release, Ledger]
) -> None:
    first, later, ledger = two
    assert shares_people(first.manifest, later.table) > 0.5  # type: ignore[arg-type]
    _, strangers = rows_of(np.random.default_rng(99), 28, 14, 14)
    assert shares_people(first.manifest, place.table(strangers, "strangers")) < 0.05
    changed = [row for number, row in enumerate(place.later) if number % 50]
    with pytest.raises(Refused, match="Many of these people are in the data set 'spring'"):
        release(place.table(changed, "x"), place.population, NAMES, name="x", dataset="x", store=ledger, **SETTINGS)
    with pytest.raises(Refused, match="is of the data set 'spring'"):
        release(
            place.table(changed, "y"), place.population, NAMES, name="spring", dataset="x", store=ledger, **SETTINGS
        )
    other = {**SETTINGS, "levels": {"zip": 1, "year": 0, "sex": 0}}
    with pytest.raises(Refused, match="all releases of a data set are at the same"):
        release(place.table(changed, "z"), place.population, NAMES, name="z", store=ledger, **other)


def test_decoys_of_the_first_design_stay_as_they_are(place: Town, two: tuple[Release, Release, Ledger]) -> None:
    old, ledger = two[0].manifest, two[2]
    first = replace(old, reserved=None, rows=None)
    table = place.table(place.later, "again")
    node = find_node(table, place.population, old.settings, levels=old.levels)
    again = continued(first, node, table, NAMES, key=Registry(ledger).key("spring"), force=True)
    assert again.reserved is None
    sizes = {
        label: size
        for label, size, made_up in zip(again.marks.labels, again.marks.sizes.tolist(), again.marks.decoy, strict=True)
        if made_up
    }
    assert sizes == decoys_of(first)


@pytest.mark.parametrize(("people", "share"), [(1, 0.3), (7, 0.1), (40, 0.05), (300, 0.9)])
def test_expected_few_is_the_sum_over_the_binomial_law(people: int, share: float) -> None:
    from math import comb

    exact = sum(n * comb(people, n) * share**n * (1 - share) ** (people - n) for n in range(1, 5) if n <= people)
    assert expected_few(np.array([people]), share, below=5)[0] == pytest.approx(exact)
