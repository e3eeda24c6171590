"""Marks against the attacks, with bait in the same run: python -m benchmarks releases_marks.

The floor is guessing (an AUC of 0.5), the peer is the published mode. Two more figures are against peers: the gate's
classifier against scikit-learn's on the same rows, and ways of filling decoys against each other.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from benchmarks.measure import best_of, cpu_seconds
from benchmarks.tables import shared_path, shared_policy

SEEDS = (1, 2, 3)
K, SUPPRESSION = 5, 0.1
COLUMNS = ("zip", "sex", "birth_year", "diagnosis", "income", "plan", "visits")
STATE_POLICY = {
    "columns": {
        "zip": {"role": "quasi", "hierarchy": {"mask": 5}},
        "sex": {"role": "quasi", "hierarchy": {"any": "Person"}},
        "birth_year": {"role": "quasi", "hierarchy": {"widths": [2, 4, 8]}},
    }
}
LUCKY = 100
ADULT_QUASI = ("sex", "age", "race", "education")


def main() -> None:
    """The state, Adult if it lies beside the project, the classifier, and the time for 13 million people."""
    for name, cases in (
        ("State 3, 1 % of 3.5 million", state_cases()),
        ("Adult, a half of it in all of it", adult_cases()),
    ):
        show_attacks(name, list(cases))
    show_filling(list(adult_cases()))
    show_luck()
    show_time()


def state_cases() -> Iterator[tuple[int, Any, Any]]:
    """A state, and other samples of it."""
    import discreet
    from discreet.people import State, counted, generate

    everybody = generate(State.three(), seed=1, columns=COLUMNS)
    policy = discreet.Policy.from_dict(STATE_POLICY)
    population = bound(counted(everybody, *policy.quasi), policy)
    for seed in SEEDS:
        sample = everybody.sample(0.01, seed=seed)
        table = discreet.read({name: sample.column(name) for name in COLUMNS}, policy=policy)
        yield seed, table, population


def adult_cases() -> Iterator[tuple[int, Any, Any]]:
    """Halves of Adult as data, all of it as population."""
    import duckdb

    import discreet

    whole = shared_policy("adult")
    if whole is None:
        return
    columns: Any = whole["columns"]
    policy = discreet.Policy.from_dict({"columns": {name: columns[name] for name in ADULT_QUASI}})
    rows = duckdb.sql(f"SELECT * FROM read_csv('{shared_path('adult')}', delim = ';', header = true)").fetchnumpy()
    cells = {name: np.asarray(column) for name, column in rows.items()}
    population = discreet.read(cells, policy=policy).classes()
    for seed in SEEDS:
        half = np.sort(np.random.default_rng(seed).permutation(len(cells["age"]))[: len(cells["age"]) // 2])
        yield seed, discreet.read({name: column[half] for name, column in cells.items()}, policy=policy), population


def bound(classes: Any, policy: Any) -> Any:
    """Generated people with the hierarchies of the policy."""
    import discreet

    rules = {name: policy.rule(name) for name in policy.quasi}
    return discreet.Classes.of(classes.names, list(classes.tuples()), classes.sizes.tolist(), rules=rules)


def linked_of(table: Any, population: Any) -> Any:
    """The best node, beside the population."""
    from discreet.anonymity import anonymise
    from discreet.releases import Linked

    return Linked.of(anonymise(table, k=K, suppression=SUPPRESSION, loss="dm_star"), population)


def show_attacks(name: str, cases: Sequence[tuple[int, Any, Any]]) -> None:
    """Every attack on both modes: mean AUC over the seeds."""
    from discreet.errors import DiscreetError
    from discreet.releases.attacks import ATTACKS, play

    if not cases:
        print(f"{name}: not at hand\n")
        return
    print(f"{name}; k = {K}, at most {SUPPRESSION:.0%} left out, seeds {', '.join(map(str, SEEDS))}")
    scores: dict[tuple[str, str], list[float]] = {}
    for seed, table, population in cases:
        linked = linked_of(table, population)
        start = cpu_seconds()
        for mode in ("marks", "bait"):
            try:
                played = play(linked, table, seed=seed, recipients=4, modes=(mode,), decoys=5, force=True)
            except DiscreetError as error:
                print(f"  seed {seed}: {mode}: {error}")
                continue
            for one in played.outcomes[mode]:
                scores.setdefault((mode, one.attack), []).append(one.auc)
            floor = played.outcomes[mode][0].floor
            if played.marking is None:
                print(f"  seed {seed}: {mode}, luck of an attack {floor:.3f}")
            else:
                made = played.marking
                print(
                    f"  seed {seed}: {len(made.marks)} marks of {2 * made.pairs}, rows lost {made.rows_lost:.2%} (hardly ever above "
                    f"{made.most_lost:.2%}), largest shift {max(made.shifts.values(), default=0):.2%}, gate "
                    f"{made.gate.auc:.3f} (luck {made.gate.floor:.3f}), luck of an attack {floor:.3f}, {cpu_seconds() - start:.1f} CPU s"
                )
    print(f"{'':24}{'marks':>8}{'bait':>8}{'excess over guessing, marks : bait':>38}")
    for attack in ATTACKS:
        marks, bait = (float(np.mean(scores.get((mode, attack), [np.nan]))) for mode in ("marks", "bait"))
        ratio = (marks - 0.5) / (bait - 0.5) if bait > 0.5 else np.nan
        print(f"{attack:24}{marks:8.3f}{bait:8.3f}{ratio:37.2f}x")
    print()


def show_filling(cases: Sequence[tuple[int, Any, Any]]) -> None:
    """Ways of filling decoys, told by our classifier and by scikit-learn's: real classes against their imitations."""
    if not cases:
        return
    print("Filling decoys of Adult: small classes against imitations of them from other classes (AUC; 0.5 is guessing)")
    found: dict[str, list[tuple[float, float]]] = {}
    for _, table, population in cases:
        for name, exhibit in imitations(linked_of(table, population), table):
            found.setdefault(name, []).append((ours(exhibit), theirs(exhibit)))
    print(f"{'':28}{'our gate':>10}{'scikit-learn':>14}")
    for name, scores in found.items():
        mine, peer = np.mean(scores, axis=0)
        print(f"{name:28}{mine:10.3f}{peer:14.3f}")
    print()


def imitations(linked: Any, table: Any) -> Iterator[tuple[str, Any]]:
    """Half of the small classes, and rows for each from classes of the other half and large ones."""
    from discreet.releases.decoys.detectability import LabelledRows, measured
    from discreet.releases.decoys.donors import DonorColumn, Donors
    from discreet.releases.decoys.matching import PredictiveMeans, QuasiViews, nearest_donors, targets_of

    generator, released = np.random.default_rng(1), linked.released
    donors = Donors.fetch(table, released, np.ones(len(released), dtype=bool), drop=())
    small = generator.permutation(np.flatnonzero(released.sizes <= 20))[:150]
    giving = np.flatnonzero(~np.isin(donors.owners, small))
    sizes, width = released.sizes[small], len(donors.columns)
    views = QuasiViews.of(linked.data, linked.population)
    codes, (targets, weights) = views.codes(released), targets_of(donors.columns)
    points = PredictiveMeans.of(views, codes[donors.owners], targets).points(codes, weights)
    nobody = [-1] * len(small)
    taken = nearest_donors(points, donors.owners[giving], points[small], sizes, nobody, generator)
    count = int(sizes.sum())
    matched = giving[np.concatenate([taken[place] for place in range(len(small))])]
    ways = {
        "independent marginals": generator.integers(0, len(donors), (count, width)),
        "rows dealt out": np.repeat(generator.choice(giving, count, replace=False)[:, None], width, axis=1),
        "rows that match (ours)": np.repeat(matched[:, None], width, axis=1),
    }
    real = np.concatenate([donors.rows[place] for place in small.tolist()])
    owners = np.repeat(np.arange(2 * len(small)), np.concatenate([sizes] * 2))
    for name, made in ways.items():
        columns = [
            DonorColumn.of(column.name, [column.cells[row] for row in [*range(len(donors)), *made[:, place].tolist()]])
            for place, column in enumerate(donors.columns)
        ]
        places = np.concatenate([donors.owners, np.repeat(small, sizes)])
        rows = np.concatenate([real, np.arange(len(donors), len(donors) + count)])
        measures = {name: values[rows] for name, values in measured(columns, views, codes[places]).items()}
        shown = [DonorColumn.of(column.name, [column.cells[row] for row in rows.tolist()]) for column in columns]
        yield name, LabelledRows(shown, owners, np.repeat([False, True], len(small)), measures)


def halves(exhibit: Any) -> Iterator[Any]:
    """Which classes to learn from; a class and its imitation go together."""
    count = len(exhibit.decoy) // 2
    fold = np.random.default_rng(1).permutation(count) % 5
    for number in range(5):
        yield np.concatenate([fold, fold]) != number


def ours(exhibit: Any) -> float:
    """What the gate's classifier reaches."""
    from discreet.releases.decoys.detectability import auc, rated

    parts = [(learn, rated(exhibit, learn=learn)) for learn in halves(exhibit)]
    return float(np.mean([auc(scores[~learn], exhibit.decoy[~learn]) for learn, scores in parts]))


def theirs(exhibit: Any) -> float:
    """What scikit-learn's reaches on the same columns, with the mean and spread of each class."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits

    from discreet.releases.decoys.detectability import auc

    cells = np.stack(
        [*(one.codes if one.numbers is None else one.numbers for one in exhibit.columns), *exhibit.measures.values()],
        axis=1,
    ).astype(float)
    owners, count = exhibit.owners, np.bincount(exhibit.owners)
    means = np.stack([np.bincount(owners, weights=column) / count for column in cells.T], axis=1)
    squares = np.stack([np.bincount(owners, weights=column**2) / count for column in cells.T], axis=1)
    spreads = np.sqrt(np.maximum(squares - means**2, 0))
    features, found = np.hstack([cells, means[owners], spreads[owners]]), []
    for learn in halves(exhibit):
        rows = learn[owners]
        forest = HistGradientBoostingClassifier(max_iter=80, learning_rate=0.08, max_leaf_nodes=8, random_state=0)
        with threadpool_limits(1):
            scores = forest.fit(features[rows], exhibit.decoy[owners][rows]).decision_function(features)
        found.append(auc((np.bincount(owners, weights=scores) / count)[~learn], exhibit.decoy[~learn]))
    return float(np.mean(found))


def show_luck() -> None:
    """How far the gate's classifier strays from guessing where there is nothing to find: beside guesses, and its stated luck."""
    from discreet.releases.decoys.detectability import EITHER_WAY, LabelledRows, noise_floor, told
    from discreet.releases.decoys.donors import DonorColumn

    print("The gate where decoys and real classes are drawn alike: luck that is stated, and how often it is passed")
    for classes in (40, 80, 160):
        owners, found = np.repeat(np.arange(classes), 6), []
        for seed in range(LUCKY):
            rng = np.random.default_rng([seed, classes])
            age = rng.integers(0, 8, classes)[owners]
            job = (age // 2 + (rng.random(len(owners)) < 0.3)) % 4
            pay = (1000 * job + rng.normal(0, 400, len(owners))).round()
            columns = [
                DonorColumn.of("age", age.tolist()),
                DonorColumn.of("job", job.tolist()),
                DonorColumn.of("pay", pay.tolist()),
            ]
            found.append(told(LabelledRows(columns, owners, np.arange(classes) % 2 == 0), rng))
        strays = np.sqrt(np.mean([(gate.auc - 0.5) ** 2 for gate in found]))
        guess = (noise_floor(classes // 2, classes // 2) - 0.5) / EITHER_WAY
        passed = np.mean([gate.auc > gate.floor for gate in found])
        print(
            f"  {classes:4} classes: luck {found[0].floor:.2f}, passed in {passed:.1%}; {strays / guess:.2f}x as far as guesses"
        )
    print()


def show_time() -> None:
    """Choosing marks beside 13 million people, once all are counted."""
    import discreet
    from discreet.people import State, counted, generate
    from discreet.releases.marks.codebook import DEFAULT, Codebook
    from discreet.releases.marks.pairing import AmbiguityBand, MarkBudget, affordable, as_marks, paired

    policy = discreet.Policy.from_dict(
        {"columns": {**STATE_POLICY["columns"], "race": {"role": "quasi", "hierarchy": {"any": "*"}}}}
    )
    names = ("zip", "sex", "birth_year", "race")
    everybody = generate(State.one(), seed=1, columns=names)
    population = bound(counted(everybody, *names), policy)
    data = bound(counted(everybody.sample(0.01, seed=2), *names), policy)
    del everybody
    recipients = [f"r{number}" for number in range(20)]
    found: dict[str, Any] = {}

    def search() -> object:
        found["linked"] = linked_of(data, population)
        return len(found["linked"].released)

    def choose() -> object:
        linked = found["linked"]
        pairs = paired(linked, AmbiguityBand.of(linked), np.random.default_rng(1), budget=MarkBudget())
        chosen = affordable(linked, pairs, DEFAULT, budget=MarkBudget(), release="r", key=bytes(32))
        return len(Codebook.of(as_marks(linked, chosen), DEFAULT, recipients, release="r", key=bytes(32)).marks)

    print(f"13 million people in {len(population):,} classes, 1 % of them released, 120 nodes, 20 recipients")
    for name, job in (("best node, and the population there", search), ("marks and who has which", choose)):
        start = time.perf_counter()
        cost = best_of(job, 3)
        print(
            f"  {name:40}{cost.cpu:8.3f} CPU s, best of 3 (all three {time.perf_counter() - start:.1f} s): {cost.answer}"
        )


if __name__ == "__main__":
    main()
