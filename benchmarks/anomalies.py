"""Who misuses what she may see? Planted misuse in generated logs, found by misuse score and by counting rows.

python -m benchmarks.anomalies [long short]

Logs of 60 and of 8 working days by 80 users (seeds 1 to 8), 12 misusers each with one to three bad days
(`discreet.misuse.generated`): nurses who look up strangers one by one, nurses and clerks who take some hundred
identifiable rows, analysts who ask for fine columns, newcomers who harvest from their first day on. Every user-day is
ranked by

  rows              rows received that day, what products count today
  rows, z           the same as a robust z-score of the user's own days
  M, z unshrunk     robust z-score of log(1 + M) of the user's own days
  M, z shrunk       ours: shrunk towards the peer group

AUC: the probability that a bad day ranks above a good one. Precision: the share of bad days among the first k, where k
is the number of bad days. Then the AUC by kind of misuse.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

from benchmarks.measure import best_of
from discreet.misuse.anomalies import NORMAL, SMALLEST, Anomalies, Day, find_anomalies
from discreet.misuse.generated import MISUSES, Generated, generate_log

SEEDS = range(1, 9)
Floats = np.ndarray
Way = Callable[[Anomalies], dict[tuple[str, object], float]]


def own_z(level: Callable[[Day], float]) -> Way:
    """A robust z-score of each user's own days, and of nothing else."""

    def ranked(found: Anomalies) -> dict[tuple[str, object], float]:
        days: dict[str, list[Day]] = {}
        for day in found.days:
            days.setdefault(day.user, []).append(day)
        scores: dict[tuple[str, object], float] = {}
        for its in days.values():
            levels = np.array([level(day) for day in its])
            middle = np.median(levels)
            spread = max(SMALLEST, NORMAL * float(np.median(np.abs(levels - middle))))
            scores |= {(day.user, day.day): float(z) for day, z in zip(its, (levels - middle) / spread, strict=True)}
        return scores

    return ranked


WAYS: dict[str, Way] = {
    "rows": lambda found: {(day.user, day.day): float(day.rows) for day in found.days},
    "rows, z": own_z(lambda day: float(np.log1p(day.rows))),
    "M, z unshrunk": own_z(lambda day: float(np.log1p(day.score))),
    "M, z shrunk": lambda found: {(day.user, day.day): day.z for day in found.days},
}


def auc(bad: Floats, good: Floats) -> float:
    """Ties count half."""
    both = np.concatenate([bad, good])
    _, places, counts = np.unique(both, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]
    return float((ranks[: len(bad)].sum() - len(bad) * (len(bad) + 1) / 2) / (len(bad) * len(good)))


def precision(scores: dict[tuple[str, object], float], bad: set[tuple[str, object]]) -> float:
    first = sorted(scores, key=lambda key: -scores[key])[: len(bad)]
    return len(bad.intersection(first)) / len(bad)


def measured(log: Generated, found: Anomalies, way: Way) -> dict[str, float]:
    """AUC and precision of one way on one log, and its AUC by kind of misuse."""
    scores = way(found)
    bad: set[tuple[str, object]] = set(log.misuse)
    good = np.array([score for key, score in scores.items() if key not in bad])
    values = {"AUC": auc(np.array([scores[key] for key in bad]), good), "precision": precision(scores, bad)}
    for kind in MISUSES:
        its = np.array([scores[key] for key, one in log.misuse.items() if one == kind])
        if len(its):
            values[kind] = auc(its, good)
    return values


def compared(days: int) -> None:
    """All ways on logs of so many days."""
    logs = [generate_log(np.random.default_rng(seed), days=days) for seed in SEEDS]
    found = [find_anomalies(log.results) for log in logs]
    user_days, bad = sum(len(one.days) for one in found), sum(len(log.misuse) for log in logs)
    print(f"{len(logs)} logs of {days} days: {user_days:,} user-days, {bad} of them bad")
    columns = ("AUC", "precision", *MISUSES)
    print(f"{'':16}" + "".join(f"{name:>12}" for name in columns))
    means = {}
    for name, way in WAYS.items():
        every = [measured(log, one, way) for log, one in zip(logs, found, strict=True)]
        means[name] = {column: float(np.mean([one[column] for one in every if column in one])) for column in columns}
        print(f"{name:16}" + "".join(f"{means[name][column]:12.3f}" for column in columns), flush=True)
    ours = means["M, z shrunk"]
    for name in list(WAYS)[:-1]:
        fewer = (1 - means[name]["AUC"]) / (1 - ours["AUC"])
        gain = ours["precision"] - means[name]["precision"]
        print(f"against {name}: {fewer:.2f} times fewer pairs in the wrong order, precision {gain:+.3f}")
    cost = best_of(lambda: find_anomalies(logs[0].results), 3)
    print(f"{len(logs[0].results):,} results judged in {cost.cpu:.2f} CPU s")


PARTS = {"long": 60, "short": 8}


def main(parts: list[str] | None = None) -> None:
    """Run the named parts, or all."""
    for part in parts or list(PARTS):
        print(f"-- {part}", flush=True)
        compared(PARTS[part])


if __name__ == "__main__":
    main(sys.argv[1:])
