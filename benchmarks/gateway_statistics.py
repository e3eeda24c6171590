"""What noise, audit and budget leave to somebody who asks only for statistics, and what they cost everybody else.

Four attacks on one value are played with the real noise and the real audit: *pairs* (a set without the person, and with),
*tracker* (the person or all of one sex, that sex, and everybody, as in Denning's tracker), *star* (groups that have nobody
but the person in common, then their union without the person) and *triples* (two groups, and both with the person). The
attacker knows all sets, the mean and the variance, and takes the best linear estimate. Printed is the error relative to
guessing the mean: 1 is nothing learned, 0 is everything; without the audit the budget alone stops the attack. Beside it the
honest error: means and counts of all tables of up to three of six columns. Then the time of the audit, against sorting
the keys of the people once.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import best_of, run_parts
from discreet.gateway.statistics import Moment, StatisticCell
from discreet.gateway.statistics.answers import variance_ratio
from discreet.gateway.statistics.audit import AskedSet, WhoAudit
from discreet.gateway.statistics.noise import StickyNoise
from discreet.policy.gateway_section import AggregateColumn, AggregatesPolicy

PEOPLE, TARGETS, DRAWS, BUDGET = 1_000, 6, 100, 200

BOUNDS = (0.0, 150_000.0)
SETTINGS = AggregatesPolicy(columns=MappingProxyType({"income": AggregateColumn(BOUNDS, 5_000.0)}))
SUM, ILL = Moment("sum", ("t.p.income",)), Moment("count", ("t.p.diagnosis",), condition="diagnosis IN (B20)")
CARDS = (2, 4, 3, 5, 3, 4)
"""Values of the six columns by which honest tables are grouped."""
Numbers = NDArray[np.float64]
Set = NDArray[np.int64]


@dataclass(frozen=True)
class Population:
    """People with groups, an income and a disease."""

    groups: NDArray[np.int64]
    income: Numbers
    ill: Numbers

    @classmethod
    def of(cls, rng: np.random.Generator, people: int) -> Population:
        """Drawn at random."""
        groups = np.stack([rng.integers(0, size, people) for size in CARDS])
        income = np.clip(rng.lognormal(10.6, 0.45, people) + 6_000 * groups[1], *BOUNDS)
        return cls(groups, income, (rng.random(people) < 0.1).astype(float))


def pairs(rng: np.random.Generator, people: int, who: int) -> Iterator[Set]:
    """A set, and the set with the person."""
    others = np.delete(np.arange(people), who)
    while True:
        chosen = rng.choice(others, rng.integers(people // 10, people // 2), replace=False)
        yield chosen
        yield np.append(chosen, who)


def tracker(rng: np.random.Generator, people: int, who: int) -> Iterator[Set]:
    """The person or all who have an attribute, all who have it, all who lack it or are the person, and everybody."""
    while True:
        has = rng.random(people) < 0.5
        has[who] = False
        person = np.arange(people) == who
        for those in (has | person, has, ~has, ~has & ~person):
            yield np.flatnonzero(those)


def star(rng: np.random.Generator, people: int, who: int) -> Iterator[Set]:
    """Groups that have only the person in common, then all of them without the person."""
    others = rng.permutation(np.delete(np.arange(people), who))
    for number in (14, 25, 50, 90, 125):
        for part in np.array_split(others, number):
            yield np.append(part, who)
        yield others


def triples(rng: np.random.Generator, people: int, who: int) -> Iterator[Set]:
    """Two groups, and both of them with the person."""
    others = np.delete(np.arange(people), who)
    while True:
        chosen = rng.choice(others, people // 2, replace=False)
        half = len(chosen) // 2
        yield chosen[:half]
        yield chosen[half:]
        yield np.append(chosen, who)


ATTACKS: dict[str, Callable[[np.random.Generator, int, int], Iterator[Set]]] = {
    "pairs": pairs,
    "tracker": tracker,
    "star": star,
    "triples": triples,
}


def played(sets: Iterator[Set], *, audit: WhoAudit | None) -> list[Set]:
    """The sets that are answered: until the audit refuses the next one, or the budget is used up."""
    answered: list[Set] = []
    for one in itertools.islice(sets, BUDGET):
        if audit is not None:
            audit = audit.asked([AskedSet(one.astype(np.uint64))])
            if not audit.within(SETTINGS.audit):
                break
        answered.append(one)
    return answered


def estimate(
    overlaps: Numbers, hit: Numbers, sizes: Numbers, answers: Numbers, mean: float, variance: float, noise: float
) -> float:
    """The best linear estimate of one value, from which sets overlap how far and which hold the person."""
    weights = np.linalg.solve(variance * overlaps + noise * np.eye(len(overlaps)), variance * hit)
    return mean + float(weights @ (answers - mean * sizes))


def attacks() -> None:
    """Error of each attack relative to guessing, with audit and budget, and with the budget alone."""
    print(f"{'':10}{'answers':>9}{'income':>9}{'illness':>9}   {'budget alone':>14}{'income':>9}{'illness':>9}")
    for name, attack in ATTACKS.items():
        audited, alone = _errors(attack, audit=True), _errors(attack, audit=False)
        print(
            f"{name:10}{audited[0]:>9.0f}{audited[1]:>9.2f}{audited[2]:>9.2f}   {alone[0]:>14.0f}{alone[1]:>9.2f}{alone[2]:>9.2f}"
        )
    print(
        "after so many answers; 1 = no better than guessing, 0 = known. Audit limit "
        f"{SETTINGS.audit:.0%}, budget {BUDGET}, noise {SETTINGS.noise:g}, {PEOPLE:,} people"
    )


def _errors(
    attack: Callable[[np.random.Generator, int, int], Iterator[Set]], *, audit: bool
) -> tuple[float, float, float]:
    """Answers given out, and the error of both estimates, over many populations and draws of noise."""
    rng = np.random.default_rng(7)
    given_out, wrong, guessed = 0, np.zeros(2), np.zeros(2)
    for target in range(TARGETS):
        sets = played(attack(rng, PEOPLE, target), audit=WhoAudit(variance_ratio(SETTINGS)) if audit else None)
        given_out += len(sets)
        matrix = np.zeros((len(sets), PEOPLE))
        for place, one in enumerate(sets):
            matrix[place, one] = 1
        overlaps, hit, sizes = matrix @ matrix.T, matrix[:, target], matrix.sum(axis=1)
        cells = [_cell(one, number) for number, one in enumerate(sets)]
        for draw in range(DRAWS):
            world, noise = Population.of(rng, PEOPLE), StickyNoise(b"%d %d" % (target, draw), SETTINGS)
            for place, (moment, values, middle) in enumerate(((SUM, world.income, 75_000.0), (ILL, world.ill, 0.0))):
                centred = values - middle
                answers = matrix @ centred + [noise.of(moment, cell) for cell in cells]
                mean, variance = float(centred.mean()), float(centred.var())
                spread = moment.deviation(SETTINGS) ** 2
                found = estimate(overlaps, hit, sizes, answers, mean, variance, spread)
                wrong[place] += (found - centred[target]) ** 2
                guessed[place] += (mean - centred[target]) ** 2
    relative = np.sqrt(wrong / guessed)
    return given_out / TARGETS, float(relative[0]), float(relative[1])


def _cell(people: Set, number: int) -> StatisticCell:
    return StatisticCell((), "", len(people), f"{number}", ())


def tables(groups: NDArray[np.int64], columns: int = 3) -> Iterator[NDArray[np.int64]]:
    """The cell of each person, for all tables of up to so many columns."""
    for number in range(1, columns + 1):
        for chosen in itertools.combinations(range(len(groups)), number):
            code = np.zeros(groups.shape[1], dtype=np.int64)
            for column in chosen:
                code = code * CARDS[column] + groups[column]
            yield code


def honest() -> None:
    """Error of means and counts by the size of the group, over all tables of up to three of six columns."""
    rng = np.random.default_rng(7)
    noise = StickyNoise(b"honest", SETTINGS)
    sizes = {"10-49": (10, 50), "50-199": (50, 200), "200+": (200, 10**9)}
    found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in sizes}
    for _ in range(3):
        world, cells = Population.of(rng, PEOPLE), 0
        audit = WhoAudit(variance_ratio(SETTINGS))
        for code in tables(world.groups):
            asked = [np.flatnonzero(code == value) for value in np.unique(code)]
            asked = [people for people in asked if len(people) >= SETTINGS.smallest]
            audit = audit.asked([AskedSet(people.astype(np.uint64)) for people in asked])
            for people in asked:
                cells += 1
                cell = replace(_cell(people, 0), who=f"{cells}")
                sums, count = (world.income[people] - 75_000).sum() + noise.of(SUM, cell), len(people)
                mean = world.income[people].mean()
                counted = count + noise.of(ILL, cell)
                for name, (low, high) in sizes.items():
                    if low <= count < high:
                        found[name].append((sums / count + 75_000 - mean, mean, counted / count - 1))
    print(f"{'group':10}{'mean':>9}{'count':>9}")
    for name, errors in found.items():
        off = np.array(errors)
        print(
            f"{name:10}{np.sqrt(np.mean((off[:, 0] / off[:, 1]) ** 2)):>9.1%}{np.sqrt(np.mean(off[:, 2] ** 2)):>9.1%}"
        )
    print(f"{cells} cells; they reduce the uncertainty about nobody by more than {audit.reduction:.1%}")


def audit() -> None:
    """CPU time of one more question, as a ratio to sorting the keys of the people once."""
    rng = np.random.default_rng(7)
    print(f"{'':44}{'CPU s':>9}{'ratio':>9}")
    for people, before in ((1_000, 40), (1_000_000, 6)):
        world = Population.of(rng, people)
        keys = rng.permutation(np.arange(people, dtype=np.uint64) * np.uint64(11400714819323198485))
        history = WhoAudit(variance_ratio(SETTINGS))
        codes = list(itertools.islice(tables(world.groups), before + 1))
        for code in codes[:before]:
            history = history.asked([AskedSet(keys[code == value]) for value in np.unique(code)])
        assert history.reduction >= 0
        last = [keys[codes[before] == value] for value in np.unique(codes[before])]

        def decide(history: WhoAudit = history, last: list[NDArray[np.uint64]] = last) -> bool:
            return history.asked([AskedSet(one) for one in last]).within(SETTINGS.audit)

        floor = best_of(lambda keys=keys: np.sort(keys), 5).cpu  # type: ignore[misc]
        took = best_of(decide, 3).cpu
        print(f"{f'{people:,} people, {len(history.names)} cells before':44}{took:>9.3f}{took / floor:>9.1f}")
        print(f"{'  stored, without the keys: MB':44}{len(history.to_bytes()) / 1e6:>9.2f}")
    everything = WhoAudit(variance_ratio(SETTINGS))
    for code in tables(world.groups):
        everything = everything.asked([AskedSet(keys[code == value]) for value in np.unique(code)])
    print(
        f"all {len(everything.names):,} cells of {people:,} people: {everything.reduction:.2%} about anybody, at most"
    )


PARTS = {"attacks": attacks, "honest": honest, "audit": audit}


def main(names: Sequence[str] | None = None) -> None:
    """Run the named parts, or all."""
    run_parts(PARTS, names)


if __name__ == "__main__":
    main(sys.argv[1:])
