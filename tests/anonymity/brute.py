"""Brute force over every node of a small lattice, written from the definitions and nothing else."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.kernel import Classes

Node = tuple[int, ...]
Path = tuple[str, ...]


@dataclass(frozen=True)
class Person:
    """One person, or one row of a numbered person: the path of each quasi-identifier, and a sensitive value."""

    paths: tuple[Path, ...]
    secret: str = ""
    number: int | None = None


@dataclass(frozen=True)
class Data:
    """People with the hierarchies they are generalised by."""

    people: tuple[Person, ...]
    trees: tuple[tuple[Path, ...], ...]
    wishes: tuple[tuple[float, int, int], ...] = ()
    """Per column its weight and the lowest and highest level allowed; 1 and all of them where nothing is said."""

    @property
    def weights(self) -> list[float]:
        return [weight for weight, _, _ in self.wishes] or [1.0] * len(self.trees)

    def classes(self, *, sensitive: bool = False) -> Classes:
        """The same as the kernel counts it."""
        from discreet.kernel import Histogram, Tree

        names = [f"q{place}" for place in range(len(self.trees))]
        rules = {name: Tree(tree) for name, tree in zip(names, self.trees, strict=True)}
        values = [tuple(path[0] for path in person.paths) for person in self.people]
        numbers = [person.number for person in self.people if person.number is not None]
        whose = np.array(numbers, dtype=np.int64) if numbers else None
        counted = Histogram.from_rows(names, [(*value, 1) for value in values])
        classes = Classes.from_histogram(counted, rules=rules, people=whose)
        if self.wishes:
            pairs = zip(classes.columns, self.wishes, strict=True)
            columns = (replace(column, weight=w, at_least=low, at_most=high) for column, (w, low, high) in pairs)
            classes = replace(classes, columns=tuple(columns))
        if not sensitive:
            return classes
        rows = [(*value, person.secret, 1) for value, person in zip(values, self.people, strict=True)]
        return classes.with_spread(Histogram.from_rows([*names, "secret"], rows), "secret", people=whose)

    def nodes(self) -> list[Node]:
        """The lattice, as far as it is allowed."""
        if self.wishes:
            return list(itertools.product(*(range(low, high + 1) for _, low, high in self.wishes)))
        return list(itertools.product(*(range(len(tree[0])) for tree in self.trees)))

    def groups(self, node: Node) -> dict[Path, list[Person]]:
        """People who look alike at a node."""
        found: dict[Path, list[Person]] = {}
        for person in self.people:
            key = tuple(path[level] for path, level in zip(person.paths, node, strict=True))
            found.setdefault(key, []).append(person)
        return found


def losses(data: Data, node: Node, kept: list[list[Person]], hidden: list[list[Person]]) -> dict[str, float]:
    """Every loss of the specification."""
    total = len(data.people)
    lost = [person for group in hidden for person in group]
    ns = len(lost)
    return {
        "loss": _share_loss(data, node, kept, ns),
        "aecs": total / max(len(kept) + (1 if ns else 0), 1),
        "discernibility": float(sum(len(group) ** 2 for group in kept) + total * ns),
        "dm_star": float(sum(len(group) ** 2 for group in [*kept, *hidden])),
        "precision": _precision(data, node, ns),
        "entropy": _entropy(data, node, lost),
        "gcp": _certainty_penalty(data, node, kept, ns),
    }


def _certainty_penalty(data: Data, node: Node, kept: list[list[Person]], ns: int) -> float:
    """Share of its column that each published value covers, 0 for one value alone, averaged over people and columns."""
    total, cost = len(data.people), 0.0
    for j, tree in enumerate(data.trees):
        n = len(tree)
        if n == 1:
            continue
        leaves = Counter(path[node[j]] for path in tree)
        shares = (leaves[person.paths[j][node[j]]] for group in kept for person in group)
        cost += data.weights[j] * (sum(share / n for share in shares if share > 1) + ns) / total
    return cost / len(data.trees)


def _share_loss(data: Data, node: Node, kept: list[list[Person]], ns: int) -> float:
    total, product = len(data.people), 1.0
    for j, tree in enumerate(data.trees):
        n = len(tree)
        if n == 1:
            continue
        leaves = Counter(path[node[j]] for path in tree)
        shares = sum(leaves[person.paths[j][node[j]]] / n for group in kept for person in group)
        product *= 1 + data.weights[j] * max(0.0, (shares + ns - total / n) / (total - total / n))
    return float(product ** (1 / len(data.trees)) - 1)


def _precision(data: Data, node: Node, ns: int) -> float:
    total = len(data.people)
    heights = [len(tree[0]) - 1 for tree in data.trees]
    parts = [
        weight * ((total - ns) * (level / height if height else 0) + ns) / total
        for level, height, weight in zip(node, heights, data.weights, strict=True)
    ]
    return sum(parts) / len(parts)


def _entropy(data: Data, node: Node, lost: list[Person]) -> float:
    bits = 0.0
    for j, level in enumerate(node):
        base = Counter(person.paths[j][0] for person in data.people)
        upper = Counter(person.paths[j][level] for person in data.people)
        weight = data.weights[j]
        bits -= weight * sum(math.log2(base[p.paths[j][0]] / upper[p.paths[j][level]]) for p in data.people)
        among = Counter(person.paths[j][level] for person in lost)
        bits -= weight * sum(math.log2(among[p.paths[j][level]] / len(lost)) for p in lost)
    return bits


def best(data: Data, *, limit: int, loss: str, bad: Any) -> tuple[float, Node] | None:
    """The least loss over all allowed nodes and the smallest node that has it."""
    found: list[tuple[float, Node]] = []
    for node in data.nodes():
        groups = list(data.groups(node).values())
        hidden = [group for group in groups if bad(group)]
        kept = [group for group in groups if not bad(group)]
        if sum(map(len, hidden)) <= limit:
            found.append((losses(data, node, kept, hidden)[loss], node))
    if not found:
        return None
    least = min(cost for cost, _ in found)
    return least, min(node for cost, node in found if cost <= least + 1e-9 * max(1.0, abs(least)))
