"""No readable copy of people's records outlives its process, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from discreet.sources.duckdb_scratch import LOCK, PREFIX

READS = """
import os, sys, signal, discreet
from discreet.sources.duckdb_scratch import spill_folder
table = discreet.read(sys.argv[1])
assert table.classes(["beruf"]).records == 40
os.makedirs(spill_folder())
if sys.argv[2] == "wait":
    print("read", flush=True)
    sys.stdin.read()
else:
    os.kill(os.getpid(), getattr(signal, sys.argv[2]) if sys.argv[2] != "end" else 0)
"""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    file = tmp_path / "leute.csv"
    file.write_bytes(b"beruf\n" + "Bäcker\nKäserin\n".encode("cp1252") * 20)
    return file


def reading(data: Path, how: str, place: Path) -> subprocess.Popen[str]:
    """A process that reads a table of which it needs a copy, then ends as told."""
    return subprocess.Popen(
        [sys.executable, "-c", READS, str(data), how],
        env={**os.environ, "TMPDIR": str(place)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def copies(place: Path) -> list[Path]:
    return [file for file in place.rglob("*") if file.is_file() and "Bäcker" in file.read_text(encoding="utf-8")]


def test_what_a_killed_process_left_goes_with_the_next_one(data: Path, tmp_path: Path) -> None:
    place = tmp_path / "temporary"
    place.mkdir()
    with reading(data, "SIGKILL", place) as killed:
        assert killed.wait() == -signal.SIGKILL
    assert copies(place)  # or nothing is shown here
    (left,) = place.iterdir()
    assert left.stat().st_mode & 0o777 == 0o700
    with reading(data, "end", place) as ended:
        assert ended.wait() == 0
    assert list(place.iterdir()) == []


def test_what_a_running_process_needs_and_what_is_not_ours_stays(data: Path, tmp_path: Path) -> None:
    place, elsewhere = tmp_path / "temporary", tmp_path / "elsewhere"
    for folder, mode in ((place / f"{PREFIX}open", 0o755), (elsewhere, 0o700)):
        folder.mkdir(parents=True, mode=mode)
        (folder / LOCK).touch()
    (place / f"{PREFIX}link").symlink_to(elsewhere)
    with reading(data, "wait", place) as waiting:
        assert waiting.stdout is not None
        assert waiting.stdout.readline() == "read\n"
        with reading(data, "end", place) as ended:
            assert ended.wait() == 0
        assert copies(place)
        waiting.communicate()
    assert not copies(place)
    assert sorted(path.name for path in place.iterdir()) == [f"{PREFIX}link", f"{PREFIX}open"]
    assert (elsewhere / LOCK).exists()
