"""The page of an anonymised table: one well-formed document that loads nothing and tells nobody's value."""

from __future__ import annotations

import html
import re

import pytest

from discreet import Policy
from discreet.anonymity import anonymise
from discreet.report import anonymised_page
from discreet.risk import assess
from tests.report.anonymisation_samples import KINDS, nodes, page, synthetic, town
from tests.report.documents import (
    check_landmarks_and_headings,
    check_that_names_and_links_meet,
    check_that_nothing_is_loaded_or_runs,
)
from tests.report.samples import HOSTILE, WHEN, Outline

PAGES = {kind: page(case) for kind, case in KINDS.items()}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("full", [True, False], ids=["full", "plain"])
def test_the_page_is_well_formed_and_small(kind: str, full: bool) -> None:
    markup = PAGES[kind] if full else page(KINDS[kind], full=False)
    Outline(markup)
    assert markup.startswith('<!doctype html>\n<html lang="en-GB">')
    assert len(markup.encode()) < 200_000


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_loaded_and_nothing_runs(kind: str) -> None:
    outline = Outline(PAGES[kind])
    check_that_nothing_is_loaded_or_runs(outline)
    policy = next(meta for meta in outline.all("meta") if meta.get("http-equiv") == "Content-Security-Policy")
    assert policy["content"] == "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


@pytest.mark.parametrize("kind", KINDS)
def test_names_and_links_meet(kind: str) -> None:
    outline = Outline(PAGES[kind])
    check_that_names_and_links_meet(outline)


@pytest.mark.parametrize("kind", KINDS)
def test_landmarks_headings_tables_and_pictures_are_in_order(kind: str) -> None:
    outline = Outline(PAGES[kind])
    check_landmarks_and_headings(outline)
    sections = [attributes["id"] for attributes in outline.all("section")]
    assert sections == ["findings", "evidence", "done", "remains", "parameters", "method", "reproduce"]
    assert len(outline.all("table")) == len(outline.all("caption"))
    assert len(outline.all("desc")) == len(outline.all("svg")) == len(outline.all("title")) - 1


def test_every_finding_leads_to_what_proves_it() -> None:
    outline = Outline(PAGES["optimal"])
    proofs = [attributes["href"] for attributes in outline.all("a")][7:]
    assert proofs == ["#crowd", "#kept", "#risk", "#certificate"]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("optimal", ["Within the limit", "Nothing better exists"]),
        ("above the limit", ["Above the limit", "Nothing better exists"]),
        ("by class", ["Within the limit", "Recoded class by class"]),
        ("stopped", ["Within the limit", "Best found, not proven"]),
        ("ola", ["Within the limit", "Best found, not proven"]),
        ("everybody left out", ["Nobody is published"]),
    ],
)
def test_the_verdict_is_said_in_words(kind: str, words: list[str]) -> None:
    pills = re.findall(r'<span class="pill \w+"><span aria-hidden="true">.</span> ([^<]*)</span>', PAGES[kind])
    assert pills == words


@pytest.mark.parametrize("hostile", [HOSTILE, "a\x00b\x1b[31m", "\u202eevil", "`tick`", "x" * 5_000])
def test_hostile_names_are_only_text(hostile: str) -> None:
    plain, markup = Outline(page(KINDS["hostile"], source="name")), page(KINDS["hostile"], source=hostile)
    kinds = [tag for tag, _ in Outline(markup).tags if tag != "code"]
    assert kinds == [tag for tag, _ in plain.tags if tag != "code"]
    assert not set(markup) & {"\x00", "\x1b", "\u202e"}
    assert "<b>&quot;" not in markup
    assert HOSTILE in html.unescape(markup)


def test_no_value_of_a_person_is_told() -> None:
    values = {str(label) for column in town().columns for labels in column.hierarchy.labels for label in labels}
    texts = " ".join(text for tag, text in Outline(PAGES["optimal"]).texts if tag not in ("style", "title"))
    assert not re.search(r"\[\d+, \d+\)|\b1\d[*]|[*]{2}", texts)
    assert values & {"[20, 25)", "10*", "***"} != set()


@pytest.mark.parametrize(
    ("kind", "cited", "not_cited"),
    [
        ("optimal", ["Samarati", "Iyengar"], ["El Emam, K. et al.", "LeFevre", "Machanavajjhala", "Li, N.", "Nergiz"]),
        ("ola", ["El Emam, K. et al. (2009)"], ["LeFevre"]),
        ("by class", ["LeFevre"], ["El Emam, K. et al."]),
        ("diverse", ["Machanavajjhala", "Li, N.", "Wong"], ["Nergiz"]),
        ("population", ["Nergiz", "Sweeney, L. (2002). k-anonymity"], ["Machanavajjhala"]),
        ("aecs", ["LeFevre"], ["Iyengar"]),
        ("discernibility", ["Bayardo"], ["Iyengar"]),
        ("entropy", ["Gionis"], ["Iyengar"]),
        ("precision", ["Achieving k-anonymity"], ["Iyengar"]),
        ("somebody alone", ["El Emam, K. &amp; Dankar"], ["Nergiz"]),
    ],
)
def test_only_what_was_used_is_cited(kind: str, cited: list[str], not_cited: list[str]) -> None:
    references = PAGES[kind].split("<h3>References</h3>")[1].split("</section>")[0]
    assert all(name in references for name in cited)
    assert not any(name in references for name in not_cited)


def test_what_was_required_and_what_remains() -> None:
    text = PAGES["optimal"]
    assert "<li>every class has at least 5 people</li>" in text
    assert "At most 6 people (5\xa0%) may be left out; 6 people are left out." in text
    assert "The people left out are those with rare values" in text
    assert "Values of one column overlap" in PAGES["by class"]
    assert "(Wong et al. 2007)" in PAGES["diverse"]
    assert "Nobody is left out." in PAGES["nothing suppressed"]


def test_parameters_name_the_search_and_the_policy() -> None:
    policy = Policy.from_dict({"columns": {"age": {"role": "quasi", "hierarchy": {"widths": [5, 10]}}}})
    classes = town()
    found = anonymise(classes, k=5)
    markup = anonymised_page(
        found,
        before=assess(classes),
        after=found.assess(),
        title="Town",
        source="town.csv",
        created=WHEN,
        command="discreet anonymise 'postgresql://ann:s3cret@host/db?table=t'",
        version="0.1.0",
        policy=policy,
    )
    assert policy.digest in markup
    assert "<code>optimal</code>" in markup
    assert "s3cret" not in markup
    assert f'<time datetime="{WHEN.isoformat()}">4 March 2025, 09:05 UTC</time>' in markup


def test_a_lattice_of_12_960_combinations_fits() -> None:
    seen = synthetic(2, 5, 2, 3, 4, 3, 3, 3, 2)
    markup = page(KINDS["by class"], lattice=seen)
    Outline(markup)
    assert len(seen) == 12_960
    assert len(markup.encode()) < 300_000


def test_the_same_input_gives_the_same_page() -> None:
    assert page(KINDS["optimal"]) == PAGES["optimal"]
    assert nodes(KINDS["optimal"]) != ()
