"""Population under attack: who is attacked, how far, who is found or wronged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from discreet.attacker.belief import Binomial
from discreet.attacker.bellman import PlanTable, Thresholds
from discreet.attacker.optimal_plan import Baseline, Gamble, Plan, Planner
from discreet.attacker.parameters import Losses
from discreet.errors import EmptySource
from discreet.kernel import Classes
from discreet.kernel.arrays import Flags, Floats, Ints, Label
from discreet.kernel.serialise import card, json_of

SAME_RISK = 1e-12
"""Probabilities up to which two are the same."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """What becomes of the people in the data; arrays have one entry per class of people who look alike."""

    people: Ints
    """People in the data."""
    groups: Ints
    """People in the external table who look the same."""
    exploits: Ints
    """Candidates he would try one after the other, were he never detected and never right; 0 if he leaves them alone."""
    value: Floats
    """What attacking one of them is worth to him."""
    reidentification: Floats
    """Probability that he re-identifies one of them."""
    expected_exploits: Floats
    expected_wrong: Floats
    """Expected number of innocent people exploited for one of them."""
    expected_penalties: Floats
    losses: Losses

    @classmethod
    def of(cls, plan: Plan | Gamble, *, exploits: Ints, people: Ints, groups: Ints, losses: Losses) -> Outcome:
        """From the plans for the classes."""
        risk, tries, wrong = plan.reidentification, plan.expected_exploits, plan.expected_wrong
        return cls(people, groups, exploits, plan.value, risk, tries, wrong, plan.expected_penalties, losses)

    @property
    def risk(self) -> Floats:
        """The loss to expect per person: the probability of re-identification times what it costs, on average."""
        return self.reidentification * self.losses.mean

    @property
    def in_full(self) -> int:
        """People for whom he would try every candidate."""
        return self._people(self._begins & (self.exploits == self.groups))

    @property
    def in_part(self) -> int:
        """People for whom he would try some candidates and then stop."""
        return self._people(self._begins & (self.exploits < self.groups))

    @property
    def attacked(self) -> int:
        """People for whom he tries anybody."""
        return self._people(self._begins)

    @property
    def not_at_all(self) -> int:
        """People whom he leaves alone."""
        return self._people(~self._begins)

    @property
    def reidentified(self) -> float:
        """Expected number of people he re-identifies."""
        return self._total(self.reidentification)

    @property
    def harmed(self) -> float:
        """Expected number of innocent people he exploits in passing."""
        return self._total(self.expected_wrong)

    @property
    def expected_loss(self) -> float:
        """What the publisher loses in all, in expectation."""
        return self._total(self.risk)

    @property
    def highest(self) -> float:
        """The largest probability of re-identification."""
        return float(self.reidentification.max(initial=0.0))

    @property
    def highest_loss(self) -> float:
        """The largest loss to expect from one record."""
        return float((self.reidentification * self.losses.highest).max(initial=0.0))

    def at_risk(self, threshold: float) -> float:
        """The share of people whom he re-identifies with a probability above the threshold."""
        return self._people(self.reidentification > threshold + 1e-12) / int(self.people.sum())

    def to_dict(self, threshold: float) -> dict[str, Any]:
        """For JSON; the keys are stable."""
        records = int(self.people.sum())
        return {
            "attacked": self.attacked,
            "in_full": self.in_full,
            "in_part": self.in_part,
            "not_at_all": self.not_at_all,
            "at_risk": self.at_risk(threshold),
            "highest": self.highest,
            "average": self.reidentified / records,
            "reidentified": self.reidentified,
            "people_harmed": self.harmed,
            "exploits": self._total(self.expected_exploits),
            "penalties": self._total(self.expected_penalties),
            "adversary_value": self._total(self.value),
            "expected_loss": self.expected_loss,
            "highest_loss": self.highest_loss,
        }

    @property
    def _begins(self) -> Flags:
        return self.exploits > 0

    def _people(self, marked: Flags) -> int:
        return int(self.people[marked].sum())

    def _total(self, each: Floats) -> float:
        return float(self.people @ each)


@dataclass(frozen=True, eq=False)
class Attacked:
    """A table under attack, once by an adversary who knows the groups beforehand and once by one who does not."""

    attack: Planner
    sample: Classes
    external_size: int
    densities: Floats
    """The share of the population that looks like the people of each class."""
    known: Outcome
    """He knows how many people in the external table look like his target before he buys it."""
    unknown: Outcome
    """He learns it only once he has bought the table."""
    thresholds: Thresholds
    baseline: Baseline

    @property
    def groups(self) -> Ints:
        """People in the external table per class of the data."""
        return self.known.groups

    @property
    def people(self) -> Ints:
        """People in the data per class."""
        return self.known.people

    def _repr_html_(self) -> str:
        words = (
            f"An adversary who can gain {self.attack.gain:,.0f} and risks a fine of {self.attack.penalty:,.0f} would attack "
            f"{self.known.attacked:,} of {int(self.people.sum()):,} people, and is expected to re-identify "
            f"{self.known.reidentified:,.1f} of them."
        )
        figures = (("Attacked to the last candidate", "in_full", 0), ("Attacked in part", "in_part", 0),
                   ("Left alone", "not_at_all", 0), ("Re-identified, expected", "reidentified", 1),
                   ("Innocent people exploited, expected", "harmed", 1))  # fmt: skip
        both = (self.known, self.unknown)
        rows = [(name, *(f"{getattr(group, key):,.{digits}f}" for group in both)) for name, key, digits in figures]
        return card(words, rows, head=("people", "groups known", "groups unknown"))

    @property
    def differs(self) -> dict[str, int]:
        """People whose risk is lower, and higher, where the size of their group is not known beforehand."""
        known, unknown = self.known.reidentification, self.unknown.reidentification
        marked = {"lower": unknown < known - SAME_RISK, "higher": unknown > known + SAME_RISK}
        return {way: int(self.people[people].sum()) for way, people in marked.items()}

    def exceeds(self, threshold: float, allowed: float) -> bool:
        """Whether he, knowing the groups, puts a larger share of the people at risk than is allowed."""
        return self.known.at_risk(threshold) > allowed

    def by_class(self) -> Iterator[tuple[tuple[Label, ...], dict[str, float | int | bool]]]:
        """Each class of people who look alike: its values, and what the adversary would do."""
        columns = {
            "people": self.people,
            "group": self.groups,
            "exploits_known": self.known.exploits,
            "reidentification_known": self.known.reidentification,
            "risk_known": self.known.risk,
            "exploits_unknown": self.unknown.exploits,
            "reidentification_unknown": self.unknown.reidentification,
            "risk_unknown": self.unknown.risk,
        }
        rows = zip(*(column.tolist() for column in columns.values()), strict=True)
        for values, row in zip(self.sample.tuples(), rows, strict=True):
            yield values, dict(zip(columns, row, strict=True))

    def to_dict(self, threshold: float) -> dict[str, Any]:
        """For JSON; the keys are stable."""
        single = self.baseline
        return {
            "parameters": asdict(self.attack),
            "external_size": self.external_size,
            "thresholds": asdict(self.thresholds),
            "known": self.known.to_dict(threshold),
            "unknown": self.unknown.to_dict(threshold),
            "differs": self.differs,
            "baseline": {
                "attacked": int(self.people[single.attacks].sum()),
                "reidentified": float(self.people @ single.risk),
            },
            "loss": self.known.losses.to_dict(),
        }


def strike(
    attack: Planner, sample: Classes, external: Classes, *, population: Classes | None = None, loss: float | str = 1.0
) -> Attacked:
    """Let the adversary plan for every class of people in the data.

    The group of a target are the people in the external table who look the same. Before he has it he expects them to
    be as frequent there as in the population, which is the external table itself unless another is given.
    """
    groups, densities = expectations(sample, external, population)
    return plan_for(attack, sample, groups, densities, external.records, loss=loss)


def expectations(sample: Classes, external: Classes, population: Classes | None) -> tuple[Ints, Floats]:
    """For each class the people in the external table who look the same, and the share of the population that does."""
    if not external.records:
        raise EmptySource("There is nobody in the external table.", remedy="Give a table with at least one row.")
    groups = sample.link(external)
    everybody = external if population is None else population
    densities = (groups if population is None else sample.link(everybody)) / everybody.records
    return groups, densities


def targets(sample: Classes, groups: Ints) -> Ints:
    """People of the data per class, each once: in their class with the smallest group that holds anybody."""
    return sample.people_once(np.where(groups > 0, groups, np.iinfo(np.int64).max))


def plan_for(
    attack: Planner, sample: Classes, groups: Ints, densities: Floats, external_size: int, *, loss: float | str = 1.0
) -> Attacked:
    """Let him plan for every class, the groups being known or only expected."""
    plan = attack.known(groups)
    gamble = attack.unknown(densities, external_size, groups)
    outcome = partial(Outcome.of, people=targets(sample, groups), groups=groups, losses=Losses.of(loss, sample))
    known = outcome(plan, exploits=plan.exploits * plan.accesses)
    unknown = outcome(gamble, exploits=plan.exploits * (gamble.accesses & (plan.access_value > 0)))
    thresholds, baseline = attack.thresholds(), attack.baseline(groups)
    return Attacked(attack, sample, external_size, densities, known, unknown, thresholds, baseline)


# People by what the adversary sees of them, so that changing his mind a hundred times costs little.
#
# Two classes of people are the same to him if as many people in the external table look like them and if he expects as
# many there. A table of a million classes has a few thousand such kinds of target.
@dataclass(frozen=True)
class Expected:
    """What comes of an attack on a whole table."""

    known: float
    """People he is expected to re-identify if he knows the size of every group."""
    unknown: float
    """The same if he learns it only from the external table."""
    largest: int
    """The largest group in the data that he still attacks, knowing its size; 0 if none."""


@dataclass(frozen=True, eq=False)
class Staircase:
    """A number of people that falls in steps as a price rises: `people[i]` below `prices[i]`, none from the last on."""

    prices: Floats
    people: Floats

    @classmethod
    def of(cls, worth: Floats, people: Floats) -> Staircase:
        """People of whom he buys the table while its price is below what that is worth."""
        prices, place = np.unique(worth[people > 0], return_inverse=True)
        each = np.bincount(place, weights=people[people > 0], minlength=len(prices)).astype(np.float64)
        return cls(prices, np.cumsum(each[::-1])[::-1])

    def at(self, price: float) -> float:
        """The people at a price.

        >>> stairs = Staircase.of(np.array([5.0, 9.0]), np.array([3.0, 1.0]))
        >>> stairs.at(0), stairs.at(5), stairs.at(9)
        (4.0, 1.0, 0.0)
        """
        above = int(np.searchsorted(self.prices, price, side="right"))
        return float(self.people[above]) if above < len(self.prices) else 0.0


@dataclass(frozen=True, eq=False)
class Targets:
    """Every kind of target once, with the people of that kind."""

    people: Ints
    groups: Ints
    densities: Floats
    external_size: int

    @classmethod
    def of(cls, struck: Attacked) -> Targets:
        """The kinds of target in a table under attack."""
        return cls.grouped(struck.people, struck.groups, struck.densities, struck.external_size)

    @classmethod
    def among(cls, sample: Classes, external: Classes, *, population: Classes | None = None) -> Targets:
        """The kinds of target in a table, before anybody attacks; `external` is the table that names people."""
        groups, densities = expectations(sample, external, population)
        return cls.grouped(targets(sample, groups), groups, densities, external.records)

    @classmethod
    def grouped(cls, people: Ints, groups: Ints, densities: Floats, external_size: int) -> Targets:
        """Those that are the same to him together.

        >>> Targets.grouped(np.array([5, 2, 1]), np.array([9, 4, 9]), np.array([0.09, 0.04, 0.09]), 100).people.tolist()
        [2, 6]
        """
        order = np.lexsort((densities, groups))
        sizes, shares = groups[order], densities[order]
        new = np.ones(len(order), dtype=bool)
        new[1:] = (np.diff(sizes) != 0) | (np.diff(shares) != 0)
        first = np.flatnonzero(new)
        counts = np.add.reduceat(people[order], first) if len(first) else people[:0]
        return cls(counts.astype(np.int64), sizes[first].astype(np.int64), shares[first], external_size)

    to_dict = json_of()

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Targets:
        """Back from JSON."""
        people, groups = (np.array(content[name], dtype=np.int64) for name in ("people", "groups"))
        return cls(people, groups, np.array(content["densities"], dtype=np.float64), int(content["external_size"]))

    def __len__(self) -> int:
        return len(self.people)

    def at_least(self, size: int) -> Targets:
        """The same people as if everybody in the external table looked like at least so many there.

        That is the least change that a release with such groups makes; people whom nobody there looks like stay so.

        >>> Targets.grouped(np.array([5, 2, 1]), np.array([9, 4, 0]), np.array([0.09, 0.04, 0.0]), 100).at_least(6).groups.tolist()
        [0, 6, 9]
        """
        listed = self.groups > 0
        most = min(size, self.external_size)
        groups = np.where(listed, np.maximum(self.groups, most), 0)
        densities = np.where(listed, np.maximum(self.densities, most / self.external_size), self.densities)
        return Targets.grouped(self.people, groups, densities, self.external_size)

    def attacked(self, attack: Planner) -> Attacked:
        """What he does to them, kind by kind; every kind counts as one class of people who look alike."""
        kinds = Classes((), (), self.people)
        return plan_for(attack, kinds, self.groups, self.densities, self.external_size)

    @property
    def smallest(self) -> int | None:
        """The smallest group that holds anybody at all: the most attractive target."""
        return int(self.groups[self.groups > 0].min()) if (self.groups > 0).any() else None

    def expected(self, attack: Planner) -> Expected:
        """What comes of an attack on them."""
        return self.by_penalty(attack, [attack.penalty])[0]

    def by_penalty(self, attack: Planner, penalties: Sequence[float]) -> tuple[Expected, ...]:
        """What comes of it at each of these penalties.

        What he leaves alone at one penalty he leaves alone at every higher one (V_0 falls with C_p), so that people who
        are left alone are not planned for again.
        """
        left, expected = self.worthwhile(attack), {}
        for penalty in sorted(set(penalties)):
            fined = replace(attack, penalty=float(penalty))
            belief = Binomial.of(left.densities, left.external_size, len(left.people))
            possible = belief.sizes(belief.most())
            table = PlanTable.of(fined, np.union1d(left.groups, possible))
            access = table.at(np.searchsorted(table.sizes, possible)).access
            here = table.at(np.searchsorted(table.sizes, left.groups))
            worth = 1 + int(np.flatnonzero(access)[-1]) if access.any() else 0
            unseen = -fined.access_cost + fined.discount * belief.expectation(possible[:worth], access[:worth]) > 0
            seen = -fined.access_cost + fined.discount * here.access > 0
            goes_on = unseen & (here.access > 0)
            known, unknown = (float(left.people @ (here.success * marked)) for marked in (seen, goes_on))
            expected[penalty] = Expected(known, unknown, int(left.groups[seen].max(initial=0)))
            left = left._only(seen | goes_on)
        return tuple(expected[penalty] for penalty in penalties)

    def worthwhile(self, attack: Planner) -> Targets:
        """Those whom he would attack if there were no penalties at all."""
        free = replace(attack, penalty=0.0, max_penalties=0)
        plan = free.known(self.groups)
        gamble = free.unknown(self.densities, self.external_size, self.groups)
        return self._only(plan.accesses | (gamble.accesses & (plan.access_value > 0)))

    def _only(self, marked: Flags) -> Targets:
        return replace(self, people=self.people[marked], groups=self.groups[marked], densities=self.densities[marked])

    def by_price(self, attack: Planner) -> tuple[Staircase, Staircase]:
        """People re-identified by the price of the external table, with known and with unknown groups; exact.

        The price decides only whether he buys: C_d < gamma V_access. What he does with the table stays the same.
        """
        free = replace(attack, access_cost=0.0)
        plan = free.known(self.groups)
        gamble = free.unknown(self.densities, self.external_size, self.groups)
        return (
            Staircase.of(plan.value_raw, self.people * plan.reidentification),
            Staircase.of(gamble.value_raw, self.people * gamble.reidentification),
        )
