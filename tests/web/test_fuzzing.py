"""The API against what its own description allows, and what it does not: schemathesis, 200 cases per operation.

pytest -m slow -s tests/web/test_fuzzing.py
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from discreet.web.framework.permissions import GRANTED
from tests.web.loopback import serving
from tests.web.test_matrix import make_token

CASES = 200
MOSTLY = 150
"""Cases to expect on average: an operation without parameters has no 200 different ones."""
CHECKS = "not_a_server_error,negative_data_rejection,response_schema_conformance,content_type_conformance"
REFUSALS = """\
[checks.negative_data_rejection]
expected-statuses = ["400", "401", "403", "404", "405", "406", "409", "413", "415", "422", "428", "429"]
"""
"""What a refusal may look like: as schemathesis has it, and 413 for what is too large to be read at all."""
SCHEMATHESIS = str(Path(sys.executable).parent / "schemathesis")


@pytest.fixture
def running(tmp_path: Path) -> Iterator[tuple[str, FastAPI]]:
    """A real server on loopback."""
    with serving(tmp_path) as (app, origin):
        yield origin, app


@pytest.mark.slow
@pytest.mark.parametrize("part", ["--exclude-path-regex", "--include-path-regex"])
def test_the_api_never_breaks_and_accepts_no_nonsense(running: tuple[str, FastAPI], tmp_path: Path, part: str) -> None:
    """Revoking tokens comes apart from the rest, since it ends the token that it is done with."""
    origin, app = running
    token = make_token(app, "custodian", *GRANTED["custodian"])
    described = f"{origin}/api/v1/openapi.json"
    headers = {"Authorization": f"Bearer {token}"}
    paths = httpx.get(described, headers=headers).json()["paths"]
    operations = sum(len(methods) for path, methods in paths.items() if ("revoke" in path) == ("include" in part))
    options = ["--max-examples", str(CASES), "--checks", CHECKS, "--mode", "all", "--seed", "1", part, "revoke"]
    (tmp_path / "schemathesis.toml").write_text(REFUSALS, encoding="utf-8")
    done = subprocess.run(
        [
            SCHEMATHESIS,
            "run",
            described,
            "-H",
            f"Authorization: Bearer {token}",
            *options,
            "--report-dir",
            str(tmp_path),
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    found = re.search(r"(\d+) generated", done.stdout)
    assert found is not None, done.stdout + done.stderr
    assert int(found[1]) >= operations * MOSTLY, found[0]
    assert done.returncode == 0, done.stdout[-6000:]
