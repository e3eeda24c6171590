"""What it costs to begin: `import discreet`, the help and the version, against importing what others begin with.

Run with: python -m benchmarks.importing. Which module takes its time: python -X importtime -m discreet --help
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time

from benchmarks.measure import Cost, show

BASE = "python that does nothing"
JOBS = {
    BASE: ["-c", "pass"],
    "import discreet": ["-c", "import discreet"],
    "discreet --version": ["-m", "discreet", "--version"],
    "discreet --help": ["-m", "discreet", "--help"],
    "discreet assess --help": ["-m", "discreet", "assess", "--help"],
    "discreet doctor": ["-m", "discreet", "doctor"],
    "import click": ["-c", "import click"],
    "import numpy, duckdb": ["-c", "import numpy, duckdb"],
    "import pandas": ["-c", "import pandas"],
}
TIMES = 7


def main() -> None:
    """Each in a process of its own, in turns, best of several."""
    found: dict[str, list[Cost]] = {name: [] for name in JOBS}
    for _ in range(TIMES):
        for name, words in JOBS.items():
            found[name].append(_cost(words))
    rows = [(name, min(costs, key=lambda cost: cost.cpu)) for name, costs in found.items()]
    show(rows, base="import numpy, duckdb")
    nothing = dict(rows)[BASE].cpu
    beyond = {name: cost.cpu - nothing for name, cost in rows}
    print(
        f"beyond Python itself: import discreet {1000 * beyond['import discreet']:.0f} ms, help {1000 * beyond['discreet --help']:.0f} ms, "
        f"numpy and duckdb {1000 * beyond['import numpy, duckdb']:.0f} ms, pandas {1000 * beyond['import pandas']:.0f} ms"
    )


def _cost(words: list[str]) -> Cost:
    before, wall = _children(), time.perf_counter()
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run(
        [sys.executable, *words], check=True, env={**os.environ, "DISCREET_STORE": os.devnull + ".db"}, **quiet
    )
    return Cost(_children() - before, time.perf_counter() - wall, 0.0, None)


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
