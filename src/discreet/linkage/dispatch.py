"""Giving pairs to reviewers and taking them back; what is open from the start is charged as they are given."""

from __future__ import annotations

import math
import random
import secrets
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sqlalchemy import insert

from discreet.errors import BudgetExhausted
from discreet.kernel import parts_up
from discreet.ledger import Ledger, Request
from discreet.ledger.operations import Note, Spend, Step
from discreet.linkage.dealing import deal
from discreet.linkage.masking.kapr import PARTS
from discreet.linkage.matching.candidate_pairs import load_candidates
from discreet.linkage.project import Project
from discreet.linkage.records.folder import ProjectFolder
from discreet.linkage.review import reveal
from discreet.linkage.review.assignment import LimitPassed
from discreet.linkage.review.assignments import (
    Limits,
    holders,
    insert_pairs,
    open_pairs,
    records_of,
    take_back,
    worker_of,
)
from discreet.linkage.review.views import REFUSALS
from discreet.store.tables.linkage import PAIR


@dataclass(frozen=True)
class Assigned:
    """What was given out."""

    pairs: Mapping[str, int]
    """New pairs per worker."""
    left_over: int
    """Looks at pairs that nobody had room for."""


def bring_pairs(ledger: Ledger, project: Project) -> int:
    """Take the pairs that people decide from the project's folder into the store; gives how many are new."""
    candidates = load_candidates(ProjectFolder.open(project.folder))
    people = candidates.decided("people")
    listed = zip(people.first.tolist(), people.second.tolist(), people.probability.tolist(), strict=True)
    with ledger.store.writing() as connection:
        known = set(records_of(connection, project).values())
        new = [one for one in listed if one[:2] not in known]
        rows = [
            {"project": project.id, "number": number, "first": first, "second": second,
             "probability": None if math.isnan(probability) else probability}
            for number, (first, second, probability) in enumerate(new, start=len(known) + 1)
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
    """Give the project's pairs to workers until `overlap` people have each, in an order of her own for everybody.

    Pairs that were withdrawn before anybody decided are given out again, to others. `limits` hold for each worker;
    without them she keeps those she has.
    """
    with ledger.store.reading() as connection:
        records = records_of(connection, project)
        had, seen_by, loads = holders(connection, project)
    dealt = deal(
        list(records), workers, overlap=overlap, most=most, had=had, seen_by=seen_by, loads=loads,
        rng=rng or random.Random(secrets.randbits(128)),  # noqa: S311 - seeded by the machine's randomness
    )  # fmt: skip
    wanted = sorted({pair for mine in dealt.pairs.values() for pair in mine})
    measured = dict(
        zip(wanted, reveal.measure(project, [records[pair] for pair in wanted], initial=project.initial), strict=True)
    )
    for worker, mine in dealt.pairs.items():
        give(ledger, project, worker, [(pair, measured[pair]) for pair in mine], actor=actor, limits=limits)
    return Assigned({worker: len(mine) for worker, mine in dealt.pairs.items()}, dealt.left_over)


def give(
    ledger: Ledger,
    project: Project,
    worker: str,
    pairs: Sequence[tuple[int, reveal.Measured]],
    *,
    actor: str,
    limits: Limits | None = None,
    role: str = "review",
) -> None:
    """Give pairs to one worker: all of them, or none if what is open from the start passes a limit."""
    if not pairs and limits is None:
        return
    parts = sum(parts_up(one.contribution, PARTS) for _, one in pairs)
    with ledger.store.reading() as connection:
        before = worker_of(connection, project, worker)
    chosen = limits or Limits(before["risk_limit"], before["characters_limit"])
    displays = before["displays"] + len(pairs)
    meter = project.meter(displays)
    allowance = meter.allowance(chosen.risk or 1)
    spent = _spent(ledger, project, worker)
    if allowance < spent + Fraction(parts, PARTS):
        _refuse(ledger, project, worker, actor, "risk")
    ledger.set_budget(project.budget(worker), limit=allowance, parts=PARTS, actor=actor, subject=project.subject)
    step: Step = Spend(project.budget(worker), Fraction(parts, PARTS)) if parts else Note()
    request = Request.of(
        actor=actor,
        event="linkage.assigned",
        subject=f"{project.subject}/worker:{worker}",
        details={"pairs": len(pairs), "role": role, "risk_limit": chosen.risk, "characters_limit": chosen.characters},
        step=step,
        along=lambda connection: insert_pairs(connection, project, worker, pairs, chosen, parts=parts, role=role),
    )
    try:
        ledger.submit(request).result().require()
    except LimitPassed as passed:
        _refuse(ledger, project, worker, actor, passed.reason)


def withdraw(ledger: Ledger, project: Project, worker: str, *, actor: str, pairs: Iterable[int] | None = None) -> int:
    """Take back what a worker has not decided: all of it, or these pairs. What she saw stays charged to her.

    Pairs of which she saw nothing no longer count as hers, so that her limit, which is a share, is that of the others.
    """
    asked = None if pairs is None else set(pairs)
    with ledger.store.reading() as connection:
        undecided = open_pairs(connection, project, worker)
        before = worker_of(connection, project, worker)
    mine = [row for row in undecided if asked is None or row.pair in asked]
    if not mine:
        return 0
    unseen = [row for row in mine if not row.characters_shown]
    ledger.record(
        actor=actor,
        event="linkage.withdrawn",
        subject=f"{project.subject}/worker:{worker}",
        details={"pairs": len(mine), "unseen": len(unseen)},
        along=lambda connection: take_back(connection, project, worker, mine, unseen),
    )
    allowance = project.meter(before["displays"] - len(unseen)).allowance(before["risk_limit"] or 1)
    spent = _spent(ledger, project, worker)
    ledger.set_budget(project.budget(worker), limit=max(allowance, spent), actor=actor, subject=project.subject)
    return len(mine)


def rebalance(
    ledger: Ledger, project: Project, workers: Sequence[str], *, actor: str, overlap: int = 1,
    most: int | None = None, rng: random.Random | None = None,
) -> Assigned:  # fmt: skip
    """Take back all that nobody has looked into, and give it out anew among these workers."""
    with ledger.store.reading() as connection:
        held = open_pairs(connection, project)
    by_worker: dict[str, list[int]] = defaultdict(list)
    for row in held:
        if not row.version:
            by_worker[row.worker].append(row.pair)
    for worker, pairs in by_worker.items():
        withdraw(ledger, project, worker, actor=actor, pairs=pairs)
    return assign(ledger, project, workers, actor=actor, overlap=overlap, most=most, rng=rng)


def _spent(ledger: Ledger, project: Project, worker: str) -> Fraction:
    known = [budget for budget in ledger.budgets() if budget.name == project.budget(worker)]
    return known[0].spent if known else Fraction(0)


def _refuse(ledger: Ledger, project: Project, worker: str, actor: str, reason: str) -> None:
    receipt = ledger.refuse(
        actor=actor,
        event="linkage.assigned",
        subject=f"{project.subject}/worker:{worker}",
        details={"reason": reason},
    )
    raise BudgetExhausted(
        f"Refused: what is open from the start does not fit; {REFUSALS[reason]}.",
        remedy=f"Give fewer pairs or a higher limit, or show less at first (entry {receipt.sequence} of the ledger).",
    )
