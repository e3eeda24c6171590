"""Risks row by row: the same numbers as the assessment, in the order of the input, for files and frames only."""

from __future__ import annotations

import pickle
from collections import Counter
from pathlib import Path

import pandas
import pytest
from hypothesis import given

import discreet
from discreet.errors import UsageError
from discreet.kernel import Classes
from tests.risk.test_survey import by_loops, policy, risk_of, samples


@given(samples())
def test_each_row_has_the_risks_of_its_class_and_household(frame: pandas.DataFrame) -> None:
    table = discreet.read(frame, policy=policy(weight="w", household="home"))
    found = discreet.assess(table).records()
    assert list(found.columns) == ["row", "class_size", "prosecutor", "weighted", "household"]
    sizes = Counter(zip(frame.town, frame.sex, strict=True))
    alike = [sizes[key] for key in zip(frame.town, frame.sex, strict=True)]
    risks = by_loops(frame, weights=True)
    assert found["row"].tolist() == list(range(1, len(frame) + 1))
    assert found["class_size"].tolist() == alike
    assert found["prosecutor"].tolist() == pytest.approx([1 / size for size in alike])
    assert found["weighted"].tolist() == pytest.approx(risks)
    for row, home in enumerate(frame.home):
        members = [row] if pandas.isna(home) else [other for other, its in enumerate(frame.home) if its == home]
        none = 1.0
        for member in members:
            none *= 1 - risks[member]
        assert found[row]["household"] == pytest.approx(1 - none)


def test_a_population_adds_the_journalist_and_frames_come_back() -> None:
    frame = pandas.DataFrame({"town": list("ba"), "sex": list("xy"), "home": ["1", "2"]})
    people = Classes.of(["town", "sex"], [("a", "y"), ("b", "x")], [4, 8])
    found = discreet.assess(discreet.read(frame, policy=policy()), population=people).records()
    assert list(found) == [
        {"row": 1, "class_size": 1, "prosecutor": 1.0, "journalist": 0.125},
        {"row": 2, "class_size": 1, "prosecutor": 1.0, "journalist": 0.25},
    ]
    assert found.to_pandas()["journalist"].tolist() == [0.125, 0.25]
    assert found.to_polars().columns == found.to_arrow().column_names == list(found.columns)
    assert "0.125" not in repr(found)


def test_rows_that_stand_for_nobody_have_no_risk() -> None:
    frame = pandas.DataFrame({"town": list("abb"), "sex": list("xxx"), "home": list("112"), "n": [0, 2, 3]})
    found = discreet.assess(discreet.read(frame, policy=policy(count="n", household="home"))).records()
    assert found["class_size"].tolist() == [0, 5, 5]
    assert found["household"].tolist() == pytest.approx([1 - 0.8**2, 1 - 0.8**2, 1 - 0.8**3])


def test_the_number_of_people_stays_a_number_and_leaves_the_table_behind() -> None:
    found = discreet.assess(discreet.read(pandas.DataFrame({"town": ["a"], "sex": ["x"]}), policy=policy()))
    assert found.records == 1
    assert found.to_dict()["records"] == 1
    assert pickle.loads(pickle.dumps(found.records)) == 1  # noqa: S301 - our own
    with pytest.raises(UsageError, match="Classes have no rows"):
        discreet.assess(Classes.of(["sex"], [("F",)])).records()


def test_the_risk_of_a_sample_unique_is_the_published_one(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("town;sex;w\na;x;100\nb;x;2,5\nb;x;7\n".replace(",", "."))
    found = discreet.assess(discreet.read(tmp_path / "people.csv", policy=policy(weight="w"))).records()
    assert found["weighted"].tolist() == pytest.approx([risk_of(1, 100), risk_of(2, 9.5), risk_of(2, 9.5)])


def test_a_person_with_several_rows_counts_once_in_class_and_household() -> None:
    frame = pandas.DataFrame(
        {"town": list("aaab"), "sex": list("xxxx"), "home": list("1111"), "nr": ["1", "01", "2", "2"], "w": [4.0] * 4}
    )
    roles = {"town": "quasi", "sex": "quasi", "home": "drop", "nr": "identifier"}
    declared = {"person": "nr", "household": "home", "weight": "w"}
    rules = {"data": declared, "columns": {name: {"role": role} for name, role in roles.items()}}
    assessed = discreet.assess(discreet.read(frame, policy=discreet.Policy.from_dict(rules)))
    found, alone, pair = assessed.records(), risk_of(1, 4.0), risk_of(2, 8.0)
    assert found["class_size"].tolist() == [2, 2, 2, 1]
    assert found["weighted"].tolist() == pytest.approx([pair, pair, pair, alone])
    assert found["household"].tolist() == pytest.approx([1 - (1 - pair) * (1 - alone)] * 4)
    assert assessed.weighted is not None
    assert assessed.weighted.expected_reidentifications == pytest.approx(pair + alone)
    assert assessed.weighted.population == 8
