"""Extra demo: the whole story, with its database server and its last report."""

from __future__ import annotations

from pathlib import Path

from calling import call

told = call("demo", "--out", "demo", timeout=600).stdout
assert "Refused: " in told
assert "of the 8 statements tried here give no" in told
assert "pip install" not in told, told
assert all(Path("demo", name).stat().st_size > 20_000 for name in ("report.html", "attack.html", "project.html"))
