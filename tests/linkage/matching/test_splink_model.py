"""Training and scoring with Splink."""

from __future__ import annotations

import itertools
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import DataError, UsageError
from discreet.linkage import (
    DuckDBBackend,
    Labels,
    LinkageSpec,
    Model,
    Pairs,
    Rule,
    find_pairs,
    retrain,
    score_pairs,
    start_project,
    train,
)
from discreet.linkage.matching.keys import column_of
from discreet.linkage.matching.pairs import probability_of
from discreet.linkage.matching.splink_model import SWAPPED_NAMES, consistent_prior, settled, training_rules
from tests.linkage.conftest import Sample


def test_generated_people_are_found(sample: Sample) -> None:
    found, same = sample.found, sample.same
    said = found.pairs.probability >= 0.5
    right = (said & same).sum()
    assert 2 * right / (said.sum() + len(sample.true)) > 0.95
    assert same.sum() / len(sample.true) > 0.97  # of all true pairs, among the candidates


def test_the_same_seed_gives_the_same_model(sample: Sample) -> None:
    again = train(sample.folder, seed=1)
    assert sample.found.model is not None
    # Pairs that were scored correct what the rules were thought to find.
    recall = sample.found.model.blocking.recall
    assert replace(again, blocking=replace(again.blocking, recall=recall)).to_dict() == sample.found.model.to_dict()


def test_a_model_holds_no_value_of_a_person_and_survives_the_disk(sample: Sample, tmp_path: Path) -> None:
    model = sample.found.model
    assert model is not None
    text = model.save(tmp_path / "model.json").read_text(encoding="utf-8")
    values = {value for column in sample.folder.identifying().values() for value in column if value and len(value) > 4}
    assert not [value for value in values if f'"{value}"' in text or f"'{value}'" in text]
    again = Model.load(tmp_path / "model.json")
    assert again == model
    scored = score_pairs(sample.folder, again)
    assert np.allclose(scored.weight, sample.found.pairs.weight)


def test_every_pair_of_the_rules_is_scored_once(sample: Sample) -> None:
    model = sample.found.model
    assert model is not None
    first, spec = sample.folder.sizes[0], sample.folder.spec
    keys = sorted({key for rule in model.blocking.rules for key in rule.attributes})
    columns = ", ".join(column_of(key, spec) for key in keys)
    tables = " UNION ALL ".join(f"SELECT unique_id, {columns} FROM {table}_table" for table in sample.folder.tables)
    rows = DuckDBBackend(sample.folder).connection.execute(f"SELECT * FROM ({tables}) ORDER BY unique_id").fetchall()
    values = {key: [row[place + 1] for row in rows] for place, key in enumerate(keys)}
    expected = set()
    for rule in model.blocking.rules:
        others = rule.attributes[::-1] if rule.crossed else rule.attributes
        left, right = (
            [tuple(values[key][row] for key in names) for row in range(len(rows))]
            for names in (rule.attributes, others)
        )
        for a in range(first):
            for b in range(first, sample.folder.records):
                if None not in left[a] and left[a] == right[b] and not (rule.crossed and len({*left[a]}) == 1):
                    expected.add((a, b))
    pairs = sample.found.pairs
    scored = list(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True))
    assert len(scored) == len(set(scored))
    assert set(scored) == expected


def test_labels_change_m_and_only_m(sample: Sample) -> None:
    model = sample.found.model
    assert model is not None
    learnt = retrain(sample.folder, model, sample.known, sample.found.pairs)
    assert learnt.labels == len(sample.known)
    for before, after in zip(model.settings["comparisons"], learnt.settings["comparisons"], strict=True):
        for one, other in zip(before["comparison_levels"], after["comparison_levels"], strict=True):
            if "u_probability" in one:
                assert other["u_probability"] == pytest.approx(one["u_probability"], rel=1e-9)
    assert learnt.settings["comparisons"] != model.settings["comparisons"]


def test_m_from_all_labels_is_what_the_truth_says(sample: Sample) -> None:
    """With every true pair labelled, m of an exact agreement is the share of true pairs that agree."""
    model = sample.found.model
    assert model is not None
    labels = Labels(sample.true, np.ones(len(sample.true), dtype=bool))
    few = sample.found.pairs.where(np.zeros(len(sample.found.pairs), dtype=bool))
    learnt = retrain(sample.folder, model, labels, few)
    values = sample.folder.identifying()
    place = sample.folder.spec.names.index("birth_date")
    days = values["birth_date"]
    agree = np.mean([days[a] == days[b] for a, b in zip(sample.true.first, sample.true.second, strict=True)])
    levels = {level["label_for_charts"]: level for level in learnt.settings["comparisons"][place]["comparison_levels"]}
    exact = next(level for name, level in levels.items() if "Exact" in name)
    assert exact["m_probability"] == pytest.approx(agree, abs=0.01)


def test_labels_without_a_true_pair_are_refused(sample: Sample) -> None:
    nothing = sample.found.pairs.where(np.zeros(len(sample.found.pairs), dtype=bool))
    labels = Labels(sample.true, np.zeros(len(sample.true), dtype=bool))
    assert sample.found.model is not None
    with pytest.raises(DataError, match="No label"):
        retrain(sample.folder, sample.found.model, labels, nothing)


@given(st.lists(st.floats(-20, 20), min_size=1, max_size=40), st.integers(50, 10_000))
def test_the_share_of_true_pairs_agrees_with_itself(evidence: list[float], possible: int) -> None:
    found = np.array(evidence)
    prior = consistent_prior(found, possible=possible, start=0.01)
    implied = probability_of(found + np.log2(prior / (1 - prior))).sum() / possible
    assert 0 < prior <= 0.5
    assert prior == pytest.approx(min(0.5, max(implied, 0.5 / possible)), rel=0.1, abs=1e-3)


def test_one_table_is_looked_through_for_duplicates(tmp_path: Path) -> None:
    spec = LinkageSpec.from_dict(
        {
            "linkage": {
                "identifying": {"name": {"kind": "string"}, "born": {"kind": "date"}, "town": {"kind": "category"}}
            }
        }
    )
    rng = np.random.default_rng(5)
    names = [
        f"{first}{last}" for first in ("anna", "berta", "carl", "doro", "emil") for last in rng.integers(100, 999, 30)
    ]
    born = [f"19{rng.integers(30, 99)}-{rng.integers(1, 13):02d}-{rng.integers(1, 29):02d}" for _ in names]
    town = [("north", "south", "west")[rng.integers(3)] for _ in names]
    doubled = [
        (f"{name[:-1]}x" if place % 2 else name, day, place_of)
        for place, (name, day, place_of) in enumerate(zip(names, born, town, strict=True))
    ][:60]
    rows = [*zip(names, born, town, strict=True), *doubled]
    table = pyarrow.table({name: [row[place] for row in rows] for place, name in enumerate(("name", "born", "town"))})
    folder = start_project(tmp_path / "p", table, spec=spec, key=b"k")
    found = find_pairs(folder)
    assert (found.pairs.first < found.pairs.second).all()
    assert found.pairs.expected == pytest.approx(60, abs=6)


def test_rules_for_training_leave_no_attribute_out(sample: Sample) -> None:
    names, swap = set(sample.folder.spec.names), {"given_name", "surname"}
    for rules in (
        [Rule(("national_id",), pairs=9), Rule(("birth_date",), pairs=9)],
        [Rule(("surname", "zip"), pairs=9)],
        [Rule(("surname",), pairs=9), Rule(("given_name",), pairs=9)],
        [Rule(tuple(sorted(names)), pairs=9)],
    ):
        chosen = training_rules(sample.folder, rules)
        trained = set()
        for rule in chosen:
            used = set(rule.attributes)
            trained |= names - (used | swap if used & swap else used)
        assert trained == names


def test_pairs_of_different_lengths_are_refused() -> None:
    with pytest.raises(UsageError):
        Pairs(np.zeros(1, dtype=np.int64), np.zeros(2, dtype=np.int64), np.zeros(1), np.zeros(1))
    with pytest.raises(UsageError):
        Labels(Pairs.of([1], [2], [0.0]), np.array([True]), np.array([0.0]))


def test_the_room_is_entered_without_splink_and_says_what_is_missing(sample: Sample) -> None:
    check = f"""
import sys
import discreet.linkage
assert not {{"splink", "duckdb", "numpy"}} & set(sys.modules), sorted(sys.modules)
sys.modules["splink"] = None
from discreet.errors import MissingExtra
from discreet.linkage import ProjectFolder, find_pairs
try:
    find_pairs(ProjectFolder.open({str(sample.folder.path)!r}))
except MissingExtra as error:
    assert "discreet[linkage]" in str(error)
else:
    raise SystemExit("nothing was missing")
"""
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_splink_is_quiet_and_its_errors_quote_nothing(sample: Sample, caplog: pytest.LogCaptureFixture) -> None:
    model = sample.found.model
    assert model is not None
    caplog.set_level(0)
    score_pairs(sample.folder, model)
    assert not [record for record in caplog.records if record.name.startswith("splink")]
    desk = DuckDBBackend(sample.folder)
    assert len(desk.frames) == 2
    desk.connection.execute("DROP TABLE second_table")
    with pytest.raises(DataError, match="Splink could not score the pairs") as caught:
        score_pairs(sample.folder, model, backend=desk)
    assert "select" not in str(caught.value).lower()
    assert "second_table" not in str(caught.value)


PROBABILITIES = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=6)


def settings(levels: list[tuple[float | str | None, float | str | None]], labels: tuple[str, ...] = ()) -> dict:
    named = [
        {"m_probability": m, "u_probability": u, "label_for_charts": labels[place] if labels else f"level {place}"}
        for place, (m, u) in enumerate(levels)
    ]
    null = {"is_null_level": True}
    return {"comparisons": [{"comparison_levels": [null, *named]}]}


def mended(levels: list, prior: float = 0.001, **more: object) -> list[tuple[float, float]]:
    found = settled(settings(levels, **more), prior=prior, possible=1_000_000)
    assert found["probability_two_random_records_match"] == prior
    return [(one["m_probability"], one["u_probability"]) for one in found["comparisons"][0]["comparison_levels"][1:]]


@given(PROBABILITIES, st.floats(1e-6, 0.3))
def test_sums_are_one_and_being_less_alike_never_speaks_more(levels: list[tuple[float, float]], prior: float) -> None:
    found = mended(levels, prior)
    assert sum(m for m, _ in found) == pytest.approx(1)
    assert sum(u for _, u in found) == pytest.approx(1)
    assert all(m > 0 and u > 0 for m, u in found)
    ratios = [m / u for m, u in found]
    assert all(after <= before * (1 + 1e-9) for before, after in itertools.pairwise(ratios))


def test_true_pairs_among_the_random_ones_are_taken_off() -> None:
    """Of a million pairs a thousand are true and agree nine times in ten; strangers agree 300 times in a million."""
    seen = 0.001 * 0.9 + 0.999 * 300e-6
    found = mended([(0.9, seen), (0.1, 1 - seen)])
    assert found[0][1] == pytest.approx(300e-6, rel=1e-6)


def test_they_are_not_taken_off_twice() -> None:
    levels = [(0.9, 30e-6), (0.1, 1 - 30e-6)]
    found = settled(settings(levels), prior=0.001, possible=1_000_000, among_random=0.0)
    assert found["comparisons"][0]["comparison_levels"][1]["u_probability"] == pytest.approx(30e-6)


def test_a_level_nobody_showed_shares_the_weight_of_its_neighbour() -> None:
    found = mended([(0.9, 0.01), ("level not observed in training dataset", 0.09), (0.1, 0.9)])
    assert found[1][0] / found[1][1] == pytest.approx(found[2][0] / found[2][1], rel=1e-4)


def test_a_swap_is_no_step_of_likeness() -> None:
    found = mended([(0.0001, 0.2), (0.8, 0.1), (0.2, 0.7)], labels=(SWAPPED_NAMES, "exact", "else"))
    assert found[0][0] / found[0][1] < 1 < found[1][0] / found[1][1]


def test_the_settings_given_are_left_alone() -> None:
    given_settings = settings([(0.2, 0.5), (0.8, 0.5)])
    settled(given_settings, prior=0.1, possible=10)
    assert given_settings == settings([(0.2, 0.5), (0.8, 0.5)])
