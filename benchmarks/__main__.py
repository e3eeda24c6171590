"""Run every benchmark, or those named on the command line: python -m benchmarks [counting assessing anonymity ...]."""

from __future__ import annotations

import sys

from benchmarks import (
    anomalies,
    anonymity,
    assessing,
    attacker,
    counting,
    drafting,
    elicitation,
    gateway,
    gateway_answers,
    gateway_latency,
    gateway_scoring,
    gateway_statistics,
    gateway_streaming,
    importing,
    lab,
    ledger,
    linkage_corpus,
    linkage_crowd,
    linkage_encoded,
    linkage_index,
    linkage_pairs,
    linkage_prices,
    linkage_review,
    linkage_server,
    misuse,
    newcomer,
    releases_copies,
    releases_feasibility,
    releases_marks,
    releases_scale,
    releases_tracing,
    scale,
    sizes,
    spark,
)

ALL = {
    "counting": counting.main,
    "assessing": assessing.main,
    "anonymity": anonymity.main,
    "drafting": drafting.main,
    "attacker": attacker.main,
    "misuse": misuse.main,
    "elicitation": elicitation.main,
    "anomalies": anomalies.main,
    "ledger": ledger.main,
    "gateway": gateway.main,
    "gateway_scoring": gateway_scoring.main,
    "gateway_statistics": gateway_statistics.main,
    "gateway_answers": gateway_answers.main,
    "gateway_latency": gateway_latency.main,
    "gateway_streaming": gateway_streaming.main,
    "lab": lab.main,
    "newcomer": newcomer.main,
    "linkage_index": linkage_index.main,
    "linkage_corpus": linkage_corpus.main,
    "linkage_encoded": linkage_encoded.main,
    "linkage_pairs": linkage_pairs.main,
    "linkage_prices": linkage_prices.main,
    "linkage_review": linkage_review.main,
    "linkage_crowd": linkage_crowd.main,
    "linkage_server": linkage_server.main,
    "releases_copies": releases_copies.main,
    "releases_tracing": releases_tracing.main,
    "releases_marks": releases_marks.main,
    "releases_scale": releases_scale.main,
    "spark": spark.main,
    "scale": scale.main,
    "sizes": sizes.main,
    "releases_feasibility": releases_feasibility.main,
    "importing": importing.main,
}

for name in sys.argv[1:] or ALL:
    print(f"== {name} ==", flush=True)
    ALL[name]()
    print()
