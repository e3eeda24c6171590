"""The command `discreet`, and `python`, for tests that call them hundreds of times: without importing all of it anew.

A process that has imported the rooms waits at a socket and forks for each call; the child gets the caller's
arguments, folder, environment and file descriptors. `SHIM` and `PYTHON` are commands that hand them over, pass signals
on, and end as the child ends; the child dies with them. Where no such process runs, they are the installed ones.
Tests of terminals, locales, crashes and start-up call `REAL` and `sys.executable`.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import runpy
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import types
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

REAL = str(Path(sys.executable).parent / "discreet")
PLACE = Path(tempfile.mkdtemp(prefix="discreet-swift-") if __name__ != "__main__" else sys.argv[1]).resolve()
SHIM, PYTHON, SOCKET = str(PLACE / "discreet"), str(PLACE / "python"), str(PLACE / "socket")
ROOMS = (
    "duckdb",
    "pyarrow.parquet",
    "splink",
    "discreet.ledger",
    "discreet.linkage",
    "discreet.releases",
    "discreet.report",
    "discreet.web.framework.app",
    "discreet.web.jobs.process",
    "discreet.web.jobs.disclosure_work",
)
"""What commands import when they need it."""
HAND_OVER = """#!{python} -ISE
import json, os, signal, socket, sys
place = socket.socket(socket.AF_UNIX)
try:
    place.connect({socket!r})
except OSError:
    os.execv({real!r}, [{real!r}, *sys.argv[1:]])
told = json.dumps([{name!r}, sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, lambda number, _: place.send(bytes([number])))
socket.send_fds(place, [len(told).to_bytes(8, "big")], [0, 1, 2])
place.sendall(told)
kind, *number = place.recv(2) or (0, 70)
if kind:
    if number[0] != signal.SIGKILL:
        signal.signal(number[0], signal.SIG_DFL)
    os.kill(os.getpid(), number[0])
sys.exit(number[0])
"""


def _write_shims() -> None:
    for shim, real in ((SHIM, REAL), (PYTHON, sys.executable)):
        words = HAND_OVER.format(python=sys.executable, socket=SOCKET, real=real, name=Path(shim).name)
        Path(shim).write_text(words, encoding="utf-8")
        Path(shim).chmod(0o755)
    atexit.register(shutil.rmtree, PLACE, ignore_errors=True)


@contextmanager
def waiting() -> Iterator[None]:
    """While the process waits; it ends with the one that started it."""
    own = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # threads would not survive a fork
    command = [sys.executable, "-m", "tests.swift", str(PLACE)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=own, cwd=Path(__file__).parents[1]
    ) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == b"ready\n"
        yield
        server.terminate()


def serve() -> None:
    """Fork for every call, until whoever started this is gone."""
    import importlib

    from discreet.cli.main import VERBS, cli

    for name in ROOMS:
        importlib.import_module(name)
    _remember_migrations()
    import click

    for verb in VERBS:
        cli.get_command(click.Context(cli), verb)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(SOCKET)
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


def _remember_migrations() -> None:
    """New stores cost little; see tests/quickly.py."""
    from discreet.store import Store, connection
    from tests.quickly import recorded

    connection.migrate = recorded(connection.migrate)
    Store.open(PLACE / "store.db").close()


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
    threading.Thread(target=_pass_signals_on, args=(caller, child), daemon=True).start()
    _, status = os.waitpid(child, 0)
    with contextlib.suppress(OSError):
        caller.send(bytes([os.WIFSIGNALED(status), status & 0x7F or os.waitstatus_to_exitcode(status)]))
    os._exit(0)


def _pass_signals_on(caller: socket.socket, child: int) -> None:
    """To a process whose caller may be killed: then it is, too."""
    with contextlib.suppress(OSError):
        while number := caller.recv(1):
            os.kill(child, number[0])
        os.kill(child, signal.SIGKILL)


def _run(descriptors: list[int], program: str, words: list[str], folder: str, environment: dict[str, str]) -> NoReturn:
    for place, descriptor in enumerate(descriptors):
        os.dup2(descriptor, place)
        os.close(descriptor)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    sys.stdin, sys.stdout = open(0, encoding="utf-8"), open(1, "w", encoding="utf-8")  # noqa: SIM115 - as in any process
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1)  # noqa: SIM115
    code = 70
    try:
        _discreet(words) if program == "discreet" else _python(words)
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
        code = 1
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.flush()
    atexit._run_exitfuncs()
    os._exit(code)


def _discreet(words: list[str]) -> None:
    from discreet.cli import main

    sys.argv = ["discreet", *words]
    main()


def _python(words: list[str]) -> None:
    """`-m module`, `-c code` or `-`, as the interpreter takes them."""
    kind, *rest = words or ["-"]
    if kind == "-m":
        sys.path.insert(0, str(Path.cwd()))
        sys.argv = rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
        return
    if kind not in ("-c", "-"):
        sys.exit(f"tests/swift.py does not know what python makes of {kind}")
    sys.path.insert(0, "")
    code, sys.argv = (rest[0], ["-c", *rest[1:]]) if kind == "-c" else (sys.stdin.read(), words)
    own = sys.modules["__main__"] = types.ModuleType("__main__")
    exec(compile(code, "<stdin>", "exec"), own.__dict__)  # noqa: S102 - that is what it is for


if __name__ == "__main__":
    serve()
else:
    _write_shims()
