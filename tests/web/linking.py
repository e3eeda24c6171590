"""Reviewing over HTTP as the page does it: forms are read from the page, and sent as they stand there."""

from __future__ import annotations

import html
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI

from discreet.linkage.project import Project
from discreet.linkage.review.assignments import Limits, assign
from tests.linkage.worlds import registered
from tests.web.client import Browser


@dataclass(frozen=True)
class Shown:
    """A page of a pair, as far as tests care."""

    text: str

    @property
    def nonce(self) -> str:
        """What names a click on this page."""
        return re.findall(r'name="key" value="([0-9a-f]{32})"', self.text)[0]

    @property
    def seen(self) -> str:
        """The state it was shown in."""
        return re.findall(r'name="seen" value="(\d+)"', self.text)[0]

    @property
    def cells(self) -> list[str]:
        """The cells that can be opened, as the form names them."""
        return re.findall(r'<button name="cell" value="(\d+)"', self.text)

    @property
    def meters(self) -> list[str]:
        """What both meters say."""
        return [html.unescape(one) for one in re.findall(r'aria-valuetext="([^"]+)"', self.text)]

    def values(self) -> list[str]:
        """What stands in the cells, row by row."""
        found = re.findall(
            r'<span class="mask" aria-hidden="true">(.*?)</span><span class="(?:frequency|unseen)"', self.text, re.S
        )
        return [html.unescape(re.sub(r"<[^>]+>", "", one)) for one in found]

    def form(self, cell: int | str, **more: Any) -> dict[str, str]:
        """The form of one cell."""
        return {"key": self.nonce, "seen": self.seen, "cell": str(cell), **more}


def page_of(browser: Browser, project: Project, pair: int) -> Shown:
    """The page of a pair."""
    answer = browser.get(f"/linkage/{project.id}/pairs/{pair}")
    assert answer.status_code == 200, answer.text
    return Shown(answer.text)


def click(browser: Browser, project: Project, pair: int, form: dict[str, str]) -> httpx.Response:
    """Send the form of a cell."""
    return browser.post(f"/linkage/{project.id}/pairs/{pair}/reveal", form)


def decide(browser: Browser, project: Project, pair: int, choice: int) -> httpx.Response:
    """Answer a pair."""
    return browser.post(f"/linkage/{project.id}/pairs/{pair}/decide", {"choice": str(choice)})


def given_out(
    app: FastAPI,
    folder: Path,
    workers: Sequence[str] = ("worker",),
    *,
    limits: Limits | None = None,
    overlap: int | None = None,
    **settings: Any,
) -> Project:
    """A project whose pairs everybody has, in an order that is always the same."""
    ledger = app.state.site.ledger
    project = registered(ledger, folder, **settings)
    many = overlap or len(workers)
    assign(ledger, project, list(workers), actor="manager", overlap=many, limits=limits, rng=random.Random(1))
    return project
