"""`discreet trace` as its users meet it: a release is made, a copy leaks, and somebody is named."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import discreet
from discreet.ledger import queries
from discreet.releases import open_release, release, trace
from discreet.releases.delivery.release import Release
from discreet.store import Store
from tests.cli.test_commands import run
from tests.releases.world import SETTINGS, World, town

RECIPIENTS = ("north", "south", "west")
QUASI = ("zip", "year", "sex")


class Made:
    """A release in a store, with copies on the disk."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.store = folder, folder / "store.db"
        self.world: World = town(folder, seed=3, zips=40, years=20)
        self.release: Release = release(
            self.world.table,
            self.world.population,
            recipients=RECIPIENTS,
            name="spring",
            store=str(self.store),
            force=True,  # how well decoys blend in is another test's matter, and depends on the key
            **SETTINGS,
        )
        self.release.write(folder / "copies", format="parquet")

    def copy(self, recipient: str) -> pl.DataFrame:
        """What a recipient got."""
        return pl.read_parquet(self.folder / "copies" / recipient / "data.parquet")

    def claims(self, recipient: str, number: int = 60) -> pl.DataFrame:
        """People whom a recipient re-identified: of each class one, those with the fewest look-alikes first."""
        traceable = open_release("spring", str(self.store)).traceable
        links = dict(zip(traceable.codebook.marks.labels, traceable.codebook.marks.links.tolist(), strict=True))
        links |= dict(zip(traceable.released.tuples(), traceable.links.tolist(), strict=True))
        classes = self.copy(recipient).select(QUASI).unique(maintain_order=True).with_columns(pl.all().cast(pl.String))
        order = sorted(classes.rows(), key=lambda labels: links[labels])
        return pl.DataFrame(order[:number], schema=QUASI, orient="row")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return Made(tmp_path_factory.mktemp("traced"))


def call(made: Made, *words: Any) -> subprocess.CompletedProcess[str]:
    return run("trace", *words, "--release", "spring", "--store", made.store)


def test_claims_name_whose_copy_was_used(made: Made) -> None:
    file = made.folder / "claims.csv"
    made.claims("south").write_csv(file)
    done = call(made, "claims", file)
    assert done.returncode == 1, done.stderr
    assert "south is accused" in done.stdout
    assert "not a verdict" in done.stdout
    told = json.loads(call(made, "claims", file, "--json").stdout)
    assert told["accused"] == ["south"]
    assert told == trace("spring", claims=file, store=str(made.store)).to_dict()


def test_a_leaked_file_names_whose_copy_it_is(made: Made) -> None:
    file, page = made.folder / "leak.csv", made.folder / "trace.html"
    made.copy("west").sample(fraction=0.4, seed=1, shuffle=True).drop("row", "note").write_csv(file)
    done = call(made, "leak", file, "--report", page)
    assert done.returncode == 1, done.stderr
    assert "west is accused" in done.stdout
    assert "west is accused" in page.read_text(encoding="utf-8")


def test_a_leaked_file_with_other_names_and_without_quasi_identifiers(made: Made) -> None:
    file, bare = made.folder / "renamed.csv", made.folder / "bare.csv"
    made.copy("north").rename({"zip": "plz"}).write_csv(file)
    done = call(made, "leak", file, "--column", "plz=zip", "--json")
    assert json.loads(done.stdout)["accused"] == ["north"]
    assert call(made, "leak", file, "--column", "plz").returncode == 2
    made.copy("north").select("illness", "amount", "day", "note").write_csv(bare)
    done = call(made, "leak", bare, "--original", made.world.path, "--json")
    assert json.loads(done.stdout)["accused"] == ["north"]
    assert json.loads(done.stdout)["columns"] == {}


def test_own_audits_and_earlier_incidents(made: Made) -> None:
    claims = made.claims("south")
    first, second, whole = (made.folder / f"{name}.csv" for name in ("first", "second", "whole"))
    claims[::2].write_csv(first)
    claims[1::2].write_csv(second)
    claims.write_csv(whole)
    both = json.loads(call(made, "claims", second, "--earlier", first, "--alone", "--json").stdout)
    assert both["accused"] == ["south"]
    assert len(both["incidents"]) == 2
    none = call(made, "claims", whole, "--exclude", whole, "--alone")  # what counted once is not taken back
    assert none.returncode == 0
    assert "Nobody is accused" in none.stdout


def test_the_original_accuses_nobody(made: Made) -> None:
    done = call(made, "leak", made.world.path, "--json")
    told = json.loads(done.stdout)
    assert (done.returncode, told["accused"]) == (0, [])


def test_every_trace_stands_in_the_ledger_without_a_value_of_anybody(made: Made) -> None:
    file = made.folder / "few.csv"
    made.claims("south", 5).write_csv(file)
    trace("spring", claims=file, store=str(made.store), actor="ann")
    with Store.open(str(made.store), create=False) as store, store.reading() as connection:
        entry = next(iter(queries.entries(connection, last=1)))
    assert (entry.event, entry.actor, entry.subject) == ("releases.traced", "ann", "release:spring")
    assert (entry.details["recipients"], entry.details["rows"]) == (3, 5)
    assert float(str(entry.details["strongest_log10_e"])) <= float(str(entry.details["best_log10_e"]))
    assert entry.details["smallest_p_value"] is None
    written = json.dumps(dict(entry.details))
    assert not [value for value in made.claims("south", 5)["year"] if f'"{value}"' in written]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("claims", "missing.csv"), 3),
        (("leak", "missing.csv"), 3),
        (("claims", "x.csv", "--report", "report.txt"), 2),
        (("claims",), 2),
    ],
)
def test_bad_calls_end_in_words(made: Made, words: tuple[str, ...], code: int) -> None:
    done = call(made, *words)
    assert done.returncode == code
    assert "Traceback" not in done.stderr


def test_an_unknown_release_and_a_useless_file_are_refused(made: Made) -> None:
    file = made.folder / "useless.csv"
    file.write_text("a,b\n1,2\n", encoding="utf-8")
    useless = call(made, "leak", file)
    assert useless.returncode == 3
    assert "cannot carry evidence" in useless.stderr
    assert run("trace", "claims", file, "--release", "autumn", "--store", made.store).returncode == 2
    missing = call(made, "claims", file)
    assert missing.returncode == 3
    assert "no column 'zip'" in missing.stderr


def test_copies_differ_in_marks_only_so_a_trace_is_all_there_is(made: Made) -> None:
    """Two copies differ by classes and single rows that are marks, and by nothing else that could tell recipients apart."""
    traceable = open_release("spring", str(made.store)).traceable
    marks = set(traceable.codebook.marks.labels)
    assert traceable.rows is not None
    single = Counter(tuple(labels) for labels in traceable.rows.rows.labels[: traceable.row_marks])
    one, two = (
        Counter(made.copy(name).select(QUASI).with_columns(pl.all().cast(pl.String)).rows()) for name in RECIPIENTS[:2]
    )
    others = {labels for labels in one | two if labels not in marks}
    assert all(abs(one[labels] - two[labels]) <= single[labels] for labels in others)
    assert any(one[labels] != two[labels] for labels in others)


def test_every_key_of_the_json_is_documented(made: Made) -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "json.md").read_text(encoding="utf-8")
    section = page.split("## discreet trace claims")[1].split("\n## ")[0]
    claims = trace("spring", claims=made.claims("south", 5).to_dicts(), store=str(made.store)).to_dict()
    leak = trace("spring", leak=made.world.path, store=str(made.store)).to_dict()
    for found in (claims, leak):
        for key in [*found, *found["recipients"][0], *found["counts"], *(found["origin"] or {})]:
            assert f"`{key}`" in section, key


def test_the_public_name_is_the_same_function() -> None:
    assert discreet.trace is trace
