"""A town whose people do not exist, as two data sets: a hospital's table, and counts of everybody. Plans, too."""

from __future__ import annotations

import csv
import html
import io
import re
import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from fastapi import FastAPI

from discreet.web.datasets import store as datasets
from discreet.web.jobs import process
from discreet.web.jobs import store as jobs
from discreet.web.releases import store as plans
from tests.releases.world import roomy, rows_of
from tests.web.client import Browser, signed_in
from tests.web.samples import account_number
from tests.web.snapshot import entries

POLICY = """\
[columns.name]
role = "identifier"

[columns.zip]
role = "quasi"
hierarchy = { mask = 3 }

[columns.year]
role = "quasi"
hierarchy = { widths = [2, 4] }

[columns.sex]
role = "quasi"
hierarchy = { any = "*" }

[columns.illness]
role = "sensitive"

[population]
count = "people"
"""
ILLNESSES = ("flu", "asthma", "broken arm", "cough")
CANARY = "Quendolyn Unpublished"
"""A name in the data; it must never be seen anywhere."""
RECIPIENTS = ("north", "south", "west")


def town_files(seed: int = 1, *, room: bool = False) -> tuple[bytes, bytes]:
    """The hospital's table, and everybody counted; with room for decoys that are riskier than all."""
    rng = np.random.default_rng(seed)
    everybody, rows = roomy(seed) if room else rows_of(rng, 28, 14, 12)
    table = [(CANARY, zip_, year, sex, ILLNESSES[int(rng.integers(4))]) for _, zip_, year, sex, *_ in rows]
    counts = [(*labels, size) for labels, size in zip(everybody.tuples(), everybody.sizes.tolist(), strict=True)]
    return _csv(("name", "zip", "year", "sex", "illness"), table), _csv(("zip", "year", "sex", "people"), counts)


def _csv(head: tuple[str, ...], rows: list[Any]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([head, *rows])
    return text.getvalue().encode()


def bring_town(app: FastAPI, *, owner: str = "custodian", seed: int = 1, room: bool = False) -> tuple[int, int]:
    """Both as data sets; the second is the population of the first."""
    data, counts = town_files(seed, room=room)
    crowd = _bring(app, "everybody.csv", counts, ("zip", "year", "sex", "people"), owner=owner)
    columns = ("name", "zip", "year", "sex", "illness")
    return _bring(app, "town.csv", data, columns, owner=owner, policy=POLICY, population=crowd), crowd


def _bring(app: FastAPI, name: str, content: bytes, columns: tuple[str, ...], *, owner: str, **more: Any) -> int:
    site, number = app.state.site, datasets.new_number()
    path = site.places.folder.new("upload", "csv")
    with site.places.folder.create(path) as file:
        file.write(content)
    about = {"kind": "upload", "place": path.name, "size": len(content), **more}
    with site.store.writing() as connection:
        chosen = datasets.free_name(connection, name)
        account = account_number(app, owner)
        datasets.add(connection, number, name=chosen, columns=columns, account=account, now=site.stamp(), **about)
    return number


def form_of(dataset: int, population: int, **more: Any) -> dict[str, Any]:
    """The form of a plan, filled in."""
    return {
        "name": "spring",
        "dataset": str(dataset),
        "population": str(population),
        "recipients": "\n".join(RECIPIENTS),
        "k": "3",
        "suppression": "30",
        "law": "0.2/0.5",
        "format": "csv",
        "population_source": "a made-up town",
        "population_licence": "made up",
        "counts_only": "yes",
        "sign_off": "TEST-1",
        "agreement": "This copy contains control records.",
        "force": "yes",  # a few illnesses by chance are easily told apart, and that is not what these tests are about
        **more,
    }


def plan(app: FastAPI, browser: Browser | None = None, *, room: bool = False, **more: Any) -> int:
    """A custodian plans a release of the town; gives the number of the plan."""
    form = form_of(*bring_town(app, room=room), **more)
    answer = (browser or signed_in(app, "custodian")).post("/releases/new", form)
    assert answer.status_code == 303, answer.text
    return int(answer.headers["location"].partition("?")[0].rpartition("/")[2])


def work_off(app: FastAPI) -> list[str]:
    """Do every job that waits, here and now; gives what became of each. Where a supervisor is at work, wait for him."""
    site, ends = app.state.site, []
    if site.supervisor is not None:
        return _waited(app)
    while True:
        with site.store.writing() as connection:
            job = jobs.claim(connection, at_once=10**6, lease=10**6)
        if job is None:
            return ends
        ends.append(_do(app, job))


def _waited(app: FastAPI) -> list[str]:
    end = time.monotonic() + 120
    while time.monotonic() < end:
        with app.state.site.store.reading() as connection:
            (last,) = jobs.newest(connection, most=1)
        if not last.active:
            return [last.problem or last.state]
        time.sleep(0.1)
    raise AssertionError("a job does not come to its end")


def _do(app: FastAPI, job: Any) -> str:
    from discreet.errors import DiscreetError

    site = app.state.site
    try:
        process.perform(site.ledger, job, job.claim or "", site.places, lambda step, share: None)
    except DiscreetError as error:
        with site.store.writing() as connection:
            jobs.fail(connection, job.id, job.claim or "", problem=error.problem, remedy=error.remedy)
        return error.problem
    return "done"


def seen_on(browser: Browser, number: int) -> str:
    """What the page of a plan says that somebody approves; empty where it offers no approval."""
    found = re.search(r'name="seen" value="([0-9a-f]{64})"', browser.get(f"/releases/plans/{number}").text)
    return found[1] if found else ""


def approve(app: FastAPI, number: int, who: str = "custodian2") -> None:
    """Another custodian approves what they see."""
    browser = signed_in(app, who)
    answer = browser.post(f"/releases/plans/{number}/approve", {"seen": seen_on(browser, number)})
    assert answer.status_code == 303, answer.text


def released(app: FastAPI, **more: Any) -> int:
    """A release from the plan to the copies that lie ready; needs the account custodian2."""
    number = plan(app, **more)
    assert work_off(app) == ["done"]
    approve(app, number)
    assert signed_in(app, "custodian").post(f"/releases/plans/{number}/make").status_code == 303
    assert work_off(app) == ["done"]
    return number


def folder_files(app: FastAPI) -> list[Path]:
    """What lies in the folder for data."""
    return sorted(app.state.site.places.folder.path.iterdir())


def state_of(app: FastAPI, number: int) -> str:
    """The state of a plan."""
    with app.state.site.store.reading() as connection:
        found = plans.find(connection, number)
    assert found is not None
    return found.state


def events(app: FastAPI) -> list[tuple[str, str, str]]:
    """Event, actor and outcome of the entries about releases."""
    found = [(one["event"], one["actor"], one["outcome"]) for one in entries(app)]
    return [one for one in found if one[0].startswith(("releases.", "web.approved", "web.rejected"))]


def words_of(answer: httpx.Response) -> str:
    """The text of a page."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", answer.text)).split())
