"""`discreet serve` as it is met: links that are printed, two processes on one store, a demonstration, wrong calls."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from discreet.cli.verbs.serve import command
from discreet.errors import UsageError
from discreet.web import Settings, create_app
from discreet.web.accounts import credentials
from discreet.web.framework.app import listen, refuse_undeclared
from discreet.web.framework.permissions import GRANTED, PERMISSIONS, ROLES
from discreet.web.framework.route import Route, Undeclared
from discreet.web.routes import ROUTES, about_page
from tests.swift import REAL
from tests.web.client import PASSWORD
from tests.web.jobs.working import until
from tests.web.running import Running, discreet_serve

GOOD = Route("GET", "/x", "ledger.read", about_page)


@pytest.mark.parametrize(
    ("route", "words"),
    [
        (replace(GOOD, permission=""), "no permission"),
        (replace(GOOD, permission="ledger.raed"), "no permission"),
        (replace(GOOD, path="/x/{number}"), "what it loads"),
        (replace(GOOD, method="PUT"), "neither GET nor POST"),
        (replace(GOOD, body="form"), "GET with a body"),
        (replace(GOOD, path="/api/v1/x"), "below /api/"),
        (replace(GOOD, method="POST", records=True), "only what is read by GET"),
        (replace(GOOD, method="POST", path="/api/v1/x", kind="api", records=True), "asked for by POST"),
        (ROUTES[0], "twice"),
    ],
)
def test_an_incomplete_row_stops_the_application_from_starting(settings: Settings, route: Route, words: str) -> None:
    with pytest.raises(Undeclared, match=words):
        create_app(settings, routes=(*ROUTES, route))


def test_what_is_served_without_standing_in_the_table_stops_it_too(app: FastAPI) -> None:
    app.add_api_route("/sneaked-in", lambda: "hello", methods=["GET"])
    with pytest.raises(Undeclared, match="/sneaked-in"):
        refuse_undeclared(app, ROUTES)


def test_a_mounted_application_is_refused(app: FastAPI) -> None:
    app.mount("/elsewhere", FastAPI())
    with pytest.raises(Undeclared, match="/elsewhere"):
        refuse_undeclared(app, ROUTES)


def test_permissions_are_granted_and_used() -> None:
    assert set(GRANTED) == set(ROLES)
    assert frozenset().union(*GRANTED.values()) == set(PERMISSIONS)
    assert {route.permission for route in ROUTES} <= {*PERMISSIONS, "anyone"}


@pytest.mark.parametrize(
    "origin",
    [
        "discreet.example",
        "http://discreet.example",
        "https://a@b",
        "ftp://x",
        "https://x/y",
        "http://127.0.0.1.example",
    ],
)
def test_an_origin_must_be_safe(origin: str) -> None:
    with pytest.raises(UsageError):
        Settings(origin=origin)


@pytest.mark.parametrize(
    "origin", ["https://discreet.example", "http://127.0.0.1:81", "http://localhost", "http://[::1]:9"]
)
def test_https_and_loopback_are_safe(origin: str) -> None:
    assert Settings(origin=origin).hosts


OWN_PAGE = {"Sec-Fetch-Site": "same-origin"}
ALL = "0.0.0.0"  # noqa: S104 - asked for only to be refused


def sign_in(origin: str, name: str, password: str = PASSWORD) -> httpx.Response:
    form = {"name": name, "password": password, "next": "/"}
    return httpx.post(f"{origin}/sign-in", data=form, headers=OWN_PAGE, trust_env=False)


def cookie_of(answer: httpx.Response) -> dict[str, str]:
    return {"Cookie": answer.headers["set-cookie"].partition(";")[0]}


def get(address: str, headers: dict[str, str]) -> httpx.Response:
    return httpx.get(address, headers=headers, trust_env=False)


def make_first(running: Running, role: str = "custodian", name: str = "ann") -> None:
    running.wait_for("(Give the two links)")
    lines = iter(running.said)
    next(line for line in lines if f"no {role} yet" in line)
    form = {"name": name, "password": PASSWORD, "again": PASSWORD}
    link = next(lines).strip()
    assert httpx.post(link, data=form, headers=OWN_PAGE, trust_env=False).status_code == 303


@pytest.mark.postgres
def test_two_processes_work_on_one_store(postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.servers import fresh_schema

    monkeypatch.setenv("DISCREET_KEYS", str(tmp_path / "keys"))
    store = fresh_schema(postgres_url)
    with discreet_serve("--store", store) as one, discreet_serve("--store", store) as other:
        make_first(one)
        make_first(other, "administrator", "bob")
        session = cookie_of(sign_in(one.origin, "bob"))
        assert get(f"{one.origin}/accounts", session).status_code == 200
        assert get(f"{other.origin}/accounts", session).status_code == 200
        # a link that one made works at the other, once
        page = httpx.post(f"{one.origin}/accounts", data={"name": "eve", "role": "auditor"}, headers={**OWN_PAGE, **session}, trust_env=False)  # fmt: skip
        link = re.search(r"/welcome/[\w-]+", page.text)
        assert link is not None
        form = {"password": PASSWORD, "again": PASSWORD}
        answers = [httpx.post(f"{place}{link[0]}", data=form, headers=OWN_PAGE, trust_env=False).status_code for place in (other.origin, one.origin)]  # fmt: skip
        assert answers == [303, 404]
        # wrong passwords count at both together
        places = [one.origin, other.origin] * 3
        assert [sign_in(place, "eve", "wrong").status_code for place in places] == [403] * 5 + [429]
        assert sign_in(other.origin, "eve").status_code == 429
        # what one signs out is signed out at the other
        httpx.post(f"{other.origin}/sign-out", headers={**OWN_PAGE, **session}, trust_env=False)
        assert get(f"{one.origin}/accounts", session).status_code == 303
        verified = cookie_of(sign_in(one.origin, "ann"))
        answer = httpx.post(f"{other.origin}/ledger/verify", headers={**OWN_PAGE, **verified}, trust_env=False)
        assert answer.headers["location"] == "/ledger?said=verified"


def test_sighup_opens_the_log_again_and_stops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCREET_KEYS", str(tmp_path / "keys"))
    log, old = tmp_path / "web.json", tmp_path / "web.json.1"
    options = ("--store", str(tmp_path / "store.db"), "--data", str(tmp_path / "data"), "--log", str(log))
    with discreet_serve(*options, program=REAL) as running:
        get(f"{running.origin}/sign-in", {})
        before = log.rename(old).read_text(encoding="utf-8")
        assert '"/sign-in"' in before
        running.process.send_signal(signal.SIGHUP)
        until(log.exists, what="the new log")
        get(f"{running.origin}/about", {})
        until(lambda: '"/about"' in log.read_text(encoding="utf-8"), what="its first line")
        assert '"/about"' not in old.read_text(encoding="utf-8")


@pytest.mark.slow  # a lesson in docs/start starts one in every run
def test_the_demonstration_prints_who_can_sign_in(tmp_path: Path) -> None:
    with discreet_serve("--demo", env={"XDG_DATA_HOME": str(tmp_path)}) as running:
        password = running.wait_for(r"sign in as auditor\s+password (\S+)")
        session = cookie_of(sign_in(running.origin, "auditor", password))
        page = get(f"{running.origin}/ledger", session)
        assert page.status_code == 200
        assert "people who do not exist" in page.text
        answer = get(f"{running.origin}/nothing", {})
        assert "server" not in answer.headers
    assert list(tmp_path.iterdir()) == []


def test_a_session_survives_a_restart(tmp_path: Path) -> None:
    store = str(tmp_path / "store.db")
    with discreet_serve("--store", store) as running:
        make_first(running)
        make_first(running, "administrator", "bob")
        session = cookie_of(sign_in(running.origin, "ann"))
        assert credentials.COOKIE in session["Cookie"]
    with discreet_serve("--store", store) as again:
        assert get(f"{again.origin}/accounts", session).status_code == 200
        assert not any("welcome" in line for line in again.said)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--demo", "--host", ALL], "stays on this machine"),
        (["--demo", "--store", "x.db"], "its own store"),
        (["--demo", "--origin", "https://discreet.example"], "stays on this machine"),
        (["--host", ALL], "in the clear"),
        (["--origin", "http://discreet.example"], "in the clear"),
        (["--origin", "discreet"], "not a web address"),
        (["--host", "203.0.113.7"], "Nothing can listen"),
    ],
)
def test_what_would_be_unsafe_is_refused_in_words(
    options: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISCREET_STORE", str(tmp_path / "s.db"))
    with pytest.raises(UsageError, match=words) as caught:
        command.main(["--port", "0", *options], standalone_mode=False)
    assert caught.value.remedy
    assert not (tmp_path / "s.db").exists()


def test_without_its_extra_it_says_what_to_install() -> None:
    hidden = "import sys; sys.modules['fastapi'] = None; from discreet.cli import main; sys.argv = ['discreet', 'serve']; main()"
    done = subprocess.run([sys.executable, "-c", hidden], capture_output=True, text=True, check=False)
    assert (done.returncode, "discreet[web]" in done.stderr) == (2, True)


def test_answers_are_sent_at_once() -> None:
    """Where a socket does not name its protocol, asyncio leaves Nagle's algorithm on, which costs 40 ms an answer."""
    with listen("127.0.0.1", 0) as ear:
        assert ear.proto == socket.IPPROTO_TCP
