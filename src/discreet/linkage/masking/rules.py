"""Rules of attributes: kinds, formats, normalisation, columns that may be swapped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.errors import UsageError
from discreet.kernel.serialise import json_of
from discreet.linkage.masking.compare import DateSwap, are_swapped, check_date_swap, check_kind, compare_values, swapped
from discreet.linkage.masking.comparison import ROW_1, ROW_2, Comparison, Kind
from discreet.linkage.masking.text import FORMATS, check_formats, check_normalisations

Texts = tuple[str, ...]
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
            check_kind(kind)
        check_date_swap(date_swap)
        attributes, common = tuple(kinds), tuple(names)
        for name in common:
            _place(attributes, name)
        return cls(
            attributes,
            tuple(kinds.values()),
            tuple(check_formats(one) for one in _each(attributes, formats, FORMATS)),
            tuple(check_normalisations(one) for one in _each(attributes, normalise, ())),
            _swaps(attributes, tuple(kinds.values()), swaps),
            tuple(name in common for name in attributes),
            date_swap,
        )

    def compare(
        self, first: Sequence[str | None], second: Sequence[str | None]
    ) -> tuple[tuple[Comparison, ...], tuple[int | None, ...]]:
        """All attributes of two records, and for each the place of the one that opens along with it."""
        cells: list[Comparison | None] = [None] * len(self.attributes)
        along: list[int | None] = [None] * len(self.attributes)
        for here, there in self.swaps:
            if are_swapped(first[here], first[there], second[here], second[there]):
                cells[here] = swapped(self.kinds[here], first[here], second[here], ROW_1)
                cells[there] = swapped(self.kinds[there], first[there], second[there], ROW_2)
                along[here], along[there] = there, here
        compared = tuple(
            cell or compare_values(self.kinds[j], first[j], second[j], self.formats[j], self.date_swap)
            for j, cell in enumerate(cells)
        )
        return compared, tuple(along)

    def place(self, attribute: str) -> int:
        """The place of an attribute."""
        return _place(self.attributes, attribute)

    to_dict = json_of()

    @classmethod
    def from_dict(cls, written: Mapping[str, Any]) -> Rules:
        """From what `to_dict` wrote."""
        return cls(**{name: _tuples(value) for name, value in written.items()})


def _each(attributes: Texts, declared: Declared, otherwise: Texts) -> list[Texts]:
    by_name = declared if isinstance(declared, Mapping) else dict.fromkeys(attributes, declared)
    for name in by_name:
        _place(attributes, name)
    found = [by_name.get(name, otherwise) for name in attributes]
    return [(one,) if isinstance(one, str) else tuple(one) for one in found]


def _swaps(attributes: Texts, kinds: Sequence[Kind], swaps: Iterable[tuple[str, str]]) -> tuple[tuple[int, int], ...]:
    found = tuple((_place(attributes, here), _place(attributes, there)) for here, there in swaps)
    met = [place for pair in found for place in pair]
    if len(set(met)) < len(met) or any(kinds[place] != "string" for place in met):
        raise UsageError(
            "Columns that may be exchanged are two different strings, each in one such pair only.",
            remedy="swaps=[('given_name', 'surname')]",
        )
    return found


def _place(attributes: Texts, name: str) -> int:
    if name not in attributes:
        raise UsageError(f"No attribute '{name}' is declared.", remedy=f"There are: {', '.join(attributes)}.")
    return attributes.index(name)


def _tuples(value: Any) -> Any:
    return tuple(_tuples(one) for one in value) if isinstance(value, list | tuple) else value
