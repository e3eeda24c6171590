"""Whatever cannot be meant is refused in words, with what to do next."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import discreet
from discreet.attacker import Attack, External, lognormal, normal, uniform
from discreet.errors import UsageError
from discreet.kernel import Classes
from tests.attacker.strategies import PUBLISHED

attack = Attack(**PUBLISHED)
random = np.random.default_rng(1)
people = Classes.of(["sex"], [("F",), ("M",)], [3, 4])
anything: Any = None


def ones(_: Any, many: int) -> Any:
    return np.ones(many)


@pytest.mark.parametrize(
    "ask",
    {
        "parameters that are no mapping": lambda: Attack.from_dict([1]),  # type: ignore[arg-type]
        "ragged counts": lambda: attack.shared([1, 2], [[1], [1, 2]]),  # type: ignore[list-item]
        "a belief that is a number": lambda: attack.unknown(belief=5, sizes=[1]),  # type: ignore[arg-type]
        "a table that is none": lambda: attack.several(4, {"a": (1, [0])}),  # type: ignore[dict-item]
        "tables without names": lambda: attack.several(4, [External(1, [0])]),  # type: ignore[arg-type]
        "members that are letters": lambda: attack.several(4, {"a": External(1, "abc")}),  # type: ignore[arg-type]
        "half a member": lambda: attack.several(4, {"a": External(1, [0.5])}),  # type: ignore[list-item]
        "no members": lambda: attack.several(4, {"a": External(1, anything)}),
        "a member of far away": lambda: attack.several(4, {"a": External(1, [10**12])}),
        "a distribution that is a word": lambda: attack.uncertain(5, gain="x"),  # type: ignore[arg-type]
        "a distribution that is a number": lambda: attack.uncertain(5, gain=8000),  # type: ignore[arg-type]
        "amounts that are words": lambda: attack.uncertain(5, gain={"a": 1.0}),  # type: ignore[dict-item]
        "a function that says nothing": lambda: attack.uncertain(5, gain=lambda _: anything),
        "bounds that are words": lambda: uniform("a", "b"),  # type: ignore[arg-type]
        "a median that is a word": lambda: lognormal("a", 1),  # type: ignore[arg-type]
        "a mean that is a word": lambda: normal("a", 1),  # type: ignore[arg-type]
        "a limit that is a word": lambda: attack.uncertain(5, gain={1.0: 1.0}).exceeds("a"),  # type: ignore[arg-type]
        "a sampler that is a number": lambda: attack.simulated(5, random, 10, gain=8000),  # type: ignore[arg-type]
        "draws that are words": lambda: attack.simulated(5, random, 2, gain=lambda _, many: ["a"] * many),  # type: ignore[arg-type, return-value]
        "a seed in place of a generator": lambda: attack.simulated(5, 1, 10, gain=ones),  # type: ignore[arg-type]
        "a loss of nothing": lambda: attack.on(people, people, loss=anything),
        "losses in a list": lambda: attack.on(people, people, loss=[1]),  # type: ignore[arg-type]
        "an adversary that is a mapping": lambda: discreet.assess(people, attack=PUBLISHED),
        "people in a list": lambda: discreet.assess([("F",)], attack=attack),
        "counting in a list": lambda: discreet.count([("F",)]),
    }.items(),
    ids=lambda named: named[0],
)
def test_it_is_refused(ask: tuple[str, Callable[[], Any]]) -> None:
    with pytest.raises(UsageError) as caught:
        ask[1]()
    assert caught.value.remedy


def test_beliefs_can_be_any_table_of_numbers() -> None:
    import pandas as pd

    rows = np.array([[0.0, 0.5, 0.5], [1.0, 0.0, 0.0]])
    expected = attack.unknown(belief=rows, sizes=[1, 2]).value_raw.tolist()
    for belief in (pd.DataFrame(rows), rows.tolist(), iter(rows.tolist()), ({1: 0.5, 2: 0.5}, {0: 1.0})):
        assert attack.unknown(belief=belief, sizes=[1, 2]).value_raw.tolist() == expected  # type: ignore[arg-type]
