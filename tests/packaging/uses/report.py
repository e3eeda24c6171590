"""Extra report: a whole project in one file."""

from __future__ import annotations

from pathlib import Path

from calling import call, people

place = people()
call("report", "init", f"{place}/hospital.csv", "--policy", f"{place}/policy.toml", "--out", "project.toml")
call("report", "project.toml", "--out", "project.html", code=1)
assert "<script" not in Path("project.html").read_text(encoding="utf-8")
