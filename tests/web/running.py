"""`discreet serve` as people start it: a process of its own on a port of loopback that was free."""

from __future__ import annotations

import os
import re
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field

from tests.swift import SHIM

SECONDS = 60


@dataclass
class Running:
    """A server that runs; what it says is kept."""

    process: subprocess.Popen[str]
    said: list[str] = field(default_factory=list)

    def wait_for(self, pattern: str) -> str:
        """The first group of the first line that fits."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            for line in list(self.said):
                if found := re.search(pattern, line):
                    return found[1]
            if self.process.poll() is not None:
                break
            time.sleep(0.02)
        raise AssertionError(f"the server did not say {pattern!r} but: {''.join(self.said)}")

    @property
    def origin(self) -> str:
        """Where it listens."""
        return self.wait_for(r"runs at (http://\S+)")

    def listen(self) -> None:
        """Keep what it says."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said.append(line)


@contextmanager
def started(command: list[str], env: Mapping[str, str] | None = None) -> Iterator[Running]:
    """Run a command until the end of the block."""
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, **(env or {})})
    running = Running(process)
    listener = threading.Thread(target=running.listen, daemon=True)
    listener.start()
    try:
        yield running
    finally:
        process.terminate()
        process.wait(20)
        listener.join(5)
        if process.stderr is not None:
            process.stderr.close()


def discreet_serve(
    *options: str, env: Mapping[str, str] | None = None, program: str = SHIM
) -> AbstractContextManager[Running]:
    """Serve until the end of the block; with `REAL` where a test kills the process or looks at it."""
    return started([program, "serve", "--port", "0", *options], env)
