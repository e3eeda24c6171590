"""Findings of an attack: what the attacker does, and what would deter it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import cast

from discreet.attacker import Attack, Attacked
from discreet.attacker.population import Targets
from discreet.report.toolkit.components import Finding, topic
from discreet.report.toolkit.words import about, agree, amount, lowered, one_in, part, people
from discreet.wording import measure, percent

UNHEARD = 1e15
"""No amount from here on deters anybody: it cannot be paid."""
SAME = 0.005
"""Relative difference up to which two expectations are called the same."""


def at_least(number: float) -> str:
    """An amount from which something holds, rounded up to three digits so that the sentence stays true.

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


@dataclass(frozen=True)
class Deterrents:
    """The least amounts that deter the adversary from everybody; None where none does."""

    attack: Attack
    smallest: int
    """The smallest group, which is the most attractive."""

    @cached_property
    def penalty(self) -> float | None:
        """The fine."""
        return _payable(self.attack.deterring_penalty(self.smallest))

    @cached_property
    def price(self) -> float | None:
        """What the list must cost."""
        return _payable(self.attack.deterring_price(self.smallest))

    @cached_property
    def size(self) -> int | None:
        """The fewest people who must look alike."""
        return self.attack.least_size()

    def ways(self) -> list[str]:
        """What deters all attacks, each as a phrase."""
        phrases = []
        if self.penalty is not None and self.penalty > self.attack.penalty:
            phrases.append(f"a fine of {at_least(self.penalty)}")
        if self.price is not None and self.price > self.attack.access_cost:
            phrases.append(f"a list that costs {at_least(self.price)}")
        if self.size is not None and self.size > 1:
            phrases.append(f"groups of at least {self.size:,} people who look alike")
        return phrases


def _payable(amount: float) -> float | None:
    return amount if amount < UNHEARD else None


@dataclass(frozen=True, eq=False)
class Case:
    """A table under attack: the facts that words and pictures share."""

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
        """The people by what the adversary sees of them."""
        return Targets.of(self.struck)

    @cached_property
    def deterrents(self) -> Deterrents | None:
        """What deters the adversary; None where nobody of the data is in the list."""
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
        """People who are re-identified with a probability above the threshold."""
        return round(self.struck.known.at_risk(self.threshold) * self.records)


def attack_findings(struck: Attacked, *, source: str, threshold: float) -> list[Finding]:
    """The findings in words, the most important first.

    >>> from discreet.attacker import Attack
    >>> from discreet.kernel import Classes
    >>> attack = Attack(prior=0.63, gain=8000, access_cost=100, link_cost=0, exploit_cost=10, penalty=10000)
    >>> people = Classes.of(["zip"], [("1",), ("2",)], [10, 90])
    >>> attack_findings(attack.on(people, people), source="people.csv", threshold=0.2)[0].headline
    'An adversary who can gain 8,000 and risks a fine of 10,000 would attack 10 of 100 people in people.csv (10 %), and would try every candidate.'
    """
    return [finding for _, finding in by_topic(Case(struck, threshold), source)]


def by_topic(case: Case, source: str) -> Iterator[tuple[str, Finding]]:
    """The findings in order, each with the topic that its picture has too."""
    known = case.struck.known
    yield "strip", attacked(case, source)
    if known.attacked or case.guessed_at:
        yield "chance", planned(case)
    yield "fates", unseen(case)
    yield "chance", at_risk(case)
    if known.harmed >= 1e-9:
        each = measure(known.harmed / known.reidentified, digits=2)
        yield topic(
            "harmed",
            f"Along the way innocent people are exploited {expected(known.harmed)} times, taken for a person in the data: "
            f"{each} times for each person found.",
            "Count them among the harmed: to be in the list and to look like a person in the data is enough.",
        )
    costly = known.losses.column is not None or bool((known.losses.highest != 1).any())
    if costly and known.attacked:
        by = f", by what column {known.losses.column} says a re-identification costs" if known.losses.column else ""
        losses = (known.expected_loss, known.highest_loss, case.struck.unknown.expected_loss)
        everybody, most, unknown = (amount(round(loss)) for loss in losses)
        yield topic(
            "loss",
            f"This costs you {everybody} in expectation{by}, and {most} for the most expensive person alone; {unknown} if "
            "the adversary does not know how many look alike.",
            "Hold that against what the release is worth, and against what deterring the adversary would cost.",
        )


def attacked(case: Case, source: str) -> Finding:
    """Who is attacked and how far, and what would deter the adversary."""
    known, attack, deterrents = case.struck.known, case.attack, case.deterrents
    fined = attack.penalty and attack.max_penalties != 0
    risks = f"risks a fine of {amount(attack.penalty)}" if fined else "risks no fine"
    size = None if deterrents is None else deterrents.size
    ways = [] if deterrents is None else deterrents.ways()
    if not known.attacked:
        listed = case.unlisted < case.records
        how = ": an attempt would cost more than it brings" if listed else ": nobody in the list looks like any of them"
        step = "Check again when the data gain value, or when a longer list is for sale."
        if size is not None and size > 1:
            step = (
                f"Keep groups at {size:,} people who look alike or more, and check again when the data gain value or a cheaper "
                "list is for sale."
            )
    else:
        how = f": every candidate for {known.in_full:,} of them, some of the candidates for {known.in_part:,}"
        if not known.in_part:
            how = ", and would try every candidate"
        elif not known.in_full:
            how = ", and would stop after some candidates"
        step = "No fine, price or group size deters all attacks: publish less detail, or to fewer people."
        if ways:
            either = ", or ".join(ways)
            step = f"{either[:1].upper()}{either[1:]} would deter an adversary who knows how many look alike from all attacks."
    who = lowered(part(known.attacked, case.records, where=f" in {source}"))
    return Finding(f"An adversary who can gain {amount(attack.gain)} and {risks} would attack {who}{how}.", step)


def planned(case: Case) -> Finding:
    """What planning finds, beside one random guess each."""
    found, guessed = case.struck.known.reidentified, case.guessed
    if abs(found - guessed) <= SAME * max(found, guessed):
        ratio = "planning gains nothing here"
    elif not guessed or not found:
        ratio = "the two disagree altogether"
    elif found > guessed:
        ratio = f"planning finds {measure(found / guessed, digits=2)} times as many"
    else:
        ratio = f"planning finds only {percent(found / guessed)} of that, since planning gives up where it does not pay"
    return Finding(
        f"The adversary is expected to re-identify {expected(found)} of them. One random guess for each, made where it pays, would find "
        f"{expected(guessed)}: {ratio}.",
        "Hold limits against the adversary who goes on, not against one guess: one guess hides most of what is possible."
        if found > guessed * (1 + SAME)
        else "Keep the classic measures as the stricter ones here; they do not depend on guesses about gains and costs.",
    )


def at_risk(case: Case) -> Finding:
    """Who is re-identified with a probability above the threshold."""
    highest = f"the threshold of {one_in(case.threshold)}; the highest is {percent(case.struck.known.highest)}."
    if not case.above:
        return Finding(
            f"Nobody is re-identified with a probability above {highest}",
            "Write the gain, the costs and the fine into the release decision: the result depends on them.",
        )
    who = part(case.above, case.records)
    return Finding(
        f"{who} {agree(case.above, 'is', 'are')} re-identified with a probability above {highest}",
        "Make their groups larger, with coarser values for them, or leave them out (`discreet anonymise --k-map`).",
    )


def unseen(case: Case) -> Finding:
    """What happens if the list has to be bought before it is known how many look alike."""
    known, unknown = case.struck.known, case.struck.unknown
    if not known.attacked and not unknown.attacked:
        return Finding(
            f"Nor would the adversary attack any of the {people(case.records)} if the list had to be bought before it is known how many "
            "people in it look alike.",
            "Hold the next version against the same adversary, and against a list with more columns.",
        )
    return Finding(
        f"If the list has to be bought before it is known how many people in it look alike, the adversary attacks "
        f"{lowered(part(unknown.attacked, case.records))} and re-identifies {expected(unknown.reidentified)} of them; "
        f"with that knowledge the adversary attacks {known.attacked:,} and re-identifies {expected(known.reidentified)}.",
        "Do not publish how frequent each combination of values is: it shows whom to attack."
        if unknown.reidentified < known.reidentified * (1 - SAME)
        else "Do not count on the adversary's ignorance: it does not protect these people.",
    )
