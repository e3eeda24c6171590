"""What can be changed in the lab: each parameter with its words, its range, and where its slider stops."""

from __future__ import annotations

from dataclasses import dataclass

DEAREST = 1e9
"""The largest amount that can be typed."""
AMOUNTS = (
    *(0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100, 120, 150, 200, 250, 300, 400, 500, 600, 800),
    *(1_000, 1_200, 1_500, 2_000, 2_500, 3_000, 4_000, 5_000, 6_000, 8_000, 10_000, 12_000, 15_000, 20_000, 25_000),
    *(30_000, 40_000, 50_000, 60_000, 80_000, 100_000, 120_000, 150_000, 200_000, 250_000, 300_000, 400_000, 500_000),
    *(600_000, 800_000, 1_000_000),
)
"""Where a slider for money stops: near each other where amounts are small."""
ODDS = (1.01, 1.1, 1.2, 1.5, *(float(amount) for amount in AMOUNTS if 2 <= amount <= 100_000))


@dataclass(frozen=True)
class Control:
    """One number."""

    name: str
    label: str
    hint: str
    standard: str
    """What it is unless somebody changes it; the numbers of the published case study."""
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
class Choice:
    """One of a few."""

    name: str
    label: str
    hint: str
    standard: str
    options: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Topic:
    """Controls that belong together."""

    title: str
    controls: tuple[Control | Choice, ...]


def shown(number: float) -> str:
    """A number as it is typed.

    >>> shown(8000.0), shown(0.95), shown(1e9), shown(16442.317)
    ('8000', '0.95', '1000000000', '16442.317')
    """
    return f"{number:.6f}".rstrip("0").rstrip(".")


def _amount(name: str, label: str, hint: str, standard: str) -> Control:
    return Control(name, label, hint, standard, 0, DEAREST, AMOUNTS)


OFTEN = Choice(
    "max_penalties",
    "How often he can be fined",
    "Some are fined once and then left alone.",
    "unlimited",
    (
        ("unlimited", "each time he is detected"),
        ("1", "once"),
        ("2", "twice"),
        ("3", "three times"),
        ("5", "five times"),
        ("0", "never"),
    ),
)

TOPICS = (
    Topic("What he can win", (_amount("gain", "Gain", "What a re-identification brings him.", "8000"),)),
    Topic(
        "What he pays",
        (
            _amount("access_cost", "Price of the list", "The list of named people that he can buy.", "100"),
            _amount("link_cost", "Cost of linking", "Bringing the list and your data together.", "0"),
            _amount("exploit_cost", "Cost of an attempt", "Trying one candidate after the other.", "10"),
        ),
    ),
    Topic(
        "What he risks",
        (
            _amount("penalty", "Fine", "What he pays when an attempt is detected.", "10000"),
            OFTEN,
            Control("detected", "Detected 1 time in", "His first attempt: 100 means 1 in 100.", "100", 1.01, 1e6, ODDS),
            Control(
                "rising",
                "Rising with each attempt, %",
                "By how much the odds of being detected grow each time.",
                "0",
                0,
                1000,
                (*range(11), 12, 15, 18, 20, 25, 30, 40, 50, 60, 80, 100),
            ),
        ),
    ),
    Topic(
        "What he reckons with",
        (
            Control(
                "prior",
                "In the list, %",
                "How likely the person he looks for is in the list at all.",
                "63",
                0.01,
                100,
                (1, 2, 5, *range(10, 61, 5), 63, *range(65, 100, 5), 98, 99, 100),
            ),
            Control(
                "discount",
                "Worth of a step later",
                "1: he has all the time in the world.",
                "0.9",
                0.01,
                1,
                (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.92, 0.94, 0.95, 0.96, 0.97, 0.98, 0.99, 1),
            ),
        ),
    ),
    Topic(
        "What you publish",
        (
            Control(
                "k",
                "Smallest group (k)",
                "As if at least so many people in the list looked like each target. 1: as the data are.",
                "1",
                1,
                1e6,
                (*range(1, 11), 12, 15, 20, 25, 30, 40, 50, 60, 80, 100, 120, 150, 200, 250, 300, 400, 500, 800, 1000),
                whole=True,
            ),
        ),
    ),
)
"""In the order of the page."""

CONTROLS: dict[str, Control | Choice] = {control.name: control for topic in TOPICS for control in topic.controls}

PRESETS: tuple[tuple[str, dict[str, str]], ...] = (
    ("Fined each time", {}),
    ("Fined once", {"max_penalties": "1"}),
    ("Detection rises", {"rising": "19.7217"}),
    ("Never fined", {"max_penalties": "0"}),
)
"""The settings of the published case study, and one without a fine."""
