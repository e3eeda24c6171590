"""The report as one file: whole with and without material, hostile names, and never a value of a person."""

from __future__ import annotations

import csv
import html
import json
import re
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.report.project import ProjectFile, Story, draft_project, project_page, tell
from discreet.report.project.report import running
from tests.examples import examples
from tests.report.documents import (
    check_landmarks_and_headings,
    check_that_names_and_links_meet,
    check_that_nothing_is_loaded_or_runs,
)
from tests.report.samples import HOSTILE, WHEN, Outline

SECTIONS = [
    "findings", "data", "risk", "attacker", "anonymisation", "recipients", "linkage", "queries", "ledger", "remains",
    "reproduce",
]  # fmt: skip


def page(story: Story) -> str:
    return project_page(story, created=WHEN, command="discreet report project.toml", version="0.1.0")


def section(markup: str, key: str) -> str:
    found = re.search(rf'<section id="{key}".*?</section>', markup, re.S)
    assert found is not None, key
    return found[0]


def check(markup: str) -> Outline:
    outline = Outline(markup)
    check_that_nothing_is_loaded_or_runs(outline)
    check_that_names_and_links_meet(outline)
    check_landmarks_and_headings(outline)
    assert [attributes["id"] for attributes in outline.all("section")] == SECTIONS
    assert len(outline.all("table")) == len(outline.all("caption"))
    assert len(markup.encode()) < 300_000
    return outline


def test_the_whole_story_is_well_formed(story: Story) -> None:
    markup = page(story)
    outline = check(markup)
    assert len(outline.all("figure")) == 7
    assert re.findall(r"Figure (\d)<", markup) == list("1234567")
    for words in ("south-institute", "clinic and registry", "eve", "safe.csv", "of any limit"):
        assert words in markup
    assert page(story) == markup


GONE = {
    "attacker": ({"attack": None}, "discreet attack init"),
    "anonymisation": ({"published": None}, "discreet anonymise"),
    "recipients": ({"releases": ()}, "discreet release plan"),
    "linkage": ({"linkage": ()}, "discreet link init"),
    "queries": ({"databases": ()}, "discreet gateway"),
    "ledger": ({"store": None}, "--store"),
}


@pytest.mark.parametrize("key", GONE)
def test_a_section_without_material_says_so_in_one_line_and_how_to_get_it(whole: Path, key: str) -> None:
    changes, advice = GONE[key]
    markup = page(tell(replace(ProjectFile.load(whole), **changes)))  # type: ignore[arg-type]
    check(markup)
    empty = section(markup, key)
    assert advice in html.unescape(empty)
    assert empty.count("<p>") == 1
    assert "<table" not in empty
    assert "<table" in section(page(tell(ProjectFile.load(whole))), key)


def test_the_head_stands_there_to_be_kept(story: Story) -> None:
    assert story.disclosed is not None
    shown = re.search(r'<pre class="head"><code>(.*?)</code>', page(story), re.S)
    assert shown is not None
    assert json.loads(html.unescape(shown[1])) == story.disclosed.ledger.head


def test_every_printed_page_has_title_date_head_and_number(story: Story) -> None:
    assert story.disclosed is not None
    style = running(story, WHEN)
    assert style in page(story)
    assert '"A whole story"' in style
    assert "4 March 2025, 09:05 UTC" in style
    assert story.disclosed.ledger.head["root"][:16] in style
    assert "counter(page)" in style


@pytest.mark.parametrize("title", [HOSTILE, '</style><script>alert(1)</script>"', "a\\b\nc", "\u202eevil", "x" * 200])
def test_hostile_titles_are_only_text(story: Story, title: str) -> None:
    named = replace(story, project=replace(story.project, title=title))
    markup = page(named)
    plain = Outline(page(story))
    assert [tag for tag, _ in Outline(markup).tags] == [tag for tag, _ in plain.tags]
    assert "<script" not in markup
    style = running(named, WHEN)
    assert not set(style.replace("\\", "")) & {"<", "\n", "\u202e"}
    assert style.count('"') == running(story, WHEN).count('"')


def test_no_diagnosis_name_or_day_of_birth_is_told(story: Story, whole: Path) -> None:
    told = page(story) + json.dumps(story.to_dict())
    with (whole.parent / "hospital.csv").open(encoding="utf-8", newline="") as file:
        people = list(csv.DictReader(file))
    for row in people:
        assert row["diagnosis"] not in told
        assert row["birth_date"] not in told
        assert f"{row['given_name']} {row['surname']}" not in told


VALUE = st.integers(0, 5).map(lambda number: f"canary{number}")


@settings(max_examples=examples(25), deadline=None)
@given(st.lists(st.tuples(VALUE, VALUE, VALUE, VALUE), min_size=1, max_size=12), st.booleans(), st.booleans())
def test_no_value_of_a_person_is_ever_told(people: list[tuple[str, ...]], listed: bool, shown: bool) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        names = ("who", "zip", "sex", "illness")
        for file in ("data.csv", "all.csv", "safe.csv"):
            with (folder / file).open("w", encoding="utf-8", newline="") as target:
                csv.writer(target).writerows([names, *people])
        roles = zip(names, ("identifier", "quasi", "quasi", "sensitive"), strict=True)
        policy = "".join(f'[columns.{column}]\nrole = "{role}"\n' for column, role in roles)
        (folder / "policy.toml").write_text(policy, encoding="utf-8")
        given = {"population": "all.csv" if listed else None, "published": "safe.csv" if shown else None}
        text = draft_project(title="Canaries", data="data.csv", policy="policy.toml", **given)
        found = tell(ProjectFile.parse(text, folder=folder))
        told = page(found) + json.dumps(found.to_dict()) + found._repr_html_() + repr(found)
    assert "canary" not in told
    assert found.exceeded == (found.measured.leaving.exceeded or shown)
