"""A real chromium before a real server: one browser per test worker, a fresh store and its server per test.

For tests of pages: `place` is the running server (`place.app.state.site` is its inside, `place.origin` its address),
`visit("custodian")` gives a page on which that role has signed in. Every page is watched: a violation of the content
policy, an error of a script, or a request to anywhere else fails the test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.browser.walking import Place, Watch, launched, sign_in_by_keyboard
from tests.web.loopback import serving

expect.set_options(timeout=20_000)  # machines that run tests are busy


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """The browser of this machine."""
    with sync_playwright() as playwright:
        browser = launched(playwright)
        yield browser
        browser.close()


@pytest.fixture(autouse=True)
def at_once(swift_jobs: None) -> None:
    """Jobs start at once."""


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """A server on a port that was free, with one account per role, named like the role."""
    with serving(tmp_path) as (app, origin):
        yield Place(app, origin)


@pytest.fixture
def visit(chromium: Browser, place: Place) -> Iterator[Callable[..., Page]]:
    """Gives pages: `visit()` for nobody, `visit("auditor")` for a role; options go to the browser's context."""
    contexts: list[BrowserContext] = []
    watches: list[Watch] = []

    def open_page(role: str | None = None, **options: object) -> Page:
        context = chromium.new_context(base_url=place.origin, **options)  # type: ignore[arg-type]
        contexts.append(context)
        page = context.new_page()
        watches.append(Watch(page, place.origin))
        page.goto("/sign-in")
        if role is not None:
            sign_in_by_keyboard(page, role)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert [words for watch in watches for words in watch.found] == []
