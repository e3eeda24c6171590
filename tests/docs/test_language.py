"""What people read uses the terms of the field, plain pronouns and verbs, and British spelling."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import pytest

from discreet import errors
from discreet.cli.main import cli
from discreet.web.framework.site import FOLDER
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

NOT_YET = {
    "docs/how-to/anonymise.md": 4,
    "docs/how-to/ask-experts-in-the-browser.md": 3,
    "docs/how-to/assess-in-the-browser.md": 5,
    "docs/how-to/check-whether-a-release-can-be-traced.md": 3,
    "docs/how-to/deter-an-adversary.md": 11,
    "docs/how-to/find-candidate-pairs.md": 2,
    "docs/how-to/find-out-how-sensitive-a-value-is.md": 1,
    "docs/how-to/find-unusual-users.md": 17,
    "docs/how-to/keep-a-head.md": 3,
    "docs/how-to/link-two-tables-in-the-browser.md": 3,
    "docs/how-to/put-a-gateway-before-postgresql.md": 1,
    "docs/how-to/read-your-data.md": 1,
    "docs/how-to/release-in-the-browser.md": 2,
    "docs/how-to/release-to-several-recipients.md": 7,
    "docs/how-to/report-on-a-project.md": 6,
    "docs/how-to/review-pairs-in-the-browser.md": 3,
    "docs/how-to/review-pairs.md": 9,
    "docs/how-to/run-the-web-app.md": 4,
    "docs/how-to/score-a-result.md": 2,
    "docs/how-to/see-who-has-seen-how-much.md": 4,
    "docs/how-to/trace-a-leak.md": 3,
    "docs/how-to/use-the-attacker-lab.md": 13,
    "docs/how-to/write-a-policy.md": 1,
    "docs/reference/api.md": 4,
    "docs/reference/commands.md": 26,
    "docs/reference/deterrence.md": 1,
    "docs/reference/errors.md": 2,
    "docs/reference/json.md": 11,
    "docs/reference/ledger.md": 5,
    "docs/reference/link-file.md": 1,
    "docs/reference/policy-file.md": 4,
    "docs/reference/python.md": 5,
    "docs/reference/roles.md": 6,
    "docs/start/first-adversary.md": 22,
    "docs/start/first-anonymous-table.md": 4,
    "docs/start/first-assessment.md": 7,
    "docs/start/first-gateway.md": 11,
    "docs/start/first-ledger.md": 6,
    "docs/start/first-linkage.md": 3,
    "docs/start/first-misuse-score.md": 15,
    "docs/start/first-release.md": 5,
    "docs/start/first-report.md": 2,
    "docs/start/first-web-app.md": 4,
    "README.md": 3,
    "CONTRIBUTING.md": 4,
    "discreet anonymise --help": 1,
    "discreet attack --help": 5,
    "discreet attack sweep --help": 2,
    "discreet attack table --help": 6,
    "discreet attack thresholds --help": 2,
    "discreet gateway --help": 1,
    "discreet link assign --help": 2,
    "discreet misuse anomalies --help": 3,
    "discreet release add-recipient --help": 1,
    "discreet release attack --help": 2,
    "discreet release make --help": 1,
    "discreet release plan --help": 1,
    "discreet release retire --help": 1,
    "discreet release show --help": 1,
    "discreet trace claims --help": 2,
    "discreet trace leak --help": 2,
    "src/discreet/web/templates/accounts.html": 1,
    "src/discreet/web/templates/dataset_attacker.html": 2,
    "src/discreet/web/templates/dataset_new.html": 1,
    "src/discreet/web/templates/dataset_protect.html": 1,
    "src/discreet/web/templates/gateway_limits.html": 2,
    "src/discreet/web/templates/gateway_user.html": 1,
    "src/discreet/web/templates/gateway_why.html": 1,
    "src/discreet/web/templates/jobs.html": 1,
    "src/discreet/web/templates/lab.html": 2,
    "src/discreet/web/templates/lab_result.html": 4,
    "src/discreet/web/templates/linkage_project.html": 3,
    "src/discreet/web/templates/question.html": 1,
    "src/discreet/web/templates/release.html": 1,
    "src/discreet/web/templates/release_board.html": 1,
    "src/discreet/web/templates/release_plan.html": 2,
    "src/discreet/web/templates/start.html": 1,
    "src/discreet/web/templates/study_new.html": 2,
    "discreet.errors": 2,
    "errors of discreet.anonymity": 6,
    "errors of discreet.attacker": 9,
    "errors of discreet.cli": 3,
    "errors of discreet.kernel": 1,
    "errors of discreet.ledger": 2,
    "errors of discreet.linkage": 2,
    "errors of discreet.misuse": 2,
    "errors of discreet.people": 1,
    "errors of discreet.releases": 8,
    "errors of discreet.sources": 1,
    "errors of discreet.sql": 1,
    "errors of discreet.store": 1,
    "errors of discreet.web": 19,
}
"""How many words that are not plain a place may still have. The list only gets shorter; `python -m tests.docs.test_language` prints it."""


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
    more = {place: words for place, words in found.items() if len(words) > NOT_YET.get(place, 0)}
    assert more == {}, "write these in plain words"
    done = [place for place in NOT_YET if not found.get(place)]
    assert done == [], "take these off the list NOT_YET: they are done"


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
    assert "generalisation" in read["discreet anonymise --help"]
    assert "policy" in read["errors of discreet.web"]
    assert sum(place.endswith(".html") for place in read) > 50


if __name__ == "__main__":
    counted = {place: len(hits(text, PLAIN)) for place, text in places().items()}
    sys.stdout.writelines(f'    "{place}": {many},\n' for place, many in counted.items() if many)
