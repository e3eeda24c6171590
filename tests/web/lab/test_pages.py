"""The attacker lab: its address holds everything, whatever stands there is answered, and its numbers are the room's."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import pytest
from fastapi import FastAPI
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.attacker import Attack
from discreet.attacker.population import Targets
from discreet.demo import web_data as web
from discreet.demo.web_data import bring_study
from discreet.errors import UsageError
from discreet.web import Settings, create_app
from discreet.web.jobs import store as jobs
from discreet.web.lab import pages
from discreet.web.lab.controls import CONTROLS, ChoiceControl, Control, WrittenControl, against, read, toml
from discreet.web.lab.pages import example, result
from tests.examples import examples
from tests.web.client import CHEAP, ORIGIN, Browser, make_accounts, signed_in
from tests.web.lab_data import keep_dataset


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FastAPI]:
    """One application for all tests of this file: the lab keeps nothing."""
    folder = tmp_path_factory.mktemp("lab")
    app = create_app(Settings(store=str(folder / "store.db"), data=folder / "data", origin=ORIGIN, hashing=CHEAP))
    make_accounts(app)
    yield app
    app.state.site.close()


@pytest.fixture(scope="module")
def auditor(app: FastAPI) -> Browser:
    return signed_in(app, "auditor")


def words(text: str) -> str:
    """A page as people read it."""
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", text)))


def headline(text: str) -> str:
    found = re.search(r"data-announce>(.*?)</p>", text, re.S)
    assert found
    return words(found[1])


def deterring(text: str, name: str) -> str:
    """The address behind one of the three buttons."""
    found = re.search(rf'id="deter-{name}" href="([^"]+)"', text)
    assert found, name
    return html.unescape(found[1])


def test_the_thresholds_of_the_published_amounts_come_out(auditor: Browser) -> None:
    once = auditor.get("/lab?max_penalties=1").text
    assert "48: does not buy the list" in once
    rising = auditor.get("/lab?rising=19.7217").text
    assert "14: stops early" in rising
    assert "29: does not buy the list" in rising


def test_the_page_says_what_the_room_says(auditor: Browser) -> None:
    his = Attack(prior=0.63, gain=8000, access_cost=100, link_cost=0, exploit_cost=10, penalty=10000, detection_intercept=-math.log(99))  # fmt: skip
    known = example().targets.attacked(his).known
    shown = auditor.get("/lab").text
    assert f"would attack {known.attacked:,} of 10,000 people" in headline(shown)
    assert f"{known.not_at_all:,} · " in shown
    assert "Every attempt is detected 1 time in 100." in words(shown)


@pytest.mark.parametrize("name", ["penalty", "access_cost", "k"])
@pytest.mark.parametrize("query", ["", "?max_penalties=2", "?rising=15&prior=80", "?gain=123456.7&exploit_cost=31"])
def test_each_button_leads_to_a_lab_in_which_nobody_is_attacked(auditor: Browser, query: str, name: str) -> None:
    address = deterring(auditor.get(f"/lab{query}").text, name)
    assert dict(parse_qsl(urlsplit(f"/lab{query}").query)).items() <= dict(parse_qsl(urlsplit(address).query)).items()
    assert "would attack none of the 10,000 people" in headline(auditor.get(address).text)


def test_the_fragment_is_what_the_page_shows(auditor: Browser) -> None:
    query = "?gain=12000&k=7"
    fragment = auditor.get(f"/lab/result{query}").text
    assert fragment.strip() in auditor.get(f"/lab{query}").text
    assert "<html" not in fragment


def test_nothing_inline(auditor: Browser) -> None:
    """The content policy would refuse it."""
    for text in (auditor.get("/lab").text, auditor.get("/lab/result").text):
        assert not re.search(r"<style|style=|<script(?! type=\"module\" src=)|\son[a-z]+=", text)


@pytest.mark.parametrize(
    ("query", "beside"),
    [
        ("gain=", "gain"),
        ("gain=many", "gain"),
        ("gain=-1", "gain"),
        ("gain=1e10", "gain"),
        ("gain=nan", "gain"),
        ("gain=1,000", "gain"),
        ("gain=１", "gain"),
        ("gain=1&gain=2", "gain"),
        ("prior=0", "prior"),
        ("prior=101", "prior"),
        ("discount=0", "discount"),
        ("k=1.5", "k"),
        ("k=0", "k"),
        ("detected=1", "detected"),
        ("max_penalties=4", "max_penalties"),
        ("shared=perhaps", "shared"),
        ("belief=0.5", "belief"),
        ("belief=half", "belief"),
        ("lists=100", "lists"),
        ("lists=100:0-3", "lists"),
        ("lists=100:3-1", "lists"),
        ("lists=100:1-13", "lists"),
        ("lists=1:1+1:1+1:1+1:1+1:1", "lists"),
        (f"lists={'1' * 400}", "lists"),
    ],
)
def test_what_is_wrong_is_said_beside_the_field(auditor: Browser, query: str, beside: str) -> None:
    answer = auditor.get(f"/lab?{query}")
    assert answer.status_code == 422
    assert f'id="{beside}-wrong"' in answer.text
    assert auditor.get(f"/lab/result?{query}").status_code == 422


def test_what_the_lab_does_not_know_is_refused_and_not_repeated(auditor: Browser) -> None:
    answer = auditor.get("/lab?secret-name=secret-value")
    assert answer.status_code == 422
    assert "secret" not in answer.text


def test_what_was_typed_stays_and_is_escaped(auditor: Browser) -> None:
    answer = auditor.get("/lab?gain=%3Cb%3E%22")
    assert 'value="&lt;b&gt;&#34;"' in answer.text
    assert "<b>&#34;" not in answer.text


def test_an_adversary_who_looks_too_far_is_told_apart(auditor: Browser) -> None:
    answer = auditor.get("/lab?gain=1000000000&exploit_cost=0&max_penalties=5&penalty=1&k=10000")
    assert answer.status_code == 422
    assert "have a fine for each detected attempt" in words(answer.text)


names = st.one_of(st.sampled_from([*CONTROLS, "dataset"]), st.text(max_size=5))
values = st.one_of(
    st.text(max_size=12),
    st.sampled_from(["0", "1", "-1", "1e9", "1e-9", "inf", "nan", "unlimited", "9" * 30, "0.0000001", "\x00", "٣"]),
    st.floats(0, 1e6).map(str),
)


@settings(max_examples=examples(120), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pairs=st.lists(st.tuples(names, values), max_size=4), path=st.sampled_from(["/lab", "/lab/result"]))
def test_any_address_is_answered(auditor: Browser, pairs: list[tuple[str, str]], path: str) -> None:
    sent = [
        (name.encode("utf-8", "replace").decode(), value.encode("utf-8", "replace").decode()) for name, value in pairs
    ]
    assert auditor.send("GET", path, params=sent).status_code in (200, 404, 422)


@settings(max_examples=examples(50), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=st.binary(max_size=40))
def test_any_bytes_are_answered(auditor: Browser, query: bytes) -> None:
    text = "".join(f"%{byte:02x}" if byte in b"# \r\n\x7f" or byte > 126 or byte < 33 else chr(byte) for byte in query)
    assert auditor.get(f"/lab?{text}").status_code in (200, 404, 422)


@st.composite
def inside(draw: st.DrawFn) -> dict[str, str]:
    """Settings on the stops of the sliders."""
    chosen = {}
    for name, control in CONTROLS.items():
        if draw(st.booleans()):
            if isinstance(control, WrittenControl):
                options = ["", control.example]
            else:
                options = (
                    [o for o, _ in control.options]
                    if isinstance(control, ChoiceControl)
                    else control.written_stops.split()
                )
            chosen[name] = draw(st.sampled_from(options))
    if chosen.get("lists"):
        chosen["group"] = "12"  # the people that the example names
    return chosen


@settings(max_examples=examples(40), deadline=None)
@given(chosen=inside())
def test_a_button_deters_wherever_the_sliders_stand(chosen: dict[str, str]) -> None:
    query = read(list(chosen.items()))
    assert not query.wrong
    try:
        shown = result(query, example())
    except UsageError:
        return
    for one in shown.deterrents:
        if one.address:
            there = read(parse_qsl(urlsplit(one.address).query))
            targets = example().targets.at_least(there.size)
            assert against(there.attack, targets).known.attacked == 0


@settings(max_examples=examples(40), deadline=None)
@given(chosen=inside())
def test_the_address_holds_everything(chosen: dict[str, str]) -> None:
    query = read(list(chosen.items()))
    again = read(parse_qsl(urlsplit(query.address()).query))
    assert again.numbers == query.numbers
    assert again.texts == query.texts


def test_every_stop_may_be_typed() -> None:
    for control in CONTROLS.values():
        if isinstance(control, Control):
            assert list(control.stops) == sorted(set(control.stops)), control.name
            assert control.least <= control.stops[0]
            assert control.stops[-1] <= control.most
            assert float(control.standard) in control.stops or control.name == "prior"


def test_the_file_for_the_command_line_is_the_same_adversary() -> None:
    import tomllib

    his = read([("rising", "20"), ("gain", "123.45"), ("max_penalties", "3")]).attack
    given = tomllib.loads(toml(his))["attack"]
    found = Attack.from_dict(given)
    assert found.thresholds() == replace(his).thresholds()
    assert found.detection_slope == pytest.approx(math.log(1.2), abs=1e-6)


@pytest.fixture(scope="module")
def furnished(app: FastAPI) -> FastAPI:
    people = Targets.grouped(np.array([70, 30]), np.array([2, 400]), np.array([0.002, 0.4]), 1000)
    keep_dataset(app, 41, "Survey 2026", targets=people)
    keep_dataset(app, 42, "Not yet looked at", targets=None)
    return app


def test_a_data_set_is_looked_at_by_its_counts(furnished: FastAPI) -> None:
    custodian = signed_in(furnished, "custodian")
    shown = custodian.get("/lab?dataset=41").text
    assert "would attack 70 of 100 people in Survey 2026 (70 %)" in headline(shown)
    assert "100 people, against a list of 1,000 people." in words(shown)
    assert "threshold of 1 in 10" in words(shown)
    assert "dataset=41" in deterring(shown, "k")
    assert "would attack none of the 100 people" in headline(custodian.get(deterring(shown, "k")).text)
    assert '<option value="41" selected>' in shown


def test_a_data_set_that_nobody_has_attacked_leads_to_where_that_is_done(furnished: FastAPI) -> None:
    shown = signed_in(furnished, "custodian").get("/lab?dataset=42")
    assert shown.status_code == 200
    assert 'href="/datasets/42/attacker"' in shown.text


@pytest.mark.parametrize("role", ["auditor", "manager"])
def test_who_may_not_see_data_sets_is_told_that_there_is_none(furnished: FastAPI, role: str) -> None:
    browser = signed_in(furnished, role)
    assert browser.get("/lab").status_code == 200
    assert "Survey 2026" not in browser.get("/lab").text
    assert browser.get("/lab?dataset=41").status_code == browser.get("/lab?dataset=77").status_code == 404
    assert browser.get("/lab/result?dataset=41").status_code == 404
    assert signed_in(furnished, "custodian").get("/lab?dataset=77").status_code == 404


def test_a_worker_has_no_lab(app: FastAPI) -> None:
    browser = signed_in(app, "worker")
    assert browser.get("/lab").status_code == browser.get("/lab/result").status_code == 403


def test_the_page_may_ask_its_own_server_and_nobody_else(auditor: Browser) -> None:
    assert "connect-src 'self'" in auditor.get("/lab").headers["content-security-policy"]


def test_the_module_is_our_own(app: FastAPI) -> None:
    script = (Path(__file__).parents[3] / "src/discreet/web/static/lab.js").read_text()
    assert "import " not in script
    assert "innerHTML" not in script


def test_a_demonstration_can_be_looked_at_in_the_lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From a file over the job that attacks it to the lab: the counts are those that the job found."""
    monkeypatch.setattr(web, "PEOPLE", 60_000)
    app = create_app(Settings(store=str(tmp_path / "store.db"), data=tmp_path / "data", origin=ORIGIN, hashing=CHEAP))
    make_accounts(app)
    site = app.state.site
    web.bring_hospital(site)
    bring_study(site)
    with site.store.reading() as connection:
        ((number, name),) = pages.datasets(connection)
        done = jobs.newest(connection, dataset=int(number), kinds=("attack",), states=("done",))
        found = jobs.result(connection, done[0].id)
    assert name == "hospital.csv"
    assert found is not None
    browser = signed_in(app, "custodian")
    shown = browser.get(f"/lab?dataset={number}&detected=99.494").text
    fates = found.numbers["known"]
    expected = [fates[fate] for fate in ("in_full", "in_part", "not_at_all")]
    assert [int(number.replace(",", "")) for number in re.findall(r">([0-9,]+) · ", shown)[:3]] == expected
    assert expected[0] < sum(expected)
    assert "What a hospital knows" in browser.get("/sensitivity").text
    site.close()
