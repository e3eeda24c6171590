"""Answers in statistics: audit and budget of each account before anything is computed, noise afterwards.

The decision uses who sets and nothing else, so that it tells nothing; it is written down together with an entry of the
ledger before the statement runs. An answer that was given before is free: its who set, moment and condition are known, and
the noise is the same. Where data have changed since, it is a new answer and counts as one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil
from typing import Any, Literal, TypeVar

import numpy as np

from discreet.errors import Outdated, StoreBusy
from discreet.gateway.statistics.audit import AskedSet, Marks, WhoAudit
from discreet.gateway.statistics.noise import StickyNoise
from discreet.gateway.statistics.quantities import (
    Moment,
    NoisedCell,
    StatisticCell,
    WhoSet,
    attributes_of,
    name_of,
    people_query,
)
from discreet.ledger.ledger import Ledger
from discreet.policy.gateway_section import AggregatesPolicy
from discreet.store.gateway_answers import (
    PARTS,
    StoredAnswers,
    read_answers,
    read_version,
    totals,
    write_answers,
)
from discreet.wording import brief_percent

EVENT = "gateway.counted"
ATTEMPTS = 20
"""Decisions on a state that another gateway changed meanwhile are taken again so many times."""
NAME = 16
REMEMBERED = 100_000
Ask = Callable[[str], Iterable[tuple[Any, ...]]]
"""Runs SQL on the gateway's own connection and gives the rows."""
Decided = TypeVar("Decided")
Charged = frozenset[tuple[int, tuple[str, ...], str, str]]


def variance_ratio(settings: AggregatesPolicy) -> float:
    """Variance of the noise to that of an attribute.

    The deviation of the noise is `noise` half ranges. Values of people are taken to be spread evenly over half of the
    bounds (variance: half range squared / 12); for a count that is a condition that fits about one person in eleven.
    """
    return 12.0 * settings.noise**2


@dataclass(frozen=True)
class AnswerRefused:
    """Why a question is not answered, and what helps."""

    reason: str
    hint: str
    what: Literal["audit", "budget"]


UNKNOWN = AnswerRefused(
    "a person has several rows where the tables say that each has one.",
    "Ask for each table by itself.",
    "audit",
)
"""Whatever is counted, nothing is shown of people whom the audit does not know."""


@dataclass(frozen=True)
class AnswerPrice:
    """What a question would cost: answers per attribute, and how much would be known about somebody then."""

    answers: Mapping[str, int]
    reduction: float
    refused: AnswerRefused | None = None


@dataclass(frozen=True)
class AnswersLeft:
    """What is left of the budget for one attribute, and what is known about somebody."""

    answers: int
    reduction: float


@dataclass(frozen=True)
class Admission:
    """A question that may be answered; what of it was charged."""

    user: str
    account: str
    sets: tuple[WhoSet, ...]
    charged: Charged = field(default=frozenset(), repr=False)
    """Place of the set, unit, label and attribute of each cell that was charged just now."""
    silent: frozenset[int] = frozenset()
    """Places of sets of which no cell has enough people: nothing about them needs to be run."""


@dataclass(frozen=True)
class AttributeAccount:
    """What one account was answered about one attribute."""

    version: int
    used: int
    audit: WhoAudit
    asked: frozenset[bytes] = frozenset()
    """Questions by their text, and cells by their people."""
    answered: frozenset[bytes] = frozenset()
    """Answers by the hash of people and values."""


@dataclass
class _Draft:
    """One question about to be charged, attribute by attribute."""

    account: str
    books: dict[str, AttributeAccount]
    charged: set[tuple[int, tuple[str, ...], str, str]] = field(default_factory=set)
    silent: set[int] = field(default_factory=set)
    new: dict[str, list[AskedSet]] = field(default_factory=dict)
    units: dict[str, int] = field(default_factory=dict)
    asked: dict[str, set[bytes]] = field(default_factory=dict)
    answered: dict[str, set[bytes]] = field(default_factory=dict)

    def charge(self, attribute: str, moment: Moment, cells: Sequence[AskedSet], *, divides: bool) -> None:
        """Count further answers about some cells as one unit of the budget.

        Where the attribute `divides` the cells, or bins do, a person is in one part or another: each tells the same, so it
        counts twice.
        """
        single, times = moment.singles_out, 2 if divides or moment.tag.startswith("bin:") else 1
        self.units[attribute] = self.units.get(attribute, 0) + 1
        self.new.setdefault(attribute, []).extend(
            cell.counted(times=0 if single else times, singled=times if single else 0) for cell in cells
        )

    def after(self) -> dict[str, AttributeAccount]:
        """The accounts that change, as they would be then."""
        touched = [name for name in self.books if self.new.get(name) or self.asked.get(name) or self.answered.get(name)]
        worked: dict[Any, WhoAudit] = {}

        def audit(name: str) -> WhoAudit:
            """The audit of an attribute then; where the same was asked of two, it is worked out once."""
            before, new = self.books[name].audit, self.new.get(name)
            if not new:
                return before
            key = (id(before) if before.names else 0, *((one.name, one.times, one.singled) for one in new))
            if key not in worked:
                worked[key] = before.asked(new)
            return worked[key]

        return {
            name: AttributeAccount(
                self.books[name].version + 1,
                self.books[name].used + self.units.get(name, 0),
                audit(name),
                self.books[name].asked | self.asked.get(name, set()),
                self.books[name].answered | self.answered.get(name, set()),
            )
            for name in touched
        }


class Answers:
    """Answers of all users of one database; threads and gateways may share them."""

    def __init__(self, ledger: Ledger, database: str, secret: bytes, settings: AggregatesPolicy) -> None:
        self.settings = settings
        self.noise = StickyNoise(secret, settings)
        self.enough: dict[bytes, bool] = {}
        """Whether all cells of a question had enough people when it was last looked at."""
        self._ledger, self._database = ledger, database
        self._known: dict[tuple[str, str], AttributeAccount] = {}
        self._turn = threading.Lock()
        self._turns: dict[str, threading.Lock] = {}

    def note_enough(self, name: bytes, *, enough: bool) -> None:
        """Remember it; nothing is lost with what is forgotten but time."""
        if len(self.enough) >= REMEMBERED:
            self.enough.clear()
        self.enough[name] = enough

    # -- before anything runs -----------------------------------------------------------------------------------

    def admit(
        self, user: str, sets: Sequence[WhoSet], ask: Ask, roles: Collection[str] = ()
    ) -> Admission | AnswerRefused:
        """Charge a question, or refuse it; nothing was computed from a sensitive value until then."""
        account, people = self.settings.account(user, roles), _People(tuple(sets), ask)

        def decide() -> Admission | AnswerRefused:
            draft = self._drafted(account, people)
            refused = self._written(user, draft)
            charged, silent = frozenset(draft.charged), frozenset(draft.silent)
            return refused or Admission(user, account, people.sets, charged, silent)

        return self._decided(account, decide)

    def price(self, user: str, sets: Sequence[WhoSet], ask: Ask, roles: Collection[str] = ()) -> AnswerPrice:
        """What a question would cost; nothing is charged."""
        draft = self._drafted(self.settings.account(user, roles), _People(tuple(sets), ask))
        after = draft.after()
        reduction = max((book.audit.reduction for book in after.values()), default=0.0)
        return AnswerPrice(dict(draft.units), reduction, self._refusal(draft, after))

    def left(self, user: str, roles: Collection[str] = ()) -> dict[str, AnswersLeft]:
        """What is left to a user, by attribute about which something was answered."""
        with self._ledger.store.reading() as connection:
            found = totals(connection, self._database, self.settings.account(user, roles))
        return {
            total.attribute: AnswersLeft(max(0, self.settings.answers - total.used), total.reduction) for total in found
        }

    def _drafted(self, account: str, people: _People) -> _Draft:
        """What of a question is new to an account."""
        draft = _Draft(account, self._books(account, attributes_of(people.sets)))
        for place, who in enumerate(people.sets):
            for unit, moment in who.units.items():
                question = who.asked(unit)
                for attribute in who.attributes(moment):
                    book, asked = draft.books[attribute], draft.asked.setdefault(attribute, set())
                    if question in book.asked:
                        continue
                    if not people.cells(place, self.settings.smallest):
                        draft.silent.add(place)
                        continue
                    asked.add(question)
                    new: list[AskedSet] = []
                    for label, people_of in people.cells(place, self.settings.smallest).items():
                        cell = people_of.asked(moment.rows)
                        name = name_of("cell", cell.name.hex(), *who.grouped(unit))
                        if name not in book.asked and name not in asked:
                            new.append(cell)
                            asked.add(name)
                            draft.charged.add((place, unit, label, attribute))
                    if new:
                        draft.charge(attribute, moment, new, divides=attribute in who.by)
        return draft

    # -- once it was computed -----------------------------------------------------------------------------------

    def release(
        self,
        admission: Admission,
        place: int,
        cells: Sequence[StatisticCell],
        ask: Ask,
        charged: Sequence[StatisticCell] | None = None,
    ) -> list[NoisedCell] | AnswerRefused:
        """Cells of one grouping set as they may be shown; what data have changed since is charged first.

        What is `charged` are other cells where groups are sensitive: neither price nor work depends on who is hidden.
        """
        who, counted = admission.sets[place], cells if charged is None else charged
        people = _People(admission.sets, ask)

        def decide() -> AnswerRefused | None:
            draft = _Draft(admission.account, self._books(admission.account, attributes_of([who])))
            for unit, moment in who.units.items():
                for attribute in who.attributes(moment):
                    book, names = draft.books[attribute], draft.answered.setdefault(attribute, set())
                    changed = set()
                    known = [(place, unit, cell.label, attribute) in admission.charged for cell in counted]
                    # Cells about the same people are one answer if their noise is one, and else each is another.
                    for before, cell in sorted(zip(known, counted, strict=True), key=lambda one: not one[0]):
                        if cell.people < self.settings.smallest:
                            continue
                        name = self.noise.names(who, unit, cell)
                        if name not in book.answered and name not in names:
                            names.add(name)
                            if not before:
                                changed.add(cell.label)
                    if changed:
                        now = people.cells(place, self.settings.smallest)
                        if not changed <= now.keys():  # nothing is shown that the audit does not know
                            return UNKNOWN
                        some = [now[label].asked(moment.rows) for label in sorted(changed)]
                        draft.charge(attribute, moment, some, divides=attribute in who.by)
            return self._written(admission.user, draft)

        refused = self._decided(admission.account, decide)
        return refused or self.noise.release(who.moments, cells)

    # -- accounts -----------------------------------------------------------------------------------------------

    def _decided(self, account: str, decide: Callable[[], Decided]) -> Decided:
        """Decide alone in this process, and again where another gateway was quicker."""
        with self._turn:
            turn = self._turns.setdefault(account, threading.Lock())
        with turn:
            for _ in range(ATTEMPTS):
                try:
                    return decide()
                except Outdated:
                    continue
        raise StoreBusy(f"The answers of {account} change all the time.", remedy="Ask again in a moment.")

    def _books(self, account: str, attributes: Iterable[str]) -> dict[str, AttributeAccount]:
        """Accounts as they are stored now; what is in memory is used if nobody changed it."""
        ratio, found = variance_ratio(self.settings), {}
        with self._ledger.store.reading() as connection:
            for attribute in attributes:
                version = read_version(connection, self._database, account, attribute)
                book = self._known.get((account, attribute))
                if book is None or book.version != version:
                    stored = read_answers(connection, self._database, account, attribute)
                    book = _read(stored, ratio)
                    self._known[account, attribute] = book
                found[attribute] = book
        return found

    def _written(self, user: str, draft: _Draft) -> AnswerRefused | None:
        """Refuse it, or write it down; what is charged along with an entry of the ledger."""
        after = draft.after()
        refused = self._refusal(draft, after)
        if refused is not None or not after:
            return refused
        stored = {name: self._stored(book, draft.books[name]) for name, book in after.items()}

        def write(connection: Any) -> None:
            for name, content in stored.items():
                write_answers(connection, self._database, draft.account, name, content)

        if draft.units:
            before = max(draft.books[name].audit.reduction for name in draft.units)
            self._ledger.record(
                actor=user,
                event=EVENT,
                subject=f"database:{self._database}/user:{user}",
                risk_before=_share(before),
                risk_after=_share(max(after[name].audit.reduction for name in draft.units)),
                details={"account": draft.account, "answers": sum(draft.units.values()), "columns": len(draft.units)},
                along=write,
            )
        else:
            with self._ledger.store.writing() as connection:
                write(connection)
        for name, book in after.items():
            self._known[draft.account, name] = book
        return None

    def _stored(self, book: AttributeAccount, before: AttributeAccount) -> StoredAnswers:
        known = len(book.asked).to_bytes(8, "big") + b"".join(sorted(book.asked)) + b"".join(sorted(book.answered))
        reduction, ceiling = ceil(book.audit.reduction * PARTS), round(self.settings.audit * PARTS)
        first, audit = not before.version, book.audit
        people = audit.people.tobytes() if first or len(audit.people) > len(before.audit.people) else None
        content = audit.to_bytes() if first or audit is not before.audit else None
        blobs = (people, content, known)
        return StoredAnswers(book.version, book.used, reduction, *blobs, self.settings.answers, ceiling)

    def _refusal(self, draft: _Draft, after: Mapping[str, AttributeAccount]) -> AnswerRefused | None:
        for attribute in sorted(draft.units):
            column = attribute.rpartition(".")[2]
            if after[attribute].used > self.settings.answers:
                left = max(0, self.settings.answers - draft.books[attribute].used)
                return AnswerRefused(
                    f"this question has {draft.units[attribute]} new answers about {column}, and {left} are left to this account.",
                    "What was answered before can be asked again. A custodian may raise `answers` in [gateway.aggregates].",
                    "budget",
                )
            audit = after[attribute].audit
            alone = not audit.alone_within(self.settings.known)
            if alone or not audit.within(self.settings.audit):
                limit, beside = (
                    (self.settings.known, " for those who know all others") if alone else (self.settings.audit, "")
                )
                return AnswerRefused(
                    f"with the answers before, this one would narrow down {column} of one person "
                    f"by more than {brief_percent(limit)}{beside}.",
                    "Ask about groups that overlap less with earlier ones, or that are larger; what was answered before can be asked again.",
                    "audit",
                )
        return None


class _People:
    """People of each cell of a question, fetched when needed, in one scan."""

    def __init__(self, sets: tuple[WhoSet, ...], ask: Ask) -> None:
        self.sets = sets
        self._ask = ask
        self._cells: dict[int, dict[str, _CellPeople]] = {}

    def cells(self, place: int, smallest: int) -> dict[str, _CellPeople]:
        """Cells of a set that may be shown, by their label."""
        if place not in self._cells:
            who = self.sets[place]
            together = [number for number, other in enumerate(self.sets) if who.joins(other)]
            scanned: list[dict[str, list[tuple[Marks, bytes]]]] = [{} for _ in together]
            for *labels, marks, rows in self._ask(people_query([self.sets[number] for number in together])):
                people = np.frombuffer(bytes(marks or b""), dtype=">u8").astype(np.uint64)
                for label, cells in zip(labels, scanned, strict=True):
                    cells.setdefault("" if label is None else str(label), []).append((people, bytes(rows or b"")))
            for number, cells in zip(together, scanned, strict=True):
                found = {label: _cell(parts, several=self.sets[number].rows > 1) for label, parts in cells.items()}
                self._cells[number] = {label: cell for label, cell in found.items() if len(cell.people) >= smallest}
        return self._cells[place]


@dataclass(frozen=True, eq=False)
class _CellPeople:
    """People of a cell, and how many rows each has; one where absent."""

    people: Marks
    rows: Any = None
    known: dict[int, AskedSet] = field(default_factory=dict)

    def asked(self, most: int) -> AskedSet:
        """As an answer is about them that counts so many rows of a person at most; its noise is as large as that."""
        most = 1 if self.rows is None else most
        if most not in self.known:
            shares = None if most == 1 else np.minimum(self.rows, most) / most
            self.known[most] = AskedSet(self.people, shares=shares)
        return self.known[most]


def _cell(parts: Sequence[tuple[Marks, bytes]], *, several: bool) -> _CellPeople:
    """One cell from the parts that a scan found. Where each person should come once, but does not, nobody is known."""
    people = parts[0][0] if len(parts) == 1 else np.concatenate([marks for marks, _ in parts])
    if several:
        return _CellPeople(people, np.frombuffer(b"".join(rows for _, rows in parts), dtype=">i4").astype(np.int64))
    ordered = np.sort(people)
    twice = len(ordered) > 1 and bool((ordered[1:] == ordered[:-1]).any())
    return _CellPeople(ordered[:0] if twice else ordered)


def _read(stored: StoredAnswers | None, ratio: float) -> AttributeAccount:
    if stored is None:
        return AttributeAccount(0, 0, WhoAudit(ratio))
    asked = int.from_bytes(stored.known[:8], "big")
    names = [stored.known[start : start + NAME] for start in range(8, len(stored.known), NAME)]
    audit = WhoAudit.from_bytes(stored.content or b"", stored.people or b"", ratio=ratio)
    return AttributeAccount(stored.version, stored.used, audit, frozenset(names[:asked]), frozenset(names[asked:]))


def _share(reduction: float) -> Fraction:
    """A reduction to the millionth, rounded up, so that entries stay readable."""
    return Fraction(ceil(reduction * PARTS), PARTS)
