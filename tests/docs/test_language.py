"""What people read uses the terms of the field, plain pronouns and verbs, and British spelling."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import pytest

from discreet import errors
from discreet.cli.main import cli
from discreet.web.framework.shared_state import FOLDER
from tests.docs.pages import DOCS, PAGES, ROOT, name

SOURCE = ROOT / "src" / "discreet"
EXPLAIN = sorted((DOCS / "explain").glob("*.md"))
CODE = re.compile(r"^```.*?^```|`[^`\n]*`|\]\([^)]*\)|<!--.*?-->", re.DOTALL | re.MULTILINE)
TEMPLATE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)

INSTEAD = {
    r"\w*(?:anonym|general|recogn|organ|normal|minim|maxim|optim|summar)iz\w*": "-is-, as in anonymise",
    r"analyz\w*|behavior\w*|colors?|favorite|centers?|catalogs?|labeled|modeled|licenses?": "British spelling",
    r"datasets?": "data set",
    r"intruders?|snoopers?": "attacker",
    r"postcodes?|postal codes?": "ZIP code",
    r"years? of birth": "birth year",
    r"web apps?": "web application",
    r"e\.g\.|i\.e\.": "such as; that is",
    r"utili[sz]e\w*": "use",
}
"""Other words for the same thing, and the word that a page uses."""

STANDARD = {
    r"class(?:es)?": r"equivalence class(?:es)?",
    r"look(?:s)? alike": r"quasi-identifiers?",
    r"ledger": r"audit log",
    r"fewer than k|smaller than k|guarantees? k|preserves? k|at least k": r"k-anonym\w+",
    r"diversity": r"l-diversity",
    r"closeness": r"t-closeness",
    r"(?:the|planning) attacker": r"adversar(?:y|ies)",
    r"one random guess": r"prosecutor",
    r"decision process": r"Markov decision process",
    r"misuse scores?": r"M-score",
    r"masked (?:cells?|display)": r"KAPR",
    r"collu\w+": r"fingerprint\w*",
    r"accused|accusations?": r"false-positive rate",
    r"exploits?": r"re-identif\w+",
}
"""A word of ours, and the standard term that a page must name at least once if it uses that word."""

PLAIN = {
    r"he|she|him|his|hers?|himself|herself": "a role noun (the attacker, the reviewer) or they",
    r"whoever": "anyone who, the person who",
    r"somebody": "a person, or a role noun",
    r"anew": "again",
    r"told": "said, reported, informed, distinguished",
    r"lies": "is, is stored",
    r"stands?(?![ -](?:alone|for|out|by)\b)": "is, is recorded",
}
"""Words that no reader should meet, and plain ones. A word is allowed in code, links and the output of a program."""

PRIVATE = {
    r"rooms?(?! left)": "package, part of Discreet",
    r"desks?": "page",
    r"crowds?": "anonymity set, class",
    r"the house": "Discreet",
}
"""Words of those who build it, which mean something else to those who use it."""
TAG = re.compile(r"<[^>]*>")


def prose(text: str) -> str:
    """A page without its code, the targets of its links and its comments."""
    return CODE.sub(" ", text)


def hits(text: str, patterns: dict[str, str]) -> list[str]:
    """What is found of the patterns, each with the words around it and what to say instead."""
    return [
        f"{text[max(0, found.start() - 30) : found.end() + 30].strip()!r}: instead of {found[0]} say {better}"
        for pattern, better in patterns.items()
        for found in re.finditer(rf"\b(?:{pattern})\b", text, re.IGNORECASE)
    ]


def lacking(text: str) -> list[str]:
    """Standard terms that a text should name and does not."""
    return [
        f"{found[0]}: name the {term}"
        for ours, term in STANDARD.items()
        if (found := re.search(rf"\b(?:{ours})\b", text, re.IGNORECASE))
        and not re.search(rf"\b(?:{term})\b", text, re.IGNORECASE)
    ]


def helps(command: click.Command, called: str) -> Iterator[tuple[str, str]]:
    """The help of a command and of all commands below it, with how each is called."""
    options = [option.help or "" for option in command.params if isinstance(option, click.Option)]
    yield f"{called} --help", "\n".join([command.help or "", command.epilog or "", *options])
    if isinstance(command, click.Group):
        context = click.Context(command)
        for verb in command.list_commands(context):
            found = command.get_command(context, verb)
            assert found is not None
            yield from helps(found, f"{called} {verb}")


def messages(source: str) -> str:
    """The texts of all errors that a module raises or makes."""
    found: list[str] = []
    for node in ast.walk(ast.parse(source)):
        made = getattr(node.func, "attr", getattr(node.func, "id", "")) if isinstance(node, ast.Call) else ""
        if made in errors.__all__ or isinstance(node, ast.Raise):
            parts = (part.value for part in ast.walk(node) if isinstance(part, ast.Constant))
            found += [part for part in parts if isinstance(part, str)]
    return "\n".join(dict.fromkeys(found))


@cache
def places() -> dict[str, str]:
    """Everything that people read, by the place where it is written."""
    return dict(_places())


def _places() -> Iterator[tuple[str, str]]:
    yield from ((name(page), prose(page.read_text(encoding="utf-8"))) for page in PAGES)
    yield from ((called, prose(text)) for called, text in helps(cli, "discreet"))
    for template in sorted((FOLDER / "templates").rglob("*.html")):
        yield name(template), TEMPLATE.sub(" ", template.read_text(encoding="utf-8"))
    yield "discreet.errors", errors.__doc__ or ""
    for package in sorted(folder for folder in SOURCE.iterdir() if folder.is_dir()):
        texts = (messages(module.read_text(encoding="utf-8")) for module in sorted(package.rglob("*.py")))
        yield f"errors of discreet.{package.name}", prose("\n".join(texts))


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=name)
def test_the_same_word_for_the_same_thing(page: Path) -> None:
    assert hits(prose(page.read_text(encoding="utf-8")), INSTEAD) == []


@pytest.mark.parametrize("page", EXPLAIN, ids=name)
def test_an_explanation_names_the_standard_terms(page: Path) -> None:
    assert lacking(prose(page.read_text(encoding="utf-8"))) == []


def test_explanations_use_all_words_that_have_a_standard_term() -> None:
    text = "\n".join(prose(page.read_text(encoding="utf-8")) for page in EXPLAIN)
    assert [ours for ours in STANDARD if not re.search(rf"\b(?:{ours})\b", text, re.IGNORECASE)] == []


def test_pronouns_and_verbs_are_plain() -> None:
    found = {place: hits(text, PLAIN) for place, text in places().items()}
    assert {place: words for place, words in found.items() if words} == {}, "write these in plain words"


def test_screens_speak_no_private_vocabulary() -> None:
    found = {place: hits(TAG.sub(" ", text), PRIVATE) for place, text in places().items() if "contribute/" not in place}
    assert {place: words for place, words in found.items() if words} == {}


def test_private_words_are_noticed() -> None:
    found = [
        hit.partition(": instead of ")[2].split()[0] for hit in hits("No room left in the crowd at the desk.", PRIVATE)
    ]
    assert found == ["desk", "crowd"]


def test_other_words_are_noticed() -> None:
    text = prose("An anonymized `dataset` of the intruder.\n```console\n$ color\n```\n")
    found = [hit.partition(": instead of ")[2] for hit in hits(text, INSTEAD)]
    assert found == ["anonymized say -is-, as in anonymise", "intruder say attacker"]


def test_words_that_are_not_plain_are_noticed() -> None:
    text = prose(
        "Whoever told her: `he` [stood](he.md) and stands for it, stands out, and the key lies there. She stands in the table."
    )
    found = [hit.partition(": instead of ")[2].split()[0] for hit in hits(text, PLAIN)]
    assert found == ["her", "She", "Whoever", "told", "lies", "stands"]
    assert hits("Others stand for the stand-alone verifier. The theory of the header.", PLAIN) == []


def test_missing_terms_are_noticed() -> None:
    assert lacking("Each class has k people.") == ["class: name the equivalence class(?:es)?"]
    assert lacking("Each class (equivalence class) has five people.") == []


def test_errors_and_commands_are_read() -> None:
    source = (
        'def f(x):\n    """Not this."""\n    raise Refused(f"he {x}", remedy="ask")\n\nlost = errors.DataError("she")\n'
    )
    assert sorted(messages(source).split("\n")) == ["ask", "he ", "she"]
    read = places()
    assert {"README.md", "docs/index.md", "discreet.errors"} <= read.keys()
    assert "generalised" in read["discreet anonymise --help"]
    assert "policy" in read["errors of discreet.web"]
    assert sum(place.endswith(".html") for place in read) > 50
