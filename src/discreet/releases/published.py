"""The columns that every copy of a release has: their roles, and what is done to them."""

from __future__ import annotations

from collections.abc import Mapping

from discreet.anonymity.result import AS_IT_IS, treatment
from discreet.kernel import Classes


def published_columns(roles: Mapping[str, str], released: Classes) -> dict[str, dict[str, str]]:
    """For JSON: per column its role and its treatment."""
    known = {column.name: treatment(column.level, column.hierarchy.height) for column in released.columns}
    return {name: {"role": role, "treatment": known.get(name, AS_IT_IS)} for name, role in roles.items()}


def columns_by_role(roles: Mapping[str, str]) -> str:
    """The same in words.

    >>> columns_by_role({"zip": "quasi", "age": "quasi", "income": "sensitive"})
    'zip, age (quasi) and income (sensitive)'
    """
    grouped = {role: [name for name in roles if roles[name] == role] for role in dict.fromkeys(roles.values())}
    *most, last = [f"{', '.join(names)} ({role})" for role, names in grouped.items()]
    return f"{', '.join(most)} and {last}" if most else last
