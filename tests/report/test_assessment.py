"""The page: one well-formed document that loads nothing, tells nobody's value and never changes by itself."""

from __future__ import annotations

import dataclasses
import html
import re
from pathlib import Path

import pytest

from discreet import Policy, Table, profile, read
from discreet.report import assessment_page
from discreet.report.toolkit.page import without_password
from discreet.risk import assess
from tests.report.documents import (
    check_landmarks_and_headings,
    check_that_names_and_links_meet,
    check_that_nothing_is_loaded_or_runs,
)
from tests.report.samples import HOSTILE, WHEN, Outline, every_kind, page, people_profile

KINDS = dict(every_kind())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("profiled", [True, False], ids=["profile", "plain"])
def test_the_page_is_well_formed_and_small(kind: str, profiled: bool) -> None:
    markup = page(KINDS[kind], profile=people_profile() if profiled else None)
    Outline(markup)
    assert markup.startswith('<!doctype html>\n<html lang="en-GB">')
    assert len(markup.encode()) < 200_000


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_loaded_and_nothing_runs(kind: str) -> None:
    outline = Outline(page(KINDS[kind], profile=people_profile()))
    check_that_nothing_is_loaded_or_runs(outline)
    assert "@import" not in "".join(text for tag, text in outline.texts if tag == "style")


def test_the_content_policy_forbids_everything_but_its_own_style() -> None:
    outline = Outline(page(KINDS["safe"]))
    policy = next(meta for meta in outline.all("meta") if meta.get("http-equiv") == "Content-Security-Policy")
    assert policy["content"] == "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


@pytest.mark.parametrize("kind", KINDS)
def test_names_and_links_meet(kind: str) -> None:
    outline = Outline(page(KINDS[kind], profile=people_profile()))
    check_that_names_and_links_meet(outline)


def test_landmarks_and_headings_are_in_order() -> None:
    outline = Outline(page(KINDS["sensitive, economics"], profile=people_profile()))
    check_landmarks_and_headings(outline)
    sections = [attributes["id"] for attributes in outline.all("section")]
    assert sections == ["findings", "evidence", "columns", "measured", "remains", "parameters", "method", "reproduce"]


def test_every_table_has_a_caption_and_headers() -> None:
    outline = Outline(page(KINDS["sensitive, economics"], profile=people_profile()))
    assert len(outline.all("table")) == len(outline.all("caption")) >= 8
    assert all(attributes["scope"] in ("row", "col") for attributes in outline.all("th"))


def test_every_picture_has_a_title_and_a_description() -> None:
    outline = Outline(page(KINDS["sensitive, economics"], profile=people_profile()))
    pictures = len(outline.all("svg"))
    assert {attributes["role"] for attributes in outline.all("svg")} == {"img"}
    assert len(outline.all("desc")) == pictures == len(outline.all("title")) - 1


@pytest.mark.parametrize("hostile", [HOSTILE, "a\x00b\x1b[31m", "\u202eevil", "`tick`", "x" * 5_000])
def test_hostile_names_are_only_text(hostile: str) -> None:
    plain = Outline(page(KINDS["hostile"], source="name"))
    markup = page(KINDS["hostile"], source=hostile)
    outline = Outline(markup)
    kinds = [tag for tag, _ in outline.tags if tag != "code"]
    assert kinds == [tag for tag, _ in plain.tags if tag != "code"]
    assert not set(markup) & {"\x00", "\x1b", "\u202e"}
    assert "<b>&quot;" not in markup
    assert HOSTILE in html.unescape(markup)


def test_the_same_input_gives_the_same_page() -> None:
    first, second = (page(dict(every_kind())["sensitive, economics"], profile=people_profile()) for _ in range(2))
    assert first == second


def test_date_version_and_command_are_what_was_given() -> None:
    markup = page(KINDS["safe"])
    assert f'<time datetime="{WHEN.isoformat()}">4 March 2025, 09:05 UTC</time>' in markup
    assert "Made with Discreet 0.1.0" in markup
    assert "<code>discreet assess people.csv --policy policy.toml</code>" in markup


def test_the_verdict_is_said_in_words() -> None:
    assert "Above the limit" in page(KINDS["one unique"])
    assert "Within the limit" in page(KINDS["safe"])


def test_passwords_in_addresses_do_not_travel_with_the_report() -> None:
    for command in (
        "discreet assess postgresql://ann:s3cr@t@db.example/x?table=t",
        "discreet assess 'postgresql://db.example/x?user=ann&password=s3cr@t&table=t'",
        "discreet assess 'host=db password=s3cr@t'",
    ):
        shown = without_password(command)
        assert "s3cr" not in shown
        assert "***" in shown
    assert without_password("discreet assess people.csv") == "discreet assess people.csv"


def test_from_a_file_with_a_policy(tmp_path: Path) -> None:
    rows = [f"{20 + row % 50},{'FM'[row % 2]},10{row % 9:03},{'flu' if row % 3 else 'angina'}" for row in range(300)]
    data = tmp_path / "patients.csv"
    data.write_text("age,sex,zip,diagnosis\n" + "\n".join(rows) + "\n", encoding="utf-8")
    policy = Policy.from_dict(
        {
            "columns": {
                "age": {"role": "quasi", "hierarchy": {"widths": [5, 10]}},
                "sex": {"role": "quasi"},
                "zip": {"role": "quasi", "hierarchy": {"mask": 5}},
                "diagnosis": {"role": "sensitive", "hierarchy": {"any": "*"}},
            },
            "limits": {"threshold": 0.1, "at_risk": 0.05},
        }
    )
    table = read(data, policy=policy)
    markup = _report(table, policy)
    Outline(markup)
    assert policy.digest in markup
    assert "15 people (5" in markup
    assert not re.search(r"\b(flu|angina|10\d{3})\b", markup)


def _report(table: Table, policy: Policy) -> str:
    assessment = assess(table, population=90_000)
    return assessment_page(
        assessment,
        title="Patients",
        source="patients.csv",
        created=WHEN,
        command="discreet assess patients.csv",
        version="0.1.0",
        policy=policy,
        profile=profile(table),
    )


def test_many_sensitive_columns_become_a_list() -> None:
    one = KINDS["sensitive"]
    measures = one.inference["illness"]
    many = dataclasses.replace(one, inference={f"column {place}": measures for place in range(12)})
    outline = Outline(page(many))
    assert len([item for item in outline.all("li") if item.get("class") == "card"]) == 6
    assert any("Further findings" in text for _, text in outline.texts)
