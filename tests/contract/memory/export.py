"""Export from memory: the rows are handed to an engine that writes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager

from discreet.kernel import Recoding
from discreet.policy import Policy
from discreet.sources.engine import Target
from discreet.sources.export.staging import local_stage
from tests.contract.memory.rows import MemoryRows, handed_over


def staged(target: str, policy: Policy, *, overwrite: bool) -> AbstractContextManager[Target]:
    """A file of this machine, or a table of PostgreSQL."""
    return local_stage(target, policy, overwrite=overwrite)


def export(source: MemoryRows, recoding: Recoding, target: Target, *, drop: Sequence[str], shuffled: bool) -> int:
    """All columns, since the one that writes decides which are left out."""
    there = handed_over(source, tuple(source.columns))
    return there.export(recoding, target, drop=drop, shuffled=shuffled)
