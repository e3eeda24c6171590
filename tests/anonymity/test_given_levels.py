"""Given levels: measured as they are, with those who miss the limits and the optimum beside them."""

from __future__ import annotations

import json

import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet
from discreet.errors import UsageError
from discreet.kernel import AnyValue, Classes, Widths
from tests.anonymity.brute import losses
from tests.anonymity.strategies import tables

PEOPLE = Classes.of(
    ["sex", "age"],
    [("F", "30"), ("F", "31"), ("M", "30"), ("M", "31"), ("M", "55")],
    [3, 1, 2, 2, 1],
    rules={"sex": AnyValue(), "age": Widths((10,))},
)


def test_given_levels_are_the_result_and_the_optimum_is_said() -> None:
    safe = discreet.anonymise(PEOPLE, k=2, suppression=0.2, levels={"sex": 1, "age": 1})
    best = discreet.anonymise(PEOPLE, k=2, suppression=0.2)
    assert safe.levels == {"sex": 1, "age": 1}
    assert (safe.suppressed, safe.search, safe.certificate, safe.exceeded) == (1, "given", None, False)
    assert safe.optimum is not None
    assert (safe.optimum.levels, safe.optimum.loss) == (best.levels, best.loss)
    assert safe.loss > best.loss
    assert safe.published.records == 8


def test_the_json_of_an_earlier_result_is_taken() -> None:
    earlier = discreet.anonymise(PEOPLE, k=2, suppression=0.2)
    again = discreet.anonymise(PEOPLE, k=2, suppression=0.2, levels=json.loads(json.dumps(earlier.to_dict())))
    assert (again.levels, again.loss, again.suppressed) == (earlier.levels, earlier.loss, earlier.suppressed)


def test_more_people_may_miss_the_limits_than_may_be_left_out() -> None:
    safe = discreet.anonymise(PEOPLE, k=2, levels={"sex": 0, "age": 1})
    assert (safe.suppressed, safe.exceeded, safe.to_dict()["exceeded"]) == (1, True, True)
    with pytest.raises(UsageError, match="not classes"):
        safe.write("nowhere.csv")


def test_too_many_who_miss_the_limits_keep_a_table_from_leaving() -> None:
    policy = {"columns": {"age": {"role": "quasi", "hierarchy": {"widths": [10]}}}}
    frame = {"age": ["30", "31", "55"]}
    safe = discreet.anonymise(pandas.DataFrame(frame), k=2, policy=policy, levels={"age": 1})
    for leave in (safe.to_pandas, lambda: safe.write("nowhere.csv")):
        with pytest.raises(UsageError, match=r"1 people miss.*at most 0"):
            leave()


def test_columns_that_are_not_named_get_the_best_levels_beside_them() -> None:
    safe = discreet.anonymise(PEOPLE, k=2, levels={"sex": 1})
    assert safe.levels == {"sex": 1, "age": 2}
    assert safe.suppressed == 0
    loose = discreet.anonymise(PEOPLE, k=2, suppression=0.2, levels={"sex": 1})
    assert loose.levels == {"sex": 1, "age": 0}


@pytest.mark.parametrize(
    ("levels", "words"),
    [
        ({"age": 3}, "levels 0 to 2"),
        ({"age": -1}, "levels 0 to 2"),
        ({"age": True}, "levels 0 to 2"),
        ({"age": "1"}, "levels 0 to 2"),
        ({"zip": 1}, "'zip', which is no quasi-identifier"),
        ({"levels": {}}, "class by class"),
        ({}, "class by class"),
    ],
)
def test_levels_that_cannot_be_are_refused(levels: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        discreet.anonymise(PEOPLE, k=2, levels=levels)


def test_recoding_class_by_class_has_no_levels() -> None:
    with pytest.raises(UsageError, match="no levels"):
        discreet.anonymise(PEOPLE, k=2, levels={"age": 1}, search="local")


@settings(max_examples=40, deadline=None)
@given(st.data(), st.sampled_from(["loss", "entropy", "precision", "discernibility"]))
def test_levels_are_measured_as_their_classes_are_counted(data: st.DataObject, loss: str) -> None:
    people = data.draw(tables())
    classes = people.classes()
    node, k = data.draw(st.sampled_from(people.nodes())), data.draw(st.integers(1, min(4, classes.records)))
    levels = dict(zip(classes.names, node, strict=True))
    safe = discreet.anonymise(classes, k=k, suppression=1.0, loss=loss, levels=levels)
    kept, missing = classes.at(levels).suppress(below=k)
    assert (safe.levels, safe.suppressed, safe.classes) == (levels, missing, len(kept))
    # One level is given, the others are searched: the best of all nodes that have it, by brute force.
    beside = discreet.anonymise(classes, k=k, suppression=1.0, loss=loss, levels={"q0": node[0]})
    costs = []
    for other in people.nodes():
        if other[0] == node[0]:
            groups = people.groups(other).values()
            large, small = [g for g in groups if len(g) >= k], [g for g in groups if len(g) < k]
            costs.append(losses(people, other, large, small)[loss])
    assert beside.levels["q0"] == node[0]
    assert beside.loss == pytest.approx(min(costs))


def test_given_levels_count_from_the_least_level_that_the_policy_asks_for() -> None:
    frame = pandas.DataFrame({"age": [str(20 + place) for place in range(40)] * 3, "zip": ["12", "13", "22"] * 40})
    age = {"role": "quasi", "hierarchy": {"widths": [2, 10, 20]}, "at_least": 1}
    policy = {"columns": {"age": age, "zip": {"role": "quasi", "hierarchy": {"mask": 2}}}}
    result = discreet.anonymise(frame, policy=policy, k=5, levels={"age": 2, "zip": 1}, suppression=0.5)
    plain = {"columns": {**policy["columns"], "age": {**age, "at_least": 0}}}
    same = discreet.anonymise(frame, policy=plain, k=5, levels={"age": 2, "zip": 1}, suppression=0.5)
    assert (result.classes, result.loss, result.suppressed) == (same.classes, same.loss, same.suppressed)
    assert result.classes == result.to_pandas().groupby(["age", "zip"]).ngroups


def test_rows_that_miss_the_limits_are_held_against_the_rows_that_may() -> None:
    rows = [(1, "30")] * 40 + [(number, "40") for number in range(2, 62)]
    columns = {"nr": {"role": "drop"}, "age": {"role": "quasi", "hierarchy": {"any": "*"}}}
    policy = {"data": {"person": "nr"}, "columns": columns}
    result = discreet.anonymise(
        pandas.DataFrame(rows, columns=["nr", "age"]), policy=policy, k=5, suppression=0.05, levels={"age": 0}
    )
    assert (result.suppressed_rows, result.exceeded) == (40, True)
    with pytest.raises(UsageError, match="40 rows miss the limits"):
        result.to_pandas()
