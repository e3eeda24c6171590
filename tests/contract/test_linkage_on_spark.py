"""One model, two engines: Splink on DuckDB and on a Spark cluster score the same pairs alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.linkage import DuckDBBackend, LinkageSpec, SparkBackend, score_pairs, start_project, train
from discreet.people import write_extracts


@pytest.mark.spark
def test_duckdb_and_spark_give_the_same_pairs_and_probabilities(tmp_path: Path, spark: Any) -> None:
    files = write_extracts(tmp_path / "data", people=150, seed=4)
    spec = LinkageSpec.load(files.link)
    folder = start_project(tmp_path / "p", files.first, files.second, spec=spec, key=b"k")
    model = train(folder)
    here = score_pairs(folder, model, backend=DuckDBBackend(folder))
    there = score_pairs(folder, model, backend=SparkBackend(folder, spark))
    assert np.array_equal(here.first, there.first)
    assert np.array_equal(here.second, there.second)
    assert np.abs(here.probability - there.probability).max() < 1e-9
    assert np.abs(here.weight - there.weight).max() < 1e-9
