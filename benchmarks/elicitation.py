"""How many questions until experts' scores are in the right order and of the right size?

python -m benchmarks.elicitation [questions noise]

Simulated experts (seeds 0 to 29) have scores of their own for 18 values of three columns, from 0.03 to 1, spread evenly
in logarithms. They compare with an error in the logarithm of the ratio, on Saaty's scale, and rate with an error, in
steps of 0.1. Four ways to spend the same number of questions:

  naive      rate each value directly, again and again
  compare    pairwise comparison alone (eigenvector, the worst value scored 1)
  rate       rated records alone (clamped least squares)
  both       half comparisons, then records; the joint fit

Order error: share of pairs of values in the wrong order (Kendall). Calibration error: root mean square error of
min(1, Σ f) over 500 random records. The ratio is that of `both` to `naive`.
"""

from __future__ import annotations

import sys

import numpy as np

from benchmarks.measure import run_parts
from discreet.misuse.elicitation import Item, SimulatedExpert, kendall_tau

SEEDS = range(30)
COLUMNS, VALUES = 3, 6
ITEMS = [
    Item(f"column {column}", f"value {value}", (f"{value}",)) for column in range(COLUMNS) for value in range(VALUES)
]
WAYS = ("naive", "compare", "rate", "both")
Floats = np.ndarray


def expert_of(seed: int, comparing: float, rating: float) -> SimulatedExpert:
    """Scores spread evenly in logarithms; some are at the clamp."""
    rng = np.random.default_rng(seed)
    scores = np.minimum(1, np.exp(rng.uniform(np.log(0.03), np.log(1.2), len(ITEMS))))
    return SimulatedExpert(scores, rng, comparing, rating)


def naive(expert: SimulatedExpert, questions: int) -> Floats:
    said: list[list[float]] = [[] for _ in ITEMS]
    for number in range(questions):
        said[number % len(ITEMS)].append(expert.rates((number % len(ITEMS),)))
    return np.array([np.mean(one) for one in said])


def estimated(way: str, expert: SimulatedExpert, questions: int, seed: int) -> Floats:
    if way == "naive":
        return naive(expert, questions)
    compared = {"compare": questions, "rate": 0, "both": max(len(ITEMS) - 1, questions // 2)}[way]
    return expert.interview("expert", ITEMS, comparisons=compared, ratings=questions - compared, seed=seed).scores()


def errors(found: Floats, expert: SimulatedExpert, rng: np.random.Generator) -> tuple[float, float]:
    """Order and calibration."""
    tau = kendall_tau(expert.scores, found)
    columns = rng.random((500, COLUMNS)) < 0.6
    records = np.zeros((500, len(ITEMS)))
    for column in range(COLUMNS):
        chosen = np.flatnonzero(columns[:, column])
        records[chosen, column * VALUES + rng.integers(0, VALUES, len(chosen))] = 1
    missed = np.minimum(1, records @ found) - np.minimum(1, records @ expert.scores)
    return 0.5 if tau is None else (1 - tau) / 2, float(np.sqrt(np.mean(missed**2)))


def row(questions: int, comparing: float, rating: float) -> None:
    means = {}
    for way in WAYS:
        found = []
        for seed in SEEDS:
            expert = expert_of(seed, comparing, rating)
            found.append(errors(estimated(way, expert, questions, seed), expert, np.random.default_rng(seed + 1000)))
        means[way] = np.mean(found, axis=0)
    order, size = means["both"] / means["naive"]
    cells = "".join(f"{means[way][0]:8.3f}{means[way][1]:8.3f}" for way in WAYS)
    print(f"{questions:>9}{comparing:>7}{rating:>7}{cells}{order:8.2f}{size:8.2f}", flush=True)


def head() -> None:
    print(f"{'':23}" + "".join(f"{way:>16}" for way in WAYS) + f"{'both / naive':>16}")
    print(f"{'questions':>9}{'errors of':>14}" + "   order    size" * (len(WAYS) + 1))


def by_questions() -> None:
    """Errors by number of questions."""
    head()
    for questions in (18, 27, 36, 54, 72):
        row(questions, 0.4, 0.1)


def by_noise() -> None:
    """Experts who err more, in one instrument or the other."""
    head()
    for comparing, rating in ((0.2, 0.2), (0.4, 0.2), (0.7, 0.1), (0.7, 0.15)):
        row(45, comparing, rating)


PARTS = {"questions": by_questions, "noise": by_noise}


def main(parts: list[str] | None = None) -> None:
    """Run the named parts, or all."""
    run_parts(PARTS, parts)


if __name__ == "__main__":
    main(sys.argv[1:])
