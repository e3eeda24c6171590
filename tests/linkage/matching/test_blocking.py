"""Rules: counted exactly, chosen within the bound, and what they find."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pyarrow
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.errors import UsageError
from discreet.linkage import LinkageSpec, ProjectFolder, Rule, start_project, suggest_rules
from discreet.linkage.matching.blocking import (
    blocking_of,
    recall_of,
    recaptured,
)
from tests.examples import examples
from tests.linkage.conftest import Sample

SPEC = LinkageSpec.from_dict(
    {
        "linkage": {
            "swap": ["a", "b"],
            "identifying": {"a": {"kind": "string"}, "b": {"kind": "string"}, "c": {"kind": "category"}},
        }
    }
)
CELL = st.sampled_from(["X", "Y", "Z", None])
ROWS = st.lists(st.tuples(CELL, CELL, CELL), min_size=1, max_size=9)
NUMBER = itertools.count()


def project(home: Path, *tables: list[tuple[str | None, ...]]) -> ProjectFolder:
    frames = [
        pyarrow.table(
            {name: pyarrow.array([row[place] for row in rows], pyarrow.string()) for place, name in enumerate("abc")}
        )
        for rows in tables
    ]
    return start_project(home / f"p{next(NUMBER)}", *frames, spec=SPEC, key=b"k")


def all_pairs(tables: tuple[list[tuple[str | None, ...]], ...]) -> list[tuple[tuple[str | None, ...], ...]]:
    if len(tables) == 1:
        return list(itertools.combinations(tables[0], 2))
    return list(itertools.product(*tables))


@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ROWS, st.none() | ROWS)
def test_pairs_are_counted_exactly(tmp_path: Path, first: list, second: list | None) -> None:
    tables = (first,) if second is None else (first, second)
    folder = project(tmp_path, *tables)
    rules = [names for length in (1, 2, 3) for names in itertools.combinations("abc", length)]
    counted = {rule.attributes: rule.pairs for rule in blocking_of(folder, rules).rules}
    for names in rules:
        places = ["abc".index(name) for name in names]
        brute = sum(
            all(one[place] is not None and one[place] == other[place] for place in places)
            for one, other in all_pairs(tables)
        )
        assert counted[names] == brute
    sounds = {"X": "S", "Y": "A", "Z": "S", None: None}  # Double Metaphone of one letter
    crossed = [rule for rule in suggest_rules(folder).rules if rule.crossed]
    brute = sum(
        None not in (*one[:2], *other[:2])
        and sounds[one[0]] == sounds[other[1]]
        and sounds[one[1]] == sounds[other[0]]
        and sounds[one[0]] != sounds[one[1]]
        for one, other in all_pairs(tables)
    )
    assert [rule.pairs for rule in crossed] == [brute]


def test_the_bound_is_kept_and_rules_are_not_redundant(sample: Sample) -> None:
    for most in (150, 500, 3_000, 100_000):
        found = suggest_rules(sample.folder, most_pairs=most)
        assert found.pairs <= most
        sets = [set(rule.attributes) for rule in found.rules if not rule.crossed]
        assert not any(one < other for one in sets for other in sets)
    assert suggest_rules(sample.folder, most_pairs=3_000).recall >= suggest_rules(sample.folder, most_pairs=500).recall


def test_the_estimate_of_what_rules_find_is_close(sample: Sample) -> None:
    """Among generated people with typos, swaps and moves; the truth is known here only."""
    agreement = suggest_rules(sample.folder).agreement
    values = sample.folder.identifying()
    true = sample.true
    for name in values:
        pairs = list(zip(true.first.tolist(), true.second.tolist(), strict=True))
        agree = sum(values[name][a] is not None and values[name][a] == values[name][b] for a, b in pairs) / len(pairs)
        assert agreement[name] == pytest.approx(agree, abs=0.1), name


@given(st.lists(st.lists(st.booleans(), min_size=3, max_size=3), min_size=1, max_size=30), st.data())
def test_what_rules_find_together(pairs: list[list[bool]], data: st.DataObject) -> None:
    sets = data.draw(st.lists(st.sets(st.sampled_from("abc"), min_size=1), min_size=1, max_size=4))
    agreed = {name: np.array([pair[place] for pair in pairs]) for place, name in enumerate("abc")}
    brute = np.mean([any(all(pair["abc".index(name)] for name in one) for one in sets) for pair in pairs])
    assert recall_of([Rule(tuple(sorted(one))) for one in sets], agreed) == pytest.approx(brute)


def test_what_no_rule_found_is_told_by_what_one_rule_found() -> None:
    """Simulated captures: the truth is known, and lists that are independent give it back."""
    rng = np.random.default_rng(3)
    caught = rng.random((20_000, 3)) < 0.5
    seen = caught.any(axis=1)
    assert recaptured(np.ones(int(seen.sum())), caught[seen]) == pytest.approx(seen.mean(), abs=0.01)
    # Of pairs that differ in how hard they are to find, it finds more missing than none, and fewer than there are.
    hard = rng.random((20_000, 3)) < rng.choice([0.1, 0.9], (20_000, 1))
    seen = hard.any(axis=1)
    assert seen.mean() <= recaptured(np.ones(int(seen.sum())), hard[seen]) < 1
    assert recaptured(np.zeros(0), np.zeros((0, 2), dtype=bool)) == 0


def test_parts_of_values_find_what_whole_values_miss(sample: Sample) -> None:
    whole, sound = (blocking_of(sample.folder, [[key]]) for key in ("surname", "surname:sound"))
    assert sound.recall > whole.recall
    assert sound.pairs > whole.pairs
    assert any(":" in key for rule in suggest_rules(sample.folder).rules for key in rule.attributes)
    with pytest.raises(UsageError, match="surname:sound"):
        blocking_of(sample.folder, [["surname:nose"]])
    assert blocking_of(sample.folder, [["surname:sound", "birth_date:year"]]).pairs > 0


def test_rules_in_words() -> None:
    assert Rule(("a", "b"), crossed=True, pairs=3).words == "a and b swapped: 3 pairs"
    assert Rule(("a",), pairs=3).words == "same a: 3 pairs"


def test_nonsense_is_refused(sample: Sample) -> None:
    with pytest.raises(UsageError, match="'nose'"):
        blocking_of(sample.folder, [["nose"]])
    with pytest.raises(UsageError, match="no rule"):
        blocking_of(sample.folder, [])
    with pytest.raises(UsageError, match="At least one"):
        suggest_rules(sample.folder, most_pairs=0)
    with pytest.raises(UsageError, match="No rule makes 1 pairs"):
        suggest_rules(sample.folder, most_pairs=1)
