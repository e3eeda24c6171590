"""Three ways to the value of an attack, which must agree: the table, one linear programme, two levels of them.

Each gives V0, what the attack is worth to the adversary before he has spent anything. The linear programmes are the
paper's (minimise the sum of values such that no action is worth more than its state), solved by HiGHS (extra `lp`);
the two-level one solves a small programme per group size and plugs its value into a top programme.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.attacker.attack import Attack
from discreet.attacker.process import LINK, Process, State
from discreet.errors import MissingExtra

SMALLEST = 1e-12
"""HiGHS drops matrix entries below 1e-9 unless told otherwise; the tail of a binomial has smaller ones."""

STAKE = 1e15
"""No state is worth less than minus this."""

Belief = Mapping[int, float]


def table(attack: Attack, belief: Belief) -> float:
    """The reduced recursion."""
    sizes = np.array(sorted(belief), dtype=np.int64)
    chances = np.array([belief[int(size)] for size in sizes])
    access = attack.known(sizes).access_value
    return max(0.0, -attack.access_cost + attack.discount * float(chances @ access))


def lp(attack: Attack, belief: Belief) -> float:
    """The whole reachable state space as one linear programme."""
    process = Process(attack, belief)
    values = _solve(process, process.states, {})
    return values[process.start]


@dataclass(frozen=True, eq=False)
class TwoLevels:
    """A linear programme per group size, from the link on, kept for the next target; and one on top per target."""

    attack: Attack
    settled: dict[int, float] = field(default_factory=dict)
    """What a group is worth once the tables are linked."""

    def value(self, belief: Belief) -> float:
        """What the attack on one target is worth."""
        process = Process(self.attack, belief)
        below = {_linked(size): self._worth(size) for size in sorted(belief)}
        top = [process.start, *(State(accessed=True, group=size, remaining=size) for size in belief)]
        return _solve(process, top, below)[process.start]

    def _worth(self, size: int) -> float:
        if size not in self.settled:
            # Larger groups never pay more (V_start does not grow), so one that does not pay prunes the rest.
            hopeless = any(worth <= 0 and other for other, worth in self.settled.items() if other < size)
            self.settled[size] = 0.0 if hopeless or not size else _cluster(Process(self.attack, {}), _linked(size))
        return self.settled[size]


def two_level_lp(attack: Attack, belief: Belief) -> float:
    """The paper's algorithm: a linear programme per group size, and one on top."""
    return TwoLevels(attack).value(belief)


SOLVERS: dict[str, Callable[[Attack, Belief], float]] = {"table": table, "two_level_lp": two_level_lp, "lp": lp}


def _linked(size: int) -> State:
    return State(accessed=True, linked=True, group=size, remaining=size)


def _cluster(process: Process, entry: State) -> float:
    return _solve(process, process.reachable(entry), {})[entry]


def _solve(process: Process, states: Sequence[State], settled: Mapping[State, float]) -> dict[State, float]:
    """Minimise the sum of V subject to V(x) - gamma sum P V(x') >= R(x, a); settled states are constants."""
    states = [state for state in states if not state.terminated]
    place = {state: number for number, state in enumerate(states)}
    rows: list[tuple[dict[int, float], float]] = []
    for state in states:
        for action in process.actions(state):
            if action == LINK or not _leaves_scope(process, state, action, place, settled):
                rows.append(_row(process, state, action, place, settled))
    return dict(zip(states, _minimise(len(states), rows), strict=True))


def _leaves_scope(
    process: Process, state: State, action: str, place: Mapping[State, int], settled: Mapping[State, float]
) -> bool:
    return any(
        not after.terminated and after not in place and after not in settled
        for _, after in process.transitions(state, action)
    )


def _row(
    process: Process, state: State, action: str, place: Mapping[State, int], settled: Mapping[State, float]
) -> tuple[dict[int, float], float]:
    entries, bound = {place[state]: 1.0}, process.reward(state, action)
    for chance, after in process.transitions(state, action):
        weight = process.parameters.discount * chance
        if after in settled:
            bound += weight * settled[after]
        elif not after.terminated:
            entries[place[after]] = entries.get(place[after], 0.0) - weight
    return entries, bound


def _minimise(columns: int, rows: Sequence[tuple[dict[int, float], float]]) -> list[float]:
    highspy = _highs()
    model = highspy.Highs()
    for option, value in (
        ("output_flag", False),
        ("small_matrix_value", SMALLEST),
        ("primal_feasibility_tolerance", 1e-10),
        ("dual_feasibility_tolerance", 1e-10),
    ):
        model.setOptionValue(option, value)
    # A penalty that is due makes a state worth less than nothing.
    model.addVars(columns, np.full(columns, -STAKE), np.full(columns, highspy.kHighsInf))
    model.changeColsCost(columns, np.arange(columns, dtype=np.int32), np.ones(columns))
    for entries, bound in rows:
        model.addRow(
            bound,
            highspy.kHighsInf,
            len(entries),
            np.array(list(entries), dtype=np.int32),
            np.array(list(entries.values())),
        )
    model.run()
    return list(model.getSolution().col_value)


def _highs() -> Any:
    try:
        import highspy
    except ImportError:
        raise MissingExtra("lp", needed_for="Solving by linear programmes") from None
    return highspy
