"""Leaked files: any rows, columns and levels; p-values that hold whatever the leaker did; refusals in words."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from benchmarks.releases_tracing import WAYS, named_from_files, put_together
from benchmarks.releases_world import World, state, world
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import DataError, EmptySource, UsageError
from discreet.kernel.arrays import Ints, Label
from discreet.releases.tracing.case import Traceable
from discreet.releases.tracing.likelihood import Rates, SharedCells, dispersion, fitted, lone_marks
from discreet.releases.tracing.observed_marks import Sightings, sightings_of
from discreet.releases.tracing.trace import LeakEvidence, trace_leak
from tests.examples import examples

Rows = list[dict[str, Label]]
LEAKER = "Partner 04"
FAST = {"alpha": 0.02}
"""Among 20 recipients a line of 1 in 1,000."""


@pytest.fixture(scope="module")
def town() -> World:
    return world(100_000, 0.1)


def leaked(town: World, share: float, *, seed: int = 1, recipient: int = 3) -> Ints:
    return np.random.default_rng(seed).binomial(town.sizes * town.copy(recipient), share)


def lifted(town: World, rows: Rows, steps: Mapping[str, int | None]) -> Rows:
    """The rows with columns at so many levels above the published one; None drops a column."""
    ladders = {ladder.name: ladder.hierarchy for ladder in town.traceable.ladders}

    def cell(name: str, value: Label) -> Label:
        step = steps.get(name) or 0
        hierarchy = ladders[name]
        return hierarchy.labels[step][hierarchy.map(0, step)[hierarchy.index[0][value]]]

    return [{name: cell(name, value) for name, value in row.items() if steps.get(name, 0) is not None} for row in rows]


@pytest.mark.parametrize("share", [0.2, 1.0])
def test_a_leaker_is_named_and_nobody_else(town: World, share: float) -> None:
    trace = trace_leak(town.traceable, town.file(leaked(town, share)))
    assert trace.accused == (LEAKER,)
    first = trace.standings[0]
    assert (first.recipient, first.misses) == (LEAKER, 0)
    assert first.hits == trace.counts["marks"] > 0
    assert first.p_value == pytest.approx(10**-first.log10_e)
    assert trace.best_p_value is not None
    assert trace.best_p_value <= first.p_value <= trace.alpha / 20


@pytest.mark.parametrize(
    ("steps", "names"),
    [
        ({}, {"zip": 0, "sex": 0, "birth_year": 0}),
        ({"birth_year": 1}, {"zip": 0, "sex": 0, "birth_year": 1}),
        ({"zip": 1}, {"sex": 0, "birth_year": 0}),  # one label is left
        ({"sex": 1}, {"zip": 0, "birth_year": 0}),
        ({"sex": None}, {"zip": 0, "birth_year": 0}),
        ({"zip": None}, {"sex": 0, "birth_year": 0}),
        ({"sex": None, "birth_year": 2}, {"zip": 0, "birth_year": 2}),
    ],
)
def test_columns_may_be_missing_or_coarser(town: World, steps: Mapping[str, int | None], names: dict[str, int]) -> None:
    trace = trace_leak(town.traceable, lifted(town, town.rows(leaked(town, 1.0)), steps), **FAST)
    assert trace.columns == names
    assert trace.accused == (LEAKER,)


def test_a_table_of_counts_names_the_leaker(town: World) -> None:
    numbers = leaked(town, 1.0)
    columns = town.codebook.marks.columns
    rows = [
        {**dict(zip(columns, labels, strict=True)), "people": str(number)}
        for labels, number in zip(town.labels, numbers.tolist(), strict=True)
        if number
    ]
    rows.append({**rows[0], "people": "<5"})  # a cell that was suppressed counts nobody
    trace = trace_leak(town.traceable, rows, count="people", **FAST)
    assert trace.accused == (LEAKER,)
    assert trace.counts["rows"] == numbers.sum()
    assert trace.standings == trace_leak(town.traceable, town.file(numbers), **FAST).standings
    with pytest.raises(UsageError, match="no column 'n' of counts"):
        trace_leak(town.traceable, rows, count="n", **FAST)


def test_the_original_is_not_blamed_while_a_recipient_is_accused(town: World) -> None:
    """A leaker who found the decoys leaves them out; what is left still points at the copy."""
    numbers = leaked(town, 1.0)
    base = int(town.base.sum())
    numbers[base:][town.codebook.marks.decoy] = 0
    trace = trace_leak(town.traceable, town.file(numbers), **FAST)
    assert trace.accused == (LEAKER,)
    assert trace.origin is not None
    assert trace.origin.own_copy is not None
    assert trace.origin.own_copy <= trace.alpha
    assert "may come from the original table" not in trace.words()


def test_a_few_coarser_rows_are_left_out_and_mixed_columns_are_said(town: World) -> None:
    rows = town.rows(leaked(town, 1.0))
    few = lifted(town, rows[:50], {"birth_year": 2}) + rows[50:]
    trace = trace_leak(town.traceable, few, **FAST)
    assert (trace.columns["birth_year"], trace.counts["left_out"]) == (0, 50)
    assert trace.accused == (LEAKER,)
    half = lifted(town, rows[::2], {"birth_year": 1}) + rows[1::2]
    trace = trace_leak(town.traceable, half, **FAST)
    assert (trace.columns["birth_year"], trace.counts["left_out"]) == (1, 0)
    assert any("mixes levels" in note for note in trace.notes)
    assert trace.accused == (LEAKER,)


def test_values_finer_than_any_copy_are_said_and_used(town: World) -> None:
    labels = {labels: count for labels, count in zip(town.labels, leaked(town, 1.0).tolist(), strict=True) if count}
    _, population = state(100_000, 0.1)
    raw: dict[Any, Any] = {}
    for values in population.tuples():
        raw.setdefault((str(values[0])[:3] + "**", values[1], values[2]), values)
    rows = [
        dict(zip(("zip", "sex", "birth_year"), raw[label], strict=True))
        for label, n in labels.items()
        for _ in range(n)
    ]
    trace = trace_leak(town.traceable, rows, **FAST)
    assert trace.accused == (LEAKER,)
    assert any("finer than any copy" in note for note in trace.notes)


def test_foreign_rows_are_counted_and_disturb_little(town: World) -> None:
    rows = town.rows(leaked(town, 0.5))
    known = {*town.linked.released.tuples(), *town.codebook.marks.labels}
    free = [labels for labels in town.linked.population.tuples() if labels not in known]
    strange: Rows = [{"zip": "hello", "sex": "F", "birth_year": "1960"}] * 7
    others = [dict(zip(("zip", "sex", "birth_year"), labels, strict=True)) for labels in free[:200]]
    trace = trace_leak(town.traceable, rows + others + strange, **FAST)
    assert trace.counts["foreign"] == 207
    assert trace.accused == (LEAKER,)
    assert "hello" not in json.dumps(trace.to_dict())


def test_rows_of_other_peoples_marks_disturb_little(town: World) -> None:
    """The leaker adds five rows of marks that his copy does not hold."""
    numbers = leaked(town, 0.5)
    missed = np.flatnonzero(~town.copy(3))[:5]
    numbers[missed] += 1
    trace = trace_leak(town.traceable, town.file(numbers), **FAST)
    assert trace.accused == (LEAKER,)
    assert trace.standings[0].misses == 5


def test_renamed_columns_are_mapped_by_the_user(town: World) -> None:
    rows = [{"plz": row["zip"], "g": row["sex"], "born": row["birth_year"]} for row in town.rows(leaked(town, 1.0))]
    with pytest.raises(DataError, match="cannot carry evidence"):
        trace_leak(town.traceable, rows, **FAST)
    names = {"plz": "zip", "g": "sex", "born": "birth_year"}
    assert trace_leak(town.traceable, rows, columns=names, **FAST).accused == (LEAKER,)
    part = trace_leak(town.traceable, rows, columns={"plz": "zip", "born": "birth_year"}, **FAST)
    assert any("no column 'sex'" in note for note in part.notes)
    with pytest.raises(UsageError, match="no column 'x'"):
        trace_leak(town.traceable, rows, columns={"x": "zip"})
    with pytest.raises(UsageError, match="same name"):
        trace_leak(town.traceable, rows, columns={"plz": "zip", "g": "zip"})


@pytest.mark.parametrize(
    "steps", [{"zip": None, "sex": None, "birth_year": None}, {"zip": 3, "sex": 1, "birth_year": 4}]
)
def test_a_file_whose_columns_tell_nothing_is_refused(town: World, steps: Mapping[str, int | None]) -> None:
    rows = [{**row, "illness": "flu"} for row in lifted(town, town.rows(leaked(town, 0.1)), steps)]
    with pytest.raises(DataError, match="cannot carry evidence") as refused:
        trace_leak(town.traceable, rows, **FAST)
    assert "--column" in refused.value.remedy


def test_an_empty_file_is_refused(town: World) -> None:
    with pytest.raises(EmptySource):
        trace_leak(town.traceable, pl.DataFrame({"zip": [], "sex": [], "birth_year": []}, schema_overrides={}))


def test_too_few_rows_are_told_to_be_too_few(town: World) -> None:
    kept = np.flatnonzero(town.base)[:1]
    numbers = np.zeros(len(town.sizes), dtype=np.int64)
    numbers[kept] = 2
    trace = trace_leak(town.traceable, town.file(numbers))
    assert not trace.accused
    assert "Nobody is accused" in trace.words()
    assert json.dumps(trace.to_dict(), allow_nan=False)


def test_a_trace_repeats_and_follows_the_file(town: World) -> None:
    one, other = town.file(leaked(town, 0.2)), town.file(leaked(town, 0.2, seed=2))
    assert trace_leak(town.traceable, one, **FAST).to_dict() == trace_leak(town.traceable, one, **FAST).to_dict()
    assert trace_leak(town.traceable, one, **FAST).standings != trace_leak(town.traceable, other, **FAST).standings


def test_files_on_disk_give_the_same(town: World, tmp_path: Any) -> None:
    rows = town.rows(leaked(town, 0.3))
    wanted = trace_leak(town.traceable, rows, **FAST)
    frame = pl.DataFrame(rows).with_columns(diagnosis=pl.lit("flu"))
    frame.sample(fraction=1.0, shuffle=True, seed=1).write_csv(tmp_path / "leak.csv")
    frame.write_parquet(tmp_path / "leak.parquet")
    for name in ("leak.csv", "leak.parquet"):
        assert trace_leak(town.traceable, tmp_path / name, **FAST).standings == wanted.standings


@pytest.mark.parametrize(("colluding", "how"), list(product((2, 3), WAYS)))
def test_copies_put_together_name_at_least_one(colluding: int, how: str) -> None:
    """A whole file of a small town with 212 marks; the benchmark has 5 % of a state."""
    any_, _, wrong = named_from_files(world(100_000, 0.1), colluding=colluding, how=how, share=1.0, runs=3, seed=5)
    assert wrong == 0
    assert any_ >= 2 / 3


@pytest.mark.parametrize("how", ["one copy", *WAYS])
def test_innocent_recipients_have_e_values_that_hold(town: World, how: str) -> None:
    """Hundreds of innocents, whatever was made of the copies of others: on average 1, and rarely many times that."""
    random = np.random.default_rng(8)
    copies = town.codebook.drawn(1 if how == "one copy" else 2, random)
    leak = random.binomial(put_together(town, copies, how, random), 0.2)
    found = sightings_of(town.traceable, town.file(leak))
    evidence = LeakEvidence.of(town.traceable, found, None)
    innocent = np.concatenate([evidence.log_e_values(town.codebook.drawn(20, random))[0] for _ in range(40)])
    values = np.exp(innocent)
    for level in (0.5, 0.1, 0.01):
        assert np.mean(values >= 1 / level) <= level + 4 * math.sqrt(level / len(values))


def small(counts: list[int], sizes: list[int], base: list[int], cells: list[int]) -> Sightings:
    return Sightings(
        counts=np.array(counts),
        base=np.array(base),
        cells=np.array(cells),
        sizes=np.array(sizes),
        rows=sum(counts),
        foreign=0,
        left_out=0,
        columns={"zip": 0},
    )


def test_rows_speak_for_a_mark_and_their_absence_against_it() -> None:
    found = small([6, 0, 3, 500], [6, 6, 6], [0, 0, 0, 490], [0, 1, 2])
    shown, hidden = lone_marks(found, np.full(3, 0.5), Rates(1.0, 1e-9))
    assert (shown > hidden).tolist() == [True, False, True]
    whole, half = shown[0] - hidden[0], shown[2] - hidden[2]
    assert whole > half > 0


@given(
    base=st.lists(st.integers(0, 30), min_size=1, max_size=3),
    sizes=st.lists(st.integers(1, 6), min_size=2, max_size=7),
    colluding=st.integers(1, 3),
    data=st.data(),
)
@settings(max_examples=examples(25), deadline=None)
def test_factors_of_shared_cells_have_expectation_one(
    base: list[int], sizes: list[int], colluding: int, data: st.DataObject
) -> None:
    """By brute force: over all bits that an innocent recipient could have, with their probabilities."""
    number = len(sizes)
    cells = data.draw(st.lists(st.integers(0, len(base) - 1), min_size=number, max_size=number))
    counts = data.draw(st.lists(st.integers(0, 60), min_size=len(base), max_size=len(base)))
    chance = np.array(data.draw(st.lists(st.sampled_from([0.1, 0.5, 0.9]), min_size=number, max_size=number)))
    others = np.array(data.draw(st.lists(st.integers(0, colluding - 1), min_size=number, max_size=number)))
    found = small(counts, sizes, base, cells)
    shared = SharedCells.of(found, chance, Rates(0.8, 0.1), np.ones(number, dtype=bool), 0.5)
    every = np.array(list(product((False, True), repeat=number)))
    weights = np.prod(np.where(every, chance, 1 - chance), axis=1)
    values = np.exp([shared.factor(bits, others, colluding) for bits in every])
    assert float(np.dot(weights, values)) == pytest.approx(1)
    assert shared.best() >= max(shared.factor(bits, others * 0, 1) for bits in every) - 1e-9


def test_cells_that_marks_share_prefer_the_codeword_that_adds_up() -> None:
    found = small([11, 12, 500], [5, 6, 7, 5], [0, 0, 490], [0, 0, 1, 1])
    shared = SharedCells.of(found, np.full(4, 0.5), Rates(1.0, 1e-9), np.ones(4, dtype=bool), 0.1)
    every = np.array(list(product((False, True), repeat=4)))
    nobody = np.zeros(4, dtype=np.int64)
    best = every[int(np.argmax([shared.factor(bits, nobody, 1) for bits in every]))]
    assert best.tolist() == [True, True, True, True]


@pytest.mark.parametrize(("share", "unreached"), [(0.05, 0.0), (0.3, 0.4), (1.0, 0.5)])
def test_rates_are_found_again(share: float, unreached: float) -> None:
    random = np.random.default_rng(3)
    base = random.integers(5, 40, 4_000)
    counts = random.poisson(share * base) * (random.random(4_000) >= unreached)
    found = small([*counts.tolist(), 0], [5], [*base.tolist(), 0], [4_000])
    rates = fitted(found, np.array([2.5]))
    assert rates.share == pytest.approx(share, rel=0.05)
    assert rates.unreached == pytest.approx(unreached, abs=0.05)


def test_dispersion_is_none_for_whole_classes_and_one_for_rows_at_random() -> None:
    random = np.random.default_rng(3)
    base = random.integers(5, 40, 4_000)
    nothing = np.array([2.5])
    whole = small([*base.tolist(), 0], [5], [*base.tolist(), 0], [4_000])
    assert dispersion(whole, fitted(whole, nothing), nothing) < 0.01
    part = small([*random.poisson(0.3 * base).tolist(), 0], [5], [*base.tolist(), 0], [4_000])
    assert dispersion(part, fitted(part, nothing), nothing) == pytest.approx(1, abs=0.15)


def test_rates_of_a_file_with_marks_alone() -> None:
    assert 0 < fitted(small([3, 0, 4], [5, 5, 5], [0, 0, 0], [0, 1, 2]), np.full(3, 2.0)).share <= 2


@dataclass(frozen=True)
class Tuples:
    """The other columns of decoys."""

    columns: dict[str, list[Any]]
    places: list[int]


def with_other_columns(town: World) -> tuple[Traceable, list[dict[str, Any]], list[dict[str, Any]]]:
    """A release whose decoys have other columns, the leaked rows without quasi-identifiers, and the original ones."""
    random = np.random.default_rng(4)
    marks = town.codebook.marks
    places = np.repeat(np.flatnonzero(marks.decoy), marks.sizes[marks.decoy])
    columns = {name: random.integers(0, 40, len(places)).tolist() for name in ("income", "visits", "plan")}
    release = replace(town.traceable, decoys=Tuples(columns, places.tolist()))
    held = town.codebook.present[3][places]
    decoys = [{name: cells[row] for name, cells in columns.items()} for row in np.flatnonzero(held)]
    real = [dict(zip(columns, cells, strict=True)) for cells in random.integers(0, 40, (6_000, len(columns))).tolist()]
    return release, decoys + real, real


def test_decoys_are_found_by_their_other_columns(town: World) -> None:
    release, leak, real = with_other_columns(town)
    trace = trace_leak(release, leak, original=real, **FAST)
    assert trace.accused == (LEAKER,)
    assert trace.columns == {}
    assert any("by their other columns" in note for note in trace.notes)
    assert trace.counts["real_marks"] == 0
    assert trace_leak(release, leak, **FAST).accused == (LEAKER,)
    with pytest.raises(DataError, match="cannot carry evidence"):
        trace_leak(release, [{"unknown": 1}], **FAST)


LABELS = {
    "zip": ["430**", "431**", "43***", "*****", "43001", "9", None, "x"],
    "sex": ["F", "M", "Person", None, "?"],
    "birth_year": ["1960", "[1960, 1962)", "[1960, 1968)", "*", "1960.0", "-3", None, "nan", "no year"],
}


@given(
    names=st.lists(st.sampled_from([*LABELS, "illness"]), unique=True),
    number=st.integers(0, 12),
    data=st.data(),
)
@settings(max_examples=examples(60), deadline=None)
def test_no_table_makes_it_stumble(town: World, names: list[str], number: int, data: st.DataObject) -> None:
    """Whatever is in it, a table is traced with numbers that make sense, or refused in words without its values."""
    rows = [
        {name: data.draw(st.sampled_from(LABELS.get(name, ["flu", None]))) for name in names} for _ in range(number)
    ]
    trace, said = None, ""
    try:
        trace = trace_leak(town.traceable, rows, alpha=0.5)
        said = json.dumps(trace.to_dict(), allow_nan=False)
    except DataError as refused:
        said = str(refused)
    assert "no year" not in said
    if trace is None:
        return
    counts = trace.counts
    assert counts["matched"] + counts["foreign"] + counts["left_out"] == counts["rows"] == number
    assert all(one.p_value is not None and 0 < one.p_value <= 1 for one in trace.standings)
    assert all(0 <= one.posterior <= 1 for one in trace.standings)
    assert trace.best_p_value is not None
    assert trace.best_p_value <= min(one.p_value or 1.0 for one in trace.standings)
