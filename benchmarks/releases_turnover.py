"""Versions, second names and turnover: what who holds several copies of one data set finds out about decoys.

`python -m benchmarks.releases_turnover [--people N] [--share F]` makes releases of a generated state through a store, writes the
copies of all recipients to files, and compares these: which classes vanish, how many of their rows stay word for word,
how many come. The attacker has all copies of all releases. Decoys are set against real classes of the ambiguity band with
about the same link count; AUC by classes held out, 0.5 is guessing.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars

import discreet
from discreet.kernel import Classes
from discreet.ledger import Ledger
from discreet.people import State, generate
from discreet.people.population import People
from discreet.policy import Policy
from discreet.releases.decoys.detectability import auc, noise_floor
from discreet.releases.delivery.release import Release, release
from discreet.releases.marks.pairing import ambiguous
from discreet.releases.preconditions import Gates
from discreet.sources import Table

COLUMNS = ("zip", "sex", "birth_year", "diagnosis", "income", "plan", "visits")
QUASI = ("zip", "sex", "birth_year")
POLICY = Policy.from_dict(
    {
        "columns": {
            "zip": {"role": "quasi", "hierarchy": {"mask": 5}},
            "sex": {"role": "quasi", "hierarchy": {"any": "Person"}},
            "birth_year": {"role": "quasi", "hierarchy": {"widths": [2, 4, 8]}},
            **{name: {"role": "other"} for name in COLUMNS[3:]},
        }
    }
)
GATES = Gates("a generated state", "generated", counts_only=True, sign_off="BENCHMARK")
NAMES = ("north", "south", "west", "east", "centre")
NEAR, MATCHED = 0.1, 6
"""How far the logarithms of link counts may be apart, and how many real classes are set beside each decoy."""
FOLDS = 5


@dataclass(frozen=True, eq=False)
class Cohort:
    """The people of a state, and who of them is in the data at first."""

    everybody: People
    share: float
    seed: int

    def population(self) -> Classes:
        """Everybody counted."""
        return discreet.read(
            polars.DataFrame({name: self.everybody.column(name) for name in QUASI}), policy=POLICY.for_population()
        ).classes(QUASI)

    def members(self, turnovers: Sequence[float]) -> list[np.ndarray[Any, np.dtype[np.bool_]]]:
        """Who is in the data, version by version: so many leave, and as many come."""
        rng, size = np.random.default_rng(self.seed), len(self.everybody)
        found = [rng.random(size) < self.share]
        for turnover in turnovers:
            stay = found[-1] & (rng.random(size) >= turnover)
            come = ~found[-1] & (rng.random(size) < self.share * turnover / (1 - self.share))
            found.append(stay | come)
        return found

    def table(self, chosen: np.ndarray[Any, np.dtype[np.bool_]]) -> Table:
        """The rows of some people, in an order of their own."""
        rows = np.random.default_rng(int(chosen.sum())).permutation(np.flatnonzero(chosen))
        return discreet.read(
            polars.DataFrame({name: self.everybody.column(name)[rows] for name in COLUMNS}), policy=POLICY
        )


def cohort(people: int = 500_000, share: float = 0.02, seed: int = 3) -> Cohort:
    """A generated state."""
    return Cohort(generate(State.three(people), seed=seed, columns=COLUMNS), share, seed)


def rows_of(
    release: Release, folder: Path, recipient: str = "north"
) -> dict[tuple[str, ...], Counter[tuple[str, ...]]]:
    """The other cells of each class of a written copy."""
    release.write(folder, recipients=[recipient])
    frame = polars.read_parquet(folder / recipient / "data.parquet").cast(polars.String).fill_null("")
    names = release.manifest.codebook.marks.columns
    others = [name for name in COLUMNS if name not in names]
    found: dict[tuple[str, ...], Counter[tuple[str, ...]]] = {}
    for quasi, cells in zip(frame.select(names).iter_rows(), frame.select(others).iter_rows(), strict=True):
        found.setdefault(quasi, Counter())[cells] += 1
    return found


@dataclass(frozen=True)
class Compared:
    """What comparing releases shows."""

    values: dict[str, Any]
    """What can be measured, per class."""
    truth: Any
    """Which classes are decoys."""
    marks: tuple[int, ...]
    """Class marks and row marks of each release."""
    left_out: float
    """The share of people that the last release leaves out because of decoys."""
    isolated: tuple[float, int]
    """People in groups of fewer than k by joining the last two releases: foreseen, and counted in all released rows."""


def compared(
    cohort: Cohort, turnovers: Sequence[float], *, names: Sequence[str] | None = None, seed: int = 1, **settings: Any
) -> Compared:
    """Release version after version, and compare one recipient's copies."""
    population = cohort.population()
    names = names or ["spring"] * (len(turnovers) + 1)
    with tempfile.TemporaryDirectory() as place, Ledger.open(Path(place) / "store.db", create=True) as ledger:
        members, made, copies = cohort.members(turnovers), [], []
        for number, (name, chosen) in enumerate(zip(names, members, strict=True)):
            asked = {"dataset": "cohort", "name": name, "gates": GATES, "store": ledger, "k": 5, **settings}
            made.append(release(cohort.table(chosen), population, NAMES, **asked))
            copies.append(rows_of(made[-1], Path(place) / f"copies {number}"))
        return judged(cohort, made, copies, members, np.random.default_rng(seed))


def judged(
    cohort: Cohort,
    made: Sequence[Release],
    copies: Sequence[dict[tuple[str, ...], Counter[tuple[str, ...]]]],
    members: Sequence[np.ndarray[Any, np.dtype[np.bool_]]],
    rng: np.random.Generator,
) -> Compared:
    """Decoys beside real classes of the band that the first copy shows."""
    first = made[0].manifest
    marks, share = first.codebook.marks, first.crowd.sampling
    decoys = {labels for labels, decoy in zip(marks.labels, marks.decoy.tolist(), strict=True) if decoy}
    link_of = dict(zip(first.released.project(marks.columns).tuples(), first.links.tolist(), strict=True))
    link_of |= dict(zip(marks.labels, marks.links.tolist(), strict=True))
    shown = list(copies[0])
    links = np.array([link_of[label] for label in shown])
    band = ambiguous(links, sampling=share, k=5)
    shown = [label for label, inside in zip(shown, band.tolist(), strict=True) if inside]
    links = links[band]
    truth = np.array([label in decoys for label in shown], dtype=bool)
    # Link counts themselves are no news: what they tell of one copy is measured elsewhere (`releases_marks`).
    features: dict[str, Any] = {}
    for number, (before, after) in enumerate(pairwise(copies), start=2):
        old = [before.get(label, Counter()) for label in shown]
        new = [after.get(label, Counter()) for label in shown]
        stay = np.array([(one & other).total() for one, other in zip(old, new, strict=True)], dtype=float)
        had, have = (np.array([one.total() for one in side], dtype=float) for side in (old, new))
        features |= {
            f"vanished by {number}": (have == 0).astype(float),
            f"stay {number}": np.where(have > 0, stay / np.maximum(had, 1), -1.0),
            f"come {number}": np.where(have > 0, (have - stay) / np.maximum(links * share, 1e-9), -1.0),
            f"size {number}": have / np.maximum(had, 1),
        }
    # As many real classes with about the same link count beside each decoy.
    logs, chosen = np.log(links), set(np.flatnonzero(truth).tolist())
    for decoy in np.flatnonzero(truth).tolist():
        near = np.flatnonzero(~truth & (np.abs(logs - logs[decoy]) <= NEAR))
        chosen |= set(rng.permutation(near)[:MATCHED].tolist())
    places = np.array(sorted(chosen), dtype=np.int64)
    last = made[-1].manifest
    again = last.preflight.get("turnover", {})
    left_out = (again.get("withheld", 0) + again.get("closed", 0)) / last.released.records
    rows = [0 if one.manifest.rows is None else len(one.manifest.rows.rows) for one in made]
    return Compared(
        {name: values[places] for name, values in features.items()},
        truth[places],
        tuple(len(one.manifest.codebook.marks) + more for one, more in zip(made, rows, strict=True)),
        left_out,
        (again.get("isolated", 0.0), isolated(cohort, made, members)),
    )


def learnt(values: np.ndarray[Any, Any], truth: np.ndarray[Any, Any], rng: np.random.Generator) -> float:
    """A forest that learns from four fifths of the classes and rates the others; either way."""
    from sklearn.ensemble import RandomForestClassifier

    fold, scores = rng.integers(0, FOLDS, len(truth)), np.zeros(len(truth))
    for number in range(FOLDS):
        forest = RandomForestClassifier(200, min_samples_leaf=5, class_weight="balanced", random_state=number)
        forest.fit(values[fold != number], truth[fold != number])
        scores[fold == number] = forest.predict_proba(values[fold == number])[:, 1]
    found = auc(scores, truth)
    return max(found, 1 - found)


def isolated(cohort: Cohort, made: Sequence[Release], members: Sequence[np.ndarray[Any, np.dtype[np.bool_]]]) -> int:
    """People who left, came or stayed in groups of fewer than k, in classes that the last two releases show."""
    before, after = (one.manifest.released for one in made[-2:])
    levels = after.levels
    frame = polars.DataFrame({name: cohort.everybody.column(name) for name in QUASI})
    everybody = discreet.read(frame, policy=POLICY.for_population()).classes(QUASI)
    coded = everybody.at({name: levels[name] for name in QUASI})
    label_of = {label: place for place, label in enumerate(coded.tuples())}
    home = everybody.at(dict.fromkeys(QUASI, 0))
    upwards = [
        dict(
            zip(
                column.hierarchy.labels[0],
                [column.hierarchy.labels[level][code] for code in column.hierarchy.map(0, level).tolist()],
                strict=True,
            )
        )
        for column, level in zip(home.columns, [levels[name] for name in QUASI], strict=True)
    ]
    cells = [list(map(str, frame[name].to_list())) for name in QUASI]
    own = np.array(
        [label_of[tuple(up[cell] for up, cell in zip(upwards, row, strict=True))] for row in zip(*cells, strict=True)]
    )
    both = np.zeros(len(coded), dtype=bool)
    names = [set(side.project(QUASI).tuples()) for side in (before, after)]
    for label, place in label_of.items():
        both[place] = all(label in side for side in names)
    found, (old, new) = 0, members[-2:]
    for group in (old & ~new, ~old & new, old & new):
        people = np.bincount(own[group], minlength=len(coded))
        few = both & (people > 0) & (people < 5)
        found += int(people[few].sum())
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=500_000)
    parser.add_argument("--share", type=float, default=0.02)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", action="append")
    asked = parser.parse_args()
    plans: dict[str, tuple[list[float], list[str] | None]] = {
        "two names": ([0.0], ["spring", "autumn"]),
        "three names": ([0.0, 0.0], ["spring", "summer", "autumn"]),
        "2 %": ([0.02], None),
        "10 %": ([0.1], None),
        "30 %": ([0.3], None),
        "10 % twice": ([0.1, 0.1], None),
        "10 % three times": ([0.1, 0.1, 0.1], None),
        "10 % under another name": ([0.1], ["spring", "autumn"]),
    }
    for what, (turnovers, names) in plans.items():
        if asked.only and what not in asked.only:
            continue
        runs = [
            compared(cohort(asked.people, asked.share, seed), turnovers, names=names) for seed in range(asked.seeds)
        ]
        values = {name: np.concatenate([run.values[name] for run in runs]) for name in runs[0].values}
        truth = np.concatenate([run.truth for run in runs])
        by = {name: max(auc(own, truth), 1 - auc(own, truth)) for name, own in values.items()}
        worst = max(by, key=lambda name: by[name])
        forest = learnt(np.stack(list(values.values()), axis=1), truth, np.random.default_rng(1))
        print(
            f"{what:24} learnt {forest:.3f}, worst by itself {by[worst]:.3f} ({worst}), luck "
            f"{noise_floor(int(truth.sum()), int((~truth).sum())):.3f}; {int(truth.sum())} decoys; marks {runs[0].marks}; "
            f"left out {max(run.left_out for run in runs):.2%}; isolated {runs[0].isolated[0]:.0f} foreseen, {runs[0].isolated[1]} counted",
            flush=True,
        )


if __name__ == "__main__":
    main()
