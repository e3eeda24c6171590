"""Attacks: each finds what it looks for where it was planted, and nothing in a release with marks."""

from __future__ import annotations

import numpy as np
import polars
import pytest

from discreet.errors import UsageError
from discreet.kernel import Classes
from discreet.releases.attack_suite import TAUGHT_ATTACKS
from discreet.releases.attacks import ATTACKS, Adversary, Case, Holding, Outcome, play, run
from discreet.sources import read
from tests.releases import marked

CLASSES = 60


def holding(*, decoys: int = 20, late: bool = False, numbers: bool = False, copied: str = "", seed: int = 1) -> Holding:
    """Sixty classes of six rows, of which the first are decoys that a careless custodian put in."""
    rng = np.random.default_rng(seed)
    owners = np.repeat(np.arange(CLASSES), 6)
    fake = owners < decoys
    age = rng.normal(50, 20, len(owners)).round(3)
    pet = rng.integers(0, 3, len(owners))
    rows = np.flatnonzero(~fake)
    if copied:
        donors = rng.choice(rows, int(fake.sum()), replace=False)
        age[fake] = age[donors]
        pet[fake] = pet[donors] if copied == "whole" else (pet[donors] + 1) % 3
    town = rng.integers(0, 40, len(owners))
    if copied:
        town[fake] = town[donors]
    order = rng.permutation(len(owners))
    order = np.concatenate([order[~fake[order]], order[fake[order]]]) if late else order
    ids = np.arange(len(owners))
    if numbers:
        ids = np.concatenate([ids[~fake[order]], ids[fake[order]]]) if not late else ids
        ids = np.where(fake[order], ids + 10_000, ids)
    cells = {
        "zip": [f"{owners[row]:03}" for row in order],
        "age": age[order].tolist(),
        "pet": [f"pet {one}" for one in pet[order]],
        "town": [f"town {one}" for one in town[order]],
    }
    return Holding(("zip",), cells, ids.tolist())


def population(*, rare: int = 0) -> Classes:
    sizes = [40 if number < rare else 500 + number for number in range(CLASSES)]
    return Classes.of(["zip"], [(f"{number:03}",) for number in range(CLASSES)], sizes)


def attacked(copies: list[Holding], *, decoys: int = 20, rare: int = 0) -> dict[str, Outcome]:
    adversary = Adversary(tuple(copies), population(rare=rare), 5, 0.01)
    truth = frozenset((f"{number:03}",) for number in range(decoys))
    everything = Case(adversary, truth)
    return {one.attack: one for one in run([everything])}


def test_careless_custodians_are_found_out() -> None:
    assert attacked([holding()], rare=20)["link count"].auc == 1.0
    assert attacked([holding()], rare=20)["over-sampling"].auc == 1.0
    assert attacked([holding(late=True)])["order"].auc == 1.0
    assert attacked([holding(numbers=True)])["row numbers"].auc == 1.0
    assert attacked([holding(copied="whole")])["duplicates"].auc > 0.9
    assert attacked([holding(copied="whole")])["tuple join"].auc > 0.9
    assert attacked([holding(copied="nearly")])["tuple join"].auc > 0.9
    assert attacked([holding(copied="nearly")])["duplicates"].auc < 0.6


def test_two_who_collude_find_what_only_one_has() -> None:
    own, other = holding(), holding(seed=2)
    kept = [row for row, zip_ in enumerate(other.cells["zip"]) if zip_ >= "020"]
    lacking = Holding(("zip",), {name: [cells[row] for row in kept] for name, cells in other.cells.items()})
    found = attacked([own, lacking])
    assert found["intersection"].auc == 1.0
    assert found["intersection"].precision == 1.0
    assert "intersection" not in attacked([own])


def test_a_careful_custodian_is_not() -> None:
    found = attacked([holding()])
    for name in ("size", "order", "standing together", "row numbers", "duplicates", "tuple join"):
        assert found[name].auc <= found[name].floor + 0.06, name
    assert not found["size"].tells
    assert found["size"].precision == pytest.approx(found["size"].guessing)


def test_only_classes_as_risky_as_decoys_are_asked_about() -> None:
    adversary = Adversary((holding(),), population(), 5, 0.01)
    case = Case(adversary, frozenset({("010",), ("020",)}))
    asked, truth = case.asked()
    assert sorted(adversary.own.labels[place][0] or "" for place in asked) == [f"{one:03}" for one in range(10, 21)]
    assert int(truth.sum()) == 2
    nobody, none = Case(adversary, frozenset()).asked()
    assert (len(nobody), len(none)) == (0, 0)


def test_a_delivered_file_is_read_as_it_lies() -> None:
    frame = {"row": [3, 1, 2], "zip": ["b", "a", "b"], "pet": ["x", None, "y"]}
    held = Holding.read(read(polars.DataFrame(frame)), ["zip"], row_ids="row")
    assert held.labels == [("b",), ("a",)]
    assert held.owners.tolist() == [0, 1, 0]
    assert held.ids == ["3", "1", "2"]
    assert held.cells["pet"] == ["x", None, "y"]


def test_no_attack_tells_marks_and_link_counts_tell_bait() -> None:
    """On a state of some size, so that luck is small."""
    chosen = (1_500_000, 0.01, 3)
    played = play(marked.linked(*chosen), marked.state(*chosen)[0], seed=1, recipients=3)
    for outcome in played.outcomes["marks"]:
        assert outcome.auc <= max(0.60, outcome.floor), outcome
        assert not outcome.tells
    assert played.holds
    bait = {one.attack: one for one in played.outcomes["bait"]}
    assert min(bait[name].auc for name in ("link count", "over-sampling", "intersection")) >= 0.95
    assert bait["link count"].precision == 1.0
    marks, told = played.words()
    assert "not detected by any of these attacks" in marks
    assert "detected by link count" in told
    assert [one["attack"] for one in played.to_dict()["modes"]["marks"]] == [
        *ATTACKS,
        *TAUGHT_ATTACKS,
    ]
    assert played.to_dict()["holds"] is True


@pytest.mark.slow
def test_the_same_seed_plays_the_same_game() -> None:
    table, _ = marked.state()
    first, again = (play(marked.linked(), table, seed=5, recipients=2, modes=("marks",)) for _ in range(2))
    assert first.to_dict() == again.to_dict()


def test_modes_are_known() -> None:
    with pytest.raises(UsageError):
        play(marked.linked(), marked.state()[0], modes=("other",))
