"""Result of anonymising: the recoding, its loss, and the certificate of optimality."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.given_levels import Optimum
from discreet.anonymity.lattice.exact import SearchResult
from discreet.anonymity.losses import BY_CLASS
from discreet.anonymity.utility import UtilityMeasures, utility_measures
from discreet.errors import MissingExtra, UsageError
from discreet.kernel import Classes, Column, Recoding
from discreet.kernel.arrays import Floats, Ints
from discreet.kernel.serialise import card, json_of
from discreet.risk import Assessment, assess
from discreet.risk.assessment import Surveyed
from discreet.risk.giveaways import Sampled
from discreet.wording import brief_percent


# Why nothing better exists, or how far the best found may be from it.
@dataclass(frozen=True)
class Certificate:
    """An account of a search that anybody can check by looking at the nodes themselves."""

    search: str
    nodes: int
    """Nodes of the lattice."""
    evaluated: int
    """Nodes whose classes were counted."""
    too_much_suppressed: int
    """Nodes ruled out because a coarser one already suppresses too much to be allowed or to be better."""
    too_costly: int
    """Nodes ruled out because their lower bound exceeds the loss of the result."""
    lower_bound: float
    """No allowed node costs less."""
    loss: float
    optimal: bool
    """Whether the result is proven to be the best there is."""
    restricted: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Columns of which not all levels were allowed: the lowest and the highest."""

    @classmethod
    def of(cls, found: SearchResult, search: str, columns: Sequence[Column] = ()) -> Certificate:
        """From what a search found on some columns."""
        proven = found.complete and search != "ola"
        bound = found.loss if proven else 0.0 if search == "ola" else found.bound
        return cls(
            search,
            found.nodes,
            found.evaluated,
            found.too_much_suppressed,
            found.too_costly,
            bound if math.isfinite(bound) else 0.0,
            found.loss,
            proven,
            {
                column.name: (column.at_least, column.highest)
                for column in columns
                if column.at_least or column.at_most is not None
            },
        )

    def words(self) -> str:
        """The certificate as a sentence or two."""
        ranges = [f"{name} from level {low} to {high}" for name, (low, high) in self.restricted.items()]
        within = f" ({', '.join(ranges)})" if ranges else ""
        looked = f"Of {self.nodes:,} combinations of levels{within} {self.evaluated:,} were counted"
        if self.search == "ola":
            return f"{looked}. This is the best of the minimal ones, as published; a better one may exist above them."
        if not self.optimal:
            return f"{looked} before the search was stopped. No combination costs less than {self.lower_bound:.6g}; this one costs {self.loss:.6g}."
        suppress = f"{self.too_much_suppressed:,} because a coarser one already suppresses too much"
        cost = f"{self.too_costly:,} because their lower bound exceeds the loss of this one"
        return f"{looked}; the others were ruled out: {suppress}, {cost}. Nothing better exists."

    to_dict = json_of(words=lambda self: self.words())


@runtime_checkable
class Exportable(Protocol):
    """A table that can write itself recoded."""

    def export(self, recoding: Recoding, target: str | Path, *, overwrite: bool = False) -> int:
        """Apply a recoding where the rows live; the number of rows written."""

    def arrow(self, recoding: Recoding) -> Any:
        """The same rows as an Arrow table."""

    def formulas(self, recoding: Recoding, target: str | Path) -> dict[str, Any] | None:
        """What became of cells that a spreadsheet would run."""


def _require(package: str, method: str) -> Any:
    """A package of the extra `frames`, before any work is done for it."""
    try:
        return import_module(package)
    except ImportError:
        raise MissingExtra("frames", needed_for=f".{method}()") from None


AS_IT_IS = "as it is"


def treatment(level: int, height: int) -> str:
    """What is done to a column at one level of its hierarchy.

    >>> treatment(2, 6), treatment(0, 6)
    ('generalised to level 2 of 5', 'as it is')
    """
    return f"generalised to level {level} of {height - 1}" if level else AS_IT_IS


@dataclass(frozen=True, eq=False)
class Anonymised:
    """The result of anonymising a table."""

    levels: Mapping[str, int]
    """The level of each column; empty where values were recoded class by class."""
    loss: float
    loss_name: str
    suppressed: int
    """People who are left out, or lose at least one of their rows."""
    classes: int
    """Classes that are published."""
    evaluated: int
    """Nodes whose classes were counted."""
    requirements: tuple[str, ...]
    """What every published class satisfies, in words."""
    certificate: Certificate | None
    """Why nothing better exists; None where that is not claimed."""
    search: str
    """How it was found."""
    recoding: Recoding
    table: Any = field(default=None, repr=False)
    population: Any = field(default=None, repr=False)
    limits: Any = field(default=None, repr=False)
    """What was required, for looking at other nodes under the same limits."""
    optimum: Optimum | None = None
    """What a search would have chosen, where levels were given."""

    @property
    def records(self) -> int:
        """People in the data."""
        return self.recoding.classes.records

    @property
    def rows(self) -> int | None:
        """Rows in the data, where the policy says whose row it is."""
        policy = getattr(self.table, "policy", None)
        several = self.recoding.classes.members is not None or (policy is not None and policy.several_rows)
        return int(self.recoding.classes.rows.sum()) if several else None

    @property
    def suppressed_rows(self) -> int:
        """Rows that are left out: as many as people, unless a person may have several."""
        return self.recoding.suppressed_rows

    @property
    def exceeded(self) -> bool:
        """Whether more rows miss the limits than may be left out; only given levels can do that."""
        return self.limits is not None and self.suppressed_rows > self.limits.suppressible

    @property
    def columns(self) -> dict[str, dict[str, str]]:
        """Every column of the published table: its role in the policy, and what was done to it."""
        roles: Mapping[str, str] = getattr(self.table, "published", None) or dict.fromkeys(self.recoding.names, "quasi")
        done = dict.fromkeys(roles, AS_IT_IS)
        for column in self.recoding.classes.columns:
            levels = column.hierarchy.height
            done[column.name] = treatment(self.levels[column.name], levels) if self.levels else "recoded class by class"
        return {name: {"role": role, "treatment": done[name]} for name, role in roles.items()}

    @property
    def settings(self) -> dict[str, dict[str, float]]:
        """What the policy says about the detail of columns: weight, at_least, at_most."""
        found = {}
        for column in self.recoding.classes.columns:
            said = {"weight": column.weight, "at_least": column.at_least, "at_most": column.at_most}
            usual = {"weight": 1.0, "at_least": 0, "at_most": None}
            if own := {key: value for key, value in said.items() if value is not None and value != usual[key]}:
                found[column.name] = own
        return found

    def settings_words(self) -> list[str]:
        """The same in words, one for each column."""
        words = []
        for name, said in self.settings.items():
            weight = [f"weight {said['weight']:g}"] if "weight" in said else []
            if weight and self.loss_name in BY_CLASS:
                weight = [f"{weight[0]}, without effect: {self.loss_name} looks at the sizes of classes only"]
            words.append(
                f"{name}: "
                + ", ".join(
                    [
                        *weight,
                        *(
                            f"{key.replace('_', ' ')} level {said[key]}"
                            for key in ("at_least", "at_most")
                            if key in said
                        ),
                    ]
                )
            )
        return words

    @cached_property
    def published(self) -> Classes:
        """The published classes, with their hierarchies where levels are uniform."""
        if not self.levels:
            return self.recoding.published
        return self.recoding.classes.keep(self.recoding.kept).at(self.levels)

    def assess(self, population: Any = None, threshold: float | None = None) -> Assessment:
        """The risk that remains."""
        crowd = self.population if population is None else population
        published = self.published
        if isinstance(self.table, Surveyed):
            sample = self.table.surveyed(self.recoding.classes)
            if sample.survey is not None:
                published = replace(self, recoding=replace(self.recoding, classes=sample)).published
        return assess(published, population=crowd if self.levels else None, threshold=threshold)

    def write(self, target: str | Path, *, overwrite: bool = False) -> int:
        """Write the published table, verified class by class before it takes its place; the number of rows."""
        return self._leaving().export(self.recoding, target, overwrite=overwrite)

    def formulas(self, target: str | Path) -> dict[str, Any] | None:
        """What becomes of cells that a spreadsheet would run: `mode`, and how many `cells` are changed.

        None unless the target is a CSV.
        """
        return self._leaving().formulas(self.recoding, target)

    def to_arrow(self) -> Any:
        """The published table as an Arrow table, refused, verified and shuffled as `write` does."""
        _require("pyarrow", "to_arrow")
        return self._leaving().arrow(self.recoding)

    def to_pandas(self) -> Any:
        """The published table as a pandas frame: see `to_arrow`."""
        _require("pandas", "to_pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """The published table as a polars frame: see `to_arrow`."""
        return _require("polars", "to_polars").from_arrow(self.to_arrow())

    def _leaving(self) -> Exportable:
        """The table whose rows are published, where there is one."""
        if not isinstance(self.table, Exportable):
            raise UsageError(
                "Only a table can be written, not classes.", remedy="Anonymise what discreet.read returned."
            )
        if self.exceeded:
            raise UsageError(
                f"At these levels {self.suppressed_rows:,} {'people' if self.rows is None else 'rows'} miss the limits, and "
                f"at most {self.limits.suppressible:,} may be left out.",
                remedy="Allow more suppression, give coarser levels, or let them be searched.",
            )
        return self.table

    def utility(self) -> dict[str, float]:
        """Per column, the share of its information that is kept: 1 untouched, 0 gone."""
        lost = (column_loss(self.recoding, place) for place in range(len(self.recoding.names)))
        return {name: 1 - min(share, 1.0) for name, share in zip(self.recoding.names, lost, strict=True)}

    def measures(self, *, target: str | None = None) -> UtilityMeasures:
        """What analyses find in the published table, beside what they find in the data.

        With `target`, also how well a classifier predicts that column from the others. Rows are read for this: all, or
        a random sample of them.
        """
        if not isinstance(self.table, Sampled):
            raise UsageError(
                "Rows are compared, and classes have none.", remedy="Anonymise what discreet.read returned."
            )
        policy = getattr(self.table, "policy", None)
        rules = {name: policy.rule(name) for name in self.table.published} if policy else {}
        return utility_measures(
            self.table, self.recoding, rules=rules, count=policy.count if policy else None, target=target
        )

    to_dict = json_of(
        "levels loss loss_name records rows suppressed suppressed_rows classes evaluated search requirements settings exceeded optimum "
        "published=columns",
        certificate=lambda self: self.certificate and {**self.certificate.to_dict(), "published": self.columns},
        utility=lambda self: self.utility(),
    )

    def __repr__(self) -> str:
        return (
            f"Anonymised({self.loss_name} {self.loss:.6g}, {self.suppressed} of {self.records} people suppressed, "
            f"{self.classes} classes)"
        )

    def _repr_html_(self) -> str:
        kept = {name: brief_percent(share) for name, share in self.utility().items()}
        levels = [(name, self.levels.get(name, "class by class"), share) for name, share in kept.items()]
        proof = "" if self.certificate is None else f" {self.certificate.words()}"
        words = (
            f"{self.published.records:,} of {self.records:,} people in {self.classes:,} classes; "
            f"{'; '.join(self.requirements)}.{proof}"
        )
        return card(words, levels, head=("column", "level", "kept"))


# The loss of a recoding, class by class: how much of its hierarchy each published value covers.
def loss_of(recoding: Recoding) -> float:
    """The share of detail that is lost, over all columns by their weights: `prod(1 + w v)**(1/m) - 1`.

    Where intervals are published, the hierarchy does not say what is in them: there the share of a value is that of
    the values in the data which its interval holds.

    >>> from discreet.kernel import Classes
    >>> people = Classes.of(["sex"], [("F",), ("M",)], [5, 1])
    >>> loss_of(Recoding.of_levels(people, {"sex": 0}, kept=np.array([True, True])))
    0.0
    """
    factors = [
        1.0 + column.weight * column_loss(recoding, place) for place, column in enumerate(recoding.classes.columns)
    ]
    return float(np.prod(factors) ** (1 / max(len(factors), 1))) - 1.0


def column_loss(recoding: Recoding, place: int) -> float:
    """v = max(0, (sum of shares + suppressed - N/n) / (N - N/n)), with N people and n leaves."""
    column, labels = recoding.classes.columns[place], recoding.labels[place]
    # The distinct pairs of a value and what it is published as, and the share of the column behind the latter.
    pairs = np.unique((recoding.classes.codes[place] * len(labels) + recoding.codes[place])[recoding.kept])
    values, codes = pairs // len(labels), pairs % len(labels)
    index, share = {label: code for code, label in enumerate(labels)}, np.full(len(values), -1.0)
    hierarchy = column.hierarchy
    for level in range(hierarchy.height - 1, column.level - 1, -1):
        above = hierarchy.map(column.level, level)[values]
        shown = np.array([index.get(label, -1) for label in hierarchy.labels[level]], dtype=np.int64)[above]
        share = np.where(shown == codes, hierarchy.leaves[level][above] / hierarchy.size, share)
    leaves, whole = hierarchy.size, _most(codes, share, len(labels))
    if (share < 0).any():
        # Intervals: the share of the values between the least and the greatest with each published value.
        numbers, leaves = column.hierarchy.numbers(column.level), len(column.labels)
        ranks = np.arange(leaves) if numbers is None else np.argsort(np.argsort(numbers, kind="stable"), kind="stable")
        low, high = -_most(codes, -ranks[values], len(labels)), _most(codes, ranks[values], len(labels))
        whole = (high - low + 1) / leaves
    rows, kept = recoding.classes.rows, recoding.kept
    shares, people = float((whole[recoding.codes[place][kept]] * rows[kept]).sum()), int(rows.sum())
    least = people / leaves
    return max(0.0, (shares + recoding.suppressed_rows - least) / (people - least)) if leaves > 1 and people else 0.0


def _most(codes: Ints, numbers: NDArray[np.generic], shown: int) -> Floats:
    """The greatest number with each code."""
    most = np.full(shown, -np.inf)
    np.maximum.at(most, codes, numbers)
    return most
