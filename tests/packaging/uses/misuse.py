"""Extra misuse: what readers held is counted, and what a request gives away is scored."""

from __future__ import annotations

import json

from calling import call, people

call("misuse", "generate", "--out", "misuse", "--days", "5")
assert json.loads(call("misuse", "incidents", "misuse/log.jsonl", "--json").stdout)
place = people()
words = [
    "misuse",
    "score",
    f"{place}/hospital.csv",
    "--source",
    f"{place}/hospital.csv",
    "--policy",
    f"{place}/policy.toml",
]
asked = ["--request", "SELECT * FROM hospital WHERE sex = 'F'"]
scored = json.loads(call(*words, *asked, "--json", code=1).stdout)
assert scored["value"] > 10
assert scored["rows"] == 1_000
