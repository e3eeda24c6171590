"""Attacks by counting: what the population list and the sizes of classes say. Higher scores mean rather a decoy."""

from __future__ import annotations

import numpy as np

from discreet.kernel.arrays import Floats, Ints
from discreet.releases.attacks.held import Adversary


def link_count(adversary: Adversary, asked: Ints) -> Floats:
    """Classes of few people in the population are suspect: so few should hardly have been released."""
    return -adversary.links[asked].astype(np.float64)


def size(adversary: Adversary, asked: Ints) -> Floats:
    """Small classes are suspect."""
    return -adversary.own.sizes[asked].astype(np.float64)


def over_sampling(adversary: Adversary, asked: Ints) -> Floats:
    """Classes with more rows than their share of the population should have given are suspect."""
    expected = np.maximum(adversary.links[asked] * adversary.sampling, 1e-9)
    return np.asarray(adversary.own.sizes[asked] / expected)


def intersection(adversary: Adversary, asked: Ints) -> Floats:
    """Classes that others do not have are suspect, and among them those of few people in the population."""
    others = [set(copy.labels) for copy in adversary.copies[1:]]
    labels = adversary.own.labels
    lacking = np.array(
        [sum(labels[place] not in held for held in others) for place in asked.tolist()], dtype=np.float64
    )
    links = adversary.links[asked]
    return lacking + 1 / (2.0 + links)
