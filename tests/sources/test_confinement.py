"""Connections of a confined process reach the folders that they need, and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROBE = """
import json, sys
from pathlib import Path
import duckdb
from discreet import assess
from discreet.policy import Policy
from discreet.sources.duckdb_scratch import confine, connect, connect_file
inside, outside, new = map(Path, sys.argv[1:])
confine([inside], memory=300 << 20)
found = {}
for name, connection in {"memory": connect(), "file": connect_file(new)}.items():
    said = found[name] = {"limit": connection.execute("SELECT current_setting('memory_limit')").fetchone()[0]}
    for what, statement in {
        "inside": f"SELECT count(*) FROM '{inside}/a.csv'",
        "outside": f"SELECT count(*) FROM '{outside}/b.csv'",
        "around": f"SELECT count(*) FROM '{inside}/../{outside.name}/b.csv'",
        "link": f"SELECT count(*) FROM '{inside}/link.csv'",
        "write": f"COPY (SELECT 1) TO '{outside}/c.csv'",
        "attach": f"ATTACH '{outside}/d.db'",
        "network": "SELECT count(*) FROM 'http://127.0.0.1:9/a.csv'",
        "extension": "INSTALL httpfs",
        "undo": "SET enable_external_access = true",
        "widen": f"SET allowed_directories = ['{outside}']",
    }.items():
        try:
            connection.execute(statement).fetchall()
            said[what] = True
        except duckdb.Error:
            said[what] = False
policy = Policy.parse('[columns.a]\\nrole = "quasi"\\n[columns.b]\\nrole = "other"\\n')
found["k"] = assess(str(inside / "a.csv"), policy=policy).k
print(json.dumps(found))
"""


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """One folder that is allowed, and one that is not; neither is the temporary one."""
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    for folder, name in ((inside, "a.csv"), (outside, "b.csv")):
        folder.mkdir()
        (folder / name).write_text("a,b\n1,2\n1,3\n", encoding="utf-8")
    (inside / "link.csv").symlink_to(outside / "b.csv")
    (tmp_path / "temporary").mkdir()
    return inside, outside


def test_only_allowed_folders_no_network_no_extension_and_no_way_back(
    folders: tuple[Path, Path], tmp_path: Path
) -> None:
    inside, outside = folders
    command = [sys.executable, "-c", PROBE, str(inside), str(outside), str(inside / "new.db")]
    env = {"PATH": "/usr/bin:/bin", "TMPDIR": str(tmp_path / "temporary"), "HOME": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env, timeout=60)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["k"] == 2, "tables in an allowed folder are measured as ever"
    for name in ("memory", "file"):
        assert found[name].pop("limit") == "300.0 MiB"
        assert [what for what, done in found[name].items() if done] == ["inside"], name
