"""What is particular to files: safe names, safe places, and nothing left behind."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet
from discreet.errors import ColumnError, DiscreetError, EmptySource, IntegrityError, UsageError
from discreet.kernel import Classes, Recoding
from discreet.sources import duckdb_scratch as desk
from discreet.sources.duckdb import rows as writing
from discreet.sources.export import recode, targets
from discreet.sources.export.targets import FileTarget

CANARY = "Zaphod-1952"
POLICY = discreet.Policy.from_dict(
    {
        "data": {"person": "row"},
        "columns": {"name": {"role": "identifier"}, "sex": {"role": "quasi"}, "age": {"role": "other"}},
    }
)
OTHERS = ("wide", "blank", "listed", "raw", "moment", "small", "two", "n", "2019")
POLICY_OF_SEX = discreet.Policy.from_dict(
    {"columns": {"sex": {"role": "quasi"}, **{name: {"role": "other"} for name in OTHERS}}}
)
GOOD = f"name;sex;age\n{CANARY};F;39\n{CANARY};F;\n{CANARY};M;41\n"


@pytest.fixture
def people(write: Any) -> discreet.Table:
    return discreet.read(write("people.csv", GOOD), policy=POLICY)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


def as_it_is(table: discreet.Table) -> Recoding:
    return Recoding.of_levels(table.classes(), {}, kept=np.ones(len(table.classes()), dtype=bool))


def failure(table: discreet.Table, target: Path | str, recoding: Recoding | None = None, **options: Any) -> Any:
    """The error that exporting ends with."""
    with pytest.raises(DiscreetError) as caught:
        table.export(recoding or as_it_is(table), target, **options)
    assert CANARY not in f"{caught.value} {caught.value!r}"
    assert caught.value.remedy
    assert caught.value.__cause__ is None
    return caught.value


def test_a_csv_has_a_header_and_commas_unless_the_policy_says_otherwise(people: discreet.Table, out: Path) -> None:
    assert people.export(as_it_is(people), out / "a.csv") == 3
    header, *rows = (out / "a.csv").read_text(encoding="utf-8").splitlines()
    assert header == "sex,age"
    assert sorted(rows) == ["F,", "F,39", "M,41"]


def test_labels_that_hold_the_delimiter_are_quoted(out: Path) -> None:
    policy = discreet.Policy.from_dict({"columns": {"year": {"role": "quasi", "hierarchy": {"widths": [2]}}}})
    table = discreet.read(pyarrow.table({"year": [1964, 1965]}), policy=policy)
    table.export(Recoding.of_levels(table.classes(), {"year": 1}, kept=np.array([True, True])), out / "a.csv")
    assert (out / "a.csv").read_text(encoding="utf-8") == 'year\n"[1964, 1966)"\n"[1964, 1966)"\n'


@pytest.mark.parametrize("name", ["a.xlsx", "a", "a.gz", "csv", "a.parquet.gz"])
def test_an_unknown_suffix_names_the_known_ones(people: discreet.Table, out: Path, name: str) -> None:
    error = failure(people, out / name)
    assert isinstance(error, UsageError)
    assert all(known in error.remedy for known in (".csv", ".csv.gz", ".parquet", "PostgreSQL"))


def test_a_missing_folder(people: discreet.Table, out: Path) -> None:
    error = failure(people, out / "none" / "a.csv")
    assert isinstance(error, UsageError)
    assert "none" in str(error)
    assert list(out.iterdir()) == []


def test_a_folder_in_the_way(people: discreet.Table, out: Path) -> None:
    (out / "a.csv").mkdir()
    assert isinstance(failure(people, out / "a.csv", overwrite=True), UsageError)


def test_a_folder_that_may_not_be_written(people: discreet.Table, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(**_: Any) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(tempfile, "mkdtemp", denied)
    error = failure(people, out / "a.csv")
    assert isinstance(error, UsageError)
    assert "a.csv cannot be written (permission denied)" in str(error)


def test_a_full_disk_is_no_fault_of_the_source(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (out / "a.csv").symlink_to("/dev/full")
    monkeypatch.setattr(desk, "_options", lambda _: "FORMAT csv, USE_TMP_FILE false")
    with pytest.raises(UsageError, match="cannot be written") as caught:
        desk.copy(duckdb.connect().execute, "SELECT 1", FileTarget(str(out / "a.csv")))
    assert "space" in caught.value.remedy


def test_a_file_that_appears_meanwhile_is_not_replaced(people: discreet.Table, out: Path) -> None:
    def meanwhile(_: Classes) -> None:
        (out / "a.csv").write_text("theirs", encoding="utf-8")

    assert isinstance(failure(people, out / "a.csv", verify=meanwhile), UsageError)
    assert [path.read_text(encoding="utf-8") for path in out.iterdir()] == ["theirs"]


def test_an_interrupt_leaves_nothing_behind(people: discreet.Table, out: Path) -> None:
    def interrupt(_: Classes) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        people.export(as_it_is(people), out / "a.parquet", verify=interrupt)
    assert list(out.iterdir()) == []


def test_what_is_checked_is_not_open_to_others(people: discreet.Table, out: Path) -> None:
    modes: list[int] = []
    people.export(
        as_it_is(people),
        out / "a.csv",
        verify=lambda _: modes.extend(path.stat().st_mode & 0o77 for path in out.iterdir()),
    )
    assert modes == [0]


def test_verify_sees_the_classes_that_were_written(people: discreet.Table, out: Path) -> None:
    seen: list[Classes] = []
    people.export(as_it_is(people), out / "a.parquet", verify=seen.append)
    assert list(zip(seen[0].tuples(), seen[0].sizes.tolist(), strict=True)) == [(("F",), 2), (("M",), 1)]


def test_a_writer_that_loses_rows_is_found_out(
    people: discreet.Table, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = desk.copy
    monkeypatch.setattr(writing, "copy", lambda run, select, target: honest(run, f"{select} LIMIT 2", target))
    assert isinstance(failure(people, out / "a.csv"), IntegrityError)
    monkeypatch.setattr(writing, "copy", lambda run, select, target: honest(run, f"{select} LIMIT 0", target))
    assert isinstance(failure(people, out / "a.csv"), IntegrityError)
    assert list(out.iterdir()) == []


def test_a_writer_that_mixes_up_classes_is_found_out(
    people: discreet.Table, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = desk.copy
    swapped = "SELECT CASE sex WHEN 'F' THEN 'M' ELSE 'F' END AS sex, age"
    monkeypatch.setattr(writing, "copy", lambda run, select, target: honest(run, f"{swapped} FROM ({select})", target))
    assert isinstance(failure(people, out / "a.csv"), IntegrityError)
    assert list(out.iterdir()) == []


def test_nobody_left_to_publish(people: discreet.Table, out: Path) -> None:
    nobody = Recoding.of_levels(people.classes(), {}, kept=np.zeros(2, dtype=bool))
    assert isinstance(failure(people, out / "a.csv", nobody), EmptySource)


def test_an_identifier_that_is_not_found_stops_the_export(write: Any, out: Path) -> None:
    policy = discreet.Policy.from_dict({"columns": {"nmae": {"role": "identifier"}, "sex": {"role": "quasi"}}})
    error = failure(discreet.read(write("people.csv", GOOD), policy=policy), out / "a.csv")
    assert isinstance(error, ColumnError)
    assert "Did you mean 'name'?" in str(error)


def test_a_column_cannot_be_recoded_and_left_out(people: discreet.Table, out: Path) -> None:
    classes = people.classes(["name", "sex"])
    recoding = Recoding.of_levels(classes, {}, kept=np.ones(len(classes), dtype=bool))
    assert isinstance(failure(people, out / "a.csv", recoding), UsageError)
    assert list(out.iterdir()) == []


def test_a_recoding_of_coarser_classes_is_applied_to_the_values(out: Path) -> None:
    policy = discreet.Policy.from_dict({"columns": {"zip": {"role": "quasi", "hierarchy": {"mask": 2}}}})
    table = discreet.read(pyarrow.table({"zip": ["11", "12", "21", None]}), policy=policy)
    coarse = table.classes().at({"zip": 1})
    table.export(Recoding.of_levels(coarse, {}, kept=np.ones(len(coarse), dtype=bool)), out / "a.parquet")
    found = discreet.read(out / "a.parquet").classes(["zip"])
    assert list(zip(found.tuples(), found.sizes.tolist(), strict=True)) == [(("1*",), 2), (("2*",), 1), ((None,), 1)]


def test_without_a_policy_nothing_is_published(write: Any, out: Path) -> None:
    people = discreet.read(write("people.csv", GOOD))
    error = failure(people, out / "a.csv", Recoding.of_levels(people.classes(()), {}, kept=np.array([True])))
    assert error.exit_code == 4
    assert "'name', 'sex', 'age'" in error.problem
    assert list(out.iterdir()) == []


def test_a_quasi_identifier_that_the_recoding_does_not_know_stops_the_export(people: discreet.Table, out: Path) -> None:
    error = failure(people, out / "a.csv", Recoding.of_levels(people.classes(()), {}, kept=np.array([True])))
    assert isinstance(error, UsageError)
    assert "'sex'" in str(error)


def test_no_column_left_to_write(out: Path) -> None:
    policy = discreet.Policy.from_dict({"columns": {"name": {"role": "identifier"}}})
    table = discreet.read(pyarrow.table({"name": [CANARY]}), policy=policy)
    recoding = Recoding.of_levels(table.classes(()), {}, kept=np.array([True]))
    assert isinstance(failure(table, out / "a.csv", recoding), UsageError)


def test_many_labels_are_written_as_few_are(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = discreet.read(pyarrow.table({"sex": ["F", "it's", None, "=x", "'=x"]}), policy=POLICY_OF_SEX)
    for most in (0, 10):
        monkeypatch.setattr(desk, "MOST_TEXTS", most)
        for name in (f"{most}.parquet", f"{most}.csv"):
            table.export(as_it_is(table), out / name)
    assert sorted((out / "0.csv").read_bytes().splitlines()) == sorted((out / "10.csv").read_bytes().splitlines())
    few, many = (pyarrow.parquet.read_table(out / name) for name in ("0.parquet", "10.parquet"))
    assert few.schema == many.schema
    assert sorted(map(str, few.column("sex").to_pylist())) == sorted(map(str, many.column("sex").to_pylist()))


def test_a_file_does_not_replace_its_own_source(people: discreet.Table, tmp_path: Path) -> None:
    before = (tmp_path / "people.csv").read_bytes()
    with pytest.raises(UsageError, match="is the table that is read"):
        people.export(as_it_is(people), tmp_path / "people.csv", overwrite=True)
    assert (tmp_path / "people.csv").read_bytes() == before


def test_types_stay_what_they_are_in_parquet(out: Path) -> None:
    relation = duckdb.connect().sql(
        "SELECT 'F' AS sex, 2::HUGEINT ** 100 AS wide, '' AS blank, [1, 2] AS listed, '\\xAA'::BLOB AS raw, "
        "'2000-01-01 00:00:00+00'::TIMESTAMPTZ AS moment, 1::UTINYINT AS small, CAST(2 AS HUGEINT) AS two"
    )
    table = discreet.read(relation, policy=POLICY_OF_SEX)
    table.export(as_it_is(table), out / "a.parquet")
    written = pyarrow.parquet.read_table(out / "a.parquet")
    assert written.column("blank").to_pylist() == [""]
    assert written.column("listed").to_pylist() == [[1, 2]]
    assert written.column("raw").to_pylist() == [b"\xaa"]
    assert str(written.schema.field("small").type) == "uint8"
    assert str(written.schema.field("moment").type) == "timestamp[us, tz=UTC]"
    assert written.column("two").to_pylist() == [2]
    assert str(written.schema.field("two").type) == "decimal128(38, 0)"


@pytest.mark.parametrize("read", [lambda relation: relation, lambda relation: relation.to_arrow_table()])
def test_values_of_every_type_find_their_class(out: Path, read: Any) -> None:
    relation = duckdb.connect().sql(
        "SELECT * FROM (VALUES ('NaN'::DOUBLE, '2000-01-01 12:00:00+02'::TIMESTAMPTZ, '00000000-0000-0000-0000-000000000007'::UUID, [1, NULL], TIME '12:30:00', "
        "TIMESTAMP_NS '2000-01-01 12:00:00.123456', '\\xAA'::BLOB, 0.1::FLOAT, -0.0::DOUBLE), "
        "(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)) AS t(a, b, c, d, e, f, g, h, i)"
    )
    policy = discreet.Policy.from_dict({"columns": {name: {"role": "quasi"} for name in "abcdefghi"}})
    table = discreet.read(read(relation), policy=policy)
    for name in ("a.csv", "a.parquet"):
        assert table.export(as_it_is(table), out / name) == 2


def test_a_relation_keeps_its_connection_clean(out: Path) -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT 'F' AS sex, 1 AS n")
    table = discreet.read(connection.table("t"), policy=POLICY_OF_SEX)
    table.export(as_it_is(table), out / "a.csv")
    assert connection.execute("SHOW TABLES").fetchall() == [("t",)]


def test_names_that_look_like_patterns_are_names(people: discreet.Table, tmp_path: Path) -> None:
    folder = tmp_path / "[out] *"
    folder.mkdir()
    for name in ("a[1].parquet", "b?.csv", "it's.csv.gz"):
        assert people.export(as_it_is(people), folder / name) == 3
        assert discreet.read(folder / name).records == 3
    assert discreet.read(folder).records == 3


def test_a_column_of_numbers_by_name_is_read_back(out: Path) -> None:
    table = discreet.read(
        pyarrow.table({"sex": ["F"], "2019": [1]}),
        policy=POLICY_OF_SEX,
    )
    assert table.export(as_it_is(table), out / "a.csv") == 1


@given(st.text(alphabet="=+-@\t\r\n'0123456789.,eE x"))
def test_guarding_is_the_same_in_sql(cell: str) -> None:
    sql = recode.csv_cell("cell", "VARCHAR")
    found = duckdb.execute(f"SELECT {sql} FROM (SELECT CAST(? AS VARCHAR) AS cell)", [cell]).fetchall()
    assert found == [(targets.guarded(cell),)]
    assert targets.guarded(targets.guarded(cell)) == targets.guarded(cell)


def test_exporting_files_needs_no_extras(write: Any, out: Path) -> None:
    path = write("people.csv", GOOD)
    check = f"""
import sys
for name in ('pyarrow', 'pandas', 'polars', 'psycopg', 'pyspark', 'scipy'):
    sys.modules[name] = None
import discreet, numpy
from discreet.kernel import Recoding
roles = {{'name': 'drop', 'sex': 'quasi', 'age': 'other'}}
policy = discreet.Policy.from_dict({{'columns': {{name: {{'role': role}} for name, role in roles.items()}}}})
table = discreet.read({str(path)!r}, policy=policy)
recoding = Recoding.of_levels(table.classes(), {{}}, kept=numpy.array([True, False]))
for suffix in ('csv', 'csv.gz', 'parquet'):
    assert table.export(recoding, {str(out)!r} + '/a.' + suffix) == 2
"""
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_dictionary_holds_what_is_published_and_nothing_else(out: Path) -> None:
    """Labels of people who are left out would show in it by their number, and Arrow would read other labels instead."""
    labels = [f"{number:05}" for number in range(40)]
    table = discreet.read(pyarrow.table({"sex": labels}), policy=POLICY_OF_SEX)
    kept = np.arange(len(labels)) % 4 == 3
    table.export(Recoding.of_levels(table.classes(), {}, kept=kept), out / "a.parquet")
    found = pyarrow.parquet.read_table(out / "a.parquet", read_dictionary=["sex"]).column("sex")
    assert sorted(found.to_pylist()) == labels[3::4]
    assert sorted(found.chunk(0).dictionary.to_pylist()) == labels[3::4]
