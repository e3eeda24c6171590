"""What a reviewer is not to see, the server does not send: races, replays, other tabs, forged fields, foreign pairs."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from fastapi import FastAPI

from discreet.ledger import Ledger
from discreet.linkage import Display, ProjectFolder
from discreet.linkage.project import Project, close_project
from discreet.linkage.review.assignments import Limits, assign
from discreet.web.framework.route import Route
from discreet.web.framework.shared_state import assets
from discreet.web.routes import ROUTES
from tests.linkage.worlds import PAIRS, PEOPLE, folder_of, registered
from tests.web.client import BOTH_STORES, Browser, make_accounts, signed_in
from tests.web.linking import Shown, click, decide, given_out, page_of
from tests.web.snapshot import entries, snapshot

LINKAGE = [route for route in ROUTES if "linkage" in route.path]
COUNT = len(PAIRS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a project of eight people and seven pairs."""
    return folder_of(tmp_path_factory.mktemp("linkage") / "people")[0].path


@pytest.fixture
def project(app: FastAPI, folder: Path) -> Project:
    """A project whose pairs the worker has, with room to open."""
    return given_out(app, folder, limits=Limits.of("0.9", "0.9"))


@pytest.fixture
def worker(app: FastAPI) -> Browser:
    return signed_in(app, "worker")


def spent(ledger: Ledger, project: Project) -> Fraction:
    """What the ledger says was spent."""
    found = [one for one in ledger.budgets() if one.name == project.budget("worker")]
    return found[0].spent


def exact(app: FastAPI, project: Project) -> Display:
    """The same state of all pairs in a Display, which knows no store."""
    from sqlalchemy import select

    from discreet.store.tables.linkage import ASSIGNMENT, CELL, PAIR

    home = ProjectFolder.open(project.folder)
    columns = home.identifying()
    records = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    with app.state.site.store.reading() as connection:
        pairs = connection.execute(select(PAIR).where(PAIR.c.project == project.id).order_by(PAIR.c.number)).all()
        cells = connection.execute(
            select(ASSIGNMENT.c.pair, CELL.c.attribute, CELL.c.mode)
            .join(ASSIGNMENT, ASSIGNMENT.c.id == CELL.c.assignment)
            .where(ASSIGNMENT.c.project == project.id)
            .order_by(CELL.c.at, CELL.c.mode.desc())
        ).all()
    display = Display(
        records,
        kinds=dict(project.kinds),
        pairs=[(one.first, one.second) for one in pairs],
        swaps=[home.spec.swap or ()],
    )
    for cell in cells:
        if display.next_mode(cell.pair - 1, cell.attribute) is not None:
            display = display.open(cell.pair - 1, cell.attribute, cell.mode)
    return display


def in_threads(count: int, act: Callable[[int], None]) -> None:
    """All at once."""
    gate = threading.Barrier(count)

    def run(place: int) -> None:
        gate.wait()
        act(place)

    threads = [threading.Thread(target=run, args=(place,)) for place in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@BOTH_STORES
def test_parallel_reveals_never_exceed_the_limit(app: FastAPI, folder: Path) -> None:
    project = given_out(app, folder, limits=Limits.of("0.06"))
    browsers = [signed_in(app, "worker") for _ in range(24)]
    pages = {pair: page_of(browsers[0], project, pair) for pair in range(1, COUNT + 1)}
    statuses: list[int] = []

    def act(place: int) -> None:
        pair = place % COUNT + 1
        fresh = {**pages[pair].form(place // COUNT), "key": f"{place:032x}"}
        statuses.append(click(browsers[place], project, pair, fresh).status_code)
        again = page_of(browsers[place], project, pair)
        for cell in again.cells:
            statuses.append(click(browsers[place], project, pair, again.form(cell)).status_code)

    in_threads(24, act)
    meter = project.meter(COUNT)
    assert set(statuses) <= {303, 403, 409}, statuses
    assert 303 in statuses
    assert 403 in statuses, "nothing was refused: the limit is not tight"
    assert spent(app.state.site.ledger, project) <= meter.allowance("0.06")
    display = exact(app, project)
    assert display.score <= Fraction(6, 100)
    assert 0 <= meter.spent(spent(app.state.site.ledger, project)) - display.score <= meter.slack


@BOTH_STORES
def test_one_click_is_charged_once_however_often_it_is_sent(app: FastAPI, project: Project, worker: Browser) -> None:
    shown = page_of(worker, project, 1)
    form = shown.form(shown.cells[0])
    in_threads(8, lambda place: click(worker, project, 1, form) and None)
    once = spent(app.state.site.ledger, project)
    assert click(worker, project, 1, form).status_code == 303
    assert spent(app.state.site.ledger, project) == once
    assert sum(one["event"] == "linkage.revealed" for one in entries(app)) == 1


def test_the_name_of_a_click_is_good_for_one_cell(app: FastAPI, project: Project, worker: Browser) -> None:
    shown = page_of(worker, project, 1)
    click(worker, project, 1, shown.form(shown.cells[0]))
    before = snapshot(app)
    moved = worker.post(f"/linkage/{project.id}/pairs/2/reveal", shown.form(shown.cells[0]))
    assert moved.status_code == 409
    assert snapshot(app) == before


def test_reloading_and_going_back_neither_charge_nor_refund(app: FastAPI, project: Project, worker: Browser) -> None:
    shown = page_of(worker, project, 1)
    click(worker, project, 1, shown.form(shown.cells[0]))
    after, before = page_of(worker, project, 1), snapshot(app)
    for pair in (1, 2, 1):
        page_of(worker, project, pair)
    worker.get(f"/linkage/{project.id}/review")
    assert snapshot(app) == before
    assert page_of(worker, project, 1).meters == after.meters
    assert page_of(worker, project, 1).values() == after.values()


def test_a_second_tab_that_is_out_of_date_opens_nothing(app: FastAPI, project: Project, worker: Browser) -> None:
    first, second = page_of(worker, project, 1), page_of(signed_in(app, "worker"), project, 1)
    assert click(worker, project, 1, first.form(first.cells[0])).status_code == 303
    before = snapshot(app)
    answer = click(worker, project, 1, second.form(second.cells[-1]))
    assert answer.status_code == 409
    assert "nothing was opened or charged" in answer.text
    assert snapshot(app) == before
    assert Shown(answer.text).values() == page_of(worker, project, 1).values()


FORGED = {"mode": "full", "price": "0", "risk": "0", "cost": "0", "characters": "0", "worker": "worker2", "limit": "1"}


@pytest.mark.parametrize("live", ["0", "1"])
def test_what_a_form_says_about_mode_or_price_is_ignored(app: FastAPI, folder: Path, live: str) -> None:
    honest = given_out(app, folder, name="honest", limits=Limits.of("0.9"))
    forged = given_out(app, folder, name="forged", limits=Limits.of("0.9"))
    browser, cell = signed_in(app, "worker"), 4
    click(browser, honest, 1, page_of(browser, honest, 1).form(cell))
    click(browser, forged, 1, page_of(browser, forged, 1).form(cell, live=live, **FORGED))
    one, other = page_of(browser, honest, 1), page_of(browser, forged, 1)
    assert one.values() == other.values()
    assert one.meters == other.meters
    ledger = app.state.site.ledger
    assert spent(ledger, honest) == spent(ledger, forged) > 0


@pytest.mark.parametrize(
    "wrong", [{"cell": "5"}, {"cell": "-1"}, {"cell": "given"}, {"key": "x"}, {"key": ""}, {"seen": "no"}, {"seen": ""}]
)
def test_a_form_that_is_not_ours_opens_nothing(
    app: FastAPI, project: Project, worker: Browser, wrong: dict[str, str]
) -> None:
    form = {**page_of(worker, project, 1).form(0), **wrong}
    before = snapshot(app)
    assert click(worker, project, 1, form).status_code == 422
    assert snapshot(app) == before


def test_beyond_the_limit_a_cell_stays_shut_and_all_else_works(app: FastAPI, folder: Path, worker: Browser) -> None:
    project = given_out(app, folder, limits=Limits.of("0.001"))
    shown = page_of(worker, project, 1)
    assert "your limit of privacy risk would be passed" in shown.text
    assert shown.cells == [] or len(shown.cells) < 5
    masked = shown.values()
    for live in ("0", "1"):
        answer = click(worker, project, 1, {**page_of(worker, project, 1).form(0), "live": live})
        assert answer.status_code == 403
        assert Shown(answer.text).values() == masked
        assert "Decide with what is open" in answer.text
    assert [one["outcome"] for one in entries(app) if one["event"] == "linkage.revealed"] == ["refused", "refused"]
    assert decide(worker, project, 1, 3).status_code == 303
    assert "You decided: <b>different, low confidence</b>" in page_of(worker, project, 1).text


def test_a_pair_of_somebody_else_does_not_exist(app: FastAPI, folder: Path, worker: Browser) -> None:
    make_accounts(app, "worker2")
    mine = given_out(app, folder, ["worker"], name="mine")
    theirs = given_out(app, folder, ["worker2"], name="theirs")
    before = snapshot(app)
    paths = [
        f"/linkage/{theirs.id}/pairs/1",
        f"/linkage/{theirs.id}/review",
        f"/linkage/{theirs.id}/done",
        f"/linkage/{mine.id}/pairs/99",
        "/linkage/999/pairs/1",
        "/linkage/x/pairs/1",
    ]
    assert len({worker.get(path).text for path in paths if worker.get(path).status_code == 404}) == 1
    assert all(worker.get(path).status_code == 404 for path in paths)
    form = page_of(worker, mine, 1).form(0)
    for act in ("reveal", "decide", "undo"):
        for path in (f"/linkage/{theirs.id}/pairs/1", f"/linkage/{mine.id}/pairs/99"):
            assert worker.post(f"{path}/{act}", {**form, "choice": "1"}).status_code == 404
    assert snapshot(app) == before


def test_what_is_taken_back_is_gone_from_the_reviewer(app: FastAPI, project: Project, worker: Browser) -> None:
    manager = signed_in(app, "manager")
    assert manager.post(f"/linkage/{project.id}/withdraw", {"worker": "worker"}).status_code == 303
    assert worker.get(f"/linkage/{project.id}/pairs/1").status_code == 404


@pytest.mark.parametrize("role", ["custodian", "manager", "auditor"])
def test_no_other_role_reviews(app: FastAPI, folder: Path, role: str) -> None:
    """Not even where pairs were given to somebody of that name."""
    project = given_out(app, folder, [role])
    for path in ("review", "done", "pairs/1"):
        assert signed_in(app, role).get(f"/linkage/{project.id}/{path}").status_code == 403


def test_no_get_changes_anything(app: FastAPI, project: Project) -> None:
    people = {role: signed_in(app, role) for role in ("worker", "manager", "custodian", "auditor")}
    before = snapshot(app)
    for route in LINKAGE:
        if route.method == "GET":
            for browser in people.values():
                browser.get(route.path.format(number=project.id, pair=1))
    assert snapshot(app) == before


@pytest.mark.parametrize(
    "route", [one for one in LINKAGE if one.method == "POST" and "pairs" in one.path], ids=lambda one: one.path
)
def test_a_page_elsewhere_opens_and_decides_nothing(
    app: FastAPI, project: Project, worker: Browser, route: Route
) -> None:
    form = {**page_of(worker, project, 1).form(0), "choice": "6"}
    before = snapshot(app)
    for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": None, "Origin": "https://evil.example"}):
        assert worker.post(route.path.format(number=project.id, pair=1), form, headers=headers).status_code == 403
    assert snapshot(app) == before


def test_an_undone_decision_leaves_what_was_opened_open(app: FastAPI, project: Project, worker: Browser) -> None:
    shown = page_of(worker, project, 1)
    click(worker, project, 1, shown.form(shown.cells[0]))
    paid, opened = spent(app.state.site.ledger, project), page_of(worker, project, 1).values()
    decide(worker, project, 1, 6)
    answer = worker.post(f"/linkage/{project.id}/pairs/2/undo")
    assert answer.headers["location"] == f"/linkage/{project.id}/pairs/1?said=decision-undone"
    assert page_of(worker, project, 1).values() == opened
    assert spent(app.state.site.ledger, project) == paid
    again = worker.post(f"/linkage/{project.id}/pairs/1/undo")
    assert again.headers["location"].endswith("said=nothing-to-undo")


def test_in_a_closed_project_nothing_is_opened_or_decided(app: FastAPI, project: Project, worker: Browser) -> None:
    form = page_of(worker, project, 1).form(0)
    close_project(app.state.site.ledger, project, actor="manager")
    assert click(worker, project, 1, form).status_code == 403
    assert decide(worker, project, 1, 1).status_code == 403
    for path in ("pairs/1", "pairs/2", "sheet"):
        answer = worker.get(f"/linkage/{project.id}/{path}")
        assert answer.status_code == 403
        assert "The project is closed" in answer.text
        assert 'class="cell' not in answer.text, "nothing of a pair is shown any more"
    assert worker.post(f"/linkage/{project.id}/pairs/1/undo").status_code == 403


def test_answers_of_the_review_are_kept_by_nobody(app: FastAPI, project: Project, worker: Browser) -> None:
    shown = page_of(worker, project, 1)
    page = worker.get(f"/linkage/{project.id}/pairs/1")
    fragment = click(worker, project, 1, shown.form(shown.cells[0], live="1"))
    values = [value for person in PEOPLE for value in person.values() if value and len(value) > 3]
    for answer in (page, fragment):
        assert answer.headers["cache-control"] == "no-store"
        assert not any(value in str(answer.headers) for value in values)
    title = re.search(r"<title>(.*?)</title>", page.text)
    assert title
    assert title[1] == f"Pair {_place(shown)} of {COUNT} · Discreet"
    plain = click(worker, project, 1, page_of(worker, project, 1).form(page_of(worker, project, 1).cells[0]))
    assert re.fullmatch(rf"/linkage/{project.id}/pairs/1#cell-\d", plain.headers["location"])


def _place(shown: Shown) -> str:
    return re.findall(r"<h1>Pair (\d+) of", shown.text)[0]


def test_the_script_keeps_nothing_but_whether_keys_work() -> None:
    script = assets()["review.js"][0].decode()
    assert re.findall(r"(?:localStorage|sessionStorage|indexedDB|document\.cookie|caches)\.?\w*\([^)]*\)", script) == [
        "localStorage.getItem(KEPT)",
        'localStorage.setItem(KEPT, box.checked ? "on" : "off")',
    ]
    assert 'const KEPT = "discreet-keys"' in script


def test_limits_of_one_project_are_not_those_of_another(app: FastAPI, folder: Path, worker: Browser) -> None:
    tight = given_out(app, folder, name="tight", limits=Limits.of("0"))
    wide = given_out(app, folder, name="wide", limits=Limits.of("1"))
    assert click(worker, tight, 1, page_of(worker, tight, 1).form(0)).status_code == 403
    assert click(worker, wide, 1, page_of(worker, wide, 1).form(0)).status_code == 303


def test_a_limit_of_the_project_binds_all_reviewers(app: FastAPI, folder: Path) -> None:
    make_accounts(app, "worker2")
    ledger = app.state.site.ledger
    project = registered(ledger, folder, risk_limit="0.03")
    assign(ledger, project, ["worker", "worker2"], actor="manager", overlap=2, limits=Limits.of("1", "1"))
    browsers = [signed_in(app, name) for name in ("worker", "worker2")]

    def act(place: int) -> None:
        browser = browsers[place % 2]
        for pair in range(1, COUNT + 1):
            shown = page_of(browser, project, pair)
            for cell in shown.cells:
                click(browser, project, pair, page_of(browser, project, pair).form(cell))

    in_threads(4, act)
    total = sum(one.spent for one in ledger.budgets() if one.name.startswith(project.subject))
    meter = project.meter(2 * COUNT)
    assert 0 < total <= meter.allowance("0.03")
    assert "the project&#39;s limit of privacy risk would be passed" in page_of(browsers[0], project, 1).text
