"""Experts are asked in their browsers: each their own answers, none lost, none taken for another; then versions."""

from __future__ import annotations

import html
import json
import re
import tomllib
from typing import Any

import pytest
from fastapi import FastAPI
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.misuse import Sensitivity
from discreet.misuse.elicitation import Compare, Interview, Item, Rate, combine, sections
from discreet.web.framework.problems import Problem
from discreet.web.sensitivity import store as studies
from discreet.web.sensitivity.pages import RATIOS, comparison_buttons, named, rating_buttons, value_of
from discreet.web.sensitivity.store import EXAMPLE, MOST, items_of
from tests.examples import examples
from tests.web.client import Browser, signed_in
from tests.web.samples import account_number

VALUES = "[diagnosis]\nFlu\nAngina\nHIV\nany other value\n\n[bill]\nup to 100\nover 100\n"
HARM = {"Flu": 0.1, "Angina": 0.4, "HIV": 1.0, "any other value": 0.3, "up to 100": 0.05, "over 100": 0.2}


def begin(app: FastAPI, *experts: str, values: str = VALUES, name: str = "Hospital", ratings: int = 4) -> int:
    """A study with these experts."""
    form = {"name": name, "values": values, "ratings": str(ratings), "expert": [account_number(app, one) for one in experts]}  # fmt: skip
    answer = signed_in(app, "custodian").post("/sensitivity/new", form)
    assert answer.status_code == 303, answer.text
    return int(answer.headers["location"].split("/")[2])


def shown(browser: Browser, study: int) -> dict[str, Any] | None:
    """The question on the page: its name and what it is about."""
    text = browser.get(f"/sensitivity/{study}/question").text
    found = re.search(r'name="question" value="([^"]+)"', text)
    if found is None:
        return None
    things = re.findall(r'class="kicker">[AB]</span> (.*?)</p>', text) or re.findall(
        r"<li>(.*?)</li>", text.split("record")[-1]
    )
    return {"name": found[1], "things": [html.unescape(one).partition(": ")[2] for one in things]}


def say(browser: Browser, study: int, *, strange: bool = False) -> bool:
    """Answer the next question truly, or the other way round; False if there is none."""
    question = shown(browser, study)
    if question is None:
        return False
    harm = [HARM[thing] for thing in question["things"]]
    if question["name"].startswith("compare"):
        wanted = harm[1] / harm[0] if strange else harm[0] / harm[1]
        said = min(RATIOS, key=lambda name: abs(RATIOS[name] - wanted))
    else:
        said = str(round(10 * min(1.0, sum(harm))))
    answer = browser.post(f"/sensitivity/{study}/answer", {"question": question["name"], "answer": said})
    assert answer.status_code == 303
    return True


def test_two_experts_answer_and_a_version_is_made(app: FastAPI) -> None:
    study = begin(app, "worker", "auditor")
    custodian = signed_in(app, "custodian")
    assert "No expert has answered yet" in custodian.get(f"/sensitivity/{study}/panel").text
    for name in ("worker", "auditor"):
        browser = signed_in(app, name)
        assert "Hospital" in browser.get("/sensitivity").text
        while say(browser, study):
            pass
        assert "You have answered everything" in browser.get(f"/sensitivity/{study}/question").text
    page = custodian.get(f"/sensitivity/{study}/panel").text
    assert "they mostly agree on the order" in page
    (digest,) = set(re.findall(r'name="digest" value="([0-9a-f]{16})"', page))
    made = custodian.post(f"/sensitivity/{study}/versions", {"digest": digest})
    assert made.status_code == 303
    shown_text = custodian.get(made.headers["location"].partition("?")[0]).text
    (text,) = re.findall(r'aria-label="Sections of the policy">(.*?)</pre>', shown_text, re.S)
    tables = tomllib.loads(html.unescape(text))["sensitivity"]
    assert Sensitivity.from_dict(tables).version == digest
    assert tables["diagnosis"]["values"]["HIV"] > tables["diagnosis"]["values"]["Flu"]
    entries = [entry for entry in app.state.site.ledger.entries() if entry.event.startswith("misuse.")]
    assert [entry.event for entry in entries] == ["misuse.asked", "misuse.weighed"]
    assert entries[-1].details["version"] == digest
    assert not any(value in json.dumps(entry.details) for entry in entries for value in HARM)
    again = custodian.post(f"/sensitivity/{study}/versions", {"digest": digest})
    assert again.headers["location"] == made.headers["location"].partition("?")[0]
    assert len([one for one in app.state.site.ledger.entries() if one.event == "misuse.weighed"]) == 1


def test_what_the_page_combines_is_what_the_engine_combines(app: FastAPI) -> None:
    study = begin(app, "worker")
    browser = signed_in(app, "worker")
    while say(browser, study):
        pass
    with app.state.site.store.reading() as connection:
        kept = studies.interviews(connection, study)
    panel = combine([kept[0].talk])
    digest = Sensitivity.from_dict(sections(panel.items, panel.scores)).version
    assert digest in signed_in(app, "custodian").get(f"/sensitivity/{study}/panel").text


def test_an_interview_is_resumed_and_undone(app: FastAPI) -> None:
    study = begin(app, "worker")
    browser = signed_in(app, "worker")
    first = shown(browser, study)
    say(browser, study)
    second = shown(signed_in(app, "worker"), study)
    assert first != second
    assert browser.post(f"/sensitivity/{study}/undo").status_code == 303
    assert shown(browser, study) == first
    assert "Continue" not in browser.get("/sensitivity").text


def test_an_answer_to_another_question_changes_nothing(app: FastAPI) -> None:
    study = begin(app, "worker")
    one, other = signed_in(app, "worker"), signed_in(app, "worker")
    question = shown(one, study)
    assert question is not None
    say(other, study)
    late = one.post(f"/sensitivity/{study}/answer", {"question": question["name"], "answer": "a9"})
    assert late.headers["location"].endswith("?said=moved-on")
    with app.state.site.store.reading() as connection:
        (kept,) = studies.interviews(connection, study)
    assert len(kept.talk.answers) == 1


def test_of_two_answers_at_once_one_counts(app: FastAPI) -> None:
    study = begin(app, "worker")
    site = app.state.site
    with site.store.reading() as connection:
        (kept,) = studies.interviews(connection, study)
    question = kept.talk.next_question()
    assert question is not None
    with site.store.writing() as connection:
        assert studies.save(connection, kept, kept.talk.answer(question, None), site.stamp())
    with site.store.writing() as connection:
        assert not studies.save(connection, kept, kept.talk.answer(question, None), site.stamp())


def test_contradictions_are_told_and_can_be_mended(app: FastAPI) -> None:
    study = begin(app, "worker", ratings=0)
    browser = signed_in(app, "worker")
    turn = 0
    while say(browser, study, strange=turn % 3 == 0):
        turn += 1
    with app.state.site.store.reading() as connection:
        (kept,) = studies.interviews(connection, study)
    assert kept.talk.consistency.ratio is not None
    assert kept.talk.consistency.ratio > 0.10
    page = browser.get(f"/sensitivity/{study}/question").text
    assert f"the consistency ratio is {kept.talk.consistency.ratio:.2f}" in page
    assert "answers contradict each other" in signed_in(app, "custodian").get(f"/sensitivity/{study}/panel").text
    browser.post(f"/sensitivity/{study}/recheck")
    worst = kept.talk.consistency.worst
    question = shown(browser, study)
    assert worst is not None
    assert question is not None
    assert question["name"] == f"compare {worst.first} {worst.second}"


def test_what_is_in_dispute_is_asked_once_more(app: FastAPI) -> None:
    study = begin(app, "worker", "auditor", ratings=0)
    for name, strange in (("worker", False), ("auditor", True)):
        browser = signed_in(app, name)
        while say(browser, study, strange=strange):
            pass
        assert shown(browser, study) is None
    custodian = signed_in(app, "custodian")
    assert "Most in dispute" in custodian.get(f"/sensitivity/{study}/panel").text
    assert custodian.post(f"/sensitivity/{study}/again").headers["location"].endswith("said=again")
    for name in ("worker", "auditor"):
        assert shown(signed_in(app, name), study) is not None


def test_answers_are_everybodys_own(app: FastAPI) -> None:
    study = begin(app, "worker")
    for name in ("auditor", "manager", "custodian"):
        browser = signed_in(app, name)
        assert browser.get(f"/sensitivity/{study}/question").status_code == 404
        assert (
            browser.post(f"/sensitivity/{study}/answer", {"question": "compare 0 1", "answer": "a9"}).status_code == 404
        )
    assert signed_in(app, "worker").get(f"/sensitivity/{study}/panel").status_code == 403
    custodian = signed_in(app, "custodian")
    custodian.post(f"/sensitivity/{study}/invite", {"expert": str(account_number(app, "custodian"))})
    assert custodian.get(f"/sensitivity/{study}/question").status_code == 200


def test_a_closed_study_takes_no_answers(app: FastAPI) -> None:
    study = begin(app, "worker")
    browser, custodian = signed_in(app, "worker"), signed_in(app, "custodian")
    question = shown(browser, study)
    assert question is not None
    custodian.post(f"/sensitivity/{study}/close")
    late = browser.post(f"/sensitivity/{study}/answer", {"question": question["name"], "answer": "a9"})
    assert late.status_code == 409
    assert "is closed" in browser.get(f"/sensitivity/{study}/question").text
    custodian.post(f"/sensitivity/{study}/reopen")
    assert say(browser, study)


def test_a_version_of_scores_that_have_changed_is_not_made(app: FastAPI) -> None:
    study = begin(app, "worker")
    browser, custodian = signed_in(app, "worker"), signed_in(app, "custodian")
    while say(browser, study):
        pass
    assert custodian.post(f"/sensitivity/{study}/versions", {"digest": "0" * 16}).status_code == 409


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"name": " "}, "needs a name"),
        ({"values": ""}, "2 to 40 values"),
        ({"values": "Flu\n[diagnosis]\nHIV"}, "Line 1 comes before the first column"),
        ({"values": "[]\nx"}, "Line 1 names no column"),
        ({"values": "[a]\nx\nx"}, "is listed twice"),
        ({"values": "[a]\nup to 5\nup to 4"}, "must increase"),
        ({"values": "[a]\nany other value\nover 5"}, "only one line"),
        ({"values": "[a]\nG: x | y\nH: y | z"}, "in two groups"),
        ({"values": "[a]\n" + "\n".join(map(str, range(50)))}, "2 to 40 values"),
        ({"values": "[a]\n" + "x" * 200}, "longer than"),
        ({"expert": []}, "No expert is invited"),
        ({"expert": ["999"]}, "must be some of"),
        ({"ratings": "many"}, "whole number"),
    ],
)
def test_a_study_that_makes_no_sense_is_refused_and_what_was_typed_stays(
    app: FastAPI, changed: dict[str, Any], words: str
) -> None:
    form = {"name": "S", "values": VALUES, "ratings": "5", "expert": [account_number(app, "worker")], **changed}
    answer = signed_in(app, "custodian").post("/sensitivity/new", form)
    assert answer.status_code == 422
    assert words in html.unescape(answer.text)
    if "values" not in changed:
        assert "up to 100" in answer.text


def test_a_name_is_used_once(app: FastAPI) -> None:
    begin(app, "worker")
    form = {"name": "Hospital", "values": VALUES, "ratings": "5", "expert": [account_number(app, "worker")]}
    assert signed_in(app, "custodian").post("/sensitivity/new", form).status_code == 409


def test_an_answer_that_is_none_is_refused(app: FastAPI) -> None:
    study = begin(app, "worker")
    browser = signed_in(app, "worker")
    question = shown(browser, study)
    assert question is not None
    for said in ("", "a4", "11", "<b>", "0.5"):
        answer = browser.post(f"/sensitivity/{study}/answer", {"question": question["name"], "answer": said})
        assert answer.status_code == 422


def test_the_buttons_are_the_scale() -> None:
    assert [one.key for one in comparison_buttons()] == list("123456789")
    assert [one.key for one in rating_buttons()] == [*"0123456789", "x"]
    compare, rate = Compare(0, 1), Rate((0, 2))
    ratios = [value_of(compare, one.value) for one in comparison_buttons()]
    assert ratios == sorted((one for one in ratios if one is not None), reverse=True)
    assert [value_of(rate, one.value) for one in rating_buttons()] == [number / 10 for number in range(11)]
    assert value_of(compare, "pass") is value_of(rate, "pass") is None
    assert named(rate) == "rate 0 2"
    with pytest.raises(Problem):
        value_of(rate, "a9")


words = st.text(st.characters(categories=("L", "N"), include_characters=" .-"), min_size=1, max_size=12).map(lambda text: " ".join(text.split())).filter(bool)  # fmt: skip


def written(items: list[Item]) -> str:
    """Items as they are typed into the form."""
    lines: list[str] = []
    column = None
    for item in items:
        if item.column != column:
            lines += ["", f"[{item.column}]"]
            column = item.column
        single = item.values == (item.label,) or not item.values
        lines.append(item.label if single else f"{item.label}: {' | '.join(item.values)}")
    return "\n".join(lines).strip() + "\n"


@settings(max_examples=examples(60), deadline=None)
@given(st.dictionaries(words, st.lists(words, min_size=1, max_size=5, unique=True), min_size=1, max_size=4))
def test_what_is_typed_is_what_is_written(columns: dict[str, list[str]]) -> None:
    text = "\n".join(f"[{column}]\n" + "\n".join(values) for column, values in columns.items())
    try:
        items = items_of(text)
    except Problem:
        return
    assert items_of(written(items)) == items
    assert len(items) == sum(map(len, columns.values())) <= MOST


@settings(max_examples=examples(150), deadline=None)
@given(st.text(max_size=80))
def test_any_text_is_items_or_a_problem(text: str) -> None:
    try:
        items = items_of(text)
    except Problem:
        return
    assert Interview.begin("ann", items).next_question() is not None


def test_groups_and_ranges_are_understood() -> None:
    items = items_of("[code]\nHeart: I21 | I50\nB20\n[bill]\nup to 100\nup to 250.5\nover 250.5")
    assert items[0] == Item("code", "Heart", values=("I21", "I50"))
    assert [item.upper for item in items] == [None, None, 100.0, 250.5, None]
    assert len(items_of(EXAMPLE)) == 8
