"""Import: what identifies and what is sensitive lie apart, and nothing but the bridge joins them."""

from __future__ import annotations

import stat
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet
from discreet.errors import ColumnError, DataError, EmptySource, Refused, UsageError
from discreet.linkage import Attribute, LinkageSpec, ProjectFolder, cluster, start_project
from discreet.linkage.export import write_linked
from discreet.linkage.folder import PARTS, add_table
from discreet.linkage.matching.likely_pairs import likely_pairs
from discreet.linkage.spec import Case, cleaned, plain
from discreet.sources.export.targets import FileTarget
from tests.linkage.conftest import Sample

SPEC = LinkageSpec.from_dict(
    {
        "linkage": {
            "id": "no",
            "sensitive": ["illness"],
            "identifying": {"name": {"kind": "string"}, "born": {"kind": "date"}},
        }
    }
)


def table(rows: int = 200) -> pyarrow.Table:
    return pyarrow.table(
        {
            "no": [f"r{row}" for row in range(rows)],
            "name": [f"person {row}" for row in range(rows)],
            "born": ["1980-01-01" if row % 5 else "unknown" for row in range(rows)],
            "illness": [f"illness {row}" for row in range(rows)],
            "note": ["secret"] * rows,
        }
    )


def rows(path: Path, columns: str = "*") -> list[tuple[object, ...]]:
    return list(duckdb.connect().execute(f"SELECT {columns} FROM read_parquet('{path}')").fetchall())


def test_parts_hold_what_they_should_and_nothing_else(tmp_path: Path) -> None:
    folder = start_project(tmp_path / "p", table(), spec=SPEC)
    describe = {
        part: [row[0] for row in duckdb.connect().execute(f"DESCRIBE FROM '{folder.file(part, 'first')}'").fetchall()]
        for part in ("identifying", "sensitive", "bridge")
    }
    assert describe == {
        "identifying": ["record", "name", "born"],
        "sensitive": ["pseudonym", "illness"],
        "bridge": ["record", "pseudonym", "id"],
    }
    assert b"illness 7" not in folder.file("identifying", "first").read_bytes()
    assert folder.about["tables"][0]["left_out"] == ["note"]
    assert folder.about["tables"][0]["unread_dates"] == {"born": 40}
    assert folder.about["tables"][0]["missing"] == {"name": 0, "born": 40}


def test_the_bridge_joins_every_row_with_its_own(tmp_path: Path) -> None:
    folder = start_project(tmp_path / "p", table(), spec=SPEC)
    scan = {part: f"read_parquet('{folder.file(part, 'first')}')" for part in ("identifying", "sensitive", "bridge")}
    joined = duckdb.connect().execute(
        f"SELECT id, name, illness FROM {scan['bridge']} JOIN {scan['identifying']} USING (record) JOIN {scan['sensitive']} USING (pseudonym)"
    )
    assert {tuple(one.rpartition(" ")[2].removeprefix("r") for one in row) for row in joined.fetchall()} == {
        (str(row),) * 3 for row in range(200)
    }


def test_neither_order_nor_number_joins_the_parts(tmp_path: Path) -> None:
    """The order of each part is random, and has nothing to do with that of the other or of the source."""
    folder = start_project(tmp_path / "p", table(2000), spec=SPEC, key=b"fixed")
    names = [int(str(one).rpartition(" ")[2]) for (one,) in rows(folder.file("identifying", "first"), "name")]
    ills = [int(str(one).rpartition(" ")[2]) for (one,) in rows(folder.file("sensitive", "first"), "illness")]
    for one, other in ((names, ills), (names, range(2000)), (ills, range(2000))):
        assert abs(np.corrcoef(one, list(other))[0, 1]) < 0.1
        assert sum(a == b for a, b in zip(one, other, strict=True)) < 12


def test_pseudonyms_are_unique_and_new_each_time(tmp_path: Path) -> None:
    found = [
        {
            str(one)
            for (one,) in rows(start_project(tmp_path / name, table(), spec=SPEC).file("bridge", "first"), "pseudonym")
        }
        for name in ("a", "b")
    ]
    assert all(len(one) == 200 and {len(name) for name in one} == {32} for one in found)
    assert not found[0] & found[1]


def test_records_are_numbered_through_both_tables(sample: Sample) -> None:
    folder = sample.folder
    assert folder.two
    first, second = (sorted(rows(folder.file("identifying", name), "record")) for name in ("first", "second"))
    assert [record for (record,) in first + second] == list(range(folder.records))
    assert len(folder.identifying()["surname"]) == folder.records
    assert folder.possible_pairs == folder.sizes[0] * folder.sizes[1]
    assert folder.records_of(["A000000", "A000001", "nobody", None], "first")[2:].tolist() == [-1, -1]


def test_identifying_values_come_in_the_order_of_their_numbers(sample: Sample) -> None:
    folder = sample.folder
    known = dict(
        duckdb.connect().execute(f"SELECT record, surname FROM {folder.scan('identifying', 'second')}").fetchall()
    )
    surnames = folder.identifying()["surname"]
    assert all(surnames[record] == surname for record, surname in known.items())


def test_only_the_owner_can_open_it(tmp_path: Path) -> None:
    folder = start_project(tmp_path / "p", table(), spec=SPEC)
    for part in (folder.path, folder.path / "identifying", folder.path / "sensitive", folder.path / "bridge"):
        assert stat.S_IMODE(part.stat().st_mode) == 0o700


def test_every_kind_of_table_can_be_imported(tmp_path: Path) -> None:
    duckdb.connect().from_arrow(table()).write_csv(str(tmp_path / "a.csv"))
    duckdb.connect().from_arrow(table()).write_parquet(str(tmp_path / "a.parquet"))
    sources = [
        tmp_path / "a.csv",
        str(tmp_path / "a.parquet"),
        table(),
        table().to_pandas(),
        duckdb.connect().from_arrow(table()),
        discreet.read(tmp_path / "a.csv"),
    ]
    for place, source in enumerate(sources):
        folder = start_project(tmp_path / f"p{place}", source, spec=SPEC, key=b"k")
        assert folder.sizes == (200,)
        assert sorted(rows(folder.file("bridge", "first"), "id")) == sorted((f"r{row}",) for row in range(200))


@pytest.mark.postgres
def test_a_table_in_postgres(tmp_path: Path, postgres_url: str) -> None:
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS to_link")
        connection.execute("CREATE TABLE to_link (no int4, name text, born date, illness bytea)")
        connection.execute(
            "INSERT INTO to_link VALUES (1, 'Anna, \"A\"', '1980-03-04', '\\x00ff'), (2, '', NULL, NULL)"
        )
    folder = start_project(tmp_path / "p", discreet.read(postgres_url, table="to_link"), spec=SPEC)
    assert set(rows(folder.file("identifying", "first"), "name, born")) == {('ANNA, "A"', "1980-03-04"), (None, None)}
    assert set(rows(folder.file("sensitive", "first"), "illness")) == {("\\x00ff",), (None,)}


@pytest.mark.spark
def test_a_frame_on_spark(tmp_path: Path, spark: object) -> None:
    frame = spark.createDataFrame(table(20))  # type: ignore[attr-defined]
    folder = start_project(tmp_path / "p", frame, spec=SPEC)
    assert sorted(rows(folder.file("bridge", "first"), "id")) == sorted((f"r{row}",) for row in range(20))


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"no": ["r1"] * 200}, ColumnError, "199 rows repeat a name"),
        ({"no": [None, *(f"r{row}" for row in range(199))]}, ColumnError, "1 rows have none"),
    ],
)
def test_ids_must_name_records(
    tmp_path: Path, change: dict[str, list[str]], error: type[Exception], words: str
) -> None:
    columns = {**{name: table().column(name).to_pylist() for name in table().column_names}, **change}
    with pytest.raises(error, match=words):
        start_project(tmp_path / "p", pyarrow.table(columns), spec=SPEC)
    assert list(tmp_path.iterdir()) == []


def test_errors_name_columns_and_no_values(tmp_path: Path) -> None:
    with pytest.raises(ColumnError, match="none is named 'illness'"):
        start_project(tmp_path / "p", table().drop_columns(["illness"]), spec=SPEC)
    with pytest.raises(EmptySource):
        start_project(tmp_path / "p", table(0), spec=SPEC)
    ragged = tmp_path / "a.csv"
    ragged.write_text("no,name,born,illness\nr1,Zebedee,1980-01-01,flu,CANARY\n" * 2, encoding="utf-8")
    with pytest.raises(DataError) as caught:
        start_project(tmp_path / "p", ragged, spec=SPEC)
    assert "CANARY" not in str(caught.value)
    assert "Zebedee" not in str(caught.value)


def test_a_folder_that_exists_is_left_alone(tmp_path: Path) -> None:
    start_project(tmp_path / "p", table(), spec=SPEC)
    with pytest.raises(UsageError, match="exists already"):
        start_project(tmp_path / "p", table(), spec=SPEC)
    with pytest.raises(UsageError, match="no folder"):
        start_project(tmp_path / "no" / "p", table(), spec=SPEC)
    with pytest.raises(UsageError, match="no linkage project"):
        ProjectFolder.open(tmp_path)


def test_a_project_without_ids(tmp_path: Path) -> None:
    content = {"linkage": {"identifying": {"name": {"kind": "string"}, "born": {"kind": "date"}}}}
    folder = start_project(tmp_path / "p", table(5), spec=LinkageSpec.from_dict(content))
    assert rows(folder.file("bridge", "first"), "DISTINCT id") == [(None,)]
    assert not folder.two
    assert folder.possible_pairs == 10


@pytest.mark.slow
def test_a_million_rows_move_quickly(tmp_path: Path) -> None:
    import time

    path = tmp_path / "m.parquet"
    duckdb.connect().execute(
        f"COPY (SELECT 'r' || i AS no, 'person ' || i AS name, DATE '1950-01-01' + CAST(i % 20000 AS INTEGER) AS born, 'x' || i AS illness FROM range(1000000) t(i)) TO '{path}'"
    )
    start = time.process_time()
    folder = start_project(tmp_path / "p", path, spec=SPEC)
    assert folder.records == 1_000_000
    assert time.process_time() - start < 60


CONNECTION = duckdb.connect()


def spec(case: Case = "upper", missing: tuple[str, ...] = ()) -> LinkageSpec:
    found = LinkageSpec.from_dict({"linkage": {"identifying": {"a": {"kind": "string"}, "b": {"kind": "date"}}}})
    return LinkageSpec(found.attributes, found.sides, case=case, missing=missing)


def clean(value: Any, kind: str, attribute: Attribute, declared: LinkageSpec) -> Any:
    cell = f"CAST($1 AS {kind})"
    return CONNECTION.execute(f"SELECT {cleaned(cell, kind, attribute, declared)}", [value]).fetchall()[0][0]


STRING = Attribute("a", "string")
DATE = Attribute("b", "date", ("%Y-%m-%d", "%m/%d/%Y"))


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        ("  anna   maria ", "VARCHAR", "ANNA MARIA"),
        ("", "VARCHAR", None),
        ("  ", "VARCHAR", None),
        ("n/a", "VARCHAR", None),
        ("N/A", "VARCHAR", None),
        (None, "VARCHAR", None),
        ("straße", "VARCHAR", "STRASSE"),
        ("e\u0301mile", "VARCHAR", "\u00c9MILE"),
        (5304218.0, "DOUBLE", "5304218"),
        (1.5, "DOUBLE", "1.5"),
        (42, "BIGINT", "42"),
    ],
)
def test_text(value: Any, kind: str, expected: str | None) -> None:
    got = clean(value, kind, STRING, spec(missing=("n/a",)))
    assert got == expected or (value == "straße" and got in ("STRASSE", "STRAßE", "STRAẞE"))


def test_letters_are_kept_where_wanted() -> None:
    assert clean("Anna", "VARCHAR", STRING, spec("keep")) == "Anna"
    assert clean("Anna", "VARCHAR", STRING, spec("lower")) == "anna"


@pytest.mark.parametrize(
    ("value", "kind", "formats", "expected"),
    [
        ("1980-03-04", "VARCHAR", DATE.formats, "1980-03-04"),
        ("3/4/1980", "VARCHAR", DATE.formats, "1980-03-04"),
        (" 03/04/1980 ", "VARCHAR", DATE.formats, "1980-03-04"),
        ("19151331", "VARCHAR", ("%Y%m%d",), "1915-13-31"),
        (19151111, "BIGINT", ("%Y%m%d",), "1915-11-11"),
        ("4.3.1980", "VARCHAR", ("%d.%m.%Y",), "1980-03-04"),
        ("4.3.80", "VARCHAR", ("%d.%m.%Y",), None),
        ("yesterday", "VARCHAR", DATE.formats, None),
        ("", "VARCHAR", DATE.formats, None),
        (date(1980, 3, 4), "DATE", DATE.formats, "1980-03-04"),
    ],
)
def test_dates(value: Any, kind: str, formats: tuple[str, ...], expected: str | None) -> None:
    assert clean(value, kind, Attribute("b", "date", formats), spec()) == expected


@settings(deadline=None)
@given(st.dates(), st.sampled_from(["%Y-%m-%d", "%m/%d/%Y", "%d.%m.%Y", "%Y%m%d", "%d%m%Y", "%Y %d %m"]))
def test_every_date_in_every_format_comes_out_alike(day: date, written: str) -> None:
    text = written.replace("%Y", f"{day.year:04d}").replace("%m", f"{day.month:02d}").replace("%d", f"{day.day:02d}")
    assert clean(text, "VARCHAR", Attribute("b", "date", (written,)), spec()) == day.isoformat()


@settings(deadline=None)
@given(st.text(max_size=12))
def test_cleaning_twice_changes_nothing(value: str) -> None:
    value = value.replace("\0", "")
    once = clean(value, "VARCHAR", STRING, spec("keep"))
    assert once is None or clean(once, "VARCHAR", STRING, spec("keep")) == once


def test_ids_are_only_trimmed() -> None:
    assert CONNECTION.execute(f"SELECT {plain('$1', 'VARCHAR')}", [" aB 1 "]).fetchall() == [("aB 1",)]


def test_each_table_writes_dates_and_numbers_in_its_own_way(tmp_path: Path) -> None:
    spec = LinkageSpec.from_dict({"linkage": {
        "identifying": {"phone": {"kind": "fixed", "clean": "phone"}, "tax": {"kind": "fixed", "clean": "id"},
                        "born": {"kind": "date", "formats": ["%d.%m.%Y"]}},
        "second": {"formats": {"born": ["%Y%m%d"]}},
    }})  # fmt: skip
    first = pyarrow.table({"phone": ["0301 2345678"], "tax": ["12/345-6"], "born": ["03.04.1980"]})
    second = pyarrow.table({"phone": ["+49 (30) 12345678"], "tax": ["123456"], "born": ["19800403"]})
    folder = start_project(tmp_path / "p", first, second, spec=spec)
    one, other = zip(*folder.identifying().values(), strict=True)
    assert one == other == ("012345678", "123456", "1980-04-03")


def test_parts_in_three_places_and_each_step_with_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step runs with the parts it needs and is refused without them: no account needs all three after the import."""
    places = {part: tmp_path / f"of-{part}" for part in PARTS}
    home = start_project(tmp_path / "p", table(12), table(9), spec=SPEC, key=b"t", places=places)
    assert not any((tmp_path / "p" / part).exists() for part in PARTS)
    assert {place.stat().st_mode & 0o777 for place in places.values()} == {0o700}
    assert {path.stat().st_mode & 0o777 for place in places.values() for path in place.iterdir()} == {0o600}
    likely_pairs(home, review=3).save(home)
    for part in ("sensitive", "bridge"):
        places[part].rename(tmp_path / f"away-{part}")
    again = ProjectFolder.open(tmp_path / "p")
    assert len(again.identifying()["name"]) == 21
    assert again.index_folder.is_relative_to(places["identifying"])
    with pytest.raises(Refused, match="'bridge' of the project"):
        again.ids()
    for part in ("sensitive", "bridge"):
        (tmp_path / f"away-{part}").rename(places[part])
    places["identifying"].rename(tmp_path / "away-identifying")
    clusters = cluster(again.records, np.zeros((0, 2), dtype=np.int64))
    assert write_linked(again, clusters, FileTarget(str(tmp_path / "linked.csv")), everybody=True).rows == 21
    with pytest.raises(Refused, match="'identifying' of the project"):
        again.identifying()
    (tmp_path / "away-identifying").rename(places["identifying"])
    later = add_table(again, table(4))
    assert later.records == 25
    assert len(later.ids()) == 25


@pytest.mark.parametrize("places", [{"pairs": "x"}, {"bridge": "p0"}, {"bridge": "none/x"}])
def test_a_place_is_new_and_of_a_part(tmp_path: Path, places: dict[str, str]) -> None:
    (tmp_path / "p0").mkdir()
    with pytest.raises(UsageError, match="cannot be put into"):
        start_project(tmp_path / "p", table(3), spec=SPEC, places={part: tmp_path / at for part, at in places.items()})
    assert not (tmp_path / "p").exists()
