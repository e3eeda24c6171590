"""What helps people along: the doctor, the manual, completion in a shell."""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from discreet.anonymity.lattice import native_engine
from discreet.cli.main import BUG, VERBS, cli
from discreet.cli.verbs.doctor import PACKAGES, PURPOSES, DoctorCheck, examine, requirements
from discreet.cli.verbs.help_and_demo import EXIT_CODES
from discreet.errors import DiscreetError, UsageError


@pytest.fixture(autouse=True)
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DISCREET_STORE", str(tmp_path / "store.db"))
    return tmp_path / "store.db"


def by_name(checks: list[DoctorCheck]) -> dict[str, DoctorCheck]:
    return {check.about: check for check in checks}


def test_everything_is_there_on_a_machine_that_runs_these_tests() -> None:
    checks = by_name(examine())
    assert {check.state for name, check in checks.items() if name not in ("Java", "search engine")} == {"ok"}
    assert checks["extra web"].found.startswith("alembic")
    assert not Path(os.environ["DISCREET_STORE"]).exists()


def test_whether_searches_run_in_c_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for library, state in ((object(), "ok"), (None, "missing")):
        monkeypatch.setattr(native_engine, "library", lambda library=library: library)
        check = by_name(examine())["search engine"]
        assert (check.state, "C compiler" in check.remedy) == (state, library is None)


def test_every_extra_that_needs_something_is_looked_at() -> None:
    needed = requirements(importlib.metadata.requires("discreet") or [])
    assert {*PURPOSES} == {*needed} - {""}


def test_what_is_missing_is_said_with_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.metadata.version

    def version(name: str) -> str:
        if name == "fastapi":
            raise importlib.metadata.PackageNotFoundError(name)
        return "25.0" if name == "splink" else "1.0" if name == "sqlglot" else real(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    result = CliRunner().invoke(cli, ["doctor"])
    assert result.exit_code == 0
    assert "not installed: fastapi; too old: sqlglot 1.0 (for discreet serve)" in result.output
    assert "pip install 'discreet[web]'" in result.output
    assert "too old: sqlglot 1.0" in result.output


def test_a_core_that_lacks_something_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    result = CliRunner().invoke(cli, ["doctor", "--json"], standalone_mode=False)
    assert result.return_value == 1
    told = json.loads(result.output)
    assert told["sound"] is False
    assert [one["about"] for one in told["checks"] if one["state"] == "broken"] == ["core"]


def test_a_store_that_cannot_be_used_is_broken_and_not_touched(own_store: Path) -> None:
    sqlite3.connect(own_store).execute("CREATE TABLE somebody_elses (a)").connection.close()
    before = own_store.read_bytes()
    store = by_name(examine())["store"]
    assert (store.state, "another program" in store.found) == ("broken", True)
    assert own_store.read_bytes()[:18] + own_store.read_bytes()[20:24] == before[:18] + before[20:24]


def test_a_store_is_looked_at_and_not_brought_up_to_date(own_store: Path) -> None:
    from discreet.store import Store
    from discreet.store.connection import NEWEST

    Store.open(own_store).close()
    assert by_name(examine())["store"].found == f"SQLite, format {NEWEST}"


@pytest.mark.parametrize("words", [[], ["release", "make"], ["ledger"], *([verb] for verb in VERBS)])
def test_every_command_has_a_manual(words: list[str]) -> None:
    result = CliRunner().invoke(cli, ["help", *words])
    assert result.exit_code == 0
    for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "ENVIRONMENT"):
        assert f"\n{section}:\n" in result.output
    assert all(len(line) <= 130 for line in result.output.splitlines())


def test_the_manual_knows_the_exit_codes_of_the_program() -> None:
    kinds = [DiscreetError]
    for kind in kinds:
        kinds += kind.__subclasses__()
    assert {int(code) for code, _ in EXIT_CODES} == {0, 1, BUG, *(kind.exit_code for kind in kinds)}


def test_a_manual_that_is_not_there() -> None:
    for words in (["nonsense"], ["assess", "more"]):
        result = CliRunner().invoke(cli, ["help", *words], standalone_mode=False)
        assert isinstance(result.exception, UsageError)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_understood_by_the_shell(shell: str, tmp_path: Path) -> None:
    script = CliRunner().invoke(cli, ["completion", shell]).output
    assert "_DISCREET_COMPLETE" in script
    if shutil.which(shell):
        (tmp_path / "script").write_text(script, encoding="utf-8")
        subprocess.run([shell, "-n", str(tmp_path / "script")], check=True)


def test_commands_and_options_are_completed() -> None:
    def completed(line: str) -> list[str]:
        words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1), "_DISCREET_COMPLETE": "bash_complete"}
        done = subprocess.run(
            [sys.executable, "-m", "discreet"], env={**os.environ, **words}, capture_output=True, text=True, check=True
        )
        return [one.partition(",")[2] for one in done.stdout.split()]

    assert completed("discreet rel") == ["release"]
    assert "make" in completed("discreet release ")
    assert "--population" in completed("discreet assess --pop")


def test_every_package_of_an_extra_is_known_by_the_name_it_is_imported_by() -> None:
    """So that a command that lacks one says which extra, and is not taken for a bug."""
    names = importlib.metadata.packages_distributions()
    needed = requirements(importlib.metadata.requires("discreet") or [])
    wanted = {package.lower().replace("_", "-") for extra, ones in needed.items() if extra for package, _ in ones}
    imported = {
        name
        for name, owners in names.items()
        if name.isidentifier() and {owner.lower().replace("_", "-") for owner in owners} & wanted
    }
    assert not {name for name in imported if not name.startswith("_")} - {*PACKAGES} - {"multipart"}


def test_a_command_that_lacks_a_package_names_the_extra() -> None:
    hidden = "import sys; sys.modules['sqlalchemy'] = None; sys.argv = ['discreet', 'link', 'status']; import discreet.cli as cli; cli.main()"
    done = subprocess.run([sys.executable, "-c", hidden], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == "Error: discreet link needs the extra 'linkage', which is not installed."


def test_a_package_of_no_extra_is_a_bug() -> None:
    hidden = "import sys; sys.modules['discreet.sources'] = None; sys.argv = ['discreet', 'profile', 'x']; import discreet.cli as cli; cli.main()"
    assert subprocess.run([sys.executable, "-c", hidden], capture_output=True, check=False).returncode == BUG
