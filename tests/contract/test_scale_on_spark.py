"""The whole way with rows that are only on Spark: counted, assessed, recoded, copied and linked there as on DuckDB."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import discreet
from discreet.errors import DataError, SourceUnreadable
from discreet.kernel import Classes
from discreet.linkage import LinkageSpec, SparkBackend, find_pairs, score_pairs, start_project, train
from discreet.linkage.folder import ProjectFolder
from discreet.linkage.matching.backends import quietly
from discreet.people import State, generate, write_extracts
from tests.releases.world import GATES, POLICY, known_keys, town
from tests.servers import shipped

Read = Callable[[Path], Any]
"""A Parquet file as what `discreet.read` takes."""
K = 3
QUASI = ", ".join(POLICY.quasi)
PATIENTS = discreet.Policy.from_dict(
    {
        "columns": {
            "birth_year": {"role": "quasi", "hierarchy": {"widths": [2, 4, 8, 16]}},
            "sex": {"role": "quasi", "hierarchy": {"any": "Person"}},
            "race": {"role": "quasi", "hierarchy": {"any": "*"}},
            "zip": {"role": "quasi", "hierarchy": {"mask": 5}},
            "diagnosis": {"role": "sensitive"},
            "plan": {"role": "other"},
            "visits": {"role": "other"},
        }
    }
)


@dataclass(frozen=True)
class Data:
    """Two files with generated people: some of a register, and the register."""

    people: Path
    register: Path
    policy: discreet.Policy
    settings: dict[str, Any]

    @property
    def bytes(self) -> int:
        """What the rows of the people would take on their way to the driver."""
        size: int = duckdb.sql(f"SELECT * FROM '{self.people}'").to_arrow_table().nbytes
        return size


@dataclass(frozen=True)
class Told:
    """What came out, step by step."""

    counted: Classes
    assessment: dict[str, Any]
    anonymised: dict[str, Any]
    rows: int
    release: discreet.releases.Release
    copies: list[Any]
    shipped: dict[str, int]
    """Bytes that came to the driver, step by step."""


@dataclass
class Scales:
    """Weighs what the workers have sent to the driver since it was last asked."""

    session: Any = None
    before: int = 0

    def __call__(self) -> int:
        now = 0 if self.session is None else shipped(self.session)
        came, self.before = now - self.before, now
        return came


def whole_way(data: Data, read: Read, folder: Path, *, copies: int, scales: Scales | None = None) -> Told:
    folder.mkdir()
    weigh, came = scales or Scales(), {}
    weigh()
    table = discreet.read(read(data.people), policy=data.policy)
    register = discreet.read(read(data.register), policy=data.policy.for_population())
    counted = discreet.count(table)
    came["count"] = weigh()
    assessment = discreet.assess(table, population=register)
    came["assess"] = weigh()
    safe = discreet.anonymise(table, k=K, suppression=0.1)
    rows = safe.write(folder / "safe.parquet")
    came["apply"] = weigh()
    names = [f"recipient-{number}" for number in range(copies)]
    made = discreet.release(table, register, names, name="spring", store=folder / "store.db", **data.settings)
    came["release"] = weigh()
    written = made.write(folder / "copies")
    came["copies"] = weigh()
    return Told(counted, assessment.to_dict(), safe.to_dict(), rows, made, written, came)


def files(path: Path) -> str:
    """A file, or the parts that the workers wrote, after FROM."""
    return f"read_parquet('{path / 'part-*' if path.is_dir() else path}')"


def same_rows(one: Path, other: Path, *, without: str = "") -> bool:
    """Whether two tables hold the same rows equally often, in whatever order."""
    left = f"SELECT * {without} FROM {files(one)}"
    right = f"SELECT * {without} FROM {files(other)}"
    with duckdb.connect() as connection:
        found = connection.execute(f"({left} EXCEPT ALL {right}) UNION ALL ({right} EXCEPT ALL {left})")
        return not found.fetchall()


def smallest_class(path: Path, columns: str) -> int:
    """Counted by a statement of its own, without any of ours."""
    with duckdb.connect() as connection:
        found = connection.execute(f"SELECT min(n) FROM (SELECT count(*) AS n FROM {files(path)} GROUP BY {columns})")
        return int(found.fetchall()[0][0])


def compare(here: Told, there: Told, folder: Path, columns: str) -> None:
    assert list(here.counted.tuples()) == list(there.counted.tuples())
    assert np.array_equal(here.counted.sizes, there.counted.sizes)
    assert here.assessment == there.assessment
    assert here.anonymised == there.anonymised
    assert here.rows == there.rows
    assert (folder / "there" / "safe.parquet").is_dir()
    assert same_rows(folder / "here" / "safe.parquet", folder / "there" / "safe.parquet")
    assert smallest_class(folder / "there" / "safe.parquet", columns) >= K
    assert sealed(here) == sealed(there)
    assert [(copy.recipient, copy.rows) for copy in here.copies] == [
        (copy.recipient, copy.rows) for copy in there.copies
    ]
    for one, other in zip(here.copies, there.copies, strict=True):
        paths = Path(one.folder) / "data.parquet", Path(other.folder) / "data.parquet"
        assert same_rows(*paths, without="EXCLUDE (row)")


def sealed(told: Told) -> tuple[Any, ...]:
    """Which marks there are, what the made-up rows hold, and who has which."""
    book, decoys = told.release.manifest.codebook, told.release.manifest.decoys
    return book.marks.labels, book.present.tolist(), dict(decoys.columns), decoys.places.tolist()


@pytest.fixture
def spark_frames(spark: Any) -> Read:
    return lambda path: spark.read.parquet(str(path))


@pytest.fixture
def known_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways draw their marks from the same secrets."""
    monkeypatch.setenv("DISCREET_KEYS", str(known_keys(tmp_path / "keys.json")))


def a_town(folder: Path) -> Data:
    world = town(folder)
    counts = {
        name: np.array([labels[place] for labels in world.population.tuples()], dtype=object)
        for place, name in enumerate(world.population.names)
    }
    with duckdb.connect() as connection:
        connection.register("counted", {**counts, "n": world.population.sizes})
        rows = f"SELECT {QUASI.replace('year', 'CAST(year AS SMALLINT) AS year')} FROM counted, range(counted.n)"
        connection.execute(f"COPY ({rows}) TO '{folder / 'register.parquet'}' (FORMAT parquet)")
    levels = {"zip": 0, "year": 0, "sex": 0}
    settings = {"k": K, "suppression": 0.9, "levels": levels, "gates": GATES}
    return Data(world.path, folder / "register.parquet", POLICY, settings)


def a_state(folder: Path) -> Data:
    everybody = generate(State.of(300_000), seed=1, columns=tuple(PATIENTS.roles))
    everybody.select(*PATIENTS.quasi).write(folder / "register.parquet")
    everybody.sample(200_000, seed=2).write(folder / "people.parquet")
    settings = {"k": 5, "suppression": 0.1, "gates": GATES, "force": True}
    return Data(folder / "people.parquet", folder / "register.parquet", PATIENTS, settings)


@pytest.mark.spark
@pytest.mark.usefixtures("known_secrets")
def test_a_town_on_spark_comes_out_as_on_duckdb(spark_frames: Read, tmp_path: Path) -> None:
    data = a_town(tmp_path)
    here = whole_way(data, str, tmp_path / "here", copies=1)
    there = whole_way(data, spark_frames, tmp_path / "there", copies=1)
    compare(here, there, tmp_path, QUASI)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.usefixtures("known_secrets")
def test_a_state_on_spark_in_20_copies_ships_classes_and_no_rows(
    spark: Any, spark_frames: Read, tmp_path: Path
) -> None:
    data = a_state(tmp_path)
    here = whole_way(data, str, tmp_path / "here", copies=20)
    there = whole_way(data, spark_frames, tmp_path / "there", copies=20, scales=Scales(spark))
    compare(here, there, tmp_path, ", ".join(PATIENTS.quasi))
    assert there.shipped["count"] < data.bytes / 4
    assert there.shipped["apply"] < data.bytes / 4
    assert there.shipped["release"] < data.bytes / 4
    assert there.shipped["copies"] < 20 * data.bytes / 4, "every copy is counted when it has been written"


@pytest.mark.slow
@pytest.mark.spark
def test_extracts_on_spark_are_linked_as_on_duckdb(spark: Any, tmp_path: Path) -> None:
    made = write_extracts(tmp_path / "data", people=300, seed=4)
    spec = LinkageSpec.load(made.link)
    frames = [spark.read.csv(str(path), header=True) for path in (made.first, made.second)]
    here = start_project(tmp_path / "here", made.first, made.second, spec=spec, key=b"k")
    there = start_project(tmp_path / "there", *frames, spec=spec, key=b"k")
    model = train(here)
    scored = score_pairs(there, model, backend=SparkBackend(there, spark))
    wanted, found = by_id(here, score_pairs(here, model)), by_id(there, scored)
    assert wanted.keys() == found.keys()
    assert max(abs(wanted[pair] - found[pair]) for pair in wanted) < 1e-9
    zones = find_pairs(there, backend=SparkBackend(there, spark))
    assert len(zones.pairs) == len(find_pairs(here).pairs)


def by_id(folder: ProjectFolder, pairs: Any) -> dict[tuple[str, str], float]:
    """Probabilities by the ids of the two records, since the order of a frame, and so their numbers, are no one's promise."""
    ids: dict[int, str] = {}
    with duckdb.connect() as connection:
        for table in folder.tables:
            ids |= dict(connection.execute(f"SELECT record, id FROM '{folder.file('bridge', table)}'").fetchall())
    return {
        (ids[one], ids[other]): chance
        for one, other, chance in zip(
            pairs.first.tolist(), pairs.second.tolist(), pairs.probability.tolist(), strict=True
        )
    }


@pytest.mark.spark
def test_spark_is_asked_for_no_more_than_the_driver_takes(spark: Any, tmp_path: Path) -> None:
    """100 texts of a megabyte each; the session of the tests takes 64."""
    long = discreet.read(spark.sql("SELECT id, concat(id, repeat('x', 1000000)) AS note FROM range(100)"))
    with pytest.raises(SourceUnreadable, match="more would come to the driver than it takes") as caught:
        discreet.count(long, by=["note"])
    assert "xxx" not in str(caught.value)
    assert "coarser" in caught.value.remedy
    spec = LinkageSpec.from_dict({"linkage": {"identifying": {key: {"kind": "string"} for key in ("note", "id")}}})
    with pytest.raises(DataError, match="more would come to the driver than it takes"):
        start_project(tmp_path / "p", long, spec=spec)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(DataError, match="more pairs would come"), quietly("score the pairs"):
        spark.sql("SELECT concat(id, repeat('x', 1000000)) AS note FROM range(100)").toArrow()
