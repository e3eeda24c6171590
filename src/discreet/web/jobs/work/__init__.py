"""What each kind of job does, imported when there is one to do: a process of a job does a single one."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from discreet.web.jobs.task import Outcome, Task

WORK = {
    "profile": "profile_table",
    "assess": "assess_table",
    "anonymise": "anonymise_table",
    "attack": "attack_table",
    "preflight": "look_ahead",
    "release": "make_copies",
    "project": "tell_project",
}
"""By kind: the function in the module of that name."""


def work_of(kind: str) -> Callable[[Task], Outcome]:
    """What a kind of job does.

    >>> work_of("profile").__name__
    'profile_table'
    """
    done: Callable[[Task], Outcome] = getattr(import_module(f"{__name__}.{kind}"), WORK[kind])
    return done
