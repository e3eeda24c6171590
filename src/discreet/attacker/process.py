"""The attack as a factored Markov decision process, written out literally: states, actions, rewards, transitions.

The table of `discreet.attacker.bellman` is a reduction of this. Here nothing is reduced, so that the reduction can be
checked, and so that solvers for decision processes in general can be set to work on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from discreet.attacker.parameters import Parameters

TERMINATE, ACCESS, LINK, EXPLOIT = "terminate", "access", "link", "exploit"


class State(NamedTuple):
    """Where the attack stands: the eight variables of the paper."""

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
        """What he can do."""
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
        after = replace_state(
            state,
            terminated=action == TERMINATE or self._over(state),
            penalties=state.penalties + (self._charged(state) and self.parameters.max_penalties is not None),
            detected=False,
        )
        match action:
            case "access":
                yield from self._access(after)
            case "link":
                yield 1.0, replace_state(after, linked=True)
            case "exploit":
                yield from self._exploit(state, after)
            case _:
                yield 1.0, after

    def _access(self, after: State) -> Iterator[tuple[float, State]]:
        for size, chance in self.belief.items():
            if chance > 0:
                yield chance, replace_state(after, accessed=True, group=size, remaining=size)

    def _exploit(self, state: State, after: State) -> Iterator[tuple[float, State]]:
        tried = state.group - state.remaining
        right = 1 / (state.group / self.parameters.prior - tried)
        caught = float(self.parameters.detection(np.array(tried)))
        for success, chance in ((True, right), (False, 1 - right)):
            for detected, odds in ((True, caught), (False, 1 - caught)):
                if chance * odds > 0:
                    step = replace_state(after, success=success, detected=detected, remaining=state.remaining - 1)
                    yield chance * odds, step

    def _charged(self, state: State) -> bool:
        most = self.parameters.max_penalties
        return state.detected and not state.terminated and (most is None or state.penalties < most)

    @staticmethod
    def _over(state: State) -> bool:
        return state.terminated or state.success or (state.linked and state.remaining == 0)

    @cached_property
    def states(self) -> tuple[State, ...]:
        """Every state that can be reached, in order of discovery."""
        return self.reachable(self.start)

    def reachable(self, start: State) -> tuple[State, ...]:
        """Every state that can be reached from one, itself included."""
        found, waiting = {start: None}, [start]
        while waiting:
            state = waiting.pop()
            for action in self.actions(state):
                for _, after in self.transitions(state, action):
                    if after not in found:
                        found[after] = None
                        waiting.append(after)
        return tuple(found)

    def known(self, size: int) -> Process:
        """The same target with its size known."""
        return replace(self, belief={size: 1.0})


def replace_state(state: State, **changes: object) -> State:
    """A state with some of its variables changed."""
    return state._replace(**changes)  # type: ignore[arg-type]
