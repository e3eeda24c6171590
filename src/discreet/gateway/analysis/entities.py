"""Numbers for people, by the keys of their rows: the same in every process that has the same secret.

Exposures keep people as bitmaps, so numbers must fit into 32 bits. Small whole keys of the first few entities stand for
themselves, in a range per entity, which keeps bitmaps dense; all other keys are spread over the upper half by a keyed hash.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.gateway.protocol.data_rows import DataRows
from discreet.kernel.arrays import Ints

SEEN = "(seen)"
"""An attribute without weight that accounts of earlier versions hold."""
RANGE = 1 << 27
RANGES = 8
HASHED = RANGE * RANGES
"""From here up to twice this, numbers are hashes."""


@dataclass(frozen=True)
class Entities:
    """Ranges of small whole keys by the name of the entity, and the secret of the hash."""

    ranges: dict[str, int]
    secret: bytes

    @classmethod
    def of(cls, names: Iterable[str], secret: bytes) -> Entities:
        """Ranges are given by name, so that another table in the policy does not move them."""
        ranges: dict[str, int] = {}
        taken: set[int] = set()
        for name in sorted(set(names)):
            place = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big") % RANGES
            if place not in taken:
                taken.add(place)
                ranges[name] = place * RANGE
        return cls(ranges, secret)

    def numbers(self, entity: str, rows: DataRows, columns: Sequence[int]) -> Ints:
        """The number of the person of each row, whose key is in these columns as text; -1 where it is NULL."""
        plain = rows.numbers(columns[0]) if entity in self.ranges and len(columns) == 1 else None
        if plain is not None and int(plain.max(initial=0)) < RANGE:
            return np.where(plain < 0, -1, plain + self.ranges[entity])
        keys = zip(*(rows.texts(place) for place in columns), strict=True)
        found = [-1 if None in key else self._number(entity, key) for key in keys]
        return np.array(found, dtype=np.int64)

    def _number(self, entity: str, key: tuple[str | None, ...]) -> int:
        text = (key[0] or "") if len(key) == 1 and entity in self.ranges else ""
        if text.isascii() and text.isdigit() and len(text) < 10 and str(int(text)) == text and int(text) < RANGE:
            return self.ranges[entity] + int(text)
        digest = hashlib.blake2b(repr((entity, key)).encode(), key=self.secret[:64], digest_size=7).digest()
        return HASHED + int.from_bytes(digest, "big") % HASHED
