"""The index says the same as counting."""

from __future__ import annotations

import datetime
import pickle
import random
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pytest

from discreet.errors import ColumnError, IntegrityError, SourceNotFound, UsageError
from discreet.kernel import Coded
from discreet.linkage import Index, Pair, Quote, load_index, save_index
from discreet.linkage.masking.columns import columns_of
from discreet.linkage.masking.compatibility import Pattern
from tests.linkage.brute import Brute
from tests.linkage.people import KINDS, people, with_errors

SWAPS = [("given_name", "surname")]


def registry(size: int, doubles: int, seed: int = 1) -> tuple[list[dict[str, Any]], list[tuple[int, int]]]:
    """People, some of them twice, and the pairs of those."""
    rng, found = random.Random(seed), people(size, seed=seed)
    chosen = rng.sample(range(size), k=doubles)
    found += [with_errors(found[one], rng) for one in chosen]
    found[0] = {**found[0], "surname": "Featherstonehaugh-Cholmondeley"}  # places that hardly anybody reaches
    found[1] = {**found[1], "surname": "Featherstonehaugh-Cholmondelay"}
    return found, [(0, 1), *((one, size + place) for place, one in enumerate(chosen))]


RECORDS, PAIRS = registry(1_500, 400)
INDEX = Index.build(RECORDS, KINDS, swaps=SWAPS, names=["given_name", "surname"])


def walk(index: Index, pair: Pair, rng: random.Random) -> list[tuple[str, Quote]]:
    """Open cells in any order until nothing is left."""
    state, found = pair.masked, []
    while (quote := index.quote(pair, state)).steps:
        name = rng.choice(sorted(quote.steps))
        found.append((name, quote))
        state = quote.steps[name].state
    return found


def test_ways_to_count_are_all_taken() -> None:
    surname = INDEX.columns[2]
    assert len(surname.listed)
    assert len(surname.late_records)
    assert not len(INDEX.columns[4].listed)


@pytest.mark.parametrize("seed", range(20))
def test_every_step_is_counted_as_by_hand(seed: int) -> None:
    rng = random.Random(seed)
    first, second = PAIRS[0] if seed == 0 else rng.choice(PAIRS)
    pair = INDEX.pair(first, second)
    expected = Brute(RECORDS, KINDS, [(first, second)], swap=SWAPS[0])
    for name, quote in walk(INDEX, pair, rng):
        assert list(quote.anonymity) == expected.anonymity
        assert quote.contribution * Fraction(1, 12) == expected.score
        step = quote.steps[name]
        expected.open(0, name, step.mode)
        assert list(step.anonymity) == expected.anonymity
        assert step.contribution * Fraction(1, 12) == expected.score
        assert quote.increase(name) == step.contribution - quote.contribution >= 0


def test_all_prices_of_a_pair_at_once_are_those_of_each_alone() -> None:
    rng = random.Random(3)
    for first, second in rng.sample(PAIRS, k=30):
        pair = INDEX.pair(first, second)
        for _, quote in walk(INDEX, pair, rng):
            for step in quote.steps.values():
                assert step.anonymity == INDEX.anonymity(pair, step.state)


def test_patterns_by_place_and_among_records_agree() -> None:
    column = INDEX.columns[2]
    names = [record["surname"] for record in RECORDS]
    for length, shown in ((30, ((0, "F"), (17, "-"), (28, "e"))), (6, ((0, "M"),)), (6, ()), (30, ((29, "z"),))):
        pattern = Pattern(column, length, [(place, column.unit_codes[sign]) for place, sign in shown])
        expected = [
            name is not None and len(name) == length and all(name[place] == sign for place, sign in shown)
            for name in names
        ]
        assert pattern.mask().tolist() == expected
        some = INDEX.columns[4].codes.nonzero()[0]
        assert pattern.mask(some).tolist() == [expected[record] for record in some]
        assert pattern.size() == sum(expected)


def test_names_show_how_common_they_are() -> None:
    names = ["Ann"] * 101 + ["Lea"] * 6 + ["Mia"] * 2 + ["Zoe", None]
    index = Index.build({"name": names}, {"name": "string"}, names=["name"])
    marks = [index.pair(place, 0).frequencies[0] for place in (1, 101, 107, 109, 110)]
    assert [None if one is None else one[0].name for one in marks] == ["very-common", "common", "rare", "unique", None]
    assert Index.build({"name": names}, {"name": "string"}).pair(0, 1).frequencies == (None,)


def test_threads_share_an_index() -> None:
    def prices(pair: tuple[int, int]) -> list[Any]:
        return [quote for _, quote in walk(INDEX, INDEX.pair(*pair), random.Random(1))]

    chosen = PAIRS[:40]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(prices, chosen)) == [prices(pair) for pair in chosen]


def test_an_index_can_be_pickled() -> None:
    again = pickle.loads(pickle.dumps(INDEX))  # noqa: S301  what we wrote ourselves
    pair = INDEX.pair(*PAIRS[5])
    assert again.pair(*PAIRS[5]) == pair
    assert again.quote(pair, pair.masked) == INDEX.quote(pair, pair.masked)


def test_dates_in_two_formats_are_one_value() -> None:
    index = Index.build({"born": ["1964-08-09", "08/09/1964", "1964-08-19", "about 1964"]}, {"born": "date"})
    pair = index.pair(0, 1)
    assert pair.cell("born").full == ("1964-08-09", "08/09/1964")
    assert index.anonymity(pair, ("full",)) == (2, 2)
    other = index.pair(1, 2)
    assert index.anonymity(other, ("partial",)) == (2, 1)


def test_an_alphabet_of_many_signs() -> None:
    names = [chr(0x4E00 + code) + "a" for code in range(400)] + ["zo\u00eb", "zoe\u0308", "zoe\u0308"]
    index = Index.build({"name": names}, {"name": "string"})
    assert index.columns[0].places.dtype == "uint16"
    assert index.values(401) == ("zoe\u0308",)
    pair = index.pair(400, 401)
    assert pair.cell("name").partial == ("**\u00eb", "**e\u0308")
    assert index.quote(pair, pair.masked).steps["name"].anonymity == (1, 2)
    assert index.quote(index.pair(3, 5), ("masked",)).steps["name"].anonymity == (1, 1)


def test_a_state_that_cannot_be_is_refused() -> None:
    pair = INDEX.pair(*PAIRS[3])
    with pytest.raises(UsageError, match="one mode per attribute"):
        INDEX.quote(pair, ("masked",))
    index = Index.build({"a": ["x", "y"], "b": ["y", "x"]}, {"a": "string", "b": "string"}, swaps=[("a", "b")])
    with pytest.raises(UsageError, match="cannot be in that mode"):
        index.quote(index.pair(0, 1), ("full", "masked"))


def test_it_says_how_large_it_is_and_shows_nobody() -> None:
    assert repr(INDEX) == "Index(1,900 records, person_id, given_name, surname, birth_date, sex, race)"
    assert 0 < INDEX.nbytes < 400 * len(INDEX)
    assert RECORDS[PAIRS[2][0]]["surname"] not in repr(INDEX.pair(*PAIRS[2]))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return save_index(INDEX, tmp_path / "index")


@pytest.mark.parametrize("mapped", [True, False])
def test_what_is_read_is_what_was_written(folder: Path, mapped: bool) -> None:
    index = load_index(folder, mapped=mapped)
    assert index.rules == INDEX.rules
    for chosen in PAIRS[:20]:
        pair = index.pair(*chosen)
        assert pair == INDEX.pair(*chosen)
        state = pair.all_opened(pair.masked, "partial")
        assert index.quote(pair, state) == INDEX.quote(pair, state)


def test_columns_of_odd_shapes(tmp_path: Path) -> None:
    cells = {"a": ["x", "中"], "b": [None, None], "c": ["1964-08-09", "08/09/1964"]}
    index = Index.build(cells, {"a": "string", "b": "string", "c": "date"}, swaps=[("a", "b")], normalise="strip")
    again = load_index(save_index(index, tmp_path / "new" / "index"))
    assert again.rules == index.rules
    assert [again.values(record) for record in (0, 1)] == [index.values(record) for record in (0, 1)]


def test_another_process_reads_it(folder: Path) -> None:
    first, second = PAIRS[7]
    code = f"""
from discreet.linkage import load_index
index = load_index({str(folder)!r})
pair = index.pair({first}, {second})
print([step.anonymity for step in index.quote(pair, pair.masked).steps.values()])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    pair = INDEX.pair(first, second)
    assert done.stdout.strip() == str([step.anonymity for step in INDEX.quote(pair, pair.masked).steps.values()])


def test_only_the_owner_may_look_inside(folder: Path) -> None:
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_what_is_there_is_not_overwritten(folder: Path) -> None:
    with pytest.raises(UsageError, match="not empty"):
        save_index(INDEX, folder)


def test_half_an_index_is_no_index(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(SourceNotFound):
        load_index(tmp_path / "nowhere")
    (folder / "3-codes.npy").unlink()
    with pytest.raises(SourceNotFound):
        load_index(folder)


@pytest.mark.parametrize("damage", ["cut", "empty", "head", "version", "shorter"])
def test_a_damaged_index_is_refused(folder: Path, damage: str) -> None:
    head, codes = folder / "index.json", folder / "0-codes.npy"
    match damage:
        case "cut":
            codes.write_bytes(codes.read_bytes()[:200])
        case "empty":
            codes.write_bytes(b"")
        case "head":
            head.write_text("{", encoding="utf-8")
        case "version":
            head.write_text(head.read_text(encoding="utf-8").replace('"version": 1', '"version": 2'), encoding="utf-8")
        case "shorter":
            head.write_text(head.read_text(encoding="utf-8").replace('"records": 1900', '"records": 1899'), "utf-8")
    with pytest.raises(UsageError if damage == "version" else IntegrityError):
        load_index(folder)


ROWS = [{"id": 7, "born": datetime.date(1964, 8, 9), "name": "Ann"}, {"id": 42, "born": None, "name": "Lea"}]
CELLS: dict[str, list[str | None]] = {"id": ["7", "42"], "born": ["1964-08-09", None], "name": ["Ann", "Lea"]}
COLUMNS = {name: [row[name] for row in ROWS] for name in CELLS}
SHAPES: dict[str, Any] = {
    "rows": ROWS,
    "tuple": tuple(ROWS),
    "columns": COLUMNS,
    "arrays": {
        "id": np.array([7, 42]),
        "born": np.array(["1964-08-09", "NaT"], dtype="datetime64[D]"),
        "name": np.array(["Ann", "Lea"]),
    },
    "coded": {name: Coded.of(cells) for name, cells in COLUMNS.items()},
    "pandas": pandas.DataFrame(ROWS),
    "categories": pandas.DataFrame(ROWS).astype("category"),
    "polars": polars.DataFrame(ROWS),
    "lazy": polars.LazyFrame(ROWS),
    "arrow": pyarrow.Table.from_pylist(ROWS),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_the_same_cells_whatever_the_shape(shape: str) -> None:
    found = columns_of(SHAPES[shape], list(CELLS))
    for name, coded in found.items():
        assert [coded.values[code] for code in coded.codes] == CELLS[name]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_column_that_is_not_there(shape: str) -> None:
    with pytest.raises(ColumnError, match="'surname'"):
        columns_of(SHAPES[shape], ["name", "surname"])


def test_a_key_that_one_record_lacks_is_a_missing_value() -> None:
    assert columns_of([{"name": "Ann"}, {}], ["name"])["name"].values == ("Ann", None)


def test_records_are_dictionaries() -> None:
    with pytest.raises(ColumnError, match="no dictionary"):
        columns_of([("Ann",)], ["name"])
