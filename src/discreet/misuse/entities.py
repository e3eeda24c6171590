"""Numbers for entities, as bitmaps need them."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from discreet.errors import DataError
from discreet.kernel.arrays import Ints
from discreet.kernel.hierarchy import text

NAMED = 2**31
"""Whole numbers below this stand for themselves; every other key gets a number from here up."""


class Numbering:
    """A number for each entity, the same whenever it is met; only ever added to, so that it can be shared.

    >>> keys = Numbering()
    >>> (keys.numbers([7, "7", "x-1", "x-1"]) - np.array([0, 0, NAMED, NAMED])).tolist()
    [7, 7, 0, 0]
    """

    def __init__(self, names: Mapping[str, int] | None = None) -> None:
        self.names = dict(names or {})
        self._lock = threading.Lock()

    def numbers(self, entities: Any) -> Ints:
        """The number of each entity."""
        if isinstance(entities, np.ndarray) and entities.dtype.kind in "iu":
            if not len(entities) or (int(entities.min()) >= 0 and int(entities.max()) < NAMED):
                return entities.astype(np.int64)
            entities = entities.tolist()
        keys = list(entities)
        if set(map(type, keys)) == {int} and min(keys) >= 0 and max(keys) < NAMED:
            return np.array(keys, dtype=np.int64)
        return np.array(self._named(keys), dtype=np.int64)

    def _named(self, keys: Iterable[Any]) -> list[int]:
        spelt = [text(key) for key in keys]
        missing = spelt.count(None)
        if missing:
            raise DataError(
                f"{missing} rows do not say whom they are about.",
                remedy="Give the key of the entity with every row, or leave these rows out.",
            )
        with self._lock:
            return [self._number(key) for key in spelt if key is not None]

    def _number(self, key: str) -> int:
        if key.isascii() and key.isdigit() and len(key) <= 10 and int(key) < NAMED and (key[0] != "0" or key == "0"):
            return int(key)
        return self.names.setdefault(key, NAMED + len(self.names))
