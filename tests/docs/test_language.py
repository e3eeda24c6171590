"""Pages say the same thing with the same word, in British spelling."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, name

INSTEAD = {
    r"\w*(?:anonym|general|recogn|organ|normal|minim|maxim|optim|summar)iz\w*": "-is-, as in anonymise",
    r"analyz\w*|behavior\w*|colors?|favorite|centers?|catalogs?|labeled|modeled|licenses?": "British spelling",
    r"datasets?": "data set",
    r"intruders?|snoopers?": "adversary",
    r"audit logs?|audit trails?": "ledger",
    r"postcodes?|postal codes?": "ZIP code",
    r"years? of birth": "birth year",
    r"web apps?": "web application",
    r"e\.g\.|i\.e\.": "such as; that is",
    r"utili[sz]e\w*": "use",
    r"equivalence classes": "classes",
}
CODE = re.compile(r"^```.*?^```|`[^`\n]*`|\]\([^)]*\)|<!--.*?-->", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=name)
def test_the_same_word_for_the_same_thing(page: Path) -> None:
    words = CODE.sub(" ", page.read_text(encoding="utf-8"))
    for other, ours in INSTEAD.items():
        found = re.search(rf"\b(?:{other})\b", words, re.IGNORECASE)
        assert not found, f"{found[0]}: say {ours}"


def test_other_words_are_noticed() -> None:
    words = CODE.sub(" ", "An anonymized `dataset` of the intruder.\n```console\n$ color\n```\n")
    assert [ours for other, ours in INSTEAD.items() if re.search(rf"\b(?:{other})\b", words)] == [
        "-is-, as in anonymise",
        "adversary",
    ]
