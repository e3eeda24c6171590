"""Query of the lab: every control, its range, and its place in the address."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

import numpy as np

from discreet.attacker import Attack, Attacked
from discreet.attacker.bellman import PlanTable
from discreet.attacker.extensions import Extensions, extension_rows
from discreet.attacker.population import Targets
from discreet.attacker.purchases import External
from discreet.errors import UsageError

NUMBER = re.compile(r"[0-9]{1,12}(\.[0-9]{0,12})?([eE][+-]?[0-9]{1,2})?", re.ASCII)
PRICED = re.compile(rf"(?P<price>{NUMBER.pattern}):(?P<first>[0-9]{{1,4}})(-(?P<last>[0-9]{{1,4}}))?", re.ASCII)
LONGEST = 200
"""Characters of a setting that are read and shown again."""
ENDLESS, STEPWISE = 100_000, 2**11
"""Largest group through which an adversary who never gives up is followed; the same where that is done step by step."""
STRANGER = "address"
"""The name for what is wrong with the address as a whole."""


def against(attack: Attack, targets: Targets) -> Attacked:
    """The attack on counted people; refused where it would take long to compute."""
    refuse_endless(attack, targets)
    return targets.attacked(attack)


def refuse_endless(attack: Attack, targets: Targets) -> None:
    """Refuse an adversary who goes on through groups that take long to compute."""
    largest = max(int(targets.groups.max(initial=0)), targets.external_size * float(targets.densities.max(initial=0.0)))
    most = ENDLESS if attack.risks_the_same_at_every_exploit else STEPWISE
    # Does the adversary begin in a group of this size, once the list is paid and linked? Then in every smaller one as well.
    if largest > most and attack.horizon.near.start[-1] > 0 and PlanTable.of(attack, np.array([most])).start[0] > 0:
        raise UsageError(
            f"This adversary hardly ever gives up, and groups of more than {most:,} people take too long to compute.",
            remedy="Give an attempt a cost.",
        )


@dataclass(frozen=True)
class LabQuery:
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
        given, fines = self.numbers, self.texts["max_penalties"]
        limited = None if fines == "unlimited" else int(fines)
        names = ("gain", "access_cost", "link_cost", "exploit_cost", "penalty", "discount")
        return Attack(
            prior=given["prior"] / 100,
            max_penalties=limited if given["penalty"] else 0,
            detection_intercept=-math.log(given["detected"] - 1),
            detection_slope=math.log1p(given["rising"] / 100),
            **{name: given[name] for name in names},
        )

    @property
    def extensions(self) -> Extensions:
        """What is set beyond the paper's model."""
        given, gain = self.numbers, self.numbers["gain"]
        spread = given["unsure"] / 100
        return Extensions(
            shared=self.texts["shared"] == "yes",
            true_positive=given["recognised"] / 100,
            false_positive=given["mistaken"] / 100,
            belief=belief_in(self.texts["belief"]),
            uncertain={"gain": ("uniform", gain * (1 - spread), gain * (1 + spread))} if spread else {},
            lists=lists_in(self.texts["lists"]),
        )

    @property
    def beyond(self) -> list[tuple[str, str]]:
        """What extensions of the paper's model change for one target; nothing where none is set."""
        more = self.extensions
        if not (more.unconfirmed or more.uncertain or more.belief or more.lists):
            return []
        return extension_rows(more.of_group(self.attack, int(self.numbers["group"])))

    @property
    def size(self) -> int:
        """The smallest group."""
        return int(self.numbers["k"])

    def address(self, path: str = "/lab", **changes: str) -> str:
        """The lab with these settings but for some changes; standard values are left out."""
        changed = {name: text for name, text in {**self.texts, **changes}.items() if text != CONTROLS[name].standard}
        of = {"dataset": str(self.dataset)} if self.dataset is not None else {}
        return f"{path}?{urlencode({**of, **changed})}" if of or changed else path


def read(pairs: Sequence[tuple[str, str]]) -> LabQuery:
    """The query in an address; `wrong` says what is wrong, nothing raises an error."""
    texts: dict[str, str] = {name: control.standard for name, control in CONTROLS.items()}
    wrong: dict[str, str] = {}
    dataset: int | None = None
    seen: set[str] = set()
    for name, text in pairs:
        if name not in CONTROLS and name != "dataset":
            wrong[STRANGER] = "This address has a setting that the lab does not know."
        elif name in seen:
            wrong[name] = "This was given more than once."
        elif name != "dataset":
            texts[name] = text.strip()[:LONGEST]
        elif text.isascii() and text.isdigit() and len(text) <= 18:
            dataset = int(text)
        elif text:
            wrong[name] = "There is no such data set."
        seen.add(name)
    numbers: dict[str, float] = {}
    for name, control in CONTROLS.items():
        text = texts[name]
        if isinstance(control, ChoiceControl):
            if text not in dict(control.options):
                wrong.setdefault(name, f"Choose one of: {', '.join(words for _, words in control.options)}.")
            continue
        if isinstance(control, WrittenControl):
            try:
                control.read(text)
            except ValueError:
                wrong.setdefault(name, f"Give {control.range}, such as {control.example}.")
            continue
        number = float(text) if NUMBER.fullmatch(text) else math.nan
        if control.least <= number <= control.most and (not control.whole or number == int(number)):
            numbers[name] = number
        else:
            wrong.setdefault(name, f"Give {control.range}, such as {control.standard}.")
    if not {"lists", "group"} & set(wrong):
        last, group = max((end for _, _, end in _priced(texts["lists"])), default=0), int(numbers["group"])
        if last > group:
            wrong["lists"] = f"A list holds person {last:,}, but only {group:,} are alike."
    return LabQuery(texts, numbers, wrong, dataset)


def belief_in(text: str) -> tuple[float, ...]:
    """Probabilities of 0, 1, 2, ... people, as typed; ValueError where they are none.

    >>> belief_in("0, 0.5 0.5"), belief_in("")
    ((0.0, 0.5, 0.5), ())
    """
    words = _words(text)
    if not all(NUMBER.fullmatch(word) for word in words):
        raise ValueError
    chances = tuple(float(word) for word in words)
    if chances and not abs(math.fsum(chances) - 1) <= 1e-9:
        raise ValueError
    return chances


def lists_in(text: str) -> dict[str, External]:
    """Lists for sale, each a price and the people it holds, as typed; ValueError where they are none.

    >>> lists_in("1000:1-3 50:4")["list 1"].price, {name: [*one.members] for name, one in lists_in("1000:1-3 50:4").items()}
    (1000.0, {'list 1': [0, 1, 2], 'list 2': [3]})
    """
    return {
        f"list {number}": External(price, [*range(first - 1, last)])
        for number, (price, first, last) in enumerate(_priced(text), start=1)
    }


def _priced(text: str) -> list[tuple[float, int, int]]:
    """The price, the first and the last person of each list."""
    words = [PRICED.fullmatch(word) for word in _words(text)]
    found = [(float(word["price"]), int(word["first"]), int(word["last"] or word["first"])) for word in words if word]
    fits = all(price <= DEAREST and 1 <= first <= last for price, first, last in found)
    if len(found) < len(words) or len(words) > MOST_LISTS or not fits:
        raise ValueError
    return found


def _words(text: str) -> list[str]:
    if len(text) >= LONGEST:
        raise ValueError
    return [word for word in re.split(r"[\s,;]+", text) if word]


def toml(attack: Attack, more: Extensions | None = None) -> str:
    """The adversary as a file of `discreet attack`, with what is set beyond the paper's model.

    >>> from discreet.reference.case_study import HIS
    >>> print(toml(HIS).splitlines()[0], toml(HIS).splitlines()[7])
    [attack] max_penalties = "unlimited"
    """
    names = ("prior", "gain", "access_cost", "link_cost", "exploit_cost", "penalty")
    numbers = {name: _plain(getattr(attack, name)) for name in names}
    often = '"unlimited"' if attack.max_penalties is None else attack.max_penalties
    detection = {name: round(getattr(attack, name), 6) + 0.0 for name in ("detection_intercept", "detection_slope")}
    values = {**numbers, "max_penalties": often, **detection, "discount": _plain(attack.discount)}
    if more is not None:
        values |= {"shared": "true"} if more.shared else {}
        values |= (
            {"true_positive": more.true_positive, "false_positive": more.false_positive} if more.unconfirmed else {}
        )
        values |= {"belief": [*more.belief]} if more.belief else {}
    lines = ["[attack]", *(f"{name} = {value}" for name, value in values.items())]
    if more is not None and more.uncertain:
        drawn = (f'{name} = ["{kind}", {low}, {high}]' for name, (kind, low, high) in more.uncertain.items())
        lines += ["[attack.uncertain]", *drawn]
    for name, one in ({} if more is None else more.lists).items():
        lines += [f'[attack.lists."{name}"]', f"price = {_plain(one.price)}", f"members = {one.members}"]
    return "\n".join(lines) + "\n"


def _plain(number: float) -> float | int:
    return int(number) if number == int(number) else float(shown(number))


# Controls of the lab: each parameter with its words, its range, and the stops of its slider.
DEAREST, LARGEST_K, MOST_LISTS = 1e9, 1e6, 4
"""The largest amount, and the largest group, that can be typed."""
AMOUNTS = (
    *(0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100, 120, 150, 200, 250, 300, 400, 500, 600, 800),
    *(1_000, 1_200, 1_500, 2_000, 2_500, 3_000, 4_000, 5_000, 6_000, 8_000, 10_000, 12_000, 15_000, 20_000, 25_000),
    *(30_000, 40_000, 50_000, 60_000, 80_000, 100_000, 120_000, 150_000, 200_000, 250_000, 300_000, 400_000, 500_000),
    *(600_000, 800_000, 1_000_000),
)
"""Stops of a slider for money: close together where amounts are small."""
SHARES = (1, 2, 5, *range(10, 61, 5), 63, *range(65, 100, 5), 98, 99, 100)
MISTAKEN = (*range(11), 12, 15, 18, 20, 25, 30, 40, 50, 60, 80)
RISES = (*range(11), 12, 15, 18, 20, 25, 30, 40, 50, 60, 80, 100)
DISCOUNTS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.92, 0.94, 0.95, 0.96, 0.97, 0.98, 0.99, 1)
SIZES = (*range(1, 11), 12, 15, 20, 25, 30, 40, 50, 60, 80, 100, 120, 150, 200, 250, 300, 400, 500, 800, 1000)
ODDS = (1.01, 1.1, 1.2, 1.5, *(float(amount) for amount in AMOUNTS if 2 <= amount <= 100_000))


@dataclass(frozen=True)
class Control:
    """One number."""

    name: str
    label: str
    hint: str
    standard: str
    """Its value at first: that of the published case study."""
    least: float
    most: float
    stops: tuple[float, ...]
    whole: bool = False

    @property
    def range(self) -> str:
        """What may be typed."""
        what = "a whole number" if self.whole else "a number"
        return f"{what} from {shown(self.least)} to {self.most:,.0f}"

    @property
    def written_stops(self) -> str:
        """The stops as the page carries them."""
        return " ".join(shown(stop) for stop in self.stops)


@dataclass(frozen=True)
class ChoiceControl:
    """One of a few."""

    name: str
    label: str
    hint: str
    standard: str
    options: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class WrittenControl:
    """Several numbers in one field; nothing at first."""

    name: str
    label: str
    hint: str
    range: str
    example: str
    read: Callable[[str], object]
    standard: str = ""
    longest: int = LONGEST - 1


@dataclass(frozen=True)
class Topic:
    """Controls that belong together."""

    title: str
    controls: tuple[Control | ChoiceControl | WrittenControl, ...]


def shown(number: float) -> str:
    """A number as it is typed.

    >>> shown(8000.0), shown(0.95), shown(1e9), shown(16442.317)
    ('8000', '0.95', '1000000000', '16442.317')
    """
    return f"{number:.6f}".rstrip("0").rstrip(".")


def _amount(name: str, label: str, hint: str, standard: str) -> Control:
    return Control(name, label, hint, standard, 0, DEAREST, AMOUNTS)


OFTEN = ChoiceControl(
    "max_penalties",
    "Number of fines",
    "Some adversaries are fined once and not again.",
    "unlimited",
    (
        ("unlimited", "each detected attempt"),
        ("1", "once"),
        ("2", "twice"),
        ("3", "three times"),
        ("5", "five times"),
        ("0", "never"),
    ),
)

RISING = "By how much the odds of detection grow with each attempt."
LISTED = "How likely it is that the target is in the list at all."
ALIKE = "As if at least this many people in the list looked like each target. 1: the data as they are."
TOPICS = (
    Topic(
        "What the adversary can gain",
        (_amount("gain", "Gain", "What a re-identification is worth to the adversary.", "8000"),),
    ),
    Topic(
        "What the adversary pays",
        (
            _amount("access_cost", "Price of the list", "The list of named people that is for sale.", "100"),
            _amount("link_cost", "Cost of linking", "Linking the list to your data.", "0"),
            _amount("exploit_cost", "Cost of an attempt", "Trying one candidate.", "10"),
        ),
    ),
    Topic(
        "What the adversary risks",
        (
            _amount("penalty", "Fine", "The price of a detected attempt.", "10000"),
            OFTEN,
            Control("detected", "Detected 1 time in", "The first attempt: 100 means 1 in 100.", "100", 1.01, 1e6, ODDS),
            Control("rising", "Rising with each attempt, %", RISING, "0", 0, 1000, RISES),
        ),
    ),
    Topic(
        "What the adversary assumes",
        (
            Control("prior", "In the list, %", LISTED, "63", 0.01, 100, SHARES),
            Control(
                "discount", "Discount per step", "1: gains that come later count in full.", "0.9", 0.01, 1, DISCOUNTS
            ),
        ),
    ),
    Topic(
        "Beyond the paper, for one target",
        (
            Control(
                "group",
                "People alike",
                "The target and everybody who looks like them.",
                "12",
                1,
                1000,
                SIZES,
                whole=True,
            ),
            Control(
                "recognised",
                "Target recognised, %",
                "100: success is confirmed, as in the paper.",
                "100",
                0.1,
                100,
                SHARES,
            ),
            Control(
                "mistaken",
                "Others taken for them, %",
                "How often an attempt on another person seems right.",
                "0",
                0,
                80,
                MISTAKEN,
            ),
            Control(
                "unsure",
                "Uncertain by, %",
                "What they gain is anywhere between so much less and more.",
                "0",
                0,
                100,
                RISES,
            ),
            WrittenControl(
                "belief",
                "What they believe",
                "Chances that 0, 1, 2, ... people are alike: 0 0.5 0.5.",
                "the chances of 0, 1, 2, ... people, adding up to 1",
                "0 0.5 0.5",
                belief_in,
            ),
            WrittenControl(
                "lists",
                "Lists for sale",
                "Price and people alike in each: 100:1-6 50:5-12.",
                f"at most {MOST_LISTS} lists, each a price and the people alike that it holds, counted from 1",
                "100:1-6 50:5-12",
                lists_in,
            ),
        ),
    ),
    Topic(
        "Beyond the paper, for everybody",
        (
            ChoiceControl(
                "shared",
                "List bought",
                "The paper has one target; one purchase can serve all.",
                "no",
                (("no", "for one target"), ("yes", "once for everybody")),
            ),
        ),
    ),
    Topic("What you publish", (Control("k", "Smallest group (k)", ALIKE, "1", 1, LARGEST_K, SIZES, whole=True),)),
)
"""In the order of the page."""

CONTROLS = {control.name: control for topic in TOPICS for control in topic.controls}

PRESETS: tuple[tuple[str, dict[str, str]], ...] = (
    ("Fined each time", {}),
    ("Fined once", {"max_penalties": "1"}),
    ("Detection rises", {"rising": "19.7217"}),
    ("Never fined", {"max_penalties": "0"}),
)
"""The settings of the published case study, and one without a fine."""
