"""How long one row takes, for one session and for fifty: python -m benchmarks.gateway_latency

pgbench asks directly (Unix socket), through pgbouncer, through a gateway that governs nobody, and through one that governs, in
turn and in the same run, for a row of a table that is not governed (allowed) and for one that is (answered; seen
before). Printed are the median and the 99th percentile of all transactions, and what each way adds to a direct connection.
"""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack
from pathlib import Path

from benchmarks.gateway import bouncer, port_of, started
from benchmarks.gateway_scoring import ONE, OTHER, benched, governed, server

WARMING, SECONDS = 1, 2
KINDS = {"allowed": OTHER, "answered": ONE.replace("200", "50")}  # few enough to have been seen after the first second


def percentiles(folder: Path) -> tuple[float, float]:
    """The median and the 99th percentile of the latencies that pgbench has logged, in microseconds."""
    times = sorted(int(line.split()[2]) for log in folder.glob("log.*") for line in log.open(encoding="ascii"))
    for log in folder.glob("log.*"):
        log.unlink()
    return times[len(times) // 2], times[len(times) * 99 // 100]


def measured(places: dict[str, tuple[int | str, str]], folder: Path, *, kind: str, sessions: int) -> None:
    """One kind of row by each way: first a second in which everything is asked for once, then what counts."""
    script = folder / f"{kind}.sql"
    script.write_text(KINDS[kind], encoding="utf-8")
    found: dict[str, tuple[float, float]] = {}
    words = ["-M", "prepared", "-f", str(script), "-c", str(sessions), "-l", f"--log-prefix={folder / 'log'}"]
    for seconds in (WARMING, SECONDS):
        for name, (port, user) in places.items():
            benched(port, [*words, "-T", str(seconds)], user)
            found[name] = percentiles(folder)
            if name == "pgbouncer" and sessions > 1:
                time.sleep(2)  # until it has let its connections to the server go
    floor = found["directly"]
    for name, (median, late) in found.items():
        added = f"{median - floor[0]:+7.0f} {late - floor[1]:+7.0f}"
        print(
            f"one row, {kind:8}, {sessions:2} sessions, {name:12} p50 {median:7.0f} us  p99 {late:7.0f} us  added {added}",
            flush=True,
        )


def main() -> None:
    """All figures."""
    with ExitStack() as stack:
        folder, url = server(stack)
        direct = url.partition("host=")[2]
        port, _ = stack.enter_context(governed(folder, url))
        log = folder / "open.log"
        stack.enter_context(
            started([sys.executable, "-m", "benchmarks.gateway", "gateway", url, "open", "usual"], log=log)
        )
        places: dict[str, tuple[int | str, str]] = {"directly": (direct, "analyst")}
        if found := bouncer(stack, folder, direct):
            places["pgbouncer"] = (found[0], "postgres")
        places |= {"not governed": (port_of(log), "postgres"), "governed": (port, "analyst")}
        for sessions in (1, 50):
            for kind in KINDS:
                measured(places, folder, kind=kind, sessions=sessions)


if __name__ == "__main__":
    main()
