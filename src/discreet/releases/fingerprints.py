"""A watermark by generalisation: each recipient gets levels of its own, so that a copy tells whose it is.

After Schrittwieser et al. (2011). Copies of different levels can be joined on other columns, and then show the finer
level of each; families chosen without care leave people below k that way. So a family is offered only if all of its
nodes lie above one node that is itself k-anonymous, and every copy leaves out the same people: then any number of copies
joined show no more than that node does, and each of its classes has k people.

Levels that a recipient could reach from his own by coarsening would let him put the blame on somebody else. Families in
which nobody can do that are taken first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity import anonymise, sweep
from discreet.anonymity.lattice.problem import LatticeProblem
from discreet.anonymity.limits import Requirements
from discreet.anonymity.losses import loss_of
from discreet.errors import Refused, UsageError
from discreet.kernel import Classes, Countable, Recoding
from discreet.kernel.arrays import Ints, Label
from discreet.kernel.serialise import json_of
from discreet.releases.joins import Node, breaches, exposed, meet
from discreet.wording import fine_percent

MOST_BASES = 500
"""Minimal nodes that are tried as the one below a family."""


@dataclass(frozen=True, eq=False)
class Fingerprint:
    """One recipient's levels."""

    recipient: str
    levels: Mapping[str, int]
    loss: float
    """The share of detail that the copy loses."""


@dataclass(frozen=True, eq=False)
class Fingerprints:
    """Levels for every recipient that stay k-anonymous whichever copies are joined."""

    classes: Classes
    """The people in the data, as they are."""
    k: int
    base: Mapping[str, int]
    """What all copies joined would show."""
    kept: NDArray[np.bool_]
    """Which classes of the data are in the copies, the same in all of them."""
    recipients: tuple[Fingerprint, ...]

    @property
    def suppressed(self) -> int:
        """People who are left out of all copies."""
        return int(self.classes.sizes[~self.kept].sum())

    @cached_property
    def frameable(self) -> bool:
        """Whether some recipient can make another one's copy by coarsening his own."""
        nodes = [tuple(one.levels.values()) for one in self.recipients]
        return any(one != other and all(map(int.__le__, one, other)) for one in nodes for other in nodes)

    def of(self, recipient: str) -> Fingerprint:
        """One recipient's levels."""
        for one in self.recipients:
            if one.recipient == recipient:
                return one
        raise UsageError(f"'{recipient}' is no recipient of these fingerprints.", remedy="Plan again with all of them.")

    def recoding(self, recipient: str) -> Recoding:
        """A recipient's copy, for `Table.export`."""
        return Recoding.of_levels(self.classes, self.of(recipient).levels, kept=self.kept)

    def owner(self, levels: Mapping[str, int]) -> str | None:
        """Whose levels these are."""
        return next((one.recipient for one in self.recipients if dict(one.levels) == dict(levels)), None)

    def trace(self, values: Mapping[str, Iterable[Label]]) -> tuple[str, ...]:
        """Whose copy can hold all of these values, given per column; nobody, if it was generalised further.

        A copy is evidence, not a verdict: it may have been stolen from its recipient.
        """
        unknown = [name for name in values if name not in self.classes.names]
        if unknown:
            raise UsageError(f"Column '{unknown[0]}' has no levels.", remedy=f"Give {', '.join(self.classes.names)}.")
        held = {name: set(labels) for name, labels in values.items()}
        hierarchies = {column.name: column.hierarchy for column in self.classes.columns}
        return tuple(
            one.recipient
            for one in self.recipients
            if all(labels <= set(hierarchies[name].labels[one.levels[name]]) for name, labels in held.items())
        )

    def words(self) -> str:
        """What is offered, for people."""
        losses = [one.loss for one in self.recipients]
        blame = (
            "A recipient with finer levels can make the copy of one with coarser levels, and put the blame on that recipient."
            if self.frameable
            else "No recipient can make another recipient's copy from their own."
        )
        return (
            f"{len(self.recipients):,} recipients get levels of their own, and {self.suppressed:,} of "
            f"{self.classes.records:,} people are left out of all copies. Whichever copies are joined, everybody looks like "
            f"at least {self.k - 1:,} others. The copies lose {fine_percent(min(losses))} to {fine_percent(max(losses))} of the detail. {blame} "
            f"A recipient who generalises a copy further removes the mark."
        )

    to_dict = json_of(
        "k records=classes.records suppressed base frameable",
        recipients=lambda self: [
            {"recipient": one.recipient, "levels": dict(one.levels), "loss": one.loss} for one in self.recipients
        ],
    )

    def __repr__(self) -> str:
        return f"Fingerprints({len(self.recipients)} recipients, k={self.k}, {self.suppressed} people left out)"


def plan_fingerprints(
    data: Countable | Classes,
    recipients: Sequence[str],
    k: int = 5,
    suppression: float = 0.0,
    loss: str = "loss",
) -> Fingerprints:
    """Levels for each recipient, or a refusal that names two nodes and the people they would expose together.

    >>> from discreet.kernel import Widths
    >>> people = Classes.of(["age", "size"], [(str(n % 8), str(n // 8)) for n in range(64)] * 2,
    ...                     rules={"age": Widths((2, 4)), "size": Widths((2, 4))})
    >>> found = plan_fingerprints(people, ["north", "south"], k=2)
    >>> [tuple(one.levels.values()) for one in found.recipients], tuple(found.base.values())
    ([(0, 1), (1, 0)], (0, 0))
    """
    if not recipients or len(set(recipients)) < len(recipients):
        raise UsageError("Every recipient is named once.", remedy='For example recipients=["north", "south"].')
    best = anonymise(data, k=k, suppression=suppression, loss=loss)
    classes, limits = best.recoding.classes, best.limits
    # Without levels that merge nothing: they differ from a finer one in name only.
    steps = [_merging(ladder.distinct) for ladder in LatticeProblem.of(classes).ladders]
    seen = [
        one
        for one in sweep(classes, limits, loss=loss)
        if one.allowed and all(level in step for level, step in zip(one.node, steps, strict=True))
    ]
    seen.sort(key=lambda one: (one.loss, one.node))
    there = {one.node for one in seen}
    heights = [sum(step.index(level) for level, step in zip(one.node, steps, strict=True)) for one in seen]
    allowed = _Allowed(
        nodes=np.array([one.node for one in seen], dtype=np.int64).reshape(len(seen), len(classes.columns)),
        losses=np.array([one.loss for one in seen]),
        heights=np.array(heights, dtype=np.int64),
        bases=[place for place, one in enumerate(seen) if not any(map(there.__contains__, _below(one.node, steps)))],
    )
    chosen = _family(allowed, len(recipients))
    if chosen is None:
        # Why not: too few nodes, or what the least lossy ones would show together.
        nodes = [tuple(node.tolist()) for node in allowed.nodes]
        many = len(recipients)
        remedy = "Serve fewer recipients this way, allow more suppression or a smaller k, or use marks instead."
        raise Refused(f"{_reason(classes, nodes, many, limits)}.", remedy=remedy)
    return _made(classes, recipients, chosen, limits.k)


@dataclass(frozen=True, eq=False)
class _Allowed:
    """Nodes that suppress little enough, by loss."""

    nodes: Ints
    losses: NDArray[np.float64]
    heights: Ints
    """Steps above the finest node; nodes of one height are never one above the other."""
    bases: list[int]
    """Places of the nodes without a finer one that is allowed."""


def _below(node: Node, steps: Sequence[Sequence[int]]) -> Iterator[Node]:
    """The nodes one step finer in one column."""
    for place, (level, step) in enumerate(zip(node, steps, strict=True)):
        if level:
            yield (*node[:place], step[step.index(level) - 1], *node[place + 1 :])


def _merging(distinct: Sequence[int]) -> list[int]:
    """Levels that have fewer values than the one below."""
    return [level for level, many in enumerate(distinct) if level == 0 or many < distinct[level - 1]]


def _family(allowed: _Allowed, many: int) -> list[Node] | None:
    """The nodes of least total loss that lie above one allowed node; of equal height, if there are such."""
    best: tuple[bool, float, list[int]] | None = None
    for base in allowed.bases[:MOST_BASES]:
        above = np.flatnonzero((allowed.nodes >= allowed.nodes[base]).all(axis=1))
        heights = allowed.heights[above]
        families = [(False, above[heights == height]) for height in np.unique(heights)]
        for framed, pool in [*families, (True, above)]:
            if len(pool) < many:
                continue
            offer = (framed, float(allowed.losses[pool[:many]].sum()), pool[:many].tolist())
            best = offer if best is None or offer < best else best
    return None if best is None else [tuple(allowed.nodes[place].tolist()) for place in best[2]]


def _made(classes: Classes, recipients: Sequence[str], nodes: Sequence[Node], k: int) -> Fingerprints:
    base = meet(nodes)
    coarse = classes.at(base)
    kept = coarse.keep(coarse.sizes >= k).holds(classes)
    given = []
    for recipient, node in zip(recipients, nodes, strict=True):
        levels = dict(zip(classes.names, node, strict=True))
        given.append(Fingerprint(recipient, levels, loss_of(Recoding.of_levels(classes, levels, kept=kept))))
    return Fingerprints(classes, k, dict(zip(classes.names, base, strict=True)), kept, tuple(given))


def _reason(classes: Classes, nodes: list[Node], many: int, limits: Requirements) -> str:
    if len(nodes) < many:
        return (
            f"Only {len(nodes):,} combinations of levels have at least {limits.k:,} people in every class within the "
            f"suppression allowed; {many:,} recipients need one each"
        )
    start = f"No {many:,} combinations of levels stay safe together: "
    found = breaches(classes, nodes[:many], limits.k)
    if found:
        return start + max(found, key=lambda breach: breach.people).words(classes.names)
    below = exposed(classes, nodes[:many], limits.k)
    if below:
        return (
            f"{start}any two copies may be joined, but all of them show {below:,} people among fewer than {limits.k:,}"
        )
    left_out = classes.at(meet(nodes[:many])).suppress(below=limits.k)[1]
    return f"{start}{left_out:,} people would have to be left out of all copies, and at most {limits.suppressible:,} may be"
