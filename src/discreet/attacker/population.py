"""What the adversary does to a whole table: whom he attacks, how far he goes, whom he finds and whom he wrongs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from discreet.attacker.losses import Losses
from discreet.attacker.plan import Baseline, Gamble, Plan, Thresholds
from discreet.errors import EmptySource
from discreet.kernel import Classes
from discreet.kernel.arrays import Flags, Floats, Ints, Label
from discreet.kernel.notebook import card

if TYPE_CHECKING:
    from discreet.attacker.attack import Attack


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
        return cls(
            people,
            groups,
            exploits,
            plan.value,
            plan.reidentification,
            plan.expected_exploits,
            plan.expected_wrong,
            plan.expected_penalties,
            losses,
        )

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

    attack: Attack
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
        told = (("Attacked to the last candidate", "in_full", 0), ("Attacked in part", "in_part", 0),
                ("Left alone", "not_at_all", 0), ("Re-identified, expected", "reidentified", 1),
                ("Innocent people exploited, expected", "harmed", 1))  # fmt: skip
        both = (self.known, self.unknown)
        rows = [(name, *(f"{getattr(one, key):,.{digits}f}" for one in both)) for name, key, digits in told]
        return card(words, rows, head=("people", "he knows the groups", "he does not"))

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
            "baseline": {
                "attacked": int(self.people[single.attacks].sum()),
                "reidentified": float(self.people @ single.risk),
            },
            "loss": self.known.losses.to_dict(),
        }


def strike(
    attack: Attack, sample: Classes, external: Classes, *, population: Classes | None = None, loss: float | str = 1.0
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


def plan_for(
    attack: Attack, sample: Classes, groups: Ints, densities: Floats, external_size: int, *, loss: float | str = 1.0
) -> Attacked:
    """Let him plan for every class, the groups being known or only expected."""
    plan = attack.known(groups)
    gamble = attack.unknown(densities, external_size, groups)
    outcome = partial(Outcome.of, people=sample.sizes, groups=groups, losses=Losses.of(loss, sample))
    goes_on = gamble.accesses & (plan.access_value > 0)
    return Attacked(
        attack,
        sample,
        external_size,
        densities,
        outcome(plan, exploits=plan.exploits * plan.accesses),
        outcome(gamble, exploits=plan.exploits * goes_on),
        attack.thresholds(),
        attack.baseline(groups),
    )
