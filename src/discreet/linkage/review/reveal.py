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

import numpy as np
from sqlalchemy import Connection

from discreet.errors import BudgetExhausted, DiscreetError, KeyReused, Refused
from discreet.kernel.serialise import json_of
from discreet.ledger import Ledger, Receipt, Request
from discreet.ledger.operations import Spend
from discreet.ledger.queries import by_key
from discreet.linkage.folder import ProjectFolder
from discreet.linkage.masking.comparison import Mode
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
from discreet.linkage.review.views import REFUSALS, CellView, PairDisplay, PairView, Price, gauge

__all__ = ["PairDisclosure", "display_costs", "measure", "measure_opened", "prepare", "refusal", "reveal", "view"]

EVENT = "linkage.revealed"
OPEN_INDEXES = 8
"""Projects whose index stays open in a process."""
COMPARED_PAIRS = 4096
"""Pairs that stay compared: a reviewer who opens a cell looks at the same pair again."""

_opening = threading.Lock()


def view(ledger: Ledger, project: Project, worker: str, number: int) -> PairView:
    """A pair as far as its reviewer has opened it; an error for others, and once the project is closed."""
    with ledger.store.reading() as connection:
        shown = _ShownPair.read(connection, project, worker, number)
        if shown.held.closed:
            raise Refused("The project is closed: its pairs are shown to nobody any more.", remedy="Ask its manager.")
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
    kind = Refused if reason in ("kappa", "closed", "static") else BudgetExhausted
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
        """Why a step is refused before the budget is asked: the project is closed, or kappa would be broken.

        In a strict project a step that could pass a limit is refused, so that the refusal tells nothing.
        """
        if self.held.closed:
            return "closed"
        if self.static:
            return "static"
        if min(step.anonymity) < self.project.kappa:
            return "kappa"
        if not self.project.strict:
            return None
        most = self.display.most(step.state, self.held.contribution)
        return self.held.refusal(parts=most.parts, characters=most.characters)

    @property
    def display(self) -> PairDisplay:
        """What the reviewer sees of it."""
        return PairDisplay(self.index.columns, self.pair, self.state, self.meter, self.project.strict)

    def _price(self, step: RevealStep, anonymity: tuple[int, int]) -> Price:
        """What is quoted for a step, and the limit it passes in any case."""
        now, held = self.held.contribution, self.held
        most, least = self.display.most(step.state, now), self.display.least(step.state, now, anonymity)
        return Price(
            mode=step.mode,
            risk=self.meter.spent(Fraction(most.parts, self.meter.parts)),
            characters=Fraction(most.characters, held.characters or 1),
            refused=self.forbidden(step) or held.refusal(parts=least.parts, characters=least.characters),
        )

    @property
    def static(self) -> bool:
        """Whether an interface of a study shows this pair, in which nothing is opened."""
        return self.held.condition is not None and self.held.condition.static

    def view(self, position: PairPosition) -> PairView:
        """The pair as far as it is open, with the price of every next step."""
        held, pair = self.held, self.pair
        quote = self.index.quote(pair, self.state, strict=self.project.strict)
        cells = []
        for j, (name, cell) in enumerate(zip(pair.attributes, pair.cells, strict=True)):
            step = quote.steps.get(name)
            price = None if step is None or not cell.hides or self.static else self._price(step, quote.anonymity)
            mode, marks, together = self.state[j], self.display.marks(j), self.display.together(j)
            shown = CellView(name, cell.kind, mode, marks, self.display.rows(j), together, price)
            cells.append(shown if held.condition is None or held.condition.markup else shown.unmarked)
        home, names = _tables(self.project.folder, (Path(self.project.folder) / "project.json").stat().st_mtime_ns)
        first_table, second_table = (names[place] for place in home.table_of(np.array(held.records)).tolist())
        spent = self.meter.spent(Fraction(held.parts_spent, self.meter.parts))
        return PairView(
            project=self.project.name,
            pair=held.number,
            role=held.role,
            version=held.version,
            choice=held.choice,
            **asdict(position),
            cells=tuple(cells),
            characters=gauge(Fraction(held.characters_shown, held.characters or 1), held.characters_limit),
            risk=gauge(spent, held.risk_limit),
            tables=(first_table, second_table),
        )


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
    """What an initial display opens of a pair."""
    first = {name: cell.first_mode(initial) for name, cell in zip(pair.attributes, pair.cells, strict=True)}
    return {name: mode for name, mode in first.items() if mode != "masked"}


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
def _tables(folder: str, _changed: int) -> tuple[ProjectFolder, tuple[str, ...]]:
    """The folder as it is now, and what its tables are called."""
    home = ProjectFolder.open(folder)
    return home, tuple(str(table["name"]) for table in home.about["tables"])


@lru_cache(maxsize=OPEN_INDEXES)
def _opened_index(folder: str, _changed: int) -> Index:
    home = ProjectFolder.open(folder)
    stored = home.index_folder
    if not stored.is_dir():
        spec = home.spec
        swaps = [spec.swap] if spec.swap else []
        index = Index.build(home.identifying(), spec.kinds, swaps=swaps, names=spec.swap or ())
        # Written beside and renamed: of two processes that do so at once, one is first, and both wrote the same.
        stage = Path(tempfile.mkdtemp(prefix=".index-", dir=stored.parent))
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
