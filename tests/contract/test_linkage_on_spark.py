"""One model, two engines: Splink on DuckDB and on a Spark cluster score the same pairs alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.linkage import DuckDBBackend, LinkageSpec, SparkBackend, score_pairs, start_project, train
from discreet.people import write_extracts


@pytest.mark.slow
@pytest.mark.spark
def test_duckdb_and_spark_give_the_same_pairs_and_probabilities(tmp_path: Path, spark: Any) -> None:
    files = write_extracts(tmp_path / "data", people=150, seed=4)
    spec = LinkageSpec.load(files.link)
    folder = start_project(tmp_path / "p", files.first, files.second, spec=spec, key=b"k")
    model = train(folder)
    assert {"names swapped", "15 % of the letters differ"} <= {
        level["label_for_charts"] for level in model.settings["comparisons"][0]["comparison_levels"]
    }
    here = score_pairs(folder, model, backend=DuckDBBackend(folder))
    there = score_pairs(folder, model, backend=SparkBackend(folder, spark))
    assert np.array_equal(here.first, there.first)
    assert np.array_equal(here.second, there.second)
    assert np.abs(here.probability - there.probability).max() < 1e-9
    assert np.abs(here.weight - there.weight).max() < 1e-9


@pytest.mark.spark
def test_both_engines_count_the_same_edits(spark: Any) -> None:
    """Splink's only function that is not plain SQL; Jaro-Winkler, which is not used, differs in half a transposition."""
    import duckdb
    from splink import SparkAPI
    from splink.backends.spark import similarity_jar_location

    rng = np.random.default_rng(1)
    words = ["".join(rng.choice(list("ABCD"), rng.integers(1, 9))) for _ in range(400)]
    pairs = list(zip(words[::2], words[1::2], strict=True))
    spark.sql(f"ADD JAR '{similarity_jar_location()}'")
    SparkAPI(spark_session=spark, break_lineage_method="persist")
    frame = spark.createDataFrame(pairs, ["a", "b"])
    there = {(row.a, row.b): row.d for row in frame.selectExpr("a", "b", "damerau_levenshtein(a, b) AS d").collect()}
    with duckdb.connect() as here:
        for a, b in pairs:
            assert here.execute("SELECT damerau_levenshtein($1, $2)", [a, b]).fetchall() == [(there[a, b],)]
