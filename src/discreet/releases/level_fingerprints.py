"""Fingerprints by generalisation: each recipient gets levels of its own, so that a copy tells whose it is.

After Schrittwieser et al. (2011). Copies of different levels can be joined on other columns, and then show the finer
level of each; families chosen without care leave people below k that way. So a family is offered only if all of its
nodes are above one node that is itself k-anonymous, and every copy leaves out the same people: then any number of copies
joined show no more than that node does, and each of its classes has k people.

Levels that a recipient could reach from their own by coarsening would let them put the blame on another. Families in
which nobody can do that are taken first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.anonymity import anonymise, sweep
from discreet.anonymity.lattice.problem import LatticeProblem
from discreet.anonymity.limits import Requirements
from discreet.anonymity.result import loss_of
from discreet.errors import Refused, UsageError
from discreet.kernel import Classes, Countable, Recoding
from discreet.kernel.arrays import Flags, Floats, Label
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
    kept: Flags
    """Which classes of the data are in the copies, the same in all of them."""
    recipients: tuple[Fingerprint, ...]

    @property
    def suppressed(self) -> int:
        """People who are left out of all copies."""
        return int(self.classes.sizes[~self.kept].sum())

    @cached_property
    def frameable(self) -> bool:
        """Whether some recipient can make another one's copy by coarsening their own."""
        nodes = [tuple(one.levels.values()) for one in self.recipients]
        return any(one != other and all(map(int.__le__, one, other)) for one in nodes for other in nodes)

    def of(self, recipient: str) -> Fingerprint:
        """One recipient's levels."""
        for given in self.recipients:
            if given.recipient == recipient:
                return given
        raise UsageError(f"'{recipient}' is no recipient of these fingerprints.", remedy="Plan again with all of them.")

    def recoding(self, recipient: str) -> Recoding:
        """A recipient's copy, for `Table.export`."""
        return Recoding.of_levels(self.classes, self.of(recipient).levels, kept=self.kept)

    def owner(self, levels: Mapping[str, int]) -> str | None:
        """Whose levels these are."""
        return next((one.recipient for one in self.recipients if dict(one.levels) == dict(levels)), None)

    def trace(self, values: Mapping[str, Iterable[Label]]) -> tuple[str, ...]:
        """Recipients whose copies can hold all of these values; evidence, not a verdict: copies can be stolen."""
        if unknown := [name for name in values if name not in self.classes.names]:
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

    to_dict = json_of("k records=classes.records suppressed base frameable recipients")

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
    classes, limits, many = best.recoding.classes, best.limits, len(recipients)
    # Without levels that merge nothing: they differ from a finer one in name only.
    steps = [
        [
            ladder.first + step
            for step, values in enumerate(ladder.distinct)
            if step == 0 or values < ladder.distinct[step - 1]
        ]
        for ladder in LatticeProblem.of(classes).ladders
    ]
    allowed = [
        swept
        for swept in sweep(classes, limits, loss=loss)
        if swept.allowed and all(level in step for level, step in zip(swept.node, steps, strict=True))
    ]
    allowed.sort(key=lambda swept: (swept.loss, swept.node))
    nodes = [swept.node for swept in allowed]
    chosen = _least_lossy_family(nodes, np.array([swept.loss for swept in allowed]), steps, many)
    if chosen is None:
        remedy = "Serve fewer recipients this way, allow more suppression or a smaller k, or use marks instead."
        raise Refused(f"{_why_no_family(classes, nodes, many, limits)}.", remedy=remedy)
    base = meet(chosen)
    coarse = classes.at(base)
    kept = coarse.keep(coarse.sizes >= limits.k).holds(classes)
    given = []
    for recipient, node in zip(recipients, chosen, strict=True):
        levels = dict(zip(classes.names, node, strict=True))
        given.append(Fingerprint(recipient, levels, loss_of(Recoding.of_levels(classes, levels, kept=kept))))
    return Fingerprints(classes, limits.k, dict(zip(classes.names, base, strict=True)), kept, tuple(given))


def _least_lossy_family(
    nodes: list[Node], losses: Floats, steps: Sequence[Sequence[int]], many: int
) -> list[Node] | None:
    """The nodes of least total loss above one allowed node; of equal height, if there are such."""
    # Height is the steps above the finest node: nodes of one height are never one above the other.
    ranks = [[step.index(level) for level, step in zip(node, steps, strict=True)] for node in nodes]
    by_rank = {tuple(rank) for rank in ranks}
    table = np.array(ranks, dtype=np.int64).reshape(len(nodes), len(steps))
    heights, best = table.sum(axis=1), None
    # Only nodes without a finer one that is allowed are tried as the one below.
    lowest = [
        place
        for place, rank in enumerate(ranks)
        if not any((*rank[:at], rank[at] - 1, *rank[at + 1 :]) in by_rank for at in range(len(rank)))
    ]
    for base in lowest[:MOST_BASES]:
        above = np.flatnonzero((table >= table[base]).all(axis=1))
        families = [(False, above[heights[above] == height]) for height in np.unique(heights[above])]
        for framed, pool in [*families, (True, above)]:
            if len(pool) >= many:
                offer = (framed, float(losses[pool[:many]].sum()), pool[:many].tolist())
                best = offer if best is None or offer < best else best
    return None if best is None else [nodes[place] for place in best[2]]


def _why_no_family(classes: Classes, nodes: list[Node], many: int, limits: Requirements) -> str:
    """Too few nodes, or what the least lossy ones would show together."""
    if len(nodes) < many:
        return (
            f"Only {len(nodes):,} combinations of levels have at least {limits.k:,} people in every class within the "
            f"suppression allowed; {many:,} recipients need one each"
        )
    start = f"No {many:,} combinations of levels stay safe together: "
    pairs = breaches(classes, nodes[:many], limits.k)
    if pairs:
        return start + max(pairs, key=lambda breach: breach.people).words(classes.names)
    below = exposed(classes, nodes[:many], limits.k)
    if below:
        return (
            f"{start}any two copies may be joined, but all of them show {below:,} people among fewer than {limits.k:,}"
        )
    left_out = classes.at(meet(nodes[:many])).suppress(below=limits.k)[1]
    return f"{start}{left_out:,} people would have to be left out of all copies, and at most {limits.suppressible:,} may be"
