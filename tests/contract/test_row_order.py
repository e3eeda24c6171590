"""Row order tells nothing: position in an output is independent of every original column and of the input's position."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pyarrow
import pyarrow.parquet
import pytest

import discreet
from discreet.kernel import Recoding
from discreet.sources.engine import Marked, Target
from discreet.sources.export.copies import pooled
from discreet.sources.export.targets import FileTarget, FolderTarget
from tests.contract.outputs import PLACES, SCHEMA, FilePlace, Place
from tests.contract.readers import POSTGRES, READERS, SPARK, Reader
from tests.contract.test_export import pairs

PEOPLE = 3_000
BEYOND_CHANCE = 6.5 / PEOPLE**0.5
"""A rank correlation that independent orders reach less than once in ten thousand million runs."""
MOST_NEIGHBOURS = 25
"""Neighbours that stay neighbours: two on average in a random order, and more than this in no run anybody will see."""
POLICY = discreet.Policy.from_dict(
    {
        "data": {"delimiter": ";"},
        "columns": {
            "zip": {"role": "quasi", "hierarchy": {"mask": 5}},
            "year": {"role": "quasi", "hierarchy": {"widths": [10, 50]}},
            "income": {"role": "sensitive"},
            "nr": {"role": "other"},
        },
    }
)


def people() -> pyarrow.Table:
    """Sorted by postcode, as files of people often are; `nr` is the position in the input."""
    luck = np.random.default_rng(7)
    postcodes = np.sort(luck.integers(10_000, 99_999, PEOPLE))
    return pyarrow.table(
        {
            "zip": pyarrow.array([str(code) for code in postcodes]),
            "year": pyarrow.array(luck.integers(1930, 2010, PEOPLE), type=pyarrow.int32()),
            "income": pyarrow.array(luck.integers(0, 10**6, PEOPLE), type=pyarrow.int32()),
            "nr": pyarrow.array(range(PEOPLE), type=pyarrow.int32()),
        }
    )


def hidden(table: discreet.Table) -> Recoding:
    """Nothing of the quasi-identifiers is published."""
    classes = table.classes()
    return Recoding.of_levels(classes, {"zip": 5, "year": 3}, kept=np.ones(len(classes), dtype=bool))


def ranks(values: Any) -> Any:
    return np.argsort(np.argsort(values, kind="stable"), kind="stable")


def leaks(order: list[int]) -> dict[str, float]:
    """What the order of an output, given as positions in the input, correlates with."""
    original = people()
    columns = {name: np.array(original[name].to_pylist(), dtype=np.int64)[order] for name in original.column_names}
    place = np.arange(len(order))
    return {name: float(np.corrcoef(place, ranks(values))[0, 1]) for name, values in columns.items()}


def tells_nothing(order: list[int]) -> None:
    assert sorted(order) == list(range(PEOPLE))
    assert {name: rho for name, rho in leaks(order).items() if abs(rho) > BEYOND_CHANCE} == {}
    assert int((np.abs(np.diff(order)) == 1).sum()) <= MOST_NEIGHBOURS


def positions(place: Place) -> list[int]:
    """Row by row as a reader of the output sees them, the position that each had in the input."""
    if not isinstance(place, FilePlace):
        with psycopg.connect(place.url) as connection:
            return [
                int(nr) for (nr,) in connection.execute(f'SELECT nr FROM "{SCHEMA}".published ORDER BY ctid'.encode())
            ]
    whole = Path(place.target)
    parts = sorted(whole.glob(f"part-*.{place.suffix}")) if whole.is_dir() else [whole]
    return [nr for part in parts for nr in numbers(part)]


def numbers(path: Path) -> list[int]:
    if path.name.endswith("parquet"):
        return [int(nr) for nr in pyarrow.parquet.read_table(path)["nr"].to_pylist()]
    raw = gzip.decompress(path.read_bytes()) if path.name.endswith(".gz") else path.read_bytes()
    return [int(row["nr"]) for row in csv.DictReader(io.StringIO(raw.decode(), newline=""), delimiter=";")]


@pytest.fixture
def reading(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], Reader]:
    return lambda engine: READERS[engine](request, tmp_path)


@pytest.fixture
def placing(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], Place]:
    return lambda target: PLACES[target](request, tmp_path)


@pytest.mark.parametrize(("engine", "target"), pairs())
def test_the_order_of_rows_tells_nothing(
    engine: str, target: str, reading: Callable[[str], Reader], placing: Callable[[str], Place]
) -> None:
    table, place = reading(engine)(people(), POLICY), placing(target)
    table.export(hidden(table), place.target)
    tells_nothing(positions(place))


@pytest.mark.parametrize("search", ["optimal", "local", "mondrian", "mondrian-relaxed"])
@pytest.mark.parametrize(
    "engine",
    ["csv", "parquet", "memory", pytest.param("postgres", marks=POSTGRES), pytest.param("spark", marks=SPARK)],
)
def test_the_order_of_rows_tells_nothing_however_the_table_was_found(
    engine: str, search: str, reading: Callable[[str], Reader], tmp_path: Path
) -> None:
    place = FilePlace(tmp_path, "parquet")
    result = discreet.anonymise(reading(engine)(people(), POLICY), k=5, search=search)
    result.write(place.target)
    tells_nothing(positions(place))
    tells_nothing([int(nr) for nr in result.to_pandas()["nr"]])
    tells_nothing([int(nr) for nr in result.to_polars()["nr"]])


def test_two_outputs_of_one_table_have_orders_of_their_own(tmp_path: Path) -> None:
    table, place = READERS["arrow"](None, tmp_path)(people(), POLICY), FilePlace(tmp_path, "parquet")  # type: ignore[arg-type]
    table.export(hidden(table), place.target)
    first = positions(place)
    table.export(hidden(table), place.target, overwrite=True)
    again = ranks(positions(place))
    assert abs(np.corrcoef(ranks(first), again)[0, 1]) < BEYOND_CHANCE


def test_parts_and_statistics_of_parquet_tell_nothing(tmp_path: Path) -> None:
    """Every row group covers the whole range of what is published, and repeats no statistics of hidden columns."""
    place = FilePlace(tmp_path, "parquet")
    table = READERS["parquet"](None, tmp_path)(people(), POLICY)  # type: ignore[arg-type]
    table.export(hidden(table), place.target)
    file = pyarrow.parquet.ParquetFile(place.target)
    assert file.schema_arrow.names == ["zip", "year", "income", "nr"]
    shown = {file.metadata.row_group(group).column(0).statistics.max for group in range(file.metadata.num_row_groups)}
    assert shown == {"*****"}


@pytest.mark.parametrize(
    "engine",
    ["csv", "parquet", "memory", pytest.param("postgres", marks=POSTGRES), pytest.param("spark", marks=SPARK)],
)
def test_the_order_of_rows_in_a_copy_tells_nothing(
    engine: str, reading: Callable[[str], Reader], tmp_path: Path
) -> None:
    """Copies of a release are written from rows that were read once; each has an order of its own."""
    table, place = reading(engine)(people(), POLICY), FilePlace(tmp_path, "parquet")
    nothing = Marked(labels=[("none", "none")], cells={"income": (), "nr": ()}, places=np.zeros(0, dtype=np.int64))
    target: Target = FileTarget(place.target)
    if engine == "spark":
        target = FolderTarget(place.target, session=table.engine.frame.sparkSession)  # type: ignore[attr-defined]
    with pooled(table, hidden(table), nothing, folder=tmp_path) as pool:
        pool.write(np.zeros(1, dtype=bool), target, secret=b"of this copy", row_ids=None)
    tells_nothing(positions(place))
