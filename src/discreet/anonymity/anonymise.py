"""`discreet.anonymise`: the least lossy table within a limit, and its frontier."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from discreet.anonymity.lattice.levels import choose_levels, stopwatch
from discreet.anonymity.lattice.search import Watch
from discreet.anonymity.limits import Demands, Requirements
from discreet.anonymity.losses import LOSSES
from discreet.anonymity.result import Anonymised
from discreet.attacker import Attack
from discreet.errors import HierarchyError, UsageError
from discreet.kernel import Classes, Countable
from discreet.kernel.serialise import json_of
from discreet.risk.assessment import Governed

RECODINGS = ("local", "mondrian", "mondrian-relaxed")
"""Searches that look for a level per class rather than per column."""
SEARCHES = ("optimal", "best", "ola", *RECODINGS)


@runtime_checkable
class Personal(Protocol):
    """A table that knows whether each of its rows is a person of their own."""

    def refuse_several_rows_a_person(self) -> None:
        """Stop if rows would be counted as people who are fewer."""
        ...


def anonymise(
    table: Countable | Classes,
    k: int | None = None,
    suppression: float = 0.0,
    loss: str = "loss",
    *,
    diversity: Any = None,
    closeness: Any = None,
    presence: tuple[float, float] | None = None,
    k_map: int | None = None,
    max_risk: float | None = None,
    risk_model: str = "prosecutor",
    average_risk: float | None = None,
    attack: Attack | None = None,
    population: Countable | Classes | None = None,
    search: str = "optimal",
    engine: str = "auto",
    time_limit: float | None = None,
    clock: Callable[[], float] | None = None,
    watch: Watch | None = None,
) -> Anonymised:
    """The least lossy generalisation whose classes satisfy every requirement, suppressing at most a share of people.

    With `attack` the limit `max_risk` is held against a planning adversary instead of one who guesses once.

    >>> from discreet.kernel import AnyValue, Widths
    >>> people = Classes.of(["sex", "age"], [("F", "30"), ("F", "31"), ("M", "30"), ("M", "31")],
    ...                     rules={"sex": AnyValue(), "age": Widths((10,))})
    >>> anonymise(people, k=2).levels
    {'sex': 0, 'age': 1}
    """
    counted: tuple[object, ...] = (table, population)
    for people in counted:
        if isinstance(people, Personal):
            people.refuse_several_rows_a_person()
    classes = _classes(table, diversity=diversity, closeness=closeness)
    crowd = _population(population, classes)
    limits = Demands(
        k=k,
        suppression=suppression,
        diversity=diversity,
        closeness=closeness,
        presence=presence,
        k_map=k_map,
        max_risk=max_risk,
        risk_model=risk_model,
        average_risk=average_risk,
        attack=attack,
        population=crowd,
    ).on(classes)
    _require_known("loss", loss, LOSSES)
    _require_known("search", search, SEARCHES)
    if search in RECODINGS:
        return _recoded(table, classes, limits, search, crowd)
    stop = stopwatch(time_limit, clock or getattr(table, "clock", None), watch)
    return choose_levels(table, classes, limits, loss, search, engine, stop, crowd)


def _require_known(what: str, name: str, known: Collection[str]) -> None:
    if name not in known:
        raise UsageError(f"There is no {what} named '{name}'.", remedy=f"Choose one of: {', '.join(known)}.")


def _recoded(table: Any, classes: Classes, limits: Requirements, search: str, crowd: Any) -> Anonymised:
    if limits.suppressible:
        raise UsageError(
            f'search="{search}" suppresses nobody.', remedy='Leave out suppression, or use search="optimal".'
        )
    if not limits.plain:
        raise UsageError(f'search="{search}" takes k only.', remedy='Use search="optimal" with further requirements.')
    from discreet.anonymity.local.mondrian import mondrian
    from discreet.anonymity.local.recoding import recode_locally
    from discreet.anonymity.losses import loss_of

    if search == "local":
        recoding = recode_locally(classes, k=limits.k)
    else:
        recoding = mondrian(classes, k=limits.k, relaxed=search == "mondrian-relaxed")
    return Anonymised(
        levels={},
        loss=loss_of(recoding),
        loss_name="loss",
        suppressed=recoding.suppressed,
        classes=len(recoding.published),
        evaluated=0,
        requirements=tuple(one.words() for one in limits.requirements),
        certificate=None,
        search=search,
        recoding=recoding,
        table=table,
        population=crowd,
        limits=limits,
    )


def _classes(table: Countable | Classes, *, diversity: Any, closeness: Any) -> Classes:
    if isinstance(table, Classes):
        return table
    policy = table.policy if isinstance(table, Governed) else None
    if policy is not None:
        bare = [name for name in policy.quasi if name not in policy.rules]
        if bare:
            raise HierarchyError(
                f"Column '{bare[0]}' is a quasi-identifier without a hierarchy, so it cannot be generalised.",
                remedy=f'Give [columns.{bare[0]}] a hierarchy, for example {{ any = "*" }}, or a file of one column to leave it as it is.',
                file=policy.file,
            )
    wanted = policy.sensitive if policy and (diversity is not None or closeness is not None) else ()
    return table.classes(sensitive=wanted)


def _population(population: Countable | Classes | None, classes: Classes) -> Classes | None:
    if population is None or isinstance(population, Classes):
        return population
    return population.classes(classes.names)


# What more protection costs: the least loss for each k, or for each limit of risk.
KS = (2, 3, 5, 10, 20, 50, 100)


@dataclass(frozen=True)
class Point:
    """One trade-off."""

    k: int
    loss: float
    suppressed: int
    classes: int
    average_risk: float
    """What the prosecutor achieves on average against the published table."""
    highest_risk: float
    levels: Mapping[str, int]

    to_dict = json_of()


def frontier(table: Countable | Classes, *, ks: Sequence[int] = KS, **options: Any) -> tuple[Point, ...]:
    """The optimum for each k; a k that cannot be reached is left out."""
    points = []
    for k in ks:
        try:
            found = anonymise(table, k=k, **options)
        except UsageError:
            continue
        people = found.published.records
        risk = len(found.published) / people if people else 0.0
        highest = 1 / int(found.published.sizes.min()) if people else 0.0
        points.append(Point(k, found.loss, found.suppressed, found.classes, risk, highest, found.levels))
    return tuple(points)
