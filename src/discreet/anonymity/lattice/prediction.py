"""Prediction of what a node will come to, from those looked at so far: steers a search, and decides nothing."""

from __future__ import annotations

from itertools import accumulate

import numpy as np

from discreet.anonymity.lattice.problem import LatticeProblem, Node
from discreet.kernel.arrays import Floats

PENALTY = 1.0
"""How reluctantly a level gets an offset of its own."""


class Prediction:
    """A ridge regression on the bits of a node, with offsets per column and level: a table per column."""

    def __init__(self, problem: LatticeProblem) -> None:
        self.shape = problem.shape
        self.bits = [ladder.bits for ladder in problem.ladders]
        self.starts = 2 + np.array([0, *accumulate(problem.shape)][: len(problem.shape)], dtype=np.int64)
        features = 2 + sum(problem.shape)
        self.moments = np.diag(np.concatenate([[1e-6, 1e-3], np.full(features - 2, PENALTY)]))
        self.products = np.zeros(features)
        self.rows: list[Floats] = []
        self.seen: list[float] = []
        self.taken = 0
        self.spread = 1.0
        """How far predictions were off."""
        self.tables: list[list[float]] = [[0.0] * height for height in problem.shape]
        """Per column and level, its part of what is expected."""

    def observe(self, node: Node, value: float) -> None:
        """What a node came to."""
        row = np.zeros(len(self.products))
        row[0] = 1
        row[1] = sum(float(bits[level]) for bits, level in zip(self.bits, node, strict=True))
        row[self.starts + np.array(node, dtype=np.int64)] = 1
        self.rows.append(row)
        self.seen.append(value)

    def refit(self) -> None:
        """Take in what was observed since the last time."""
        rows, seen = np.array(self.rows[self.taken :]), np.array(self.seen[self.taken :])
        if not len(rows):
            return
        if self.taken:
            off = seen - np.array([self._expected(row) for row in rows])
            recent = min(len(off), 32) / 32
            self.spread = max(0.05, float((1 - recent) * self.spread + recent * np.sqrt((off * off).mean())))
        self.taken = len(self.seen)
        self.moments += np.einsum("ri,rj->ij", rows, rows)
        self.products += np.einsum("ri,r->i", rows, seen)
        weights = np.linalg.solve(self.moments, self.products)
        share = float(weights[0]) / max(len(self.shape), 1)
        self.weights = weights
        self.tables = [
            (share + weights[1] * bits + weights[start : start + height]).tolist()
            for start, height, bits in zip(self.starts.tolist(), self.shape, self.bits, strict=True)
        ]

    def _expected(self, row: Floats) -> float:
        return float(row @ self.weights)
