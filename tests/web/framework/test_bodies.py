"""What requests bring: forms, uploads within their limit, scripts that may ask for more, GETs that write an entry."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace

import pytest
from fastapi import FastAPI
from starlette.responses import PlainTextResponse, Response

from discreet.web import Settings, create_app
from discreet.web.framework.context import LIVE, Here
from discreet.web.framework.forms import Form, parse
from discreet.web.framework.problems import Problem
from discreet.web.framework.route import Route
from discreet.web.routes import ROUTES
from tests.web.client import Browser, make_accounts, signed_in
from tests.web.snapshot import entries

LIMIT = 200_000
CANARY = "Canary-Margarethe-1931"


def receive(context: Here) -> Response:
    """Says what came."""
    file = context.form.files["file"]
    return PlainTextResponse(f"{context.form.text('title')} {hashlib.sha256(file.file.read()).hexdigest()}")


def look(context: Here) -> Response:
    """A page with a script."""
    return PlainTextResponse("live")


def show(context: Here) -> Response:
    """A page that is written down before it is shown."""
    context.act("web.shown", "data:1")
    return PlainTextResponse("shown")


EXTRA = (
    Route("POST", "/test/upload", "dashboard.read", receive, body="upload"),
    Route("GET", "/test/live", "dashboard.read", look, live=True),
    Route("GET", "/test/shown", "dashboard.read", show, records=True),
)


@pytest.fixture
def worker(settings: Settings) -> Iterator[Browser]:
    app: FastAPI = create_app(replace(settings, largest_upload=LIMIT), routes=(*ROUTES, *EXTRA))
    make_accounts(app)
    yield signed_in(app, "worker")
    app.state.site.close()


def send(browser: Browser, content: bytes, **options: object) -> Response:
    files = {"file": ("people.csv", content, "text/csv")}
    return browser.send("POST", "/test/upload", files=files, data={"title": "x"}, headers={"Sec-Fetch-Site": "same-origin"}, **options)  # type: ignore[return-value]  # fmt: skip


@pytest.mark.parametrize("size", [0, 1, 70_000, LIMIT - 1_000])
def test_a_file_arrives_as_it_was_sent(worker: Browser, size: int) -> None:
    content = bytes(number % 251 for number in range(size))
    assert send(worker, content).text == f"x {hashlib.sha256(content).hexdigest()}"  # type: ignore[attr-defined]


def test_a_file_that_is_too_large_is_refused_announced_or_not(worker: Browser) -> None:
    assert send(worker, b"a" * LIMIT).status_code == 413
    assert "Send less, or register the file where it is" in send(worker, b"a" * LIMIT).text

    async def pieces() -> AsyncIterator[bytes]:
        yield b'--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
        for _ in range(LIMIT // 1_000 + 1):
            yield b"a" * 1_000
        yield b"\r\n--b--\r\n"

    headers = {"Sec-Fetch-Site": "same-origin", "Content-Type": "multipart/form-data; boundary=b"}
    assert worker.send("POST", "/test/upload", content=pieces(), headers=headers).status_code == 413


@pytest.mark.parametrize(
    ("kind", "body", "status"),
    [
        ("text/csv", b"a,b", 415),
        ("multipart/form-data", b"x", 400),
        ("multipart/form-data; boundary=b", CANARY.encode(), 400),
        ("multipart/form-data; boundary=b", b"--b\r\nContent-Disposition: form-data\r\n\r\n" + CANARY.encode() + b"\r\n--b--\r\n", 400),
        ("multipart/form-data; boundary=b", b'--b\r\nContent-Disposition: form-data; name="t"\r\n\r\n' + b"x" * 70_000 + b"\r\n--b--\r\n", 400),
    ],
)  # fmt: skip
def test_an_upload_that_is_none_is_refused_in_words(worker: Browser, kind: str, body: bytes, status: int) -> None:
    headers = {"Sec-Fetch-Site": "same-origin", "Content-Type": kind}
    answer = worker.send("POST", "/test/upload", content=body, headers=headers)
    assert answer.status_code == status
    assert CANARY not in answer.text
    assert "Next" in answer.text


def test_nobody_uploads_without_permission(worker: Browser) -> None:
    assert send(Browser(worker.app), b"x").status_code == 303


def test_only_a_live_page_may_ask_for_more(worker: Browser) -> None:
    assert worker.get("/test/live").headers["content-security-policy"].endswith(LIVE)
    assert "connect-src" not in worker.get("/").headers["content-security-policy"]


def test_a_page_that_is_written_down_is_an_entry_of_who_saw_it(worker: Browser) -> None:
    assert worker.get("/test/shown").text == "shown"
    assert [(one["event"], one["actor"], one["subject"]) for one in entries(worker.app)[-1:]] == [
        ("web.shown", "worker", "data:1")
    ]


@pytest.mark.parametrize("body", [b"a", b"a=%ff", b"a=\xff", b"&&", b"a=1&b"])
def test_a_form_that_cannot_be_read_is_refused(body: bytes) -> None:
    with pytest.raises(Problem, match="cannot be read"):
        parse(body)


def test_fields_are_checked() -> None:
    form = parse(b"a=+x+&b=1&b=2&n=12&z=%00&u=%E2%82%AC")
    assert (form.text("a"), form.text("missing"), form.whole("n", least=1, most=12), form.text("u")) == (
        "x",
        "",
        12,
        "\u20ac",
    )
    assert form.choices("b", ["1", "2", "3"]) == ("1", "2")
    assert Form().choices("b", ["1"]) == ()
    for wrong in (
        lambda: form.text("b"),
        lambda: form.text("z"),
        lambda: form.text("a", most=1),
        lambda: form.text("missing", empty=False),
        lambda: form.choice("a", ["y"]),
        lambda: form.choices("b", ["1"]),
        lambda: form.whole("n", least=13, most=20),
        lambda: form.whole("a", least=0, most=20),
    ):
        with pytest.raises(Problem):
            wrong()


def test_a_form_that_is_too_large_is_not_lost(app: FastAPI) -> None:
    answer = signed_in(app, "custodian").post("/tokens", {"name": "a" * 10**6})
    assert answer.status_code == 413
    assert "where what you typed is still there" in answer.text
