"""Cells of a statistic: admitted first, counted in one scan, noised, shown as aggregates."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from hashlib import sha256
from operator import xor
from typing import Any

from discreet.gateway.analysis.cell_sql import CellSql
from discreet.gateway.analysis.statistic import CellPart, Statistic
from discreet.gateway.analysis.terms import CellQuestion, Key, Quantity, Term
from discreet.gateway.own_connection import OwnRun
from discreet.gateway.statistics import Admission, AnswerRefused, Answers, Moment, StatisticCell, WhoSet
from discreet.gateway.statistics.quantities import name_of
from discreet.sql.fragment import NotCovered
from discreet.sql.printer import printed

Group = tuple[str | None, ...]
WHOLE_NUMBERS = (20, 21, 23)
DOUBLES = (700, 701)
SCALE = 6
LARGEST = 1e60
"""No public number beside a sensitive one may be larger."""
LONGEST = 1_000
"""Bytes of a public group beside a sensitive one: a longer one takes its time in each of the cells it is divided into."""


class StatisticRefused(Exception):
    """Audit or budget do not allow it."""

    def __init__(self, refused: AnswerRefused) -> None:
        super().__init__(refused.reason)
        self.refused = refused


@dataclass
class _Counted:
    """One cell of one question, as counted."""

    people: int
    who: str
    values: list[float]
    exact: list[str | None] = field(default_factory=list)


def _in_row(value: str | None) -> str:
    """A value as the server writes it in a row.

    >>> [_in_row(value) for value in (None, "", "plain", "a b")]
    ['', '""', 'plain', '"a b"']
    """
    if value is None:
        return ""
    quoted = not value or any(letter in ' \t\n\v\f\r"\\(),' for letter in value)
    doubled = value.replace("\\", "\\\\").replace('"', '""')
    return f'"{doubled}"' if quoted else value


class CellRunner:
    """Runs one statistic."""

    def __init__(self, statistic: Statistic, answers: Answers, seed: int, run: OwnRun) -> None:
        self._statistic, self._answers, self._seed, self._run = statistic, answers, seed, run
        self._settings = answers.settings
        self.kinds: list[tuple[int, int]] = []
        """Types of a cell's columns."""

    def rows(self, user: str, roles: frozenset[str]) -> list[list[str | None]]:
        """The cells that are shown, in an order that tells nothing."""
        described = self._run.described(printed(self._statistic.described))
        self.kinds = [(23, -1)] + [
            (described.ftype(place), described.fmod(place)) for place in range(1, described.nfields)
        ]
        found: list[tuple[bytes, list[str | None]]] = []
        for part in self._statistic.parts:
            for number, group, values in self._part(part, user, roles):
                row = [str(number), *group, *values]
                mark = sha256(repr((self._seed, number, group)).encode()).digest()
                found.append((mark, row))
        return [row for _, row in sorted(found, key=lambda one: one[0])]

    def sets(self, part: CellPart) -> list[tuple[CellQuestion, int, WhoSet]]:
        """What the audit is asked about: each question with each grouping set."""
        found = []
        for question in part.questions:
            if not self._asks(part, question):
                continue
            sql = self._sql(part, question)
            # Whose rows count, and which of them: where a person has one row of one table, the people say it.
            rows = sha256(self._unsalted(f"{sql.relation} WHERE {sql.where}").encode()).hexdigest()
            for number in part.sets:
                moments = tuple(
                    self._moment(
                        one,
                        # With other settings the same text may mean something else.
                        self._run.settings
                        + ("" if self._statistic.person.once and not one.detail else rows + one.detail),
                    )
                    for one in question.quantities
                )
                who = WhoSet(
                    self._unsalted(sql.relation),
                    self._unsalted(sql.where),
                    self._unsalted(sql.person),
                    self._unsalted(sql.label(number)),
                    moments,
                    self._statistic.person.once,
                    part.by,
                    tuple(self._unsalted(one) for one in sql.groups(number)),
                    tuple(sorted(self._statistic.spelt[place] for place in self._hidden(number))),
                )
                found.append((question, number, who))
        return found

    def _hidden(self, number: int) -> list[int]:
        """The sensitive groups of a grouping set."""
        return [place for place in self._statistic.sets[number] if place in self._statistic.hidden]

    def _unsalted(self, sql: str) -> str:
        """The same question has the same text each time."""
        return sql.replace(self._statistic.resolved.salt, "0")

    @staticmethod
    def _asks(part: CellPart, question: CellQuestion) -> bool:
        """Whether anything sensitive is in it: what is exact needs no noise and no threshold."""
        return bool(question.quantities) or part.sensitive

    def _moment(self, quantity: Quantity, scope: str) -> Moment:
        public = [one for one in quantity.measures if not one.sensitive]
        summed = quantity.tag in ("sum", "square", "product") or quantity.tag.startswith("bin:")
        first = quantity.measures[0] if quantity.measures else None
        name = ""
        if summed and first is not None and (not first.sensitive or (quantity.tag == "product" and public)):
            name = (public[0] if public else first).name
        condition = quantity.condition
        if not summed and public:
            condition = repr((condition, [one.name for one in public]))
        tag = "count" if quantity.tag == "people" else quantity.tag
        rows = 1 if self._statistic.person.once or quantity.tag == "people" else self._settings.rows
        bounds = self._bounds()[name] if name else None
        return Moment(
            tag, quantity.columns, scope + quantity.tag[:6] * (quantity.tag == "people"), condition, rows, name, bounds
        )

    def _bounds(self) -> Mapping[str, tuple[float, float]]:
        """Bounds of everything that is added up: the policy's, or for public numbers those of the data."""
        if not hasattr(self, "_known"):
            self._known: dict[str, tuple[float, float]] = {}
            for part in self._statistic.parts:
                for question in part.questions:
                    for quantity in question.quantities:
                        for measure in quantity.measures:
                            said = self._settings.bounds(measure.name)
                            if measure.name in self._known:
                                continue
                            if said is None:
                                sql = CellSql(self._statistic, part, part.questions[0], {}, self._settings.rows)
                                low, high = self._run.ask(sql.extremes(measure))[0]
                                said = (float(low or 0.0), float(high or 0.0))
                                if not all(abs(one) <= LARGEST for one in said):
                                    # Sums of such numbers overflow, and whether they do tells who is in them.
                                    raise NotCovered("infinite, missing or huge numbers beside sensitive columns")
                                said = said if said[0] < said[1] else (said[0] - 1.0, said[0] + 1.0)
                            self._known[measure.name] = said
        return self._known

    def _sql(self, part: CellPart, question: CellQuestion, smallest: int = 0) -> CellSql:
        rows, least = self._settings.rows, self._settings.smallest
        return CellSql(self._statistic, part, question, self._bounds(), rows, smallest=smallest, least=least)

    def _fewest(self, part: CellPart, question: CellQuestion) -> tuple[int, bytes]:
        """People that a cell must have to be looked at, or 0 where all have; and its name."""
        sql = self._sql(part, question)
        public = [sql.groups(number) for number in part.sets]
        if not (sql.divided or (any(public) and part.sensitive)):
            return 0, b""
        texts = (sql.relation, sql.where, sql.person, repr(public), str(part.sensitive), self._run.settings)
        name = name_of("cells", *map(self._unsalted, texts))
        enough = self._answers.enough.get(name)
        if enough is None:
            ((few, longest),) = self._run.ask(sql.looked_at(self._settings.smallest))
            if (longest or 0) > LONGEST:
                raise NotCovered(f"groups of more than {LONGEST:,} bytes beside sensitive ones", "use shorter groups")
            enough = not few
            self._answers.note_enough(name, enough=enough)
        return 0 if enough else self._settings.smallest, name

    # One part ---------------------------------------------------------------------------------------------------------

    def _part(self, part: CellPart, user: str, roles: frozenset[str]) -> Iterator[tuple[int, Group, list[str | None]]]:
        sets = self.sets(part)
        admission: Admission | None = None
        if sets:
            admitted = self._answers.admit(user, [who for _, _, who in sets], self._run.marks, roles)
            if isinstance(admitted, AnswerRefused):
                raise StatisticRefused(admitted)
            admission = admitted
        # Of groups that are never shown nothing sensitive is worked on: how long that takes would be an answer.
        spoken = {
            id(one) for at, (one, _, _) in enumerate(sets) if admission is not None and at not in admission.silent
        }
        silent = {id(one) for one, _, _ in sets} - spoken
        counted = {}
        for question in part.questions:
            mute = id(question) in silent
            asked = CellQuestion(question.where, [], question.exact) if mute else question
            counted[id(question)] = {} if mute and part.sensitive else self._counted(part, asked)
        for number in part.sets:
            spelt = name_of("groups", *sorted(self._statistic.spelt[place] for place in self._hidden(number))).hex()
            shown: dict[Group, dict[Key, float | None]] = {}
            hidden: set[Group] = set()
            exact: dict[Group, dict[Key, str | None]] = {}
            for place, question in enumerate(part.questions):
                cells = counted[id(question)]
                chosen = {group: one for (its, group), one in cells.items() if its == self._mask(number)}
                for group, one in chosen.items():
                    exact.setdefault(group, {}).update({(place, -1 - at): text for at, text in enumerate(one.exact)})
                at = next(
                    (at for at, (its, its_number, _) in enumerate(sets) if its is question and its_number == number),
                    None,
                )
                if id(question) in silent:
                    hidden.update(chosen if place == 0 else ())
                    continue
                if at is None or admission is None:
                    continue
                noised = self._answers.release(
                    admission,
                    at,
                    [self._cell(part, number, group, one, cells, spelt) for group, one in chosen.items()],
                    self._run.marks,
                    self._charged(number, cells, spelt),
                )
                if isinstance(noised, AnswerRefused):
                    raise StatisticRefused(noised)
                for group, its in zip(chosen, noised, strict=True):
                    values = shown.setdefault(group, {})
                    if its.shown:
                        values.update({(place, n): value for n, value in enumerate(its.values)})
                    elif place == 0:
                        hidden.add(group)
            first = [group for (its, group) in counted[id(part.questions[0])] if its == self._mask(number)]
            for group in first:
                if group in hidden and self._statistic.sets[number]:
                    continue
                yield number, group, self._worked(part, shown.get(group, {}), exact.get(group, {}))

    def _mask(self, number: int) -> int:
        """What GROUPING says of a grouping set."""
        return self._mask_of(self._statistic.sets[number])

    def _mask_of(self, places: Collection[int]) -> int:
        width = len(self._statistic.groups)
        return sum((place not in places) << (width - 1 - place) for place in range(width))

    def _counted(self, part: CellPart, question: CellQuestion) -> dict[tuple[int, Group], _Counted]:
        width = len(self._statistic.groups)
        plain = [at for at, one in enumerate(question.quantities) if not one.tag.startswith("bin:")]
        bins = [at for at, one in enumerate(question.quantities) if one.tag.startswith("bin:")]
        fewest, name = self._fewest(part, question) if self._asks(part, question) else (0, b"")
        sql = self._sql(part, question, fewest)
        found: dict[tuple[int, Group], _Counted] = {}
        for mask, *row in self._run.ask(sql.moments(), (self._seed,)):
            group, rest = tuple(row[:width]), row[width:]
            values = [0.0] * len(question.quantities)
            for at, value in zip(plain, rest[2:], strict=False):
                values[at] = float(value or 0.0)
            exact = list(rest[2 + len(plain) :])
            found[mask, group] = _Counted(int(rest[0] or 0), str(rest[1] or ""), values, exact)
        if sql.adds_up and not sql.least:
            found = self._added_up(part, question, [(group, one) for (_, group), one in found.items()])
        asked = {self._mask_of({*self._statistic.sets[one]} - {*self._statistic.hidden}) for one in sql.divided}
        if any(mask in asked and one.people < self._settings.smallest for (mask, _), one in found.items()):
            self._answers.note_enough(name, enough=False)
        apart = self._sql(part, question, fewest).exact()
        if apart:
            for mask, *row in self._run.ask(apart, (self._seed,) if "$1" in apart else ()):
                one = found.setdefault((mask, tuple(row[:width])), _Counted(0, "", [0.0] * len(question.quantities)))
                one.exact = list(row[width:])
        seen = set()
        for at in bins:
            quantity = question.quantities[at]
            same = (quantity.measures, quantity.condition)
            if same in seen:
                continue
            seen.add(same)
            places = [n for n in bins if (question.quantities[n].measures, question.quantities[n].condition) == same]
            text = self._sql(part, question, fewest).histogram(quantity, len(places))
            for mask, *row in self._run.ask(text, (self._seed,) if "$1" in text else ()):
                one_or_none = found.get((mask, tuple(row[:width])))
                if one_or_none is not None and row[width] is not None:
                    one_or_none.values[places[int(row[width])]] = float(row[width + 1])
        return found

    def _added_up(
        self, part: CellPart, question: CellQuestion, finest: list[tuple[Group, _Counted]]
    ) -> dict[tuple[int, Group], _Counted]:
        """The cells of all sets from the finest: numbers and hashes add up."""
        hidden, found = set(self._statistic.hidden), {}
        chosen = {frozenset(self._statistic.sets[number]) for number in part.sets}
        for places in chosen | {some - hidden for some in chosen}:
            mask = self._mask_of(places)
            cells: dict[Group, list[_Counted]] = {} if places else {(None,) * len(self._statistic.groups): []}
            for group, one in finest:
                key = tuple(value if place in places else None for place, value in enumerate(group))
                cells.setdefault(key, []).append(one)
            for key, some in cells.items():
                who = reduce(xor, (int(one.who) for one in some if one.who), 0)
                values = [math.fsum(one.values[at] for one in some) for at in range(len(question.quantities))]
                exact = range(min(len(one.exact) for one in some) if some else len(question.exact))
                counts: list[str | None] = [str(sum(int(one.exact[at] or 0) for one in some)) for at in exact]
                found[mask, key] = _Counted(sum(one.people for one in some), str(who), values, counts)
        return found

    def _label(self, number: int, group: Group) -> str:
        """What the audit calls a cell: its public groups as the server writes a row."""
        hidden = self._statistic.hidden
        if not set(self._statistic.sets[number]) - set(hidden):
            return ""
        return f"({','.join(map(_in_row, (value for place, value in enumerate(group) if place not in hidden)))})"

    def _cell(
        self,
        part: CellPart,
        number: int,
        group: Group,
        one: _Counted,
        cells: Mapping[tuple[int, Group], _Counted],
        spelt: str,
    ) -> StatisticCell:
        """A cell as the noise knows it: the people it may tell about are those without its sensitive value."""
        statistic, mask = self._statistic, self._mask(number)
        public = tuple(None if place in statistic.hidden else value for place, value in enumerate(group))
        label = self._label(number, group)
        if not part.sensitive:
            return StatisticCell(public, "", one.people, one.who, tuple(one.values), None, label)
        own = [group[place] for place in sorted(self._hidden(number), key=lambda place: statistic.spelt[place])]
        wide = cells[mask | self._mask_of_hidden, public]
        text = name_of(spelt, *("" if value is None else "=" + value for value in own)).hex()
        return StatisticCell(public, text, wide.people, wide.who, tuple(one.values), one.people, label)

    @property
    def _mask_of_hidden(self) -> int:
        return sum(1 << (len(self._statistic.groups) - 1 - place) for place in self._statistic.hidden)

    def _charged(
        self, number: int, cells: Mapping[tuple[int, Group], _Counted], spelt: str
    ) -> list[StatisticCell] | None:
        """What is charged where groups are sensitive: public cells, whichever of their parts are shown."""
        if not self._hidden(number):
            return None
        mask = self._mask(number) | self._mask_of_hidden
        return [
            StatisticCell(group, spelt, one.people, one.who, tuple(one.values), None, self._label(number, group))
            for (its, group), one in cells.items()
            if its == mask
        ]

    def _worked(
        self, part: CellPart, values: Mapping[Key, float | None], exact: Mapping[Key, str | None]
    ) -> list[str | None]:
        def given(key: Key) -> float | None:
            if key[1] >= 0:
                return values.get(key)
            text = exact.get(key)
            return None if text is None else float(text)

        found: list[str | None] = []
        for place, term in enumerate(part.terms):
            oid = self.kinds[1 + len(self._statistic.groups) + place][0]
            found.append(self._text(term, given, exact, oid))
        return found

    def _text(self, term: Term, given: Any, exact: Mapping[Key, str | None], oid: int) -> str | None:
        if term.exact is not None:
            return exact.get((term.exact[0], -1 - term.exact[1]))
        if term.compute is None:
            return None
        value = term.compute(given, self._bounds())
        if value is None:
            return None
        if term.whole or oid in WHOLE_NUMBERS:
            return str(round(value))
        return repr(value) if oid in DOUBLES else f"{value:.{SCALE}f}"
