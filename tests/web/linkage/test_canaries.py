"""A whole project over HTTP, made of names that stand nowhere else: none is seen where it was not opened, none is logged.

Every answer to everybody is kept and searched, the file of the store and the log as well.
"""

from __future__ import annotations

import csv
import io
import logging
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import select

from discreet.linkage import ProjectFolder
from discreet.linkage.export import disclosures
from discreet.store.tables.linkage import PAIR
from discreet.web import Settings
from discreet.web.framework.permissions import ROLES
from discreet.web.jobs.supervisor import Supervisor
from discreet.web.linkage import store as linkage_store
from discreet.web.linkage.store import Work
from discreet.web.routes import ROUTES
from tests.web.client import Browser, make_accounts
from tests.web.jobs.working import until
from tests.web.linking import Shown
from tests.web.snapshot import entries

NAMES = [
    ("KAVRINOX", "TELMIQUAS", "1931-02-17", "88412093377"),
    ("KAVRINAX", "TELMIQUAS", "1931-02-17", "88412093371"),
    ("OBREZUNDA", "PHALTIVERG", "1947-11-05", "77325510948"),
    ("PHALTIVERG", "OBREZUNDA", "1947-11-05", "77325510948"),
    ("WUNDROSCHA", "ZIBELQUORN", "1958-07-23", "66120847731"),
    ("WUNDROSCHE", "ZIBELQUORM", "1958-07-28", "66120847713"),
]
SECRETS = ["morbusquixta", "ulcusvandrel", "febrisonzwick"]
IDS = [f"recordcanary{place}x" for place in range(6)]


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Time is real here: jobs run in processes."""
    return replace(settings, lease=timedelta(seconds=60), clock=Settings().clock)


@dataclass
class Recorder(Browser):
    """A browser whose answers are all kept."""

    who: str = ""
    heard: list[tuple[str, str, str, httpx.Response]] = field(default_factory=list)

    def send(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Any request."""
        answer = super().send(method, path, **options)
        self.heard.append((self.who, method, path, answer))
        return answer


def table(rows: list[int], *, second: bool = False) -> bytes:
    """Every other person, with what nobody shall see."""
    held = io.StringIO()
    writer = csv.writer(held)
    writer.writerow(["id", "given", "family", "born", "number", "plan" if second else "diagnosis"])
    for row in rows:
        writer.writerow([IDS[row], *NAMES[row], SECRETS[row // 2]])
    return held.getvalue().encode()


def seen(text: str, words: list[str]) -> set[str]:
    """Which canaries stand in a text, in whatever letters."""
    lower = text.lower()
    return {word for word in words if word.lower() in lower}


class Walk:
    """People at work on one project."""

    def __init__(self, app: FastAPI) -> None:
        self.app = app
        self.heard: list[tuple[str, str, str, httpx.Response]] = []
        self.people = {name: self._sign_in(name) for name in (*ROLES, "worker2", "worker3")}
        self.project = 0

    def _sign_in(self, name: str) -> Recorder:
        browser = Recorder(self.app, who=name, heard=self.heard)
        assert browser.sign_in(name).status_code == 303
        return browser

    def make(self, *, form: dict[str, str]) -> None:
        """The manager uploads, declares, waits."""
        manager = self.people["manager"]
        pairs = "\n".join(["a,b", *(f"{IDS[at]},{IDS[at + 1]}" for at in (0, 2, 4))]).encode()
        files = {
            "first": ("a.csv", table([0, 2, 4])),
            "second": ("b.csv", table([1, 3, 5], second=True)),
            "pairs": ("p.csv", pairs),
        }
        begun = manager.post("/linkage/new", {"name": "canaries", "encoding": "utf-8"}, files=files)
        assert begun.status_code == 303, begun.text
        work = begun.headers["location"]
        assert manager.get(work).status_code == 200
        supervisor = Supervisor(self.app.state.site)
        assert manager.post(work, form).status_code == 303
        until(lambda: (supervisor.look(), self._work(work).state not in ("queued", "running"))[1], what="the import")
        until(lambda: (supervisor.look(), not supervisor.running)[1], what="the end of its process")
        done = self._work(work)
        assert done.state == "done", (done.problem, done.remedy)
        assert done.project is not None
        self.project = done.project
        assert list(self.app.state.site.places.folder.path.glob("upload-*")) == [], "uploads are deleted"

    def _work(self, path: str) -> Work:
        with self.app.state.site.store.reading() as connection:
            found = linkage_store.find_work(connection, int(path.rpartition("/")[2]))
        assert found is not None
        return found

    def page(self, who: str, pair: int) -> Shown:
        """A page of a pair."""
        return Shown(self.people[who].get(f"/linkage/{self.project}/pairs/{pair}").text)

    def open(self, who: str, pair: int, cell: int, *, times: int = 2) -> None:
        """Open a cell in full."""
        for live in ("0", "1")[:times]:
            self.people[who].post(
                f"/linkage/{self.project}/pairs/{pair}/reveal", self.page(who, pair).form(cell, live=live)
            )

    def decide(self, who: str, pair: int, choice: int) -> None:
        """Answer a pair."""
        answer = self.people[who].post(f"/linkage/{self.project}/pairs/{pair}/decide", {"choice": str(choice)})
        assert answer.status_code == 303

    def look_everywhere(self, part: str = "") -> None:
        """Every GET route, or those of a part, by everybody."""
        for route in ROUTES:
            if route.method != "GET" or route.kind == "asset" or "secret" in route.path or part not in route.path:
                continue
            for pair in (1, 2, 3) if "{pair}" in route.path else (1,):
                for browser in self.people.values():
                    browser.get(route.path.format(number=self.project, pair=pair, name="", secret=""))


DECLARED = {
    "use-0": "id", "use-1": "string", "use-2": "string", "use-3": "date", "use-4": "fixed", "use-5": "sensitive",
    "other-1": "given", "other-2": "family", "other-3": "born", "other-4": "number", "second-0": "id", "second-5": "sensitive",
    "dates": "iso-us", "swap-first": "given", "swap-last": "family", "initial": "masked", "kappa": "1", "risk": "", "characters": "",
    "review": "", "score": "",
}  # fmt: skip


@pytest.fixture
def walk(app: FastAPI, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> Iterator[Walk]:
    caplog.set_level(logging.DEBUG)
    make_accounts(app, "worker2", "worker3")
    walk = Walk(app)
    walk.make(form=DECLARED)
    yield walk
    said = capfd.readouterr()
    words = [*IDS, *SECRETS, *(value for person in NAMES for value in person)]
    assert seen(caplog.text + said.out + said.err, words) == set(), "a value was logged"


def test_canaries_are_seen_where_they_were_opened_and_nowhere_else(
    app: FastAPI, walk: Walk, settings: Settings
) -> None:
    project, manager = walk.project, walk.people["manager"]
    walk.look_everywhere("linkage")
    given = manager.post(
        f"/linkage/{project}/assign",
        {"worker": ["worker", "worker2"], "overlap": "2", "risk": "95", "characters": "95"},
    )
    assert given.status_code == 303
    walk.look_everywhere("linkage")
    walk.open("worker", 1, 0)
    walk.open("worker", 2, 3)
    walk.open("worker2", 3, 2, times=1)
    for pair in (1, 2, 3):
        walk.decide("worker", pair, 6)
        walk.decide("worker2", pair, 6 if pair > 1 else 1)
    walk.look_everywhere("linkage")
    assert (
        manager.post(f"/linkage/{project}/settle", {"worker": "worker3", "risk": "", "characters": ""}).status_code
        == 303
    )
    walk.decide("worker3", 1, 5)
    walk.look_everywhere("linkage")
    taken = manager.post(f"/linkage/{project}/export", {})
    assert taken.status_code == 200, taken.text
    walk.look_everywhere()

    allowed = _allowed(app, project)
    assert {who for who, _ in allowed} >= {"worker", "worker3"}, "the test opens something"
    words = [value for person in NAMES for value in person]
    reached = set()
    for who, method, path, answer in walk.heard:
        if answer is taken:
            continue
        found = seen(answer.text + str(answer.headers) + path, [*words, *IDS, *SECRETS])
        pair = re.fullmatch(rf"/linkage/{project}/pairs/(\d)(?:/reveal)?", path)
        may = allowed.get((who, int(pair[1])), set()) if pair else set()
        if path == f"/linkage/{project}/sheet":  # all pairs of a reviewer
            may = set().union(*(values for (whose, _), values in allowed.items() if whose == who))
        assert found <= may, f"{who} was sent too much at {method} {path}"
        reached |= found
    assert reached == set().union(*allowed.values()), "what was opened is seen"
    assert len(walk.heard) > 500

    _look_into(taken, words)
    kept = b"".join(path.read_bytes() for path in Path(str(settings.store)).parent.glob("store.db*"))
    assert seen(kept.decode("latin-1"), [*words, *IDS, *SECRETS]) == set(), "the store holds a value"
    assert [one["event"] for one in entries(app)].count("linkage.exported") == 1


def _allowed(app: FastAPI, project: int) -> dict[tuple[str, int], set[str]]:
    """By reviewer and pair the values that were opened in full, by the log of who saw which cell."""
    with app.state.site.store.reading() as connection:
        found = linkage_store.find(connection, project)
        records = {
            row.number: (row.first, row.second)
            for row in connection.execute(select(PAIR).where(PAIR.c.project == project))
        }
    assert found is not None
    columns = ProjectFolder.open(found.folder).identifying()
    allowed: dict[tuple[str, int], set[str]] = {}
    for _, who, _, pair, attribute, mode, _ in disclosures(app.state.site.store, found):
        if mode == "full":
            values = {columns[attribute][record] for record in records[pair]}
            allowed.setdefault((who, pair), set()).update(value for value in values if value)
    return allowed


def _look_into(taken: httpx.Response, words: list[str]) -> None:
    """The archive: sensitive values in the linked table, identities nowhere."""
    with zipfile.ZipFile(io.BytesIO(taken.content)) as archive:
        texts = {name: archive.read(name).decode() for name in archive.namelist()}
    assert set(texts) == {"linked.csv", "decisions.csv", "clusters.csv", "contradictions.csv", "disclosures.csv"}
    assert seen("".join(texts.values()), [*words, *IDS]) == set()
    assert seen(texts["linked.csv"], SECRETS) == set(SECRETS)
    assert len(list(csv.reader(io.StringIO(texts["linked.csv"])))) == 1 + 3
    assert seen("".join(text for name, text in texts.items() if name != "linked.csv"), SECRETS) == set()
    assert len(list(csv.reader(io.StringIO(texts["disclosures.csv"])))) > 3
