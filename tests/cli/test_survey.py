"""Survey samples on the command line: risks of rows, weights, counts that may be weights."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pandas
import pytest

from tests.cli.test_commands import run

SAMPLE = "sex,home,w\nF,1,2.5\nF,1,100\nM,,7\n"
SAMPLE_POLICY = '[data]\nweight = "w"\nhousehold = "home"\n[columns]\nsex.role = "quasi"\nhome.role = "drop"\n'


@pytest.mark.parametrize("name", ["risks.csv", "risks.parquet"])
def test_the_risk_of_every_row_is_written_for_the_custodian_only(write: Any, tmp_path: Path, name: str) -> None:
    data, policy, out = write("sample.csv", SAMPLE), write("sample.toml", SAMPLE_POLICY), tmp_path / name
    done = run("assess", data, "--policy", policy, "--records", out)
    assert done.returncode == 1
    assert "for the custodian only" in " ".join(done.stderr.split())
    assert out.stat().st_mode & 0o777 == 0o600
    read = pandas.read_csv if name.endswith(".csv") else pandas.read_parquet
    found = read(out)
    assert list(found.columns) == ["row", "class_size", "prosecutor", "weighted", "household"]
    assert found["class_size"].tolist() == [2, 2, 1]
    assert found["weighted"][2] == pytest.approx(1 / 6 * math.log(7))
    again = run("assess", data, "--policy", policy, "--records", out)
    assert (again.returncode, "exists already" in again.stderr) == (2, True)
    assert run("assess", data, "--policy", policy, "--records", out, "--overwrite").returncode == 1
    assert run("assess", data, "--policy", policy, "--records", tmp_path / "risks.txt").returncode == 2


def test_bad_weights_end_with_3_and_weights_as_counts_with_4(write: Any) -> None:
    policy = write("sample.toml", SAMPLE_POLICY)
    bad = run("assess", write("bad.csv", SAMPLE + "M,2,-42.5\n"), "--policy", policy)
    assert (bad.returncode, "1 rows" in bad.stderr, "42.5" in bad.stderr) == (3, True, False)
    assert run("policy", "check", policy, "--data", write("bad.csv", SAMPLE + "M,2,0\n")).returncode == 3
    both = write("both.toml", SAMPLE_POLICY.replace("weight =", 'count = "w"\nweight ='))
    assert run("policy", "check", both).returncode == 4


def test_large_counts_are_asked_about(write: Any) -> None:
    policy = write(
        "counts.toml", '[data]\ncount = "n"\n[columns]\nsex = { role = "quasi", hierarchy = { any = "*" } }\n'
    )
    for least, asked in ((20, True), (19, False)):
        data = write("counts.csv", f"sex,n\nF,{least}\nM,5000\n")
        for command in (("assess",), ("anonymise", "--k", "2", "--dry-run")):
            done = run(command[0], data, "--policy", policy, *command[1:])
            assert ("survey weight" in done.stderr) is asked


def test_weights_that_no_population_has_are_asked_about(write: Any) -> None:
    """Implied decimals, which many surveys leave to their code book."""
    policy = write("sample.toml", '[data]\nweight = "w"\n[columns]\nsex.role = "quasi"\n')
    for each, asked in ((400_000_000, False), (900_000_000, True)):
        data = write("sample.csv", "sex,w\n" + f"F,{each}\n" * 3)
        for command in (("assess", data, "--policy", policy), ("policy", "check", policy, "--data", data)):
            assert ("more than any country has" in " ".join(run(*command).stderr.split())) is asked
