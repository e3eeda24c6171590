"""Copies hold what was sealed and nothing else, and two of them differ in marks only."""

from __future__ import annotations

import json
import re
import secrets
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.errors import IntegrityError, Refused, UsageError
from discreet.ledger import Ledger
from discreet.releases.delivery.copies import Copying, ExpectedClasses, recoded
from discreet.releases.delivery.service import Registry
from discreet.releases.manifest import Manifest
from discreet.sources import Table, read
from discreet.sources.export.copies import ranks
from tests.examples import examples
from tests.releases.made import draft
from tests.releases.world import POLICY, World, rows_in, town, write_rows

QUASI = slice(0, 3)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return town(tmp_path_factory.mktemp("town"), zips=6, years=5)


def copied(
    world: World,
    folder: Path,
    recipients: list[str],
    *,
    form: Any = "parquet",
    table: Table | None = None,
    store: Path | None = None,
    name: str = "spring",
    present: Any = None,
    **made: Any,
) -> tuple[Manifest, dict[str, Path]]:
    with Ledger.open(store or folder / "store.db") as ledger:
        registry = Registry(ledger)
        manifest = draft(world, recipients, key=registry.key(name), name=name, **made)
        if present is not None:
            manifest = replace(manifest, codebook=replace(manifest.codebook, present=present))
        kept = registry.seal(manifest, actor="ann")
        work = Copying(registry, kept, manifest, table or world.table, str(folder / "out"), form, "ann")
        done = work.write(recipients)
    return manifest, {copy.recipient: Path(copy.folder) for copy in done}


def meant(manifest: Manifest, world: World, recipient: str) -> tuple[Counter[Any], Counter[Any]]:
    """By brute force: the rows of people and of decoys that a copy holds, cells as text."""
    with duckdb.connect() as connection:
        source = f"SELECT zip, year, sex, illness, amount, day, note FROM '{world.path}'"
        rows = [tuple(map(spelt, row)) for row in connection.execute(source).fetchall()]
    sizes = Counter(row[QUASI] for row in rows)
    marks, present = manifest.codebook.marks, manifest.codebook.row(recipient)
    absent = {marks.labels[place] for place in np.flatnonzero(~present & ~marks.decoy)}
    people = Counter(row for row in rows if sizes[row[QUASI]] >= 3 and row[QUASI] not in absent)
    people = numeric(people) - numeric(lacking(manifest, recipient))
    decoys = Counter(
        (
            *marks.labels[place],
            *(spelt(manifest.decoys.columns[name][row]) for name in ("illness", "amount", "day", "note")),
        )
        for row, place in enumerate(manifest.decoys.places.tolist())
        if present[place]
    )
    return people, decoys


def lacking(manifest: Manifest, recipient: str) -> Counter[Any]:
    """The single rows that a copy lacks."""
    book = manifest.rows
    assert book is not None
    bits = book.present[manifest.recipients.index(recipient)]
    return Counter(
        (*book.rows.labels[row], *(spelt(book.rows.cells[name][row]) for name in ("illness", "amount", "day", "note")))
        for row in np.flatnonzero(~bits).tolist()
    )


def spelt(cell: Any) -> str | None:
    if cell is None:
        return None
    try:
        return str(float(cell)) if re.fullmatch(r"-?\d+\.\d+|\d{3}", str(cell)) and "." in str(cell) else str(cell)
    except ValueError:
        return str(cell)


def in_file(path: Path) -> Counter[Any]:
    order = ("zip", "year", "sex", "illness", "amount", "day", "note")
    with duckdb.connect() as connection:
        return Counter(
            tuple(map(spelt, row)) for row in connection.execute(f"SELECT {', '.join(order)} FROM '{path}'").fetchall()
        )


def numeric(rows: Counter[Any]) -> Counter[Any]:
    """Amounts as numbers, so that 100 and 100.0 are one."""
    found: Counter[Any] = Counter()
    for row, times in rows.items():
        found[(*row[:4], None if row[4] is None else float(row[4]), *row[5:])] += times
    return found


def test_a_copy_holds_exactly_what_was_sealed(world: World, store: Path, tmp_path: Path) -> None:
    manifest, folders = copied(world, tmp_path, ["ann", "bob"])
    for name, folder in folders.items():
        people, decoys = meant(manifest, world, name)
        assert numeric(in_file(folder / "data.parquet")) == numeric(people + decoys)


def test_without_its_decoys_a_copy_is_k_anonymous(world: World, store: Path, tmp_path: Path) -> None:
    manifest, folders = copied(world, tmp_path, ["ann"])
    made_up = {
        labels
        for labels, decoy in zip(manifest.codebook.marks.labels, manifest.codebook.marks.decoy, strict=True)
        if decoy
    }
    sizes = Counter(row[QUASI] for row in in_file(folders["ann"] / "data.parquet").elements())
    assert min(size for labels, size in sizes.items() if labels not in made_up) >= 3


@settings(max_examples=examples(12), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 10**6), pairs=st.integers(0, 12), form=st.sampled_from(["parquet", "csv"]))
def test_two_copies_differ_in_marks_only(shared_store: Path, seed: int, pairs: int, form: str) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        small = town(folder, seed=seed, zips=3, years=3, people=9)
        about: Any = {"form": form, "seed": seed, "pairs": pairs, "store": shared_store, "name": secrets.token_hex(8)}
        manifest, folders = copied(small, folder, ["ann", "bob"], **about)
        one, other = (Counter(rows_in(path / f"data.{form}")) for path in folders.values())
        marks, codebook = manifest.codebook.marks, manifest.codebook
        differ = {marks.labels[place] for place in np.flatnonzero(codebook.row("ann") != codebook.row("bob"))}
        assert manifest.rows is not None
        single = manifest.rows.rows.labels
        rows = {single[place] for place in np.flatnonzero(np.not_equal(*manifest.rows.present))}
        assert {tuple(map(str, row[QUASI])) for row in (one - other) + (other - one)} == differ | rows


def test_order_is_each_recipients_own_and_rows_are_numbered_from_one(world: World, store: Path, tmp_path: Path) -> None:
    _, folders = copied(world, tmp_path, ["ann", "bob"])
    orders = []
    for folder in folders.values():
        with duckdb.connect() as connection:
            found = connection.execute(f"SELECT * FROM '{folder}/data.parquet'").fetchall()
        assert [row[0] for row in found] == list(range(1, len(found) + 1))
        orders.append([row[1:] for row in found])
    common = Counter(orders[0]) & Counter(orders[1])
    firsts = [[row for row in rows if common[row]] for rows in orders]
    same = sum(one == other for one, other in zip(*firsts, strict=False))
    assert same < 0.05 * len(firsts[0])
    assert orders[0] != sorted(orders[0], key=repr)


def test_the_order_tells_nothing_of_where_a_row_came_from() -> None:
    """Decoys come last in the pool; in a copy their places must be like those of everybody else."""
    keep = np.ones(20_000, dtype=bool)
    means = [ranks(keep, f"secret {turn}".encode())[-500:].mean() / 20_000 for turn in range(40)]
    assert abs(np.mean(means) - 0.5) < 4 * np.sqrt(1 / 12 / 500 / 40)
    assert sorted(ranks(keep, b"x").tolist()) == list(range(1, 20_001))
    assert not np.array_equal(ranks(keep, b"x"), ranks(keep, b"y"))


def test_files_tell_nothing_of_recipients(world: World, store: Path, tmp_path: Path) -> None:
    names = ["aaa-hospital", "zzz-university"]
    manifest, folders = copied(world, tmp_path, names)
    shapes, texts = [], []
    for folder in folders.values():
        with duckdb.connect() as connection:
            path = folder / "data.parquet"
            file = connection.execute(
                f"SELECT created_by, format_version FROM parquet_file_metadata('{path}')"
            ).fetchall()
            schema = connection.execute(f"SELECT * EXCLUDE (file_name) FROM parquet_schema('{path}')").fetchall()
            kept = connection.execute(f"SELECT key, value FROM parquet_kv_metadata('{path}')").fetchall()
            packed = connection.execute(
                f"SELECT DISTINCT path_in_schema, type, compression, encodings FROM parquet_metadata('{path}') ORDER BY ALL"
            ).fetchall()
        shapes.append((file, schema, kept, packed))
        texts.append(re.sub(r"[0-9a-f]{64}|[0-9,]{3,}", "", (folder / "README.md").read_text(encoding="utf-8")))
        content = b"".join(file.read_bytes() for file in folder.iterdir())
        assert not any(name.encode() in content for name in names)
        assert sorted(file.name for file in folder.iterdir()) == ["AGREEMENT.md", "README.md", "data.parquet"]
    assert shapes[0] == shapes[1]
    assert texts[0] == texts[1]
    assert b"a note of its own" not in b"".join(file.read_bytes() for file in (tmp_path / "out").rglob("*.md"))
    assert len(manifest.codebook.marks)


def test_texts_say_that_control_records_exist(world: World, store: Path, tmp_path: Path) -> None:
    _, folders = copied(world, tmp_path, ["ann"])
    for name in ("README.md", "AGREEMENT.md"):
        assert "this copy contains control records" in (folders["ann"] / name).read_text(encoding="utf-8").lower()


def test_a_csv_is_guarded_and_says_the_same(world: World, store: Path, tmp_path: Path) -> None:
    manifest, folders = copied(world, tmp_path, ["ann"], form="csv")
    people, decoys = meant(manifest, world, "ann")
    text = (folders["ann"] / "data.csv").read_text(encoding="utf-8")
    assert text.startswith("row,zip,year,sex,illness,amount,day,note\n")
    assert "'=SUM(1)" in text
    assert ",=SUM(1)" not in text
    guarded = Counter(
        {
            (*row[:3], "'" + row[3] if (row[3] or "").startswith("=") else row[3], *row[4:]): n
            for row, n in (people + decoys).items()
        }
    )
    assert numeric(in_file(folders["ann"] / "data.csv")) == numeric(guarded)


def test_values_that_only_an_absent_mark_has_are_nowhere_in_the_file(world: World, store: Path, tmp_path: Path) -> None:
    """Also not in a dictionary of the Parquet file, where nobody would see them."""
    from pyarrow import parquet

    bits = np.repeat([[True], [False]], 12, axis=1)
    _, folders = copied(world, tmp_path, ["all", "none"], present=bits)
    for folder in folders.values():
        texts = ["zip", "sex", "illness", "note"]
        found = parquet.ParquetFile(folder / "data.parquet", read_dictionary=texts).read()
        for name in texts:
            for chunk in found.column(name).chunks:
                assert set(chunk.dictionary.to_pylist()) - {""} == set(chunk.to_pylist()) - {None}
        assert ("a note of its own" in found.column("note").to_pylist()) == (folder.name == "all")


def test_no_row_numbers_if_not_wanted_and_none_over_a_column(world: World, store: Path, tmp_path: Path) -> None:
    _, folders = copied(world, tmp_path, ["ann"], row_ids=None)
    assert duckdb.sql(f"SELECT * FROM '{folders['ann']}/data.parquet'").columns[0] == "zip"
    with pytest.raises(UsageError, match="'Note'"):
        copied(world, tmp_path, ["ann"], row_ids="Note", name="autumn")


def test_other_data_are_refused(world: World, store: Path, tmp_path: Path) -> None:
    other = town(tmp_path, seed=9, zips=6, years=5)
    with pytest.raises(Refused, match="not the data"):
        copied(world, tmp_path, ["ann"], table=other.table)


def test_the_same_people_with_other_values_are_refused(world: World, store: Path, tmp_path: Path) -> None:
    _, folders = copied(world, tmp_path, ["ann", "bob"])
    with duckdb.connect() as connection:
        changed = tmp_path / "changed.parquet"
        connection.execute(f"COPY (SELECT * REPLACE (amount + 1 AS amount) FROM '{world.path}') TO '{changed}'")
    for file in folders["bob"].iterdir():
        file.unlink()
    folders["bob"].rmdir()
    with Ledger.open(tmp_path / "store.db") as ledger:
        registry = Registry(ledger)
        kept = registry.require("spring")
        work = Copying(
            registry, kept, registry.open(kept), read(changed, policy=POLICY), str(tmp_path / "out"), "parquet", "ann"
        )
        with pytest.raises(Refused, match="not the rows"):
            work.write(["bob"])
    assert not folders["bob"].exists()


def test_other_columns_are_refused(world: World, store: Path, tmp_path: Path) -> None:
    with duckdb.connect() as connection:
        more = tmp_path / "more.parquet"
        connection.execute(f"COPY (SELECT *, 1 AS extra FROM '{world.path}') TO '{more}'")
    with pytest.raises(Refused, match="other columns"):
        copied(
            world, tmp_path, ["ann"], table=read(more, policy=replace(POLICY, roles={**POLICY.roles, "extra": "other"}))
        )


def test_a_table_of_counts_is_refused(world: World, store: Path, tmp_path: Path) -> None:
    with duckdb.connect() as connection:
        counted = tmp_path / "counted.parquet"
        connection.execute(f"COPY (SELECT *, 1 AS n FROM '{world.path}') TO '{counted}'")
    table = read(counted, policy=replace(POLICY, count="n", roles={**POLICY.roles, "n": "identifier"}))
    with pytest.raises(UsageError, match="stands for several people"):
        copied(world, tmp_path, ["ann"], table=table)


def test_a_manifest_that_contradicts_itself_writes_nothing(world: World) -> None:
    manifest = draft(world, ["ann"])
    marks = manifest.codebook.marks
    for forged in (
        replace(marks, decoy=np.zeros(len(marks), dtype=bool)),
        replace(marks, decoy=np.ones(len(marks), dtype=bool)),
    ):
        with pytest.raises(IntegrityError, match="contradicts itself"):
            ExpectedClasses.of(replace(manifest, codebook=replace(manifest.codebook, marks=forged)))


def test_what_was_written_is_read_back(
    world: World, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the writer lost a row, nothing would be handed over."""
    from discreet.sources.export import copies

    real = copies.ranks

    def lossy(keep: Any, secret: bytes) -> Any:
        found = real(keep, secret)
        found[np.argmax(found)] = 0
        return found

    monkeypatch.setattr(copies, "ranks", lossy)
    with pytest.raises(IntegrityError, match="not what was decided"):
        copied(world, tmp_path, ["ann"])
    assert not list((tmp_path / "out").iterdir())
    with Ledger.open(tmp_path / "store.db") as ledger:
        assert [entry.event for entry in ledger.entries()] == ["ledger.opened", "releases.sealed"]


def test_recoding_again_gives_the_classes_that_were_sealed(world: World) -> None:
    manifest = draft(world, ["ann"])
    published = recoded(world.again(), manifest).published
    assert sorted(zip(published.tuples(), published.sizes.tolist(), strict=True)) == sorted(
        zip(manifest.released.tuples(), manifest.released.sizes.tolist(), strict=True)
    )


def test_missing_values_in_quasi_identifiers(store: Path, tmp_path: Path) -> None:
    rows = [(f"p{n}", None if n % 2 else "001", 1950, "F", "flu", 1.0, "2020-01-01", "n") for n in range(12)]
    write_rows(rows, tmp_path / "gaps.parquet")
    base = town(tmp_path, zips=2, years=2)
    gaps = World(read(tmp_path / "gaps.parquet", policy=POLICY), base.population, tmp_path / "gaps.parquet")
    from discreet.kernel import Classes

    everybody = Classes.of(
        ["zip", "year", "sex"], [("001", "1950", "F"), (None, "1950", "F"), ("002", "1951", "M")], [30, 30, 9],
        rules={name: POLICY.rule(name) for name in POLICY.quasi},
    )  # fmt: skip
    manifest, folders = copied(World(gaps.table, everybody, gaps.path), tmp_path, ["a", "b", "c", "d"], pairs=1)
    for name, folder in folders.items():
        people, decoys = meant(manifest, gaps, name)
        assert numeric(in_file(folder / "data.parquet")) == numeric(people + decoys)


def test_delivered_to_dict_is_json(world: World, store: Path, tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "store.db") as ledger:
        registry = Registry(ledger)
        manifest = draft(world, ["ann"], key=registry.key("spring"))
        kept = registry.seal(manifest, actor="ann")
        (done,) = Copying(registry, kept, manifest, world.table, str(tmp_path / "out"), "parquet", "ann").write(["ann"])
    assert json.loads(json.dumps(done.to_dict()))["recipient"] == "ann"
