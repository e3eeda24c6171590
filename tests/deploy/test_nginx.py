"""deploy/nginx.conf before two real web processes on one PostgreSQL store: TLS, uploads, a killed process, and what is logged.

Run with: pytest -m slow tests/deploy/test_nginx.py, where nginx is installed (apt-get install nginx-light).
"""

from __future__ import annotations

import json
import shutil
import signal
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from discreet.ledger import Keys
from discreet.web.framework.app import listen
from tests.house.code import ROOT
from tests.servers import fresh_schema
from tests.swift import REAL
from tests.web.client import OWN_PAGE, PASSWORD
from tests.web.jobs.working import until
from tests.web.running import Running, started

pytestmark = [pytest.mark.slow, pytest.mark.postgres]
NAME = "discreet.example"


def free_port() -> int:
    ear = listen("127.0.0.1", 0)
    try:
        return int(ear.getsockname()[1])
    finally:
        ear.close()


def certificate(folder: Path) -> tuple[Path, Path]:
    """One for the host of the example, signed by itself."""
    key, cert = folder / "key.pem", folder / "cert.pem"
    about = ["-subj", f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME}"]
    options = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", *about]
    subprocess.run(
        ["openssl", "req", "-x509", *options, "-keyout", str(key), "-out", str(cert)], check=True, capture_output=True
    )
    return cert, key


@contextmanager
def nginx(folder: Path, backends: list[int]) -> Iterator[tuple[int, Path]]:
    """The example as it is, but for ports and paths; gives its port and its access log."""
    program = shutil.which("nginx") or "/usr/sbin/nginx"
    assert Path(program).exists(), "nginx is missing: apt-get install nginx-light"
    cert, key = certificate(folder)
    port, log = free_port(), folder / "access.log"
    site = (ROOT / "deploy" / "nginx.conf").read_text(encoding="utf-8")
    for before, after in {
        "127.0.0.1:8000": f"127.0.0.1:{backends[0]}",
        "127.0.0.1:8001": f"127.0.0.1:{backends[1]}",
        "listen 443 ssl": f"listen 127.0.0.1:{port} ssl",
        "/etc/ssl/discreet.pem": str(cert),
        "/etc/ssl/private/discreet.key": str(key),
        "/var/log/nginx/discreet.log": str(log),
    }.items():
        assert site.count(before) == 1, before
        site = site.replace(before, after)
    places = "".join(f"{kind}_temp_path {folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))  # fmt: skip
    main = f"user root;\npid {folder}/pid;\nerror_log {folder}/error.log;\nevents {{}}\nhttp {{\n{places}{site}}}\n"
    (folder / "nginx.conf").write_text(main, encoding="utf-8")
    command = [program, "-p", str(folder), "-c", str(folder / "nginx.conf"), "-g", "daemon off;"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        yield port, log
    finally:
        process.terminate()
        process.wait(20)


def test_the_example_stands_before_two_processes(postgres_url: str, tmp_path: Path) -> None:
    store = fresh_schema(postgres_url)
    env = {"DISCREET_STORE": store, "DISCREET_KEYS": str(tmp_path / "keys")}
    Keys.make(tmp_path / "keys")
    logs, backends = [tmp_path / "one.json", tmp_path / "two.json"], [free_port(), free_port()]
    with ExitStack() as stack:
        port, access = stack.enter_context(nginx(tmp_path, backends))

        def serve(place: int) -> Running:
            about = ["--port", str(backends[place]), "--log", str(logs[place]), "--data", str(tmp_path / "data")]
            command = [REAL, "serve", "--origin", f"https://{NAME}", "--proxy", "127.0.0.1", *about]
            return stack.enter_context(started(command, env))

        first = serve(0)
        link = first.wait_for(rf"(https://{NAME}/welcome/\S+)")
        serve(1).wait_for("(runs at)")
        transport = httpx.HTTPTransport(verify=ssl.create_default_context(cafile=str(tmp_path / "cert.pem")))
        client = stack.enter_context(
            httpx.Client(transport=transport, base_url=f"https://127.0.0.1:{port}", timeout=60)
        )

        def ask(method: str, path: str, **more: object) -> httpx.Response:
            headers = {"Host": NAME, **OWN_PAGE, "X-Forwarded-For": "203.0.113.9"}
            return client.request(method, path, headers=headers, extensions={"sni_hostname": NAME}, **more)  # type: ignore[arg-type]

        until(lambda: ask("GET", "/sign-in").status_code == 200, what="nginx")
        path = link.removeprefix(f"https://{NAME}")
        assert ask("POST", path, data={"name": "ann", "password": PASSWORD, "again": PASSWORD}).status_code == 303
        page = ask("GET", "/account")
        assert page.status_code == 200, "the session holds at whichever of the two is asked"
        assert "max-age" in page.headers["strict-transport-security"]
        # An upload goes through as it comes, larger than nginx holds in memory.
        content = b"sex,zip\n" + b"F,1234\n" * 400_000
        form = {"name": "big", "encoding": "utf-8"}
        sent = ask("POST", "/datasets/upload", data=form, files={"file": ("big.csv", content)})
        assert sent.status_code == 303, sent.text
        # One of the two is killed, and nobody notices.
        first.process.send_signal(signal.SIGKILL)
        first.process.wait()
        assert {ask("GET", "/account").status_code for _ in range(6)} == {200}
        # Addresses are those of the client that nginx saw, not what it said of itself; links are in no log.
        lines = [json.loads(line) for log in logs for line in log.read_text(encoding="utf-8").splitlines()]
        assert {line["address"] for line in lines if "address" in line} == {"127.0.0.1"}
        logged = access.read_text(encoding="utf-8")
        assert "/account" in logged
        assert "/welcome/" not in logged
