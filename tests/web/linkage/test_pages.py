"""Managers at work over HTTP: a project from data sets that are lent, pairs found by the machine, zones, dispatch, learning."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI

from discreet.linkage import load_candidates
from discreet.linkage.folder import ProjectFolder
from discreet.linkage.project import Project, find_project
from discreet.linkage.review.assignments import Limits
from discreet.linkage.review.decisions import answers_of, decide, next_pair
from discreet.people import LinkFiles, write_extracts
from discreet.web import Settings
from discreet.web.jobs.supervisor import Supervisor
from discreet.web.linkage import store as linkage_store
from discreet.web.linkage.store import Work
from tests.linkage.worlds import folder_of
from tests.web.client import BOTH_STORES, Browser, make_accounts, signed_in
from tests.web.jobs.working import until
from tests.web.linking import given_out
from tests.web.samples import make_dataset
from tests.web.snapshot import entries, snapshot
from tests.web.test_matrix import make_token

USES = {
    "id": "id", "given_name": "string", "surname": "string", "birth_date": "date", "sex": "category", "zip": "fixed",
    "national_id": "fixed", "diagnosis": "sensitive", "visits": "sensitive",
}  # fmt: skip


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Time is real here: jobs run in processes."""
    return replace(settings, lease=timedelta(seconds=60), clock=Settings().clock)


@pytest.fixture
def manager(app: FastAPI) -> Browser:
    return signed_in(app, "manager")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> LinkFiles:
    return write_extracts(tmp_path_factory.mktemp("extracts"), people=300, seed=5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder_of(tmp_path_factory.mktemp("linkage") / "people")[0].path


@pytest.fixture
def project(app: FastAPI, folder: Path) -> Project:
    return given_out(app, folder, limits=Limits.of("0.5"))


def work_at(app: FastAPI, path: str) -> Work:
    with app.state.site.store.reading() as connection:
        found = linkage_store.find_work(connection, int(path.rpartition("/")[2]))
    assert found is not None
    return found


def worked(app: FastAPI) -> None:
    """Let the machine do what waits."""
    supervisor = Supervisor(app.state.site)

    def idle() -> bool:
        supervisor.look()
        with app.state.site.store.reading() as connection:
            active = [one for one in linkage_store.unfinished(connection) if one.active]
        return not active and not supervisor.running

    until(idle, what="the end of the work")


def declared(files: LinkFiles, **more: str) -> dict[str, str]:
    """The form that declares the columns of both extracts."""
    first = files.first.read_text(encoding="utf-8").split("\n", 1)[0].strip().split(",")
    second = files.second.read_text(encoding="utf-8").split("\n", 1)[0].strip().split(",")
    form = {f"use-{place}": USES[name] for place, name in enumerate(first)}
    for place, name in enumerate(first):
        if USES[name] not in ("id", "sensitive"):
            form[f"other-{place}"] = "born" if name == "birth_date" else name
    for place, name in enumerate(second):
        form[f"second-{place}"] = "id" if name == "id" else "sensitive" if name in ("plan", "income") else "out"
    plain = {"dates": "iso-us", "swap-first": "given_name", "swap-last": "surname", "initial": "masked", "kappa": "1"}
    return {**form, **plain, "risk": "20", "characters": "", "review": "40", "most_pairs": "", "once": "yes", **more}


def test_blocking_rules_are_chosen_in_the_browser(app: FastAPI, manager: Browser, files: LinkFiles) -> None:
    sent = {"first": ("a.csv", files.first.read_bytes()), "second": ("b.csv", files.second.read_bytes())}
    begun = manager.post("/linkage/new", {"name": "rules", "encoding": "utf-8"}, files=sent)
    path = begun.headers["location"]
    refused = manager.post(path, declared(files, rules="diagnosis"))
    assert (refused.status_code, "not identifying" in refused.text) == (422, True)
    assert manager.post(path, declared(files, rules="surname, birth_date\nzip")).status_code == 303
    assert work_at(app, path).asked["finding"]["rules"] == [["surname", "birth_date"], ["zip"]]
    worked(app)
    model = load_candidates(ProjectFolder.open(find_project(app.state.site.store, "rules").folder)).model
    assert model is not None
    assert [rule.attributes for rule in model.blocking.rules] == [("surname", "birth_date"), ("zip",)]


def test_from_two_tables_to_a_model_that_learned(app: FastAPI, manager: Browser, files: LinkFiles) -> None:
    """The machine finds pairs with Splink in a process of its own; people decide; the model learns from them."""
    sent = {
        "first": ("clinic.csv", files.first.read_bytes()),
        "second": ("registry.csv", files.second.read_bytes()),
    }
    begun = manager.post("/linkage/new", {"name": "extracts", "encoding": "utf-8"}, files=sent)
    path = begun.headers["location"]
    assert "identifying: a date" in manager.get(path).text
    assert manager.post(path, declared(files, review="120")).status_code == 303
    assert manager.get(f"{path}/state").json()["state"] == "queued"
    worked(app)
    done = work_at(app, path)
    assert (done.state, done.problem) == ("done", None)
    assert manager.get(path).headers["location"] == f"/linkage/{done.project}?said=made"
    made = find_project(app.state.site.store, "extracts")
    assert made.risk_limit == "1/5"
    counts = load_candidates(ProjectFolder.open(made.folder)).counts
    assert 20 <= counts["people"] <= 120
    assert counts["same"] > 100
    page = manager.get(f"/linkage/{made.id}/zones").text
    assert "Where relatives, twins or namesakes are in the tables, errors are far more frequent" in page
    assert "Pairs by what speaks for one person" in page
    assert 'id="zones-chart' in page or "<svg" in page
    _decide_all(app, manager, made, files)
    assert manager.post(f"/linkage/{made.id}/learn").headers["location"].endswith("said=learning")
    worked(app)
    learned = load_candidates(ProjectFolder.open(made.folder))
    assert learned.pairs.calibrated
    assert learned.model is not None
    assert learned.model.labels >= 20
    acts = [str(one) for one in entries(app) if one["event"] == "linkage.project"]
    assert "labels" in acts[-1]


def _decide_all(app: FastAPI, manager: Browser, made: Project, files: LinkFiles) -> None:
    form = {"worker": "worker", "overlap": "1", "risk": "12", "characters": "30"}
    assert manager.post(f"/linkage/{made.id}/assign", form).headers["location"].endswith("said=assigned")
    store = app.state.site.store
    home = ProjectFolder.open(made.folder)
    truth = [line.split(",") for line in files.truth.read_text(encoding="utf-8").splitlines()[1:]]
    firsts = home.records_of([row[0] for row in truth], "first").tolist()
    seconds = home.records_of([row[1] for row in truth], "second").tolist()
    same = {(a, b) for a, b, row in zip(firsts, seconds, truth, strict=True) if row[2] == "1"}
    records = {one.pair: one.records for one in answers_of(store, made)}
    while (pair := next_pair(store, made, "worker")) is not None:
        decide(store, made, "worker", pair, 6 if records[pair] in same else 1)


def test_a_data_set_is_used_only_while_it_is_lent(app: FastAPI, manager: Browser) -> None:
    number, custodian = make_dataset(app, "custodian"), signed_in(app, "custodian")
    form = {"name": "lent", "encoding": "utf-8", "first_dataset": str(number)}
    before = snapshot(app)
    refused = manager.post("/linkage/new", form, files={"second": ("", b"")})
    assert refused.status_code == 422
    assert "not lent" in refused.text
    assert snapshot(app) == before
    assert str(number) not in manager.get("/linkage/new").text
    assert manager.post(f"/datasets/{number}/lend", {"lend": "yes"}).status_code == 403
    assert custodian.post(f"/datasets/{number}/lend", {"lend": "yes"}).status_code == 303
    assert "Stop lending it" in custodian.get(f"/datasets/{number}").text
    assert str(number) in manager.get("/linkage/new").text
    begun = manager.post("/linkage/new", form, files={"second": ("", b"")})
    assert begun.status_code == 303
    assert work_at(app, begun.headers["location"]).tables[0]["columns"] == ["sex", "age"]
    form = {
        "use-0": "category",
        "use-1": "fixed",
        "dates": "iso-us",
        "swap-first": "",
        "swap-last": "",
        "initial": "masked",
    }
    assert manager.post(begun.headers["location"], {**form, "kappa": "1"}).status_code == 303
    custodian.post(f"/datasets/{number}/lend", {"lend": "no"})
    assert str(number) not in manager.get("/linkage/new").text
    assert custodian.post(f"/datasets/{number}/remove", {}).status_code in (303, 422)


WRONG: list[tuple[dict[str, str], str]] = [
    ({"use-0": "out", "use-1": "out", "use-2": "out", "use-3": "out", "use-4": "out", "use-5": "out", "use-6": "out"}, "At least two columns"),
    ({"use-0": "string", "other-0": ""}, "has no counterpart"),
    ({"swap-last": ""}, "both columns of names"),
    ({"use-1": "id", "use-2": "id"}, "Only one column can be the identifier"),
    ({"risk": "120"}, "from 0 to 100 per cent"),
    ({"risk": "a"}, "from 0 to 100 per cent"),
    ({"kappa": "0"}, "whole number from 1"),
    ({"initial": "everything"}, "must be one of"),
    ({"score": "p"}, "no such column"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "words"), WRONG, ids=[words for _, words in WRONG])
def test_what_does_not_fit_is_said_in_words(
    app: FastAPI, manager: Browser, files: LinkFiles, change: dict[str, str], words: str
) -> None:
    sent = {"first": ("a.csv", files.first.read_bytes()), "second": ("b.csv", files.second.read_bytes())}
    path = manager.post("/linkage/new", {"name": "x", "encoding": "utf-8"}, files=sent).headers["location"]
    answer = manager.post(path, {**declared(files), **change})
    assert answer.status_code == 422, words
    assert words in answer.text
    assert work_at(app, path).state == "declared"
    kept = list(app.state.site.places.folder.path.glob("upload-*"))
    assert len(kept) == 2
    assert manager.post(f"{path}/discard").status_code == 303
    assert list(app.state.site.places.folder.path.glob("upload-*")) == []


@pytest.mark.parametrize(
    ("form", "files", "words"),
    [
        ({"name": ""}, {"first": ("a.csv", b"a,b\n1,2\n")}, "letters, digits"),
        ({"name": "../x"}, {"first": ("a.csv", b"a,b\n1,2\n")}, "letters, digits"),
        ({"name": "x"}, {"other": ("a.csv", b"a,b\n1,2\n")}, "first table is missing"),
        ({"name": "x"}, {"first": ("a.pdf", b"%PDF")}, "does not end in .csv"),
        ({"name": "x"}, {"first": ("a.csv", b"")}, "a.csv"),
        ({"name": "x"}, {"first": ("a.csv", b"a,b\n1,2\n"), "second": ("b.parquet", b"no")}, "b.parquet"),
    ],
)
def test_uploads_that_are_no_tables_are_refused_and_gone(
    app: FastAPI, manager: Browser, form: dict[str, str], files: Any, words: str
) -> None:
    answer = manager.post("/linkage/new", {"encoding": "utf-8", **form}, files=files)
    assert answer.status_code in (415, 422)
    assert words in answer.text
    assert list(app.state.site.places.folder.path.glob("upload-*")) == []
    assert snapshot(app)["linkage_work"] == []


@BOTH_STORES
def test_work_that_fails_says_why_with_the_names_people_gave(app: FastAPI, manager: Browser) -> None:
    rows = b"id,name,born\n1,a,2000-01-01\n1,b,2000-01-02\n"
    begun = manager.post("/linkage/new", {"name": "twice", "encoding": "utf-8"}, files={"first": ("people.csv", rows)})
    form = {"use-0": "id", "use-1": "string", "use-2": "date", "dates": "iso-us", "swap-first": "", "swap-last": ""}
    manager.post(begun.headers["location"], {**form, "initial": "masked", "kappa": "1"})
    worked(app)
    page = manager.get(begun.headers["location"]).text
    assert "people.csv names a record, but 1 rows repeat a name" in page
    assert "upload-" not in page
    assert "Try the same again" in page
    assert manager.post(begun.headers["location"], {"again": "yes"}).status_code == 303
    assert work_at(app, begun.headers["location"]).state == "queued"


@pytest.mark.parametrize(
    ("act", "form", "words"),
    [
        ("assign", {}, "No reviewer is chosen"),
        ("assign", {"worker": "manager"}, "must be some of"),
        ("assign", {"worker": "worker", "overlap": "2"}, "whole number from 1 to 1"),
        ("assign", {"worker": "worker", "risk": "-1"}, "from 0 to 100"),
        ("settle", {"worker": "nobody"}, "must be one of"),
        ("learn", {}, "too few to learn from"),
        ("export", {}, "are not decided"),
        ("zones", {"how": "errors", "false_same": "x", "missed": "1"}, "must be a number"),
        ("zones", {"how": "weights", "lower": "5", "upper": "1"}, "Some pairs have no score"),
        ("withdraw", {}, "is missing"),
    ],
)
def test_what_cannot_be_done_is_said_on_the_page(
    app: FastAPI, manager: Browser, project: Project, act: str, form: dict[str, str], words: str
) -> None:
    before = snapshot(app)
    answer = manager.post(f"/linkage/{project.id}/{act}", form)
    assert answer.status_code in (409, 422), answer.text
    assert words in answer.text or act == "zones"
    assert snapshot(app) == before


def test_limits_in_per_cent_are_exact(app: FastAPI, folder: Path, manager: Browser) -> None:
    project = given_out(app, folder, ["worker"], name="exact")
    make_accounts(app, "worker2")
    form = {"worker": "worker2", "overlap": "1", "risk": "12.5", "characters": "30,25 %", "most": "3"}
    manager.post(f"/linkage/{project.id}/withdraw", {"worker": "worker"})
    assert manager.post(f"/linkage/{project.id}/assign", form).status_code == 303
    rows = {row[1]: row for row in snapshot(app)["linkage_worker"]}
    assert rows["worker2"][2:5] == ("1/8", "121/400", 3)


@BOTH_STORES
def test_the_manager_sees_how_far_everybody_is(app: FastAPI, folder: Path, manager: Browser) -> None:
    make_accounts(app, "worker2")
    project = given_out(app, folder, ["worker", "worker2"], name="both")
    store = app.state.site.store
    for worker, choices in (("worker", (6, 6, 1, 1)), ("worker2", (6, 5, 1, 4))):
        for pair, choice in enumerate(choices, start=1):
            decide(store, project, worker, pair, choice)
    page = manager.get(f"/linkage/{project.id}").text
    assert "4 of 7 pairs" in page
    assert "1 pair is in dispute" in page
    assert "0.47" in page  # Fleiss' kappa of same same different, and one that differs
    listed = manager.get("/linkage").text
    assert "both" in listed
    secret = make_token(app, "manager", "linkage.manage")
    told = Browser(app, headers={"Authorization": f"Bearer {secret}"}).get(f"/api/v1/linkage/{project.id}").json()
    assert told["verdicts"] == {"same": 2, "different": 1, "can't tell": 0, "disputed": 1, "open": 3}
    assert told["agreement"]["pairs"] == 4
    assert [one["decided"] for one in told["workers"]] == [4, 4]


def test_a_closed_project_can_still_be_taken_away(app: FastAPI, manager: Browser, project: Project) -> None:
    assert manager.post(f"/linkage/{project.id}/close").status_code == 303
    assert manager.post(f"/linkage/{project.id}/assign", {"worker": "worker"}).status_code == 409
    taken = manager.post(f"/linkage/{project.id}/export", {"unfinished": "yes"})
    assert taken.status_code == 200
    assert taken.headers["content-type"] == "application/zip"
    assert re.fullmatch(r'attachment; filename="[A-Za-z0-9-]+-linked.zip"', taken.headers["content-disposition"])
    assert list(app.state.site.places.folder.path.glob("export-*")) == []


@BOTH_STORES
def test_a_reviewer_finds_her_work_and_a_summary(app: FastAPI, project: Project) -> None:
    worker = signed_in(app, "worker")
    assert "0 of 7" in worker.get("/linkage").text
    for pair in range(1, 8):
        last = worker.post(f"/linkage/{project.id}/pairs/{pair}/decide", {"choice": str(pair % 7)})
    assert last.headers["location"] == f"/linkage/{project.id}/done?said=too-fast", "seven in a row without reading"
    page = worker.get(f"/linkage/{project.id}/done").text
    assert "You have decided all 7 pairs" in page
    assert worker.get(f"/linkage/{project.id}/review").headers["location"] == f"/linkage/{project.id}/done"


@pytest.fixture(autouse=True)
def _no_process_is_left(app: FastAPI) -> Iterator[None]:
    yield
    with app.state.site.store.reading() as connection:
        assert not [one for one in linkage_store.unfinished(connection) if one.state == "running"]


def test_nobody_raises_or_drops_a_limit_in_force_alone(app: FastAPI, folder: Path, manager: Browser) -> None:
    """A lower one takes effect, an empty field leaves what there is."""
    project = given_out(app, folder, ["worker"], name="held", limits=Limits.of("0.3", "0.5"))
    manager.post(f"/linkage/{project.id}/withdraw", {"worker": "worker"})

    def held() -> tuple[object, ...]:
        return next(row for row in snapshot(app)["linkage_worker"] if row[1] == "worker")[2:4]

    form = {"worker": "worker", "overlap": "1"}
    for more in ({"risk": "31"}, {"characters": "50.1"}, {"risk": "100", "characters": "100"}):
        answer = manager.post(f"/linkage/{project.id}/assign", {**form, **more})
        assert answer.status_code == 409, answer.text
        assert "is not raised by one person" in answer.text
        assert held() == ("3/10", "1/2")
    assert any(entry["outcome"] == "refused" for entry in entries(app) if entry["event"] == "linkage.assigned")
    assert manager.post(f"/linkage/{project.id}/assign", form).status_code == 303
    assert held() == ("3/10", "1/2")
    assert manager.post(f"/linkage/{project.id}/assign", {**form, "risk": "29"}).status_code == 303
    assert held() == ("29/100", "1/2")
