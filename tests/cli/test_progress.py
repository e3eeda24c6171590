"""Progress on a terminal: a line with an estimate there, nothing elsewhere, and Ctrl-C ends it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from discreet.cli.progress import ProgressLine

WORK = """
import sys, time, threading
from discreet.cli.output import working

class Data:
    began = time.monotonic()
    def progress(self):
        return min(1.0, (time.monotonic() - self.began) / 4)

with working("Counting people", Data() if sys.argv[1] == "known" else None):
    print("a result")
    time.sleep(2.5)
print("threads", threading.active_count())
"""
SECONDS = 60


def run_on_terminal(argument: str, *, until: str = "") -> tuple[int, str, str]:
    """Exit code, stdout and what a terminal shows of stderr; Ctrl-C once it shows `until`."""
    ours, theirs = os.openpty()
    settings = {**os.environ, "TERM": "xterm", "COLUMNS": "120", "PYTHONUNBUFFERED": "1"}
    running = subprocess.Popen(
        [sys.executable, "-c", WORK, argument], stdout=subprocess.PIPE, stderr=theirs, stdin=theirs, env=settings
    )
    os.close(theirs)
    shown, end = b"", time.monotonic() + SECONDS
    try:
        while time.monotonic() < end:
            try:
                shown += os.read(ours, 4096)
            except OSError:  # the other end is closed
                break
            if until and until in shown.decode(errors="replace"):
                running.send_signal(signal.SIGINT)
                until = ""
        said, _ = running.communicate(timeout=SECONDS)
    finally:
        running.kill()
        os.close(ours)
    return running.returncode, said.decode(), re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode(errors="replace"))


def test_the_share_and_the_time_left_are_shown() -> None:
    code, said, shown = run_on_terminal("known")
    assert (code, said) == (0, "a result\nthreads 1\n")
    assert re.search(r"Counting people .* \d+ % about [1-4] s left", shown), shown


def test_without_a_share_the_time_passed_is_shown() -> None:
    code, said, shown = run_on_terminal("unknown")
    assert (code, said) == (0, "a result\nthreads 1\n")
    assert re.search(r"Counting people \d+ s", shown), shown
    assert "%" not in shown
    assert "left" not in shown


def test_control_c_ends_the_work_and_the_line() -> None:
    began = time.monotonic()
    code, said, shown = run_on_terminal("known", until="Counting people")
    assert code == -signal.SIGINT
    assert said == "a result\n"
    assert shown.rstrip().endswith("KeyboardInterrupt")
    assert time.monotonic() - began < SECONDS


def test_nothing_is_shown_without_a_terminal() -> None:
    done = subprocess.run([sys.executable, "-c", WORK, "known"], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("a result\nthreads 1\n", "")


def test_a_command_on_a_terminal_prints_its_result_to_stdout_alone(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("sex,age\n" + "F,30\nM,40\n" * 20, encoding="utf-8")
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "discreet", "profile", "people.csv", "--json"]
    plain = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    shown: list[bytes] = []

    def drain() -> None:
        try:
            while part := os.read(ours, 4096):
                shown.append(part)
        except OSError:
            pass

    reader = threading.Thread(target=drain)
    reader.start()
    settings = {**os.environ, "TERM": "xterm"}
    live = subprocess.run(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=theirs, env=settings, check=True)
    os.close(theirs)
    reader.join(SECONDS)
    os.close(ours)
    assert live.stdout == plain.stdout
    assert b"Examining" in b"".join(shown)


class Clock:
    """Seconds that pass when they are asked to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def estimates(share: Callable[[float], float | None], seconds: int) -> list[tuple[float | None, float | None]]:
    clock = Clock()
    showing = ProgressLine("Reading", lambda: share(clock.now), clock=clock)
    found = []
    for tick in range(seconds * 5 + 1):
        clock.now = tick / 5
        found.append(showing.estimate())
    return found[::5]


def test_steady_work_is_estimated_to_the_second() -> None:
    for second, (share, left) in enumerate(estimates(lambda now: now / 20, 18)):
        if second >= 1:
            assert share == pytest.approx(second / 20)
            assert left == pytest.approx(20 - second)


def test_columns_of_ten_seconds_each_are_estimated_from_the_columns_before() -> None:
    found = estimates(lambda now: now // 10 / 10, 99)
    for second in range(11, 90):
        left = found[second][1]
        assert left is not None
        assert left == pytest.approx(100 - second)


def test_work_that_begins_again_is_other_work() -> None:
    found = estimates(lambda now: (now % 10) / 10, 14)
    assert found[9][1] == pytest.approx(1)
    assert found[10] == (None, None)
    assert found[12][1] == pytest.approx(8)


def test_work_that_takes_longer_than_estimated_has_no_estimate() -> None:
    found = estimates(lambda now: min(now, 9) / 10, 14)
    assert found[8][1] == pytest.approx(2)
    assert found[12] == (0.9, None)


def test_an_unknown_share_gives_no_estimate() -> None:
    assert set(estimates(lambda now: None, 5)) == {(None, None)}
    assert all(left is None for _, left in estimates(lambda now: 0.4, 5))
