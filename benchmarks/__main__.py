"""Run every benchmark, or those named on the command line: python -m benchmarks [counting assessing anonymity ...]."""

from __future__ import annotations

import sys

from benchmarks import (
    anomalies,
    anonymity,
    assessing,
    attacker,
    counting,
    elicitation,
    gateway,
    gateway_scoring,
    lab,
    ledger,
    misuse,
    spark,
)

ALL = {
    "counting": counting.main,
    "assessing": assessing.main,
    "anonymity": anonymity.main,
    "attacker": attacker.main,
    "misuse": misuse.main,
    "elicitation": elicitation.main,
    "anomalies": anomalies.main,
    "ledger": ledger.main,
    "gateway": gateway.main,
    "gateway_scoring": gateway_scoring.main,
    "lab": lab.main,
    "spark": spark.main,
}

for name in sys.argv[1:] or ALL:
    print(f"== {name} ==", flush=True)
    ALL[name]()
    print()
