"""Pair of records: the rules by which its attributes are compared, its cells, their modes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.errors import UsageError
from discreet.kernel.serialise import json_of
from discreet.linkage.masking.comparison import (
    KINDS,
    MODES,
    Comparison,
    DateSwap,
    Kind,
    Mode,
    check_date_swap,
    compare_values,
    exchanged,
)
from discreet.linkage.masking.text import FORMATS, Icon, check_formats, check_name, check_normalisations

Texts = tuple[str, ...]
State = tuple[Mode, ...]
"""The mode of each cell of a pair, in the order of the attributes."""
Declared = str | Iterable[str] | Mapping[str, str | Iterable[str]]
"""One setting for all attributes, or one by attribute."""


@dataclass(frozen=True)
class Rules:
    """How the attributes of two records are compared. Made with `Rules.of`, which checks it all."""

    attributes: tuple[str, ...]
    kinds: tuple[Kind, ...]
    formats: tuple[Texts, ...]
    normalise: tuple[Texts, ...]
    swaps: tuple[tuple[int, int], ...]
    """Pairs of attributes that may have been exchanged, by place."""
    names: tuple[bool, ...]
    """Beside which attributes it is shown how common a value is."""
    date_swap: DateSwap

    @classmethod
    def of(
        cls,
        kinds: Mapping[str, Kind],
        *,
        swaps: Iterable[tuple[str, str]] = (),
        formats: Declared = FORMATS,
        normalise: Declared = (),
        names: Iterable[str] = (),
        date_swap: DateSwap = "digits",
    ) -> Rules:
        """The rules for these attributes; `formats` and `normalise` are for all of them or given by attribute.

        >>> rules = Rules.of({"given": "string", "family": "string"}, swaps=[("given", "family")], normalise="strip")
        >>> rules.swaps, rules.normalise
        (((0, 1),), (('strip',), ('strip',)))
        """
        if not kinds:
            raise UsageError("No attribute is declared.", remedy="kinds={'name': 'string', 'born': 'date'}")
        for kind in kinds.values():
            check_name("kind of attribute", kind, KINDS)
        check_date_swap(date_swap)
        attributes, common = tuple(kinds), tuple(names)
        for name in common:
            _place(attributes, name)
        written = tuple(check_formats(patterns) for patterns in _each(attributes, formats, FORMATS))
        steps = tuple(check_normalisations(declared) for declared in _each(attributes, normalise, ()))
        exchanged = tuple((_place(attributes, here), _place(attributes, there)) for here, there in swaps)
        places = [place for pair in exchanged for place in pair]
        if len(set(places)) < len(places) or any(kinds[attributes[place]] != "string" for place in places):
            raise UsageError(
                "Columns that may be exchanged are two different strings, each in one such pair only.",
                remedy="swaps=[('given_name', 'surname')]",
            )
        is_name = tuple(name in common for name in attributes)
        return cls(attributes, tuple(kinds.values()), written, steps, exchanged, is_name, date_swap)

    def compare(
        self, first: Sequence[str | None], second: Sequence[str | None]
    ) -> tuple[tuple[Comparison, ...], tuple[int | None, ...]]:
        """All attributes of two records, and for each the place of the one that opens along with it."""
        settings = zip(self.kinds, first, second, self.formats, strict=True)
        cells = [compare_values(kind, a, b, formats, self.date_swap) for kind, a, b, formats in settings]
        along: list[int | None] = [None] * len(cells)
        for here, there in self.swaps:
            both = exchanged(self.kinds[here], (first[here], first[there]), (second[here], second[there]))
            if both is not None:
                cells[here], cells[there] = both
                along[here], along[there] = there, here
        return tuple(cells), tuple(along)

    def place(self, attribute: str) -> int:
        """The place of an attribute."""
        return _place(self.attributes, attribute)

    to_dict = json_of()

    @classmethod
    def from_dict(cls, written: Mapping[str, Any]) -> Rules:
        """From what `to_dict` wrote."""
        return cls(**{name: _tuples(value) for name, value in written.items()})


@dataclass(frozen=True)
class Pair:
    """The cells of two base records. The repr holds no value."""

    records: tuple[int, int]
    attributes: tuple[str, ...]
    cells: tuple[Comparison, ...]
    along: tuple[int | None, ...]
    """For each cell the place of the one that opens along with it: names that changed places."""
    frequencies: tuple[tuple[Icon, Icon] | None, ...]
    """For each cell how common the values of both records are, where that is shown and they are there."""

    @property
    def masked(self) -> State:
        """The state in which nothing is open."""
        return tuple(MODES[0] for _ in self.cells)

    def place(self, attribute: str) -> int:
        """The place of an attribute."""
        if attribute not in self.attributes:
            raise UsageError(
                f"No attribute '{attribute}' is shown.", remedy=f"There are: {', '.join(self.attributes)}."
            )
        return self.attributes.index(attribute)

    def cell(self, attribute: str) -> Comparison:
        """The cell of an attribute."""
        return self.cells[self.place(attribute)]

    def next_mode(self, state: State, attribute: str) -> Mode | None:
        """What the next step opens: partial, full or nothing more."""
        place = self.place(attribute)
        return self.cells[place].next_mode(state[place])

    def opened(self, state: State, attribute: str, mode: Mode) -> State:
        """The state after opening a cell; opening less than is open changes nothing."""
        place = self.place(attribute)
        check_name("mode", mode, MODES)
        if not self.cells[place].takes(mode):
            raise UsageError(
                f"Attribute '{attribute}' has no partial mode in this pair.", remedy="Open it in full, or not at all."
            )
        return self._with(state, place, mode)

    def all_opened(self, state: State, mode: Mode) -> State:
        """The state after opening every cell so; cells without a partial mode stay as they are."""
        check_name("mode", mode, MODES)
        for place, cell in enumerate(self.cells):
            if mode != "partial" or cell.has_partial:
                state = self._with(state, place, mode)
        return state

    def check(self, state: State) -> None:
        """Stop if this is no state of these cells."""
        for place, mode in enumerate(state):
            check_name("mode", mode, MODES)
            along = self.along[place]
            if not self.cells[place].takes(mode) or (along is not None and state[along] != mode):
                raise UsageError("A cell cannot be in that mode.", remedy="Make states with `opened`.")
        if len(state) != len(self.cells):
            raise UsageError("A state has one mode per attribute.", remedy="Make states with `opened`.")

    def disclosed(self, state: State) -> int:
        """How many characters of both records are shown."""
        return sum(side.disclosed(mode) for cell, mode in zip(self.cells, state, strict=True) for side in cell.sides)

    @property
    def characters(self) -> int:
        """How many characters both records have."""
        return sum(side.total for cell in self.cells for side in cell.sides)

    def shares(self, state: State) -> tuple[Fraction, Fraction]:
        """For each record the sum over its attributes of the share of characters shown."""
        first, second = Fraction(0), Fraction(0)
        for cell, mode in zip(self.cells, state, strict=True):
            if mode != "masked":
                first += cell.left.share(mode)
                second += cell.right.share(mode)
        return first, second

    def _with(self, state: State, place: int, mode: Mode) -> State:
        changed = list(state)
        for opened in (place, self.along[place]):
            if opened is not None and MODES.index(mode) > MODES.index(changed[opened]):
                changed[opened] = mode
        return tuple(changed)


def _each(attributes: Texts, declared: Declared, otherwise: Texts) -> list[Texts]:
    by_name = declared if isinstance(declared, Mapping) else dict.fromkeys(attributes, declared)
    for name in by_name:
        _place(attributes, name)
    settings = [by_name.get(name, otherwise) for name in attributes]
    return [(setting,) if isinstance(setting, str) else tuple(setting) for setting in settings]


def _place(attributes: Texts, name: str) -> int:
    if name not in attributes:
        raise UsageError(f"No attribute '{name}' is declared.", remedy=f"There are: {', '.join(attributes)}.")
    return attributes.index(name)


def _tuples(value: Any) -> Any:
    return tuple(_tuples(inner) for inner in value) if isinstance(value, list | tuple) else value
