"""The page of an attack: one well-formed document that loads nothing and tells nobody's value."""

from __future__ import annotations

import html
import re
import time

import numpy as np
import pytest

from discreet import Policy
from discreet.kernel import Classes, Coded, Histogram
from discreet.report import attack_page
from tests.report.attack_samples import HIS, KINDS, page
from tests.report.documents import (
    check_landmarks_and_headings,
    check_that_names_and_links_meet,
    check_that_nothing_is_loaded_or_runs,
)
from tests.report.samples import HOSTILE, WHEN, Outline


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_is_well_formed_small_and_in_the_order_of_every_report(kind: str) -> None:
    markup = page(KINDS[kind])
    outline = Outline(markup)
    assert markup.startswith('<!doctype html>\n<html lang="en-GB">')
    assert len(markup.encode()) < 200_000
    assert not re.search(r"\b(nan|inf|None)\b", " ".join(text for tag, text in outline.texts if tag != "style"))
    check_that_nothing_is_loaded_or_runs(outline)
    check_that_names_and_links_meet(outline)
    check_landmarks_and_headings(outline)
    _check_the_order(outline)


def _check_the_order(outline: Outline) -> None:
    sections = [attributes["id"] for attributes in outline.all("section")]
    assert sections == ["findings", "evidence", "measured", "remains", "parameters", "method", "reproduce"]
    pictures = [attributes for attributes in outline.all("svg") if attributes.get("role") == "img"]
    assert len(outline.all("table")) == len(outline.all("caption")) == len(pictures) + 2
    assert len(outline.all("desc")) == len(pictures)


@pytest.mark.parametrize("hostile", [HOSTILE, "a\x00b\x1b[31m", "\u202eevil", "`tick`", "x" * 5_000])
def test_hostile_names_are_only_text(hostile: str) -> None:
    plain, markup = Outline(page(KINDS["hostile"], source="name")), page(KINDS["hostile"], source=hostile)
    kinds = [tag for tag, _ in Outline(markup).tags if tag != "code"]
    assert kinds == [tag for tag, _ in plain.tags if tag != "code"]
    assert not set(markup) & {"\x00", "\x1b", "\u202e"}
    assert HOSTILE in html.unescape(markup)


def test_no_value_of_a_person_is_told() -> None:
    texts = " ".join(text for tag, text in Outline(page(KINDS["constant"])).texts if tag != "style")
    assert not re.search(r"\bz\d+\b", texts)


def test_the_verdict_the_policy_and_the_command() -> None:
    policy = Policy.from_dict({"columns": {"zip": {"role": "quasi"}}})
    markup = attack_page(
        KINDS["constant"],
        title="Town",
        source="town.csv",
        threshold=0.2,
        exceeded=True,
        created=WHEN,
        command="discreet attack town.csv --policy p.toml",
        version="0.1.0",
        policy=policy,
    )
    assert "Above the limit" in markup
    assert "Within the limit" in page(KINDS["constant"])
    assert policy.digest in markup
    assert "<code>discreet attack town.csv --policy p.toml</code>" in markup
    assert "s3cret" not in page(KINDS["constant"])
    assert f'<time datetime="{WHEN.isoformat()}">4 March 2025, 09:05 UTC</time>' in markup


def test_method_and_limits_of_the_model_are_told() -> None:
    text = page(KINDS["constant"])
    for words in (
        "Process-driven data privacy",
        "re-identification risk. PLoS ONE",
        "rational",
        "are estimates",
        "buys it once",
    ):
        assert words in text
    assert "safe from this list only" in page(KINDS["some unlisted"])
    assert "safe from this list only" not in page(KINDS["constant"])


def test_the_same_input_gives_the_same_page() -> None:
    assert page(KINDS["rising"]) == page(KINDS["rising"])


@pytest.mark.parametrize("classes", [100_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_many_classes_take_a_moment(classes: int) -> None:
    sizes = np.random.default_rng(1).zipf(1.5, classes).clip(1, 100_000)
    codes = Coded(tuple(map(str, range(classes))), np.arange(classes))
    many = Classes.from_histogram(Histogram({"zip": codes}, sizes))
    struck = HIS.on(many, many)
    start = time.process_time()
    page(struck)
    assert time.process_time() - start < 6
