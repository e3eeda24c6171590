"""FMDP of the attack written out literally, and solvers that must agree.

Each gives V0, what the attack is worth to the adversary before anything is spent. The linear programmes are the
paper's (minimise the sum of values such that no action is worth more than its state), solved by HiGHS (extra `lp`);
the two-level one solves a small programme per group size and plugs its value into a top programme.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from discreet.attacker.attack import Attack
from discreet.attacker.parameters import Parameters
from discreet.errors import MissingExtra

# The attack as a factored Markov decision process, written out literally: states, actions, rewards, transitions.
#
# The table of `discreet.attacker.bellman` is a reduction of this. Here nothing is reduced, so that the reduction can be
# checked, and so that solvers for decision processes in general can be set to work on it.
TERMINATE, ACCESS, LINK, EXPLOIT = "terminate", "access", "link", "exploit"


class State(NamedTuple):
    """State of the attack: the eight variables of the paper."""

    terminated: bool = False
    detected: bool = False
    penalties: int = 0
    success: bool = False
    accessed: bool = False
    linked: bool = False
    group: int = 0
    remaining: int = 0


@dataclass(frozen=True, eq=False)
class Process:
    """The decision process of one target, with the adversary's belief about the size of its group."""

    parameters: Parameters
    belief: Mapping[int, float]

    @property
    def start(self) -> State:
        """Nothing is bought, nothing is tried."""
        return State()

    def actions(self, state: State) -> tuple[str, ...]:
        """The actions that are possible in a state."""
        if state.terminated:
            return ()
        possible = [TERMINATE]
        if not state.accessed:
            possible.append(ACCESS)
        elif not state.linked:
            possible.append(LINK)
        elif not state.success and state.remaining:
            possible.append(EXPLOIT)
        return tuple(possible)

    def reward(self, state: State, action: str) -> float:
        """The gain and the penalty of the step before, less the cost of this one."""
        p = self.parameters
        cost = {TERMINATE: 0.0, ACCESS: p.access_cost, LINK: p.link_cost, EXPLOIT: p.exploit_cost}[action]
        if state.terminated:
            return -cost
        return p.gain * state.success - p.penalty * self._charged(state) - cost

    def transitions(self, state: State, action: str) -> Iterator[tuple[float, State]]:
        """Where an action leads, and with what probability; one model per action."""
        ended = state.terminated or state.success or (state.linked and state.remaining == 0)
        after = replace_state(
            state,
            terminated=action == TERMINATE or ended,
            penalties=state.penalties + (self._charged(state) and self.parameters.max_penalties is not None),
            detected=False,
        )
        match action:
            case "access":
                for size, chance in self.belief.items():
                    if chance > 0:
                        yield chance, replace_state(after, accessed=True, group=size, remaining=size)
            case "link":
                yield 1.0, replace_state(after, linked=True)
            case "exploit":
                tried = state.group - state.remaining
                right = 1 / (state.group / self.parameters.prior - tried)
                caught = float(self.parameters.detection(np.array(tried)))
                for success, chance in ((True, right), (False, 1 - right)):
                    for detected, odds in ((True, caught), (False, 1 - caught)):
                        if chance * odds > 0:
                            left = state.remaining - 1
                            yield (
                                chance * odds,
                                replace_state(after, success=success, detected=detected, remaining=left),
                            )
            case _:
                yield 1.0, after

    def _charged(self, state: State) -> bool:
        most = self.parameters.max_penalties
        return state.detected and not state.terminated and (most is None or state.penalties < most)

    @cached_property
    def states(self) -> tuple[State, ...]:
        """Every state that can be reached, in order of discovery."""
        return self.reachable(self.start)

    def reachable(self, start: State) -> tuple[State, ...]:
        """Every state that can be reached from one, itself included."""
        reached, waiting = {start: None}, [start]
        while waiting:
            state = waiting.pop()
            for action in self.actions(state):
                for _, after in self.transitions(state, action):
                    if after not in reached:
                        reached[after] = None
                        waiting.append(after)
        return tuple(reached)

    def known(self, size: int) -> Process:
        """The process of the target with its size known."""
        return replace(self, belief={size: 1.0})


def replace_state(state: State, **changes: object) -> State:
    """A state with some of its variables changed."""
    return state._replace(**changes)  # type: ignore[arg-type]


SMALLEST = 1e-12
"""HiGHS drops matrix entries below 1e-9 by default; the tail of a binomial has smaller ones."""

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
    """A linear programme per group size, from the link on, for all targets; one on top per target."""

    attack: Attack
    settled: dict[int, float] = field(default_factory=dict)
    """What a group is worth once the tables are linked."""

    def value(self, belief: Belief) -> float:
        """What the attack on one target is worth."""
        process = Process(self.attack, belief)
        below = {}
        for size in sorted(belief):
            linked = State(accessed=True, linked=True, group=size, remaining=size)
            if size not in self.settled:
                # Larger groups never pay more (V_start does not grow), so one that does not pay prunes the rest.
                hopeless = any(worth <= 0 and other for other, worth in self.settled.items() if other < size)
                cluster = Process(self.attack, {})
                self.settled[size] = (
                    0.0 if hopeless or not size else _solve(cluster, cluster.reachable(linked), {})[linked]
                )
            below[linked] = self.settled[size]
        top = [process.start, *(State(accessed=True, group=size, remaining=size) for size in belief)]
        return _solve(process, top, below)[process.start]


def two_level_lp(attack: Attack, belief: Belief) -> float:
    """The paper's algorithm: a linear programme per group size, and one on top."""
    return TwoLevels(attack).value(belief)


SOLVERS: dict[str, Callable[[Attack, Belief], float]] = {"table": table, "two_level_lp": two_level_lp, "lp": lp}


def _solve(process: Process, states: Sequence[State], settled: Mapping[State, float]) -> dict[State, float]:
    """Minimise the sum of V subject to V(x) - gamma sum P V(x') >= R(x, a); settled states are constants."""
    try:
        highspy: Any = importlib.import_module("highspy")
    except ImportError:
        raise MissingExtra("lp", needed_for="Solving by linear programmes") from None
    states = [state for state in states if not state.terminated]
    place = {state: number for number, state in enumerate(states)}
    model = highspy.Highs()
    for option, value in (
        ("output_flag", False),
        ("small_matrix_value", SMALLEST),
        ("primal_feasibility_tolerance", 1e-10),
        ("dual_feasibility_tolerance", 1e-10),
    ):
        model.setOptionValue(option, value)
    # A penalty that is due makes a state worth less than nothing.
    model.addVars(len(states), np.full(len(states), -STAKE), np.full(len(states), highspy.kHighsInf))
    model.changeColsCost(len(states), np.arange(len(states), dtype=np.int32), np.ones(len(states)))
    for state in states:
        for action in process.actions(state):
            steps = [(chance, after) for chance, after in process.transitions(state, action) if not after.terminated]
            if action != LINK and any(after not in place and after not in settled for _, after in steps):
                continue  # it leaves the states that are looked at
            entries, bound = {place[state]: 1.0}, process.reward(state, action)
            for chance, after in steps:
                weight = process.parameters.discount * chance
                if after in settled:
                    bound += weight * settled[after]
                else:
                    entries[place[after]] = entries.get(place[after], 0.0) - weight
            columns = np.array(list(entries), dtype=np.int32)
            model.addRow(bound, highspy.kHighsInf, len(entries), columns, np.array(list(entries.values())))
    model.run()
    return dict(zip(states, model.getSolution().col_value, strict=True))
