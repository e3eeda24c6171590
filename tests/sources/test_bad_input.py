"""Bad input is a user's normal day: a clear error with the next step, and never a person's value in it."""

from __future__ import annotations

import gc
import gzip
from pathlib import Path
from typing import Any

import pandas
import pyarrow
import pytest

import discreet
from discreet.errors import (
    ColumnError,
    CountError,
    DataError,
    DiscreetError,
    EmptySource,
    OutsideHierarchy,
    SourceNotFound,
    SourceUnreadable,
    UsageError,
)
from discreet.sources import duckdb_scratch

CANARY = "Zaphod-1952"
POLICY = discreet.Policy.from_dict({"columns": {"name": {"role": "quasi"}, "age": {"role": "quasi"}}})
UTF8 = discreet.Policy.from_dict({"data": {"encoding": "utf-8"}, "columns": {"name": {"role": "quasi"}}})
LIST_POLICY = discreet.Policy.from_dict({"columns": {"name": {"role": "quasi", "hierarchy": {"mask": 4}}}})
GOOD = f"name;age\n{CANARY};39\nOther;40\n"


def failure(source: Any, policy: discreet.Policy | None = POLICY, **options: Any) -> DiscreetError:
    """The error that reading and counting ends with."""
    with pytest.raises(DiscreetError) as caught:
        discreet.read(source, policy=policy, **options).classes()
    shown = f"{caught.value} {caught.value!r}"
    assert CANARY not in shown
    assert caught.value.remedy
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return caught.value


def test_a_missing_file(tmp_path: Path) -> None:
    assert isinstance(failure(tmp_path / "none.csv"), SourceNotFound)
    assert isinstance(failure(tmp_path / "none.parquet"), SourceNotFound)
    assert isinstance(failure(tmp_path / "*.parquet"), SourceNotFound)


def test_a_folder_without_parquet(tmp_path: Path) -> None:
    assert isinstance(failure(tmp_path), SourceNotFound)


def test_an_empty_file(write: Any) -> None:
    assert isinstance(failure(write("a.csv", "")), EmptySource)
    assert isinstance(failure(write("b.csv", "\n \n")), EmptySource)


def test_a_header_without_rows(write: Any) -> None:
    assert isinstance(failure(write("a.csv", "name;age\n")), EmptySource)


def test_ragged_rows_name_the_line(write: Any) -> None:
    short = failure(write("a.csv", GOOD + f"{CANARY}\n"))
    assert isinstance(short, SourceUnreadable)
    assert "line 4" in str(short)
    assert "1 cells where the header has 2" in str(short)
    long = failure(write("b.csv", GOOD + f"{CANARY};1;2\n"))
    assert "line 4" in str(long)


def test_ragged_rows_far_down_a_large_file_name_the_line(write: Any) -> None:
    rows = "".join(f"n{i};{i}\n" for i in range(200_000))
    error = failure(write("a.csv", f"name;age\n{rows}{CANARY};1;2\n"))
    assert isinstance(error, SourceUnreadable)


def test_an_unclosed_quote(write: Any) -> None:
    assert isinstance(failure(write("a.csv", f'name;age\n"{CANARY};39\nOther;40\n')), DataError)


def test_a_wrong_delimiter_is_suspected(write: Any) -> None:
    policy = discreet.Policy.from_dict({"data": {"delimiter": "|"}, "columns": {"zodiac": {"role": "quasi"}}})
    error = failure(write("a.csv", GOOD), policy)
    assert isinstance(error, ColumnError)
    assert "delimiter" in str(error)


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_the_delimiter_is_sniffed(write: Any, mark: str) -> None:
    table = discreet.read(write("a.csv", GOOD.replace(";", mark)), policy=POLICY)
    assert table.records == 2


def test_a_wrong_encoding_names_the_remedy(write: Any) -> None:
    path = write("a.csv", f"name;age\nMüller;39\n{CANARY};1\n".encode("latin-1"))
    error = failure(path, UTF8)
    assert isinstance(error, SourceUnreadable)
    assert "Line 2 of a.csv is not written in utf-8" in str(error)
    assert "encoding" in str(error)


def test_a_wrong_encoding_far_down_the_file(write: Any) -> None:
    rows = "".join(f"n{i};{i}\n" for i in range(50_000)).encode()
    path = write("a.csv", b"name;age\n" + rows + f"{CANARY}ü;1\n".encode("latin-1"))
    error = failure(path, UTF8)
    assert isinstance(error, SourceUnreadable)
    assert "Line 50002" in str(error)
    found = discreet.read(path, policy=POLICY)
    assert found.engine.dialect["encoding"] == "cp1252"
    assert found.records == 50_001


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-8"])
def test_a_named_encoding_is_read(write: Any, encoding: str) -> None:
    path = write("a.csv", "name;age\nMüller;39\n".encode(encoding))
    policy = discreet.Policy.from_dict({"data": {"encoding": encoding}, "columns": {"name": {"role": "quasi"}}})
    assert list(discreet.read(path, policy=policy).classes().tuples()) == [("Müller",)]


def test_a_copy_made_for_reading_does_not_stay(write: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    monkeypatch.setattr(duckdb_scratch, "_own", {})
    policy = discreet.Policy.from_dict({"data": {"encoding": "latin-1"}, "columns": {"name": {"role": "quasi"}}})
    table = discreet.read(write("a.csv", GOOD.encode("latin-1")), policy=policy)
    assert table.records == 2
    assert len(list(scratch.rglob("*.csv"))) == 1
    del table
    gc.collect()
    assert list(scratch.rglob("*.csv")) == []


def test_an_unknown_encoding(write: Any) -> None:
    policy = discreet.Policy.from_dict({"data": {"encoding": "klingon"}, "columns": {"name": {"role": "quasi"}}})
    assert isinstance(failure(write("a.csv", GOOD), policy), SourceUnreadable)


def test_a_byte_order_mark_is_no_part_of_the_first_name(write: Any) -> None:
    assert discreet.read(write("a.csv", "\ufeff" + GOOD), policy=POLICY).records == 2


def test_doubled_columns(write: Any) -> None:
    assert "column 2 of 2" in str(failure(write("a.csv", "name;name\na;b\n")))
    doubled = pandas.DataFrame([[1, 2]], columns=["name", "name"])
    assert isinstance(failure(doubled), ColumnError)
    assert isinstance(failure(pyarrow.table([[1], [2]], names=["name", "name"])), ColumnError)


def test_the_column_of_row_numbers_that_r_and_pandas_leave_without_a_name_gets_one(write: Any) -> None:
    for first in ('""', ""):
        path = write("a.csv", f'{first},"sex"\n' + "".join(f'"{row}","f"\n' for row in range(1, 41)))
        assert discreet.read(path).columns == ("row_number", "sex")
        assert discreet.profile(discreet.read(path)).columns[0].role == "identifier"
    assert "column 1 of 3 has no name" in str(failure(write("a.csv", ",,c\n1,2,3\n")))


def test_unnamed_columns(write: Any) -> None:
    assert "column 2 of 2 has no name" in str(failure(write("a.csv", "name;\na;b\n")))


def test_a_file_without_a_header_is_not_quoted(write: Any) -> None:
    error = failure(write("a.csv", f"{CANARY};39\nOther;40\n"), None)
    assert isinstance(error, ColumnError)
    assert "header" in str(error)
    assert isinstance(failure(write("b.csv", f"{CANARY};abc\n")), ColumnError)


def test_numbers_may_be_names_where_the_policy_says_so(write: Any) -> None:
    policy = discreet.Policy.from_dict({"columns": {"2019": {"role": "quasi"}}})
    assert discreet.read(write("a.csv", "who;2019\na;1\n"), policy=policy).records == 1


def test_missing_columns_suggest_the_nearest(write: Any) -> None:
    policy = discreet.Policy.from_dict({"columns": {"agee": {"role": "quasi"}}})
    assert "Did you mean 'age'?" in str(failure(write("a.csv", GOOD), policy))


def test_values_outside_a_hierarchy_are_counted_not_shown(write: Any) -> None:
    error = failure(write("a.csv", f"name\n{CANARY}\n{CANARY}\nabcd\n"), LIST_POLICY)
    assert isinstance(error, OutsideHierarchy)
    assert "Column 'name': 1 of 2 distinct values (in 2 records)" in str(error)


def test_values_outside_are_named_from_five_people_on_and_for_all_columns(write: Any) -> None:
    rows = [*["x1;4711"] * 5, *[f"{CANARY};30"] * 4, *["y2;none"] * 6, f"abcd;{CANARY}"]
    columns = {
        "name": {"role": "quasi", "hierarchy": {"mask": 4}},
        "age": {"role": "sensitive", "hierarchy": {"top": 90, "widths": [5]}},
    }
    table = discreet.read(
        write("a.csv", "\n".join(["name;age", *rows])), policy=discreet.Policy.from_dict({"columns": columns})
    )
    with pytest.raises(OutsideHierarchy) as caught:
        table.classes(sensitive=["age"])
    name, age = str(caught.value).splitlines()
    assert "'name': 3 of 4 distinct values (in 15 records)" in name
    assert name.endswith(": 'y2' (6), 'x1' (5); 1 in 4 records, each held by fewer than five people.")
    assert "'none' (6); 1 in 1 records" in age
    assert CANARY not in str(caught.value)


def test_a_missing_value_is_a_value_of_its_own(write: Any) -> None:
    table = discreet.read(write("a.csv", "name;age\n;39\n;39\nx;\n"), policy=POLICY)
    assert dict(zip(table.classes().tuples(), table.classes().sizes.tolist(), strict=True)) == {
        ("x", None): 1,
        (None, "39"): 2,
    }


def test_counts_that_are_no_numbers(write: Any) -> None:
    policy = discreet.Policy.from_dict({"data": {"count": "age"}, "columns": {"name": {"role": "quasi"}}})
    for bad in (CANARY, "1.5", "-1", ""):
        assert isinstance(failure(write("a.csv", f"name;age\nx;3\ny;{bad}\n"), policy), CountError)


def test_something_that_only_claims_to_be_parquet_or_gzip(write: Any) -> None:
    assert isinstance(failure(write("a.parquet", GOOD)), SourceUnreadable)
    assert isinstance(failure(write("a.csv.gz", GOOD)), SourceUnreadable)
    assert isinstance(failure(write("b.csv.gz", gzip.compress(GOOD.encode())[:-9])), SourceUnreadable)


def test_objects_that_are_no_tables() -> None:
    for nonsense in (42, object(), [1, 2], {"a": "b"}):
        assert isinstance(failure(nonsense), UsageError)


def test_quasi_identifiers_are_never_guessed(write: Any) -> None:
    error = failure(write("a.csv", GOOD), None)
    assert isinstance(error, UsageError)
    assert "policy" in error.remedy


def test_a_binary_file(write: Any) -> None:
    assert isinstance(failure(write("a.csv", bytes(range(256)) * 50)), DataError)


def test_a_file_that_may_not_be_a_file(tmp_path: Path) -> None:
    (tmp_path / "x.csv").mkdir()
    assert isinstance(failure(tmp_path / "x.csv"), SourceNotFound)


def test_table_and_query_go_with_postgres_only(write: Any) -> None:
    assert isinstance(failure(write("a.csv", GOOD), table="people"), UsageError)
