"""Gateways in front of a real PostgreSQL server."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from discreet.gateway import Open, Settings, Upstream, parse_upstream
from tests.gateway.governed import Guarding, furnish, policy
from tests.gateway.running import Running
from tests.gateway.watching import By, Slowly, Watching


@pytest.fixture(scope="session")
def upstream(postgres_url: str) -> Upstream:
    """Where the real server is."""
    return parse_upstream(postgres_url)


@pytest.fixture(scope="session")
def direct(upstream: Upstream) -> tuple[str, int] | str:
    """The server's address for a raw client."""
    return upstream.path or (upstream.host, upstream.port)


@pytest.fixture
def start(upstream: Upstream) -> Iterator[Callable[..., Running]]:
    """Starts gateways that end with the test."""
    with ExitStack() as stack:

        def begin(judge: Any = None, **settings: Any) -> Running:
            chosen = {"upstream": upstream, "judge": judge or Open(), "grace": 0.5, **settings}
            return stack.enter_context(Running(Settings(**chosen)))

        yield begin


JUDGES = {"open": lambda: None, "allowing": Watching, "slow": Slowly}


@pytest.fixture(scope="module", params=list(JUDGES))
def gateway(request: pytest.FixtureRequest, upstream: Upstream) -> Iterator[Running]:
    """A gateway whose users are not governed, allowed everything, or allowed everything after a while."""
    loop = {"factory": None} if request.param == "allowing" else {}  # Python's own; the others the command's
    with Running(Settings(upstream, judge=By(JUDGES[request.param]), grace=0.5), **loop) as running:
        yield running


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for localhost and its key, made with the openssl command."""
    return make_certificate(tmp_path_factory.mktemp("certificate"))


@pytest.fixture(scope="session")
def other_certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Another one."""
    return make_certificate(tmp_path_factory.mktemp("other"))


def make_certificate(folder: Path) -> tuple[Path, Path]:
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl command to make a certificate with")
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *names, *files]
    subprocess.run(made, check=True, capture_output=True)
    return folder / "cert.pem", folder / "key.pem"


@pytest.fixture(scope="module")
def clinic(postgres_url: str) -> str:
    """A server with a clinic."""
    furnish(postgres_url)
    return postgres_url


@pytest.fixture
def guard(clinic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Guarding]]:
    """Starts governed gateways that end with the test and share a store."""
    monkeypatch.setenv("DISCREET_KEYS", str(tmp_path / "keys"))
    with ExitStack() as stack:

        def begin(**chosen: Any) -> Guarding:
            settings = chosen.pop("settings", {})
            return stack.enter_context(
                Guarding(parse_upstream(clinic), clinic, tmp_path / "store.db", policy(**chosen), **settings)
            )

        yield begin
