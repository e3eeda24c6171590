"""Does the measure agree with experts? They rank tables; Kendall's tau compares their order with that of M.

As the authors evaluated the M-score: tables are ranked by how much damage they could do, by people who know the domain.
One expert against all others says how far people agree among themselves, which no measure can exceed by much.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import numpy as np

from discreet.errors import DataError
from discreet.kernel.serialise import json_of
from discreet.misuse.elicitation.interview import kendall_tau

FEWEST = 3
"""Tables that must be ranked for an order to say anything."""


@dataclass(frozen=True)
class Ranking:
    """One expert's order of the tables."""

    expert: str
    ranks: Mapping[str, float]
    """Per table its rank; 1 is the worst, the most damage."""
    seconds: float | None = None
    """How long it took, where that was noted."""


@dataclass(frozen=True)
class ExpertAgreement:
    """How one expert's order agrees with M, and with the other experts."""

    expert: str
    tau: float | None
    """Kendall's tau with M."""
    others: float | None
    """Kendall's tau with the mean rank of all other experts."""
    tables: int
    seconds: float | None

    to_dict = json_of("expert tau others tables seconds")


@dataclass(frozen=True)
class Evaluation:
    """M and the experts, table by table and expert by expert."""

    scores: Mapping[str, float]
    experts: tuple[ExpertAgreement, ...]
    overall: float | None
    """Kendall's tau of M with the mean rank of all experts."""

    @property
    def mean(self) -> float | None:
        """The mean over experts of their tau with M."""
        return _mean([one.tau for one in self.experts])

    @property
    def among_experts(self) -> float | None:
        """The mean over experts of their tau with all others."""
        return _mean([one.others for one in self.experts])

    to_dict = json_of("scores overall mean among_experts experts")


def evaluate(scores: Mapping[str, float], rankings: Sequence[Ranking]) -> Evaluation:
    """Compare the order of tables by M with the order of each expert.

    >>> ranked = Ranking("ann", {"a": 1, "b": 2, "c": 3})
    >>> evaluate({"a": 0.9, "b": 0.5, "c": 0.1}, [ranked]).overall
    1.0
    """
    if not rankings:
        raise DataError(
            "There are no rankings to compare with.", remedy="One row per expert and table: expert,table,rank"
        )
    for ranking in rankings:
        if unknown := [table for table in ranking.ranks if table not in scores]:
            raise DataError(f"A ranked table has no score ({len(unknown)} of them).", remedy="Score every table first.")
        if len(ranking.ranks) < FEWEST:
            raise DataError(
                f"An expert ranked {len(ranking.ranks)} tables; at least {FEWEST} are needed.",
                remedy="Let every expert rank more tables.",
            )
    agreements = tuple(
        ExpertAgreement(
            ranking.expert,
            _tau(scores, ranking.ranks),
            _tau(
                {table: -rank for table, rank in mean_ranks([one for one in rankings if one is not ranking]).items()},
                ranking.ranks,
            ),
            len(ranking.ranks),
            ranking.seconds,
        )
        for ranking in rankings
    )
    return Evaluation(dict(scores), agreements, _tau(scores, mean_ranks(rankings)))


def mean_ranks(rankings: Sequence[Ranking]) -> dict[str, float]:
    """The mean rank of each table over those who ranked it."""
    tables = dict.fromkeys(table for ranking in rankings for table in ranking.ranks)
    return {table: fmean(one.ranks[table] for one in rankings if table in one.ranks) for table in tables}


def _tau(scores: Mapping[str, float], ranks: Mapping[str, float]) -> float | None:
    """Tau of falling ranks with rising scores, over the tables that both know."""
    both = [table for table in ranks if table in scores]
    if len(both) < FEWEST:
        return None
    return kendall_tau(np.array([scores[table] for table in both]), np.array([-ranks[table] for table in both]))


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def read_rankings(path: Path) -> list[Ranking]:
    """The order of each expert, from a CSV."""
    advice = "Its columns are expert, table, rank and, if noted, seconds."
    found: dict[str, tuple[dict[str, float], list[float]]] = {}
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            for row in csv.DictReader(file):
                ranks, seconds = found.setdefault(row["expert"], ({}, []))
                if row["table"] in ranks:
                    raise DataError("An expert ranked a table twice.", remedy=advice)
                ranks[row["table"]] = float(row["rank"])
                if row.get("seconds"):
                    seconds.append(float(row["seconds"]))
    except (KeyError, ValueError, TypeError, UnicodeError, csv.Error):
        raise DataError(f"{path.name} is no list of rankings.", remedy=advice) from None
    return [Ranking(expert, ranks, sum(seconds) if seconds else None) for expert, (ranks, seconds) in found.items()]
