"""The lab in an address: every parameter stands there, so that what somebody sees can be passed on."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import numpy as np

from discreet.attacker import Attack, Attacked
from discreet.attacker.bellman import PlanTable
from discreet.attacker.population import Targets
from discreet.errors import UsageError
from discreet.web.lab.controls import CONTROLS, Choice, Control, shown

NUMBER = re.compile(r"[0-9]{1,12}(\.[0-9]{0,12})?([eE][+-]?[0-9]{1,2})?", re.ASCII)
LONGEST = 40
ENDLESS, STEPWISE = 100_000, 2**11
"""People in a group up to which somebody who never gives up is followed; the same where he must go step by step."""
STRANGER = "address"
"""Under this name stands what is wrong with the address as a whole."""


def against(attack: Attack, targets: Targets) -> Attacked:
    """What he does to people who are counted already; refused where it would take long to say."""
    crowd = max(int(targets.groups.max(initial=0)), targets.external_size * float(targets.densities.max(initial=0.0)))
    most = ENDLESS if attack.risks_the_same_at_every_exploit else STEPWISE
    if crowd > most and _starts(attack, most):
        raise UsageError(
            f"This adversary hardly ever gives up, and groups of more than {most:,} people take long to plan through.",
            remedy="Give an attempt a cost.",
        )
    return targets.attacked(attack)


def _starts(attack: Attack, size: int) -> bool:
    """Whether he begins in a group of this size, once the list is paid and linked; and so in every smaller one."""
    return bool(attack.horizon.near.start[-1] > 0 and PlanTable.of(attack, np.array([size])).start[0] > 0)


@dataclass(frozen=True)
class Query:
    """What was asked: texts as they were typed, and what is wrong with them."""

    texts: Mapping[str, str]
    """Every control, by name."""
    numbers: Mapping[str, float]
    """Those that can be read."""
    wrong: Mapping[str, str]
    """What is wrong, by name."""
    dataset: int | None = None

    @property
    def attack(self) -> Attack:
        """The adversary; only if nothing is wrong."""
        often = self.texts["max_penalties"]
        given = self.numbers
        return Attack(
            prior=given["prior"] / 100,
            gain=given["gain"],
            access_cost=given["access_cost"],
            link_cost=given["link_cost"],
            exploit_cost=given["exploit_cost"],
            penalty=given["penalty"],
            max_penalties=_often(often, given["penalty"]),
            detection_intercept=-math.log(given["detected"] - 1),
            detection_slope=math.log1p(given["rising"] / 100),
            discount=given["discount"],
        )

    @property
    def size(self) -> int:
        """The smallest group."""
        return int(self.numbers["k"])

    def address(self, path: str = "/lab", **changes: str) -> str:
        """Where the lab is like this, but for some changes; what is as always is left out."""
        kept = {name: text for name, text in {**self.texts, **changes}.items() if text != CONTROLS[name].standard}
        of = {"dataset": str(self.dataset)} if self.dataset is not None else {}
        return f"{path}?{urlencode({**of, **kept})}" if of or kept else path


def _often(text: str, penalty: float) -> int | None:
    """How often he pays; who pays nothing need not count how often."""
    if not penalty:
        return 0
    return None if text == "unlimited" else int(text)


def read(pairs: Sequence[tuple[str, str]]) -> Query:
    """From the names and values of an address. Nothing in it is ever an error: it is said what is wrong."""
    found: dict[str, str] = {name: control.standard for name, control in CONTROLS.items()}
    wrong: dict[str, str] = {}
    dataset: int | None = None
    seen: set[str] = set()
    for name, text in pairs:
        if name not in CONTROLS and name != "dataset":
            wrong[STRANGER] = "There is something in this address that the lab does not know."
        elif name in seen:
            wrong[name] = "This was given more than once."
        elif name == "dataset":
            dataset = _dataset(text, wrong)
        else:
            found[name] = text.strip()[:LONGEST]
        seen.add(name)
    numbers = _numbers(found, wrong)
    return Query(found, numbers, wrong, dataset)


def _dataset(text: str, wrong: dict[str, str]) -> int | None:
    if not text:
        return None
    if text.isascii() and text.isdigit() and len(text) <= 18:
        return int(text)
    wrong["dataset"] = "There is no such data set."
    return None


def _numbers(texts: Mapping[str, str], wrong: dict[str, str]) -> dict[str, float]:
    numbers: dict[str, float] = {}
    for name, control in CONTROLS.items():
        text = texts[name]
        if isinstance(control, Choice):
            if text not in dict(control.options):
                wrong.setdefault(name, f"Choose one of: {', '.join(words for _, words in control.options)}.")
        elif (number := _number(text, control)) is None:
            wrong.setdefault(name, f"Give {control.range}, such as {control.standard}.")
        else:
            numbers[name] = number
    return numbers


def _number(text: str, control: Control) -> float | None:
    if not NUMBER.fullmatch(text):
        return None
    number = float(text)
    inside = control.least <= number <= control.most and (not control.whole or number == int(number))
    return number if inside else None


def parameters(attack: Attack) -> dict[str, Any]:
    """The adversary as a file of `discreet attack` has him."""
    names = ("prior", "gain", "access_cost", "link_cost", "exploit_cost", "penalty")
    often = "unlimited" if attack.max_penalties is None else attack.max_penalties
    numbers = {name: _plain(getattr(attack, name)) for name in names}
    detection = {name: round(getattr(attack, name), 6) + 0.0 for name in ("detection_intercept", "detection_slope")}
    return {**numbers, "max_penalties": often, **detection, "discount": _plain(attack.discount)}


def _plain(number: float) -> float | int:
    return int(number) if number == int(number) else float(shown(number))


def toml(attack: Attack) -> str:
    """The file.

    >>> from discreet.attacker.case_study import HIS
    >>> print(toml(HIS).splitlines()[0], toml(HIS).splitlines()[7])
    [attack] max_penalties = "unlimited"
    """
    lines = [
        f"{name} = {value}" if not isinstance(value, str) else f'{name} = "{value}"'
        for name, value in parameters(attack).items()
    ]
    return "\n".join(["[attack]", *lines]) + "\n"
