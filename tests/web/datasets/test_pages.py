"""From a file to a report and a safe table, as a custodian and an auditor see it."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI

from discreet.people import write_demo
from discreet.web import Settings
from discreet.web.jobs import store as jobs
from discreet.web.jobs.supervisor import Supervisor
from tests.contract.test_row_order import people, tells_nothing
from tests.web.client import MOSTLY_SQLITE, Browser, signed_in
from tests.web.jobs.working import enqueue, look, until
from tests.web.samples import make_dataset, make_job
from tests.web.snapshot import entries
from tests.web.test_matrix import make_token

SAME_ORIGIN = {"Sec-Fetch-Site": "same-origin"}
LIMITS = {"k": "3", "suppression": "40", "loss": "loss", "risk_model": "prosecutor", "search": "optimal", "format": "csv", "max_risk": ""}  # fmt: skip


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Time is real here."""
    return replace(settings, clock=Settings().clock)


@pytest.fixture
def supervisor(app: FastAPI) -> Supervisor:
    """Somebody who starts jobs by himself."""
    app.state.site.supervisor = Supervisor(app.state.site)
    app.state.site.supervisor.start()
    return app.state.site.supervisor


def ended(app: FastAPI) -> dict[str, str]:
    """The state of the newest job of each kind, once all have ended."""

    def found() -> list[jobs.Job]:
        with app.state.site.store.reading() as connection:
            return jobs.newest(connection)

    until(lambda: not any(job.active for job in found()), what="the end of the jobs")
    return {job.kind: job.state for job in reversed(found())}


class TestTheWholeWay:
    """On both stores, in long runs."""

    pytestmark = MOSTLY_SQLITE

    def test_from_a_file_to_a_safe_table(self, app: FastAPI, supervisor: Supervisor, tmp_path: Path) -> None:
        files = write_demo(tmp_path / "demo", people=20_000, seed=3)
        custodian = signed_in(app, "custodian")
        with files.hospital.open("rb") as file:
            form = {"name": "", "encoding": "utf-8"}
            here = custodian.post("/datasets/upload", form, files={"file": ("hospital.csv", file)}).headers["location"]
        place = here.partition("?")[0]
        assert ended(app) == {"profile": "done"}
        page = custodian.get(place).text
        assert "its name says" in page
        assert '<option value="quasi?" selected>' in page
        assert "<svg" in page
        self._assessed(app, custodian, place)
        self._refused(custodian, place)
        assert custodian.post(f"{place}/confirm", {"version": "1", "all": "yes"}).status_code == 303
        self._protected(app, custodian, place, files.hospital)

    def _refused(self, custodian: Browser, place: str) -> None:
        page = custodian.get(f"{place}/protect").text
        assert "<button disabled" in page
        assert f'<a href="{place}/policy">Confirm the roles of the columns</a>' in page
        answer = custodian.post(f"{place}/protect", LIMITS)
        assert answer.status_code == 409
        assert "zip (quasi?)" in answer.text

    def _assessed(self, app: FastAPI, custodian: Browser, place: str) -> None:
        assert custodian.post(f"{place}/assess").headers["location"] == f"{place}/risk"
        assert ended(app)["assess"] == "done"
        page = custodian.get(f"{place}/risk").text
        assert "can be singled out by" in page
        assert "Above the limit" in page
        assert not re.search(r"\sstyle=|<style|<script(?! type=.module. src=)|\son[a-z]+=", page)
        assert "The risk with these roles" in custodian.get(place).text

    def _protected(self, app: FastAPI, custodian: Browser, place: str, original: Path) -> None:
        assert custodian.post(f"{place}/protect", LIMITS).status_code == 303
        assert ended(app)["anonymise"] == "done"
        page = custodian.get(f"{place}/protect").text
        assert "Nothing better exists" in page
        assert "level " in page
        number = re.search(r'action="/jobs/(\d+)/file"', page)
        assert number is not None
        before = len(entries(app))
        answer = custodian.post(f"/jobs/{number[1]}/file")
        assert answer.headers["content-disposition"].startswith('attachment; filename="hospital-anonymised-')
        rows = list(csv.DictReader(io.StringIO(answer.text)))
        assert 0 < len(rows) < len(original.read_text(encoding="utf-8").splitlines())
        assert not {"person_id", "given_name", "surname"} & set(rows[0])
        made, published = [entry for entry in entries(app) if entry["event"].startswith("anonymity.")]
        assert made["sequence"] < published["sequence"]
        assert len(entries(app)) == before + 1


def test_formulas_in_cells_are_disarmed(app: FastAPI, supervisor: Supervisor) -> None:
    content = "sex,note\n" + "".join(f"{'FM'[n % 2]},{cell}\n" for n in range(10) for cell in ("=1+1", "@x", "-5"))
    custodian = signed_in(app, "custodian")
    form = {"name": "", "encoding": "utf-8"}
    place = custodian.post("/datasets/upload", form, files={"file": ("a.csv", content)}).headers["location"].partition("?")[0]  # fmt: skip
    ended(app)
    roles = {"version": "1", "role-0": "quasi", "rule-0": '{ any = "*" }', "role-1": "other", "rule-1": ""}
    assert custodian.post(f"{place}/roles", roles).status_code == 303
    custodian.post(f"{place}/protect", LIMITS)
    assert ended(app)["anonymise"] == "done"
    number = re.search(r'action="/jobs/(\d+)/file"', custodian.get(f"{place}/protect").text)
    assert number is not None
    notes = {row["note"] for row in csv.DictReader(io.StringIO(custodian.post(f"/jobs/{number[1]}/file").text))}
    assert notes == {"'=1+1", "'@x", "-5"}


def test_whoever_looks_at_what_was_published_is_written_down(app: FastAPI, supervisor: Supervisor) -> None:
    """The tabs of tables that were made and compared, and the result at the API: each once a day, before it is shown."""
    made, compared = enqueue(app, kind="anonymise", k=2), 0
    custodian, place = signed_in(app, "custodian"), f"/datasets/{look(app, made).dataset}"
    custodian.post(f"{place}/compare", {"k": "2", "suppression": "5", "loss": "loss", "search": "optimal"})
    assert set(ended(app).values()) == {"done"}
    compared = max(int(number) for number in re.findall(r"/jobs/(\d+)", custodian.get("/jobs").text))
    known, wanted = len(entries(app)), []
    for job, tab in ((made, "protect"), (compared, "compare"), (made, "result")):
        address = f"/api/v1/jobs/{job}/result" if tab == "result" else f"{place}/{tab}"
        assert [custodian.get(address).status_code for _ in range(2)] == [200, 200]
        wanted.append(("web.shown", "custodian", f"dataset:{look(app, made).dataset}/job:{job}/{tab}"))
    assert [(row["event"], row["actor"], row["subject"]) for row in entries(app)[known:]] == wanted


def test_a_download_tells_nothing_by_its_order_and_pages_warn_of_what_gives_a_value_back(
    app: FastAPI, supervisor: Supervisor
) -> None:
    """Sorted by postcode, which is hidden from everybody; `nr` counts along, and so gives it away."""
    sheet = io.StringIO()
    csv.writer(sheet).writerows([people().column_names, *zip(*people().to_pydict().values(), strict=True)])
    custodian = signed_in(app, "custodian")
    form = {"name": "", "encoding": "utf-8"}
    answer = custodian.post("/datasets/upload", form, files={"file": ("people.csv", sheet.getvalue())})
    place = answer.headers["location"].partition("?")[0]
    ended(app)
    roles = {"version": "1", "role-0": "quasi", "rule-0": "{ mask = 5 }", "role-1": "drop", "rule-1": ""}
    roles |= {"role-2": "sensitive", "rule-2": "", "role-3": "other", "rule-3": ""}
    assert custodian.post(f"{place}/roles", roles).status_code == 303
    for page, limits in {"assess": {}, "protect": {**LIMITS, "k": "400", "suppression": "0"}}.items():
        custodian.post(f"{place}/{page}", limits)
    assert ended(app) == {"profile": "done", "assess": "done", "anonymise": "done"}
    for page in ("risk", "protect"):
        warned = custodian.get(f"{place}/{page}").text
        assert re.search(r"nr \(other, published as it is\) gives (level \d of )?zip away", warned)
    number = re.search(r'action="/jobs/(\d+)/file"', custodian.get(f"{place}/protect").text)
    assert number is not None
    rows = csv.DictReader(io.StringIO(custodian.post(f"/jobs/{number[1]}/file").text))
    tells_nothing([int(row["nr"]) for row in rows])


def test_nothing_leaves_when_the_ledger_cannot_be_written(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.errors import StoreFull

    number = make_job(app, "custodian", kind="anonymise")
    browser = signed_in(app, "custodian")

    def full(**_: Any) -> None:
        raise StoreFull("The store is full.", remedy="Make room.")

    monkeypatch.setattr(app.state.site.ledger, "record", full)
    for path in (f"/jobs/{number}/file", f"/reports/{number}/file"):
        answer = browser.post(path)
        assert answer.status_code == 503
        assert "sex,age" not in answer.text
        assert "A report" not in answer.text
    assert browser.get(f"/reports/{number}").status_code == 503
    assert browser.get(f"/api/v1/jobs/{number}/result").status_code == 503


def test_an_auditor_reads_reports_and_no_values(app: FastAPI) -> None:
    assess, profile = make_job(app, "custodian"), make_job(app, "custodian", kind="profile")
    auditor = signed_in(app, "auditor")
    assert f"/reports/{assess}" in auditor.get("/reports").text
    assert f"/reports/{profile}" not in auditor.get("/reports").text
    assert auditor.get(f"/reports/{assess}").status_code == 200
    assert auditor.get(f"/reports/{profile}").status_code == 404
    assert auditor.post(f"/reports/{assess}/file").text.startswith("<!doctype html>")
    dataset = look(app, assess).dataset
    shut = ["/datasets", f"/datasets/{dataset}", "/jobs", f"/jobs/{assess}", f"/api/v1/jobs/{assess}/result", f"/api/v1/datasets/{dataset}"]  # fmt: skip
    assert {auditor.get(path).status_code for path in shut} == {403}
    assert auditor.post(f"/jobs/{assess}/file").status_code == 403
    shown = [entry for entry in entries(app) if entry["event"] == "web.shown"]
    assert [entry["actor"] for entry in shown] == ["auditor", "auditor"]
    auditor.get(f"/reports/{assess}")
    assert len([entry for entry in entries(app) if entry["event"] == "web.shown"]) == 2


def test_a_report_that_is_not_done_is_not_there(app: FastAPI) -> None:
    number = make_job(app, "custodian", done=False)
    assert signed_in(app, "auditor").get(f"/reports/{number}").status_code == 404
    assert signed_in(app, "custodian").get(f"/api/v1/jobs/{number}/result").status_code == 409


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"k": "0"}, "whole number"),
        ({"k": "x"}, "whole number"),
        ({"k": "", "max_risk": ""}, "no requirement"),
        ({"suppression": "x"}, "not a number"),
        ({"suppression": "101"}, "suppression"),
        ({"suppression": "nan"}, "suppression"),
        ({"max_risk": "-1"}, "max risk"),
        ({"loss": "money"}, "loss"),
        ({"search": "luck"}, "search"),
        ({"risk_model": "journalist", "max_risk": "10"}, "population"),
        ({"l": "x"}, "not a number"),
        ({"l": "2", "l_kind": "many"}, "diversity"),
        ({"l": "2"}, "role sensitive"),
        ({"t": "2"}, "closeness"),
        ({"t": "0.2"}, "role sensitive"),
        ({"least": "10", "most": "90"}, "population"),
        ({"k_map": "5"}, "population"),
        ({"minutes": "0"}, "time limit"),
    ],
)
def test_limits_that_make_no_sense(app: FastAPI, changed: dict[str, str], words: str) -> None:
    number = make_dataset(app, "custodian")
    answer = signed_in(app, "custodian").post(f"/datasets/{number}/protect", {**LIMITS, **changed})
    assert answer.status_code == 422
    assert words in answer.text
    assert "<b>Next</b>" in answer.text


@pytest.mark.parametrize(
    ("asked", "words", "options"),
    [
        ({"k": "", "l": "2"}, "ill is distinct 2-diverse in every class", "--diversity"),
        ({"l": "1.9", "l_kind": "entropy"}, "ill is entropy 1.9-diverse in every class", "entropy"),
        ({"t": "0.3", "distance": "equal"}, "ill is within 0.3 (equal distance)", "--closeness"),
        ({"k_map": "4"}, "every class has at least 4 people in the population", "--k-map 4"),
        ({"least": "10", "most": "80"}, "nobody&#39;s presence is more likely than 0.8", "--presence 0.1 0.8"),
        ({"k": "", "average_risk": "20"}, "the average risk is at most 0.2", "--average-risk 0.2"),
    ],
)
def test_protect_takes_every_requirement_of_the_command(
    app: FastAPI, supervisor: Supervisor, asked: dict[str, str], words: str, options: str
) -> None:
    """The made table keeps it, the report says how to do it again, and the lattice is judged by the same requirements."""
    policy = '[columns.sex]\nrole = "quasi"\nhierarchy = { any = "*" }\n[columns.zip]\nrole = "quasi"\nhierarchy = { mask = 2 }\n[columns.ill]\nrole = "sensitive"\n'  # fmt: skip
    people = [("FM"[n % 2], "abcd"[n // 10 % 4] + "xy"[n % 3 % 2], "nyz"[n % 7 % 3]) for n in range(120)]
    text = "sex,zip,ill\n" + "".join(",".join(person) + "\n" for person in people)
    custodian, form, places = signed_in(app, "custodian"), {"name": "", "encoding": "utf-8"}, []
    for name, content in (("all.csv", text), ("some.csv", text[: len(text) // 2 // 7 * 7 + 12])):
        answer = custodian.post("/datasets/upload", form, files={"file": (name, content)})
        places.append(answer.headers["location"].partition("?")[0])
    ended(app)
    crowd, here = places
    custodian.post(f"{here}/policy", {"version": "1", "policy": policy})
    population = {"kind": "dataset", "size": "", "dataset": crowd.rpartition("/")[2]}
    assert custodian.post(f"{here}/population", population).status_code == 303
    answer = custodian.post(f"{here}/protect", {**LIMITS, **asked})
    assert answer.status_code == 303, answer.text
    assert ended(app)["anonymise"] == "done"
    page = custodian.get(f"{here}/protect").text
    assert words in page
    number = re.search(r"/jobs/(\d+)/lattice", page)
    assert number is not None
    lattice = custodian.get(f"/jobs/{number[1]}/lattice")
    assert lattice.status_code == 200
    assert words in lattice.text
    assert options in custodian.post(f"/reports/{number[1]}/file").text.replace("&quot;", '"')
    with app.state.site.store.reading() as connection:
        result = jobs.result(connection, int(number[1]))
    assert result is not None
    assert any(words.replace("&#39;", "'") in said for said in result.numbers["requirements"])


def test_jobs_need_a_policy_with_quasi_identifiers(app: FastAPI) -> None:
    browser = signed_in(app, "custodian")
    for policy, words in ((None, "no policy yet"), ('[columns.sex]\nrole = "other"\n', "No column is a quasi")):
        number = make_dataset(app, "custodian", policy=policy)
        answer = browser.post(f"/datasets/{number}/assess")
        assert answer.status_code == 409
        assert words in answer.text


GUESSES = '# by hand\n[columns.sex]\nrole = "quasi?"  # its name says "quasi?"\n\n[columns.age]\nrole = "sensitive?"\n'


def text_of(browser: Browser, number: int) -> str:
    return str(browser.get(f"/api/v1/datasets/{number}/policy").json()["policy"])


def test_a_click_confirms_a_role_and_leaves_the_rest_of_the_policy(app: FastAPI) -> None:
    number, browser = make_dataset(app, "custodian", policy=GUESSES), signed_in(app, "custodian")
    page = browser.get(f"/datasets/{number}/policy").text
    assert page.count('action="/datasets/') == 7  # the policy, rows, levels, a hierarchy, both columns, and all
    form = {"version": "0", "column": "sex"}
    assert browser.post(f"/datasets/{number}/confirm", form).headers["location"].endswith("/policy?said=confirmed")
    assert text_of(browser, number) == GUESSES.replace('= "quasi?"', '= "quasi"')
    assert 'Confirm<span class="unseen"> quasi for sex' not in browser.get(f"/datasets/{number}/policy").text
    assert browser.post(f"/datasets/{number}/confirm", form).status_code == 422  # it is confirmed already
    assert browser.post(f"/datasets/{number}/confirm", {"version": "0", "all": "yes"}).status_code == 409  # an old page
    assert browser.post(f"/datasets/{number}/confirm", {"version": "1", "all": "yes"}).status_code == 303
    assert "Roles to confirm" not in browser.get(f"/datasets/{number}/policy").text
    assert "<button disabled" not in browser.get(f"/datasets/{number}/protect").text
    assert [entry["event"] for entry in entries(app)].count("web.policy") == 2


def test_a_role_that_is_chosen_is_confirmed_and_what_is_left_alone_is_not(app: FastAPI) -> None:
    number, browser = make_dataset(app, "custodian", policy=GUESSES), signed_in(app, "custodian")
    roles = {"role-0": "quasi", "rule-0": "", "role-1": "sensitive?", "rule-1": ""}
    assert browser.post(f"/datasets/{number}/roles", {"version": "0", **roles}).status_code == 303
    assert text_of(browser, number) == GUESSES.replace('= "quasi?"', '= "quasi"')
    chosen = {**roles, "role-1": "other?", "confirm": "1"}
    answer = browser.post(f"/datasets/{number}/roles", {"version": "1", **chosen})
    assert answer.headers["location"].endswith("?said=confirmed")
    assert 'role = "other"' in text_of(browser, number)


def test_all_roles_are_confirmed_as_they_are_chosen(app: FastAPI) -> None:
    number, browser = make_dataset(app, "custodian", policy=GUESSES), signed_in(app, "custodian")
    roles = {"role-0": "quasi?", "rule-0": "", "role-1": "other", "rule-1": "", "confirm": "all"}
    assert browser.post(f"/datasets/{number}/roles", {"version": "0", **roles}).headers["location"].endswith("roles")
    assert text_of(browser, number) == GUESSES.replace('= "quasi?"', '= "quasi"').replace("sensitive?", "other")


def test_a_release_is_not_planned_by_guessed_roles(app: FastAPI) -> None:
    number, people = make_dataset(app, "custodian", policy=GUESSES), make_dataset(app, "custodian")
    browser = signed_in(app, "custodian")
    assert "(roles not confirmed)" in browser.get(f"/releases/new?dataset={number}").text
    assert "/releases/new" not in browser.get(f"/datasets/{number}/releases").text.partition("<main")[2]
    gates = {"population_source": "a", "population_licence": "b", "counts_only": True, "sign_off": "c"}
    plan = {"name": "spring", "dataset": number, "population": people, "recipients": ["north"], **gates}
    answer = browser.send("POST", "/api/v1/releases", json=plan, headers=SAME_ORIGIN)
    assert answer.status_code == 409
    assert "sex (quasi?), age (sensitive?)" in answer.text


def test_a_failed_job_says_why_on_its_page_and_on_that_of_the_data_set(app: FastAPI, supervisor: Supervisor) -> None:
    number = enqueue(app, kind="anonymise", k=1_000)
    assert ended(app) == {"anonymise": "failed"}
    browser = signed_in(app, "custodian")
    for path in (f"/jobs/{number}", f"/datasets/{look(app, number).dataset}", "/jobs"):
        assert "1,000 is more than the 12 people" in browser.get(path).text


class TestTheApi:
    """As a program uses it, with a token."""

    def program(self, app: FastAPI, *scopes: str) -> Browser:
        return Browser(app, headers={"Authorization": f"Bearer {make_token(app, 'custodian', *scopes)}"})

    def test_upload_assess_poll_fetch(self, app: FastAPI, supervisor: Supervisor) -> None:
        api = self.program(app, "datasets.read", "datasets.change", "datasets.take", "reports.read")
        content = "sex,age\n" + "".join(f"{'FM'[n % 2]},{30 + n % 4}\n" for n in range(40))
        made = api.send("POST", "/api/v1/datasets", files={"file": ("people.csv", content)}, data={"name": "mine"})
        assert made.status_code == 201
        number = made.json()["id"]
        ended(app)
        assert api.get("/api/v1/datasets").json()["datasets"] == [{**made.json(), "policy_version": 1}]
        policy = api.get(f"/api/v1/datasets/{number}/policy").json()
        assert policy["version"] == 1
        assert "[columns.sex]" in policy["policy"]
        job = api.send("POST", f"/api/v1/datasets/{number}/assess", json={"threshold": 0.3}).json()
        assert job["kind"] == "assess"
        ended(app)
        found = api.get(f"/api/v1/jobs/{job['id']}/result").json()
        assert found["numbers"]["threshold"] == 0.3
        assert found["numbers"]["records"] == 40
        assert found["entry"] is not None
        wanted = {"k": 2, "format": "parquet"}
        refused = api.send("POST", f"/api/v1/datasets/{number}/anonymise", json=wanted)
        assert refused.status_code == 409
        assert "sex (quasi?), age (quasi?)" in refused.text
        confirmed = api.send("POST", f"/api/v1/datasets/{number}/policy/confirm", json={"all": True, "version": 1})
        assert (policy["unconfirmed"], confirmed.json()["unconfirmed"]) == (["sex", "age"], [])
        job = api.send("POST", f"/api/v1/datasets/{number}/anonymise", json=wanted).json()
        ended(app)
        assert api.post(f"/api/v1/jobs/{job['id']}/file").content[:4] == b"PAR1"
        assert "<!doctype html>" in api.post(f"/api/v1/reports/{job['id']}").text
        assert api.send("POST", f"/api/v1/jobs/{job['id']}/cancel", json={}).json()["state"] == "done"
        assert api.send("POST", f"/api/v1/datasets/{number}/remove", json={}).json() == {"removed": number}
        assert api.get("/api/v1/datasets").json() == {"datasets": []}

    @pytest.mark.parametrize(
        ("path", "content"),
        [
            ("assess", {"threshold": "0.2"}),
            ("assess", {"threshold": 0}),
            ("assess", {"treshold": 0.2}),
            ("anonymise", {"k": 2.5}),
            ("anonymise", {}),
            ("anonymise", {"k": 2, "loss": "money"}),
            ("attack", {"attack": {"gain": "much"}}),
            ("attack", {"attack": {"gian": 1}}),
            ("policy", {"policy": "x"}),
            ("policy", {"policy": "[", "version": 0}),
            ("policy/confirm", {"version": 0}),
            ("policy/confirm", {"version": 0, "columns": ["sex"]}),
            ("policy/confirm", {"version": 0, "columns": ["sex"], "all": True}),
            ("population", {"size": 1, "dataset": 2}),
            ("population", {"dataset": 10**30}),
        ],
    )
    def test_what_does_not_fit_is_refused(self, app: FastAPI, path: str, content: dict[str, Any]) -> None:
        number = make_dataset(app, "custodian")
        api = self.program(app, "datasets.change")
        answer = api.send("POST", f"/api/v1/datasets/{number}/{path}", json=content)
        assert answer.status_code == 422, answer.text
        assert answer.json()["next"]

    def test_jobs_are_listed_by_state(self, app: FastAPI) -> None:
        waiting, done = make_job(app, "custodian", done=False), make_job(app, "custodian")
        api = self.program(app, "datasets.read")
        assert [job["id"] for job in api.get("/api/v1/jobs?state=done").json()["jobs"]] == [done]
        assert {job["id"] for job in api.get("/api/v1/jobs").json()["jobs"]} == {waiting, done}
        assert api.get("/api/v1/jobs?state=lost").status_code == 422
        assert api.get("/api/v1/jobs?dataset=1").json() == {"jobs": []}
