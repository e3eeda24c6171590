"""A demonstration that is stopped, by whichever signal and at whichever moment, leaves no folder and no process behind."""

from __future__ import annotations

import os
import re
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests.swift import REAL
from tests.web.running import Running, discreet_serve

MARK = "DISCREET_TEST_MARK"
OWN_PAGE = {"Sec-Fetch-Site": "same-origin"}
SECONDS = 60


def processes(mark: str) -> list[int]:
    """Those that were started with this mark in their environment, by whichever parent."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={mark}".encode() in (place / "environ").read_bytes():
                found.append(int(place.name))
        except OSError:
            continue  # ended, or another user's
    return found


def until(there: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not there():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def begins(running: Running, place: Path, mark: str) -> None:
    """The folder has just been made."""
    until(lambda: any(place.glob("discreet-demo-*")))


def prepares(running: Running, place: Path, mark: str) -> None:
    """People are being generated, in a further folder."""
    running.wait_for(r"(Preparing)")
    until(lambda: len(list(place.glob("discreet-demo-*"))) == 2)


def runs(running: Running, place: Path, mark: str) -> None:
    """A job has a process of its own."""
    password = running.wait_for(r"sign in as custodian\s+password (\S+)")
    with httpx.Client(base_url=running.origin, headers=OWN_PAGE, trust_env=False) as client:
        answer = client.post("/sign-in", data={"name": "custodian", "password": password})
        client.headers["Cookie"] = answer.headers["set-cookie"].partition(";")[0]
        number = re.search(r'href="(/datasets/\d+)">hospital', client.get("/datasets").text)
        assert number is not None
        assert client.post(f"{number[1]}/attack").status_code == 303
    until(lambda: len(processes(mark)) == 2)


DAILY = [("SIGTERM", runs), ("SIGHUP", prepares), ("SIGINT", begins)]
CASES = [
    pytest.param(
        name, moment, id=f"{name}-{moment.__name__}", marks=() if (name, moment) in DAILY else pytest.mark.slow
    )
    for name in ("SIGTERM", "SIGINT", "SIGHUP")
    for moment in (begins, prepares, runs)
]


@pytest.mark.parametrize(("name", "moment"), CASES)
def test_a_demonstration_that_is_stopped_leaves_nothing_behind(
    tmp_path: Path, name: str, moment: Callable[[Running, Path, str], None]
) -> None:
    mark = secrets.token_hex(8)
    env = {"TMPDIR": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data"), MARK: mark}
    with discreet_serve("--demo", env=env, program=REAL) as running:
        moment(running, tmp_path, mark)
        assert list(tmp_path.iterdir()) != []
        os.kill(running.process.pid, getattr(signal, name))
        ended, left = running.process.wait(SECONDS), processes(mark)
    assert left == []
    assert list(tmp_path.iterdir()) == []
    assert ended == (130 if name == "SIGINT" else -signal.SIGTERM), "as the sender of the signal expects"


@pytest.fixture
def short_place() -> Iterator[Path]:
    """A folder whose path leaves room for the name of a socket, and which the user that the server runs as can reach."""
    with tempfile.TemporaryDirectory(prefix="t", dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP"])
def test_a_story_that_is_stopped_leaves_no_server_behind(tmp_path: Path, short_place: Path, name: str) -> None:
    """The last chapter of `discreet demo` starts PostgreSQL and a gateway; only what it was asked to write stays."""
    mark, place = secrets.token_hex(8), short_place
    env = {**os.environ, "TMPDIR": str(place), "XDG_DATA_HOME": str(tmp_path / "data"), MARK: mark}
    command = [REAL, "demo", "--people", "100000", "--out", str(tmp_path / "story")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as running:
        assert running.stdout is not None
        assert any("A PostgreSQL server holds" in line for line in running.stdout)
        assert len(processes(mark)) > 2
        os.kill(running.pid, getattr(signal, name))
        running.stdout.read()
        ended, left = running.wait(SECONDS), processes(mark)
    assert left == []
    assert list(place.glob("discreet-*")) == []  # the wheel of the server keeps an empty lock file of its own
    assert ended == (130 if name == "SIGINT" else -signal.SIGTERM)


REPLACED = """
import importlib, os
main = importlib.import_module("discreet.cli.main")
def interrupted(**_):
    try:
        os.kill(os.getpid(), {number})
        for _ in range(10**9): pass
    except SystemExit:
        raise {error} from None
main.cli.main = interrupted
main.main()
"""


@pytest.mark.parametrize(
    "error", ["RuntimeError('Query interrupted')", "main.DiscreetError('The file cannot be read.')"]
)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_library_that_raises_an_error_of_its_own_hides_no_signal(number: int, error: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", REPLACED.format(number=int(number), error=error)], capture_output=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (128 + number, b"")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_stopped_command_leaves_no_copy_of_the_table(number: int, tmp_path: Path) -> None:
    """A file in another encoding is copied for reading, people's names and all."""
    scratch, people = tmp_path / "scratch", tmp_path / "people.csv"
    scratch.mkdir()
    rows = "".join(f"Müller {number},{number % 97},{number % 89}\n" for number in range(300_000))
    people.write_text(f"name,age,zip\n{rows}", encoding="latin-1")
    policy = tmp_path / "policy.toml"
    policy.write_text('[data]\nencoding = "latin-1"\n[columns.age]\nrole = "quasi"\n', encoding="utf-8")
    command = [REAL, "profile", str(people), "--policy", str(policy)]
    with subprocess.Popen(
        command, env={**os.environ, "TMPDIR": str(scratch)}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as running:
        until(lambda: any(scratch.iterdir()))
        running.send_signal(number)
        assert running.wait(SECONDS) == 128 + number
    assert list(scratch.iterdir()) == []
