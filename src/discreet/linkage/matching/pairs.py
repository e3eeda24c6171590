"""Pairs with their scores, and samples of them to label; no personal values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import UsageError
from discreet.kernel.arrays import Floats
from discreet.linkage.records.folder import ProjectFolder, Records
from discreet.sources.desk import connect, literal, translated

COLUMNS = ("first", "second", "weight", "probability")


@dataclass(frozen=True, eq=False)
class Pairs:
    """Two records each, the smaller number first; how much speaks for one person, and how probable that is.

    `weight` is in bits: one more doubles the odds. `probability` is what the model says, or what it was calibrated to.
    Both are NaN for pairs that came without a score.
    """

    first: Records
    second: Records
    weight: Floats
    probability: Floats
    calibrated: bool = False

    def __post_init__(self) -> None:
        if not len(self.first) == len(self.second) == len(self.weight) == len(self.probability):
            raise UsageError("Pairs need columns of one length.", remedy="Read them with read_pairs.")
        for array in (self.first, self.second, self.weight, self.probability):
            array.setflags(write=False)

    @classmethod
    def of(cls, first: Any, second: Any, weight: Any) -> Pairs:
        """Pairs whose probability is that of their weight.

        >>> Pairs.of([0, 1], [7, 9], [0.0, 10.0]).probability.round(3).tolist()
        [0.5, 0.999]
        """
        weights = np.array(weight, dtype=np.float64)
        return cls(np.array(first, dtype=np.int64), np.array(second, dtype=np.int64), weights, probability_of(weights))

    def __len__(self) -> int:
        return len(self.first)

    def __repr__(self) -> str:
        return f"Pairs({len(self):,}, {'calibrated' if self.calibrated else 'not calibrated'})"

    @property
    def scored(self) -> bool:
        """Whether every pair has a weight."""
        return not bool(np.isnan(self.weight).any())

    @property
    def expected(self) -> float:
        """How many of the pairs are one person, by their probabilities."""
        return float(np.nansum(self.probability))

    def where(self, chosen: Any) -> Pairs:
        """Some of the pairs."""
        return replace(
            self,
            first=self.first[chosen],
            second=self.second[chosen],
            weight=self.weight[chosen],
            probability=self.probability[chosen],
        )

    def keys(self, records: int) -> Records:
        """One number for each pair, for look-ups."""
        return np.asarray(self.first * np.int64(records) + self.second)

    def labelled(self, truth: Pairs, records: int) -> npt.NDArray[np.bool_]:
        """Which of the pairs are among other pairs."""
        return np.isin(self.keys(records), truth.keys(records))

    def write(self, path: Path, *, decisions: npt.NDArray[np.int8] | None = None, names: Sequence[str] = ()) -> Path:
        """Write the pairs as Parquet, with the name of each decision where there are decisions."""
        columns = {name: np.array(getattr(self, name)) for name in COLUMNS}
        listed = ", ".join(literal(name) for name in names)
        said = "" if decisions is None else f", [{listed}][decision + 1] AS decision"
        with connect() as own, translated("the pairs"):
            own.register(
                "handed", columns if decisions is None else {**columns, "decision": decisions.astype(np.int32)}
            )
            rows = f"SELECT {', '.join(COLUMNS)}, {str(self.calibrated).upper()} AS calibrated{said} FROM handed"
            target = f"{literal(str(path))} (FORMAT parquet, COMPRESSION zstd)"
            own.execute(f"COPY ({rows} ORDER BY first, second) TO {target}")
        return path

    @classmethod
    def read(cls, path: Path) -> Pairs:
        """Pairs that were written."""
        if not path.is_file():
            raise UsageError("There are no candidate pairs yet.", remedy="Find them with: discreet link pairs PROJECT")
        with connect() as own, translated("the pairs"):
            found = own.execute(f"SELECT * FROM read_parquet({literal(str(path))}) ORDER BY first, second").fetchnumpy()
        numbers = [np.asarray(np.ma.getdata(found[name]), dtype=np.int64) for name in COLUMNS[:2]]
        scores = [np.asarray(np.ma.filled(found[name].astype(np.float64), np.nan)) for name in COLUMNS[2:]]
        return cls(numbers[0], numbers[1], scores[0], scores[1], calibrated=bool(np.any(found["calibrated"])))


def probability_of(weight: Floats) -> Floats:
    """The probability of a weight in bits."""
    small = np.exp2(-np.abs(weight))
    return np.asarray(np.where(weight >= 0, 1 / (1 + small), small / (1 + small)))


@dataclass(frozen=True, eq=False)
class Labels:
    """What is known about some pairs: whether they are one person, and how many pairs each label stands for."""

    pairs: Pairs
    same: npt.NDArray[np.bool_]
    weights: Floats = field(default_factory=lambda: np.zeros(0))
    """One over the share of such pairs that was labelled; 1 for all where it is empty."""

    def __post_init__(self) -> None:
        if not len(self.weights):
            object.__setattr__(self, "weights", np.ones(len(self.same)))
        if not len(self.pairs) == len(self.same) == len(self.weights) or bool((self.weights <= 0).any()):
            raise UsageError(
                "Labels need one answer and one positive weight per pair.", remedy="Read them with read_labels."
            )

    def __len__(self) -> int:
        return len(self.same)

    def __repr__(self) -> str:
        return f"Labels({len(self):,} pairs, {int(self.same.sum()):,} the same)"

    def matched(self, pairs: Pairs, folder: ProjectFolder) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """The places of labelled pairs among candidate pairs, and which labels have one."""
        wanted, there = self.pairs.keys(folder.records), pairs.keys(folder.records)
        order = np.argsort(there, kind="stable")
        if not len(there):
            return np.zeros(0, dtype=np.int64), np.zeros(len(wanted), dtype=np.bool_)
        place = np.minimum(np.searchsorted(there[order], wanted), len(there) - 1)
        hit = there[order][place] == wanted
        return order[place[hit]], hit


# Which pairs to label, so that labels tell about all pairs and not only about the unsure ones.
#
# Pairs are drawn from layers of probability, half of them evenly and half from where it is open; each label stands for as many pairs as its layer
# has per label drawn. Without that, pairs that were never in doubt would be calibrated by those that were.
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
