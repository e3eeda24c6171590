"""The one door through which masked cells become characters.

Nothing about the mode or the price of a step is taken from whoever asks: both follow from what the store holds. The
step is spent in the ledger and written into the store in one transaction, and only then is anything shown. Whatever a
reviewer is told comes from here; managers and programs get numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from sqlalchemy import Connection

from discreet.errors import BudgetExhausted, DiscreetError, KeyReused, Refused
from discreet.ledger import Ledger, Receipt, Request
from discreet.ledger.operations import Spend
from discreet.ledger.queries import by_key
from discreet.linkage.masking.comparison import Mode, Pair, State
from discreet.linkage.masking.index import Index, RevealStep, contribution
from discreet.linkage.masking.kapr import Meter
from discreet.linkage.project import Initial, Project
from discreet.linkage.review import rendering
from discreet.linkage.review.assignment import (
    HeldPair,
    LimitPassed,
    PairChange,
    PairPosition,
    apply_change,
    outdated,
    read_held,
    read_standing,
)
from discreet.linkage.review.vault import index_of, pair_of
from discreet.linkage.review.views import REFUSALS, Gauge, PairView, Price

EVENT = "linkage.revealed"


def view(ledger: Ledger, project: Project, worker: str, number: int) -> PairView:
    """A pair as far as this reviewer has opened it; an error if it was not given to her."""
    with ledger.store.reading() as connection:
        shown = _Shown.read(connection, project, worker, number)
        where = read_standing(connection, project, worker, shown.held.place)
    return shown.view(where)


def reveal(
    ledger: Ledger, project: Project, worker: str, number: int, attribute: str, *, key: str, seen: int | None = None
) -> PairView:
    """Open one cell by one step: masked, partial, full; both values at once, and exchanged names together.

    `key` names this click: with the same one again the answer is the same and nothing more is spent. `seen` is the
    version of the view it was clicked on: if the pair has changed since, nothing is opened (`Outdated`). A refusal is
    an error, and an entry of the ledger.
    """
    with ledger.store.reading() as connection:
        shown = _Shown.read(connection, project, worker, number)
        shown.pair.place(attribute)
        first = by_key(connection, worker, key)
    subject = f"{project.subject}/pair:{number}/{attribute}"
    if first is None:
        _open(ledger, shown, attribute, key=key, seen=seen, subject=subject)
    else:
        _repeat(first, subject)
    return view(ledger, project, worker, number)


@dataclass(frozen=True)
class PairDisclosure:
    """What a pair discloses in a state: numbers only, for whoever gives pairs out."""

    opened: Mapping[str, Mode]
    contribution: Fraction
    characters: int
    characters_shown: int


def measure(
    project: Project, records: Iterable[tuple[int, int]], *, initial: Initial = "masked"
) -> list[PairDisclosure]:
    """What each pair of records discloses if it is shown so at first. Cells that would break `kappa` stay shut."""
    index = index_of(project.folder)
    found = []
    for first, second in records:
        pair = index.pair(first, second)
        found.append(_measured(index, project, pair, rendering.wanted_at_first(pair, initial)))
    return found


def measure_opened(project: Project, records: tuple[int, int], opened: Mapping[str, Mode]) -> PairDisclosure:
    """What a pair discloses with these cells open, except those that would break `kappa`."""
    index = index_of(project.folder)
    return _measured(index, project, index.pair(*records), opened)


# -- opening ----------------------------------------------------------------------------------------------------------


def _open(ledger: Ledger, shown: _Shown, attribute: str, *, key: str, seen: int | None, subject: str) -> None:
    if seen is not None and seen != shown.held.version:
        raise outdated()
    step = shown.step(attribute)
    if step is None:
        return  # all is open
    project, worker, held = shown.project, shown.worker, shown.held
    change = shown.change(step)
    reason = shown.forbidden(step)
    if reason is not None:
        _refuse(ledger, worker, key=key, subject=subject, reason=reason)
    cost = shown.meter.cost(held.contribution, step.contribution)
    request = Request.of(
        actor=worker,
        event=EVENT,
        key=key,
        subject=subject,
        risk_before=held.contribution,
        risk_after=step.contribution,
        details={"mode": step.mode, "role": held.role},
        step=Spend(project.budget(worker), cost),
        along=lambda connection: apply_change(connection, project, worker, held, change),
    )
    try:
        receipt = ledger.submit(request).result()
    except LimitPassed as passed:
        _refuse(ledger, worker, key=key, subject=subject, reason=passed.reason)
    else:
        _repeat(receipt, subject)


def _refuse(ledger: Ledger, worker: str, *, key: str, subject: str, reason: str) -> None:
    receipt = ledger.refuse(actor=worker, event=EVENT, key=key, subject=subject, details={"reason": reason})
    _repeat(receipt, subject)


def _repeat(receipt: Receipt, subject: str) -> None:
    """The outcome that a key has led to, once more."""
    entry = receipt.entry
    if (entry.event, entry.subject) != (EVENT, subject):
        raise KeyReused(
            f"The idempotency key belongs to another request (entry {entry.sequence}).",
            remedy="Make a new key for every click; use it again only to repeat that click.",
        )
    if not receipt.granted:
        raise refusal(str(entry.details.get("reason", "risk")), receipt.sequence)


def refusal(reason: str, entry: int) -> DiscreetError:
    """Why a cell stays shut, and what to do."""
    kind = Refused if reason in ("kappa", "closed") else BudgetExhausted
    return kind(
        f"Refused: {REFUSALS[reason]}.",
        remedy=f"Decide with what is open, or ask the manager of the project (entry {entry} of the ledger).",
    )


# -- looking ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Shown:
    """One reviewer's pair with its values: never leaves this file."""

    project: Project
    worker: str
    held: HeldPair
    index: Index
    pair: Pair
    state: State
    meter: Meter

    @classmethod
    def read(cls, connection: Connection, project: Project, worker: str, number: int) -> _Shown:
        held = read_held(connection, project, worker, number)
        index = index_of(project.folder)
        pair = pair_of(index, *held.records)
        return cls(project, worker, held, index, pair, held.state(pair.attributes), project.meter(held.displays))

    def step(self, attribute: str) -> RevealStep | None:
        """What the next step opens; None where all is open, or nothing is there."""
        mode = self.pair.next_mode(self.state, attribute)
        if mode is None or not self.pair.cell(attribute).hides:
            return None
        after = self.pair.opened(self.state, attribute, mode)
        anonymity = self.index.anonymity(self.pair, after, strict=self.project.strict)
        return RevealStep(mode, after, anonymity, contribution(self.pair, after, anonymity))

    def change(self, step: RevealStep) -> PairChange:
        moved = zip(self.pair.attributes, self.state, step.state, strict=True)
        return PairChange(
            opened=[(name, after) for name, before, after in moved if before != after],
            contribution=step.contribution,
            parts=int(self.meter.cost(self.held.contribution, step.contribution) * self.meter.parts),
            characters=rendering.characters_shown(self.pair, step.state)
            - rendering.characters_shown(self.pair, self.state),
        )

    def forbidden(self, step: RevealStep) -> str | None:
        """What no budget can allow."""
        if self.held.closed:
            return "closed"
        return "kappa" if min(step.anonymity) < self.project.kappa else None

    def view(self, where: PairPosition) -> PairView:
        held = self.held
        quote = self.index.quote(self.pair, self.state, strict=self.project.strict)
        return PairView(
            project=self.project.name,
            pair=held.number,
            role=held.role,
            version=held.version,
            place=where.place,
            pairs=where.pairs,
            decided=where.decided,
            choice=held.choice,
            previous=where.previous,
            following=where.following,
            cells=rendering.cells_of(self.pair, self.state, quote, self._price),
            characters=Gauge(rendering.share(held.characters_shown, held.characters), _limit(held.characters_limit)),
            risk=Gauge(self.meter.spent(Fraction(held.parts_spent, self.meter.parts)), _limit(held.risk_limit)),
        )

    def _price(self, step: RevealStep) -> Price:
        change = self.change(step)
        return Price(
            mode=step.mode,
            risk=self.meter.spent(Fraction(change.parts, self.meter.parts)),
            characters=rendering.share(change.characters, self.held.characters),
            refused=self.forbidden(step) or self.held.refusal(parts=change.parts, characters=change.characters),
        )


def _limit(text: str | None) -> Fraction | None:
    return None if text is None else Fraction(text)


def _measured(index: Index, project: Project, pair: Pair, wanted: Mapping[str, Mode]) -> PairDisclosure:
    state, anonymity = pair.masked, index.anonymity(pair, pair.masked, strict=project.strict)
    for name, mode in wanted.items():
        further = pair.opened(state, name, mode)
        found = index.anonymity(pair, further, strict=project.strict)
        if min(found) >= project.kappa:
            state, anonymity = further, found
    return PairDisclosure(
        opened={name: mode for name, mode in zip(pair.attributes, state, strict=True) if mode != "masked"},
        contribution=contribution(pair, state, anonymity),
        characters=rendering.characters_of(pair),
        characters_shown=rendering.characters_shown(pair, state),
    )


def prepare(project: Project) -> int:
    """Lay the index of a project out, so that nobody waits for it later; gives its number of records."""
    return len(index_of(project.folder))


__all__ = ["PairDisclosure", "measure", "measure_opened", "prepare", "refusal", "reveal", "view"]
