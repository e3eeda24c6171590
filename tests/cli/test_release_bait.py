"""`discreet release plan|make --mode bait` and a trace, as custodians meet them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.cli.test_release import ANSWERS, POLICY, run
from tests.releases.world import known_keys, roomy, write_rows
from tests.swift import SHIM


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("bait")
    everybody, rows = roomy()
    write_rows(rows, place / "town.parquet")
    (place / "policy.toml").write_text(POLICY, encoding="utf-8")
    (place / "year.csv").write_text("".join(f"{year}\n" for year in range(1950, 1964)), encoding="utf-8")
    (place / "sex.csv").write_text("F\nM\n", encoding="utf-8")
    counted = zip(everybody.tuples(), everybody.sizes.tolist(), strict=True)
    lines = [f"{','.join(map(str, cell))},{number}\n" for cell, number in counted]
    (place / "people.csv").write_text("zip,year,sex,people\n" + "".join(lines), encoding="utf-8")
    known_keys(place / "store.db.keys")
    return place


TABLE = ("town.parquet", "--population", "people.csv", "--policy", "policy.toml", "--k", "5", "--suppression", "0.9")
BAIT = ("--mode", "bait", "--decoys", "4", "--removal", "size", "--budget", "0.1")


def test_bait_is_planned_made_shown_and_traced(folder: Path) -> None:
    planned = json.loads(run("plan", *TABLE, *BAIT, "--recipients", "3", "--json", cwd=folder).stdout)
    foreseen = planned["preflight"]
    assert (foreseen["mode"], foreseen["decoys"], foreseen["recipients"]) == ("bait", 4, 3)
    assert foreseen["probability_of_decoy"] == 4 / (4 + foreseen["alone"])
    words = run("plan", *TABLE, *BAIT, "--recipients", "3", "--most-factor", "1.5", cwd=folder).stdout
    assert "n_d/(n_d + n_e)" in words
    assert "counting look-alikes" in " ".join(words.split())
    to = ("--name", "spring", *(word for name in ("a", "b", "c") for word in ("--recipient", name)))
    where = ("--out", "copies", "--format", "csv", "--store", "store.db")
    made = run("make", *TABLE, *BAIT, *to, *where, *ANSWERS, cwd=folder)
    assert made.returncode == 0, made.stderr
    assert "counting look-alikes" in " ".join(made.stderr.split())
    shown = json.loads(run("show", "spring", "--store", "store.db", "--json", cwd=folder).stdout)
    assert shown["law"] == "bait:4/size/0.1/1/"
    assert shown["preflight"]["warning"] == foreseen["warning"]
    leak = ("trace", "leak", "copies/b/data.csv", "--release", "spring", "--store", "store.db", "--json")
    traced = subprocess.run([SHIM, *leak], capture_output=True, text=True, check=False, cwd=folder)
    assert (traced.returncode, json.loads(traced.stdout)["accused"]) == (1, ["b"])
    late = run("add-recipient", "spring", "town.parquet", "--policy", "policy.toml", "--recipient", "d", *where[:2],
               "--store", "store.db", cwd=folder)  # fmt: skip
    assert (late.returncode, "has bait" in late.stderr) == (5, True)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--mode", "marks", "--decoys", "3"), "one of bait"),
        (("--mode", "bait", "--decoys", "5000"), "candidates are enough"),
        (("--mode", "bait", "--least-factor", "3", "--most-factor", "2"), "below the least"),
    ],
)
def test_what_cannot_be_is_said(folder: Path, words: tuple[str, ...], says: str) -> None:
    done = run("plan", *TABLE, *words, "--recipients", "3", cwd=folder)
    assert (done.returncode, says in done.stderr) == (2, True), done.stderr
