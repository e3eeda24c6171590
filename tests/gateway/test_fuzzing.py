"""Bytes that nobody would send: whatever reads them ends in order."""

from __future__ import annotations

import base64
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.gateway.fuzzing import TARGETS, one_input

SECONDS = 120


@pytest.mark.parametrize("target", range(len(TARGETS)), ids=[target.__name__ for target in TARGETS])
@settings(deadline=None, max_examples=examples(150))
@given(st.binary(max_size=300))
def test_nothing_is_raised_but_what_is_defined(target: int, data: bytes) -> None:
    one_input(bytes([target]) + data)


FOUND = {
    "rows, then a copy": "qAEBAQQAJ251bQFiZXIBAA==",
    "a copy of half a column": "AEA9AAtAC1paWlpaWnF1b3RlZFpaQEhAPQALQECbmpyTYXJlQD0LLypYWigw",
    "a tree that no statement has": "eyUBAVVVVVVVVVVVVVVVVf//VVVVVVVVVVV6VVUuLuEu",
    "CSV that does not end": "BQEAASI=",
}
"""What was found once, and mended."""


@pytest.mark.parametrize("name", FOUND)
def test_what_was_found(name: str) -> None:
    one_input(base64.b64decode(FOUND[name]))


@pytest.mark.slow
def test_with_coverage(tmp_path: Path) -> None:
    if importlib.util.find_spec("atheris") is None:
        pytest.skip("atheris is not installed; `pip install atheris` lets libFuzzer look for bytes by coverage")
    options = [
        f"-max_total_time={SECONDS}",
        "-timeout=10",
        "-rss_limit_mb=2048",
        "-max_len=600",
        "-print_final_stats=1",
    ]
    command = [
        sys.executable,
        "-m",
        "tests.gateway.libfuzzer",
        *options,
        f"-artifact_prefix={tmp_path}/",
        str(tmp_path),
    ]
    paths = os.pathsep.join(part for part in sys.path if part)
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": paths},
        timeout=SECONDS + 300,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
