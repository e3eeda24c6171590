"""The files of deploy/: linted, and every command in them run outside a container, two web processes behind one address."""

from __future__ import annotations

import configparser
import http.client
import itertools
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
import yaml

from discreet.ledger import Keys, Ledger
from tests.house.code import ROOT
from tests.servers import fresh_schema
from tests.swift import REAL, SHIM
from tests.web.jobs.visiting import OWN_PAGE, PEOPLE, Visitor, all_done, assert_once
from tests.web.jobs.working import until
from tests.web.running import started

DEPLOY = ROOT / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
OBJECTS: list[dict[str, Any]] = list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text(encoding="utf-8")))
CONTAINERFILE = (DEPLOY / "Containerfile").read_text(encoding="utf-8")


def unit_of(path: Path) -> Mapping[str, list[str]]:
    """Settings of a unit's service."""
    settings: dict[str, list[str]] = {}
    for line in path.read_text(encoding="utf-8").partition("[Service]")[2].partition("[Install]")[0].splitlines():
        if "=" in line:
            settings.setdefault(line.partition("=")[0], []).append(line.partition("=")[2])
    return settings


def pod() -> dict[str, Any]:
    (deployment,) = [one for one in OBJECTS if one["kind"] == "Deployment"]
    return deployment["spec"]["template"]["spec"]  # type: ignore[no-any-return]


# -- what can be seen without running anything ------------------------------------------------------------------------


def test_the_recipe_of_the_image_has_no_complaints() -> None:
    linter = Path(sys.executable).with_name("hadolint")
    done = subprocess.run([str(linter), str(DEPLOY / "Containerfile")], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout


def test_the_image_runs_without_root_and_with_pinned_parts() -> None:
    assert re.search(r"^USER 10001:10001$", CONTAINERFILE, re.M)
    assert "--require-hashes" in CONTAINERFILE
    pinned = (DEPLOY / "requirements.txt").read_text(encoding="utf-8")
    for line in pinned.splitlines():
        assert line.startswith((" ", "#")) or "==" in line, line
    development = (ROOT / "requirements-dev.txt").read_text(encoding="utf-8")
    versions = re.findall(r"^([a-z0-9._-]+==\S+)", pinned, re.M)
    assert not [version for version in versions if version not in development], "make pins renews them together"


@pytest.mark.parametrize("service", ["web", "gateway", "store"])
def test_services_have_no_rights_that_they_do_not_need(service: str) -> None:
    about = COMPOSE["services"][service]
    assert about["read_only"] is True
    assert about["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in about["security_opt"]
    assert all(port.startswith("127.0.0.1:") for port in about.get("ports", ())), "other machines come through a proxy"
    if service != "store":
        assert about["user"] == "10001:10001"
        assert "cap_add" not in about


def test_pods_have_no_rights_that_they_do_not_need() -> None:
    (container,) = pod()["containers"]
    assert pod()["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert container["livenessProbe"]["httpGet"]["path"] == "/healthz"
    mounted = {mount["name"] for mount in container["volumeMounts"]}
    assert mounted == {volume["name"] for volume in pod()["volumes"]}


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.stem)
def test_units_are_hardened(path: Path, tmp_path: Path) -> None:
    unit = unit_of(path)
    wanted = {"User": "discreet", "NoNewPrivileges": "yes", "ProtectSystem": "strict", "CapabilityBoundingSet": ""}
    assert {name: unit[name][0] for name in wanted} == wanted
    if shutil.which("systemd-analyze") is None:
        return
    # As systemd reads it: with programs that are there on this machine.
    copied = tmp_path / path.name
    copied.write_text(path.read_text(encoding="utf-8").replace("/opt/discreet/bin/discreet", "/bin/true"))
    done = subprocess.run(["systemd-analyze", "verify", str(copied)], capture_output=True, text=True, check=False)
    said = [line for line in (done.stdout + done.stderr).splitlines() if path.name in line]
    assert said == [], said


def test_the_proxy_logs_no_one_time_link_and_says_where_requests_come_from() -> None:
    text = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
    assert re.search(r"~\^/welcome/ 0;", text)
    assert "if=$discreet_logged" in text
    for header in ("Host $host", "X-Forwarded-For $remote_addr", "X-Request-Id $request_id"):
        assert f"proxy_set_header {header};" in text
    assert text.count("{") == text.count("}")


# -- every command, run here ------------------------------------------------------------------------------------------


def ours(words: list[str], *, upstream: str, folder: Path, origin: str) -> list[str]:
    """A command with the addresses and folders of this test in place of a container's or a machine's."""
    changed = []
    for before, word in itertools.pairwise(["", *words]):
        word = word.replace("${DISCREET_ORIGIN:-http://127.0.0.1:8000}", origin).replace("${DISCREET_ORIGIN}", origin)
        word = word.replace("https://discreet.example", origin).replace("${DISCREET_UPSTREAM}", upstream)
        word = word.replace("postgresql://store:5432", upstream).replace("/var/lib/discreet", str(folder))
        word = re.sub(r"^(0\.0\.0\.0|127\.0\.0\.1):\d+$", "127.0.0.1:0", word)
        word = "127.0.0.1" if word == "0.0.0.0" else word  # noqa: S104 - it is replaced
        changed.append("0" if before == "--port" else word)
    assert "/var/" not in " ".join(changed), "everything is in a folder of this test"
    return changed


@contextmanager
def proxy(backends: list[str]) -> Iterator[str]:
    """A proxy as nginx is set up: takes turns, goes on to the next if one is gone."""
    turn = itertools.count()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def forward(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            first = next(turn)
            for place in range(len(backends)):
                backend = backends[(first + place) % len(backends)].removeprefix("http://")
                connection = http.client.HTTPConnection(backend, timeout=30)
                try:
                    sent = {**dict(self.headers), "X-Forwarded-For": "192.0.2.7"}
                    connection.request(self.command, self.path, body, sent)
                    answer = connection.getresponse()
                    content = answer.read()
                except OSError:
                    continue
                finally:
                    connection.close()
                self.send_response(answer.status)
                for name, value in answer.getheaders():
                    if name.lower() not in ("content-length", "transfer-encoding", "connection", "date"):
                        self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)
                return
            self.send_error(502)

        do_GET = do_POST = forward  # noqa: N815 - http.server asks for it

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.postgres
def test_two_web_processes_and_a_gateway_come_up_and_lose_nothing(postgres_url: str, tmp_path: Path) -> None:
    store, backends = fresh_schema(postgres_url), list[str]()
    info = psycopg.conninfo.conninfo_to_dict(postgres_url)
    upstream = f"postgresql:///?host={info['host']}"
    env = {"DISCREET_STORE": store, "DISCREET_KEYS": str(tmp_path / "keys")}
    with ExitStack() as stack:
        address = stack.enter_context(proxy(backends))
        place: dict[str, Any] = {"upstream": upstream, "folder": tmp_path, "origin": address}
        Keys.make(tmp_path / "keys")
        secret = {"DISCREET_KEYS": "", "DISCREET_KEYS_CONTENT": (tmp_path / "keys").read_text(encoding="ascii")}
        command = ours(pod()["containers"][0]["args"], **place)
        first, second = (
            stack.enter_context(started([REAL, *command], {**env, **secret}))
            for _ in range(OBJECTS[1]["spec"]["replicas"])
        )
        link = first.wait_for(r"(http://127\.0\.0\.1:\d+/welcome/\S+)")
        for running in (first, second):
            running.wait_for(r"(Monitoring answers on \S+)")
        for running in (first, second):
            until(
                lambda running=running: bool(listening(running.process.pid)), what="the pages"
            )  # after their monitoring
        backends += [f"http://127.0.0.1:{listening(running.process.pid)[0]}" for running in (first, second)]
        assert link.startswith(address)
        visitor = Visitor.__new__(Visitor)
        visitor.origin = address
        form = {"name": "ann", "password": "a sentence only tests know"}
        assert httpx.post(link, data=form, headers=OWN_PAGE, trust_env=False, timeout=30).status_code == 303
        signed = httpx.post(
            f"{address}/sign-in", data={**form, "next": "/"}, headers=OWN_PAGE, trust_env=False, timeout=30
        )
        visitor.headers = {**OWN_PAGE, "Cookie": signed.headers["set-cookie"].partition(";")[0]}
        with ledger_of(store, tmp_path) as ledger:
            dataset = visitor.upload("people.csv")
            assert len(PEOPLE) > 100
            until(lambda: all_done(ledger), what="the first look")
            for number in range(4):
                visitor.assess(dataset, 0.01 * (number + 1))
            until(lambda: all_done(ledger), what="the assessments")
            assert_once(ledger)
            # Wrong passwords are counted by both together: a sixth is not even looked at.
            wrong = {"name": "ann", "password": "not it", "next": "/"}
            known = [
                httpx.post(f"{address}/sign-in", data=wrong, headers=OWN_PAGE, trust_env=False, timeout=30).status_code
                for _ in range(7)
            ]
            assert known == [403] * 5 + [429] * 2
            # One of the two is killed: the session goes on at the other, and what it had begun is finished.
            visitor.assess(dataset, 0.3)
            first.process.kill()
            first.process.wait()
            me = httpx.get(f"{address}/api/v1/me", headers=visitor.headers, trust_env=False, timeout=30)
            assert (me.status_code, me.json()["name"]) == (200, "ann")
            until(lambda: all_done(ledger), what="the last assessment")
            assert_once(ledger)
            assert ledger.verify().holds
        gateway = ours(COMPOSE["services"]["gateway"]["command"], **place)
        with started([SHIM, *gateway], env) as running:
            host, port = running.wait_for(r"listens on (\S+)").split(":")
            monitoring = running.wait_for(r"Monitoring answers on (\S+)")
            assert httpx.get(f"http://{monitoring}/readyz", trust_env=False).status_code == 200
            asked = psycopg.conninfo.make_conninfo(
                dbname=str(info["dbname"]), user=str(info["user"]), host=host, port=port
            )
            with psycopg.connect(asked) as connection:
                assert connection.execute("SELECT 41 + 1").fetchone() == (42,)


@contextmanager
def ledger_of(store: str, folder: Path) -> Iterator[Ledger]:
    """The ledger of the servers, with their keys."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_KEYS", str(folder / "keys"))
        with Ledger.open(store) as ledger:
            yield ledger


def listening(process: int) -> list[int]:
    """The port of the pages of a process: the one of its two that answers with a page."""
    inodes = {
        name.removeprefix("socket:[").rstrip("]")
        for name in (str(path.readlink()) for path in Path(f"/proc/{process}/fd").iterdir())
        if name.startswith("socket:")
    }
    table = [line.split() for line in Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]]
    ports = [int(row[1].rpartition(":")[2], 16) for row in table if row[3] == "0A" and row[9] in inodes]
    return [
        port
        for port in ports
        if httpx.get(f"http://127.0.0.1:{port}/about", trust_env=False, timeout=30).status_code == 200
    ]


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.stem)
def test_commands_of_units_run(path: Path, tmp_path: Path, postgres_url: str) -> None:
    """Servers come up and end in good order; the backup is whole."""
    (line,) = unit_of(path)["ExecStart"]
    store, address = str(tmp_path / "store.db"), "http://127.0.0.1:8000"
    info = psycopg.conninfo.conninfo_to_dict(postgres_url)
    place: dict[str, Any] = {"upstream": f"postgresql:///?host={info['host']}", "folder": tmp_path, "origin": address}
    env = {"DISCREET_STORE": store, "DISCREET_KEYS": str(tmp_path / "keys")}
    if path.stem == "discreet-backup":
        with ledger_of(store, tmp_path) as ledger:
            ledger.record(actor="ann", event="web.shown", subject="x")
        (tmp_path / "data").mkdir()
        (tmp_path / "kept").mkdir()
        command = line.replace("$$", "$").replace("%%", "%").replace("/opt/discreet/bin/discreet", SHIM)
        command = command.replace("/var/backups/discreet", str(tmp_path / "kept")).replace(
            "/var/lib/discreet", str(tmp_path)
        )
        done = subprocess.run(
            shlex.split(command), capture_output=True, text=True, check=False, env={**os.environ, **env}
        )
        assert done.returncode == 0, done.stderr
        (made,) = (tmp_path / "kept").iterdir()
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", made.name)
        verified = [SHIM, "restore", str(made), "--verify"]
        assert subprocess.run(verified, capture_output=True, check=False, env={**os.environ, **env}).returncode == 0
        return
    words = ours(shlex.split(line)[1:], **place)
    with started([SHIM, *words], env) as running:
        running.wait_for(r"(stop with Ctrl-C)")
        monitoring = running.wait_for(r"Monitoring answers on (\S+)")
        assert httpx.get(f"http://{monitoring}/readyz", trust_env=False, timeout=30).text == "ready\n"
    assert running.process.returncode in (0, -15, 143)


@pytest.mark.parametrize("of", ["image", "compose"])
def test_the_command_of_the_image_and_of_its_service_run(of: str, tmp_path: Path) -> None:
    words = yaml.safe_load(re.findall(r"^CMD (\[.*\])$", CONTAINERFILE, re.M)[-1])
    words = words if of == "image" else COMPOSE["services"]["web"]["command"]
    probe = yaml.safe_load(re.findall(r"CMD (\[\"python3.*\])$", CONTAINERFILE, re.M)[0])
    command = ours(words, upstream="", folder=tmp_path, origin="http://127.0.0.1:8000")
    env = {"DISCREET_STORE": str(tmp_path / "store.db"), "DISCREET_KEYS": str(tmp_path / "keys")}
    with started([SHIM, *command, "--port", "0", "--origin", "http://127.0.0.1:8000"], env) as running:
        monitoring = running.wait_for(r"Monitoring answers on (\S+)")
        script = probe[2].replace("127.0.0.1:9100", monitoring)
        assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
    assert subprocess.run([sys.executable, "-c", script], check=False, stderr=subprocess.DEVNULL).returncode != 0


@pytest.mark.slow
def test_the_parts_of_the_image_install_and_run(tmp_path: Path) -> None:
    """The RUN lines of the first stage, in a folder of this test in place of /opt/discreet."""
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__", "engine.so"))
    (tmp_path / "deploy").mkdir()
    shutil.copy(DEPLOY / "requirements.txt", tmp_path / "deploy")
    stage = CONTAINERFILE.split("\nFROM ")[0]
    for line in re.findall(r"^RUN (.*)$", stage, re.M):
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", line.replace("/opt/discreet", str(tmp_path / "opt"))],
            cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr


def test_timers_are_read() -> None:
    timer = configparser.ConfigParser(strict=False)
    timer.optionxform = str  # type: ignore[assignment, method-assign]
    timer.read(DEPLOY / "systemd" / "discreet-backup.timer")
    assert timer["Timer"]["Persistent"] == "true"
    assert timer["Install"]["WantedBy"] == "timers.target"
