"""The base records of a project, laid out once so that every price of a pair is known in about a millisecond."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from discreet.errors import EmptySource, UsageError
from discreet.linkage.candidates import Candidates, Constraint, Equal, Pattern, Shared
from discreet.linkage.comparison import Comparison, Kind
from discreet.linkage.dates import FORMATS
from discreet.linkage.masking.column_index import Column, build
from discreet.linkage.masking.compare import DateSwap
from discreet.linkage.masking.comparison import Mode
from discreet.linkage.masking.icons import Mark, frequency
from discreet.linkage.masking.mask_leakage import Strictness
from discreet.linkage.masking.rules import Declared, Rules
from discreet.linkage.pair import Pair, State
from discreet.linkage.reading import columns_of


@dataclass(frozen=True)
class Step:
    """What opening a cell further leads to."""

    mode: Mode
    state: State
    anonymity: tuple[int, int]
    """For both records, how many base records would be compatible."""
    contribution: Fraction
    """What the pair would contribute to the score."""


@dataclass(frozen=True)
class Quote:
    """How a pair stands, and what each next step leads to."""

    anonymity: tuple[int, int]
    contribution: Fraction
    """What the pair contributes to the score: the sum over both records of (sum of p) / k."""
    steps: Mapping[str, Step]
    """By attribute, where there is a next step."""

    def increase(self, attribute: str) -> Fraction:
        """By how much the next step raises the contribution of the pair."""
        step = self.steps.get(attribute)
        return Fraction(0) if step is None else step.contribution - self.contribution


@dataclass(frozen=True, eq=False, repr=False)
class Index:
    """Base records by attribute. Nothing in it changes, so that threads and processes may share it."""

    rules: Rules
    columns: tuple[Column, ...]
    _strictness: list[Strictness] = field(default_factory=list)

    @classmethod
    def build(
        cls,
        records: Any,
        kinds: Mapping[str, Kind],
        *,
        swaps: Iterable[tuple[str, str]] = (),
        formats: Declared = FORMATS,
        normalise: Declared = (),
        names: Iterable[str] = (),
        date_swap: DateSwap = "digits",
    ) -> Index:
        """Lay out the records; two base tables are one list of records.

        >>> people = [{"name": "Mary"}, {"name": "Mark"}, {"name": "Mary"}]
        >>> index = Index.build(people, {"name": "string"})
        >>> pair = index.pair(0, 1)
        >>> index.quote(pair, pair.masked).steps["name"].anonymity
        (2, 1)
        """
        rules = Rules.of(kinds, swaps=swaps, formats=formats, normalise=normalise, names=names, date_swap=date_swap)
        coded = columns_of(records, rules.attributes)
        if not len(next(iter(coded.values())).codes):
            raise EmptySource("There is nobody in the base records.", remedy="Give at least one record.")
        return cls(
            rules,
            tuple(
                build(kind, coded[name], formats=rules.formats[j], normalise=rules.normalise[j])
                for j, (name, kind) in enumerate(zip(rules.attributes, rules.kinds, strict=True))
            ),
        )

    def __len__(self) -> int:
        return len(self.columns[0].codes)

    def __repr__(self) -> str:
        return f"Index({len(self):,} records, {', '.join(self.rules.attributes)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Index, (self.rules, self.columns)

    @property
    def nbytes(self) -> int:
        """Memory of the arrays."""
        return sum(column.nbytes for column in self.columns)

    def values(self, record: int) -> tuple[str | None, ...]:
        """The identifying values of a record. Only for who may see them: comparison and the door that reveals."""
        return tuple(column.value(record) for column in self.columns)

    def pair(self, first: int, second: int) -> Pair:
        """Two base records side by side."""
        for record in (first, second):
            if not 0 <= record < len(self):
                raise UsageError(f"There is no base record {record}.", remedy=f"They are 0 to {len(self) - 1}.")
        if first == second:
            raise UsageError("A pair is two different base records.", remedy="Check the numbers of the pair.")
        cells, along = self.rules.compare(self.values(first), self.values(second))
        shown = tuple(self._frequencies(j, first, second, cell) for j, cell in enumerate(cells))
        return Pair((first, second), self.rules.attributes, cells, along, shown)

    def quote(self, pair: Pair, state: State, *, strict: bool = False) -> Quote:
        """How many base records are compatible with each row, now and after every next step, and what that costs.

        With `strict`, what the masked display itself gives away counts too.
        """
        pair.check(state)
        steps = {
            name: (mode, pair.opened(state, name, mode))
            for name in pair.attributes
            if (mode := pair.next_mode(state, name)) is not None
        }
        counted = [self._count(pair, row, state, [after for _, after in steps.values()], strict) for row in (0, 1)]
        now, *later = zip(*counted, strict=True)
        return Quote(
            now,
            contribution(pair, state, now),
            {
                name: Step(mode, after, found, contribution(pair, after, found))
                for (name, (mode, after)), found in zip(steps.items(), later, strict=True)
            },
        )

    def anonymity(self, pair: Pair, state: State, *, strict: bool = False) -> tuple[int, int]:
        """For both rows, how many base records are compatible with what is disclosed."""
        pair.check(state)
        return self._count(pair, 0, state, [], strict)[0], self._count(pair, 1, state, [], strict)[0]

    def _count(self, pair: Pair, row: int, state: State, later: list[State], strict: bool) -> list[int]:
        """Compatible base records of a row, in a state and in states that open it further."""
        now = Candidates.of(self._constraints(pair, row, state, None, strict), len(self))
        return [len(now), *(now.count(self._constraints(pair, row, after, state, strict)) for after in later)]

    def _constraints(self, pair: Pair, row: int, state: State, since: State | None, strict: bool) -> list[Constraint]:
        """What the cells of a row say, or those of them that are open further than before."""
        changed = (j for j, mode in enumerate(state) if since is None or mode != since[j])
        find = self.strictness.constraint if strict else self._constraint
        found = (find(pair, row, j, state[j]) for j in changed)
        return [one for one in found if one is not None]

    def _constraint(self, pair: Pair, row: int, j: int, mode: Mode) -> Constraint | None:
        """The rule of compatibility (spec of the score): what one cell says about the record behind it."""
        if mode == "masked":
            return None
        column, cell = self.columns[j], pair.cells[j]
        if mode == "full":
            return Equal(column, int(column.codes[pair.records[row]]))
        if cell.equal:
            return Shared(column)
        side = cell.sides[row]
        return Pattern(column, side.total, [(place, column.unit_codes[unit]) for place, unit in side.shown])

    @property
    def strictness(self) -> Strictness:
        """What the masked display gives away; prepared when it is first asked for."""
        if not self._strictness:
            self._strictness.append(Strictness(self.rules, self.columns))
        return self._strictness[0]

    def _frequencies(self, j: int, first: int, second: int, cell: Comparison) -> tuple[Mark, Mark] | None:
        column = self.columns[j]
        if not self.rules.names[j] or cell.left.value is None or cell.right.value is None:
            return None
        return (
            frequency(int(column.counts[column.codes[first]])),
            frequency(int(column.counts[column.codes[second]])),
        )


def contribution(pair: Pair, state: State, anonymity: tuple[int, int]) -> Fraction:
    """What a pair contributes to the score: (sum of p) / k of both rows, added up."""
    first, second = pair.shares(state)
    return first / anonymity[0] + second / anonymity[1]
