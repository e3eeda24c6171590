"""Hierarchies edited in the page: previewed with counts of people, saved only if they fit, each look written down."""

from __future__ import annotations

import re
import tomllib

import pytest
from fastapi import FastAPI

from tests.web.client import Browser, signed_in
from tests.web.datasets.test_pages import ended, settings, supervisor  # noqa: F401 - fixtures
from tests.web.snapshot import entries

POLICY = '[data]\nperson = "name"\nmissing = ["?"]\n[columns.age]\nrole = "quasi"\n[columns.ill]\nrole = "quasi"\n[columns.name]\nrole = "identifier"\n[columns.harm]\nrole = "sensitive"\n[sensitivity.harm]\nvalues = { low = 0.1, high = 1.0 }\n'
PEOPLE = [(str(18 + n % 40), ("flu", "cold", "asthma")[n % 3 % 2], f"p{n}", ("low", "high")[n % 2]) for n in range(120)]


@pytest.fixture
def place(app: FastAPI, supervisor: object) -> str:  # noqa: F811
    text = "age,ill,name,harm\n" + "".join(",".join(person) + "\n" for person in PEOPLE)
    custodian = signed_in(app, "custodian")
    form = {"name": "", "encoding": "utf-8"}
    answer = custodian.post("/datasets/upload", form, files={"file": ("people.csv", text)})
    here = str(answer.headers["location"].partition("?")[0])
    ended(app)
    assert custodian.post(f"{here}/policy", {"version": "1", "policy": POLICY}).status_code == 303
    return here


def form_of(column: str, kind: str, steps: str = "", listed: str = "", **more: str) -> dict[str, str]:
    return {"column": column, "kind": kind, "steps": steps, "list": listed, "version": "2", "do": "preview", **more}


def levels(page: str) -> list[tuple[int, int]]:
    """How many values each level has, and the people of the smallest."""
    found = re.findall(r"Level \d+: ([\d,]+) values?, the smallest with ([\d,]+)", page)
    return [(int(values), int(smallest)) for values, smallest in found]


def rule(browser: Browser, place: str, column: str) -> object:
    text = re.search(r'name="policy"[^>]*>\n(.*?)</textarea>', browser.get(f"{place}/policy").text, re.S)
    assert text is not None
    return tomllib.loads(text[1].replace("&#34;", '"').replace("&quot;", '"'))["columns"][column].get("hierarchy")


def test_a_rule_is_previewed_with_counts_and_saved(app: FastAPI, place: str) -> None:
    custodian = signed_in(app, "custodian")
    page = custodian.get(f"{place}/hierarchy?column=age").text
    assert levels(page) == [(40, 3)]
    before = len(entries(app))
    page = custodian.post(f"{place}/hierarchy", form_of("age", "widths", "10, 20")).text
    decades = {age: sum(int(person[0]) // 10 == age for person in PEOPLE) for age in (1, 2, 3, 4, 5)}
    assert levels(page) == [(40, 3), (5, min(decades.values())), (3, 6), (1, 120)]
    assert len(entries(app)) == before, "a look is written down once a day"
    assert rule(custodian, place, "age") is None
    assert custodian.post(f"{place}/hierarchy", form_of("age", "cuts", "30, 50", do="save")).status_code == 303
    assert rule(custodian, place, "age") == {"cuts": [30, 50]}
    looks = [entry for entry in entries(app) if entry["event"] == "web.shown"]
    assert any("hierarchy" in str(entry) for entry in looks)


def test_a_list_begins_with_the_values_and_has_to_name_all(app: FastAPI, place: str) -> None:
    custodian = signed_in(app, "custodian")
    page = custodian.post(f"{place}/hierarchy", form_of("ill", "map")).text
    assert "cold; \nflu; " in page
    lacking = custodian.post(f"{place}/hierarchy", form_of("ill", "map", listed="flu; infection; *", do="save"))
    assert lacking.status_code == 422
    both = "flu; infection; *\ncold; infection; *"
    page = custodian.post(f"{place}/hierarchy", form_of("ill", "map", listed=both)).text
    assert levels(page) == [(2, 40), (1, 120), (1, 120)]
    assert custodian.post(f"{place}/hierarchy", form_of("ill", "map", listed=both, do="save")).status_code == 303
    assert rule(custodian, place, "ill") == {"map": {"flu": ["infection", "*"], "cold": ["infection", "*"]}}
    assert "flu; infection; *" in custodian.get(f"{place}/hierarchy?column=ill").text


@pytest.mark.parametrize(
    ("kind", "steps", "words"),
    [
        ("widths", "", "The steps are missing"),
        ("widths", "ten", "The steps are numbers"),
        ("widths", "10, 15", "multiple"),
        ("dates", "year", "date"),
        ("cuts", "50, 30", "cuts"),
        ("magic", "1", "no such kind"),
        ("map", "", "names no groups"),
    ],
)
def test_what_does_not_fit_is_not_saved(app: FastAPI, place: str, kind: str, steps: str, words: str) -> None:
    custodian = signed_in(app, "custodian")
    answer = custodian.post(f"{place}/hierarchy", form_of("age", kind, steps, do="save"))
    assert answer.status_code == 422, answer.text
    assert words in answer.text
    assert rule(custodian, place, "age") is None


def test_only_quasi_identifiers_are_shown(app: FastAPI, place: str) -> None:
    custodian = signed_in(app, "custodian")
    for column in ("name", "nothing"):
        assert custodian.get(f"{place}/hierarchy?column={column}").status_code == 404
        assert custodian.post(f"{place}/hierarchy", form_of(column, "any", "*", do="save")).status_code == 404
