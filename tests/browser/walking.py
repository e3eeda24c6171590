"""Walking through pages as people do: by keyboard, watched, looked over for barriers, and photographed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from fastapi import FastAPI
from playwright.sync_api import Browser, Locator, Page, Playwright

from tests.web.client import PASSWORD

SCREENSHOTS = "DISCREET_SCREENSHOTS"
"""The environment variable that names a folder for screenshots; without it none are kept."""
MOST_TABS = 150
NARROW = 360
Visit = Callable[..., Page]
"""The fixture `visit`: gives a page on which somebody has signed in."""
MISSING = "chromium is missing: apt-get install chromium, or name one in DISCREET_TEST_CHROMIUM"


@dataclass(frozen=True)
class Look:
    """How somebody looks at a page."""

    name: str
    width: int
    scheme: Literal["light", "dark"]

    @property
    def window(self) -> dict[str, Any]:
        """The same for `visit`."""
        return {"viewport": {"width": self.width, "height": 900}, "color_scheme": self.scheme}


LOOKS = [
    pytest.param(Look(name, width, scheme), id=name, marks=marks)
    for name, width, scheme, marks in (
        ("light", 1280, "light", ()),
        ("narrow", NARROW, "dark", pytest.mark.slow),
        ("dark", 1280, "dark", pytest.mark.slow),
        ("window", 1024, "light", pytest.mark.slow),
        ("half", 700, "light", pytest.mark.slow),
        ("double", 640, "light", pytest.mark.slow),
    )
]
"""The last one is 1280 pixels at 200 % zoom: half as many CSS pixels."""
every_look = pytest.mark.parametrize("look", LOOKS)
"""For tests that look at pages in all ways; in every run the first, in which `flaws` looks twice."""


@dataclass(frozen=True)
class Place:
    """A running server."""

    app: FastAPI
    origin: str


@dataclass
class Watch:
    """Writes down what must not happen on a page."""

    page: Page
    origin: str
    found: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("console", lambda message: self._console(message.type, message.text))
        self.page.on("pageerror", lambda error: self.found.append(f"script: {error}"))
        self.page.on("request", lambda request: self._request(request.url))

    def _console(self, kind: str, text: str) -> None:
        status = text.startswith("Failed to load resource: the server responded")  # an error page that was asked for
        if "Content Security Policy" in text or (kind == "error" and not status):
            self.found.append(f"console: {text}")

    def _request(self, address: str) -> None:
        local = self.origin.replace("127.0.0.1", "localhost")
        if not address.startswith((f"{self.origin}/", f"{local}/", "data:")):
            self.found.append(f"request to {address}")


def launched(playwright: Playwright) -> Browser:
    """Debian's chromium, or the one that the environment names; a test without one fails."""
    names = ("chromium-headless-shell", "chromium", "chromium-browser")
    path = os.environ.get("DISCREET_TEST_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if path is None:
        pytest.fail(MISSING)
    options = ["--no-sandbox"] if os.geteuid() == 0 else []  # its sandbox does not work for root
    return playwright.chromium.launch(executable_path=path, args=options)


def tab_to(page: Page, wanted: Locator) -> None:
    """Press Tab until the focus is there; fails if the keyboard does not lead there."""
    target = wanted.element_handle()
    for _ in range(MOST_TABS):
        if page.evaluate("element => document.activeElement === element", target):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not lead to {wanted}")


def press(page: Page, wanted: Locator, key: str = "Enter") -> None:
    """Go to a link or a button by Tab and press a key; waits for the page that it leads to."""
    tab_to(page, wanted)
    with page.expect_navigation():
        page.keyboard.press(key)


def type_into(page: Page, label: str, text: str) -> None:
    """Go to a field by Tab and type."""
    tab_to(page, page.get_by_label(label, exact=True))
    page.keyboard.press("Control+a")
    page.keyboard.type(text)


def sign_in_by_keyboard(page: Page, name: str, password: str = PASSWORD) -> None:
    """Sign in without a mouse."""
    type_into(page, "Name of your account", name)
    type_into(page, "Password", password)
    page.keyboard.press("Enter")
    page.wait_for_url("**/")


def barriers(page: Page) -> list[str]:
    """What axe-core finds: the rule and where."""
    return _barriers(page)


def _barriers(page: Page, **options: Any) -> list[str]:
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    violations = page.evaluate(
        "how => axe.run(how).then(found => found.violations)", {"resultTypes": ["violations"], **options}
    )
    return [
        f"{violation['id']}: {node['html'][:200]} ({violation['help']})"
        for violation in violations
        for node in violation["nodes"]
    ]


def sideways(page: Page) -> int:
    """By how many pixels the page is wider than its window; what scrolls in a frame of its own does not count."""
    width: int = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return width


def flaws(page: Page, look: Look) -> list[str]:
    """Barriers, and what does not fit; of a light page also at night in a narrow window, without asking for it anew."""
    found = [*barriers(page), *_too_wide(page)]
    if look.name != "light":
        return found
    page.set_viewport_size({"width": NARROW, "height": 900})
    page.emulate_media(color_scheme="dark")
    found += [*_barriers(page, runOnly={"type": "rule", "values": ["color-contrast"]}), *_too_wide(page)]
    page.set_viewport_size({"width": look.width, "height": 900})
    page.emulate_media(color_scheme="light")
    return found


def _too_wide(page: Page) -> list[str]:
    return [f"{sideways(page)} pixels too wide"] if sideways(page) else []


def photograph(page: Page, name: str) -> None:
    """Keep a picture of the whole page, if a folder is named."""
    if folder := os.environ.get(SCREENSHOTS):
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)
