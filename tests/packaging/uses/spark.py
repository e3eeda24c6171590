"""Extra spark: a frame of Spark is counted by Spark."""

from __future__ import annotations

from calling import people
from pyspark.sql import SparkSession

import discreet

place = people()
policy = discreet.Policy.load(place / "policy.toml")
session = (
    SparkSession.builder.master("local[1]")
    .config("spark.driver.host", "127.0.0.1")
    .config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.ui.enabled", "false")
    .getOrCreate()
)
try:
    frame = session.read.csv(str(place / "hospital.csv"), header=True)
    there = discreet.assess(discreet.read(frame, policy=policy))
finally:
    session.stop()
here = discreet.assess(discreet.read(place / "hospital.csv", policy=policy))
assert (there.records, there.uniques, there.k) == (here.records, here.uniques, here.k)
