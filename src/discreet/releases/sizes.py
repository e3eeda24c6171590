"""Sizes of decoys that do not stand out: drawn from the released classes whose link counts are nearest.

A class of few people in the population has few in the data. A decoy as large as the average class would be noticed, and
so would decoys that are all as small as they may be.
"""

from __future__ import annotations

import numpy as np

from discreet.errors import UsageError
from discreet.kernel.arrays import Ints
from discreet.releases.population_link import Linked

NEIGHBOURS = 25
"""Released classes among which a size is drawn."""


def decoy_sizes(linked: Linked, links: Ints, rng: np.random.Generator) -> Ints:
    """A size for a decoy of each link count G: that of a released class nearby in ln G, and never more than G.

    >>> from discreet.kernel import Classes
    >>> people = Classes.of(["zip"], [("1",), ("2",), ("3",)], [3, 4, 90])
    >>> linked = Linked.at_node(people, people, [0], k=3)
    >>> decoy_sizes(linked, np.array([3]), np.random.default_rng(1)).tolist()
    [3]
    """
    met = linked.links > 0
    if not met.any():
        raise UsageError("No class is released, so no size can be taken from one.", remedy="Allow other limits.")
    order = np.argsort(linked.links[met], kind="stable")
    known, sizes = np.log(linked.links[met][order]), linked.released.sizes[met][order]
    width = min(NEIGHBOURS, len(known))
    first = np.clip(np.searchsorted(known, np.log(links)) - width // 2, 0, len(known) - width)
    drawn = [_drawn(sizes[start : start + width], link, rng) for start, link in zip(first, links, strict=True)]
    return np.array([linked.k if size is None else size for size in drawn], dtype=np.int64)


def _drawn(sizes: Ints, most: int, rng: np.random.Generator) -> int | None:
    """One of the sizes up to `most`: more people than the population has would give the decoy away."""
    fitting = sizes[sizes <= most]
    return int(rng.choice(fitting)) if len(fitting) else None
