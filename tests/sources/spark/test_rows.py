"""What is particular to exports from Spark: folders on the cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet
from discreet.errors import SourceUnreadable, UsageError
from discreet.kernel import Recoding
from discreet.sources.cluster import ClusterDisk

POLICY = discreet.Policy.from_dict(
    {"columns": {"sex": {"role": "quasi"}, **{name: {"role": "other"} for name in ("note", "x", "n", "id")}}}
)


@pytest.fixture
def people(spark: Any) -> discreet.Table:
    return discreet.read(
        spark.createDataFrame([("F", "CANARY", 1), ("M", " b ", 0)], ["sex", "note", "x"]), policy=POLICY
    )


def as_it_is(table: discreet.Table) -> Recoding:
    return Recoding.of_levels(table.classes(), {}, kept=np.ones(len(table.classes()), dtype=bool))


@pytest.mark.spark
class TestOnACluster:
    def test_a_folder_of_parquet_is_read_by_every_engine(self, people: discreet.Table, tmp_path: Path) -> None:
        assert people.export(as_it_is(people), tmp_path / "a b.parquet") == 2
        assert discreet.read(tmp_path / "a b.parquet", policy=POLICY).classes().sizes.tolist() == [1, 1]

    def test_values_of_every_type_find_their_class(self, spark: Any, tmp_path: Path) -> None:
        frame = spark.sql(
            "SELECT * FROM VALUES (double('NaN'), timestamp'2000-01-01 12:00:00', timestamp_ntz'2000-01-01 12:00:00', "
            "X'AA', array(1, 2), 0.1f, 1.50BD), (NULL, NULL, NULL, NULL, NULL, NULL, NULL) AS t(a, b, c, d, e, f, g)"
        )
        policy = discreet.Policy.from_dict({"columns": {name: {"role": "quasi"} for name in "abcdefg"}})
        table = discreet.read(frame, policy=policy)
        for name in ("a.csv", "a.parquet"):
            assert table.export(as_it_is(table), tmp_path / name) == 2

    def test_classes_and_maps_are_broadcast(self, people: discreet.Table) -> None:
        from discreet.sources.cluster import quote
        from discreet.sources.export.recode import Dialect, Outline
        from discreet.sources.spark.rows import recoded

        outline = Outline.of(people.columns, as_it_is(people), drop=())
        frame = recoded(people.engine.frame, outline, Dialect(quote), str)  # type: ignore[attr-defined]
        plan = frame._jdf.queryExecution().executedPlan().toString()
        assert plan.count("BroadcastHashJoin") == 2
        assert "Exchange hashpartitioning" not in plan

    def test_a_worker_begins_another_file_before_one_grows_too_large(
        self, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from discreet.sources.spark import rows as writing

        monkeypatch.setattr(writing, "ROWS_PER_FILE", 2)
        frame = spark.range(7, numPartitions=1).selectExpr("CAST(id % 2 AS STRING) AS sex", "id")
        table = discreet.read(frame, policy=POLICY)
        assert table.export(as_it_is(table), tmp_path / "a.parquet") == 7
        assert len(list((tmp_path / "a.parquet").glob("part-*"))) == 4
        assert discreet.read(tmp_path / "a.parquet", policy=POLICY).classes().sizes.tolist() == [4, 3]

    def test_what_spark_notes_beside_a_column_is_not_written(self, spark: Any, tmp_path: Path) -> None:
        """Such as the values behind the codes of an indexer."""
        from pyspark.sql.functions import col

        noted = col("note").alias("note", metadata={"ml_attr": {"vals": ["CANARY"]}})
        frame = spark.createDataFrame([("F", "0"), ("M", "1")], ["sex", "note"]).select("sex", noted)
        table = discreet.read(frame, policy=POLICY)
        table.export(as_it_is(table), tmp_path / "a.parquet")
        for part in (tmp_path / "a.parquet").glob("part-*"):
            assert b"CANARY" not in part.read_bytes()

    def test_a_missing_folder_and_a_server(self, people: discreet.Table, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="no folder"):
            people.export(as_it_is(people), tmp_path / "none" / "a.parquet")
        with pytest.raises(UsageError, match="cannot be written"):
            people.export(as_it_is(people), "postgresql://localhost/db?table=a")
        with pytest.raises(UsageError, match="cannot be written"):
            people.export(as_it_is(people), "nowhere://a/b.parquet")
        assert list(tmp_path.iterdir()) == []

    def test_a_job_that_fails_leaves_nothing_and_quotes_nobody(self, spark: Any, tmp_path: Path) -> None:
        frame = spark.createDataFrame([("F", "CANARY")], ["sex", "note"])
        sane = discreet.read(frame, policy=POLICY)
        broken = discreet.read(
            frame.selectExpr("sex", "CAST(raise_error(concat('no ', note)) AS STRING) AS note"), policy=POLICY
        )
        with pytest.raises(SourceUnreadable) as caught:
            broken.export(as_it_is(sane), tmp_path / "a.csv")
        assert "CANARY" not in str(caught.value)
        assert list(tmp_path.iterdir()) == []


def test_spark_connect_is_refused() -> None:
    with pytest.raises(UsageError, match="Connect"):
        ClusterDisk.of(object(), "a.parquet")
