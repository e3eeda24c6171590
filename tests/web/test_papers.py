"""The pages of the papers, from the help of the application."""

from __future__ import annotations

import pytest
from fastapi import FastAPI

from discreet.web.routes import PAPERS
from tests.web.client import signed_in
from tests.web.release_data import words_of


@pytest.mark.parametrize("paper", ["mindfirl", "mscore"])
def test_a_paper_is_taken_from_the_help_page(app: FastAPI, paper: str) -> None:
    browser = signed_in(app, "worker")
    assert PAPERS[paper] in words_of(browser.get("/about"))
    answer = browser.post("/about/papers", {"paper": paper})
    assert answer.status_code == 200
    assert answer.headers["content-disposition"] == f'attachment; filename="{paper}.html"'
    assert "Every item" in answer.text
    assert browser.post("/about/papers", {"paper": "../etc"}).status_code == 422


def test_every_paper_has_its_module() -> None:
    from discreet.cli.verbs import reproduce

    assert list(PAPERS) == list(reproduce.PAPERS)
