"""Measuring on a shared machine: CPU seconds rather than wall time, best of several, each candidate on its own."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

DATA = Path(__file__).parent / "data"
SHARED = Path(os.environ.get("DISCREET_TABLES") or Path(__file__).parents[2] / "shared" / "data").resolve()
"""Where tables lie that are not part of the project; DISCREET_TABLES names another folder. It has `adult/adult.csv` with a
header, separated by semicolons, and for each column `adult/adult_hierarchy_COLUMN.csv` without one."""


@dataclass(frozen=True)
class Cost:
    """What a job took."""

    cpu: float
    wall: float
    peak_mb: float
    answer: object


def run_parts(parts: Mapping[str, Callable[[], object]], names: Sequence[str] | None) -> None:
    """Run the named parts of a benchmark, or all."""
    for name in names or list(parts):
        print(f"-- {name}", flush=True)
        parts[name]()


def cpu_seconds() -> float:
    """CPU time of this process and of the children it has waited for."""
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def best_of(job: Callable[[], object], times: int) -> Cost:
    """The cheapest of several runs in this process; the peak is that of the whole process."""
    costs = [_once(job) for _ in range(times)]
    return min(costs, key=lambda cost: cost.cpu)


def _once(job: Callable[[], object]) -> Cost:
    wall, cpu = time.perf_counter(), cpu_seconds()
    answer = job()
    used, passed = cpu_seconds() - cpu, time.perf_counter() - wall
    return Cost(used, passed, _peak_mb(), answer)


def _peak_mb() -> float:
    """The most memory this process has held; unlike ru_maxrss it does not start at the size of its parent."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def alone(module: str, *words: str, python: str = sys.executable) -> Cost:
    """Run a module in a process of its own; it prints its cost as JSON on its last line."""
    done = subprocess.run([python, "-m", module, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{module} {' '.join(words)} failed:\n{done.stderr[-2000:]}")
    return Cost(**json.loads(done.stdout.splitlines()[-1]))


def report(cost: Cost) -> None:
    """Print a cost for `alone` to read."""
    print(json.dumps(cost.__dict__))


def show(rows: Sequence[tuple[str, Cost]], *, base: str) -> None:
    """A table of costs with the ratio of CPU to the row named `base`."""
    floor = dict(rows)[base].cpu
    print(f"{'':44}{'CPU s':>9}{'wall s':>9}{'peak MB':>9}{'CPU ratio':>11}")
    for name, cost in rows:
        print(f"{name:44}{cost.cpu:9.3f}{cost.wall:9.3f}{cost.peak_mb:9.0f}{cost.cpu / floor:10.2f}x")
