"""Next month's records: linked by the same model, under the same persons; merges and splits are listed."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv
import pytest

from discreet.errors import UsageError
from discreet.ledger import Ledger
from discreet.linkage import LinkageSpec, Pairs, ProjectFolder, cluster, find_pairs, load_candidates, start_project
from discreet.linkage.export import crosswalk, export, write_linked
from discreet.linkage.folder import add_table
from discreet.linkage.matching.candidate_pairs import adopt_pairs, extended
from discreet.linkage.matching.pairs import read_labels
from discreet.linkage.project import register_project
from discreet.linkage.review.decisions import Answered
from discreet.people import write_extracts
from discreet.sources.export.targets import FileTarget

LINK = {"linkage": {"id": "id", "sensitive": ["illness"], "swap": ["given", "surname"], "identifying": {
    "given": {"kind": "string"}, "surname": {"kind": "string"}, "born": {"kind": "date"}}}}  # fmt: skip


def table(ids: list[str], names: list[str]) -> pyarrow.Table:
    rows = [name.split() for name in names]
    return pyarrow.table({"id": ids, "given": [row[0] for row in rows], "surname": [row[1] for row in rows],
                          "born": [row[2] for row in rows], "illness": [len(name) for name in ids]})  # fmt: skip


@pytest.fixture
def home(tmp_path: Path) -> ProjectFolder:
    first = table(["a1", "a2", "a3"], ["Ann Lee 1980-01-01", "Ben Ray 1981-02-02", "Eve Fox 1982-03-03"])
    second = table(["b1", "b2"], ["Ann Lee 1980-01-01", "Bea Roy 1981-02-02"])
    return start_project(tmp_path / "p", first, second, spec=LinkageSpec.from_dict(LINK), key=b"t")


def walked(folder: ProjectFolder, same: list[tuple[str, str]]) -> tuple[dict[str, str], list[Any]]:
    """The person of each id in the crosswalk if these ids are one person, and the changes."""
    of = {name: record for record, name in enumerate(folder.ids())}
    edges = np.array([sorted((of[one], of[other])) for one, other in same])
    adopt_pairs(folder, Pairs.of(edges[:, 0], edges[:, 1], np.full(len(edges), np.nan))).save(folder)
    answers = [Answered(n, (int(a), int(b)), None, {"ann": 6}) for n, (a, b) in enumerate(edges, start=1)]
    rows, changes = crosswalk(folder, cluster(folder.records, edges), answers)
    return {row[place]: row[2] for row in rows for place in (0, 1)}, changes


def test_persons_keep_their_ids_and_merges_and_splits_are_listed(home: ProjectFolder) -> None:
    before, changes = walked(home, [("a1", "b1"), ("a2", "b2")])
    assert (len(set(before.values())), changes) == (2, [])
    later = add_table(home, table(["c1", "c2"], ["Ann Lee 1980-01-01", "Zoe Doe 1990-09-09"]))
    assert (later.tables, later.sizes, later.across) == (("first", "second", "table3"), (3, 2, 2), True)
    now, changes = walked(later, [("a1", "b1"), ("a1", "c1"), ("a2", "b2"), ("a3", "c2")])
    assert changes == []
    assert now["c1"] == now["a1"] == before["a1"]
    assert now["a2"] == before["a2"]
    assert now["c2"] not in before.values()
    merged, changes = walked(later, [("a1", "b1"), ("a1", "c1"), ("a2", "b2"), ("a2", "c1"), ("a3", "c2")])
    assert {merged[name] for name in ("a1", "a2", "b2", "c1")} == {before["a1"]}  # three of five records had it
    assert {(change[0], change[2], change[3]) for change in changes} == {
        (before["a1"], "merged", 3), (before["a2"], "merged", 2)}  # fmt: skip
    split, changes = walked(later, [("a1", "b1"), ("a2", "b2"), ("a2", "c1"), ("a3", "c2")])
    assert {change[2] for change in changes} == {"split"}
    assert split["a2"] == before["a1"]  # with most of its records
    assert split["a1"] not in (before["a1"], before["a2"])


def test_the_linked_table_of_three_tables_has_a_row_per_record(home: ProjectFolder, tmp_path: Path) -> None:
    later = add_table(home, table(["c1"], ["Ann Lee 1980-01-01"]))
    a, b, c = (later.ids().index(name) for name in ("a1", "b1", "c1"))
    written = write_linked(
        later, cluster(later.records, np.array([[a, b], [a, c]])), FileTarget(str(tmp_path / "l.csv"))
    )
    assert (written.rows, written.people, written.columns) == (6, 4, ("person", "illness"))


def test_a_month_later_the_same_model_links_new_records(local: Ledger, tmp_path: Path) -> None:
    files = write_extracts(tmp_path / "data", people=300, seed=5)
    folder = start_project(tmp_path / "p", files.first, files.second, spec=LinkageSpec.load(files.link), key=b"t")
    before = find_pairs(folder)
    before.save(folder)
    rows = pyarrow.csv.read_csv(files.first, convert_options=pyarrow.csv.ConvertOptions(strings_can_be_null=True))
    month = rows.slice(0, 50).set_column(0, "id", pyarrow.array([f"N{n}" for n in range(50)]))
    pyarrow.csv.write_csv(month, tmp_path / "month.csv")
    later = add_table(folder, tmp_path / "month.csv")
    found = extended(later, load_candidates(later), new=50)
    found.save(later)
    again = load_candidates(later)
    old = again.pairs.second < folder.records
    assert np.array_equal(again.decisions[old], before.decisions)
    assert np.array_equal(again.pairs.weight[old], before.pairs.weight)
    ids = later.ids()
    same = again.decided("same")
    joined = {(ids[a], ids[b]) for a, b in zip(same.first.tolist(), same.second.tolist(), strict=True)}
    own = {(str(rows["id"][n]), f"N{n}") for n in range(50)}
    assert len(own & joined) >= 48
    labels = tmp_path / "labels.csv"
    labels.write_text("a,b,same\nA000000,N0,1\n")
    assert len(read_labels(later, labels, same="same")) == 1
    project = register_project(local, later.path, actor="manager")
    done = export(local, project, tmp_path / "out", actor="manager", unfinished=True, keys=True)
    with (tmp_path / "out" / "crosswalk.csv").open(encoding="utf-8", newline="") as file:
        walk = list(csv.DictReader(file))
    assert len(walk) == done.keys
    assert {(row["first_table"], row["second_table"]) for row in walk} >= {("first", "second"), ("first", "table3")}


def test_each_further_table_has_every_person_once_too(home: ProjectFolder) -> None:
    """Two records of the third table that are like one of the first: the surer one keeps it, in each pair of tables."""
    later = add_table(home, table(["c1", "c2"], ["Ann Lee 1980-01-01", "Anne Lee 1980-01-01"]))
    a, b, c, d = (later.ids().index(name) for name in ("a1", "b1", "c1", "c2"))
    pairs = Pairs.of([a, a, a, b, b], [b, c, d, c, d], [9.0, 9.0, 8.0, 9.0, 8.0])
    found = adopt_pairs(later, pairs, once=True, review=0)
    same = {
        (one, other)
        for one, other in zip(
            *(side.tolist() for side in (found.decided("same").first, found.decided("same").second)), strict=True
        )
    }
    assert same == {(a, b), (a, c), (b, c)}
    found.save(later)
    crowd = cluster(later.records, np.array([[a, c], [a, d]]), once_per_table=later.sizes)
    assert len(crowd.crowded) == 1
    assert not len(cluster(later.records, np.array([[a, b], [a, c]]), once_per_table=later.sizes).crowded)


def test_what_cannot_be_added_is_refused(home: ProjectFolder) -> None:
    adopt_pairs(home, Pairs.of([0], [3], [5.0])).save(home)
    with pytest.raises(UsageError, match="no model"):
        extended(home, load_candidates(home), new=1)
    with pytest.raises(UsageError, match="first or the second"):
        add_table(home, table(["c1"], ["Ann Lee 1980-01-01"]), like="third")


def test_duplicates_are_looked_for_among_added_records_too(tmp_path: Path) -> None:
    first = table(["a1", "a2"], ["Ann Lee 1980-01-01", "Ben Ray 1981-02-02"])
    folder = start_project(tmp_path / "one", first, spec=LinkageSpec.from_dict(LINK))
    later = add_table(folder, table(["c1", "c2"], ["Ann Lee 1980-01-01", "Ann Lee 1980-01-01"]))
    assert (later.across, later.possible_pairs) == (False, 6)
