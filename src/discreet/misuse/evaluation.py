"""Does the measure agree with experts? They rank tables; Kendall's tau compares their order with that of M.

As the authors evaluated the M-score: tables are ranked by how much damage they could do, by people who know the domain.
One expert against all others says how far people agree among themselves, which no measure can exceed by much.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

import numpy as np

from discreet.errors import DataError
from discreet.kernel.arrays import Floats
from discreet.kernel.serialise import json_of
from discreet.misuse.elicitation.interview import Interview, kendall_tau
from discreet.misuse.elicitation.joint_fit import Compare

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


# Two methods of elicitation on the same people, as the authors compared them: with record ranking experts score whole
# made-up records, from which the sensitivity of each value is learnt (here by non-negative least squares); with pairwise
# comparison they compare values two by two (AHP). Both are taken from the same interviews.
METHODS = {
    "record ranking": "scores of whole made-up records, by non-negative least squares",
    "pairwise comparison": "values compared two by two (AHP), the worst scored 1",
    "both": "records and comparisons fitted together",
}


@dataclass(frozen=True, eq=False)
class ExpertByMethod:
    """What one method makes of one expert's answers."""

    expert: str
    method: str
    questions: int
    seconds: float | None
    """Mean time of an answer, where it was measured."""
    scores: Floats
    """f of each value; not a number where the method does not know it."""
    error: float | None
    """Mean error in predicting the expert's score of a record, each record from all other answers; from 0 to 1."""

    to_dict = json_of(
        "expert method questions seconds error",
        scores=lambda self: [None if math.isnan(score) else round(score, 4) for score in self.scores.tolist()],
    )


@dataclass(frozen=True, eq=False)
class MethodComparison:
    """Both methods, and both together, on the same experts."""

    values: tuple[str, ...]
    rows: tuple[ExpertByMethod, ...]

    def tau(self, expert: str) -> float | None:
        """Kendall's tau between the two methods for one expert."""
        one, other = (
            next(row.scores for row in self.rows if (row.expert, row.method) == (expert, method))
            for method in ("record ranking", "pairwise comparison")
        )
        both = ~(np.isnan(one) | np.isnan(other))
        return kendall_tau(one[both], other[both]) if both.sum() > 1 else None

    @property
    def experts(self) -> tuple[str, ...]:
        """The experts, in their order."""
        return tuple(dict.fromkeys(row.expert for row in self.rows))

    def agreement(self, method: str) -> float | None:
        """Kendall's tau between two experts by one method, averaged over all pairs of experts."""
        each = [row.scores for row in self.rows if row.method == method]
        taus = []
        for place, one in enumerate(each):
            for other in each[place + 1 :]:
                both = ~(np.isnan(one) | np.isnan(other))
                taus.append(kendall_tau(one[both], other[both]) if both.sum() > 1 else None)
        known = [tau for tau in taus if tau is not None]
        return fmean(known) if known else None

    to_dict = json_of(
        "values experts=rows",
        between_methods=lambda self: {expert: self.tau(expert) for expert in self.experts},
        between_experts=lambda self: {method: self.agreement(method) for method in METHODS},
    )


def compare_methods(interviews: Sequence[Interview]) -> MethodComparison:
    """Score every expert's values by each method."""
    rows = [_by_method(interview, method) for interview in interviews for method in METHODS]
    return MethodComparison(tuple(map(str, interviews[0].items)) if interviews else (), tuple(rows))


def _by_method(interview: Interview, method: str) -> ExpertByMethod:
    part = _answered(interview, method)
    times = [answer.seconds for answer in part.answers if answer.seconds is not None]
    known = np.array(part.known, dtype=bool) if part.answers else np.zeros(len(part.items), dtype=bool)
    scores = np.where(known, part.scores(), np.nan) if known.any() else np.full(len(part.items), np.nan)
    errors = []
    for place, answer in enumerate(part.answers if method != "pairwise comparison" else interview.latest):
        if isinstance(answer.question, Compare) or answer.value is None:
            continue
        others = (*part.answers[:place], *part.answers[place + 1 :])
        rest = part if method == "pairwise comparison" else replace(part, answers=others)
        items = list(answer.question.items)
        if all(rest.known[item] for item in items):
            predicted = min(1.0, float(rest.scores()[items].sum()))
            errors.append(abs(predicted - answer.value))
    error = fmean(errors) if errors else None
    return ExpertByMethod(interview.expert, method, len(part.answers), fmean(times) if times else None, scores, error)


def _answered(interview: Interview, method: str) -> Interview:
    """The interview with the answers of one method only."""
    if method == "both":
        return replace(interview, answers=interview.latest)
    wanted = method == "pairwise comparison"
    return replace(
        interview,
        answers=tuple(answer for answer in interview.latest if isinstance(answer.question, Compare) == wanted),
    )


def study_files(interviews: Sequence[Interview]) -> dict[str, str]:
    """A study as CSV: every answer, and every value by each method."""
    answers = [
        (
            interview.expert,
            order,
            "comparison" if isinstance(answer.question, Compare) else "record",
            " + ".join(str(interview.items[place]) for place in answer.places),
            "" if answer.value is None else answer.value,
            "" if answer.seconds is None else round(answer.seconds, 1),
        )
        for interview in interviews
        for order, answer in enumerate(interview.answers, start=1)
    ]
    found = compare_methods(interviews)
    scores = [
        (row.expert, row.method, value, "" if math.isnan(score) else round(score, 4))
        for row in found.rows
        for value, score in zip(found.values, row.scores.tolist(), strict=True)
    ]
    heads = {
        "answers.csv": ("expert", "order", "question", "about", "answer", "seconds"),
        "scores.csv": ("expert", "method", "value", "score"),
    }
    files = {}
    for name, rows in (("answers.csv", answers), ("scores.csv", scores)):
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(heads[name])
        for row in rows:  # a name that a spreadsheet would take for a formula is quoted
            writer.writerow(
                [
                    f"'{cell}" if isinstance(cell, str) and cell.startswith(("=", "+", "-", "@")) else cell
                    for cell in row
                ]
            )
        files[name] = text.getvalue()
    return files
