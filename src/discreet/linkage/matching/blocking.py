"""Blocking: which pairs are compared at all, by rules chosen by counting.

A rule costs the pairs it makes, counted exactly by grouping. What it brings is the share of the true pairs that agree
on all of its attributes, estimated from the data: among pairs that agree on all *other* attributes, nearly all are true,
so the share of them that agrees on this one too is about how often true pairs agree on it. What such pairs agree on by
chance is taken off. Attributes are taken to err independently of each other.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from discreet.errors import UsageError
from discreet.kernel.serialise import json_of
from discreet.linkage.folder import ProjectFolder
from discreet.linkage.matching.backends import DuckDBBackend
from discreet.wording import percent

PER_RECORD = 20
FEWEST = 100_000
LONGEST = 3
"""Attributes of a rule."""
WORTH = 0.0005
"""What a rule must add to the share of true pairs found."""
ENOUGH = 20
"""Pairs from which an agreement is estimated."""
USUAL = 0.9
"""How often true pairs agree on an attribute where it cannot be estimated."""


@dataclass(frozen=True)
class Rule:
    """Pairs that agree on all these attributes, or on two crosswise."""

    attributes: tuple[str, ...]
    crossed: bool = False
    pairs: int = 0
    recall: float | None = None
    """Estimated share of the true pairs that agree on these attributes."""

    @property
    def words(self) -> str:
        """The rule for people.

        >>> Rule(("surname", "born"), pairs=1200, recall=0.81).words
        'same surname and same born: 1,200 pairs, about 81 % of the true ones'
        """
        if self.crossed:
            return f"{' and '.join(self.attributes)} swapped: {self.pairs:,} pairs"
        share = "" if self.recall is None else f", about {percent(round(self.recall, 2))} of the true ones"
        return f"{' and '.join(f'same {name}' for name in self.attributes)}: {self.pairs:,} pairs{share}"

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
    candidates = _affordable(folder.spec.names, counting, most)
    if not candidates:
        raise UsageError(
            f"No rule makes {most:,} pairs or fewer.",
            remedy="Allow more pairs, or declare an attribute with more different values.",
        )
    chosen = _chosen(candidates, agreement, most)
    rules = [replace(rule, recall=recall_of([rule], agreement)) for rule in chosen]
    if folder.spec.swap is not None:
        pairs = counting.crossed(*folder.spec.swap)
        if pairs <= most - sum(rule.pairs for rule in chosen):
            rules.append(Rule(folder.spec.swap, crossed=True, pairs=pairs))
    return Blocking(tuple(rules), recall_of(chosen, agreement), agreement, most)


def blocking_of(
    folder: ProjectFolder, rules: Iterable[Sequence[str]], *, backend: DuckDBBackend | None = None
) -> Blocking:
    """Rules that are given as lists of attributes, and what they find together."""
    counting = _Counting(folder, backend or DuckDBBackend(folder))
    given = [tuple(rule) for rule in rules]
    unknown = [name for rule in given for name in rule if name not in folder.spec.names]
    if unknown or not given or not all(given):
        raise UsageError(
            f"A rule names '{unknown[0]}', which is no identifying attribute." if unknown else "There is no rule.",
            remedy=f"Attributes are: {', '.join(folder.spec.names)}.",
        )
    agreement = _agreement(folder, counting)
    counted = [Rule(rule, pairs=counting(rule)) for rule in given]
    named = tuple(replace(rule, recall=recall_of([rule], agreement)) for rule in counted)
    return Blocking(named, recall_of(counted, agreement), agreement, sum(rule.pairs for rule in counted))


def recall_of(rules: Sequence[Rule], agreement: dict[str, float]) -> float:
    """The share of true pairs that agree on all attributes of at least one rule.

    >>> recall_of([Rule(("a",)), Rule(("b",))], {"a": 0.5, "b": 0.5})
    0.75
    """
    sets = [frozenset(rule.attributes) for rule in rules if not rule.crossed]
    names = sorted(frozenset().union(*sets)) if sets else []
    total = 0.0
    for pattern in itertools.product((True, False), repeat=len(names)):
        agreed = {name for name, yes in zip(names, pattern, strict=True) if yes}
        if any(attributes <= agreed for attributes in sets):
            total += math.prod(agreement[name] if name in agreed else 1 - agreement[name] for name in names)
    return total


class _Counting:
    """How many pairs agree on all of some attributes, exactly, by grouping on DuckDB."""

    def __init__(self, folder: ProjectFolder, backend: DuckDBBackend) -> None:
        self.folder, self.connection = folder, backend.connection
        self._known: dict[tuple[str, ...], int] = {}

    def __call__(self, names: Sequence[str], *, present: str | None = None) -> int:
        key = (*sorted(names), f"has {present}" if present else "")
        if key in self._known:
            return self._known[key]
        columns = [self._short(name) for name in names]
        by = ", ".join(columns)
        there = " AND ".join(
            f"{column} IS NOT NULL" for column in [*columns, *([self._short(present)] if present else [])]
        )
        grouped = f"(SELECT {by}, count(*) AS n FROM {{}}_table WHERE {there} GROUP BY ALL)"
        left, right = grouped.format("first"), grouped.format("second")
        self._known[key] = self._ask(
            f"SELECT coalesce(sum(l.n * r.n), 0) FROM {left} l JOIN {right} r USING ({by})"
            if self.folder.two
            else f"SELECT coalesce(sum(n * (n - 1) // 2), 0) FROM {left}"
        )
        return self._known[key]

    def crossed(self, one: str, other: str) -> int:
        a, b = self._short(one), self._short(other)
        left, right = self.folder.tables[0], self.folder.tables[-1]
        join = f"(SELECT {a}, {b}, count(*) AS n FROM {{}}_table WHERE {a} <> {b} GROUP BY ALL)"
        halved = "" if self.folder.two else " // 2"
        return self._ask(
            f"SELECT coalesce(sum(l.n * r.n), 0){halved} FROM {join.format(left)} l JOIN {join.format(right)} r ON l.{a} = r.{b} AND l.{b} = r.{a}"
        )

    def chance(self, name: str) -> float:
        """How often two records agree on it by chance: the share of all pairs."""
        return self([name]) / max(self.folder.possible_pairs, 1)

    def present(self, name: str) -> float:
        """How often both records of a pair have it."""
        missing = [table["missing"][name] / table["records"] for table in self.folder.about["tables"]]
        return float((1 - missing[0]) * (1 - missing[-1]))

    def _short(self, name: str) -> str:
        return f"a{self.folder.spec.names.index(name)}"

    def _ask(self, sql: str) -> int:
        return int(self.connection.execute(sql).fetchall()[0][0])


def _agreement(folder: ProjectFolder, counting: _Counting) -> dict[str, float]:
    """Per attribute, how many of the true pairs have it in both records and agree on it."""
    names, swap = folder.spec.names, folder.spec.swap or ()
    chances = {name: counting.chance(name) for name in names}
    agreement = {}
    for name in names:
        others = [other for other in names if other != name]
        if name in swap and len(others) > 2:  # swapped names disagree together
            others = [other for other in others if other not in swap]
        by_chance = math.prod((chances[other] for other in others), start=float(folder.possible_pairs))
        there = counting(others, present=name) - by_chance * counting.present(name)
        agreed = counting([*others, name]) - by_chance * chances[name]
        unknown = there < ENOUGH or by_chance > there
        agreement[name] = counting.present(name) * (USUAL if unknown else min(0.99, max(0.5, agreed / there)))
    return agreement


def _affordable(names: Sequence[str], counting: _Counting, most: int) -> list[Rule]:
    """All shortest sets of attributes that make few enough pairs; longer ones find less."""
    rules: list[Rule] = []
    for length in range(1, min(LONGEST, len(names)) + 1):
        for chosen in itertools.combinations(names, length):
            if any(set(rule.attributes) <= set(chosen) for rule in rules):
                continue
            pairs = counting(chosen)
            if pairs <= most // 2:
                rules.append(Rule(chosen, pairs=pairs))
    whole = Rule(tuple(names), pairs=0 if rules else counting(names))
    return rules or ([whole] if whole.pairs <= most else [])


def _chosen(candidates: Sequence[Rule], agreement: dict[str, float], most: int) -> list[Rule]:
    chosen: list[Rule] = []
    left = list(candidates)
    while left:
        now, spent = recall_of(chosen, agreement), sum(rule.pairs for rule in chosen)
        left = [rule for rule in left if rule.pairs <= most - spent]
        gains = {rule: recall_of([*chosen, rule], agreement) - now for rule in left}
        worthy = [rule for rule in left if gains[rule] >= WORTH]
        if not worthy:
            break
        best = max(worthy, key=lambda rule: gains[rule] / (rule.pairs + 1))
        chosen.append(best)
        left.remove(best)
    chosen = chosen or list(candidates[:1])
    # Rules that add nothing to the others go, the most expensive first.
    for rule in sorted(chosen, key=lambda rule: -rule.pairs):
        rest = [other for other in chosen if other is not rule]
        if rest and recall_of(chosen, agreement) - recall_of(rest, agreement) < WORTH / 10:
            chosen = rest
    return chosen
