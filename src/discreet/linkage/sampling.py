"""Which pairs to label, so that labels tell about all pairs and not only about the unsure ones.

Pairs are drawn from layers of probability, half of them evenly and half from where it is open; each label stands for as many pairs as its layer
has per label drawn. Without that, pairs that were never in doubt would be calibrated by those that were.
"""

from __future__ import annotations

import numpy as np

from discreet.errors import UsageError
from discreet.kernel.arrays import Floats
from discreet.linkage.matching.pairs import Pairs
from discreet.linkage.records.folder import Records

LAYERS = (0.0, 0.0001, 0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 0.99, 0.999, 1.0)
EVENLY = 0.5
"""Share of the sample that is spread evenly over the layers: the model may be sure and wrong."""


def sample_to_label(pairs: Pairs, size: int, *, seed: int) -> tuple[Records, Floats]:
    """Places of pairs to label, and how many pairs each label stands for."""
    if size < 1 or not pairs.scored:
        raise UsageError(
            "A sample to label has at least one pair, and its pairs have scores.", remedy="Score the pairs first."
        )
    rng = np.random.default_rng(seed)
    layer = np.digitize(pairs.probability, LAYERS[1:-1])
    counts = np.bincount(layer, minlength=len(LAYERS) - 1)
    doubt = np.bincount(layer, weights=_deviation(pairs.probability), minlength=len(counts))
    there = counts > 0
    shares = EVENLY * there / there.sum() + (1 - EVENLY) * doubt / max(doubt.sum(), 1e-12)
    wanted = np.minimum(counts, np.ceil(size * shares).astype(np.int64))
    chosen, stands = [], []
    for place in np.flatnonzero(wanted):
        drawn = rng.choice(np.flatnonzero(layer == place), wanted[place], replace=False)
        chosen.append(drawn)
        stands.append(np.full(len(drawn), counts[place] / wanted[place]))
    order = np.argsort(np.concatenate(chosen), kind="stable")
    return np.concatenate(chosen)[order], np.concatenate(stands)[order]


def _deviation(probability: Floats) -> Floats:
    """How uncertain an answer is; the best allocation over layers is in proportion to it (Neyman 1934)."""
    return np.asarray(np.sqrt(probability * (1 - probability)))
