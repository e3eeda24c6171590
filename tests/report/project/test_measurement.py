"""A published table is recognised by its labels, and measured as what `anonymise` promised."""

from __future__ import annotations

import csv
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.anonymity import anonymise
from discreet.policy import Policy
from discreet.report.project.measurement import Measured, ProjectFile, measure
from discreet.sources import read
from tests.examples import examples

POLICY = """
[columns.name]
role = "identifier"
[columns.zip]
role = "quasi"
hierarchy = { mask = 2 }
[columns.age]
role = "quasi"
hierarchy = { widths = [10, 20] }
[columns.illness]
role = "sensitive"
[limits]
threshold = 0.34
"""
Person = tuple[str, int, str]
PERSON = st.tuples(st.sampled_from(["11", "12", "21"]), st.integers(0, 39), st.sampled_from(["flu", "gout"]))


def write(path: Path, names: tuple[str, ...], rows: list[tuple[object, ...]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([names, *rows])


def measured(
    folder: Path, people: list[Person], *, search: str = "optimal", others: int = 3
) -> tuple[Measured, object]:
    write(folder / "data.csv", ("name", "zip", "age", "illness"), [(f"p{n}", *one) for n, one in enumerate(people)])
    write(folder / "all.csv", ("zip", "age"), [one[:2] for one in people for _ in range(others)])
    (folder / "policy.toml").write_text(POLICY, encoding="utf-8")
    policy = Policy.load(folder / "policy.toml")
    safe = anonymise(read(folder / "data.csv", policy=policy), k=3, search=search)  # type: ignore[arg-type]
    safe.write(folder / "safe.csv")
    text = 'title = "x"\ndata = "data.csv"\npolicy = "policy.toml"\npopulation = "all.csv"\npublished = "safe.csv"\n'
    return measure(ProjectFile.parse(text, folder=folder)), safe


@settings(max_examples=examples(25), deadline=None)
@given(st.lists(PERSON, min_size=3, max_size=30))
def test_what_is_measured_of_the_file_is_what_was_made(people: list[Person]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        found, safe = measured(Path(folder), people)
        register = read(Path(folder) / "all.csv", policy=found.policy.for_population())
        expected = safe.assess(population=register, threshold=0.34).to_dict()  # type: ignore[attr-defined]
    assert found.published is not None
    assert found.published.levels is not None
    assert found.remaining is not None
    told = found.remaining.to_dict()
    for key in (
        "records",
        "classes",
        "uniques",
        "k",
        "prosecutor",
        "journalist",
        "marketer",
        "presence",
        "class_sizes",
    ):
        assert told[key] == expected[key], key
    assert set(told["sensitive"]) == {"illness"}
    assert not found.published.identifiers


def test_values_recoded_class_by_class_are_held_against_the_data_only(tmp_path: Path) -> None:
    people = [
        ("11", 1, "flu"),
        ("11", 2, "flu"),
        ("11", 3, "gout"),
        ("21", 30, "flu"),
        ("12", 31, "flu"),
        ("22", 39, "flu"),
    ]
    found, _ = measured(tmp_path, people, search="local")
    assert found.published is not None
    assert found.published.levels is None
    assert found.remaining is not None
    assert found.remaining.presence is None
    assert found.remaining.k >= 3
    assert found.assessment.presence is not None


def test_names_that_were_left_in_and_columns_that_were_left_out_are_seen(tmp_path: Path) -> None:
    people = [("11", 1, "flu")] * 6
    measured(tmp_path, people)
    write(tmp_path / "safe.csv", ("name", "zip"), [(f"p{n}", "11") for n in range(6)])
    text = 'title = "x"\ndata = "data.csv"\npolicy = "policy.toml"\npublished = "safe.csv"\n'
    found = measure(ProjectFile.parse(text, folder=tmp_path))
    assert found.published is not None
    assert (found.published.identifiers, found.published.dropped) == (("name",), ("age",))
    assert not found.leaving.exceeded
    assert found.exceeded


def test_a_table_without_any_quasi_identifier_is_one_crowd(tmp_path: Path) -> None:
    measured(tmp_path, [("11", 1, "flu")] * 6)
    write(tmp_path / "safe.csv", ("illness",), [("flu",)] * 6)
    text = 'title = "x"\ndata = "data.csv"\npolicy = "policy.toml"\npopulation = "all.csv"\npublished = "safe.csv"\n'
    found = measure(ProjectFile.parse(text, folder=tmp_path))
    assert found.remaining is not None
    assert (found.remaining.k, found.exceeded) == (6, False)
