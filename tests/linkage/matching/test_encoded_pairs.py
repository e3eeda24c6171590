"""Linkage of encoded tables from end to end: who is found, what is stated, what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.errors import ColumnError, DataError, PolicyError, UsageError
from discreet.ledger import Ledger
from discreet.linkage import LinkageSpec, ProjectFolder, find_pairs, load_candidates, start_project
from discreet.linkage.export import export
from discreet.linkage.folder import add_table
from discreet.linkage.matching.bloom_filter import ClkSchema, write_encodings
from discreet.linkage.matching.candidate_pairs import Candidates, divided, extended
from discreet.linkage.matching.encoded_pairs import alike_pairs, dice
from discreet.linkage.matching.thresholds import zones_by_capacity
from discreet.linkage.project import register_project
from discreet.linkage.review.assignments import bring_pairs
from tests.linkage.conftest import Sample

SECRET = b"a secret of two parties and of nobody else"
CLK: dict[str, Any] = {"linkage": {"id": "id", "identifying": {"clk": {"kind": "clk"}}}}


def encoded(sample: Sample, where: Path, which: str, secret: bytes = SECRET) -> Path:
    spec, source = LinkageSpec.load(sample.files.link), getattr(sample.files, which)
    out = where / f"{which}.csv"
    write_encodings(source, spec, schema=ClkSchema.of(spec), secret=secret, out=out, like=which)
    return out


@pytest.fixture(scope="module")
def linked(sample: Sample, tmp_path_factory: pytest.TempPathFactory) -> tuple[ProjectFolder, Candidates]:
    where = tmp_path_factory.mktemp("clk")
    tables = [encoded(sample, where, which) for which in ("first", "second")]
    folder = start_project(where / "project", *tables, spec=LinkageSpec.from_dict(CLK), key=b"t")
    return folder, find_pairs(folder, once=True)


def ids(folder: ProjectFolder, found: Candidates) -> set[tuple[str | None, str | None]]:
    names, same = folder.ids(), found.decided("same")
    return {(names[a], names[b]) for a, b in zip(same.first.tolist(), same.second.tolist(), strict=True)}


def test_most_people_are_found_and_the_error_is_near_the_stated_one(
    sample: Sample, linked: tuple[ProjectFolder, Candidates]
) -> None:
    folder, found = linked
    names = sample.folder.ids()
    true = {(names[a], names[b]) for a, b in zip(sample.true.first.tolist(), sample.true.second.tolist(), strict=True)}
    got = ids(folder, found)
    assert len(got & true) > 0.75 * len(true)
    assert len(got - true) <= 2 + 2 * found.zones.false_same
    assert found.counts["people"] == 0
    assert len(found.to_review) == 0


def test_it_is_kept_and_a_later_table_is_linked_as_the_first_were(
    sample: Sample, linked: tuple[ProjectFolder, Candidates], tmp_path: Path
) -> None:
    folder, found = linked
    found.save(folder)
    again = load_candidates(folder)
    assert again.floor == found.floor
    assert np.array_equal(again.decisions, found.decisions)
    rows = encoded(sample, tmp_path, "first").read_text(encoding="utf-8").splitlines()
    month = tmp_path / "month.csv"
    month.write_text("\n".join([rows[0], *(f"N{row}" for row in rows[1:40])]), encoding="utf-8")
    later = add_table(folder, month)
    more = extended(later, again, new=39)
    new = ids(later, more) - ids(folder, found)
    assert {(row.split(",")[0], f"N{row.split(',')[0]}") for row in rows[1:40]} <= new


def test_another_secret_finds_nobody(sample: Sample, tmp_path: Path) -> None:
    tables = [encoded(sample, tmp_path, "first"), encoded(sample, tmp_path, "second", SECRET[::-1])]
    folder = start_project(tmp_path / "project", *tables, spec=LinkageSpec.from_dict(CLK))
    assert find_pairs(folder).counts["same"] <= 1


def test_nobody_reviews_an_encoding(linked: tuple[ProjectFolder, Candidates], local: Ledger, tmp_path: Path) -> None:
    folder, found = linked
    for asked in ({"review": 5}, {"sample": 5}):
        with pytest.raises(UsageError, match="cannot be reviewed"):
            find_pairs(folder, **asked)
    with pytest.raises(UsageError, match="no attributes for rules"):
        find_pairs(folder, rules=[["clk"]])
    with pytest.raises(UsageError, match="cannot be reviewed"):
        divided(folder, found, zones_by_capacity(found.pairs, review=9))
    found.save(folder)
    project = register_project(local, folder.path, actor="manager")
    with pytest.raises(UsageError, match="cannot be reviewed"):
        bring_pairs(local, project)
    done = export(local, project, tmp_path / "out", actor="manager", keys=True)
    assert done.keys == found.counts["same"]


def test_every_pair_is_compared_across_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.linkage.matching.encoded_pairs.TILE", 7)
    rng = np.random.default_rng(1)
    first, second = (rng.integers(0, 256, (size, 8), dtype=np.uint8) for size in (23, 16))
    whole = dice(first, second)
    rows, columns, likeness = alike_pairs(first, second, 0.5)
    assert set(zip(rows, columns, strict=True)) == set(zip(*np.nonzero(whole >= 0.5), strict=True))
    assert np.array_equal(likeness, whole[rows, columns])
    rows, columns, _ = alike_pairs(first, first, 0.5, same=True)
    assert set(zip(rows, columns, strict=True)) == set(
        zip(*np.nonzero(np.triu(dice(first, first) >= 0.5, 1)), strict=True)
    )


@pytest.mark.parametrize("cell", ["no base64!", "AAB", "AAAB"])
def test_what_is_no_encoding_is_refused(tmp_path: Path, cell: str) -> None:
    good = tmp_path / "good.csv"
    good.write_text(f"id,clk\n1,{'A' * 12}\n2,{'B' * 12}\n", encoding="utf-8")
    bad = tmp_path / "bad.csv"
    bad.write_text(f"id,clk\n1,{'A' * 12}\n2,{cell}\n", encoding="utf-8")
    with pytest.raises(ColumnError, match=r"base64|one length") as refused:
        start_project(tmp_path / "p", good, bad, spec=LinkageSpec.from_dict(CLK))
    assert cell not in str(refused.value)


def test_tables_of_different_schemas_and_one_table_alone_are_refused(tmp_path: Path) -> None:
    for name, size in (("a", 12), ("b", 16)):
        (tmp_path / f"{name}.csv").write_text(f"id,clk\n1,{'A' * size}\n2,{'B' * size}\n", encoding="utf-8")
    spec = LinkageSpec.from_dict(CLK)
    with pytest.raises(DataError, match="different schemas"):
        find_pairs(start_project(tmp_path / "p", tmp_path / "a.csv", tmp_path / "b.csv", spec=spec))
    with pytest.raises(UsageError, match="two tables"):
        find_pairs(start_project(tmp_path / "q", tmp_path / "a.csv", spec=spec))


def test_beside_an_encoding_there_is_no_other_attribute() -> None:
    both = {"linkage": {"identifying": {"clk": {"kind": "clk"}, "sex": {"kind": "category"}}}}
    with pytest.raises(PolicyError, match="stands alone"):
        LinkageSpec.from_dict(both)
    with pytest.raises(PolicyError, match="too few"):
        LinkageSpec.from_dict({"linkage": {"identifying": {"sex": {"kind": "category"}}}})
