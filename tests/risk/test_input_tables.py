"""What is handed over is opened with its policy, whatever form the two have."""

from __future__ import annotations

from pathlib import Path

import pandas
import pytest

import discreet
from discreet.errors import UsageError

SHAPE = {
    "columns": {
        "age": {"role": "quasi", "hierarchy": {"widths": [10]}},
        "name": {"role": "identifier"},
        "income": {"role": "sensitive"},
    }
}
POLICY = """
[columns.age]
role = "quasi"
hierarchy = { widths = [10] }
[columns.name]
role = "identifier"
[columns.income]
role = "sensitive"
"""
PEOPLE = pandas.DataFrame({"age": [30, 31, 44, 45], "name": list("abcd"), "income": [1, 2, 3, 4]})


@pytest.fixture
def policies(tmp_path: Path) -> list[object]:
    (tmp_path / "policy.toml").write_text(POLICY)
    path = tmp_path / "policy.toml"
    return [SHAPE, path, str(path), discreet.Policy.from_dict(SHAPE), discreet.Policy.load(path)]


def test_a_frame_is_anonymised_and_assessed_with_any_form_of_policy(policies: list[object], tmp_path: Path) -> None:
    PEOPLE.to_csv(tmp_path / "people.csv", index=False)
    for policy in policies:
        for source in (PEOPLE, tmp_path / "people.csv", str(tmp_path / "people.csv"), discreet.read(PEOPLE)):
            safe = discreet.anonymise(source, k=2, policy=policy)  # type: ignore[arg-type]
            assert (safe.levels, safe.classes) == ({"age": 1}, 2)
            assert discreet.assess(source, policy=policy).uniques == 4  # type: ignore[arg-type]


def test_a_table_can_be_seen_through_another_policy() -> None:
    table = discreet.read(PEOPLE, policy={"columns": {"income": {"role": "quasi", "hierarchy": {"any": "*"}}}})
    assert discreet.anonymise(table, k=2, policy=SHAPE).levels == {"age": 1}


def test_a_frame_without_a_policy_is_refused_in_words() -> None:
    for call in (discreet.assess, discreet.anonymise):
        with pytest.raises(UsageError, match=r"not in a DataFrame.*policy=") as refusal:
            call(PEOPLE.rename(columns={"age": "classes"}))
        assert "a" not in str(refusal.value).split("'")


def test_classes_take_no_policy() -> None:
    with pytest.raises(UsageError, match="counted already"):
        discreet.assess(discreet.Classes.of(["age"], [("1",)]), policy=SHAPE)
