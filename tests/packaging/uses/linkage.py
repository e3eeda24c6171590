"""Extra linkage: pairs among generated people, nearly all of them true, and some for a reviewer."""

from __future__ import annotations

import json
from pathlib import Path

from calling import call

call("demo-data", "--linkage", "--people", "1000", "--out", "links")
call("link", "init", "links/first.csv", "links/second.csv", "--spec", "links/link.toml", "--out", "project")
true = Path("links/truth.csv").read_text(encoding="utf-8").count(",1,")
found = json.loads(call("link", "pairs", "project", "--review", "40", "--chart", "pairs.html", "--json").stdout)
assert 0.8 * true < found["decisions"]["same"] <= 1.05 * true, (true, found["decisions"])
assert 0 < found["decisions"]["people"] <= 40
call("link", "assign", "project", "--worker", "ann", "--risk", "0.5", "--characters", "0.5")
assert "project" in call("link", "status").stdout
