"""Reveal of masked cells: limits checked, budget charged in the ledger, then shown; the only way to characters.

Nothing about the mode or the price of a step is taken from the reviewer who asks: both follow from what the store holds.
The step is spent in the ledger and written into the store in one transaction, and only then is anything shown. All that
a reviewer sees comes from here; managers and programs get numbers. Other modules use the names in `__all__` only.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import get_args

from sqlalchemy import Connection

from discreet.errors import BudgetExhausted, DiscreetError, KeyReused, Refused
from discreet.kernel.serialise import json_of
from discreet.ledger import Ledger, Receipt, Request
from discreet.ledger.operations import Spend
from discreet.ledger.queries import by_key
from discreet.linkage.folder import ProjectFolder
from discreet.linkage.masking.comparison import Comparison, Mode
from discreet.linkage.masking.index import Index, RevealStep, contribution, load_index, save_index
from discreet.linkage.masking.kapr import Meter
from discreet.linkage.masking.record_pair import Pair, State
from discreet.linkage.project import Initial, Project
from discreet.linkage.review.held_pair import (
    HeldPair,
    LimitPassed,
    PairChange,
    PairPosition,
    apply_change,
    outdated,
    read_held,
    read_position,
)
from discreet.linkage.review.views import REFUSALS, CellView, PairView, Price, RowView, gauge

__all__ = ["PairDisclosure", "display_costs", "measure", "measure_opened", "prepare", "refusal", "reveal", "view"]

EVENT = "linkage.revealed"
OPEN_INDEXES = 8
"""Projects whose index stays open in a process."""
COMPARED_PAIRS = 4096
"""Pairs that stay compared: a reviewer who opens a cell looks at the same pair again."""

_opening = threading.Lock()


def view(ledger: Ledger, project: Project, worker: str, number: int) -> PairView:
    """A pair as far as its reviewer has opened it; an error for others."""
    with ledger.store.reading() as connection:
        shown = _ShownPair.read(connection, project, worker, number)
        position = read_position(connection, project, worker, shown.held.place)
    return shown.view(position)


def reveal(
    ledger: Ledger, project: Project, worker: str, number: int, attribute: str, *, key: str, seen: int | None = None
) -> PairView:
    """Open one cell by one step: masked, partial, full; both values at once, and exchanged names together.

    `key` names this click: with the same one again the answer is the same and nothing more is spent. `seen` is the
    version of the view it was clicked on: if the pair has changed since, nothing is opened (`Outdated`). A refusal is
    an error, and an entry of the ledger.
    """
    with ledger.store.reading() as connection:
        shown = _ShownPair.read(connection, project, worker, number)
        shown.pair.place(attribute)
        receipt = by_key(connection, worker, key)
    subject = f"{project.subject}/pair:{number}/{attribute}"
    if receipt is not None:
        _check_outcome(receipt, subject)
        return view(ledger, project, worker, number)
    held = shown.held
    if seen is not None and seen != held.version:
        raise outdated()
    step = shown.step(attribute)
    if step is not None:  # otherwise all is open
        change, reason = shown.change(step), shown.forbidden(step)
        if reason is not None:
            _refuse(ledger, worker, key=key, subject=subject, reason=reason)
        request = Request.of(
            actor=worker,
            event=EVENT,
            key=key,
            subject=subject,
            risk_before=held.contribution,
            risk_after=step.contribution,
            details={"mode": step.mode, "role": held.role},
            step=Spend(project.budget(worker), shown.meter.cost(held.contribution, step.contribution)),
            along=lambda connection: apply_change(connection, project, worker, held, change),
        )
        try:
            receipt = ledger.submit(request).result()
        except LimitPassed as exceeded:
            _refuse(ledger, worker, key=key, subject=subject, reason=exceeded.reason)
        else:
            _check_outcome(receipt, subject)
    return view(ledger, project, worker, number)


def _refuse(ledger: Ledger, worker: str, *, key: str, subject: str, reason: str) -> None:
    receipt = ledger.refuse(actor=worker, event=EVENT, key=key, subject=subject, details={"reason": reason})
    _check_outcome(receipt, subject)


def _check_outcome(receipt: Receipt, subject: str) -> None:
    """Raise what the request of a key has led to: a refusal, or nothing if it was granted."""
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


@dataclass(frozen=True)
class PairDisclosure:
    """What a pair discloses in a state: numbers only, for those who give pairs out."""

    opened: Mapping[str, Mode]
    contribution: Fraction
    characters: int
    characters_shown: int


def measure(
    project: Project, records: Iterable[tuple[int, int]], *, initial: Initial = "masked"
) -> list[PairDisclosure]:
    """What each pair of records discloses with this initial display. Cells that would break `kappa` stay shut."""
    index = _index_of(project.folder)
    pairs = (index.pair(first, second) for first, second in records)
    return [_measured(index, project, pair, _opened_at_first(pair, initial)) for pair in pairs]


def measure_opened(project: Project, records: tuple[int, int], opened: Mapping[str, Mode]) -> PairDisclosure:
    """What a pair discloses with these cells open, except those that would break `kappa`."""
    index = _index_of(project.folder)
    return _measured(index, project, index.pair(*records), opened)


@dataclass(frozen=True, eq=False)
class _ShownPair:
    """One reviewer's pair with its values: never leaves this file."""

    project: Project
    held: HeldPair
    index: Index
    pair: Pair
    state: State
    meter: Meter

    @classmethod
    def read(cls, connection: Connection, project: Project, worker: str, number: int) -> _ShownPair:
        held = read_held(connection, project, worker, number)
        index = _index_of(project.folder)
        pair = _pair_of(index, *held.records)
        return cls(project, held, index, pair, held.state(pair.attributes), project.meter(held.displays))

    def step(self, attribute: str) -> RevealStep | None:
        """What the next step opens; None where all is open, or both values are missing."""
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
            characters=_characters_shown(self.pair, step.state) - _characters_shown(self.pair, self.state),
        )

    def forbidden(self, step: RevealStep) -> str | None:
        """Why a step is refused whatever the budget: the project is closed, or kappa would be broken."""
        if self.held.closed:
            return "closed"
        return "kappa" if min(step.anonymity) < self.project.kappa else None

    def view(self, position: PairPosition) -> PairView:
        """The pair as far as it is open, with the price of every next step."""
        held, pair, total = self.held, self.pair, self.held.characters or 1
        quote = self.index.quote(pair, self.state, strict=self.project.strict)
        cells = []
        for name, cell, mode, frequencies, along in zip(
            pair.attributes, pair.cells, self.state, pair.frequencies, pair.along, strict=True
        ):
            texts, pieces, icons = cell.text(mode), cell.pieces(mode), frequencies or (None, None)
            first, second = (RowView(texts[row], pieces[row], _words(cell, row, mode), icons[row]) for row in (0, 1))
            step, price = quote.steps.get(name), None
            if step is not None and cell.hides:
                change = self.change(step)
                price = Price(
                    mode=step.mode,
                    risk=self.meter.spent(Fraction(change.parts, self.meter.parts)),
                    characters=Fraction(change.characters, total),
                    refused=self.forbidden(step) or held.refusal(parts=change.parts, characters=change.characters),
                )
            together = None if along is None else pair.attributes[along]
            cells.append(CellView(name, cell.kind, mode, cell.markup, (first, second), together, price))
        spent = self.meter.spent(Fraction(held.parts_spent, self.meter.parts))
        return PairView(
            project=self.project.name,
            pair=held.number,
            role=held.role,
            version=held.version,
            choice=held.choice,
            **asdict(position),
            cells=tuple(cells),
            characters=gauge(Fraction(held.characters_shown, total), held.characters_limit),
            risk=gauge(spent, held.risk_limit),
        )


def _words(cell: Comparison, row: int, mode: Mode) -> str:
    """The value in words, for screen readers; no character that the signs do not show."""
    side = cell.sides[row]
    if side.value is None:
        return "missing"
    if mode == "full":
        return side.text(mode)
    if side.at_once:
        return "hidden"
    differing = side.disclosed("partial")
    length = f"{side.total} character{'s' * (side.total != 1)}"
    if mode == "partial" and cell.has_partial and not cell.equal:
        signs = (sign for piece in side.pieces("partial") for sign in piece.text)
        return f"{length}: {' '.join('hidden' if sign == '*' else sign for sign in signs)}"
    if not differing:
        return f"{length}, hidden"
    return f"{length}, {'all' if differing == side.total else differing} different"


def _measured(index: Index, project: Project, pair: Pair, wanted: Mapping[str, Mode]) -> PairDisclosure:
    state, anonymity = pair.masked, index.anonymity(pair, pair.masked, strict=project.strict)
    for name, mode in wanted.items():
        further = pair.opened(state, name, mode)
        left = index.anonymity(pair, further, strict=project.strict)
        if min(left) >= project.kappa:
            state, anonymity = further, left
    return PairDisclosure(
        opened={name: mode for name, mode in zip(pair.attributes, state, strict=True) if mode != "masked"},
        contribution=contribution(pair, state, anonymity),
        characters=_characters_shown(pair, pair.all_opened(pair.masked, "full")),
        characters_shown=_characters_shown(pair, state),
    )


def _characters_shown(pair: Pair, state: State) -> int:
    """Characters that are open; a category counts as one, since its length is not shown."""
    return sum(
        (min(side.total, 1) if side.at_once else side.total) if mode == "full" else side.disclosed(mode)
        for cell, mode in zip(pair.cells, state, strict=True)
        for side in cell.sides
    )


def _opened_at_first(pair: Pair, initial: Initial) -> dict[str, Mode]:
    """What an initial display opens of a pair. Values that agree stay masked unless everything is open."""
    opened: dict[str, Mode] = {}
    for name, cell in zip(pair.attributes, pair.cells, strict=True):
        if initial == "masked" or not cell.hides:
            continue
        if initial == "full":
            opened[name] = "full"
        elif not cell.equal and cell.has_partial:
            opened[name] = "partial"
        elif not cell.equal and initial == "moderate":
            opened[name] = "full"
    return opened


@dataclass(frozen=True)
class DisplayCost:
    """What showing all pairs in one way discloses."""

    risk: Fraction
    """Privacy risk (KAPR) of the display, from 0 to 1."""
    characters: Fraction
    """The share of all characters."""

    to_dict = json_of("risk characters")


def display_costs(project: Project, pairs: Iterable[tuple[int, int]]) -> dict[Initial, DisplayCost]:
    """What masked, minimum, moderate and full displays of these pairs would cost: help in choosing a budget.

    Steps that the project refuses, since too few records would fit, are left out, as they are when pairs are assigned.
    """
    index = _index_of(project.folder)
    shown = [_pair_of(index, first, second) for first, second in pairs]
    meter, found = project.meter(len(shown)), {}
    for initial in get_args(Initial):
        each = [_measured(index, project, pair, _opened_at_first(pair, initial)) for pair in shown]
        characters = sum(one.characters for one in each)
        found[initial] = DisplayCost(
            meter.score(one.contribution for one in each),
            Fraction(sum(one.characters_shown for one in each), characters or 1),
        )
    return found


def prepare(project: Project) -> int:
    """Lay the index of a project out before a reviewer waits; gives its records."""
    return len(_index_of(project.folder))


@lru_cache(maxsize=COMPARED_PAIRS)
def _pair_of(index: Index, first: int, second: int) -> Pair:
    return index.pair(first, second)


def _index_of(folder: str) -> Index:
    """The index of a project's records; opened once per process, however many ask at once."""
    with _opening:
        return _opened_index(folder, (Path(folder) / "project.json").stat().st_mtime_ns)


@lru_cache(maxsize=OPEN_INDEXES)
def _opened_index(folder: str, _changed: int) -> Index:
    home = ProjectFolder.open(folder)
    stored = home.path / "index"
    if not stored.is_dir():
        spec = home.spec
        swaps = [spec.swap] if spec.swap else []
        index = Index.build(home.identifying(), spec.kinds, swaps=swaps, names=spec.swap or ())
        # Written beside and renamed: of two processes that do so at once, one is first, and both wrote the same.
        stage = Path(tempfile.mkdtemp(prefix=".index-", dir=home.path))
        try:
            save_index(index, stage)
            if not stored.is_dir():
                stage.rename(stored)
        except OSError:
            if not stored.is_dir():
                raise
        finally:
            shutil.rmtree(stage, ignore_errors=True)
    return load_index(stored)
