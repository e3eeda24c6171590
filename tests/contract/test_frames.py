"""Published tables as frames: the rows of the file, refused, verified and shuffled as a file is."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas
import polars
import pyarrow
import pytest

import discreet
from discreet.errors import IntegrityError, MissingExtra, PolicyError, UsageError
from tests.contract.outputs import counted, recoding_of
from tests.contract.readers import HOLDERS, READERS, Reader
from tests.contract.test_export import LEVELS, POLICY, ROWS, SCHEMA, WEIRD, K, arrow_table, expected
from tests.contract.test_row_order import POLICY as ORDERED
from tests.contract.test_row_order import hidden, people, tells_nothing


@pytest.fixture
def reading(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], Reader]:
    return lambda engine: READERS[engine](request, tmp_path)


def rows(frame: pyarrow.Table) -> Any:
    return counted(zip(*(column.to_pylist() for column in frame.columns), strict=True))


@pytest.mark.parametrize("engine", HOLDERS)
def test_a_frame_has_the_rows_of_the_file_in_a_random_order(engine: str, reading: Callable[[str], Reader]) -> None:
    read = reading(engine)
    table = read(arrow_table(ROWS), POLICY)
    frame = table.arrow(recoding_of(table, LEVELS, k=K))
    assert (frame.column_names, rows(frame)) == expected(ROWS, guarded=False)
    assert {str(frame.schema.field(name).type) for name in POLICY.quasi} <= {"string", "large_string"}
    # An untouched column keeps its type, where its engine knows one.
    if engine not in ("csv", "csv.gz"):
        assert pyarrow.types.is_int64(frame.schema.field("n").type)
    ordered = read(people(), ORDERED)
    tells_nothing([int(nr) for nr in ordered.arrow(hidden(ordered)).column("nr").to_pylist()])


def test_values_that_are_not_published_are_nowhere_in_a_frame() -> None:
    """Also those of categories, of which a frame holds all, and what a frame has noted beside its columns."""
    frame = pandas.DataFrame(
        {
            "zip": pandas.Categorical(["10115"] * 4 + ["99999"]),
            "ward": pandas.Categorical(["CANARY"] + ["A"] * 4, categories=["CANARY", "A", "CANARY 2"])[::-1],
        },
        index=[f"CANARY {row}" for row in range(5)],
    )
    policy = {"columns": {"zip": {"role": "quasi", "hierarchy": {"mask": 5}}, "ward": {"role": "other"}}}
    safe = discreet.anonymise(frame, k=4, suppression=0.2, policy=policy)
    assert safe.levels == {"zip": 0}
    published = safe.to_arrow()
    assert "CANARY" not in str(published.schema.metadata) + str(published.schema) + str(published.to_pydict())
    back = safe.to_pandas()
    assert back["ward"].tolist() == ["A"] * 4
    assert back.index.tolist() == [0, 1, 2, 3]
    assert not any(isinstance(kind, pandas.CategoricalDtype) for kind in back.dtypes)


@pytest.fixture
def safe() -> discreet.Anonymised:
    frame = pandas.DataFrame(
        {
            "age": [30, 31, 44, 45, 80],
            "name": list("abcde"),
            "income": [1, 2, 3, 4, 5],
            "score": [0.5, 1.5, None, 2.5, 1.0],
            "seen": pandas.to_datetime(["2026-01-01"] * 5),
            "note": list("vwxyz"),
        }
    )
    policy = {
        "columns": {
            "age": {"role": "quasi", "hierarchy": {"widths": [10]}},
            "name": {"role": "identifier"},
            "note": {"role": "drop"},
            **{name: {"role": "other"} for name in ("income", "score", "seen")},
        }
    }
    return discreet.anonymise(frame, k=2, suppression=0.2, policy=policy)


def test_three_kinds_of_frames_with_types_of_their_own(safe: discreet.Anonymised) -> None:
    arrow, small, quick = safe.to_arrow(), safe.to_pandas(), safe.to_polars()
    assert isinstance(arrow, pyarrow.Table)
    assert isinstance(small, pandas.DataFrame)
    assert isinstance(quick, polars.DataFrame)
    names = ["age", "income", "score", "seen"]
    assert arrow.column_names == list(small.columns) == quick.columns == names
    assert [sorted(frame["income"].to_list()) for frame in (small, quick)] == [[1, 2, 3, 4]] * 2
    assert set(small["age"]) == {"[30, 40)", "[40, 50)"}
    kinds = [small[name].dtype.kind for name in names[1:]]
    assert kinds == ["i", "f", "M"]
    assert quick.schema["income"].is_integer()
    assert quick.schema["age"] == polars.String


def test_frames_are_refused_where_files_are(safe: discreet.Anonymised) -> None:
    frame = pandas.DataFrame({"age": [30, 31], "note": ["a", "b"]})
    undeclared = {"columns": {"age": {"role": "quasi", "hierarchy": {"widths": [10]}}}}
    with pytest.raises(PolicyError, match="no role"):
        discreet.anonymise(frame, k=1, policy=undeclared).to_pandas()
    with pytest.raises(UsageError, match="not classes"):
        discreet.anonymise(safe.recoding.classes, k=1).to_polars()


def test_a_frame_is_compared_class_by_class(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("age\n30\n31\n44\n45\n")
    policy = {"columns": {"age": {"role": "quasi", "hierarchy": {"widths": [10]}}}}
    safe = discreet.anonymise(path, k=2, policy=policy)
    path.write_text("age\n30\n44\n44\n45\n")
    with pytest.raises(IntegrityError, match="not what was decided"):
        safe.to_arrow()


def test_what_is_not_installed_is_named(safe: discreet.Anonymised, monkeypatch: pytest.MonkeyPatch) -> None:
    for package, form in (("polars", safe.to_polars), ("pandas", safe.to_pandas), ("pyarrow", safe.to_arrow)):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(MissingExtra, match=r"discreet\[frames\]"):
            form()


def test_names_survive(reading: Callable[[str], Reader]) -> None:
    table = reading("arrow")(arrow_table(ROWS), POLICY)
    assert WEIRD in table.arrow(recoding_of(table, LEVELS, k=K)).column_names
    assert set(SCHEMA.names) - {"name"} == set(table.published)
