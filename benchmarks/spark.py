"""Counting on a standalone Spark cluster with two workers on loopback: python -m benchmarks.spark

Prints whether Spark and DuckDB give the same classes, what each took, and how much came back to the driver.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import discreet
from benchmarks.counting import BY, people

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.servers import spark_session


def main() -> None:
    """Count the same 13 million people on the cluster and in this process."""
    path = str(people())
    started = time.perf_counter()
    here = discreet.count(discreet.read(path), by=BY)
    local = time.perf_counter() - started
    with tempfile.TemporaryDirectory() as folder, spark_session(Path(folder)) as session:
        frame = session.read.parquet(path)
        frame.limit(1).collect()
        started = time.perf_counter()
        there = discreet.count(discreet.read(frame), by=BY)
        cluster = time.perf_counter() - started
    same = dict(zip(here.tuples(), here.sizes.tolist(), strict=True)) == dict(
        zip(there.tuples(), there.sizes.tolist(), strict=True)
    )
    print(f"{here.records:,} people, {len(here):,} classes on DuckDB, {len(there):,} on Spark; identical: {same}")
    print(
        f"wall: DuckDB {local:.1f} s, Spark {cluster:.1f} s ({cluster / local:.1f}x); to the driver: {len(there):,} rows"
    )
    assert same


if __name__ == "__main__":
    main()
