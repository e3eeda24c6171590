"""Feasibility of decoys in a table, for one limit or a grid of them."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from discreet.anonymity import LOSSES, anonymise
from discreet.anonymity.lattice import problem as lattice_problem
from discreet.anonymity.lattice.evaluate import BySize, Evaluate
from discreet.anonymity.lattice.exact import Search
from discreet.anonymity.lattice.problem import LatticeProblem, Node, NodeOutcome
from discreet.anonymity.lattice.search import BoundedSearch
from discreet.anonymity.losses import make_loss
from discreet.errors import PopulationError, UsageError
from discreet.kernel import Classes, Countable
from discreet.kernel.arrays import Floats, Ints
from discreet.kernel.serialise import card, json_of
from discreet.releases.population_link import BoxLinked, Linked, population_at


# Can decoys be put into a table so that anyone who re-identifies people is likely to hit one?
#
# After AnonTokens (Antonatos, Braghin, Holohan, MacAonghusa), Section 5 and Algorithm 1.
@dataclass(frozen=True, eq=False)
class Feasibility:
    """Room for decoys in the least lossy table within the limits."""

    k: int
    suppression: float
    """The largest share of people left out."""
    loss_name: str
    levels: Mapping[str, int]
    """The level of each column."""
    loss: float
    records: int
    """People in the data."""
    suppressed: int
    """People who are left out."""
    classes: int
    """Classes that are released."""
    close_to_k: int
    """Of these, classes of k to 1.1 k people."""
    population: int
    """People in the population."""
    min_link: int
    """The least number of people of the population in a released class; 0 where nothing is released."""
    candidate_classes: int
    """Classes of the population that are not released, of at least k and fewer than `min_link` people."""
    candidate_records: int
    """People of the population in them."""
    candidates_without_subjects: int
    """Candidates in which nobody of the data was left out."""
    factors: Floats
    """Per candidate, how many times riskier it is than the riskiest released class; the largest first."""
    uncovered: int
    """Released classes that the population does not show; left out of `min_link`."""
    uncovered_records: int
    """Released people in them."""

    @classmethod
    def of(cls, linked: Linked | BoxLinked, *, suppression: float, loss: float, loss_name: str) -> Feasibility:
        """From the data beside the population at the node that was chosen."""
        candidates = linked.candidates
        factors = candidates.factors.copy()
        factors[::-1].sort()
        factors.flags.writeable = False
        return cls(
            k=linked.k,
            suppression=suppression,
            loss_name=loss_name,
            levels=linked.levels,
            loss=loss,
            records=linked.records,
            suppressed=linked.suppressed.records,
            classes=len(linked.released),
            close_to_k=linked.close_to_k,
            population=linked.population.records,
            min_link=linked.min_link,
            candidate_classes=len(candidates),
            candidate_records=int(candidates.links.sum()),
            candidates_without_subjects=int((candidates.subjects == 0).sum()),
            factors=factors,
            uncovered=int(linked.uncovered.sum()),
            uncovered_records=linked.uncovered_records,
        )

    @property
    def max_factor(self) -> float:
        """The largest risk multiplication factor; 0 where there is no candidate."""
        return float(self.factors[0]) if len(self.factors) else 0.0

    @property
    def quartiles(self) -> tuple[float, ...]:
        """The factors summed up: the least, the quartiles and the largest; nothing where there is no candidate."""
        return tuple(np.quantile(self.factors, [0, 0.25, 0.5, 0.75, 1]).tolist()) if len(self.factors) else ()

    @property
    def sampling(self) -> float:
        """The share of the population that is in the data."""
        return self.records / self.population

    def words(self) -> str:
        """What was found, for people."""
        if not self.classes:
            return "Nobody would be released, so there is nothing to put decoys into."
        look_alikes = (
            f"Every released person has at least {self.min_link:,} look-alikes in the population of {self.population:,}"
        )
        if not self.candidate_classes:
            return f"{look_alikes}, and no class of {self.k:,} or more people in it is smaller: there is no room for decoys."
        return (
            f"{look_alikes}; {self.candidate_classes:,} classes that are not released have fewer, but at least {self.k:,}. "
            f"A decoy there is up to {self.max_factor:.2f} times as risky as the riskiest real person. "
            f"{self.candidates_without_subjects:,} of them hold nobody who was left out of the data."
        )

    to_dict = json_of(
        "k suppression levels loss loss_name records suppressed classes close_to_k population sampling "
        "min_link candidate_classes candidate_records candidates_without_subjects max_factor quartiles "
        "factors uncovered uncovered_records"
    )

    def __repr__(self) -> str:
        return (
            f"Feasibility(k={self.k}, {self.candidate_classes} candidates, least link count {self.min_link}, "
            f"largest factor {self.max_factor:.3g})"
        )

    def _repr_html_(self) -> str:
        rows = [
            ("People left out", f"{self.suppressed:,} of {self.records:,}"),
            ("Classes released", f"{self.classes:,}"),
            ("Classes of k to 1.1 k people", f"{self.close_to_k:,}"),
            ("Least link count", f"{self.min_link:,}"),
            ("Candidates for decoys", f"{self.candidate_classes:,}"),
            ("People of the population in them", f"{self.candidate_records:,}"),
            ("Candidates without people of the data", f"{self.candidates_without_subjects:,}"),
            ("Largest risk factor", f"{self.max_factor:.4g}"),
            ("Released classes the population does not show", f"{self.uncovered:,}"),
        ]
        return card(self.words(), rows)


def feasibility(
    data: Countable | Classes,
    population: Countable | Classes,
    k: int = 5,
    suppression: float = 0.1,
    loss: str = "dm_star",
    search: str = "optimal",
) -> Feasibility:
    """Anonymise the data and count in which classes of the population decoys could be put.

    With `search` mondrian or mondrian-relaxed people are published in boxes, and candidates are classes of the values as they
    came, of people in no box; there is no loss to choose.

    `data` and `population` are tables or classes, one row per person or counts. A population that was read without a
    policy is read by the data's.

    >>> people = Classes.of(["zip"], [("1",), ("2",), ("3",)], [6, 5, 1])
    >>> everybody = Classes.of(["zip"], [("1",), ("2",), ("3",), ("4",)], [60, 40, 9, 3])
    >>> feasibility(people, everybody, k=3)
    Feasibility(k=3, 2 candidates, least link count 40, largest factor 13.3)
    """
    everybody = population_classes(data, population)
    if search != "optimal":
        boxes = anonymise(data, k=k, suppression=suppression, search=search)
        links = BoxLinked.of(boxes, everybody)
        return Feasibility.of(links, suppression=float(suppression), loss=boxes.loss, loss_name=boxes.loss_name)
    anonymised = anonymise(data, k=k, suppression=suppression, loss=loss)
    linked = Linked.of(anonymised, everybody)
    return Feasibility.of(linked, suppression=float(suppression), loss=anonymised.loss, loss_name=loss)


def population_classes(data: Countable | Classes, population: Countable | Classes) -> Classes:
    """The population counted by the columns of the data."""
    for given, what in ((data, "data"), (population, "population")):
        if not isinstance(given, Classes | Countable):
            raise UsageError(
                f"The {what} is a table or classes, not a {type(given).__name__}.",
                remedy="Read it first: discreet.read(source, policy=policy).",
            )
    if isinstance(population, Classes):
        return population
    from discreet.sources import Table

    names = data.names if isinstance(data, Classes) else data.classes().names
    # A population that was read without a policy generalises as the data do.
    policy = data.policy if isinstance(data, Table) else None
    if policy is not None and isinstance(population, Table) and population.policy is None:
        population = Table(population.engine, policy.for_population())
    return population.classes(names)


KS = (2, 5, 10, 20, 50)
SUPPRESSIONS = (0.0, 0.02, 0.05, 0.1, 0.15)
"""The limits of the paper's Tables 4 and 5."""


@dataclass(frozen=True, eq=False)
class Cell:
    """One pair of limits: what is feasible, or why nothing is."""

    k: int
    suppression: float
    found: Feasibility | None
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """For JSON; factors are summed up by their quartiles."""
        if self.found is None:
            return {"k": self.k, "suppression": self.suppression, "reason": self.reason}
        figures = {name: figure for name, figure in self.found.to_dict().items() if name != "factors"}
        return {**figures, "reason": None}


@dataclass(frozen=True, eq=False)
class FeasibilityGrid:
    """Feasibility for every pair of a least class size and a share of suppression."""

    records: int
    population: int
    loss_name: str
    cells: tuple[Cell, ...]
    """By k, then by suppression."""
    counted: int | None
    """Nodes of the lattice that were counted, each once; None where every cell was searched for itself."""
    nodes: int

    @property
    def ks(self) -> tuple[int, ...]:
        """The least class sizes."""
        return tuple(dict.fromkeys(cell.k for cell in self.cells))

    @property
    def suppressions(self) -> tuple[float, ...]:
        """The shares of suppression."""
        return tuple(dict.fromkeys(cell.suppression for cell in self.cells))

    @property
    def feasible(self) -> tuple[Feasibility, ...]:
        """What was found, without the cells where nothing is."""
        return tuple(cell.found for cell in self.cells if cell.found is not None)

    def at(self, k: int, suppression: float) -> Cell:
        """One cell."""
        for cell in self.cells:
            if (cell.k, cell.suppression) == (k, suppression):
                return cell
        raise UsageError(f"The grid has no cell at k = {k} and suppression {suppression:g}.")

    to_dict = json_of("records population loss_name counted nodes cells")

    def __repr__(self) -> str:
        return f"FeasibilityGrid({len(self.ks)} x {len(self.suppressions)} limits, {self.nodes} nodes)"


def feasibility_grid(
    data: Countable | Classes,
    population: Countable | Classes,
    ks: Sequence[int] = KS,
    suppressions: Sequence[float] = SUPPRESSIONS,
    loss: str = "dm_star",
    search: str = "optimal",
) -> FeasibilityGrid:
    """`feasibility` for every pair of limits, the same as cell by cell, from one histogram and shared roll-ups.

    >>> people = Classes.of(["zip"], [("1",), ("2",), ("3",)], [6, 5, 1])
    >>> everybody = Classes.of(["zip"], [("1",), ("2",), ("3",), ("4",)], [60, 40, 9, 3])
    >>> grid = feasibility_grid(people, everybody, ks=[2, 5], suppressions=[0.0, 0.1])
    >>> [cell.found.candidate_classes if cell.found else None for cell in grid.cells]
    [None, 2, None, 1]
    """
    if loss not in LOSSES:
        raise UsageError(f"There is no loss named '{loss}'.", remedy=f"Choose one of: {', '.join(LOSSES)}.")
    if not ks or not suppressions:
        raise UsageError("The grid is empty.", remedy="Give at least one k and one share of suppression.")
    limits: list[tuple[Any, float]] = list(product(ks, suppressions))
    for k, share in limits:
        if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
            raise UsageError("k is a whole number from 1 up.", remedy="k = 5 means: at least five people look alike.")
        if not 0 <= share <= 1:
            raise UsageError("suppression is a share from 0 to 1.", remedy="0.05 means: at most 5 % of the people.")
    everybody = population_classes(data, population)
    if search != "optimal":
        boxes = tuple(_boxes_cell(data, everybody, k, float(share), search) for k, share in limits)
        records = anonymise(data, k=1, loss="precision").records
        return FeasibilityGrid(records, everybody.records, "loss", boxes, None, 0)
    # Looks at the table as `feasibility` does, and refuses what it refuses.
    classes = anonymise(data, k=1, loss="precision").recoding.classes
    sheet = _Sheet(classes, everybody, loss, ks)
    cells = tuple(sheet.cell(k, float(share)) for k, share in limits)
    counted = len(sheet.sizes.outcomes) if sheet.sizes else None
    return FeasibilityGrid(classes.records, everybody.records, loss, cells, counted, sheet.problem.nodes)


def _boxes_cell(data: Countable | Classes, everybody: Classes, k: int, suppression: float, search: str) -> Cell:
    """One pair of limits, recoded class by class."""
    try:
        return Cell(k, suppression, feasibility(data, everybody, k, suppression, search=search))
    except (UsageError, PopulationError) as error:
        return Cell(k, suppression, None, error.problem)


class _SeveralSizes(BySize):
    """Evaluates a node for several k at once, and remembers it; its tuples are not kept."""

    def __init__(self, problem: LatticeProblem, ks: Sequence[int]) -> None:
        super().__init__(problem, k=max(ks))
        self.ks = sorted(set(ks))
        self.outcomes: dict[Node, dict[int, NodeOutcome]] = {}

    def sieve(self, k: int) -> Evaluate:
        """The evaluation for one k."""

        def evaluate(node: Node) -> NodeOutcome:
            if node not in self.outcomes:
                # The outcome for each k, from the small classes in order of their sizes.
                counts = self.counter.sizes(node)
                squares, few = int(counts @ counts), np.sort(counts[counts < self.k])
                people, hidden = (np.concatenate([[0], np.cumsum(each)]) for each in (few, few * few))
                classes = dict(zip(self.ks, np.searchsorted(few, self.ks).tolist(), strict=True))
                self.outcomes[node] = {
                    least: NodeOutcome(
                        node,
                        int(people[small]),
                        len(counts) - small,
                        squares,
                        squares - int(hidden[small]),
                        partial(self._hidden_at, node, least),
                    )
                    for least, small in classes.items()
                }
            return self.outcomes[node][k]

        return evaluate

    def _hidden_at(self, node: Node, k: int) -> tuple[Ints, ...]:
        return BySize(self.problem, k=k)(node).hidden


class _Sheet:
    """Everything the cells of a grid share."""

    def __init__(self, classes: Classes, everybody: Classes, loss: str, ks: Sequence[int]) -> None:
        self.classes, self.everybody, self.loss = classes, everybody, loss
        self.problem = LatticeProblem.of(classes)
        self.sizes = _SeveralSizes(self.problem, ks) if self.problem.packs else None
        self.populations: dict[Node, Classes] = {}

    def cell(self, k: int, suppression: float) -> Cell:
        """What `feasibility` finds for one pair of limits."""
        try:
            node, loss = self._optimum(k, suppression)
            data = self.classes.at(node)
            # From the smallest node that was looked at and is nowhere coarser.
            if node not in self.populations:
                finer = [classes for other, classes in self.populations.items() if all(map(operator.le, other, node))]
                self.populations[node] = population_at(min(finer, key=len, default=self.everybody), data)
            linked = Linked(data, np.asarray(data.sizes >= k), self.populations[node], k).checked()
            feasible = Feasibility.of(linked, suppression=suppression, loss=loss, loss_name=self.loss)
        except (UsageError, PopulationError) as error:
            return Cell(k, suppression, None, error.problem)
        return Cell(k, suppression, feasible)

    def _optimum(self, k: int, suppression: float) -> tuple[Node, float]:
        """The least lossy node within the limits, and its loss."""
        if self.sizes is None:
            best = anonymise(self.classes, k=k, suppression=suppression, loss=self.loss)
            return tuple(best.levels.values()), best.loss
        limit = math.floor(Fraction(str(suppression)) * self.problem.people)
        measure = make_loss(self.loss, self.problem, smallest=k, by_size=True)
        search = BoundedSearch if self.problem.nodes > lattice_problem.MOST_NODES else Search
        found = search(
            self.problem, loss=measure, limit=limit, sieve=self.sizes.sieve(k), judge=None, watch=lambda _: True
        ).run()
        if found.outcome is None or k > self.problem.people:
            raise UsageError(f"No combination of levels has {k:,} people in every class within that suppression.")
        return self.problem.levels(found.outcome.node), found.loss
