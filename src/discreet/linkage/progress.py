"""Progress of a project: work done, disclosure per reviewer, agreement (Cohen, Fleiss)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any, get_args

from sqlalchemy import Connection, and_, select

from discreet.errors import UsageError
from discreet.kernel.serialise import json_of
from discreet.ledger import Ledger
from discreet.linkage.masking.kapr import PARTS
from discreet.linkage.project import Project
from discreet.linkage.review.decisions import HURRY, Verdict, read_answers
from discreet.linkage.review.held_pair import WITHDRAWN, not_there
from discreet.linkage.review.views import CHOICES, Gauge, gauge
from discreet.store import Store
from discreet.store.tables.ledger import BUDGET
from discreet.store.tables.linkage import ASSIGNMENT, CELL, DECISION, EVENT, PAIR, PROJECT, WORKER

HURRIED = 0.2
"""The share of such decisions from which it is said."""
LONGEST_PAUSE = 300
"""Seconds; a reviewer who does nothing for longer is taken to be away."""


@dataclass(frozen=True)
class WorkerProgress:
    """How far one reviewer is, and what they have seen."""

    worker: str
    pairs: int
    decided: int
    choices: Mapping[int, int]
    """How often each answer counts, by the keys of CHOICES."""
    characters: Gauge
    risk: Gauge
    seconds: int
    """Time at work: from act to act, without pauses of more than five minutes."""
    condition: str | None
    """The interface of a participant of a study."""
    gold: Sequence[bool]
    """Of the decided pairs of known truth, whether each answer is right."""
    hurried: int
    """Decisions within less than three seconds of the act before."""

    @property
    def too_fast(self) -> bool:
        """Whether so many decisions come faster than people read that it should be looked into."""
        return self.decided > 0 and self.hurried > HURRIED * self.decided

    to_dict = json_of(
        "worker pairs decided characters risk seconds condition hurried too_fast",
        gold=lambda self: {"answered": len(self.gold), "right": sum(self.gold)},
        choices=lambda self: {str(choice): count for choice, count in self.choices.items()},
    )


@dataclass(frozen=True)
class Progress:
    """How far a project is."""

    project: Project
    pairs: int
    verdicts: Mapping[str, int]
    """Pairs by what counts: same, different, can't tell, disputed, open."""
    unassigned: int
    to_adjudicate: int
    characters: Gauge
    risk: Gauge
    workers: tuple[WorkerProgress, ...]
    agreement: Fraction | None
    """Fleiss' kappa over the pairs with the most answers; None where nothing can be compared."""
    compared: int
    """Over how many pairs."""
    between: tuple[tuple[str, str, int, Fraction | None], ...]
    """Cohen's kappa of every two reviewers, with the number of pairs that both have decided."""

    to_dict = json_of(
        "project pairs verdicts unassigned to_adjudicate characters risk workers",
        agreement=lambda self: {"fleiss": self.agreement, "pairs": self.compared},
        between=lambda self: [
            {"workers": [first, second], "pairs": pairs, "cohen": kappa} for first, second, pairs, kappa in self.between
        ],
    )


def progress(ledger: Ledger, project: Project) -> Progress:
    """How far a project is, in one state of the store."""
    return progress_in(ledger.store, project)


def progress_in(store: Store, project: Project) -> Progress:
    """How far a project is, from the store alone, which needs no keys."""
    with store.reading() as connection:
        answers = read_answers(connection, project)
        row = connection.execute(select(PROJECT).where(PROJECT.c.id == project.id)).one()
        workers = tuple(_workers(connection, project))
    rated = [answered.answers for answered in answers if answered.complete and len(answered.answers) > 1]
    most = max(map(len, rated), default=0)
    comparable = [ratings for ratings in rated if len(ratings) == most]
    # For every two reviewers the answers to the pairs that both have decided.
    both: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for answered in answers:
        made = {worker: CHOICES[choice][0] for worker, choice in answered.reviews.items() if choice is not None}
        for first, second in combinations(sorted(made), 2):
            both[first, second].append((made[first], made[second]))
    return Progress(
        project=project,
        pairs=len(answers),
        verdicts={verdict: sum(answered.verdict == verdict for answered in answers) for verdict in get_args(Verdict)},
        unassigned=sum(not answered.reviews for answered in answers),
        to_adjudicate=sum(answered.disputed and not answered.adjudications for answered in answers),
        characters=_characters(row),
        risk=_risk(project, row, row.risk_spent),
        workers=workers,
        agreement=agreement_of_many(comparable) if comparable else None,
        compared=len(comparable),
        between=tuple(
            (first, second, len(ratings), agreement_of_two(*zip(*ratings, strict=True)))
            for (first, second), ratings in sorted(both.items())
        ),
    )


def summary(ledger: Ledger, project: Project, worker: str) -> WorkerProgress:
    """How far one reviewer is: what is said after their last pair."""
    with ledger.store.reading() as connection:
        for reviewer in _workers(connection, project):
            if reviewer.worker == worker:
                return reviewer
    raise not_there()


def _workers(connection: Connection, project: Project) -> Iterable[WorkerProgress]:
    of_project = ASSIGNMENT.c.project == project.id
    columns = select(ASSIGNMENT.c.id, ASSIGNMENT.c.worker, ASSIGNMENT.c.state, PAIR.c.gold).join(
        PAIR, and_(PAIR.c.project == ASSIGNMENT.c.project, PAIR.c.number == ASSIGNMENT.c.pair)
    )
    assignments = connection.execute(columns.where(of_project)).all()
    # The answer that counts for each assignment.
    choices: dict[int, int | None] = {}
    acts = _acts(connection, project)
    decisions = select(DECISION).join(ASSIGNMENT, ASSIGNMENT.c.id == DECISION.c.assignment).where(of_project)
    for row in connection.execute(decisions.order_by(DECISION.c.id)):
        choices[row.assignment] = row.choice
    reviewers = select(WORKER).where(WORKER.c.project == project.id).order_by(WORKER.c.worker)
    for row in connection.execute(reviewers).all():
        mine = [one for one in assignments if one.worker == row.worker and one.state != WITHDRAWN]
        held = [one.id for one in mine]
        spent = connection.execute(select(BUDGET.c.spent).where(BUDGET.c.name == project.budget(row.worker))).scalar()
        decided = [choices[assignment] for assignment in held if choices.get(assignment) is not None]
        yield WorkerProgress(
            worker=row.worker,
            pairs=len(held),
            decided=len(decided),
            choices={choice: decided.count(choice) for choice in CHOICES},
            characters=_characters(row),
            risk=_risk(project, row, spent or 0),
            seconds=_at_work([at for at, _, _ in acts[row.worker]]),
            condition=row.condition,
            gold=[
                CHOICES[choice][0] == ("same" if one.gold else "different")
                for one in mine
                if one.gold is not None and (choice := choices.get(one.id)) is not None
            ],
            hurried=sum(time is not None and time < HURRY for time in _times(acts[row.worker]).values()),
        )


def _at_work(moments: Sequence[datetime]) -> int:
    """Seconds from act to act, without pauses."""
    gaps = ((later - earlier).total_seconds() for earlier, later in pairwise(moments))
    return round(sum(gap for gap in gaps if gap <= LONGEST_PAUSE))


def decision_times(store: Store, project: Project) -> dict[str, dict[int, float | None]]:
    """Per reviewer and pair the seconds from their act before to the decision that counts.

    Of a pair in which cells were opened that is the time since the decision on another pair, openings included. The first
    pair (unless a study says when it began), and one after a pause of more than five minutes, has none.
    """
    with store.reading() as connection:
        return {worker: _times(acts) for worker, acts in _acts(connection, project).items()}


Acts = list[tuple[datetime, int, bool]]
"""When, on which pair, and whether that was a decision."""


def _acts(connection: Connection, project: Project) -> Mapping[str, Acts]:
    """What each reviewer did, in order of time; the beginning of a study's pairs is an act on pair 0."""
    acts: dict[str, Acts] = defaultdict(list)
    of_project, whose = ASSIGNMENT.c.project == project.id, (ASSIGNMENT.c.worker, ASSIGNMENT.c.pair)
    made = select(*whose, DECISION.c.at, DECISION.c.choice).join(DECISION, DECISION.c.assignment == ASSIGNMENT.c.id)
    for worker, pair, at, choice in connection.execute(made.where(of_project)):
        acts[worker].append((datetime.fromisoformat(at), pair, choice is not None))
    opened = select(*whose, CELL.c.at).join(CELL, CELL.c.assignment == ASSIGNMENT.c.id)
    for worker, pair, at in connection.execute(opened.where(of_project, CELL.c.reason == "asked")):
        acts[worker].append((datetime.fromisoformat(at), pair, False))
    begun = select(EVENT.c.worker, EVENT.c.at).where(EVENT.c.project == project.id, EVENT.c.act == "pairs")
    for worker, at in connection.execute(begun):
        acts[worker].append((datetime.fromisoformat(at), 0, False))
    return defaultdict(list, {worker: sorted(each) for worker, each in acts.items()})


def _times(acts: Acts) -> dict[int, float | None]:
    spent: dict[int, float | None] = {}
    at_this: float | None = None
    for (before, earlier, _), (now, pair, decided) in pairwise([(acts[0][0], -1, False), *acts] if acts else []):
        gap = (now - before).total_seconds()
        # Acts on one pair add up; the first act of all, and one after a pause, has no beginning.
        fresh = None if earlier == -1 or gap > LONGEST_PAUSE else gap
        at_this = fresh if pair != earlier or at_this is None else at_this + (fresh or 0.0)
        if decided:
            spent[pair] = at_this
    return spent


def _characters(row: Any) -> Gauge:
    return gauge(Fraction(row.characters_shown, row.characters or 1), row.characters_limit)


def _risk(project: Project, row: Any, parts: int) -> Gauge:
    return gauge(project.meter(row.displays).spent(Fraction(parts, PARTS)), row.risk_limit)


# How far people agree beyond chance: Cohen's kappa for two, Fleiss' kappa for any number. Exact.
def agreement_of_two(first: Sequence[Hashable], second: Sequence[Hashable]) -> Fraction | None:
    """Cohen's kappa (Cohen 1960): (observed - expected) / (1 - expected) agreement of two people on the same pairs.

    None where both always give one and the same answer, so that there is nothing beyond chance to see.

    >>> agreement_of_two("yynnyynnyy", "yynnyyyynn")
    Fraction(1, 6)
    """
    if len(first) != len(second) or not first:
        raise UsageError(
            "Two people are compared on the same pairs, at least one.", remedy="Give equally many answers."
        )
    total = len(first)
    observed = Fraction(sum(a == b for a, b in zip(first, second, strict=True)), total)
    left, right = Counter(first), Counter(second)
    expected = sum((Fraction(left[answer] * right[answer], total * total) for answer in left), start=Fraction(0))
    return _beyond(observed, expected)


def agreement_of_many(answers: Sequence[Sequence[Hashable]]) -> Fraction | None:
    """Fleiss' kappa (Fleiss 1971): one row of answers per pair, equally many each.

    >>> agreement_of_many(["yyy", "yyn", "nnn", "ynn"])
    Fraction(1, 3)
    """
    if not answers or len({len(row) for row in answers}) != 1 or len(answers[0]) < 2:
        raise UsageError(
            "Every pair needs equally many answers, at least two.", remedy="Leave out the pairs that have fewer."
        )
    people, pairs = len(answers[0]), len(answers)
    counts = [Counter(row) for row in answers]
    agreeing = sum(count * (count - 1) for row in counts for count in row.values())
    observed = Fraction(agreeing, pairs * people * (people - 1))
    totals = sum(counts, Counter())
    expected = sum((Fraction(total * total, (pairs * people) ** 2) for total in totals.values()), start=Fraction(0))
    return _beyond(observed, expected)


def _beyond(observed: Fraction, expected: Fraction) -> Fraction | None:
    return None if expected == 1 else (observed - expected) / (1 - expected)
