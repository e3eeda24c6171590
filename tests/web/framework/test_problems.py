"""Whatever comes in gets a clear answer with a next step, never a 5xx, and never what came in."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from fastapi import FastAPI

from discreet import errors
from discreet.web import Settings, create_app
from discreet.web.framework import context as guard
from discreet.web.framework.context import Here
from discreet.web.framework.problems import problem_of
from discreet.web.framework.route import Route
from discreet.web.routes import ROUTES
from tests.web.client import Browser, make_accounts, signed_in
from tests.web.samples import Kept, sample

CANARY = "Canary-Margarethe-1931"


BODIES = (f"a={CANARY}", f"{CANARY}", f"name=%00{CANARY}", f"role={CANARY}&name=x", f"days={CANARY}")
FORM = "application/x-www-form-urlencoded"
POSTED = [
    *((body, FORM) for body in BODIES),
    *((BODIES[0], kind) for kind in ("application/json", "text/plain", CANARY)),
]
"""Every body as a form, and one of them as anything else."""


GETS, POSTS = ([route for route in ROUTES if route.method == method] for method in ("GET", "POST"))


def test_a_value_that_is_asked_for_does_not_come_back_in_an_error(
    app: FastAPI, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    browser, kept = signed_in(app, "custodian"), Kept(app)
    for route in GETS:
        path = kept(route, "custodian")
        caplog.clear()
        _ask_at(route, path, browser)
        _check_the_log(caplog)


@pytest.mark.parametrize("route", POSTS, ids=lambda route: route.path)
def test_a_value_that_comes_in_does_not_come_back_in_an_error(
    app: FastAPI, route: Route, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    browser, path = signed_in(app, "custodian"), sample(app, route, "custodian")
    caplog.clear()
    _ask_at(route, path, browser)
    _check_the_log(caplog)


def _ask_at(route: Route, path: dict[str, str], browser: Browser) -> None:
    for address in {route.path.format(**path), route.path.format(**dict.fromkeys(path, CANARY))}:
        _ask_with_the_canary(browser, route.method, address)


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("address", [f"/{CANARY}", f"/api/v1/{CANARY}"])
def test_an_address_that_is_not_there_does_not_come_back(
    app: FastAPI, method: str, address: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    browser = signed_in(app, "custodian")
    caplog.clear()
    _ask_with_the_canary(browser, method, address)
    _check_the_log(caplog)


def _ask_with_the_canary(browser: Browser, method: str, address: str) -> None:
    for body, kind in POSTED if method == "POST" else [(None, CANARY)]:
        answer = browser.send(
            method,
            f"{address}?x={CANARY}&before={CANARY}&most={CANARY}",
            content=body and body.encode(),
            headers={"Sec-Fetch-Site": "same-origin", "Content-Type": kind, "X-Canary": CANARY},
        )
        assert answer.status_code < 500
        if answer.status_code >= 400:
            assert CANARY not in answer.text + str(answer.headers), address


def _check_the_log(caplog: pytest.LogCaptureFixture) -> None:
    assert CANARY not in "".join(record.getMessage() for record in caplog.records if record.name != "httpx")


def boom(context: Here) -> None:
    """A handler with a bug."""
    raise ValueError(f"cannot parse {CANARY}")


@pytest.mark.parametrize("path", ["/boom", "/api/v1/boom"])
def test_a_bug_is_told_by_its_place_only(
    settings: Settings, path: str, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    kind = "api" if path.startswith("/api") else "page"
    app = create_app(settings, routes=(*ROUTES, Route("GET", path, "dashboard.read", boom, kind=kind)))
    make_accounts(app)
    answer = signed_in(app, "worker").get(path)
    assert answer.status_code == 500
    assert answer.headers["cache-control"] == "no-store"
    assert "Nothing was disclosed" in answer.text
    printed = capsys.readouterr()
    assert CANARY not in answer.text + caplog.text + printed.out + printed.err
    assert "ValueError at test_problems.py:" in caplog.text
    app.state.site.close()


def test_a_bug_in_the_guard_lets_nobody_in(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    browser = signed_in(app, "custodian")

    def broken(*_: object) -> None:
        raise RuntimeError(CANARY)

    monkeypatch.setattr(guard, "identify", broken)
    answer = browser.get("/accounts")
    assert answer.status_code == 500
    assert CANARY not in answer.text


@pytest.mark.parametrize("name", [name for name in errors.__all__ if name not in ("DiscreetError", "MissingExtra")])
def test_every_error_of_ours_is_an_answer_with_a_next_step(name: str) -> None:
    problem = problem_of(getattr(errors, name)("What happened.", remedy="What to do."))
    expected = 503 if issubclass(getattr(errors, name), errors.StoreError) else 500 if name == "IntegrityError" else 422
    assert problem.status in ({404} if name == "NotThere" else {expected, 403, 409})
    told = (problem.problem, problem.remedy) == ("What happened.", "What to do.")
    assert told == (expected == 422)  # what ails the store is not for visitors
    assert problem.problem
    assert problem.remedy


@pytest.mark.parametrize("path", ["/", "/sign-in", "/api/v1/me"])
def test_a_store_that_is_damaged_is_not_described_to_visitors(
    app: FastAPI, settings: Settings, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    browser = signed_in(app, "auditor")
    app.state.site.store.close()
    for file in Path(str(settings.store)).parent.glob("store.db*"):
        file.write_bytes(b"not a database at all" * 1000)
    answer = browser.get(path)
    assert answer.status_code == 500
    assert "not what was written" in answer.text
    assert "store.db" not in answer.text
    assert "store.db" in caplog.text


@pytest.mark.parametrize("size", [65 * 1024, 5_000_000])
@pytest.mark.parametrize("announced", [True, False])
def test_what_is_too_large_is_refused(browser: Browser, size: int, announced: bool) -> None:
    async def pieces():  # type: ignore[no-untyped-def]
        for _ in range(size // 1024):
            yield b"a" * 1024

    headers = {"Sec-Fetch-Site": "same-origin", "Content-Type": "application/x-www-form-urlencoded"}
    content = b"a" * size if announced else pieces()
    answer = browser.send("POST", "/sign-in", content=content, headers=headers)
    assert answer.status_code == 413
    assert "65,536" in answer.text


def test_a_form_has_a_type_and_few_fields(browser: Browser) -> None:
    headers = {"Sec-Fetch-Site": "same-origin"}
    as_json = browser.send("POST", "/sign-in", json={"name": "x"}, headers=headers)
    assert as_json.status_code == 415
    twice = browser.send("POST", "/sign-in", content=b"name=a&name=b", headers={**headers, "Content-Type": "application/x-www-form-urlencoded"})  # fmt: skip
    assert twice.status_code == 422
    many = "&".join(f"f{number}=x" for number in range(600)).encode()
    assert browser.send("POST", "/sign-in", content=many, headers={**headers, "Content-Type": "application/x-www-form-urlencoded"}).status_code == 400  # fmt: skip


@pytest.mark.parametrize("query", ["before=x", "since=x", "since=9999-99-99", f"subject={'x' * 600}"])
def test_a_wrong_question_to_the_ledger_is_answered_in_words(app: FastAPI, query: str) -> None:
    answer = signed_in(app, "auditor").get(f"/ledger?{query}")
    assert answer.status_code == 422
    assert "Next" in answer.text
