"""What goes in and out of a project over HTTP: a label sample, labels, a third table, the crosswalk and its changes."""

from __future__ import annotations

import csv
import io
import zipfile
from dataclasses import replace
from datetime import timedelta

import pytest
from fastapi import FastAPI

from discreet.ledger import Ledger
from discreet.linkage import LinkageSpec, find_pairs, load_candidates, start_project
from discreet.linkage.folder import ProjectFolder
from discreet.linkage.project import find_project, register_project
from discreet.linkage.review.decisions import answers_of, decide, next_pair
from discreet.people import LinkFiles, write_extracts
from discreet.web import Settings
from tests.web.client import signed_in
from tests.web.linkage.test_pages import worked
from tests.web.snapshot import entries


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Time is real here: jobs run in processes."""
    return replace(settings, lease=timedelta(seconds=60), clock=Settings().clock)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> LinkFiles:
    return write_extracts(tmp_path_factory.mktemp("extracts"), people=200, seed=6)


def started(app: FastAPI, files: LinkFiles) -> int:
    """A project in the folder of the site, where its jobs may write."""
    ledger: Ledger = app.state.site.ledger
    folder = start_project(
        app.state.site.places.folder.path / f"link-{0:032x}",
        files.first,
        files.second,
        spec=LinkageSpec.load(files.link),
        key=b"t",
    )
    find_pairs(folder, once=True).save(folder)
    return register_project(ledger, folder.path, actor="manager", name="extracts").id


def rows_of(content: bytes, name: str) -> list[dict[str, str]]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return list(csv.DictReader(io.StringIO(archive.read(name).decode("utf-8"))))


def test_a_sample_labels_a_third_table_and_a_crosswalk(app: FastAPI, files: LinkFiles) -> None:
    manager, store = signed_in(app, "manager"), app.state.site.store
    at = f"/linkage/{started(app, files)}"
    project = find_project(store, "extracts")
    home = ProjectFolder.open(project.folder)

    # a label sample comes first, whoever else would have been given
    assert "Draw a label sample" in manager.get(at).text
    assert manager.post(f"{at}/sample", {"sample": "5"}).status_code == 422
    assert manager.post(f"{at}/sample", {"sample": "80"}).headers["location"].endswith("said=sampled")
    drawn = load_candidates(home).to_review
    assert 60 <= len(drawn) <= 120
    assert "A label sample of" in manager.get(at).text
    manager.post(f"{at}/assign", {"worker": "worker", "overlap": "1", "risk": "90", "characters": "90"})
    truth = [line.split(",") for line in files.truth.read_text(encoding="utf-8").splitlines()[1:]]
    firsts, seconds = (
        home.records_of([row[at] for row in truth], name).tolist() for at, name in ((0, "first"), (1, "second"))
    )
    same = {(a, b) for a, b, row in zip(firsts, seconds, truth, strict=True) if row[2] == "1"}
    records = {one.pair: one.records for one in answers_of(store, project)}
    assert len(records) == len(drawn)
    while (pair := next_pair(store, project, "worker")) is not None:
        decide(store, project, "worker", pair, 6 if records[pair] in same else 1)

    # labels out weigh what they were drawn for; in again they train the model, and errors are bounds
    written = manager.post(f"{at}/labels", {})
    labels = list(csv.DictReader(io.StringIO(written.text)))
    assert len(labels) == len(drawn)
    assert max(float(row["weight"]) for row in labels) > 1
    assert manager.post(f"{at}/labelled", {}, files={"labels": ("", b"")}).status_code == 422
    sent = manager.post(f"{at}/labelled", {}, files={"labels": ("labels.csv", written.content)})
    assert sent.headers["location"].endswith("said=learning")
    assert manager.post(f"{at}/add", {"like": "first"}, files={"added": ("m.csv", b"id\n1\n")}).status_code in (
        409,
        422,
    )
    worked(app)
    learned = load_candidates(home)
    assert (learned.labels, learned.zones is not None and learned.zones.false_same_most is not None) == (
        len(drawn),
        True,
    )

    # a crosswalk, a third table, and what it changes
    first = manager.post(f"{at}/export", {"unfinished": "yes", "keys": "yes"})
    walk = rows_of(first.content, "crosswalk.csv")
    assert "Nobody was merged or split" in manager.get(f"{at}/changes").text
    lines = files.first.read_text(encoding="utf-8").splitlines()
    month = "\n".join([lines[0], *(f"N{line}" for line in lines[1:41])]).encode()
    assert manager.post(f"{at}/add", {"like": "first"}, files={"added": ("month.csv", month)}).headers["location"].endswith("said=adding")  # fmt: skip
    worked(app)
    later = ProjectFolder.open(project.folder)
    assert later.sizes[2:] == (40,)
    assert find_project(store, "extracts").records == later.records
    assert manager.get(f"{at}/changes").status_code == 200
    again = rows_of(manager.post(f"{at}/export", {"unfinished": "yes", "keys": "yes"}).content, "crosswalk.csv")
    before, now = ({row["first_id"]: row["person"] for row in rows if row["second_table"] == "second"} for rows in (walk, again))  # fmt: skip
    assert sum(before[name] == now.get(name) for name in before) >= 0.95 * len(before)
    assert any(row["second_table"] == "table3" for row in again)
    acts = [str(entry) for entry in entries(app) if str(entry["event"]).startswith("linkage.")]
    assert sum("keys" in act for act in acts) == 2
    assert any("label sample" in act for act in acts)


def test_a_reviewer_takes_and_brings_nothing(app: FastAPI, files: LinkFiles) -> None:
    at, worker = f"/linkage/{started(app, files)}", signed_in(app, "worker")
    assert worker.get(f"{at}/changes").status_code in (403, 404)
    for act in ("sample", "labels", "labelled", "add"):
        assert worker.post(f"{at}/{act}", {"sample": "80"}).status_code in (403, 404)
