"""Reports are imported when they are asked for: a command loads its own, and `--json` none."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

POLICY = '[columns.sex]\nrole = "quasi"\n[columns.age]\nrole = "quasi"\n'
MOST = 90
"""Modules of the package that `discreet assess --json` may load."""
SCRIPT = """
import contextlib, io, json, sys
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    exec(sys.argv.pop(1))
print(json.dumps(sorted(name for name in sys.modules if name.split(".")[0] == "discreet")))
"""


def loaded(code: str, *words: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", SCRIPT, code, *words], capture_output=True, text=True, check=True)
    modules: list[str] = json.loads(done.stdout)
    return modules


def assessed(folder: Path, *options: str) -> list[str]:
    (folder / "people.csv").write_text("sex,age\nF,1\nM,2\n", encoding="utf-8")
    (folder / "policy.toml").write_text(POLICY, encoding="utf-8")
    words = ["assess", str(folder / "people.csv"), "--policy", str(folder / "policy.toml"), *options]
    return loaded("from discreet.cli import main; main()", *words)


def test_the_room_itself_loads_no_report() -> None:
    assert [name for name in loaded("import discreet.report") if name.startswith("discreet.report")] == [
        "discreet.report"
    ]


def test_json_needs_no_report(tmp_path: Path) -> None:
    modules = assessed(tmp_path, "--json")
    assert "discreet.risk" in modules
    assert not [name for name in modules if name.startswith("discreet.report.")]
    assert len(modules) <= MOST


def test_words_need_their_own_report_only(tmp_path: Path) -> None:
    modules = assessed(tmp_path)
    assert "discreet.report.assessment_findings" in modules
    others = ("releases", "linkage", "misuse", "anonymity", "attacker", "report.anonymisation", "report.project")
    assert not [name for name in modules if name.startswith(tuple(f"discreet.{room}" for room in others))]
