"""Marks of a release: what is promised about each of them, on a generated state."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import polars
import pytest

import discreet
from discreet.errors import Refused, UsageError
from discreet.kernel import Classes
from discreet.policy import Policy
from discreet.releases.decoys.detectability import DetectabilityResult, LabelledRows, told
from discreet.releases.marks.codebook import DEFAULT, Codebook
from discreet.releases.marks.pairing import MarkBudget, MarkPairs, ambiguous, worst_lost
from discreet.releases.marks.row_marks import FEW_PEOPLE, VALUE_WORST, RowCodebook
from discreet.releases.marks.selection import mark, other_shifts
from discreet.releases.plan import Preflight
from discreet.releases.population_link import Linked
from tests.releases import marked
from tests.releases.marked import KEY, POLICY


def test_decoys_share_no_class_with_anybody_who_is_released() -> None:
    made, linked = marked.marking(), marked.linked()
    real = [label for label, decoy in zip(made.marks.labels, made.marks.decoy, strict=True) if not decoy]
    fake = [label for label, decoy in zip(made.marks.labels, made.marks.decoy, strict=True) if decoy]
    assert (linked.released.lookup(fake) == 0).all()
    assert linked.released.lookup(real).tolist() == made.marks.sizes[~made.marks.decoy].tolist()
    assert len(real) == len(fake) >= 15


def test_partners_have_the_same_size_and_nearly_the_same_link_count() -> None:
    marks, linked = marked.marking().marks, marked.linked()
    partners = marks.partners
    assert (marks.decoy != marks.decoy[partners]).all()
    assert np.array_equal(partners[partners], np.arange(len(marks)))
    assert np.array_equal(marks.sizes, marks.sizes[partners])
    assert np.abs(np.log(marks.links / marks.links[partners])).max() <= 0.1 + 1e-9
    assert np.array_equal(marks.links, linked.population.lookup(list(marks.labels)))
    assert ambiguous(marks.links, sampling=linked.sampling, k=linked.k).all()


def test_every_copy_is_k_anonymous_and_lacks_few_rows() -> None:
    made, linked = marked.marking(), marked.linked()
    names = [f"r{number}" for number in range(200)]
    codebook = Codebook.of(made.marks, DEFAULT, names, release="spring", key=KEY)
    real = ~made.marks.decoy
    rows = RowCodebook.of(made.rows, made.row_probabilities, names, release="spring", key=KEY)
    lost = (~codebook.present[:, real] * made.marks.sizes[real]).sum(axis=1) + (~rows.present).sum(axis=1)
    lost = lost / linked.released.records
    assert lost.max() <= made.most_lost <= 0.05
    assert lost.mean() == pytest.approx(made.rows_lost, rel=0.05)
    assert made.marks.sizes.min() >= linked.k  # decoys removed or not


def test_rows_of_decoys_have_the_types_and_columns_of_the_table() -> None:
    made, (table, _) = marked.marking(), marked.state()
    assert list(made.decoys.columns) == [name for name in table.columns if name not in POLICY.quasi]
    assert Counter(made.decoys.places.tolist()) == {
        place: int(size) for place, size in enumerate(made.marks.sizes) if made.marks.decoy[place]
    }
    kinds = {name: {type(cell) for cell in cells} for name, cells in made.decoys.columns.items()}
    assert kinds == {"diagnosis": {str}, "income": {int}, "plan": {str}, "visits": {int}}


def test_no_column_shifts_by_more_than_the_budget() -> None:
    made, linked = marked.marking(), marked.linked()
    assert set(made.shifts) == {*POLICY.quasi, "diagnosis", "income", "plan", "visits"}
    assert max(made.shifts.values()) <= 0.005
    weights = np.where(made.marks.decoy, made.probabilities, made.probabilities - 1) * made.marks.sizes
    before = Counter(dict.fromkeys(("F", "M", "Person"), 0.0))  # type: ignore[arg-type]
    sex = linked.released.names.index("sex")
    for label, size in zip(linked.released.tuples(), linked.released.sizes.tolist(), strict=True):
        before[label[sex] or ""] += size
    after = before.copy()
    for label, weight in zip(made.marks.labels, weights.tolist(), strict=True):
        after[label[sex] or ""] += weight
    moved = [abs(after[one] / sum(after.values()) - before[one] / sum(before.values())) for one in before]
    assert made.shifts["sex"] == pytest.approx(max(moved))


def test_a_tight_budget_gives_fewer_marks() -> None:
    table, _ = marked.state()
    few = mark(marked.linked(), table, key=KEY, release="spring", budget=MarkBudget(rows=0.01), force=True)
    assert 0 < len(few.marks) < len(marked.marking().marks)
    real = ~few.marks.decoy
    assert worst_lost(few.marks.sizes[real], few.probabilities[real])[-1] <= 0.01 * few.linked.released.records
    still = mark(marked.linked(), table, key=KEY, release="spring", budget=MarkBudget(shift=0.0005), force=True)
    assert max(still.shifts.values(), default=0.0) <= 0.0005


def test_the_same_key_makes_the_same_decoys_and_another_key_others() -> None:
    table, _ = marked.state()
    first, again = marked.marking(), mark(marked.linked(), table, key=KEY, release="spring")
    assert again.marks.labels == first.marks.labels
    assert again.decoys.columns == first.decoys.columns
    assert again.gate == first.gate
    other = mark(marked.linked(), table, key=bytes(32), release="spring")
    assert other.marks.labels != first.marks.labels


def test_the_order_of_the_rows_changes_nothing() -> None:
    table, _ = marked.state()
    frame = table.engine.frame  # type: ignore[attr-defined]
    shuffled = discreet.read(frame.sample(fraction=1.0, shuffle=True, seed=9), policy=POLICY)
    assert mark(marked.linked(), shuffled, key=KEY, release="spring").decoys.columns == marked.marking().decoys.columns


def test_decoys_that_are_told_apart_are_made_up_again_and_then_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    first, seen = marked.marking(), []

    def strict(exhibit: LabelledRows, generator: np.random.Generator) -> DetectabilityResult:
        seen.append(exhibit)
        return replace(told(exhibit, generator), auc=1.0) if len(seen) <= given_away else told(exhibit, generator)

    monkeypatch.setattr("discreet.releases.marks.selection.told", strict)
    given_away = 1
    second = mark(marked.linked(), marked.state()[0], key=KEY, release="spring")
    assert len(seen) == 2
    assert second.marks.labels != first.marks.labels
    given_away = 9
    with pytest.raises(Refused, match=r"A classifier tells decoys.*tells most"):
        mark(marked.linked(), marked.state()[0], key=KEY, release="spring")
    assert len(seen) == 5


def test_the_gate_hardly_tells_decoys() -> None:
    gate = marked.marking().gate
    assert gate.auc <= max(0.65, gate.floor)
    assert not gate.refused


def test_the_preflight_says_it_in_words_and_numbers() -> None:
    flight = Preflight.of(marked.marking(), recipients=20, law=DEFAULT)
    told = " ".join(flight.words())
    assert f"{flight.marks} classes become marks" in told
    assert f"{flight.row_marks} single rows of other classes become marks" in told
    assert "From a whole file one of up to 3 who collude of 20 recipients can be traced" in told
    assert "From a tenth of the rows nobody can be traced surely: that takes 900 marks" in told
    assert "who finds another way, or changes most rows, may escape" in told
    worst = max(flight.worst, key=lambda value: value.most)
    assert f"{worst.column} {worst.words()}" in told
    beyond = {
        (losses.name, value)
        for losses in marked.marking().losses
        for value, people, most in zip(losses.values, losses.people, losses.worst, strict=True)
        if people >= FEW_PEOPLE and most > VALUE_WORST
    }
    assert beyond == {(value.column, value.value) for value in flight.worst if value.most > VALUE_WORST}
    assert "rows of people who are left out of every copy" in told
    assert flight.coalition == 3
    assert set(flight.to_dict()) == set(Preflight.__dataclass_fields__)
    assert flight.to_dict()["rows_lost"] == marked.marking().rows_lost


@pytest.mark.parametrize(
    ("auc", "floor", "words"),
    [
        (0.52, 0.6, "AUC of 0.52 (0.5 is guessing, up to 0.60 may be luck): this one hardly can."),
        (0.48, 0.6, "AUC of 0.52 (0.5 is guessing, up to 0.60 may be luck): this one hardly can."),
        (0.31, 0.6, "AUC of 0.69 (0.5 is guessing, up to 0.60 may be luck): better than it should."),
        (
            0.31,
            0.75,
            "AUC of 0.69 (0.5 is guessing, up to 0.75 may be luck): there are too few marks to say whether it can.",
        ),
        (0.12, 0.6, "AUC of 0.88 (0.5 is guessing, up to 0.60 may be luck): too well to be released."),
    ],
)
def test_a_ranking_that_can_be_turned_round_is_told_as_what_it_is(auc: float, floor: float, words: str) -> None:
    flight = replace(Preflight.of(marked.marking(), recipients=20, law=DEFAULT), auc=auc, floor=floor)
    assert flight.words()[-2].endswith(words)


def table_of(number: int = 60, **columns: list[Any]) -> tuple[discreet.Table, Linked]:
    """Areas of doubtful size, with further columns of ours."""
    rng = np.random.default_rng(5)
    areas = [f"{area:03}" for area in range(number)]
    people = rng.integers(38, 56, number)
    drawn = rng.binomial(people, 0.1)
    rows = [area for area, size in zip(areas, drawn, strict=True) for _ in range(size)]
    cells = {
        name: [values[place] for place in rng.integers(0, len(values), len(rows))] for name, values in columns.items()
    }
    policy = Policy.from_dict({"columns": {"area": {"role": "quasi", "hierarchy": {"mask": 3}}}})
    table = discreet.read(polars.DataFrame({"area": rows, **cells}), policy=policy)
    everybody = Classes.of(["area"], [(area,) for area in areas], people.tolist(), rules={"area": policy.rule("area")})
    return table, Linked.at_node(table.classes(), everybody, {"area": 0}, k=5)


WIDE = MarkBudget(rows=0.5, average=0.5, shift=0.2)


def with_area(table: discreet.Table, **columns: polars.Expr) -> discreet.Table:
    frame = table.engine.frame.with_columns(**columns)  # type: ignore[attr-defined]
    return discreet.read(frame, policy=table.policy)


def test_columns_that_follow_from_the_class_are_put_right() -> None:
    table, linked = table_of(pet=["cat", "dog", "cat", "fish", "dog"])
    wards = with_area(table, ward=polars.lit("ward ") + polars.col("area").str.slice(0, 2))
    made = mark(linked, wards, key=KEY, release="r", force=True, budget=WIDE)
    assert len(made.decoys) > 20
    areas = [made.marks.labels[place][0] or "" for place in made.decoys.places.tolist()]
    assert made.decoys.columns["ward"] == [f"ward {area[:2]}" for area in areas]


def test_what_follows_from_the_class_and_is_not_known_is_refused_in_words() -> None:
    """A number of its own for every area is known for released areas only, and decoys are in others."""
    table, linked = table_of(400, pet=["cat", "dog", "cat", "fish", "dog"])
    assert len(mark(linked, table, key=KEY, release="r", budget=WIDE).marks) >= 30
    numbers = with_area(table, number=polars.col("area").cast(polars.Int32) * 7)
    with pytest.raises(Refused, match="'number' follows"):
        mark(linked, numbers, key=KEY, release="r", budget=WIDE)
    made = mark(linked, numbers, key=KEY, release="r", force=True, budget=WIDE)
    assert (len(made.marks), len(made.decoys)) == (0, 0)


def test_too_few_marks_are_refused_in_words() -> None:
    table, linked = table_of(pet=["cat", "dog"])
    with pytest.raises(Refused, match="below 30"):
        mark(linked, table, key=KEY, release="r")
    assert len(mark(linked, table, key=KEY, release="r", force=True).marks) < 30


def test_rows_that_stand_for_several_people_are_refused() -> None:
    table, linked = table_of(n=[1])
    policy = Policy.from_dict(
        {"data": {"count": "n"}, "columns": {"area": {"role": "quasi", "hierarchy": {"mask": 3}}}}
    )
    counted = discreet.read(table.engine.frame, policy=policy)  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match="several people"):
        mark(linked, counted, key=KEY, release="r")


def test_nobody_in_doubt_gives_no_marks_when_forced() -> None:
    people = Classes.of(["zip"], [("1",), ("2",)], [50, 60])
    linked = Linked.at_node(people, people, {"zip": 0}, k=5)
    table = discreet.read(
        polars.DataFrame({"zip": ["1"] * 50 + ["2"] * 60, "x": ["a"] * 110}),
        policy=Policy.from_dict({"columns": {"zip": {"role": "quasi"}}}),
    )
    with pytest.raises(Refused):
        mark(linked, table, key=KEY, release="r")
    made = mark(linked, table, key=KEY, release="r", force=True)
    assert (len(made.marks), len(made.decoys), len(made.rows)) == (0, 0, 4)
    assert made.rows_lost == pytest.approx((1 - made.row_probabilities).sum() / 110)
    assert Preflight.of(made, recipients=3, law=DEFAULT).coalition == 0


def test_shifts_of_other_columns_are_counted_again() -> None:
    made, linked, (table, _) = marked.marking(), marked.linked(), marked.state()
    plans = Counter(table.engine.frame["plan"].to_list())  # type: ignore[attr-defined]
    total, after = sum(plans.values()), Counter(plans)
    place_of = {label: place for place, label in enumerate(made.marks.labels)}
    classes = table.classes(("zip", "sex", "birth_year", "plan")).at({**linked.levels, "plan": 0})
    for label, size in zip(classes.tuples(), classes.sizes.tolist(), strict=True):
        place = place_of.get(label[:3])
        if place is not None and not made.marks.decoy[place]:
            after[label[3]] -= size * (1 - made.probabilities[place])  # type: ignore[assignment]
    for plan, place in zip(made.decoys.columns["plan"], made.decoys.places.tolist(), strict=True):
        after[plan] += made.probabilities[place]
    moved = max(abs(after[plan] / sum(after.values()) - plans[plan] / total) for plan in plans)
    assert made.shifts["plan"] == pytest.approx(moved)
    assert other_shifts.__doc__
    assert len(MarkPairs(np.arange(3), np.arange(3)).only(slice(2))) == 2
