"""Attacks on the file itself: where rows stand, and how they are numbered. Higher scores mean rather a decoy."""

from __future__ import annotations

import numpy as np

from discreet.kernel.arrays import Floats, Ints
from discreet.kernel.hierarchy import text
from discreet.releases.attacks.held import Adversary


def order(adversary: Adversary, asked: Ints) -> Floats:
    """Rows that were put in later may stand later, or together: the mean place of a class."""
    own = adversary.own
    return np.asarray(_mean(np.arange(len(own.owners), dtype=np.float64), own.owners, len(own.labels))[asked])


def standing_together(adversary: Adversary, asked: Ints) -> Floats:
    """Rows that were put in at once may stand together: how near the rows of a class are to each other."""
    own = adversary.own
    places = np.arange(len(own.owners), dtype=np.float64)
    mean = _mean(places, own.owners, len(own.labels))
    spread = _mean(np.abs(places - mean[own.owners]), own.owners, len(own.labels))
    return np.asarray(-spread[asked])


def row_numbers(adversary: Adversary, asked: Ints) -> Floats:
    """Rows that were put in later may have later numbers; all equal where the file has none."""
    own = adversary.own
    numbers = _numbers(own.ids) if own.ids is not None else np.zeros(len(own.owners))
    return np.asarray(_mean(numbers, own.owners, len(own.labels))[asked])


def _numbers(ids: object) -> Floats:
    """Row numbers as numbers, or by their order where they are none."""
    spelt = [text(one) or "" for one in ids]  # type: ignore[attr-defined]
    try:
        return np.array([float(one) for one in spelt])
    except ValueError:
        return np.argsort(np.argsort(np.array(spelt), kind="stable"), kind="stable").astype(np.float64)


def _mean(values: Floats, owners: Ints, classes: int) -> Floats:
    return np.asarray(np.bincount(owners, weights=values, minlength=classes) / np.bincount(owners, minlength=classes))
