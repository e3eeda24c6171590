"""`discreet.anonymise`: the least lossy table within a limit, and its frontier."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Protocol, runtime_checkable

import numpy as np

from discreet.anonymity.given_levels import measure_levels, wanted
from discreet.anonymity.lattice.exact import SearchProgress, Watch
from discreet.anonymity.lattice.problem import LatticeProblem, Node
from discreet.anonymity.lattice.search import MeasuredNode, evaluators_of, measure_of, search_levels, sweep
from discreet.anonymity.limits import Diversity, Requirements, Size
from discreet.anonymity.losses import LOSSES
from discreet.anonymity.result import Anonymised, Certificate, loss_of
from discreet.attacker import Attack
from discreet.errors import HierarchyError, Unsatisfiable, UsageError
from discreet.kernel import Classes, Countable, Recoding
from discreet.kernel.arrays import Label, group, pack, total
from discreet.kernel.serialise import json_of
from discreet.risk.assessment import Governed, PolicyLike, opened
from discreet.risk.reidentification import marketer

RECODINGS = ("local", "mondrian", "mondrian-relaxed")
"""Searches that look for a level per class rather than per column."""
SEARCHES = ("optimal", "best", "ola", *RECODINGS)
GIVEN = "given"
"""What the result says in place of a search whose levels were given."""


@runtime_checkable
class Personal(Protocol):
    """A table that knows whether each of its rows is a person of their own."""

    def refuse_several_rows_a_person(self) -> None:
        """Stop if rows would be counted as people who are fewer, or a survey weight is none."""


def anonymise(
    table: Any,
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
    policy: PolicyLike | None = None,
    levels: Mapping[str, Any] | None = None,
    search: str = "optimal",
    engine: str = "auto",
    time_limit: float | None = None,
    clock: Callable[[], float] | None = None,
    watch: Watch | None = None,
) -> Anonymised:
    """The least lossy generalisation whose classes satisfy every requirement, suppressing at most a share of people.

    The table is what `discreet.read` returned, or classes; with `policy` also a frame or the path of a file, which
    is then read with that policy (a `Policy`, the path of its file, or a dictionary of its shape).

    With `levels` they are not searched but taken as given, from a mapping or from the JSON of an earlier result; people
    in classes that miss a requirement are left out, and the result says what the optimum would have been.

    With `attack` the limit `max_risk` is held against a planning adversary instead of one who guesses once.

    >>> from discreet.kernel import AnyValue, Widths
    >>> people = Classes.of(["sex", "age"], [("F", "30"), ("F", "31"), ("M", "30"), ("M", "31")],
    ...                     rules={"sex": AnyValue(), "age": Widths((10,))})
    >>> anonymise(people, k=2).levels
    {'sex': 0, 'age': 1}
    """
    table = opened(table, policy)
    classes, limits, population = required(
        table,
        population,
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
    )
    for what, name, names in (("loss", loss, tuple(LOSSES)), ("search", search, SEARCHES)):
        if name not in names:
            raise UsageError(f"There is no {what} named '{name}'.", remedy=f"Choose one of: {', '.join(names)}.")
    chosen: dict[str, int] = {}
    certificate, optimum = None, None
    stop = _stopwatch(time_limit, clock or getattr(table, "clock", None), watch)
    if search in RECODINGS:
        if levels is not None:
            raise UsageError(f'search="{search}" has no levels to be given.', remedy='Use search="optimal".')
        recoding = _recode(classes, limits, search, stop)
        loss, cost, evaluated = "loss", loss_of(recoding), 0
        published = len(recoding.published)
    else:
        options: dict[str, Any] = {"loss": loss, "search": search, "engine": engine, "watch": stop}
        if levels is not None:
            given = measure_levels(classes, limits, levels, **options)
            node, cost, evaluated, optimum = given.node, given.loss, given.evaluated, given.optimum
            published, search = given.classes, GIVEN
        else:
            found = search_levels(LatticeProblem.of(classes), limits, **options)
            if found.outcome is None and not found.complete:
                raise UsageError("The search was stopped before it found an allowed node.", remedy="Give it more time.")
            if found.outcome is None:
                raise unsatisfied(limits, classes)
            node, cost, evaluated, certificate = (
                found.outcome.node,
                found.loss,
                found.evaluated,
                Certificate.of(found, search, classes.columns),
            )
            published = found.outcome.kept
        chosen, recoding = dict(zip(classes.names, node, strict=True)), published_at(classes, limits, node)
    return Anonymised(
        levels=chosen,
        loss=cost,
        loss_name=loss,
        suppressed=recoding.suppressed,
        classes=published,
        evaluated=evaluated,
        requirements=limits.words,
        certificate=certificate,
        search=search,
        recoding=recoding,
        table=table,
        population=population,
        limits=limits,
        optimum=optimum,
    )


def required(
    table: Any, population: Countable | Classes | None, **wishes: Any
) -> tuple[Classes, Requirements, Classes | None]:
    """What is required of the people of a table: their classes, the limits, and the classes of the population."""
    counted: tuple[object, ...] = (table, population)
    for people in counted:
        if isinstance(people, Personal):
            people.refuse_several_rows_a_person()
    policy = table.policy if isinstance(table, Governed) else None
    if isinstance(table, Classes):
        classes = table
    else:
        bare = [name for name in policy.quasi if name not in policy.rules] if policy else []
        if policy and bare:
            guessed = [name for name in bare if name in policy.unconfirmed and policy.roles[name] != "quasi"]
            if guessed:
                raise HierarchyError(
                    "Columns without a hierarchy count as quasi-identifiers until their roles are confirmed: "
                    f"{policy.spelled(guessed)}.",
                    remedy="Correct the roles that are wrong, then confirm them: discreet policy confirm POLICY --all",
                    file=policy.file,
                )
            raise HierarchyError(
                f"Column '{bare[0]}' is a quasi-identifier without a hierarchy, so it cannot be generalised.",
                remedy=f'Give [columns.{bare[0]}] a hierarchy, for example {{ any = "*" }}, or a file of one column to leave it as it is.',
                file=policy.file,
            )
        about_values = wishes.get("diversity") is not None or wishes.get("closeness") is not None
        classes = table.classes(sensitive=policy.sensitive if policy and about_values else ())
    if population is not None and not isinstance(population, Classes):
        population = population.classes(classes.names)
    limits = Requirements.of(classes, population=population, distances=policy.distances if policy else {}, **wishes)
    return classes, limits, population


def published_at(classes: Classes, limits: Requirements, node: Node) -> Recoding:
    """The recoding to a node; what is published is decided on its classes, not taken from a search."""
    if not limits.plain or classes.members is not None:
        coarse = classes.at(node)
        return Recoding.of_levels(classes, node, kept=coarse.keep(~limits.violated(coarse)).holds(classes))
    # By size alone: the classes need not be made, only counted.
    columns = list(zip(classes.columns, node, classes.codes, strict=True))
    codes = tuple(column.hierarchy.map(column.level, level)[codes] for column, level, codes in columns)
    labels = tuple(column.hierarchy.labels[level] for column, level, _ in columns)
    keys, bound = pack(codes, [len(values) for values in labels], len(classes))
    _, member, groups = group(keys, bound)
    return Recoding(classes, labels, codes, (total(member, classes.sizes, groups) >= limits.k)[member])


def unsatisfied(limits: Requirements, classes: Classes) -> Unsatisfiable:
    """No combination of levels is allowed."""
    coarsest = classes.at([column.highest for column in classes.columns])
    never = [
        limit.words()
        for limit in limits.requirements
        if (limit.monotone and limit.violated(coarsest).all())
        or (isinstance(limit, Diversity) and limit.beyond(classes))
    ]
    if never:
        return Unsatisfiable(
            f"Even at the coarsest levels no class satisfies: {'; '.join(never)}.",
            remedy="Lower that limit: with any suppression the published table would be empty.",
        )
    return Unsatisfiable(
        f"No combination of levels satisfies the limits ({'; '.join(limits.words)}) with at most "
        f"{limits.suppressible:,} people suppressed.",
        remedy="Allow more suppression, lower the limits, or give columns a level with one value for all.",
    )


def _recode(classes: Classes, limits: Requirements, search: str, watch: Watch) -> Recoding:
    """Recode class by class; what is published is counted again, not taken from the search.

    Everybody together may be no group that is allowed where a person has several rows, and smaller groups are: then the
    classes of the best allowed levels are recoded, each by itself.
    """
    capped = [column.name for column in classes.columns if column.at_most is not None]
    if search != "local" and capped:
        raise UsageError(
            f'search="{search}" publishes intervals of numbers, which have no levels, so that at_most of column '
            f"'{capped[0]}' cannot be respected.",
            remedy='Remove at_most from the policy, or use search="local" or search="optimal".',
        )
    from discreet.anonymity.local.acceptance import Acceptance, looks, verify
    from discreet.anonymity.local.forest import without
    from discreet.anonymity.local.mondrian import mondrian
    from discreet.anonymity.local.recoding import recode_locally

    acceptance = Acceptance.of(classes.narrowed(), limits, search)
    asked, k, rows = {"allowed": acceptance.allowed}, acceptance.k, acceptance.rows
    recode: Callable[..., Recoding] = partial(mondrian, k=k, relaxed=search == "mondrian-relaxed")
    if search == "local":
        asked, recode = asked | {"enough": acceptance.enough}, partial(recode_locally, k=k)
    recodings = []
    try:
        recodings.append(recode(rows, suppressible=limits.suppressible, **asked))
    except Unsatisfiable:
        if not acceptance.nested:
            raise
    if acceptance.nested and not (recodings and recodings[0].kept.all()):
        levels = Requirements((Size(k), *acceptance.inferred), limits.suppressible)
        options: dict[str, Any] = {"loss": "loss", "search": "optimal", "engine": "auto", "watch": watch}
        best = search_levels(LatticeProblem.of(acceptance.classes), levels, **options).outcome
        if best is not None:
            start = replace(published_at(acceptance.classes, levels, best.node), classes=rows)
            recode = partial(recode, start=looks(start)[1])
            recodings.append(start)
            with suppress(Unsatisfiable):
                found = without(rows, start.kept, recode, suppressible=limits.suppressible, asked=asked)
                recodings += [found] * acceptance.accepts(*looks(found))
        elif not recodings:
            raise unsatisfied(limits, classes)
    return verify(min(recodings, key=loss_of).widened(classes), limits)


def _stopwatch(limit: float | None, clock: Callable[[], float] | None, watch: Watch | None) -> Watch:
    """A watch that also ends the search when its time is up."""
    onlooker = watch or (lambda _: True)
    if limit is None:
        return onlooker
    if not limit > 0:
        raise UsageError(f"time_limit is a number of seconds above 0, not {limit:g}.", remedy="60 means: one minute.")
    if clock is None:
        raise UsageError("A time limit needs a clock.", remedy="Give clock=time.monotonic.")
    started = clock()

    def in_time(progress: SearchProgress) -> bool:
        return onlooker(progress) and clock() - started < limit

    return in_time


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
            result = anonymise(table, k=k, **options)
        except UsageError:
            continue
        people = result.published.records
        risk = marketer(result.published.people_once(), result.published.sizes) if people else 0.0
        highest = 1 / int(result.published.sizes.min()) if people else 0.0
        points.append(Point(k, result.loss, result.suppressed, result.classes, risk, highest, result.levels))
    return tuple(points)


# Exploration of a lattice: what any combination of levels would publish, told at once.
MOST_GROUPS = 10
"""Groups in the preview of a table."""


@dataclass(frozen=True)
class NeighbourLevel:
    """One column at another level, all others as they are."""

    level: int
    suppressed: int
    loss: float | None
    """None where too many people would be left out."""

    to_dict = json_of()


@dataclass(frozen=True)
class PublishedGroup:
    """People who look alike in the published table."""

    values: tuple[Label, ...]
    people: int

    to_dict = json_of()


@dataclass(frozen=True)
class LevelsPreview:
    """What a combination of levels would publish."""

    levels: Mapping[str, int]
    suppressed: int
    """Rows, which are people unless a person may have several."""
    allowed: bool
    """Whether so many may be left out."""
    loss: float | None
    """None where that is too many."""
    classes: int
    """Classes that would be published."""
    smallest: int
    """People in the smallest of them."""
    highest_risk: float
    average_risk: float
    beside: Mapping[str, tuple[NeighbourLevel, ...]]
    """Per column, all of its levels."""
    groups: tuple[PublishedGroup, ...]
    """The largest classes as they would be published; none where the combination is not allowed."""

    to_dict = json_of()


@dataclass(frozen=True, eq=False)
class Exploration:
    """A table under its limits: any combination of levels can be looked at, several at once.

    >>> from discreet.kernel import AnyValue, Widths
    >>> people = Classes.of(["sex", "age"], [("F", "30"), ("F", "31"), ("M", "30"), ("M", "31")],
    ...                     rules={"sex": AnyValue(), "age": Widths((10,))})
    >>> seen = Exploration.of(people, k=2).at({"sex": 0, "age": 1})
    >>> seen.allowed, seen.smallest, seen.groups[0].values, seen.beside["sex"][1].suppressed
    (True, 2, ('F', '[30, 40)'), 0)
    """

    classes: Classes
    limits: Requirements
    loss: str = "loss"
    engine: str = "auto"

    @classmethod
    def of(
        cls,
        table: Any,
        *,
        loss: str = "loss",
        engine: str = "auto",
        population: Countable | Classes | None = None,
        policy: PolicyLike | None = None,
        **limits: Any,
    ) -> Exploration:
        """From a table and the limits of `anonymise`."""
        classes, requirements, _ = required(opened(table, policy), population, **limits)
        return cls(classes, requirements, loss, engine)

    @cached_property
    def nodes(self) -> tuple[MeasuredNode, ...]:
        """Every combination, measured."""
        return sweep(self.classes, self.limits, loss=self.loss, engine=self.engine)

    def at(self, levels: Mapping[str, Any]) -> LevelsPreview:
        """What one combination would publish."""
        chosen = wanted(levels, self.classes)
        if missing := [name for name in self.classes.names if name not in chosen]:
            raise UsageError(f"No level is given for column '{missing[0]}'.", remedy="Give one for every column.")
        problem = LatticeProblem.of(self.classes)
        node = tuple(chosen[name] for name in self.classes.names)
        own = tuple(level - ladder.first for level, ladder in zip(node, problem.ladders, strict=True))
        coarse = self.classes.at(node)
        bad = self.limits.violated(coarse)
        kept = coarse.keep(~bad)
        sizes, suppressed = kept.people_once(), int(coarse.rows[bad].sum())
        allowed = suppressed <= self.limits.suppressible
        smallest = int(kept.sizes.min()) if len(kept) else 0
        beside = self.beside(problem, own)
        loss = beside[self.classes.names[0]][own[0]].loss if problem.ladders else 0.0
        largest = np.argsort(-kept.sizes, kind="stable")[:MOST_GROUPS] if allowed else np.zeros(0, dtype=np.int64)
        rows = zip(*(codes[largest].tolist() for codes in kept.codes), strict=True)
        groups = [
            PublishedGroup(tuple(column.labels[code] for column, code in zip(kept.columns, row, strict=True)), people)
            for row, people in zip(rows, kept.sizes[largest].tolist(), strict=False)
        ]
        risk = marketer(sizes, kept.sizes) if len(kept) else 0.0
        highest = 1 / smallest if smallest else 0.0
        return LevelsPreview(
            chosen, suppressed, allowed, loss, len(kept), smallest, highest, risk, beside, tuple(groups)
        )

    def beside(self, problem: LatticeProblem, node: Node) -> dict[str, tuple[NeighbourLevel, ...]]:
        """Per column, all of its levels, with the others as they are at a node."""
        sieve, judge = evaluators_of(problem, self.limits, self.engine)
        measure, evaluate = measure_of(problem, self.limits, self.loss), judge or sieve
        seen: dict[Node, NeighbourLevel] = {}
        found: dict[str, tuple[NeighbourLevel, ...]] = {}
        for column, (name, ladder) in enumerate(zip(self.classes.names, problem.ladders, strict=True)):
            row = []
            for level in range(ladder.height):
                near = (*node[:column], level, *node[column + 1 :])
                if near not in seen:
                    outcome = evaluate(near)
                    few = outcome.suppressed <= self.limits.suppressible
                    loss = measure.value(outcome) if few else math.nan
                    seen[near] = NeighbourLevel(0, outcome.suppressed, None if math.isnan(loss) else loss)
                row.append(NeighbourLevel(ladder.first + level, seen[near].suppressed, seen[near].loss))
            found[name] = tuple(row)
        return found
