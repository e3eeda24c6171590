"""Bait from plan to copies to trace: the files hold what the paper says, and a leak is named."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import Refused, UsageError
from discreet.releases import release, trace
from discreet.releases.bait_release import BaitSettings, outline_bait
from discreet.releases.delivery.release import Release
from discreet.releases.manifest import Manifest
from discreet.sources import read
from tests.releases.world import POLICY, SETTINGS, World, roomy, rows_in, write_rows

NAMES = ("north", "south", "west", "east", "middle", "coast")
BAIT = BaitSettings(decoys=4, removal="size", budget=0.1)
K, QUASI = 5, 3
NODE: dict[str, Any] = {**SETTINGS, "k": K}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    everybody, rows = roomy()
    path = tmp_path_factory.mktemp("town") / "town.parquet"
    write_rows(rows, path)
    return World(read(path, policy=POLICY), everybody, path)


@pytest.fixture(scope="module")
def made(world: World, shared_store: Path) -> Release:
    return release(world.table, world.population, NAMES, name="spring", bait=BAIT, **{**NODE, "store": shared_store})


@pytest.fixture(scope="module")
def files(made: Release, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    out = tmp_path_factory.mktemp("copies")
    made.write(out)
    return {name: out / name / "data.parquet" for name in NAMES}


def classes_of(path: Path) -> Counter[tuple[str, ...]]:
    """Rows per class of a copy; its quasi-identifiers are zip, year and sex, in any order."""
    return Counter(tuple(sorted(str(cell) for cell in row[:QUASI])) for row in rows_in(path))


def labels(made: Release, recipient: str, *, decoy: bool) -> set[tuple[str, ...]]:
    book = made.manifest.codebook
    mine = book.row(recipient) & (book.marks.decoy == decoy)
    return {tuple(sorted(map(str, label))) for label, held in zip(book.marks.labels, mine, strict=True) if held}


def test_each_copy_holds_its_own_decoys_and_lacks_the_exclusive_classes_of_all_others(
    made: Release, files: dict[str, Path]
) -> None:
    released = {tuple(sorted(map(str, label))) for label in made.manifest.released.tuples()}
    everyone = set().union(*(labels(made, name, decoy=False) for name in NAMES))
    assert len(everyone) == len(NAMES) * len(labels(made, "north", decoy=False)) > 0
    for name in NAMES:
        held, own, decoys = (classes_of(files[name]), labels(made, name, decoy=False), labels(made, name, decoy=True))
        assert len(decoys) == BAIT.decoys
        assert not decoys & released
        assert set(held) == (released - (everyone - own)) | decoys
        assert min(held.values()) >= K


@pytest.mark.parametrize("size", [2, 3, 4, 5, 6])
def test_colluders_see_a_decoy_as_often_as_the_paper_says(made: Release, files: dict[str, Path], size: int) -> None:
    """n_d/(n_d + n_e) in the files themselves, for every coalition of two to six recipients."""
    held = {name: set(classes_of(path)) for name, path in files.items()}
    own = len(labels(made, "north", decoy=False))
    for coalition in combinations(NAMES, size):
        holders = Counter(label for name in coalition for label in held[name])
        for name in coalition:
            alone = {label for label in held[name] if holders[label] == 1}
            decoys = alone & labels(made, name, decoy=True)
            assert (len(decoys), len(alone)) == (BAIT.decoys, BAIT.decoys + own)
    assert made.preflight["probability_of_decoy"] == BAIT.decoys / (BAIT.decoys + own)


def test_a_leaked_copy_and_claims_of_decoys_name_their_recipient(
    made: Release, files: dict[str, Path], shared_store: Path
) -> None:
    found = trace("spring", leak=files["west"], store=shared_store)
    assert found.accused == ("west",)
    book = made.manifest.codebook
    mine = book.row("south")
    claims = [
        dict(zip(book.marks.columns, label, strict=True))
        for label, held in zip(book.marks.labels, mine, strict=True)
        if held
    ]
    claimed = trace("spring", claims=claims, store=shared_store)
    assert claimed.accused == ("south",)
    assert claimed.origin is not None
    assert claimed.origin.own_copy is None, "only half of paired marks are decoys"
    events = [row for row in made.manifest.preflight["warning"].split() if row == "look-alikes,"]
    assert events, "what was approved says whom these decoys do not find"


def test_nothing_is_added_to_bait_later(made: Release, world: World, shared_store: Path) -> None:
    again = release(world.again(), world.population, NAMES, name="spring", bait=BAIT, **{**NODE, "store": shared_store})
    assert again.version == 1
    assert again.opened.kept.digest == made.opened.kept.digest
    for changed in ({"bait": BaitSettings(decoys=3)}, {"bait": None}):
        with pytest.raises(Refused, match="has bait"):
            release(world.again(), world.population, NAMES, name="spring", **changed, **{**NODE, "store": shared_store})
    with pytest.raises(Refused, match="no further recipients"):
        made.add_recipient("late")
    with pytest.raises(Refused, match="no further recipients"):
        release(
            world.again(),
            world.population,
            (*NAMES, "late"),
            name="spring",
            bait=BAIT,
            **{**NODE, "store": shared_store},
        )


def test_the_same_secret_gives_the_same_decoys_and_the_manifest_keeps_them(made: Release, world: World) -> None:
    settings = {name: NODE[name] for name in ("k", "suppression")}
    first, again = (
        outline_bait(world.table, world.population, NAMES, bait=BAIT, key=bytes(range(32)), release="x", **settings)
        for _ in range(2)
    )
    other = outline_bait(world.table, world.population, NAMES, bait=BAIT, key=bytes(32), release="x", **settings)
    assert first.draft.codebook.marks.labels == again.draft.codebook.marks.labels
    assert first.draft.rows.columns == again.draft.rows.columns
    assert first.draft.codebook.marks.labels != other.draft.codebook.marks.labels
    read = Manifest.from_bytes(made.manifest.to_bytes())
    assert (read.codebook.present == made.manifest.codebook.present).all()
    assert read.bait


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("marks", {"decoys": 3}), "one of bait"),
        (("bait", {"removal": "clever"}), "removals"),
        (("bait", {"budget": 2.0}), "budget from 0 to 1"),
        (("bait", {"decoys": 0}), "at least one decoy"),
    ],
)
def test_settings_that_make_no_sense_are_refused(given: tuple[str, dict[str, Any]], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        BaitSettings.checked(*given)


def test_one_recipient_or_too_many_decoys_are_refused(world: World) -> None:
    settings = {name: NODE[name] for name in ("k", "suppression")}
    with pytest.raises(UsageError, match="at least two recipients"):
        outline_bait(world.table, world.population, ["one"], bait=BAIT, **settings)
    with pytest.raises(UsageError, match="candidates are enough"):
        outline_bait(world.table, world.population, NAMES, bait=BaitSettings(decoys=10_000), **settings)
