"""`discreet.anonymise`: the least lossy table within a limit."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.anonymity import lattice
from discreet.anonymity.bounded import BoundedSearch
from discreet.anonymity.certificate import Certificate
from discreet.anonymity.criteria import (
    AttackerRisk,
    AverageRisk,
    Closeness,
    Crowd,
    Diversity,
    Presence,
    Requirement,
    Size,
    check_spread,
    closenesses,
    diversities,
    smallest_crowd,
)
from discreet.anonymity.engines import roller_for
from discreet.anonymity.evaluate import ByClasses, BySize, Evaluate
from discreet.anonymity.losses import LOSSES, make_loss
from discreet.anonymity.ola import best_minimal
from discreet.anonymity.problem import Node, Problem
from discreet.anonymity.result import Anonymised
from discreet.anonymity.search import Found, Progress, Search, Watch
from discreet.attacker import Attack
from discreet.errors import HierarchyError, UsageError
from discreet.kernel import Classes, Countable, Recoding
from discreet.risk.assessment import Governed

SEARCHES = ("optimal", "best", "ola", "local", "mondrian", "mondrian-relaxed")


@dataclass(frozen=True, eq=False)
class Limits:
    """What the published table must satisfy."""

    requirements: tuple[Requirement, ...]
    suppressible: int

    @property
    def k(self) -> int:
        """The least size of a class."""
        return max((one.k for one in self.requirements if isinstance(one, Size)), default=1)

    @property
    def plain(self) -> bool:
        """Whether size is all that matters."""
        return all(isinstance(one, Size) for one in self.requirements)

    def violated(self, classes: Classes, *, monotone: bool = False) -> Any:
        """Which classes may not be published, by all requirements or only by the monotone ones."""
        chosen = [one for one in self.requirements if one.monotone or not monotone]
        bad = np.zeros(len(classes), dtype=bool)
        for one in chosen:
            if not isinstance(one, AverageRisk):
                bad |= one.violated(classes)
        for one in chosen:
            if isinstance(one, AverageRisk):
                rest = np.flatnonzero(~bad)
                bad[rest] = one.violated(classes.keep(~bad))
        return bad


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
    classes = _classes(table, diversity=diversity, closeness=closeness)
    crowd = _population(population, classes)
    limits = _limits(
        classes,
        k,
        suppression,
        diversity,
        closeness,
        presence,
        k_map,
        max_risk,
        risk_model,
        average_risk,
        attack,
        crowd,
    )
    if loss not in LOSSES:
        raise UsageError(f"There is no loss named '{loss}'.", remedy=f"Choose one of: {', '.join(LOSSES)}.")
    if search not in SEARCHES:
        raise UsageError(f"There is no search named '{search}'.", remedy=f"Choose one of: {', '.join(SEARCHES)}.")
    if search in ("local", "mondrian", "mondrian-relaxed"):
        return _recoded(table, classes, limits, search, crowd)
    stop = _stopwatch(time_limit, clock or getattr(table, "clock", None), watch)
    return _searched(table, classes, limits, loss, search, engine, stop, crowd)


def _searched(
    table: Any, classes: Classes, limits: Limits, loss: str, search: str, engine: str, watch: Watch, crowd: Any
) -> Anonymised:
    problem = Problem.of(classes)
    found = _run(problem, limits, loss, search, engine, watch)
    if found.outcome is None:
        raise _impossible(limits, found)
    levels = dict(zip(classes.names, found.outcome.node, strict=True))
    kept = _kept(classes, found.outcome.node, limits)
    recoding = Recoding.of_levels(classes, levels, kept=kept)
    return Anonymised(
        levels=levels,
        loss=found.loss,
        loss_name=loss,
        suppressed=found.outcome.suppressed,
        classes=found.outcome.kept,
        evaluated=found.evaluated,
        requirements=tuple(one.words() for one in limits.requirements),
        certificate=Certificate.of(found, search),
        search=search,
        recoding=recoding,
        table=table,
        population=crowd,
        limits=limits,
    )


def _run(problem: Problem, limits: Limits, loss: str, search: str, engine: str, watch: Watch) -> Found:
    measure = make_loss(loss, problem, smallest=limits.k, by_size=limits.plain)
    sieve, judge = evaluators(problem, limits, engine)
    if search == "ola":
        _refuse_huge(problem, "ola")
        if judge is not None:
            raise UsageError(
                "OLA is published for requirements that merging never breaks.", remedy='Use search="optimal".'
            )
        return best_minimal(problem, loss=measure, limit=limits.suppressible, sieve=sieve, watch=watch)
    if problem.nodes > lattice.MOST_NODES:
        return BoundedSearch(
            problem, loss=measure, limit=limits.suppressible, sieve=sieve, judge=judge, watch=watch
        ).run()
    return Search(problem, loss=measure, limit=limits.suppressible, sieve=sieve, judge=judge, watch=watch).run()


def evaluators(problem: Problem, limits: Limits, engine: str) -> tuple[Evaluate, Evaluate | None]:
    """A sieve that never suppresses more upwards, and, where some requirement may, one with the last word."""
    monotone = [one for one in limits.requirements if one.monotone]
    if problem.packs and all(isinstance(one, Size) for one in monotone):
        sieve: Evaluate = BySize(problem, k=limits.k, roller=roller_for(problem, engine))
    else:
        sieve = ByClasses(problem, violating=lambda classes: limits.violated(classes, monotone=True))
    if len(monotone) == len(limits.requirements):
        return sieve, None
    return sieve, ByClasses(problem, violating=limits.violated)


def _kept(classes: Classes, node: Node, limits: Limits) -> Any:
    """Which classes of the data are published: decided anew on the classes of the node, not taken from the search."""
    coarse = classes.at(node)
    bad = limits.violated(coarse)
    return coarse.keep(~bad).holds(classes)


def _recoded(table: Any, classes: Classes, limits: Limits, search: str, crowd: Any) -> Anonymised:
    if limits.suppressible:
        raise UsageError(
            f'search="{search}" suppresses nobody.', remedy='Leave out suppression, or use search="optimal".'
        )
    if not limits.plain:
        raise UsageError(f'search="{search}" takes k only.', remedy='Use search="optimal" with further requirements.')
    from discreet.anonymity.local import recode_locally
    from discreet.anonymity.lost import loss_of
    from discreet.anonymity.mondrian import mondrian

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


def _limits(
    classes: Classes,
    k: int | None,
    suppression: float,
    diversity: Any,
    closeness: Any,
    presence: tuple[float, float] | None,
    k_map: int | None,
    max_risk: float | None,
    risk_model: str,
    average_risk: float | None,
    attack: Attack | None,
    population: Classes | None,
) -> Limits:
    requirements: list[Requirement] = []
    if k is not None:
        requirements.append(Size(_whole(k, "k", classes)))
    inferences: Sequence[Diversity | Closeness] = [
        *diversities(diversity, tuple(classes.spreads)),
        *closenesses(closeness, tuple(classes.spreads)),
    ]
    for one in inferences:
        check_spread(one, classes.spreads[one.column])
        requirements.append(one)
    if presence is not None:
        requirements.append(_presence(presence, _needed(population, "presence")))
    if k_map is not None:
        requirements.append(Crowd(_needed(population, "k_map"), _whole(k_map, "k_map", None)))
    if average_risk is not None:
        requirements.append(AverageRisk(_probability(average_risk, "average_risk")))
    if attack is not None:
        if max_risk is None:
            raise UsageError(
                "An attack needs a limit.",
                remedy="Give max_risk (--max-risk), the largest probability of success you accept.",
            )
        requirements.append(AttackerRisk(attack, _limit(max_risk), population))
    elif max_risk is not None:
        requirements.append(_risk(max_risk, risk_model, population))
    if not requirements:
        raise UsageError("Nothing is required of the published table.", remedy="Give k, max_risk, or another limit.")
    return Limits(tuple(requirements), _suppressible(suppression, classes.records))


def _risk(limit: float, model: str, population: Classes | None) -> Requirement:
    match model:
        case "prosecutor":
            return Size(smallest_crowd(limit))
        case "journalist":
            return Crowd(_needed(population, "the journalist's risk"), smallest_crowd(limit))
        case "marketer":
            return AverageRisk(_probability(limit, "max_risk"), _needed(population, "the marketer's risk"))
    raise UsageError(f"There is no risk model named '{model}'.", remedy="Choose prosecutor, journalist or marketer.")


def _presence(bounds: tuple[float, float], population: Classes) -> Presence:
    least, most = bounds
    if not 0 <= least <= most <= 1:
        raise UsageError(
            "presence takes two probabilities, the smaller one first.", remedy="For example presence=(0, 0.5)."
        )
    return Presence(population, least, most)


def _needed(population: Classes | None, what: str) -> Classes:
    if population is None:
        raise UsageError(
            f"{what} needs a population.", remedy="Give population=discreet.read(..., policy=policy.for_population())."
        )
    return population


def _whole(value: Any, what: str, classes: Classes | None) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise UsageError(f"{what} is a whole number from 1 up.", remedy="k = 5 means: at least five people look alike.")
    if classes is not None and value > classes.records:
        raise UsageError(
            f"{what} = {value:,} is more than the {classes.records:,} people in the data.",
            remedy="Choose a smaller one.",
        )
    return int(value)


def _limit(value: float) -> float:
    if not 0 <= value <= 1:
        raise UsageError("max_risk lies between 0 and 1.", remedy="0 means that he re-identifies nobody at all.")
    return float(value)


def _probability(value: float, what: str) -> float:
    if not 0 < value <= 1:
        raise UsageError(f"{what} lies above 0 and up to 1.", remedy="0.2 means: one in five.")
    return float(value)


def _suppressible(share: float, people: int) -> int:
    """floor(s * N), with s read as it is written: 0.29 of 100 is 29."""
    if not 0 <= share <= 1:
        raise UsageError("suppression is a share from 0 to 1.", remedy="0.05 means: at most 5 % of the people.")
    return math.floor(Fraction(str(share)) * people)


def _refuse_huge(problem: Problem, search: str) -> None:
    if problem.nodes > lattice.MOST_NODES:
        raise UsageError(
            f'{problem.nodes:,} combinations of levels are too many for search="{search}".', remedy='Use search="best".'
        )


def _stopwatch(limit: float | None, clock: Callable[[], float] | None, watch: Watch | None) -> Watch:
    onlooker = watch or (lambda _: True)
    if limit is None:
        return onlooker
    if clock is None:
        raise UsageError("A time limit needs a clock.", remedy="Give clock=time.monotonic.")
    started = clock()

    def in_time(progress: Progress) -> bool:
        return onlooker(progress) and clock() - started < limit

    return in_time


def _impossible(limits: Limits, found: Found) -> UsageError:
    if not found.complete:
        return UsageError("The search was stopped before it found an allowed node.", remedy="Give it more time.")
    wanted = "; ".join(one.words() for one in limits.requirements)
    return UsageError(
        f"No combination of levels satisfies the limits ({wanted}) with at most {limits.suppressible:,} people suppressed.",
        remedy="Allow more suppression, lower the limits, or give columns a level with one value for all.",
    )
