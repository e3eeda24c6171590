"""Which implementation moves the tuples: plain numpy, or compiled where that pays."""

from __future__ import annotations

import importlib.util
import sys

from discreet.anonymity import rollup
from discreet.anonymity.lattice.evaluate import Rolling
from discreet.anonymity.lattice.problem import Problem
from discreet.errors import MissingExtra, UsageError

ENGINES = ("auto", "numpy", "numba")
LARGE = 2_000_000_000
"""Tuples times nodes from which loading the compiler pays even in a command that runs once."""


def roller_for(problem: Problem, engine: str) -> Rolling:
    """The implementation of a name; `auto` takes numba where it is loaded already or the problem is large."""
    if engine not in ENGINES:
        raise UsageError(f"There is no engine named '{engine}'.", remedy=f"Choose one of: {', '.join(ENGINES)}.")
    if engine == "numba" or (engine == "auto" and _worth_compiling(problem)):
        return _compiled(problem)
    return rollup.Roller(len(problem.keys))


def _worth_compiling(problem: Problem) -> bool:
    if "discreet.anonymity.lattice.rollup_compiled" in sys.modules:
        return True
    return len(problem.keys) * problem.nodes > LARGE and importlib.util.find_spec("numba") is not None


def _compiled(problem: Problem) -> Rolling:
    try:
        from discreet.anonymity.lattice import rollup_compiled
    except ImportError:
        raise MissingExtra("fast", needed_for="The compiled search") from None
    roller: Rolling = rollup_compiled.Roller(len(problem.keys))
    return roller
