"""A published table beside the data that it came from: at which level of its hierarchy each column stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from discreet.kernel import Classes
from discreet.kernel.classes import Column
from discreet.policy import Policy
from discreet.sources import Table


@dataclass(frozen=True, eq=False)
class Published:
    """A table that was generalised, seen through the policy of the data."""

    name: str
    policy: Policy
    counted: Classes
    levels: dict[str, int] | None
    """The level of each column; None where values were recoded class by class."""
    dropped: tuple[str, ...]
    """Quasi-identifiers of the data that it does not have."""
    identifiers: tuple[str, ...]
    """Identifiers that it still has."""

    @property
    def records(self) -> int:
        """People in it."""
        return self.counted.records

    def classes(self, by: Sequence[str] | None = None, *, sensitive: Sequence[str] = ()) -> Classes:
        """The people counted, at the levels of the data's hierarchies where these are known."""
        return self.counted if by is None else self.counted.project(by)


def published_policy(policy: Policy, columns: Sequence[str]) -> Policy:
    """The policy for a table that was generalised: the roles of the columns it still has, labels as they are."""
    kept = {name: role for name, role in policy.roles.items() if name in columns}
    rules = {name: rule for name, rule in policy.rules.items() if policy.roles.get(name) == "sensitive"}
    count = policy.count if policy.count in columns else None
    return replace(
        policy,
        roles=MappingProxyType(kept),
        rules=MappingProxyType({name: rule for name, rule in rules.items() if name in kept}),
        delimiter=None,
        encoding=None,
        count=count,
    )


def place(table: Table, data: Classes, policy: Policy) -> Published:
    """The published table with the hierarchies of the data; `table` was read with `published_policy`."""
    columns = set(table.columns)
    names = tuple(name for name in policy.quasi if name in columns)
    sensitive = tuple(name for name in policy.sensitive if name in columns)
    counted = table.classes(names, sensitive=sensitive)
    found = _levels(counted, data)
    return Published(
        name=table.name,
        policy=policy,
        counted=counted if found is None else _lifted(counted, data, found),
        levels=found,
        dropped=tuple(name for name in policy.quasi if name not in columns),
        identifiers=tuple(name for name in policy.identifiers if name in columns),
    )


def _levels(counted: Classes, data: Classes) -> dict[str, int] | None:
    """The lowest level that has all labels of each column; None if some column has no such level."""
    found = {}
    for column in counted.columns:
        hierarchy = data.columns[data.names.index(column.name)].hierarchy
        labels = set(column.labels)
        fitting = [level for level in range(hierarchy.height) if labels <= hierarchy.index[level].keys()]
        if not fitting:
            return None
        found[column.name] = fitting[0]
    return found


def _lifted(counted: Classes, data: Classes, levels: dict[str, int]) -> Classes:
    """The same people, each label as a code of the data's hierarchy at that level."""
    columns, codes = [], []
    for column, mine in zip(counted.columns, counted.codes, strict=True):
        hierarchy = data.columns[data.names.index(column.name)].hierarchy
        index = hierarchy.index[levels[column.name]]
        known = np.array([index[label] for label in column.labels], dtype=np.int64)
        columns.append(Column(column.name, hierarchy, levels[column.name]))
        codes.append(known[mine])
    return replace(counted, columns=tuple(columns), codes=tuple(codes))
