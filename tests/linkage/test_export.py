"""What leaves a project: the linked table without identities, decisions, clusters, and who saw what."""

from __future__ import annotations

import csv
import json
import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas
import pytest

from discreet.errors import Refused, UsageError
from discreet.ledger import Ledger
from discreet.linkage import LinkageSpec, Pairs, ProjectFolder, adopt_pairs, cluster, start_project
from discreet.linkage.export import clusters_of, export, write_labels, write_linked
from discreet.linkage.matching.pairs import read_labels
from discreet.linkage.project import Project, register_project
from discreet.linkage.review import reveal
from discreet.linkage.review.assignments import assign, bring_pairs
from discreet.linkage.review.decisions import Answered, decide
from discreet.sources.export.targets import FileTarget
from tests.linkage.review.test_reveal import numbers_of

FIRST = {"id": ["a1", "a2", "a3"], "name": ["Ann", "Ben", "Eve"], "born": ["1980-01-01", "1981-02-02", "1982-03-03"],
         "illness": ["flu", "=cough", None], "note": ["x1", "x2", "x3"]}  # fmt: skip
SECOND = {"id": ["b1", "b2", "b3"], "name": ["Anne", "Benn", "Zoe"], "born": ["1980-01-01", "1981-02-02", "1999-03-03"],
          "income": [10, 20, 30], "note": ["y1", "y2", "y3"]}  # fmt: skip
LINK = {
    "id": "id",
    "identifying": {"name": {"kind": "string"}, "born": {"kind": "date"}},
    "sensitive": ["illness", "note"],
    "second": {"sensitive": ["income", "note"]},
}


@pytest.fixture
def home(tmp_path: Path) -> ProjectFolder:
    """Two tables of three people each; Ann and Ben are in both."""
    spec = LinkageSpec.from_dict({"linkage": LINK})
    folder = start_project(tmp_path / "both", pandas.DataFrame(FIRST), pandas.DataFrame(SECOND), spec=spec)
    a, b = folder.records_of(FIRST["id"], "first"), folder.records_of(SECOND["id"], "second")
    first, second = np.meshgrid(a, b, indexing="ij")
    pairs = Pairs.of(first.ravel(), second.ravel(), np.full(9, np.nan))
    order = np.lexsort((pairs.second, pairs.first))
    adopt_pairs(folder, pairs.where(order)).save(folder)
    return folder


def reviewed(ledger: Ledger, home: ProjectFolder) -> Project:
    """Everything decided as it is."""
    project = register_project(ledger, home.path, actor="manager")
    bring_pairs(ledger, project)
    assign(ledger, project, ["ann"], actor="manager", rng=random.Random(1))
    a, b = home.records_of(FIRST["id"], "first"), home.records_of(SECOND["id"], "second")
    same = {(int(a[0]), int(b[0])), (int(a[1]), int(b[1]))}
    reveal.reveal(ledger, project, "ann", 1, "name", key="k")
    for number, records in numbers_of(ledger, project).items():
        decide(ledger.store, project, "ann", number, 6 if records in same else 1)
    return project


def read(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_linked_table_joins_what_belongs_to_one_person(ledger: Ledger, home: ProjectFolder, tmp_path: Path) -> None:
    project = reviewed(ledger, home)
    done = export(ledger, project, tmp_path / "out", actor="manager", form="csv")
    rows = read(tmp_path / "out" / "linked.csv")
    found = sorted((row["illness"], row["note_first"], row["income"], row["note_second"]) for row in rows)
    assert found == [("'=cough", "x2", "20", "y2"), ("flu", "x1", "10", "y1")]
    assert (done.linked.rows, done.linked.people, done.clusters, done.contradictions) == (2, 2, 4, 0)
    assert done.linked.columns == ("person", "illness", "note_first", "income", "note_second")
    entry = next(iter(ledger.entries(event="linkage.exported")))
    assert entry.details["sha256"] == done.digest
    everybody = export(ledger, project, tmp_path / "all", actor="manager", form="csv", everybody=True)
    assert (everybody.linked.rows, everybody.linked.people) == (4, 4)
    assert [row["at"][:2] for row in read(tmp_path / "out" / "disclosures.csv")] == ["20"]
    assert {row["verdict"] for row in read(tmp_path / "out" / "decisions.csv")} == {"same", "different"}


def test_nothing_in_the_linked_table_leads_back(ledger: Ledger, home: ProjectFolder, tmp_path: Path) -> None:
    project = reviewed(ledger, home)
    export(ledger, project, tmp_path / "a", actor="manager")
    export(ledger, project, tmp_path / "b", actor="manager")
    read_all = [
        set(duckdb.sql(f"SELECT person FROM '{tmp_path / name / 'linked.parquet'}'").fetchall()) for name in "ab"
    ]
    assert read_all[0].isdisjoint(read_all[1])  # new pseudonyms every time
    known = duckdb.sql(f"SELECT * FROM '{home.path}/bridge/*.parquet'").fetchall()
    cells = {str(cell) for row in known for cell in row if isinstance(cell, str)}
    linked = duckdb.sql(f"SELECT * FROM '{tmp_path}/a/linked.parquet'")
    assert not cells & {str(cell) for row in linked.fetchall() for cell in row}
    assert {"record", "pseudonym", "id", "name", "born"}.isdisjoint(linked.columns)
    people = [row[0] for row in linked.fetchall()]
    assert people == sorted(people)  # the order is that of the new pseudonyms


def test_a_crosswalk_names_the_ids_of_each_person_alike_in_every_export(
    ledger: Ledger, home: ProjectFolder, tmp_path: Path
) -> None:
    project = reviewed(ledger, home)
    walks = []
    for turn in ("one", "two"):
        done = export(ledger, project, tmp_path / turn, actor="manager", keys=True)
        walks.append(read(tmp_path / turn / "crosswalk.csv"))
        assert (done.keys, next(iter(ledger.entries(last=1))).details["keys"]) == (2, 2)
        assert {path.stat().st_mode & 0o777 for path in (tmp_path / turn).iterdir()} == {0o600}
        assert (tmp_path / turn).stat().st_mode & 0o777 == 0o700
    assert walks[0] == walks[1]
    assert sorted((row["first_id"], row["second_id"], row["score"], row["decided_by"]) for row in walks[0]) == [
        ("a1", "b1", "", "review"), ("a2", "b2", "", "review"),
    ]  # fmt: skip
    people = {row["person"] for row in walks[0]}
    assert len(people) == 2
    linked = read_linked(tmp_path / "one")
    assert not people & set(linked), "the ids of the crosswalk lead nowhere in the linked table"
    export(ledger, project, tmp_path / "plain", actor="manager")
    assert not (tmp_path / "plain" / "crosswalk.csv").exists()


def test_labels_travel_by_the_ids_of_the_tables(ledger: Ledger, home: ProjectFolder, tmp_path: Path) -> None:
    project = reviewed(ledger, home)
    file = tmp_path / "labels.csv"
    count = write_labels(ledger.store, project, file)
    assert count == len(read(file)) > 2
    assert {(row["first_id"], row["second_id"]) for row in read(file) if row["same"] == "1"} == {
        ("a1", "b1"),
        ("a2", "b2"),
    }
    assert file.stat().st_mode & 0o777 == 0o600
    labels = read_labels(home, file, same="same", weight="weight")
    assert (len(labels), int(labels.same.sum())) == (count, 2)
    with pytest.raises(UsageError, match="exists already"):
        write_labels(ledger.store, project, file)


def read_linked(folder: Path) -> list[str]:
    return [row[0] for row in duckdb.sql(f"SELECT person FROM '{folder / 'linked.parquet'}'").fetchall()]


def test_a_crosswalk_of_one_table_has_every_two_records_of_a_person(ledger: Ledger, tmp_path: Path) -> None:
    people = pandas.DataFrame({"id": ["x", "y", "z", "w"], "name": ["Ann", "Anne", "Annie", "Zoe"]})
    people["zip"] = "10115"
    spec = {"linkage": {"id": "id", "identifying": {"name": {"kind": "string"}, "zip": {"kind": "fixed"}}}}
    folder = start_project(tmp_path / "one", people, spec=LinkageSpec.from_dict(spec))
    a, b, c = folder.records_of(["x", "y", "z"], "first").tolist()
    pairs = sorted([tuple(sorted((a, b))), tuple(sorted((b, c)))])
    adopt_pairs(folder, Pairs.of([p[0] for p in pairs], [p[1] for p in pairs], np.full(2, np.nan))).save(folder)
    project = register_project(ledger, folder.path, actor="manager")
    bring_pairs(ledger, project)
    assign(ledger, project, ["ann"], actor="manager", rng=random.Random(1))
    for number in numbers_of(ledger, project):
        decide(ledger.store, project, "ann", number, 6)
    export(ledger, project, tmp_path / "out", actor="manager", keys=True)
    walk = read(tmp_path / "out" / "crosswalk.csv")
    assert {frozenset((row["first_id"], row["second_id"])) for row in walk} == {
        frozenset(two) for two in (("x", "y"), ("y", "z"), ("x", "z"))
    }
    assert len({row["person"] for row in walk}) == 1
    assert sorted(row["decided_by"] for row in walk) == ["other pairs", "review", "review"]


def test_without_ids_there_is_no_crosswalk(ledger: Ledger, home: ProjectFolder, tmp_path: Path) -> None:
    content = {name: value for name, value in LINK.items() if name not in ("id", "second")}
    spec = LinkageSpec.from_dict({"linkage": content})
    folder = start_project(tmp_path / "none", pandas.DataFrame(FIRST), spec=spec)
    adopt_pairs(folder, Pairs.of([0], [1], [np.nan])).save(folder)
    project = register_project(ledger, folder.path, actor="manager")
    with pytest.raises(UsageError, match="crosswalk is made of ids"):
        export(ledger, project, tmp_path / "out", actor="manager", unfinished=True, keys=True)
    assert not (tmp_path / "out").exists()


def test_unfinished_work_is_not_exported_unless_asked(ledger: Ledger, home: ProjectFolder, tmp_path: Path) -> None:
    project = register_project(ledger, home.path, actor="manager")
    bring_pairs(ledger, project)
    with pytest.raises(Refused, match="9 of 9 pairs are not decided"):
        export(ledger, project, tmp_path / "out", actor="manager")
    assert not (tmp_path / "out").exists()
    done = export(ledger, project, tmp_path / "out", actor="manager", unfinished=True)
    assert (done.undecided, done.linked.rows) == (9, 0)
    with pytest.raises(UsageError, match="exists already"):
        export(ledger, project, tmp_path / "out", actor="manager", unfinished=True)
    assert json.loads(json.dumps(done.to_dict()))["undecided"] == 9


def test_the_entry_is_there_before_the_file(
    local: Ledger, home: ProjectFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = reviewed(local, home)
    monkeypatch.setattr(local, "record", lambda **_: pytest.fail("no ledger"))
    with pytest.raises(pytest.fail.Exception):
        export(local, project, tmp_path / "out", actor="manager")
    assert not (tmp_path / "out").exists()
    assert list(tmp_path.glob(".discreet-*")) == []


def test_contradictions_are_reported(local: Ledger, home: ProjectFolder, tmp_path: Path) -> None:
    records = [(0, 3), (0, 4), (1, 3), (1, 4)]
    answers = [
        Answered(number, pair, None, {"ann": choice})
        for number, (pair, choice) in enumerate(zip(records, (6, 6, 6, 1), strict=True), start=1)
    ]
    found = clusters_of(home, answers)
    assert found.contradictions.tolist() == [[1, 4]]
    assert sorted(Counter(found.of.tolist()).values()) == [1, 1, 4]


def test_one_table_gives_a_row_per_record(tmp_path: Path) -> None:
    link = {"identifying": LINK["identifying"], "sensitive": ["illness", "note"]}
    spec = LinkageSpec.from_dict({"linkage": link})
    home = start_project(tmp_path / "one", pandas.DataFrame(FIRST), spec=spec)
    done = write_linked(home, cluster(3, np.array([[0, 2]])), FileTarget(str(tmp_path / "linked.csv")))
    assert (done.rows, done.people, done.columns) == (3, 2, ("person", "illness", "note"))
    assert Counter(Counter(row["person"] for row in read(tmp_path / "linked.csv")).values()) == {1: 1, 2: 1}


@pytest.mark.slow
def test_a_million_rows_are_linked_in_seconds(tmp_path: Path) -> None:
    size = 500_000
    frames = [
        pandas.DataFrame({"name": [f"n{i}" for i in range(size)], "born": "1980-01-01", column: np.arange(size)})
        for column in ("illness", "income")
    ]
    link = {"identifying": LINK["identifying"], "sensitive": ["illness"], "second": {"sensitive": ["income"]}}
    home = start_project(tmp_path / "big", *frames, spec=LinkageSpec.from_dict({"linkage": link}))
    edges = np.stack([np.arange(size), np.arange(size, 2 * size)], axis=1)
    start = time.process_time()
    done = write_linked(home, cluster(2 * size, edges), FileTarget(str(tmp_path / "linked.parquet")))
    assert time.process_time() - start < 60
    assert done.rows == done.people == size
