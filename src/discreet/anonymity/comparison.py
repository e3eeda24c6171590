"""Comparison of candidates: the least lossy table under each of several limits, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

from discreet.anonymity.anonymise import SEARCHES, anonymise
from discreet.anonymity.losses import LOSSES
from discreet.errors import Unsatisfiable, UsageError
from discreet.kernel import Classes
from discreet.kernel.serialise import card, json_of
from discreet.risk.assessment import PolicyLike, opened
from discreet.risk.reidentification import marketer
from discreet.wording import brief_percent

KS, SHARES = (3, 5, 10), (0.0, 0.02, 0.05)


@dataclass(frozen=True)
class Candidate:
    """One choice of limits, and the best table within them; without numbers where there is none."""

    k: int
    suppression: float
    """Largest share of people who may be left out."""
    loss_name: str
    search: str
    possible: bool
    why: str = ""
    """Why there is no such table, in words."""
    loss: float | None = None
    suppressed: int | None = None
    classes: int | None = None
    average_risk: float | None = None
    """What the prosecutor achieves on average against the published table."""
    highest_risk: float | None = None
    levels: Mapping[str, int] | None = None
    """Empty where values are recoded class by class."""
    utility: Mapping[str, float] | None = None
    """Per column, the share of its detail that is retained."""

    @property
    def detail(self) -> float | None:
        """The share of detail that is retained, averaged over columns."""
        return sum(self.utility.values()) / len(self.utility) if self.utility else None

    to_dict = json_of(
        "k suppression loss_name search possible why loss suppressed classes average_risk highest_risk levels detail utility"
    )


@dataclass(frozen=True)
class TableComparison:
    """Candidates side by side, from one counting of the people."""

    records: int
    columns: tuple[str, ...]
    candidates: tuple[Candidate, ...]

    @cached_property
    def possible(self) -> tuple[Candidate, ...]:
        """Those that exist."""
        return tuple(candidate for candidate in self.candidates if candidate.possible)

    to_dict = json_of("records columns candidates")

    def __repr__(self) -> str:
        return (
            f"TableComparison({len(self.candidates)} candidates, {len(self.possible)} possible, {self.records} people)"
        )

    def _repr_html_(self) -> str:
        rows = [
            (
                f"k = {one.k}, up to {brief_percent(one.suppression)} left out",
                one.loss_name,
                one.search,
                "not possible" if one.loss is None else f"{one.loss:.6g}",
                "" if one.suppressed is None else f"{one.suppressed:,}",
                "" if one.classes is None else f"{one.classes:,}",
                "" if one.detail is None else brief_percent(one.detail),
            )
            for one in self.candidates
        ]
        head = ("candidate", "metric", "search", "loss", "suppressed", "classes", "detail retained")
        return card(f"Tables of {self.records:,} people under {len(rows)} choices of limits.", rows, head=head)


def compare(
    table: Any,
    k: int | Sequence[int] = KS,
    suppression: float | Sequence[float] = SHARES,
    loss: str | Sequence[str] = "loss",
    *,
    search: str | Sequence[str] = "optimal",
    policy: PolicyLike | None = None,
    **options: Any,
) -> TableComparison:
    """The best table for every combination of k, suppression, loss and search; further options as in `anonymise`.

    People are counted once. Losses of different metrics cannot be compared with each other.

    >>> from discreet.kernel import AnyValue
    >>> people = Classes.of(["sex"], [("F",), ("M",)], [5, 1], rules={"sex": AnyValue()})
    >>> [(one.k, one.levels) for one in compare(people, k=(1, 2, 9), suppression=0).candidates]
    [(1, {'sex': 0}), (2, {'sex': 1}), (9, None)]
    """
    people = opened(table, policy)
    choices = [_several(k), _several(suppression), _several(loss), _several(search)]
    for what, given, known in (("loss", choices[2], tuple(LOSSES)), ("search", choices[3], SEARCHES)):
        if unknown := [name for name in given if name not in known]:
            raise UsageError(f"There is no {what} named '{unknown[0]}'.", remedy=f"Choose one of: {', '.join(known)}.")
    candidates = []
    for size, share, metric, how in product(*choices):
        try:
            result = anonymise(people, k=size, suppression=share, loss=metric, search=how, **options)
        except Unsatisfiable as error:
            candidates.append(Candidate(size, share, metric, how, possible=False, why=error.problem))
            continue
        published = result.published
        left = published.records
        candidates.append(
            Candidate(
                size,
                share,
                result.loss_name,
                how,
                possible=True,
                loss=result.loss,
                suppressed=result.suppressed,
                classes=result.classes,
                average_risk=marketer(published.people_once(), published.sizes) if left else 0.0,
                highest_risk=1 / int(published.sizes.min()) if left else 0.0,
                levels=result.levels,
                utility=result.utility(),
            )
        )
    classes = people if isinstance(people, Classes) else people.classes()
    return TableComparison(classes.records, classes.names, tuple(candidates))


def _several(choice: Any) -> tuple[Any, ...]:
    """One choice, or several without doubles; an empty list is refused."""
    several = (
        tuple(dict.fromkeys(choice)) if isinstance(choice, Sequence) and not isinstance(choice, str) else (choice,)
    )
    if not several:
        raise UsageError("There is nothing to compare.", remedy="Give at least one k, suppression, loss and search.")
    return several
