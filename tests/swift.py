"""The command `discreet` for tests that call it hundreds of times: the same `main()`, without importing all of it anew.

A process that has imported the command line waits at a socket and forks for each call; the child gets the caller's
arguments, folder, environment and file descriptors. `SHIM` is a command that hands them over. Where no such process
runs, it is the installed command. Tests of signals, terminals, locales and start-up call `REAL`.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

REAL = str(Path(sys.executable).parent / "discreet")
PLACE = Path(tempfile.mkdtemp(prefix="discreet-swift-") if __name__ != "__main__" else "")
SHIM, SOCKET = str(PLACE / "discreet"), str(PLACE / "socket")
ROOMS = (
    "duckdb",
    "pyarrow.parquet",
    "splink",
    "discreet.ledger",
    "discreet.linkage",
    "discreet.releases",
    "discreet.report",
)
"""What commands import when they need it."""
HAND_OVER = f"""#!{sys.executable} -ISE
import json, os, socket, sys
place = socket.socket(socket.AF_UNIX)
try:
    place.connect({SOCKET!r})
except OSError:
    os.execv({REAL!r}, [{REAL!r}, *sys.argv[1:]])
told = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
socket.send_fds(place, [len(told).to_bytes(8, "big")], [0, 1, 2])
place.sendall(told)
ended = place.recv(1)
sys.exit(ended[0] if ended else 70)
"""


def _write_shim() -> None:
    Path(SHIM).write_text(HAND_OVER, encoding="utf-8")
    Path(SHIM).chmod(0o755)
    atexit.register(shutil.rmtree, PLACE, ignore_errors=True)


@contextmanager
def waiting() -> Iterator[None]:
    """While the process waits; it ends with the one that started it."""
    own = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # threads would not survive a fork
    command = [sys.executable, "-m", "tests.swift", SOCKET]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=own, cwd=Path(__file__).parents[1]
    ) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == b"ready\n"
        yield
        server.terminate()


def serve(place: str) -> None:
    """Fork for every call, until whoever started this is gone."""
    import importlib

    from discreet.cli.main import VERBS, cli

    for name in ROOMS:
        importlib.import_module(name)
    import click

    for verb in VERBS:
        cli.get_command(click.Context(cli), verb)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(place)
        listener.listen(16)
        print("ready", flush=True)  # noqa: T201 - whoever started it waits for this
        while True:
            ready, _, _ = select.select([listener, 0], [], [])
            if 0 in ready:
                return
            caller, _ = listener.accept()
            if os.fork() == 0:
                _answer(caller)
            caller.close()


def _answer(caller: socket.socket) -> NoReturn:
    """Run what is asked for in a process of its own, and tell how it ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    size, descriptors, _, _ = socket.recv_fds(caller, 8, 3)
    told = b""
    while len(told) < int.from_bytes(size, "big"):
        told += caller.recv(1 << 20)
    child = os.fork()
    if child == 0:
        caller.close()
        _run(descriptors, *json.loads(told))
    for descriptor in descriptors:
        os.close(descriptor)
    _, status = os.waitpid(child, 0)
    with contextlib.suppress(OSError):
        caller.send(bytes([os.waitstatus_to_exitcode(status) % 256]))
    os._exit(0)


def _run(descriptors: list[int], words: list[str], folder: str, environment: dict[str, str]) -> NoReturn:
    from discreet.cli import main

    for place, descriptor in enumerate(descriptors):
        os.dup2(descriptor, place)
        os.close(descriptor)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    sys.argv = ["discreet", *words]
    sys.stdin, sys.stdout = open(0, encoding="utf-8"), open(1, "w", encoding="utf-8")  # noqa: SIM115 - as in any process
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1)  # noqa: SIM115
    code = 70
    try:
        main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.flush()
    atexit._run_exitfuncs()
    os._exit(code)


if __name__ == "__main__":
    serve(sys.argv[1])
else:
    _write_shim()
