"""Extra demo: the whole story, with its database server and its last report."""

from __future__ import annotations

from pathlib import Path

from calling import call

told = call("demo", "--people", "100000", "--out", "demo", timeout=600).stdout
assert "Refused: " in told
assert "ways tell her nothing" in told
assert Path("demo/project.html").stat().st_size > 50_000
