"""The planning adversary: the runtime experiment of Xia et al. 2015, and quantecon: python -m benchmarks.attacker

5,000 records against lists of 5,000, 50,000 and 500,000 people, each record with a density of its own, by the table
and by both linear programmes; then 32,561 records against 6,018,999 people. The slow ones solve a few records and
are scaled up; what they share between records is counted once. Targets: the table within 10 ms at every size, and
1,000 times less CPU than the two-level programme.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "src"))  # the peers' interpreter does not have the package installed

from benchmarks.measure import Cost, alone, best_of, report  # noqa: E402
from discreet.attacker import Attack  # noqa: E402
from discreet.reference.process import Process  # noqa: E402

PEERS = ROOT / ".peers" / "bin" / "python"
ADVERSARY = Attack(prior=0.63, gain=8000, access_cost=100, link_cost=0, exploit_cost=10, penalty=10000, max_penalties=1)
RECORDS, LISTS = 5_000, (5_000, 50_000, 500_000)
CASE_RECORDS, CASE_LIST = 32_561, 6_018_999
SAMPLE = {"lp": 1, "two_level_lp": 25, "quantecon": 2}
WIDEST = 64
"""Group sizes that the slow solvers look at; from 54 on nobody starts."""


def targets(records: int, people: int) -> tuple[Any, Any]:
    """Densities and group sizes as a registry has them: many rare kinds of people, a few frequent ones."""
    draw = np.random.default_rng(1)
    density = np.minimum(draw.lognormal(2.5, 1.2, records) / people, 1.0)
    return density, draw.binomial(people, density)


def belief(density: float, people: int) -> dict[int, float]:
    """The binomial belief, cut where nobody starts; what is left out goes to the first such size."""
    chances, chance = {}, (1 - density) ** people
    for size in range(min(WIDEST, people) + 1):
        chances[size] = chance
        chance *= (people - size) / (size + 1) * density / (1 - density)
    chances[max(chances)] += max(0.0, 1 - sum(chances.values()))
    return {size: share for size, share in chances.items() if share > 1e-15}


def table(records: int, people: int) -> Cost:
    """All records at once; the adversary is made anew each time, so that nothing is remembered."""
    density, sizes = targets(records, people)
    fresh = [Attack(**asdict(ADVERSARY)) for _ in range(25)]
    return best_of(lambda: float(fresh.pop().unknown(density, people, sizes).value.sum()), times=25)


def programme(name: str, people: int) -> Cost:
    """One of the linear programmes on a few records, scaled to all."""
    from discreet.reference.process import TwoLevels, lp

    density, _ = targets(RECORDS, people)
    beliefs = [belief(share, people) for share in density[: SAMPLE[name]].tolist()]
    if name == "lp":
        return scaled(best_of(lambda: sum(lp(ADVERSARY, one) for one in beliefs), times=1), RECORDS / len(beliefs))
    solver = TwoLevels(ADVERSARY)
    shared = best_of(lambda: solver.value(dict.fromkeys(range(WIDEST), 1 / WIDEST)), times=1)
    each = scaled(best_of(lambda: sum(map(solver.value, beliefs)), times=2), RECORDS / len(beliefs))
    return Cost(shared.cpu + each.cpu, shared.wall + each.wall, each.peak_mb, each.answer)


def peer(people: int) -> Cost:
    """quantecon's policy iteration on the whole reachable process; building it is not counted."""
    from quantecon.markov import DiscreteDP

    density, _ = targets(RECORDS, people)
    programmes = [decision_problem(DiscreteDP, belief(share, people)) for share in density[: SAMPLE["quantecon"]]]
    programmes[0].solve(method="policy_iteration")  # compiles
    solve: Callable[[], object] = lambda: sum(float(one.solve(method="policy_iteration").v[0]) for one in programmes)  # noqa: E731
    return scaled(best_of(solve, times=3), RECORDS / len(programmes))


def decision_problem(kind: Any, chances: Mapping[int, float]) -> Any:
    """The process of one record as state-action pairs; the end is a state of its own."""
    from scipy import sparse

    process = Process(ADVERSARY, dict(chances))
    states = [state for state in process.states if not state.terminated]
    place = {state: number for number, state in enumerate(states)}
    over, actions = len(states), ("terminate", "access", "link", "exploit")
    rewards, here, done, rows, columns, odds = [], [], [], [], [], []
    for state in states:
        for action in process.actions(state):
            rewards.append(process.reward(state, action))
            here.append(place[state])
            done.append(actions.index(action))
            for chance, after in process.transitions(state, action):
                rows.append(len(rewards) - 1)
                columns.append(place.get(after, over))
                odds.append(chance)
    rewards.append(0.0), here.append(over), done.append(0)
    rows.append(len(rewards) - 1), columns.append(over), odds.append(1.0)
    moves = sparse.csr_matrix((odds, (rows, columns)), shape=(len(rewards), over + 1))
    return kind(np.array(rewards), moves, ADVERSARY.discount, np.array(here), np.array(done))


def scaled(cost: Cost, factor: float) -> Cost:
    """As if all records had been solved like these."""
    return Cost(cost.cpu * factor, cost.wall * factor, cost.peak_mb, cost.answer)


def main() -> None:
    """All sizes, and the case study."""
    print(
        f"{'5,000 records; list of':>24}{'table ms':>10}{'two-level LP s':>16}{'LP s':>10}{'quantecon s':>13}{'two-level / table':>19}"
    )
    for people in LISTS:
        ours = alone("benchmarks.attacker", "table", str(RECORDS), str(people))
        two, whole = (alone("benchmarks.attacker", name, str(people)) for name in ("two_level_lp", "lp"))
        other = (
            f"{alone('benchmarks.attacker', 'peer', str(people), python=str(PEERS)).cpu:,.0f}"
            if PEERS.exists()
            else "-"
        )
        print(
            f"{people:>24,}{ours.cpu * 1e3:>10.1f}{two.cpu:>16,.1f}{whole.cpu:>10,.0f}{other:>13}{two.cpu / ours.cpu:>18,.0f}x"
        )
    case = alone("benchmarks.attacker", "table", str(CASE_RECORDS), str(CASE_LIST))
    print(f"\n{CASE_RECORDS:,} records against {CASE_LIST:,} people: {case.cpu * 1e3:.1f} ms (target: 10)")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["table", records, people]:
            report(table(int(records), int(people)))
        case ["peer", people]:
            report(peer(int(people)))
        case [name, people]:
            report(programme(name, int(people)))
        case _:
            main()
