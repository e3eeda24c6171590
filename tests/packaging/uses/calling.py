"""Calling the installed command `discreet`, as a person would, and starting what keeps running."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROGRAM = str(Path(sys.executable).with_name("discreet"))


def call(*words: str, code: int = 0, timeout: float = 300) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; another exit code than the expected one is an error."""
    done = subprocess.run(
        [PROGRAM, *words], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=timeout
    )
    assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout[-500:]}\n{done.stderr[-2000:]}"
    assert "Traceback" not in done.stderr, words
    return done


def people(folder: str = "people") -> Path:
    """A small made-up state, a hospital and its policy."""
    call("demo-data", "--people", "20000", "--seed", "1", "--out", folder)
    return Path(folder)


@contextmanager
def started(*words: str, says: str) -> Iterator[str]:
    """A command that keeps running; gives what the pattern `says` finds in what it tells on stderr."""
    with subprocess.Popen([PROGRAM, *words], stderr=subprocess.PIPE, text=True) as running:
        try:
            assert running.stderr is not None
            told = []
            for line in running.stderr:
                told.append(line)
                if found := re.search(says, line):
                    yield found[1]
                    break
            else:
                raise AssertionError("".join(told))
        finally:
            running.terminate()
            _, rest = running.communicate(timeout=60)
    assert running.returncode in (0, -15), f"{running.returncode}: {rest[-2000:]}"
