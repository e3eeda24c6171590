"""Assignments: pairs given to reviewers, within limits, charged when given."""

from __future__ import annotations

import math
import random
import secrets
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, func, insert, select, update

from discreet.errors import BudgetExhausted, Outdated, UsageError
from discreet.kernel import Amount, parts_down, parts_up
from discreet.ledger import Ledger, Request
from discreet.ledger.operations import Note, Spend
from discreet.linkage.folder import ProjectFolder
from discreet.linkage.masking.kapr import PARTS
from discreet.linkage.matching.candidate_pairs import load_candidates
from discreet.linkage.matching.pairs import Labels
from discreet.linkage.project import Project, now, share
from discreet.linkage.review import reveal
from discreet.linkage.review.held_pair import (
    ASSIGNMENTS,
    WITHDRAWN,
    LimitPassed,
    count_project,
    count_worker,
    write_cells,
)
from discreet.linkage.review.views import REFUSALS
from discreet.store.tables.linkage import ASSIGNMENT, PAIR, PROJECT, WORKER

MOST_ATTEMPTS = 20
"""So often pairs are dealt again because another manager assigns at the same time."""


@dataclass(frozen=True)
class Assigned:
    """What was given out."""

    pairs: Mapping[str, int]
    """New pairs per reviewer."""
    left_over: int
    """Looks at pairs that nobody had room for."""


def bring_pairs(ledger: Ledger, project: Project) -> int:
    """Take pairs for people, first a label sample, into the store; gives how many are new."""
    people = load_candidates(ProjectFolder.open(project.folder).reviewable()).to_review
    listed = zip(people.first.tolist(), people.second.tolist(), people.probability.tolist(), strict=True)
    with ledger.store.writing() as connection:
        return _insert_new(connection, project, listed)


def hide_gold(ledger: Ledger, project: Project, labels: Labels, *, actor: str) -> int:
    """Hide pairs of known truth among the others, to see how reviewers do; gives how many there are now.

    They are assigned like all others, and nothing on the page of a pair tells them apart. Their truth is what counts in
    the export, whatever reviewers answer.
    """
    firsts, seconds = labels.pairs.first.tolist(), labels.pairs.second.tolist()
    truth = {(min(pair), max(pair)): same for *pair, same in zip(firsts, seconds, labels.same.tolist(), strict=True)}

    def along(connection: Connection) -> None:
        _insert_new(connection, project, [(*pair, math.nan) for pair in truth])
        numbers = {pair: number for number, pair in records_of(connection, project).items()}
        for pair, same in truth.items():
            this = (PAIR.c.project == project.id, PAIR.c.number == numbers[pair])
            connection.execute(update(PAIR).where(*this).values(gold=bool(same)))

    details = {"gold": len(truth)}
    ledger.record(actor=actor, event="linkage.project", subject=project.subject, details=details, along=along)
    with ledger.store.reading() as connection:
        gold = select(func.count()).where(PAIR.c.project == project.id, PAIR.c.gold.is_not(None))
        return int(connection.execute(gold).scalar_one())


def _insert_new(connection: Connection, project: Project, pairs: Iterable[tuple[int, int, float]]) -> int:
    stored = set(records_of(connection, project).values())
    new = [pair for pair in pairs if pair[:2] not in stored]
    rows = [
        {"project": project.id, "number": number, "first": first, "second": second,
         "probability": None if math.isnan(probability) else probability}
        for number, (first, second, probability) in enumerate(new, start=len(stored) + 1)
    ]  # fmt: skip
    if rows:
        connection.execute(insert(PAIR), rows)
    return len(rows)


def assign(
    ledger: Ledger,
    project: Project,
    workers: Sequence[str],
    *,
    actor: str,
    overlap: int = 1,
    limits: Limits | None = None,
    most: int | None = None,
    rng: random.Random | None = None,
) -> Assigned:
    """Give the project's pairs to reviewers until `overlap` of them have each, in an order of their own.

    Pairs that were withdrawn before anybody decided are given out again, to others. `limits` hold for each reviewer;
    without them the present ones stay.
    """
    if project.study is not None:
        raise UsageError(
            "In a study every participant gets all pairs, in an interface drawn at random.",
            remedy="Enrol participants on its page, or with: discreet link assign PROJECT --study --worker NAME",
        )
    rng = rng or random.Random(secrets.randbits(128))  # noqa: S311 - seeded by the machine's randomness
    given: Counter[str] = Counter(dict.fromkeys(workers, 0))
    for attempt in range(MOST_ATTEMPTS):
        with ledger.store.reading() as connection:
            records = records_of(connection, project)
            had, seen_by, loads = holders(connection, project)
        dealt = deal(list(records), workers, overlap=overlap, most=most, had=had, seen_by=seen_by, loads=loads, rng=rng)
        wanted = sorted({pair for pairs in dealt.pairs.values() for pair in pairs})
        disclosures = reveal.measure(project, [records[pair] for pair in wanted], initial=project.initial)
        disclosure = dict(zip(wanted, disclosures, strict=True))
        parcels = {worker: [(pair, disclosure[pair]) for pair in pairs] for worker, pairs in dealt.pairs.items()}
        for worker, parcel in parcels.items():  # nobody gets pairs if they do not fit for one of them
            _allowance(ledger, project, worker, parcel, actor=actor, limits=limits)
        try:
            for worker, parcel in parcels.items():
                give(ledger, project, worker, parcel, actor=actor, limits=limits, most_holders=overlap)
                given[worker] += len(parcel)
            break
        except Outdated:  # another manager was quicker: what is left is dealt again
            if attempt == MOST_ATTEMPTS - 1:
                raise
    return Assigned(given, dealt.left_over)


def give(
    ledger: Ledger,
    project: Project,
    worker: str,
    pairs: Sequence[tuple[int, reveal.PairDisclosure]],
    *,
    actor: str,
    limits: Limits | None = None,
    role: str = "review",
    most_holders: int | None = None,
) -> None:
    """Give pairs to one reviewer: all, or none if what is open from the start exceeds a limit.

    None either if a pair has `most_holders` reviewers by then, or was this reviewer's already.
    """
    if not pairs and limits is None:
        return
    chosen, allowance, parts = _allowance(ledger, project, worker, pairs, actor=actor, limits=limits)
    ledger.set_budget(project.budget(worker), limit=allowance, parts=PARTS, actor=actor, subject=project.subject)

    def along(connection: Connection) -> None:
        having, ever, _ = holders(connection, project)
        full = (
            any(len(having.get(pair, ())) >= most_holders for pair, _ in pairs) if most_holders is not None else False
        )
        if full or any(worker in ever.get(pair, ()) for pair, _ in pairs):
            remedy = "Look at the project, and assign again."
            raise Outdated("Pairs were assigned meanwhile; these were not.", remedy=remedy)
        insert_pairs(connection, project, worker, pairs, chosen, parts=parts, role=role)

    request = Request.of(
        actor=actor,
        event="linkage.assigned",
        subject=f"{project.subject}/worker:{worker}",
        details={"pairs": len(pairs), "role": role, "risk_limit": chosen.risk, "characters_limit": chosen.characters},
        step=Spend(project.budget(worker), Fraction(parts, PARTS)) if parts else Note(),
        along=along,
    )
    try:
        ledger.submit(request).result().require()
    except LimitPassed as exceeded:
        _refuse(ledger, project, worker, actor, exceeded.reason)


def _allowance(
    ledger: Ledger, project: Project, worker: str, pairs: Sequence[tuple[int, reveal.PairDisclosure]],
    *, actor: str, limits: Limits | None,
) -> tuple[Limits, Fraction, int]:  # fmt: skip
    """Limits and budget of a reviewer with these pairs, and what the pairs cost; refused if they do not fit."""
    parts = sum(parts_up(disclosure.contribution, PARTS) for _, disclosure in pairs)
    with ledger.store.reading() as connection:
        before = worker_of(connection, project, worker)
    chosen = limits or Limits(before["risk_limit"], before["characters_limit"])
    allowance = project.meter(before["displays"] + len(pairs)).allowance(chosen.risk or 1)
    if allowance < _spent(ledger, project, worker) + Fraction(parts, PARTS):
        _refuse(ledger, project, worker, actor, "risk")
    return chosen, allowance, parts


def withdraw(ledger: Ledger, project: Project, worker: str, *, actor: str, pairs: Iterable[int] | None = None) -> int:
    """Take back what a reviewer has not decided: all of it, or these pairs. What they saw stays charged.

    Pairs of which they saw nothing no longer count, so that the limit, which is a share, is that of the others.
    """
    asked = None if pairs is None else set(pairs)
    with ledger.store.reading() as connection:
        undecided = open_pairs(connection, project, worker)
        before = worker_of(connection, project, worker)
    taken = [row for row in undecided if asked is None or row.pair in asked]
    if not taken:
        return 0
    unseen = [row for row in taken if not row.characters_shown]
    ledger.record(
        actor=actor,
        event="linkage.withdrawn",
        subject=f"{project.subject}/worker:{worker}",
        details={"pairs": len(taken), "unseen": len(unseen)},
        along=lambda connection: take_back(connection, project, worker, taken, unseen),
    )
    allowance = project.meter(before["displays"] - len(unseen)).allowance(before["risk_limit"] or 1)
    spent = _spent(ledger, project, worker)
    ledger.set_budget(project.budget(worker), limit=max(allowance, spent), actor=actor, subject=project.subject)
    return len(taken)


def rebalance(
    ledger: Ledger, project: Project, workers: Sequence[str], *, actor: str, overlap: int = 1,
    most: int | None = None, rng: random.Random | None = None,
) -> Assigned:  # fmt: skip
    """Take back all that nobody has looked into, and give it out again among these reviewers."""
    with ledger.store.reading() as connection:
        undecided = open_pairs(connection, project)
    by_worker: dict[str, list[int]] = defaultdict(list)
    for row in undecided:
        if not row.version:
            by_worker[row.worker].append(row.pair)
    for worker, pairs in by_worker.items():
        withdraw(ledger, project, worker, actor=actor, pairs=pairs)
    return assign(ledger, project, workers, actor=actor, overlap=overlap, most=most, rng=rng)


def _spent(ledger: Ledger, project: Project, worker: str) -> Fraction:
    name = project.budget(worker)
    return next((budget.spent for budget in ledger.budgets() if budget.name == name), Fraction(0))


def _refuse(ledger: Ledger, project: Project, worker: str, actor: str, reason: str) -> None:
    subject, details = f"{project.subject}/worker:{worker}", {"reason": reason}
    receipt = ledger.refuse(actor=actor, event="linkage.assigned", subject=subject, details=details)
    raise BudgetExhausted(
        f"Refused: what is open from the start does not fit; {REFUSALS[reason]}.",
        remedy=f"Give fewer pairs or a higher limit, or show less at first (entry {receipt.sequence} of the ledger).",
    )


@dataclass(frozen=True)
class Limits:
    """What one reviewer may be shown, as shares of all they are given; None for no limit."""

    risk: str | None = None
    characters: str | None = None

    @classmethod
    def of(cls, risk: Amount | None = None, characters: Amount | None = None) -> Limits:
        """Limits as exact text.

        >>> Limits.of("0.12")
        Limits(risk='3/25', characters=None)
        """
        return cls(share(risk), share(characters))


def records_of(connection: Connection, project: Project) -> dict[int, tuple[int, int]]:
    """The records of each pair of a project, by its number."""
    rows = connection.execute(
        select(PAIR.c.number, PAIR.c.first, PAIR.c.second).where(PAIR.c.project == project.id).order_by(PAIR.c.number)
    )
    return {row.number: (row.first, row.second) for row in rows}


def holders(
    connection: Connection, project: Project
) -> tuple[dict[int, list[str]], dict[int, list[str]], dict[str, int]]:
    """Who reviews each pair, who has ever had it, and how many pairs everybody has."""
    having: dict[int, list[str]] = defaultdict(list)
    ever: dict[int, list[str]] = defaultdict(list)
    loads: dict[str, int] = defaultdict(int)
    chosen = select(ASSIGNMENT.c.pair, ASSIGNMENT.c.worker, ASSIGNMENT.c.state, ASSIGNMENT.c.role)
    for row in connection.execute(chosen.where(ASSIGNMENT.c.project == project.id)):
        ever[row.pair].append(row.worker)
        if row.state != WITHDRAWN:
            loads[row.worker] += 1
            if row.role == "review":
                having[row.pair].append(row.worker)
    return having, ever, loads


def open_pairs(connection: Connection, project: Project, worker: str | None = None) -> Sequence[Row[Any]]:
    """What one reviewer, or all of them, were given and have not decided."""
    wanted = select(ASSIGNMENT).where(ASSIGNMENT.c.project == project.id, ASSIGNMENT.c.state == "open")
    return connection.execute(wanted if worker is None else wanted.where(ASSIGNMENT.c.worker == worker)).all()


def insert_pairs(
    connection: Connection,
    project: Project,
    worker: str,
    pairs: Sequence[tuple[int, reveal.PairDisclosure]],
    limits: Limits,
    *,
    parts: int,
    role: str,
) -> None:
    """Show pairs to a reviewer, within every limit; `parts` is what is open from the start."""
    added = sum(disclosure.characters for _, disclosure in pairs)
    shown = sum(disclosure.characters_shown for _, disclosure in pairs)
    _grow(connection, project, worker, limits, displays=len(pairs), characters=added)
    count_worker(connection, project, worker, characters=shown)
    count_project(connection, project, parts=parts, characters=shown)
    if not pairs:
        return
    of_worker = (ASSIGNMENT.c.project == project.id, ASSIGNMENT.c.worker == worker)
    last = connection.execute(select(func.max(ASSIGNMENT.c.place)).where(*of_worker)).scalar() or 0
    moment = now()
    connection.execute(
        insert(ASSIGNMENT),
        [
            {"project": project.id, "pair": pair, "worker": worker, "role": role, "place": place, "state": "open",
             "version": 0, "contribution": str(disclosure.contribution), "characters": disclosure.characters,
             "characters_shown": disclosure.characters_shown, "made": moment}
            for place, (pair, disclosure) in enumerate(pairs, start=last + 1)
        ],
    )  # fmt: skip
    stored = connection.execute(select(ASSIGNMENT.c.pair, ASSIGNMENT.c.id).where(*of_worker))
    ids = {row.pair: row.id for row in stored}
    cells = [(ids[pair], name, mode) for pair, disclosure in pairs for name, mode in disclosure.opened.items()]
    write_cells(connection, cells, reason="initial" if role == "review" else "seen by others")


def take_back(
    connection: Connection, project: Project, worker: str, taken: Sequence[Any], unseen: Sequence[Any]
) -> None:
    """Take pairs back that nobody has touched since they were read; unseen ones no longer count."""
    for row in taken:
        unchanged = (ASSIGNMENT.c.id == row.id, ASSIGNMENT.c.version == row.version)
        if not ASSIGNMENTS.attempt(connection, *unchanged, to=WITHDRAWN, version=ASSIGNMENT.c.version + 1):
            raise Outdated("A pair was opened or decided meanwhile; nothing was taken.", remedy="Do it again.")
    before = worker_of(connection, project, worker)
    limits = Limits(before["risk_limit"], before["characters_limit"])
    characters = sum(row.characters for row in unseen)
    _grow(connection, project, worker, limits, displays=-len(unseen), characters=-characters)


def _grow(
    connection: Connection, project: Project, worker: str, limits: Limits, *, displays: int, characters: int
) -> None:
    """Count pairs that a reviewer gets or loses; the limits, which are shares, follow in parts and characters."""
    row = connection.execute(select(PROJECT).where(PROJECT.c.id == project.id)).one()
    meter = project.meter(row.displays + displays)
    allowed = None if row.risk_limit is None else int(meter.allowance(row.risk_limit) * meter.parts)
    connection.execute(
        update(PROJECT)
        .where(PROJECT.c.id == project.id)
        .values(
            displays=row.displays + displays,
            characters=row.characters + characters,
            risk_allowed=None if allowed is None else max(allowed, row.risk_spent),
            characters_allowed=_allowed(row.characters_limit, row.characters + characters, row.characters_shown),
        )
    )
    before = worker_of(connection, project, worker)
    total = before["characters"] + characters
    counts = {
        "risk_limit": limits.risk,
        "characters_limit": limits.characters,
        "displays": before["displays"] + displays,
        "characters": total,
        "characters_allowed": _allowed(limits.characters, total, before["characters_shown"]),
    }
    if before["known"]:
        of_worker = (WORKER.c.project == project.id, WORKER.c.worker == worker)
        connection.execute(update(WORKER).where(*of_worker).values(counts))
    else:
        connection.execute(insert(WORKER).values(project=project.id, worker=worker, characters_shown=0, **counts))


def _allowed(limit: str | None, characters: int, shown: int) -> int | None:
    """Whole characters within a share; never less than what was shown already."""
    return None if limit is None else max(parts_down(Fraction(limit), characters), shown)


def worker_of(connection: Connection, project: Project, worker: str) -> dict[str, Any]:
    """Limits and counts of a reviewer; zeros for one who is new."""
    of_worker = select(WORKER).where(WORKER.c.project == project.id, WORKER.c.worker == worker)
    row = connection.execute(of_worker).mappings().one_or_none()
    if row is not None:
        return {**row, "known": True}
    numbers = dict.fromkeys(("displays", "characters", "characters_shown"), 0)
    return {**numbers, "risk_limit": None, "characters_limit": None, "known": False}


# Who gets which pairs: each pair to several reviewers, each about as many, in an order of their own. Pure.
class Deal(NamedTuple):
    """The pairs of each reviewer in order, and how many looks at pairs found nobody."""

    pairs: Mapping[str, tuple[int, ...]]
    left_over: int


def deal(
    pairs: Sequence[int],
    workers: Sequence[str],
    *,
    overlap: int = 1,
    most: int | None = None,
    had: Mapping[int, Sequence[str]] | None = None,
    seen_by: Mapping[int, Sequence[str]] | None = None,
    loads: Mapping[str, int] | None = None,
    rng: random.Random,
) -> Deal:
    """Give every pair to the `overlap` least busy reviewers, and nobody more than `most` pairs.

    `had` says who has a pair already, which counts for the overlap; `seen_by` who must not get it again; `loads` how
    many pairs each reviewer has already.

    >>> dealt = deal(range(6), ["ann", "ben", "eve"], overlap=2, rng=random.Random(1))
    >>> [len(pairs) for pairs in dealt.pairs.values()], dealt.left_over
    ([4, 4, 4], 0)
    """
    if not workers or len(set(workers)) < len(workers):
        raise UsageError("Pairs are given to different workers, at least one.", remedy="Name each once.")
    if not 1 <= overlap <= len(workers):
        raise UsageError(
            f"Each pair cannot be seen by {overlap} of {len(workers)} workers.",
            remedy="The overlap is at least 1 and at most the number of workers.",
        )
    busy = {worker: (loads or {}).get(worker, 0) for worker in workers}
    given: dict[str, list[int]] = {worker: [] for worker in workers}
    left_over = 0
    for pair in rng.sample(list(pairs), len(pairs)):
        holders = (had or {}).get(pair, ())
        barred = {*holders, *(seen_by or {}).get(pair, ())}
        free = [worker for worker in workers if worker not in barred and (most is None or busy[worker] < most)]
        missing = max(0, overlap - len(holders))
        chosen = sorted(free, key=lambda worker: (busy[worker], rng.random()))[:missing]
        left_over += missing - len(chosen)
        for worker in chosen:
            busy[worker] += 1
            given[worker].append(pair)
    return Deal({worker: tuple(rng.sample(order, len(order))) for worker, order in given.items()}, left_over)
