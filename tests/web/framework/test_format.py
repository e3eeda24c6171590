"""One word for one thing, on every page and in the documentation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from discreet.web.framework.permissions import PLACES
from discreet.web.framework.shared_state import FOLDER, REMARKS
from discreet.web.routes import MEANINGS

DOCS = Path(__file__).parents[3] / "docs"
INSTEAD = {
    r"datasets?": "data set",
    r"receivers?": "recipient",
    r"quotas?": "budget",
    r"log(ged)? in|sign(ed)? on": "sign in",
    r"log(ged)? out|sign(ed)? off(?! as)": "sign out",
    r"oops|click here|invalid": "what happened, in words",
}
"""Words that are not used, and what is said in their place."""


def visible(template: str) -> str:
    """What a page says, without markup and what the server puts in."""
    without = re.sub(r"\{#.*?#\}|\{%.*?%\}|<(script|style|pre|code)\b.*?</\1>", " ", template, flags=re.S)
    literals = " ".join(re.findall(r'"([A-Z][^"]+)"', " ".join(re.findall(r"\{[{%].*?[}%]\}", template, re.S))))
    return re.sub(r"\{\{.*?\}\}|<[^>]+>", " ", without, flags=re.S) + " " + literals


def test_every_place_of_the_menu_is_explained() -> None:
    assert [place.name for place in PLACES if not place.purpose] == []


@pytest.mark.parametrize("word", INSTEAD)
def test_other_words_are_not_used_on_pages(word: str) -> None:
    texts = {path.name: visible(path.read_text(encoding="utf-8")) for path in (FOLDER / "templates").glob("*.html")}
    texts["remarks"] = " ".join(REMARKS.values())
    texts["help"] = " ".join([*MEANINGS.values(), *(place.purpose for place in PLACES)])
    found = {name: match[0] for name, text in texts.items() if (match := re.search(rf"\b({word})\b", text, re.I))}
    assert found == {}, INSTEAD[word]


def test_words_are_seen() -> None:
    assert "dataset" in visible('<p>Your dataset {{ ui.empty("No dataset yet") }}</p>')
    assert "dataset" not in visible('<a href="/datasets">{{ dataset.name }}</a>{% if dataset %}x{% endif %}')
    assert re.search(r"\b(datasets?)\b", "a dataset", re.I)


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda path: path.name)
def test_the_documentation_says_data_set(page: Path) -> None:
    text = re.sub(r"```.*?```|`[^`]*`|\]\([^)]*\)", " ", page.read_text(encoding="utf-8"), flags=re.S)
    assert not re.search(r"\b(datasets?|receivers?|quotas?)\b", text, re.I)
