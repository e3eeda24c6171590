"""Given levels: last year's levels applied again, with the people who miss the limits and the optimum."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from discreet.anonymity.lattice.exact import Watch
from discreet.anonymity.lattice.problem import LatticeProblem, Node
from discreet.anonymity.lattice.search import measure_node, search_levels
from discreet.anonymity.limits import Requirements
from discreet.errors import UsageError
from discreet.kernel import Classes
from discreet.kernel.serialise import json_of


@dataclass(frozen=True)
class Optimum:
    """The levels that a search would have chosen, and what they cost."""

    levels: Mapping[str, int]
    loss: float
    suppressed: int

    to_dict = json_of()


@dataclass(frozen=True)
class MeasuredLevels:
    """Levels that were given, measured, beside those of least loss."""

    node: Node
    loss: float
    suppressed: int
    classes: int
    evaluated: int
    optimum: Optimum | None
    """None where no combination of levels is allowed."""


def measure_levels(
    classes: Classes,
    limits: Requirements,
    given: Mapping[str, Any],
    *,
    loss: str,
    search: str,
    engine: str,
    watch: Watch,
) -> MeasuredLevels:
    """Measure given levels; columns that are not named get the best levels beside them."""
    levels, problem = wanted(given, classes), LatticeProblem.of(classes)
    options: dict[str, Any] = {"loss": loss, "search": search, "engine": engine, "watch": watch}
    found = search_levels(problem, limits, **options)
    best = None
    if found.outcome is not None:
        chosen = dict(zip(classes.names, found.outcome.node, strict=True))
        best = Optimum(chosen, found.loss, found.outcome.suppressed)
    evaluated = found.evaluated
    if len(levels) < len(classes.names):
        rest = search_levels(LatticeProblem.of(held(classes, levels)), limits, **options)
        evaluated += rest.evaluated
        if rest.outcome is None:
            # Nothing beside the given levels is allowed: the coarsest comes nearest.
            levels = {column.name: levels.get(column.name, column.highest) for column in classes.columns}
        else:
            beside = dict(zip(classes.names, rest.outcome.node, strict=True))
            levels = {name: levels.get(name, beside[name]) for name in classes.names}
    node = tuple(levels[name] for name in classes.names)
    # The problem counts levels from those that the policy asks for at least.
    own = tuple(level - ladder.first for level, ladder in zip(node, problem.ladders, strict=True))
    outcome, cost = measure_node(problem, limits, own, loss=loss, engine=engine)
    return MeasuredLevels(node, cost, outcome.suppressed, outcome.kept, evaluated + 1, best)


def wanted(given: Mapping[str, Any], classes: Classes) -> dict[str, int]:
    """Levels by column, from a mapping or from what `discreet anonymise --json` printed.

    >>> from discreet.kernel import Widths
    >>> people = Classes.of(["age"], [("30",), ("31",)], rules={"age": Widths((10,))})
    >>> wanted({"levels": {"age": 1}, "loss": 0.5}, people)
    {'age': 1}
    """
    inner = given.get("levels")
    levels = inner if isinstance(inner, Mapping) and "levels" not in classes.names else given
    if not levels:
        raise UsageError(
            "There are no levels in what was given: values were recoded class by class.",
            remedy='Give the result of a search over levels, or levels such as {"age": 2}.',
        )
    for name, level in levels.items():
        if name not in classes.names:
            raise UsageError(
                f"levels names '{name}', which is no quasi-identifier here.",
                remedy=f"The quasi-identifiers are {', '.join(classes.names)}.",
            )
        column = classes.columns[classes.names.index(name)]
        if isinstance(level, bool) or not isinstance(level, int) or not column.at_least <= level <= column.highest:
            raise UsageError(
                f"Column '{name}' has levels {column.at_least} to {column.highest}, and what was given is none of them.",
                remedy="0 leaves values as they are; the hierarchy of the column says what each further level is.",
            )
    return dict(levels)


def held(classes: Classes, levels: Mapping[str, int]) -> Classes:
    """The same people with some columns held at one level, so that a search moves the others only."""
    columns = [
        column
        if column.name not in levels
        else replace(column, at_least=levels[column.name], at_most=levels[column.name])
        for column in classes.columns
    ]
    return replace(classes, columns=tuple(columns))


def optimum_words(optimum: Optimum | None, *, loss: float, loss_name: str) -> str:
    """What a search would have chosen, beside what the given levels cost.

    >>> optimum_words(Optimum({"age": 1}, 0.25, 0), loss=0.5, loss_name="loss")
    'The optimum would have been age 1: loss 0.25 instead of 0.5, with 0 people suppressed.'
    """
    if optimum is None:
        return "No combination of levels satisfies the limits."
    if math.isclose(optimum.loss, loss):
        return f"These levels are the optimum: {loss_name} {loss:.6g}."
    levels = ", ".join(f"{name} {level}" for name, level in optimum.levels.items())
    return (
        f"The optimum would have been {levels}: {loss_name} {optimum.loss:.6g} instead of {loss:.6g}, with "
        f"{optimum.suppressed:,} people suppressed."
    )
