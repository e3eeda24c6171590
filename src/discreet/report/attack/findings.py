"""Findings of an attack: what the attacker does, and what would deter it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import cast

from discreet.attacker import Attack, Attacked
from discreet.attacker.population import Targets
from discreet.report.toolkit.page import Finding
from discreet.report.toolkit.words import about, agree, amount, lowered, one_in, part, people
from discreet.wording import measure, percent


# Amounts that are bounds: rounded so that the sentence stays true.
def at_least(number: float) -> str:
    """An amount from which something holds, rounded up to three digits.

    >>> at_least(16_442.3), at_least(3592.79), at_least(0.0), at_least(12.0)
    ('16,500', '3,600', '0', '12')
    """
    if number <= 0:
        return "0"
    unit = 10.0 ** (math.floor(math.log10(number)) - 2)
    up = math.ceil(number / unit - 1e-9) * unit
    return amount(float(f"{up:.12g}"))


def expected(number: float) -> str:
    """An expected number of people.

    >>> expected(384.9), expected(0.31), expected(0.0), expected(2.34)
    ('about 385', '0.31', 'nobody', '2.3')
    """
    if number < 1e-9:
        return "nobody"
    return about(number) if number >= 10 else f"{number:.2g}"


def stakes(case: Case) -> str:
    """Who he is, by what he gains and risks."""
    attack = case.attack
    risks = f"risks a fine of {amount(attack.penalty)}" if attack.penalty and _fined(case) else "risks no fine"
    return f"An adversary who can gain {amount(attack.gain)} and {risks}"


def _fined(case: Case) -> bool:
    return case.attack.max_penalties is None or case.attack.max_penalties > 0


def ways(case: Case, found: Deterrents) -> list[str]:
    """What deters him from everybody, each as a phrase."""
    attack, phrases = case.attack, []
    if found.penalty is not None and found.penalty > attack.penalty:
        phrases.append(f"a fine of {at_least(found.penalty)}")
    if found.price is not None and found.price > attack.access_cost:
        phrases.append(f"a list that costs {at_least(found.price)}")
    if found.size is not None and found.size > 1:
        phrases.append(f"groups of at least {found.size:,} people who look alike")
    return phrases


def either(phrases: list[str]) -> str:
    """One of several.

    >>> either(["a"]), either(["a", "b", "c"])
    ('a', 'a, or b, or c')
    """
    return ", or ".join(phrases)


# One table under attack, with what would deter the adversary: the facts that words and pictures share.
UNHEARD = 1e15
"""No amount from here on deters anybody: it cannot be paid."""


@dataclass(frozen=True)
class Deterrents:
    """The least amounts that deter the adversary from everybody; None where none does."""

    attack: Attack
    smallest: int
    """The smallest group, which is the most attractive."""

    @cached_property
    def penalty(self) -> float | None:
        """The fine."""
        return _finite(self.attack.deterring_penalty(self.smallest))

    @cached_property
    def price(self) -> float | None:
        """What the list must cost."""
        return _finite(self.attack.deterring_price(self.smallest))

    @cached_property
    def size(self) -> int | None:
        """The fewest people who must look alike."""
        return self.attack.least_size()


def _finite(amount: float) -> float | None:
    return amount if amount < UNHEARD else None


@dataclass(frozen=True, eq=False)
class Case:
    """The table under attack."""

    struck: Attacked
    threshold: float

    @property
    def attack(self) -> Attack:
        """The attacker."""
        return cast(Attack, self.struck.attack)

    @cached_property
    def records(self) -> int:
        """People in the data."""
        return int(self.struck.people.sum())

    @cached_property
    def targets(self) -> Targets:
        """The people by what he sees of them."""
        return Targets.of(self.struck)

    @cached_property
    def deterrents(self) -> Deterrents | None:
        """What deters him; None where nobody of the data is in the list."""
        smallest = self.targets.smallest
        return None if smallest is None else Deterrents(self.attack, smallest)

    @property
    def guessed(self) -> float:
        """People re-identified by one random guess each, where that pays."""
        return float(self.struck.people @ self.struck.baseline.risk)

    @property
    def guessed_at(self) -> int:
        """People for whom one random guess pays."""
        return int(self.struck.people[self.struck.baseline.attacks].sum())

    @property
    def unlisted(self) -> int:
        """People of the data whom nobody in the list looks like."""
        return int(self.struck.people[self.struck.groups == 0].sum())

    @property
    def above(self) -> int:
        """People whom he re-identifies with a probability above the threshold."""
        return round(self.struck.known.at_risk(self.threshold) * self.records)

    @property
    def has_losses(self) -> bool:
        """Whether the publisher said what a re-identification costs."""
        losses = self.struck.known.losses
        return losses.column is not None or bool((losses.highest != 1).any())


Teller = Callable[[Case, str], tuple[Finding, ...]]
SAME = 0.005
"""Relative difference up to which two expectations are called the same."""


def attack_findings(struck: Attacked, *, source: str, threshold: float) -> list[Finding]:
    """The findings in words, the most important first.

    >>> from discreet.attacker import Attack
    >>> from discreet.kernel import Classes
    >>> his = Attack(prior=0.63, gain=8000, access_cost=100, link_cost=0, exploit_cost=10, penalty=10000)
    >>> people = Classes.of(["zip"], [("1",), ("2",)], [10, 90])
    >>> attack_findings(his.on(people, people), source="people.csv", threshold=0.2)[0].headline
    'An adversary who can gain 8,000 and risks a fine of 10,000 would attack 10 of 100 people in people.csv (10 %): he tries every candidate, to the last one.'
    """
    return [finding for _, finding in by_topic(Case(struck, threshold), source)]


def by_topic(case: Case, source: str) -> tuple[tuple[str, Finding], ...]:
    """The findings in order, each with the topic that its picture has too."""
    return tuple((topic, finding) for topic, tell in TOPICS for finding in tell(case, source))


def _attacked(case: Case, source: str) -> tuple[Finding, ...]:
    known = case.struck.known
    who = lowered(part(known.attacked, case.records, where=f" in {source}"))
    if not known.attacked:
        return (Finding(f"{stakes(case)} would attack {who}: {_why_not(case)}.", _stay_safe(case)),)
    return (Finding(f"{stakes(case)} would attack {who}: {_how_far(case)}.", _deter(case)),)


def _why_not(case: Case) -> str:
    if case.unlisted == case.records:
        return "nobody in the list looks like any of them"
    return "it would cost him more than it brings"


def _how_far(case: Case) -> str:
    known = case.struck.known
    if not known.in_part:
        return "he tries every candidate, to the last one"
    if not known.in_full:
        return "he tries some candidates and then stops"
    return f"every candidate for {known.in_full:,} of them, some of the candidates for {known.in_part:,}"


def _deter(case: Case) -> str:
    phrases = [] if case.deterrents is None else ways(case, case.deterrents)
    if not phrases:
        return "No fine, price or crowd deters him from all: publish less detail, or to fewer people."
    return (
        f"{either(phrases)[:1].upper()}{either(phrases)[1:]} would deter him from all, if he knows how many look alike."
    )


def _stay_safe(case: Case) -> str:
    size = None if case.deterrents is None else case.deterrents.size
    if size is None or size <= 1:
        return "Check again when the data gain value, or when a longer list is for sale."
    return (
        f"Keep groups at {size:,} people who look alike or more, and check again when the data gain value or a cheaper list "
        "is for sale."
    )


def _planned(case: Case, source: str) -> tuple[Finding, ...]:
    found, guessed = case.struck.known.reidentified, case.guessed
    if not case.struck.known.attacked and not case.guessed_at:
        return ()
    headline = (
        f"He is expected to re-identify {expected(found)} of them. One random guess for each, made where it pays, would find "
        f"{expected(guessed)}: {_ratio(found, guessed)}."
    )
    return (Finding(headline, _trust(found, guessed)),)


def _ratio(found: float, guessed: float) -> str:
    if abs(found - guessed) <= SAME * max(found, guessed):
        return "planning gains him nothing here"
    if not guessed or not found:
        return "the two disagree altogether"
    if found > guessed:
        return f"planning finds {measure(found / guessed, digits=2)} times as many"
    return f"planning finds only {percent(found / guessed)} of that, since he gives up where it does not pay"


def _trust(found: float, guessed: float) -> str:
    if found > guessed * (1 + SAME):
        return "Hold limits against the adversary who goes on, not against one guess: it hides most of what he can do."
    return "Keep the classic measures as the stricter ones here; they do not depend on guesses about gains and costs."


def _at_risk(case: Case, source: str) -> tuple[Finding, ...]:
    threshold, known = one_in(case.threshold), case.struck.known
    if not case.above:
        return (
            Finding(
                f"Nobody is re-identified with a probability above the threshold of {threshold}; the highest is "
                f"{percent(known.highest)}.",
                "Write the gain, the costs and the fine into the release decision: the result depends on them.",
            ),
        )
    step = "Make their groups larger, with coarser values for them, or leave them out (`discreet anonymise --k-map`)."
    who = part(case.above, case.records)
    return (
        Finding(
            f"{who} {agree(case.above, 'is', 'are')} re-identified with a probability above the threshold of {threshold}; "
            f"the highest is {percent(known.highest)}.",
            step,
        ),
    )


def _unseen(case: Case, source: str) -> tuple[Finding, ...]:
    known, unknown = case.struck.known, case.struck.unknown
    if not known.attacked and not unknown.attacked:
        return (
            Finding(
                "Nor would he attack any of the "
                + people(case.records)
                + " if he had to buy the list before he knows how many "
                "people in it look alike.",
                "Hold the next version against the same adversary, and against a list with more columns.",
            ),
        )
    headline = (
        f"If he has to buy the list before he knows how many people in it look alike, he attacks "
        f"{lowered(part(unknown.attacked, case.records))} and re-identifies {expected(unknown.reidentified)} of them; "
        f"knowing it, he attacks {known.attacked:,} and re-identifies {expected(known.reidentified)}."
    )
    if unknown.reidentified < known.reidentified * (1 - SAME):
        step = "Do not publish how frequent each combination of values is: it tells him whom to attack."
    else:
        step = "Do not count on his ignorance: it does not protect these people."
    return (Finding(headline, step),)


def _harmed(case: Case, source: str) -> tuple[Finding, ...]:
    known = case.struck.known
    if known.harmed < 1e-9:
        return ()
    each = known.harmed / known.reidentified
    headline = (
        f"On his way he exploits innocent people {expected(known.harmed)} times, taking them for somebody in the data: "
        f"{measure(each, digits=2)} times for each one that he finds."
    )
    return (Finding(headline, "Count them among the harmed: to be in the list and to look like somebody is enough."),)


def _lost(case: Case, source: str) -> tuple[Finding, ...]:
    known, unknown = case.struck.known, case.struck.unknown
    if not case.has_losses or not known.attacked:
        return ()
    column = known.losses.column
    by = f", by what column {column} says a re-identification costs" if column else ""
    return (
        Finding(
            f"This costs you {amount(round(known.expected_loss))} in expectation{by}, and {amount(round(known.highest_loss))} "
            f"for the most expensive person alone; {amount(round(unknown.expected_loss))} if he does not know how many "
            "look alike.",
            "Hold that against what the release is worth, and against what deterring him would cost.",
        ),
    )


def none_listed(case: Case) -> str:
    """People whom nobody in the list looks like, in a sentence."""
    return f"{people(case.unlisted).capitalize()} in the data {agree(case.unlisted, 'has', 'have')} no look-alike in the list."


TOPICS: tuple[tuple[str, Teller], ...] = (
    ("strip", _attacked),
    ("chance", _planned),
    ("fates", _unseen),
    ("chance", _at_risk),
    ("harmed", _harmed),
    ("loss", _lost),
)
