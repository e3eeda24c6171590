"""What a user knows, and how much damage all of it could do."""

from __future__ import annotations

import datetime
import itertools
import math
import random
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import DataError, IntegrityError, MissingExtra, UsageError
from discreet.kernel import Coded
from discreet.misuse import Exposure, Sensitivity, score
from discreet.misuse import ensembles as ensembles_module
from discreet.misuse import exposure as exposure_module
from tests.examples import examples
from tests.misuse import brute
from tests.misuse.paper import F
from tests.misuse.strategies import XS

NAMES = ("a", "b", "c", "d")
TABLES = {
    name: {"values": {"v1": 0.15 * step, "v2": 0.2 * step, "v3": 0.25 * step}, "otherwise": 0.0}
    for step, name in enumerate(NAMES, start=1)
}
G = Sensitivity.from_dict(TABLES)


@st.composite
def publications(draw: st.DrawFn, entities: int = 8) -> brute.Publication:
    """A result about some entities, some of them perhaps twice."""
    who = draw(st.lists(st.integers(0, entities - 1), min_size=0, max_size=entities))
    names = draw(st.sets(st.sampled_from([*NAMES, "unweighed"])))
    cells = st.lists(st.sampled_from(["v1", "v2", "v3", "x", None]), min_size=len(who), max_size=len(who))
    crowds = draw(st.lists(st.integers(1, 4), min_size=len(who), max_size=len(who)))
    return who, {name: draw(cells) for name in sorted(names)}, crowds


def learn(known: Exposure, publication: brute.Publication, at: float = 0) -> Exposure:
    entities, values, crowds = publication
    return known.after(entities=entities, values=values, at=at, distinguishing=crowds)


@pytest.fixture(params=["one by one", "arrays"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Few entities are looked at one by one, many as arrays; both must agree."""
    few = 1000 if request.param == "one by one" else -1
    monkeypatch.setattr(exposure_module, "FEW", few)
    monkeypatch.setattr(ensembles_module, "FEW", few)
    return str(request.param)


@settings(max_examples=examples(150))
@given(told=st.lists(publications(), max_size=5), x=XS, few=st.sampled_from([-1, 2, 1000]))
def test_the_value_is_the_largest_over_all_sets_of_attributes(told: list[Any], x: float, few: int) -> None:
    before = exposure_module.FEW, ensembles_module.FEW
    exposure_module.FEW = ensembles_module.FEW = few
    try:
        known = Exposure(sensitivity=G, x=x)
        for number, publication in enumerate(told):
            known = learn(known, publication, at=number)
            assert brute.close(known.value, brute.exposure(told[: number + 1], G, x))
    finally:
        exposure_module.FEW, ensembles_module.FEW = before


@given(told=st.lists(publications(), max_size=5), x=XS)
def test_learning_more_never_lowers_the_value(told: list[Any], x: float) -> None:
    known, values = Exposure(sensitivity=G, x=x), [0.0]
    for publication in told:
        known = learn(known, publication)
        values.append(known.value)
    assert values == sorted(values)


@given(told=st.lists(publications(), max_size=5), x=XS, seed=st.integers(0, 99))
def test_the_order_of_learning_does_not_matter(told: list[Any], x: float, seed: int) -> None:
    shuffled = random.Random(seed).sample(list(enumerate(told)), len(told))
    one = other = Exposure(sensitivity=G, x=x, frame=2)
    for at, publication in enumerate(told):
        one = learn(one, publication, at=at)
    for at, publication in shuffled:
        other = learn(other, publication, at=at)
    assert one.value == other.value
    assert learn(one, told[-1], at=len(told) - 1).value == one.value if told else True


@given(told=st.lists(publications(), max_size=6), x=XS, frame=st.integers(1, 4), bucket=st.sampled_from([None, 1, 2]))
def test_what_is_older_than_the_frame_is_forgotten(told: list[Any], x: float, frame: int, bucket: int | None) -> None:
    known = Exposure(sensitivity=G, x=x, frame=frame, bucket=bucket)
    width = bucket or 0
    for at, publication in enumerate(told):
        known = learn(known, publication, at=at)
        kept = [
            one for when, one in enumerate(told[: at + 1])
            if (when >= at - frame if bucket is None else (when // width + 1) * width > at - frame)
        ]  # fmt: skip
        assert brute.close(known.value, brute.exposure(kept, G, x))


@given(told=st.lists(publications(), min_size=1, max_size=5), cut=st.integers(0, 5))
def test_dropping_forgets_what_was_learned_before(told: list[Any], cut: int) -> None:
    known = Exposure(sensitivity=G)
    for at, publication in enumerate(told):
        known = learn(known, publication, at=at)
    assert brute.close(known.drop_before(cut).value, brute.exposure(told[cut:], G, 2.0))
    assert known.value == known.drop_before(0).value


@given(told=st.lists(publications(), max_size=4), more=publications())
def test_what_was_stored_goes_on_as_if_it_had_not_been(told: list[Any], more: Any) -> None:
    known = Exposure(sensitivity=G, x=1.5, frame=9, bucket=2)
    for at, publication in enumerate(told):
        known = learn(known, publication, at=at)
    stored = known.to_bytes()
    again = Exposure.from_bytes(stored)
    assert (again.value, again.x, again.newest) == (known.value, known.x, known.newest)
    assert again.to_bytes() == stored
    assert learn(again, more, at=5).value == learn(known, more, at=5).value
    assert again.sensitivity.version == known.sensitivity.version


@given(told=st.lists(publications(), max_size=5), cut=st.integers(0, 5))
def test_joining_is_learning_both(told: list[Any], cut: int) -> None:
    parts = []
    for some in (told[:cut], told[cut:], told):
        known = Exposure(sensitivity=G)
        for publication in some:
            known = learn(known, publication, at=told.index(publication))
        parts.append(known)
    assert parts[0].join(parts[1]).value == parts[2].value


@given(rows=st.lists(st.tuples(*[st.sampled_from(["v1", "v3", None])] * 4), min_size=1, max_size=8), x=XS)
def test_one_result_about_distinct_entities_scores_as_that_result(rows: list[Any], x: float) -> None:
    table = [{"id": place, **dict(zip(NAMES, row, strict=True))} for place, row in enumerate(rows)]
    values = {name: [row[name] for row in table] for name in NAMES}
    known = Exposure(sensitivity=G, x=x).after(entities=range(len(table)), values=values, at=0)
    assert brute.close(known.value, score(table, source=table, quasi=["id"], sensitivity=G, x=x).value)


def two(entities: Any, attributes: Any) -> tuple[Exposure, Exposure]:
    """One publication about 1 and 2 with a and b, and one more after it."""
    first = Exposure(sensitivity=G).after(entities=[1, 2], values={"a": ["v3", "v1"], "b": ["v3", "v2"]}, at=0)
    values = {name: ["v3"] * len(entities) for name in attributes}
    return first, first.after(entities=entities, values=values, at=1)


def test_the_nine_ways_in_which_two_publications_relate() -> None:
    """Entities equal, overlapping, distinct; attributes equal, overlapping, distinct."""
    a, b, c = 0.25, 0.5, 0.75
    expected = {
        ((1, 2), "ab"): math.sqrt(2) * (a + b),
        ((1, 2), "bc"): math.sqrt(2) * 1.0,
        ((1, 2), "c"): math.sqrt(2) * 1.0,
        ((2, 3), "ab"): math.sqrt(3) * (a + b),
        ((2, 3), "bc"): max(1.0, math.sqrt(3) * b, math.sqrt(2) * 1.0),
        ((2, 3), "c"): max(math.sqrt(2) * (a + b), math.sqrt(2) * c, 1.0),
        ((3, 4), "ab"): 2 * (a + b),
        ((3, 4), "bc"): max(math.sqrt(2) * 1.0, 2 * b, math.sqrt(2) * (a + b)),
        ((3, 4), "c"): max(math.sqrt(2) * (a + b), math.sqrt(2) * c),
    }
    for (entities, attributes), value in expected.items():
        assert two(entities, attributes)[1].value == pytest.approx(value), (entities, attributes)
    same = Exposure(sensitivity=G).after(entities=[1, 2], values={"a": ["v3", "v1"], "b": ["v3", "v2"]}, at=0)
    again = same.after(entities=[2, 1], values={"a": ["v1", "v3"], "b": ["v2", "v3"]}, at=1)
    assert again.ensembles is same.ensembles


def test_the_check_of_the_interface() -> None:
    known = Exposure(sensitivity=F, x=2.0).after(entities=[1, 2], values={"account": ["Silver", "Silver"]}, at=0)
    assert known.value == pytest.approx(0.989949, abs=1e-6)


def test_entities_may_have_any_keys(way: str) -> None:
    keys = [5, "5", 5.0, "x-9", -1, 2**40, datetime.date(2020, 1, 1), "007"]
    known = Exposure(sensitivity=G, x=1).after(entities=keys, values={"a": ["v3"] * len(keys)}, at=0)
    assert known.value == pytest.approx(0.25 * 6)
    again = Exposure.from_bytes(known.to_bytes())
    assert again.after(entities=keys[3:], values={"a": ["v3"] * 5}, at=0).value == known.value
    assert again.after(entities=["new"], values={"a": ["v3"]}, at=0).value > known.value
    big = np.array([2**40, 2**40 + 1, 5])
    assert known.after(entities=big, values={"a": ["v3"] * 3}, at=0).value == pytest.approx(0.25 * 7)


def test_columns_may_be_coded_or_arrays(way: str) -> None:
    f = Sensitivity.from_dict({"bill": {"bins": [[10, 0.1]], "otherwise": 0.9}, "a": TABLES["a"]})
    values: dict[str, Any] = {"bill": np.array([5.0, math.nan]), "a": Coded(("v3", None), np.array([0, 1]))}
    known = Exposure(sensitivity=f, x=1).after(entities=np.array([1, 2]), values=values, at=0)
    assert known.value == pytest.approx(2 * 0.35)


def test_times_may_be_datetimes() -> None:
    day = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    week = datetime.timedelta(days=7)
    known = Exposure(sensitivity=G, frame=week).after(entities=[1], values={"a": ["v3"]}, at=day)
    assert known.after(entities=[2], values={"a": ["v1"]}, at=day + week).value == pytest.approx(math.sqrt(2) * 0.25)
    later = known.after(entities=[2], values={"a": ["v1"]}, at=day + week * 1.01)
    assert later.value == pytest.approx(0.15)
    assert Exposure.from_bytes(later.to_bytes()).frame == week.total_seconds()
    naive = day.replace(tzinfo=None)
    assert known.drop_before(naive).value == known.value


def test_what_comes_too_late_for_the_frame_is_not_learned() -> None:
    known = Exposure(sensitivity=G, frame=5).after(entities=[1], values={"a": ["v1"]}, at=100)
    assert known.after(entities=[2], values={"a": ["v3"]}, at=94).value == known.value
    assert known.after(entities=[2], values={"a": ["v3"]}, at=95).value > known.value


@pytest.mark.parametrize(
    "call",
    [
        {"entities": [1], "values": {"a": ["v1", "v2"]}},
        {"entities": [1] * 30, "values": {"a": ["v1"]}},
        {"entities": [None], "values": {"a": ["v1"]}},
        {"entities": [1], "values": {"a": ["v1"]}, "distinguishing": [0]},
        {"entities": [1], "values": {"a": ["v1"]}, "distinguishing": [1, 2]},
        {"entities": [1], "values": {"a": ["v1"]}, "distinguishing": [0.5]},
    ],
)
def test_results_that_do_not_fit_are_refused(call: Any) -> None:
    with pytest.raises(DataError):
        Exposure(sensitivity=G).after(at=0, **call)


def test_settings_that_make_no_sense_are_refused() -> None:
    for wrong in ({"x": 0.5}, {"x": math.nan}, {"frame": 0}, {"bucket": -1}):
        with pytest.raises(UsageError):
            Exposure(sensitivity=G, **wrong)
    with pytest.raises(UsageError):
        Exposure(sensitivity=G).after(entities=[1], values={"a": ["v1"]}, at=math.nan)


def test_bytes_that_are_no_exposure_are_refused() -> None:
    stored = learn(Exposure(sensitivity=G), ([1, 2], {"a": ["v1", "v2"]}, [1, 1])).to_bytes()
    for wrong in (b"", b"{}", b"\x00\xff", stored[:-3], stored.replace(b'"format": 1', b'"format": 9')):
        with pytest.raises(IntegrityError):
            Exposure.from_bytes(wrong)


def test_the_representation_names_nobody() -> None:
    known = Exposure(sensitivity=G).after(entities=["Mary"], values={"a": ["v3"]}, at=0)
    assert "Mary" not in repr(known)
    assert "v3" not in repr(known)


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyroaring", None)
    with pytest.raises(MissingExtra, match=r"discreet\[misuse\]"):
        Exposure(sensitivity=G).after(entities=[1], values={"a": ["v1"]}, at=0)


def test_many_entities_and_attributes_agree_with_the_oracle(way: str) -> None:
    rng = np.random.default_rng(7)
    told: list[brute.Publication] = []
    known = Exposure(sensitivity=G)
    for at in range(6):
        entities = np.sort(rng.choice(400, 60, replace=False)).tolist()
        names = [name for name in NAMES if rng.random() < 0.6] or ["a"]
        values = {name: rng.choice(["v1", "v2", "v3"], 60).tolist() for name in names}
        told.append((entities, values, rng.integers(1, 9, 60).tolist()))
        known = learn(known, told[-1], at=at)
    for order in itertools.islice(itertools.permutations(told), 3):
        assert brute.close(known.value, brute.exposure(order, G, 2.0))
