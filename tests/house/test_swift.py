"""Commands that tests start from a waiting process end, die and are killed as if they were started anew."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.swift import PYTHON, REAL, SHIM

pytestmark = pytest.mark.usefixtures("swift")
SLEEPING = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"


def python(*words: str, **options: str) -> tuple[int, str, str]:
    done = subprocess.run([PYTHON, *words], capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]
    return done.returncode, done.stdout, done.stderr


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_it_ends_as_the_code_does() -> None:
    assert python("-c", "import sys; print(sys.argv); sys.exit(7)", "a") == (7, "['-c', 'a']\n", "")
    assert python("-", input="print(2 + 2)") == (0, "4\n", "")
    code, _, said = python("-c", "raise ValueError('no')")
    assert (code, said.splitlines()[-1]) == (1, "ValueError: no")
    assert python("-c", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")[0] == -signal.SIGKILL


def test_what_it_does_not_know_fails(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("print(1)", encoding="utf-8")
    assert python(str(tmp_path / "script.py"))[0] == 1


def test_it_is_the_command() -> None:
    version = [
        subprocess.run([one, "--version"], capture_output=True, text=True, check=True).stdout for one in (SHIM, REAL)
    ]
    assert version[0] == version[1]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_killed_caller_takes_the_process_with_it(number: signal.Signals) -> None:
    with subprocess.Popen([PYTHON, "-c", SLEEPING], stdout=subprocess.PIPE, text=True) as caller:
        assert caller.stdout is not None
        child = int(caller.stdout.readline())
        assert child != caller.pid
        caller.send_signal(number)
        assert caller.wait(10) == -number
    end = time.monotonic() + 10
    while alive(child):
        assert time.monotonic() < end
        time.sleep(0.01)
