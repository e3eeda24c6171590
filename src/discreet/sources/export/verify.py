"""Verification: what was written is counted again and compared class by class."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

import numpy as np

from discreet.errors import DataError, EmptySource, IntegrityError
from discreet.kernel import Classes, Coded, Histogram, Recoding
from discreet.kernel.arrays import Label
from discreet.policy import Policy
from discreet.policy.schema import Role
from discreet.sources.engine import Target, engine_for, require


def check(target: Target, recoding: Recoding, *, columns: Sequence[str], count: str | None) -> Classes:
    """The classes as they were read back; all must be as the recoding says."""
    return agree(target, recoding.published, columns=columns, count=count)


def agree(target: Target, published: Classes, *, columns: Sequence[str], count: str | None) -> Classes:
    """The same for classes that are published in whatever way."""
    names = published.names
    try:
        counted = _counted(target, names, columns=columns, count=count)
    except DataError as error:
        raise IntegrityError(
            f"What was written cannot be read back: {error.problem}", remedy="Nothing was published."
        ) from None
    written, meant = _as_seen(counted, names, target), _as_seen(published, names, target)
    if not _same(written, meant):
        raise IntegrityError(
            f"What was written is not what was decided: {written.records} people in {len(written)} classes "
            f"instead of {meant.records} in {len(meant)}, or in other classes.",
            remedy="Nothing was published. If the source has changed since it was counted, read and anonymise it again.",
        )
    return written


def _counted(target: Target, names: Sequence[str], *, columns: Sequence[str], count: str | None) -> Classes:
    """The classes of a target; of the policy only the names are used."""
    roles: dict[str, Role] = dict.fromkeys(map(target.spell, columns), "other")
    weight = None if count is None else target.spell(count)
    engine = engine_for(target, Policy(roles=MappingProxyType(roles), delimiter=target.delimiter, count=weight))
    spelt = [target.spell(name) for name in names]
    require([field.name for field in engine.fields], [*spelt, *([weight] if weight else [])], engine.name)
    classes = Classes.from_histogram(engine.count(spelt, weight=weight))
    if not classes.records:
        raise EmptySource(f"There is nobody in {engine.name}.", remedy="Give a table with at least one row.")
    return classes


def _as_seen(classes: Classes, names: Sequence[str], target: Target) -> Classes:
    """The same people under the names and values that the target can tell apart."""
    columns = {
        name: Coded.merged([_seen(label, target) for label in column.labels], codes)
        for name, column, codes in zip(names, classes.columns, classes.codes, strict=True)
    }
    return Classes.from_histogram(Histogram(columns, classes.sizes))


def _seen(label: Label, target: Target) -> Label:
    if label is None or (label == "" and target.blank_is_missing):
        return None
    return target.spell(label)


def _same(written: Classes, meant: Classes) -> bool:
    """Values and classes come in one order, so equal tables have equal arrays."""
    if [column.labels for column in written.columns] != [column.labels for column in meant.columns]:
        return False
    return np.array_equal(written.sizes, meant.sizes) and all(map(np.array_equal, written.codes, meant.codes))
