"""Extra store: entries, a budget, heads, an export that an auditor verifies, one that was forged, a release with its trace."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from calling import call

from discreet.ledger import Ledger

with Ledger.open("ledger.db") as ledger:
    ledger.set_budget("reviewer:ann", limit=Fraction(1, 10), parts=432, actor="custodian")
    receipt = ledger.spend(
        "reviewer:ann", to=Fraction(31, 432), actor="ann", event="linkage.revealed", key="click-1", subject="pair:1"
    )
    assert receipt.granted
call("ledger", "head", "--store", "ledger.db", "--out", "head.json")
call("ledger", "export", "--store", "ledger.db", "--out", "all.jsonl")
assert "ann" in call("ledger", "show", "--store", "ledger.db").stdout
call("ledger", "verify", "--store", "ledger.db", "--head", "head.json")
call("ledger", "verify", "all.jsonl", "--head", "head.json")
Path("forged.jsonl").write_text(Path("all.jsonl").read_text(encoding="utf-8").replace("ann", "eve"), encoding="utf-8")
call("ledger", "verify", "forged.jsonl", "--head", "head.json", code=6)
said = call("ledger", "show", "--store", "postgresql://127.0.0.1/nowhere", code=2).stderr
assert "needs the extra 'postgres'" in said

call("demo-data", "--people", "100000", "--seed", "1", "--out", "people")
policy = ("--policy", "people/policy.toml")
call(
    "release", "make", "people/hospital.csv", "--population", "people/population.parquet", *policy, "--name", "spring",
    "--recipient", "north", "--recipient", "south", "--out", "copies", "--population-source", "generated",
    "--population-licence", "none", "--counts-only", "--sign-off", "1", "--format", "csv", "--force",
)  # fmt: skip
leak = next(Path("copies/north").glob("*.csv"))
assert "north" in call("trace", "leak", str(leak), "--release", "spring").stdout
