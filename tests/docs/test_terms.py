"""Pages that people work with give the standard term for a word of ours, and have no private words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, ROOT, name
from tests.docs.test_language import CODE

PLAIN = [
    *(page for folder in ("start", "how-to", "reference") for page in sorted((DOCS / folder).glob("*.md"))),
    DOCS / "explain" / "measurements.md",
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
]
PAGES = [page for page in PLAIN if page.name != "commands.md"]  # whose words are those of the commands
TERMS = {
    r"ledger": "audit log",
    r"classes": "equivalence class",
    r"diversity": "l-diversity",
    r"closeness": "t-closeness",
    r"planning attacker": "adversary",
    r"misuse scores?": "M-score",
    r"privacy risk": "KAPR",
}
"""A word of ours, and the standard term that a page which uses it must give."""
PRIVATE = re.compile(
    r"\b(?:he|she|him|his|hers?|(?:him|her)self|whoever|somebody|anew|told|stands?|lies?|kept|desks?|rooms?|the house)\b",
    re.IGNORECASE,
)
GENERATED = re.compile(r"<!-- generated:.*?<!-- end -->", re.DOTALL)
LABEL = re.compile(r"\*[^*\n]+\*")


def prose(text: str) -> str:
    """A page without code, without tables made from code, and without labels of web pages, which are in italics."""
    return LABEL.sub(" ", CODE.sub(" ", GENERATED.sub(" ", text)))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_page_gives_the_standard_term(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    given = " ".join(text.split())
    missing = [term for ours, term in TERMS.items() if re.search(rf"\b{ours}\b", prose(text)) and term not in given]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_page_has_no_private_words(page: Path) -> None:
    assert PRIVATE.findall(prose(page.read_text(encoding="utf-8"))) == []


def test_private_words_are_noticed() -> None:
    text = "Whoever is told *What he does*.\n```text\nhis\n```\n<!-- generated: roles -->\nhim\n<!-- end -->\n"
    assert PRIVATE.findall(prose(text)) == ["Whoever", "told"]
