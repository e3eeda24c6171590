"""What a release could trace before it is made: after how many claims a leaker is named, and how many may collude.

Played on copies that are drawn as real ones are, from a fixed seed, so that the same plan always foretells the same.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from discreet.kernel.hierarchy import Ints
from discreet.releases.codebook import Flags
from discreet.releases.evidence import COALITIONS, factors, log_e_paths, log_mean, threshold
from discreet.releases.keyed import Floats
from discreet.releases.traced import ALPHA

LEAKERS = 200
"""Leakers, and coalitions of each size, that are played."""
POWER = 0.95
"""A coalition counts as traceable if at least one of it is named in this share of plays."""


@dataclass(frozen=True)
class Chances:
    """What could be traced."""

    recipients: int
    marks: int
    alpha: float
    claims: int | None
    """Claims, the riskiest people first, until half of all single leakers are named; None if they never are."""
    power: tuple[float, ...]
    """For 1, 2 and 3 who collude, the share of coalitions of whom somebody is named once all their marks are used."""

    @property
    def coalition(self) -> int:
        """The largest number of recipients who may collude and still be traced."""
        enough = [share >= POWER for share in self.power]
        return enough.index(False) if False in enough else len(enough)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "power": list(self.power), "coalition": self.coalition}


def foretell(
    *, probabilities: Floats, links: Ints, elsewhere: Ints, recipients: int, alpha: float = ALPHA, seed: int = 1
) -> Chances:
    """Play leakers and coalitions.

    `probabilities` and `links` are those of the marks, `elsewhere` the link counts of the released classes that are no
    marks: whoever re-identifies the riskiest people first meets them as well.

    >>> found = foretell(probabilities=np.full(60, 0.5), links=np.full(60, 9), elsewhere=np.full(10, 50), recipients=3)
    >>> found.coalition, found.claims is not None
    (1, True)
    """
    generator, least = np.random.default_rng(seed), threshold(recipients, alpha)
    copies = generator.random((LEAKERS, len(probabilities))) < probabilities
    order = np.argsort(links, kind="stable")
    claims = [_claims(probabilities[order], links[order], np.sort(elsewhere), held[order], least) for held in copies]
    middle = float(np.median([np.inf if one is None else one for one in claims])) if claims else np.inf
    power = tuple(_power(probabilities, colluding, least, generator) for colluding in COALITIONS)
    return Chances(
        recipients=recipients,
        marks=len(probabilities),
        alpha=alpha,
        claims=int(np.ceil(middle)) if np.isfinite(middle) else None,
        power=power,
    )


def _claims(probabilities: Floats, links: Ints, elsewhere: Ints, held: Flags, least: float) -> int | None:
    """Claims until this leaker is named, the people with the fewest look-alikes first; None if he never is."""
    hit = np.flatnonzero(held)
    if not len(hit):
        return None
    path = log_e_paths(probabilities[hit], np.ones(len(hit), dtype=bool))
    named = np.flatnonzero(path >= least)
    if not len(named):
        return None
    last = int(named[0])
    return last + 1 + int(np.searchsorted(elsewhere, links[hit[last]]))


def _power(probabilities: Floats, colluding: int, least: float, generator: np.random.Generator) -> float:
    """The share of coalitions of whom somebody is named, by the way of colluding that is worst for us."""
    bits = generator.random((LEAKERS, colluding, len(probabilities))) < probabilities
    ways: list[Flags] = [np.all(bits, axis=1), np.any(bits, axis=1), _in_turns(bits, generator)]
    return min(float((_logs(probabilities, bits, hit).max(axis=1) >= least).mean()) for hit in ways)


def _in_turns(bits: Flags, generator: np.random.Generator) -> Flags:
    """Each class is taken from the copy of one of them, at random."""
    chosen = generator.integers(0, bits.shape[1], (bits.shape[0], 1, bits.shape[2]))
    taken: Flags = np.take_along_axis(bits, chosen, axis=1)[:, 0]
    return taken


def _logs(probabilities: Floats, bits: Flags, hit: Flags) -> Floats:
    """The logarithm of the e-value of every member of every coalition."""
    every = []
    for colluding in COALITIONS:
        held, missed = (np.log(factor) for factor in factors(probabilities, colluding))
        every.append((np.where(bits, held, missed) * hit[:, None, :]).sum(axis=-1))
    return log_mean(np.stack(every, axis=-1))
