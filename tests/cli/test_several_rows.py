"""A panel on the command line: people are called people, rows are called rows, in words, JSON and reports."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from discreet.cli.main import cli
from discreet.errors import DiscreetError, PolicyError

PEOPLE, YEARS = 60, 4


@pytest.fixture(scope="module")
def panel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty people over four years; a lawyer who moves to a town of their own in the last one."""
    folder, rng = tmp_path_factory.mktemp("panel"), random.Random(7)
    lines = ["nr,year,town,union"]
    for person in range(PEOPLE):
        town = rng.choice(["north", "south"])
        for year in range(YEARS):
            alone = person == 0 and year == YEARS - 1
            lines.append(f"{person},{2000 + year},{'lighthouse' if alone else town},{rng.randint(0, 1)}")
    (folder / "panel.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    columns = {"nr": "identifier", "year": "quasi", "town": "quasi", "union": "sensitive"}
    policy(folder / "policy.toml", 'person = "nr"\n', columns)
    policy(folder / "rows.toml", "", columns)
    policy(folder / "tied.toml", 'person = "nr"\n', {**columns, "nr": "other"})
    return folder


def policy(path: Path, data: str, columns: dict[str, str]) -> None:
    sections = [f"[data]\n{data}"]
    for name, role in columns.items():
        rule = 'hierarchy = { any = "*" }\n' if role == "quasi" else ""
        sections.append(f'[columns.{name}]\nrole = "{role}"\n{rule}')
    path.write_text("".join(sections), encoding="utf-8")


def run(*words: Any) -> Result:
    return CliRunner().invoke(cli, [str(word) for word in words], catch_exceptions=False)


def test_every_command_says_people_in_rows(panel: Path) -> None:
    data, by = panel / "panel.csv", ("--policy", panel / "policy.toml")
    for words in (("assess", data, *by), ("profile", data, *by), ("policy", "check", by[1], "--data", data)):
        assert "60 people in 240 rows" in run(*words).stdout
    checked = json.loads(run("policy", "check", by[1], "--data", data, "--json").stdout)
    assert (checked["data"]["records"], checked["data"]["rows"]) == (PEOPLE, PEOPLE * YEARS)
    assessed = json.loads(run("assess", data, *by, "--json").stdout)
    assert (assessed["records"], assessed["rows"], assessed["uniques"]) == (PEOPLE, PEOPLE * YEARS, 1)


def test_what_is_suppressed_is_said_in_rows_and_people(panel: Path, tmp_path: Path) -> None:
    options = ("--policy", panel / "policy.toml", "--k", 5, "--suppression", 0.01, "--out", tmp_path / "safe.csv")
    result = run("anonymise", panel / "panel.csv", *options, "--report", tmp_path / "report.html")
    assert result.exit_code == 0, result.output
    assert "60 of 60 people (239 of 240 rows)" in result.stdout
    assert "1 rows of 1 people suppressed" in result.stdout
    assert len((tmp_path / "safe.csv").read_text(encoding="utf-8").splitlines()) == PEOPLE * YEARS
    report = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "loses 1 row of 240" in report
    assert "lighthouse" not in (tmp_path / "safe.csv").read_text(encoding="utf-8")
    found = json.loads(run("anonymise", panel / "panel.csv", *options[:6], "--dry-run", "--json").stdout)
    assert [found[key] for key in ("records", "rows", "suppressed", "suppressed_rows")] == [60, 240, 1, 1]


def test_a_table_that_does_not_say_whose_rows_it_has_is_refused_with_advice(panel: Path) -> None:
    by = ("--policy", panel / "rows.toml")
    with pytest.raises(PolicyError) as refused:
        run("anonymise", panel / "panel.csv", *by, "--k", 2, "--dry-run")
    assert refused.value.exit_code == 4
    assert '[data] person = "nr"' in refused.value.remedy
    assert '[data] person = "nr"' in run("assess", panel / "panel.csv", *by).stderr


def test_a_published_number_that_ties_rows_together_is_said(panel: Path) -> None:
    by = ("--policy", panel / "tied.toml", "--k", 2, "--dry-run")
    assert "tie the rows of a person together" in run("anonymise", panel / "panel.csv", *by).stderr
    by = ("--policy", panel / "policy.toml", "--k", 2, "--dry-run")
    assert "tie the rows" not in run("anonymise", panel / "panel.csv", *by).stderr


def test_what_ties_rows_together_is_published_only_if_the_policy_says_so(panel: Path, tmp_path: Path) -> None:
    out = tmp_path / "safe.csv"
    by = ("--k", 2, "--out", out)
    with pytest.raises(PolicyError, match=r"nr .other") as refused:
        run("anonymise", panel / "panel.csv", "--policy", panel / "tied.toml", *by)
    assert refused.value.exit_code == 4
    assert not out.exists()
    said = (panel / "tied.toml").read_text(encoding="utf-8").replace("[data]", "[data]\npublish_person = true")
    (panel / "said.toml").write_text(said, encoding="utf-8")
    result = run("anonymise", panel / "panel.csv", "--policy", panel / "said.toml", *by)
    assert "tie the rows of a person together" in result.stderr
    assert "nr" in out.read_text(encoding="utf-8").splitlines()[0]


def test_a_published_panel_is_measured_as_the_people_behind_it(panel: Path, tmp_path: Path) -> None:
    """The published file has no numbers of people; those of the data say who is behind its rows."""
    from discreet.policy import Policy
    from discreet.report.project.measurement import measure_tables
    from discreet.sources import read

    by = ("--policy", panel / "policy.toml", "--k", 5, "--suppression", 0.01, "--out", tmp_path / "safe.csv")
    assert run("anonymise", panel / "panel.csv", *by).exit_code == 0
    declared = Policy.load(panel / "policy.toml")
    table = read(panel / "panel.csv", policy=declared)
    found = measure_tables(table, policy=declared, published=tmp_path / "safe.csv")
    assert found.remaining is not None
    assert (found.remaining.records, found.remaining.rows) == (60, 239)
    assert found.remaining.k >= 5
    assert "union" in found.remaining.inference


def test_a_column_that_cannot_be_predicted_is_refused_before_anything_is_written(panel: Path, tmp_path: Path) -> None:
    out = tmp_path / "safe.csv"
    with pytest.raises(DiscreetError, match="nix"):
        run(
            "anonymise",
            panel / "panel.csv",
            "--policy",
            panel / "policy.toml",
            "--k",
            2,
            "--target",
            "nix",
            "--out",
            out,
        )
    assert not out.exists()
