"""Serialisation: results as plain data for JSON, by the names of their members."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Set
from dataclasses import fields, is_dataclass
from datetime import date
from enum import Enum
from operator import attrgetter
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """A value as JSON holds it; what JSON has no word for becomes text.

    >>> plain((1, {"a": np.array([0.5, 1.0])}, float("inf"), date(2026, 1, 2)))
    [1, {'a': [0.5, 1.0]}, 'inf', '2026-01-02']
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return "inf" if math.isinf(value) else value
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | Set):
        return [plain(inner) for inner in value]
    if isinstance(value, Enum):
        return value.name
    return value.isoformat() if isinstance(value, date) else str(value)


def json_of(members: str = "", /, **computed: Callable[[Any], Any]) -> Callable[[Any], dict[str, Any]]:
    """The method `to_dict` of a class: the named members under their names, then what is computed.

    A member may be renamed, and may be a member of a member: `json_of("records type=looks version=policy.version")`.
    Without names all fields of a dataclass count.
    """
    named = [text.rpartition("=") for text in members.split()]
    getters = {key or path: attrgetter(path) for key, _, path in named}

    def to_dict(self: Any) -> dict[str, Any]:
        """For JSON."""
        chosen = getters or {field.name: attrgetter(field.name) for field in fields(self)}
        found = {key: plain(member(self)) for key, member in chosen.items()}
        return found | {key: plain(compute(self)) for key, compute in computed.items()}

    return to_dict
