"""Candidates side by side are the results of anonymising under each choice of limits."""

from __future__ import annotations

import json

import pandas
import pytest

import discreet
from discreet.anonymity import compare
from discreet.errors import UsageError
from discreet.kernel import AnyValue, Classes, Widths

PEOPLE = Classes.of(
    ["sex", "age"],
    [("F", "30"), ("F", "31"), ("M", "30"), ("M", "31"), ("M", "55")],
    [3, 1, 2, 2, 1],
    rules={"sex": AnyValue(), "age": Widths((10,))},
)


def test_every_candidate_is_what_anonymise_gives() -> None:
    found = compare(PEOPLE, k=(2, 4), suppression=(0, 0.2), loss=("loss", "entropy"), search=("optimal", "local"))
    assert len(found.candidates) == len(found.possible) == 16
    for one in found.candidates:
        alone = discreet.anonymise(PEOPLE, k=one.k, suppression=one.suppression, loss=one.loss_name, search=one.search)
        sizes = alone.published.sizes
        assert (one.loss, one.suppressed, one.classes) == (alone.loss, alone.suppressed, alone.classes)
        assert (one.levels, one.utility) == (alone.levels, alone.utility())
        assert one.average_risk == pytest.approx(len(sizes) / sizes.sum())
        assert one.highest_risk == 1 / sizes.min()
    assert json.loads(json.dumps(found.to_dict()))["candidates"][0]["levels"] == dict(found.candidates[0].levels or {})


def test_what_cannot_be_reached_is_said() -> None:
    flat = Classes.of(["sex"], [("F",), ("M",)], [5, 1])
    found = compare(flat, k=(1, 2, 7), suppression=(0, 0.5))
    assert [one.possible for one in found.candidates] == [True, True, False, True, False, False]
    assert "No combination" in found.candidates[2].why
    assert "more than the 6 people" in found.candidates[4].why
    assert "4 possible" not in repr(found)
    assert "not possible" in found._repr_html_()


def test_people_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pandas.DataFrame({"age": [30, 31, 44, 45], "nr": [1, 2, 3, 4]})
    policy = {"columns": {"age": {"role": "quasi", "hierarchy": {"widths": [10]}}, "nr": {"role": "identifier"}}}
    table = discreet.read(frame, policy=policy)
    counted = []
    count = type(table.engine).count
    monkeypatch.setattr(type(table.engine), "count", lambda *args, **kw: counted.append(1) or count(*args, **kw))
    assert len(compare(table).candidates) == 9
    assert counted == [1]
    assert compare(frame, k=2, suppression=0, policy=policy).candidates[0].levels == {"age": 1}


@pytest.mark.parametrize(
    "wrong", [{"loss": "x"}, {"search": ("x",)}, {"k": ()}, {"suppression": 2.0}, {"diversity": 2}]
)
def test_a_call_that_cannot_be_understood_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        compare(PEOPLE, **wrong)  # type: ignore[arg-type]
