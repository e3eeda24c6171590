"""Extensions of the planning adversary in the attack file: beyond what Xia et al. assume.

The paper leaves three assumptions to future work: one record, one external resource, confirmed success. Each is a key of
the file here, with uncertain amounts and a belief of one's own about the size of a group.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from discreet.attacker.attack import Attack
from discreet.attacker.parameters import group_sizes
from discreet.attacker.piecewise import AMOUNTS
from discreet.attacker.population import Attacked, expectations
from discreet.attacker.purchases import External
from discreet.attacker.uncertainty import Sampler, lognormal, normal, uniform
from discreet.errors import DataError, UsageError
from discreet.kernel import Countable
from discreet.kernel.arrays import Floats, Ints
from discreet.kernel.serialise import json_of

DRAFT = """\
# What a planning adversary gains, pays and risks. All amounts are in one currency.
# The numbers are those of a published case study (Xia et al. 2015): put in your own.
[attack]
prior = 0.63                 # probability that the target is in the list the adversary can buy
gain = 8000                  # what a re-identification brings the adversary
access_cost = 100            # what the list of named people costs
link_cost = 0                # what linking it with your data costs
exploit_cost = 10            # what trying one candidate costs
penalty = 10000              # what the adversary pays when detected
max_penalties = "unlimited"  # how often they can be made to pay: a number, or "unlimited"
detection_intercept = -4.59  # attempt number i is detected with probability
detection_slope = 0.0        #   1 / (1 + exp(-(intercept + slope * i))), i from 0: here 1 in 100, whatever i
discount = 0.9               # what a step later is worth to the adversary; 1 = time does not matter

# Beyond the paper; remove the # of what holds.
# shared = true              # one purchase of the list serves all records
# true_positive = 0.9        # how often the target is recognised when exploited,
# false_positive = 0.1       #   and how often another person is taken for the target
# prior_column = "prior"      # column of the data that holds a prior for each record
# belief = [0, 0.5, 0.5]     # what the adversary believes about a group: probability of 0, 1, 2, ... people
# [attack.uncertain]         # amounts nobody knows: uniform (from, to), normal (mean, deviation), lognormal (median, spread)
# gain = ["uniform", 5000, 11000]
# [attack.lists.voters]      # several lists for sale, for `discreet attack group`: which of a group's people each holds
# price = 100
# members = [0, 1, 2]
"""
"""The attack file that `discreet attack init` drafts."""

EXTENDED = {
    "paper": "the paper's model",
    "shared": "one purchase for all records",
    "unconfirmed": "success not confirmed",
    "belief": "own belief about the group",
    "uncertain": "uncertain amounts",
    "lists": "several lists for sale",
    "prior_column": "a prior for each record",
}
DISTRIBUTIONS = {"uniform": uniform, "normal": normal, "lognormal": lognormal}
DRAWS, SEED = 10_000, 1
LARGE = 10_000
"""Numbers from here on are written without decimals."""
MOST_PRIORS = 1_000
KEYS = ("shared", "prior_column", "true_positive", "false_positive", "belief", "uncertain", "lists")
"""What [attack] may hold besides the parameters of the adversary."""


@dataclass(frozen=True)
class Extensions:
    """What an attack file says beyond the paper's model."""

    shared: bool = False
    """One purchase of the external table serves all records."""
    true_positive: float = 1.0
    false_positive: float = 0.0
    """How often the target, and another person, is taken for the target when exploited."""
    belief: tuple[float, ...] = ()
    """What the attacker believes about the size of the group: the probability of 0, 1, 2, ... people."""
    uncertain: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """Amounts that are not known: a distribution and its two numbers."""
    lists: Mapping[str, External] = field(default_factory=dict)
    """Several external tables, with their prices and the candidates that each holds."""

    prior_column: str = ""
    """The column of the data that holds a prior for each record."""

    @classmethod
    def split(cls, section: Mapping[str, Any]) -> tuple[dict[str, Any], Extensions]:
        """The parameters of the adversary in a section [attack], and the extensions.

        >>> parameters, more = Extensions.split({"prior": 0.5, "true_positive": 0.9, "uncertain": {"gain": ["uniform", 1, 2]}})
        >>> parameters, more.true_positive, more.uncertain
        ({'prior': 0.5}, 0.9, {'gain': ('uniform', 1, 2)})
        """
        given = {key: section[key] for key in KEYS if key in section}
        shared = given.get("shared", False)
        if not isinstance(shared, bool):
            raise UsageError("shared is true or false.", remedy="true: one purchase of the list serves all records.")
        uncertain, lists = given.get("uncertain", {}), given.get("lists", {})
        if not isinstance(uncertain, Mapping) or not isinstance(lists, Mapping):
            raise UsageError("uncertain and lists are sections.", remedy="For example [attack.uncertain] gain = [...]")
        for name, drawn in uncertain.items():
            known = isinstance(drawn, list | tuple) and len(drawn) == 3 and drawn[0] in DISTRIBUTIONS
            if name not in AMOUNTS or not known:
                raise UsageError(
                    f"'{name}' is no uncertain amount.",
                    remedy=f'An amount ({", ".join(AMOUNTS)}) and a distribution: gain = ["uniform", 5000, 11000], '
                    "normal with mean and deviation, lognormal with median and spread.",
                )
        tables = {}
        for name, one in lists.items():
            if not isinstance(one, Mapping) or set(one) != {"price", "members"}:
                raise UsageError(
                    f"List '{name}' needs a price and its members.",
                    remedy=f"[attack.lists.{name}] price = 100, members = [0, 1]: places in the group, from 0.",
                )
            tables[str(name)] = External(one["price"], one["members"])
        belief = given.get("belief", ())
        if not isinstance(belief, Sequence) or isinstance(belief, str):
            raise UsageError("belief lists probabilities.", remedy="belief = [0, 0.5, 0.5]: of 0, 1 and 2 people.")
        column = given.get("prior_column", "")
        if not isinstance(column, str):
            raise UsageError("prior_column names a column.", remedy='For example prior_column = "prior".')
        rates = {key: given[key] for key in ("true_positive", "false_positive") if key in given}
        more = cls(
            shared,
            prior_column=column,
            belief=tuple(belief),
            uncertain={n: tuple(d) for n, d in uncertain.items()},
            lists=tables,
            **rates,
        )
        return {key: value for key, value in section.items() if key not in KEYS}, more

    @property
    def unconfirmed(self) -> bool:
        """Whether the attacker can be wrong about success."""
        return (self.true_positive, self.false_positive) != (1.0, 0.0)

    def of_group(self, attack: Attack, size: int) -> dict[str, dict[str, Any]]:
        """What each extension changes for a target in a group of this size."""
        group = group_sizes([size])
        found: dict[str, dict[str, Any]] = {}
        known = attack.known(group)
        found["paper"] = {
            "exploits": int(known.exploits[0] * known.accesses[0]),
            "risk": float(known.reidentification[0]),
        }
        if self.unconfirmed:
            asked = attack.unconfirmed(group, true_positive=self.true_positive, false_positive=self.false_positive)
            found["unconfirmed"] = {
                "exploits": int(asked.exploits[0] * asked.accesses[0]), "risk": float(asked.reidentification[0]),
                "mistaken": float(asked.mistaken[0]), "missed": float(asked.missed[0]),
            }  # fmt: skip
        if self.belief:
            believed = attack.unknown(belief=[list(self.belief)], sizes=group)
            found["belief"] = {"accesses": bool(believed.accesses[0]), "risk": float(believed.reidentification[0])}
        if self.lists:
            bought = attack.several(size, self.lists)
            found["lists"] = {
                "path": [list(step) for step in bought.path],
                "bought": dict(bought.bought),
                "risk": bought.reidentification,
            }
        if self.uncertain:
            drawn = {name: drawn_from(*given) for name, given in self.uncertain.items()}
            risks = attack.simulated(size, np.random.default_rng(SEED), DRAWS, **drawn)
            found["uncertain"] = {
                "risk": risks.mean,
                "median": risks.quantile(0.5),
                "quantile_95": risks.quantile(0.95),
                "draws": DRAWS,
            }
        return found

    def of_table(
        self,
        attack: Attack,
        attacked: Attacked,
        data: Countable,
        *,
        external: Countable | None = None,
        population: Countable | None = None,
    ) -> dict[str, dict[str, Any]]:
        """What each extension changes for a whole table: people who are expected to be re-identified."""
        groups, people = attacked.groups, attacked.people
        found: dict[str, dict[str, Any]] = {}
        if self.shared:
            found["shared"] = purchase_for_all(attack, groups, people)
        if self.unconfirmed:
            asked = attack.unconfirmed(groups, true_positive=self.true_positive, false_positive=self.false_positive)
            found["unconfirmed"] = {
                "reidentified": float(people @ asked.reidentification), "mistaken": float(people @ asked.mistaken),
                "harmed": float(people @ asked.expected_wrong),
            }  # fmt: skip
        if self.belief:
            rows = np.repeat([list(self.belief)], len(groups), axis=0)
            believed = attack.unknown(belief=rows, sizes=groups)
            found["belief"] = {"reidentified": float(people @ believed.reidentification)}
        if self.prior_column:
            counted = RecordPriors.of(self.prior_column, data, external=external, population=population)
            found["prior_column"] = counted.outcome(attack)
        return found


@dataclass(frozen=True, eq=False)
class RecordPriors:
    """People by the prior that a column of the data holds for them, and by the size of their group."""

    priors: Floats
    groups: Ints
    people: Ints

    @classmethod
    def of(
        cls,
        column: str,
        data: Countable,
        *,
        external: Countable | None = None,
        population: Countable | None = None,
        most: int = MOST_PRIORS,
    ) -> RecordPriors:
        """Counted in a table; `most` is how many different priors there may be."""
        sample = data.classes(sensitive=[column])
        listed, everybody = (None if one is None else one.classes(sample.names) for one in (external, population))
        sold = listed if listed is not None else everybody if everybody is not None else sample
        groups, _ = expectations(sample, sold, everybody)
        spread = sample.spreads[column]
        priors = np.full(len(spread.values), np.nan)
        for code, value in enumerate(spread.values):
            with suppress(ValueError):
                priors[code] = float(str(value))
        bad = ~((priors > 0) & (priors <= 1))
        if people := int(spread.overall[bad].sum()):
            raise DataError(
                f"Column '{column}' should hold priors, but for {people:,} people it holds no number above 0 and up to 1.",
                remedy="Fill or correct these cells: how likely is each person in the external table?",
            )
        if len(priors) > most:
            raise DataError(
                f"Column '{column}' holds {len(priors):,} different priors.",
                remedy=f"Round them to at most {most:,} values.",
            )
        pairs = np.stack([spread.codes, groups[spread.owners]])
        kinds, places = np.unique(pairs, axis=1, return_inverse=True)
        people_of_kind = np.bincount(places.reshape(-1), weights=spread.counts, minlength=kinds.shape[1])
        return cls(priors[kinds[0]], kinds[1], people_of_kind.astype(np.int64))

    to_dict = json_of()

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> RecordPriors:
        """Back from JSON."""
        groups, people = (np.array(content[name], dtype=np.int64) for name in ("groups", "people"))
        return cls(np.array(content["priors"], dtype=np.float64), groups, people)

    def at_least(self, size: int) -> RecordPriors:
        """The same people as if everybody in the external table looked like at least so many there."""
        return replace(self, groups=np.where(self.groups > 0, np.maximum(self.groups, size), 0))

    def outcome(self, attack: Attack) -> dict[str, Any]:
        """What becomes of the people if each has their own prior."""
        risks = np.zeros(len(self.people))
        for prior in np.unique(self.priors).tolist():
            these = self.priors == prior
            risks[these] = replace(attack, prior=prior).known(self.groups[these]).reidentification
        return {
            "reidentified": float(self.people @ risks),
            "attacked": int(self.people[risks > 0].sum()),
            "least": float(self.priors.min()),
            "most": float(self.priors.max()),
        }


def purchase_for_all(attack: Attack, groups: Ints, people: Ints) -> dict[str, Any]:
    """What one purchase of the list for everybody in groups of these sizes leads to."""
    bought = attack.shared(groups, people)
    return {
        "accesses": bought.accesses, "reidentified": bought.expected_reidentified, "harmed": bought.expected_wrong,
        "only_together": bought.records_only_together, "least_records": bought.least_records,
        "deterring_price": bought.deterring_price,
    }  # fmt: skip


def drawn_from(kind: str, first: float, second: float) -> Sampler:
    """Draws of a distribution; of a normal one what is below 0 counts as 0."""
    DISTRIBUTIONS[kind](first, second)  # raises where the numbers are not right

    def draw(random: np.random.Generator, many: int) -> Any:
        if kind == "uniform":
            return random.uniform(first, second, many)
        if kind == "normal":
            return np.maximum(random.normal(first, second, many), 0)
        return random.lognormal(np.log(first), second, many)

    return draw


def extension_rows(found: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, str]]:
    """What each extension leads to, in words."""

    def written(value: Any) -> str:
        if isinstance(value, bool) or value is None:
            return {True: "yes", False: "no", None: "none"}[value]
        if isinstance(value, list):
            return ", then ".join(f"{name} and {number} exploits" for name, number in value) or "nothing"
        if isinstance(value, Mapping):
            return ", ".join(f"{name} {share:.4g}" for name, share in value.items())
        return f"{value:,.4g}" if isinstance(value, float) and abs(value) < LARGE else f"{value:,.0f}"

    return [
        (EXTENDED[name], "; ".join(f"{key.replace('_', ' ')} {written(value)}" for key, value in values.items()))
        for name, values in found.items()
    ]


PRIOR_STEP = 0.005
"""Priors nearer than this are the same."""


def prior_notes(attack: Attack, listed_people: int, people: int) -> list[str]:
    """What the prior would be if the external table was a uniform sample of the population.

    >>> from discreet.attacker import Attack
    >>> attack = Attack(prior=0.5, gain=1, access_cost=0, link_cost=0, exploit_cost=0, penalty=0)
    >>> prior_notes(attack, 63, 100)
    ['Note: the list has 63 of 100 people. If it is a uniform sample, the prior is 0.63: --set prior=0.63 (now 0.5).']
    """
    proposed = min(1.0, listed_people / people)
    if abs(proposed - attack.prior) < PRIOR_STEP:
        return []
    chance = f"{proposed:.2g}"
    sizes = (
        f"Note: the list has {listed_people:,} of {people:,} people. If it is a uniform sample, the prior is {chance}"
    )
    return [f"{sizes}: --set prior={chance} (now {attack.prior:g})."]
