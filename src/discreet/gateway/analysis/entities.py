"""Numbers for people, by the keys of their rows: the same in every process that has the same secret.

Exposures keep people as bitmaps, so numbers must fit into 32 bits. Small whole keys of the first few entities stand for
themselves, in a range per entity, which keeps bitmaps dense; all other keys are spread over the upper half by a keyed hash.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

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

    def numbers(self, entity: str, keys: Sequence[tuple[str, ...]]) -> Ints:
        """The number of each key, given as texts."""
        texts = [key[0] for key in keys]
        plain = entity in self.ranges and all(len(key) == 1 for key in keys) and max(map(len, texts), default=0) < 10
        try:
            numbers = list(map(int, texts)) if plain else []
        except ValueError:
            plain = False
        if (
            plain
            and list(map(str, numbers)) == texts
            and 0 <= min(numbers, default=0) <= max(numbers, default=0) < RANGE
        ):
            return np.array(numbers, dtype=np.int64) + self.ranges[entity]
        return np.array([self._number(entity, key) for key in keys], dtype=np.int64)

    def _number(self, entity: str, key: tuple[str, ...]) -> int:
        text = key[0] if len(key) == 1 and entity in self.ranges else ""
        if text.isascii() and text.isdigit() and len(text) < 10 and str(int(text)) == text and int(text) < RANGE:
            return self.ranges[entity] + int(text)
        digest = hashlib.blake2b(repr((entity, key)).encode(), key=self.secret[:64], digest_size=7).digest()
        return HASHED + int.from_bytes(digest, "big") % HASHED
