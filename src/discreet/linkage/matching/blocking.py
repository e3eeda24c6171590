"""Blocking: which pairs are compared at all, by rules chosen by counting.

A rule costs the pairs it makes, counted exactly by grouping. A rule is of keys: whole values, or parts of them that
survive slips (sounds, first letters, years). Which rules to take is decided on simulated true pairs: how often those agree
on a value, and on a part of one that differs, is estimated among pairs that agree on all other attributes. How many true
pairs the rules have found in the end is told by the pairs themselves, once they are scored: those that only one rule
found tell how many none has found (capture-recapture).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from discreet.errors import UsageError
from discreet.kernel.arrays import Flags, Floats
from discreet.kernel.serialise import json_of
from discreet.linkage.folder import ProjectFolder
from discreet.linkage.matching.backends import DuckDBBackend
from discreet.linkage.matching.keys import attribute_of, column_of, key_words, keys_of
from discreet.linkage.matching.pairs import Pairs
from discreet.wording import percent

PER_RECORD = 20
FEWEST = 100_000
LONGEST = 3
"""Attributes of a rule."""
WORTH = 0.0001
"""What a rule must add to the share of true pairs found."""
ENOUGH = 20
"""Pairs from which an agreement is estimated."""
USUAL, IN_PART = 0.9, 0.5
"""How often true pairs agree on an attribute, and on a part of one that differs, where it cannot be estimated."""
SIMULATED = 20_000
"""True pairs that are simulated to choose rules by."""


@dataclass(frozen=True)
class Rule:
    """Pairs that agree on all these keys, or on two crosswise.

    A key is an attribute, or a part of one: `born:year`."""

    attributes: tuple[str, ...]
    crossed: bool = False
    pairs: int = 0
    recall: float | None = None
    """Estimated share of the true pairs that agree on these keys."""

    @property
    def words(self) -> str:
        """The rule for people.

        >>> Rule(("surname", "born"), pairs=1200, recall=0.81).words
        'same surname and same born: 1,200 pairs, about 81 % of the true ones'
        """
        share = "" if self.recall is None else f", about {percent(round(self.recall, 2))} of the true ones"
        return f"{self.name}: {self.pairs:,} pairs{share}"

    @property
    def name(self) -> str:
        """What pairs of the rule have in common.

        >>> Rule(("surname:sound", "born")).name, Rule(("given", "surname"), crossed=True).name
        ('same sound of surname and same born', 'given and surname swapped')
        """
        keys = [key_words(key) for key in self.attributes]
        return f"{' and '.join(keys)} swapped" if self.crossed else " and ".join(f"same {key}" for key in keys)

    to_dict = json_of("attributes crossed pairs recall")


@dataclass(frozen=True)
class Blocking:
    """The rules of a project, and what they find together."""

    rules: tuple[Rule, ...]
    recall: float
    """Estimated share of the true pairs that at least one rule finds."""
    agreement: dict[str, float]
    """Per attribute the estimated share of true pairs that have it in both records and agree on it."""
    most_pairs: int
    whole: tuple[Rule, ...] = ()
    """The rules of whole values among which a model is trained; those of parts would be no fair sample of how values differ."""
    chance: dict[str, float] = field(default_factory=dict)
    """Per attribute how often two records that have it agree on it."""

    @property
    def pairs(self) -> int:
        """At most so many pairs are scored: some are made by several rules."""
        return sum(rule.pairs for rule in self.rules)


def suggest_rules(
    folder: ProjectFolder, *, most_pairs: int | None = None, backend: DuckDBBackend | None = None
) -> Blocking:
    """Rules that find most true pairs with at most so many pairs (20 per record).

    Each round takes the rule that finds the most further true pairs per pair it makes; rules that later ones made
    useless are dropped at the end.
    """
    most = max(FEWEST, PER_RECORD * folder.records) if most_pairs is None else most_pairs
    if most < 1:
        raise UsageError("At least one pair must be allowed.", remedy="Leave most_pairs out, or give more.")
    counting = _Counting(folder, backend or DuckDBBackend(folder))
    agreement = _agreement(folder, counting)
    candidates = _affordable(folder, counting, most)
    if not candidates:
        raise UsageError(
            f"No rule makes {most:,} pairs or fewer.",
            remedy="Allow more pairs, or declare an attribute with more different values.",
        )
    simulated = simulated_pairs(folder, agreement, counting)
    chosen = _chosen(candidates, simulated, most)
    whole = _chosen(_affordable(folder, counting, most, whole=True), simulated, most)
    rules = [replace(rule, recall=recall_of([rule], simulated)) for rule in chosen]
    if folder.spec.swap is not None:
        one, other = folder.spec.swap
        for keys in ((f"{one}:sound", f"{other}:sound"), (one, other)):
            pairs = counting.crossed(*keys)
            if pairs <= max(most - sum(rule.pairs for rule in chosen), most // 10):
                rules.append(Rule(keys, crossed=True, pairs=pairs))
                break
    chances = {name: counting.chance(name) / max(counting.present(name), 1e-9) for name in folder.spec.names}
    return Blocking(tuple(rules), recall_of(chosen, simulated), agreement, most, tuple(whole), chances)


def blocking_of(
    folder: ProjectFolder, rules: Iterable[Sequence[str]], *, backend: DuckDBBackend | None = None
) -> Blocking:
    """Rules that are given as lists of attributes, and what they find together."""
    counting = _Counting(folder, backend or DuckDBBackend(folder))
    given = [tuple(rule) for rule in rules]
    if not given or not all(given):
        raise UsageError(
            "There is no rule.", remedy=f"Attributes and their parts are: {', '.join(keys_of(folder.spec))}."
        )
    for key in itertools.chain(*given):
        attribute_of(key, folder.spec)
    simulated = simulated_pairs(folder, _agreement(folder, counting), counting)
    counted = [Rule(rule, pairs=counting(rule)) for rule in given]
    named = tuple(replace(rule, recall=recall_of([rule], simulated)) for rule in counted)
    agreement = {name: float(simulated[name].mean()) for name in folder.spec.names}
    chances = {name: counting.chance(name) / max(counting.present(name), 1e-9) for name in folder.spec.names}
    most = sum(rule.pairs for rule in counted)
    whole = tuple(rule for rule in counted if set(rule.attributes) <= set(folder.spec.names))
    return Blocking(named, recall_of(counted, simulated), agreement, most, whole, chances)


SimulatedPairs = dict[str, Flags]
"""Per key whether each simulated true pair agrees on it."""


def recall_of(rules: Sequence[Rule], simulated: SimulatedPairs) -> float:
    """Share of simulated true pairs that at least one rule finds.

    >>> half, other = np.array([True, True, False, False]), np.array([True, False, True, False])
    >>> recall_of([Rule(("a",)), Rule(("b",))], {"a": half, "b": other})
    0.75
    """
    found = [np.logical_and.reduce([simulated[key] for key in rule.attributes]) for rule in rules if not rule.crossed]
    return float(np.logical_or.reduce(found).mean()) if found else 0.0


def recaptured(probability: Floats, histories: Flags) -> float:
    """Share of true pairs found, from those that one rule and two rules have found.

    `histories` has a row per pair and a column per rule. What no rule found is at least (1 - 1/t) * f1 * f1 / (2 * f2)
    pairs for t rules (Chao 1987), also where some pairs are harder to find than others. So the share is at most this.

    >>> recaptured(np.ones(6), np.array([[1, 0], [0, 1], [1, 1], [1, 1], [1, 1], [1, 1]], dtype=bool))
    0.96
    """
    times = histories.sum(axis=1)
    found, once, twice = float(probability.sum()), *(float(probability[times == count].sum()) for count in (1, 2))
    missed = (
        (1 - 1 / max(histories.shape[1], 1)) * once * (once / (2 * twice) if twice >= 1 else max(once - 1, 0.0) / 2)
    )
    return found / (found + missed) if found else 0.0


def histories_of(folder: ProjectFolder, rules: Sequence[Rule], pairs: Pairs, backend: DuckDBBackend) -> Flags:
    """Per pair and rule whether the rule makes the pair."""
    columns = sorted({column_of(key, folder.spec) for rule in rules for key in rule.attributes})
    hashed = ", ".join(f"coalesce(hash({column}), 0) AS {column}" for column in columns)
    union = " UNION ALL ".join(f"SELECT unique_id, {hashed} FROM {table}_table" for table in folder.tables)
    codes = backend.connection.execute(f"SELECT * FROM ({union}) ORDER BY unique_id").fetchnumpy()
    first, second = pairs.first, pairs.second
    found = np.zeros((len(first), len(rules)), dtype=np.bool_)
    for place, rule in enumerate(rules):
        keys = [codes[column_of(key, folder.spec)] for key in rule.attributes]
        others = keys[::-1] if rule.crossed else keys
        # Within a table either record of a swapped pair may be the first.
        found[:, place] = np.logical_and.reduce(
            [(key[first] == other[second]) & (key[first] != 0) for key, other in zip(keys, others, strict=True)]
        )
    return found


class _Counting:
    """How many pairs agree on all of some keys, exactly, by grouping on DuckDB."""

    def __init__(self, folder: ProjectFolder, backend: DuckDBBackend) -> None:
        self.folder, self.connection = folder, backend.connection
        self._known: dict[tuple[str, ...], int] = {}
        tables = " UNION ALL ".join(
            f"SELECT *, {place if folder.across else 0} AS side FROM {table}_table"
            for place, table in enumerate(folder.tables)
        )
        self._everybody = f"({tables})"

    def __call__(self, keys: Sequence[str], *, present: str | None = None) -> int:
        known = (*sorted(keys), f"has {present}" if present else "")
        if known not in self._known:
            columns = [column_of(key, self.folder.spec) for key in keys]
            there = [*columns, *([column_of(present, self.folder.spec)] if present else [])]
            self._known[known] = self._pairs(
                ", ".join(columns), " AND ".join(f"{column} IS NOT NULL" for column in there)
            )
        return self._known[known]

    def _pairs(self, by: str, there: str) -> int:
        groups = f"SELECT {by}, side, count(*)::HUGEINT AS n FROM {self._everybody} WHERE {there} GROUP BY ALL"
        if not self.folder.across:
            return self._ask(f"SELECT coalesce(sum(n * (n - 1) // 2), 0) FROM ({groups})")
        sums = f"SELECT sum(n) AS total, sum(n * n) AS within FROM ({groups}) GROUP BY {by}"
        return self._ask(f"SELECT coalesce(sum((total * total - within) // 2), 0) FROM ({sums})")

    def crossed(self, one: str, other: str) -> int:
        a, b = (column_of(key, self.folder.spec) for key in (one, other))
        groups = f"(SELECT {a}, {b}, side, count(*)::HUGEINT AS n FROM {self._everybody} WHERE {a} <> {b} GROUP BY ALL)"
        apart = "l.side <> r.side" if self.folder.across else "TRUE"
        # Each pair is met from both of its records; across two tables a rule takes it once from each side.
        return self._ask(
            f"SELECT coalesce(sum(l.n * r.n), 0) // 2 FROM {groups} l JOIN {groups} r ON l.{a} = r.{b} AND l.{b} = r.{a} AND {apart}"
        )

    def chance(self, name: str) -> float:
        """How often two records agree on it by chance: the share of all pairs."""
        return self([name]) / max(self.folder.possible_pairs, 1)

    def present(self, name: str) -> float:
        """How often both records of a pair have it."""
        there = [1 - table["missing"][name] / table["records"] for table in self.folder.about["tables"]]
        return float(there[0] * there[-1])

    def _ask(self, sql: str) -> int:
        return int(self.connection.execute(sql).fetchall()[0][0])


def _agreement(folder: ProjectFolder, counting: _Counting) -> dict[str, float]:
    """Per attribute, how many of the true pairs have it in both records and agree on it."""
    return {
        name: counting.present(name) * _among_likely(folder, counting, name, name, USUAL) for name in folder.spec.names
    }


def _among_likely(folder: ProjectFolder, counting: _Counting, name: str, key: str, usual: float) -> float:
    """How often pairs that agree on all other attributes agree on this key."""
    names, swap = folder.spec.names, folder.spec.swap or ()
    others = [other for other in names if other != name]
    if name in swap and len(others) > 2:  # swapped names disagree together
        others = [other for other in others if other not in swap]
    by_chance = math.prod((counting.chance(other) for other in others), start=float(folder.possible_pairs))
    there = counting(others, present=name) - by_chance * counting.present(name)
    agreed = counting([*others, key]) - by_chance * counting.chance(key)
    unknown = there < ENOUGH or by_chance > there
    return usual if unknown else min(0.99, max(0.5, agreed / there))


def simulated_pairs(folder: ProjectFolder, agreement: dict[str, float], counting: _Counting) -> SimulatedPairs:
    """Simulated true pairs, in which attributes err independently of each other."""
    rng = np.random.default_rng(1)
    found: SimulatedPairs = {}
    for name in folder.spec.names:
        there = counting.present(name)
        whole = agreement[name] / max(there, 1e-9)
        drawn = rng.random(SIMULATED)
        present, same = drawn < there, drawn < agreement[name]
        found[name] = same
        for key in keys_of(folder.spec):
            if key != name and attribute_of(key, folder.spec) == name:
                part = _among_likely(folder, counting, name, key, whole + (1 - whole) * IN_PART)
                still = min(1.0, max(0.0, (part - whole) / max(1 - whole, 1e-9)))
                found[key] = same | (present & (rng.random(SIMULATED) < still))
    return found


def _affordable(folder: ProjectFolder, counting: _Counting, most: int, *, whole: bool = False) -> list[Rule]:
    """Sets of one to three keys of different attributes that make few enough pairs.

    A set is left out where fewer of its own keys are few enough already. Sets of three are of whole values, years and
    initials.
    """
    spec = folder.spec
    rules: list[Rule] = []
    for length in range(1, min(LONGEST, len(spec.names)) + 1):
        known = [*rules]
        parts = () if whole else ("year", "initial") if length == LONGEST else None
        keys = [key for key in keys_of(spec) if key in spec.names or parts is None or key.rpartition(":")[2] in parts]
        for chosen in itertools.combinations(keys, length):
            attributes = {attribute_of(key, spec) for key in chosen}
            if len(attributes) < length or any(set(rule.attributes) <= set(chosen) for rule in known):
                continue
            if length == LONGEST and any(
                {attribute_of(key, spec) for key in rule.attributes} < attributes for rule in known
            ):
                continue
            pairs = counting(chosen)
            if pairs <= most // 2:
                rules.append(Rule(chosen, pairs=pairs))
    all_of_them = Rule(spec.names, pairs=0 if rules else counting(spec.names))
    return rules or ([all_of_them] if all_of_them.pairs <= most else [])


def _chosen(candidates: Sequence[Rule], simulated: SimulatedPairs, most: int) -> list[Rule]:
    """Round by round the rule that finds the most further simulated pairs per pair it makes."""
    hits = {rule: np.logical_and.reduce([simulated[key] for key in rule.attributes]) for rule in candidates}
    chosen: list[Rule] = []
    left, found = list(candidates), np.zeros(SIMULATED, dtype=np.bool_)
    while left:
        spent = sum(rule.pairs for rule in chosen)
        left = [rule for rule in left if rule.pairs <= most - spent]
        gains = {rule: float((hits[rule] & ~found).mean()) for rule in left}
        worthy = [rule for rule in left if gains[rule] >= WORTH]
        if not worthy:
            break
        best = max(worthy, key=lambda rule: gains[rule] / (rule.pairs + 1))
        chosen.append(best)
        found |= hits[best]
        left.remove(best)
    chosen = chosen or list(candidates[:1])
    # Rules that add nothing to the others go, the most expensive first.
    for rule in sorted(chosen, key=lambda rule: -rule.pairs):
        rest = [other for other in chosen if other is not rule]
        if rest and recall_of(chosen, simulated) - recall_of(rest, simulated) < WORTH / 10:
            chosen = rest
    return chosen
