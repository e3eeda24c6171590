"""What a gateway holds in memory while 10,000,000 rows stream through it: python -m benchmarks.gateway_streaming

A user who is not governed (bytes are passed on), a governed one who reads a table that is not (messages are followed), and one who
reads a governed table (the answer is refused at the bound of `--held`). Beside them pgbouncer, and how long a direct connection takes.
"""

from __future__ import annotations

import socket
import struct
import sys
import time
from contextlib import ExitStack
from pathlib import Path

from benchmarks.gateway import bouncer, cpu, port_of, started
from benchmarks.gateway_scoring import governed, resident, server

ROWS = 10_000_000
FREE = "SELECT a.aid, g FROM pgbench_accounts a, generate_series(1, 100) g"
HELD = "SELECT p.id, p.diagnosis FROM people p, generate_series(1, 100) g"
READY = b"Z\x00\x00\x00\x05I"
BOUND = 64


def stream(where: int | str, user: str, text: str) -> tuple[int, bytes]:
    """How many bytes came to a client that throws them away, and the last of them."""
    family, address = (
        (socket.AF_UNIX, f"{where}/.s.PGSQL.5432") if isinstance(where, str) else (socket.AF_INET, ("127.0.0.1", where))
    )
    with socket.socket(family) as client:
        client.connect(address)
        words = f"user\0{user}\0database\0postgres\0\0".encode()
        client.sendall(struct.pack("!ii", len(words) + 8, 196_608) + words)
        _until_ready(client)
        asked = text.encode() + b"\0"
        client.sendall(b"Q" + struct.pack("!i", len(asked) + 4) + asked)
        return _until_ready(client)


def _until_ready(client: socket.socket) -> tuple[int, bytes]:
    room, number, last = bytearray(1 << 20), 0, b""
    while not last.endswith(READY):
        size = client.recv_into(room)
        if not size:
            raise SystemExit("the connection was closed")
        number += size
        last = (last + bytes(room[max(0, size - 500) : size]))[-500:]
    return number, last


def peak(pid: int) -> float:
    """The most MiB that a process has held since it was last asked to forget."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def show(name: str, where: int | str, user: str, text: str, pid: int | None = None) -> None:
    """Stream once, and say what it took."""
    before, used = (resident(pid), cpu(pid)) if pid else (0.0, 0.0)
    if pid:
        Path(f"/proc/{pid}/clear_refs").write_text("5", encoding="ascii")  # the peak begins anew
    begin = time.perf_counter()
    number, last = stream(where, user, text)
    passed = time.perf_counter() - begin
    what = "refused" if b"54000" in last else f"{number / 2**20:.0f} MiB"
    memory = f"  memory {before:5.0f} MiB before, {peak(pid):5.0f} at most, CPU {cpu(pid) - used:5.2f} s" if pid else ""
    print(f"{ROWS} rows, {name:40} {what:>8} in {passed:5.1f} s{memory}", flush=True)


def main() -> None:
    """All figures."""
    with ExitStack() as stack:
        folder, url = server(stack)
        direct = url.partition("host=")[2]
        port, pid = stack.enter_context(governed(folder, url, held=BOUND))
        log = folder / "open.log"
        words = [sys.executable, "-m", "benchmarks.gateway", "gateway", url, "open", "usual"]
        opened = stack.enter_context(started(words, log=log))
        show("directly", direct, "analyst", FREE)
        if found := bouncer(stack, folder, direct):
            show("pgbouncer", found[0], "postgres", FREE, found[1])
        show("not governed", port_of(log), "postgres", FREE, opened.pid)
        show("governed, a table that is not", port, "analyst", FREE, pid)
        show(f"governed, an answer of up to {BOUND} MiB", port, "analyst", HELD, pid)


if __name__ == "__main__":
    main()
