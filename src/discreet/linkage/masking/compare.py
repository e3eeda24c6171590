"""Comparison of two values under masks, by the rules of their kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from discreet.errors import UsageError
from discreet.kernel.serialise import json_of
from discreet.linkage.masking import icons as masking_icons
from discreet.linkage.masking.comparison import KINDS, ROW_1, ROW_2, Comparison, Kind, ValueView
from discreet.linkage.masking.text import (
    ALONE,
    CROSSED,
    DAY,
    DIFFERENT,
    DIGITS,
    FIRST,
    FORMATS,
    LONGEST,
    MONTH,
    REPLACED,
    SAME,
    SECOND,
    SWAPPED,
    YEAR,
    Layout,
    align,
    characters,
    check_formats,
    check_normalisations,
    distance,
    read_date,
    value_of,
)

DateSwap = Literal["digits", "whole"]
MOST_EDITS = 4
"""Identifiers further apart are different."""


def compare(
    kind: Kind,
    a: Any,
    b: Any,
    *,
    formats: str | Iterable[str] = FORMATS,
    date_swap: DateSwap = "digits",
    normalise: Iterable[str] = (),
) -> Comparison:
    """Compare two values of an attribute. Nothing is normalised unless it is declared.

    >>> pair = compare("fixed", "1742682819", "1742668281")
    >>> pair.masked, pair.partial
    (('*********@', '****&*****'), ('*********9', '****6*****'))
    >>> compare("date", "08/09/1964", "09/08/1964").partial
    ('*8/*9/****', '*9/*8/****')
    >>> compare("string", "Smith", "Jones")
    Comparison(string, different)
    """
    check_kind(kind)
    check_date_swap(date_swap)
    steps, declared = check_normalisations(normalise), check_formats(formats)
    return compare_values(kind, value_of(a, steps), value_of(b, steps), declared, date_swap)


def compare_values(
    kind: Kind, a: str | None, b: str | None, formats: tuple[str, ...] = FORMATS, date_swap: DateSwap = "digits"
) -> Comparison:
    """The same for texts that are ready, with settings that were checked."""
    if a is None or b is None:
        return _with_missing(kind, a, b, formats)
    match kind:
        case "category":
            return _category(a, b)
        case "date":
            return _date(a, b, formats, date_swap)
        case "fixed":
            return _fixed(a, b)
        case "string":
            return _string(a, b)


def compare_names(
    first: tuple[Any, Any], second: tuple[Any, Any], *, kind: Kind = "string", normalise: Iterable[str] = ()
) -> tuple[Comparison, Comparison]:
    """Two columns that may have been exchanged, as given name and surname are: (both of row 1), (both of row 2).

    If they were, both cells are one: shown crosswise, without partial mode, and to be opened together.

    >>> [cell.masked for cell in compare_names(("Ann", "Miller"), ("Miller", "Ann"))]
    [('@@@', '&&&&&&'), ('&&&&&&', '@@@')]
    """
    check_kind(kind)
    steps = check_normalisations(normalise)
    a, b = value_of(first[0], steps), value_of(first[1], steps)
    c, d = value_of(second[0], steps), value_of(second[1], steps)
    if are_swapped(a, b, c, d):
        return swapped(kind, a, c, ROW_1), swapped(kind, b, d, ROW_2)
    return compare_values(kind, a, c), compare_values(kind, b, d)


def are_swapped(a: str | None, b: str | None, c: str | None, d: str | None) -> bool:
    """Whether row 2 (c, d) has the two values of row 1 (a, b) exchanged."""
    return a is not None and b is not None and a == d and b == c and a != b


def swapped(kind: Kind, a: str | None, b: str | None, symbol: str) -> Comparison:
    """One of the two cells of exchanged names; `symbol` is that of the first row."""
    left, right = characters(a or ""), characters(b or "")
    other = ROW_2 if symbol == ROW_1 else ROW_1
    sides = (ValueView(a, left, SWAPPED * len(left), symbol), ValueView(b, right, SWAPPED * len(right), other))
    return Comparison(kind, *sides, equal=False, markup=(masking_icons.NAMES_SWAPPED,), has_partial=False)


def check_kind(kind: str) -> None:
    """Stop with advice if there is no such kind."""
    if kind not in KINDS:
        raise UsageError(f"No kind of attribute is called '{kind}'.", remedy=f"There are: {', '.join(KINDS)}.")


def check_date_swap(rule: str) -> None:
    """Stop with advice if there is no such rule."""
    if rule not in ("digits", "whole"):
        raise UsageError(
            f"No rule for exchanged days and months is called '{rule}'.",
            remedy="digits: only differing digits are shown; whole: both parts are.",
        )


def units_of(kind: Kind, value: str, formats: tuple[str, ...]) -> tuple[Sequence[str], Layout | None]:
    """The characters of a value that count, and how a date is written."""
    found = read_date(value, formats) if kind == "date" else None
    return (characters(value), None) if found is None else found


def _with_missing(kind: Kind, a: str | None, b: str | None, formats: tuple[str, ...]) -> Comparison:
    left, right = _starred(kind, a, ROW_1, formats), _starred(kind, b, ROW_2, formats)
    return Comparison(kind, left, right, equal=False, markup=(masking_icons.MISSING,), has_partial=False)


def _starred(kind: Kind, value: str | None, symbol: str, formats: tuple[str, ...]) -> ValueView:
    units, layout = units_of(kind, value or "", formats)
    return ValueView(value, units, SAME * len(units), symbol, layout, at_once=kind == "category")


def _category(a: str, b: str) -> Comparison:
    sign, mark = (SAME, masking_icons.EQUAL) if a == b else (DIFFERENT, masking_icons.DIFFERENT)
    first, second = characters(a), characters(b)
    left = ValueView(a, first, sign * len(first), ROW_1, at_once=True)
    right = ValueView(b, second, sign * len(second), ROW_2, at_once=True)
    return Comparison("category", left, right, equal=a == b, markup=(mark,), has_partial=False)


def _string(a: str, b: str) -> Comparison:
    left, right = characters(a), characters(b)
    if left == right:
        return _aligned("string", a, b, left, right, SAME * len(left), SAME * len(right))
    if max(len(left), len(right)) > LONGEST:
        return _different("string", a, b, left, right)
    if (ends := _ends(left, right)) is not None:
        return _aligned("string", a, b, left, right, *ends)
    if 2 * distance(left, right) > max(len(left), len(right)):
        return _different("string", a, b, left, right)
    return _aligned("string", a, b, left, right, *align(left, right))


def _fixed(a: str, b: str) -> Comparison:
    left, right = characters(a), characters(b)
    if left == right:
        return _aligned("fixed", a, b, left, right, SAME * len(left), SAME * len(right))
    if len(left) != len(right) or len(left) > LONGEST or distance(left, right) > MOST_EDITS:
        return _different("fixed", a, b, left, right)
    return _aligned("fixed", a, b, left, right, *align(left, right, per_edit=1))


def _date(a: str, b: str, formats: tuple[str, ...], date_swap: DateSwap) -> Comparison:
    first, second = read_date(a, formats), read_date(b, formats)
    if first is None or second is None:
        return _unread(a, b, first, second)
    (left, written), (right, otherwise) = first, second
    if left == right:
        return _aligned("date", a, b, left, right, SAME * DIGITS, SAME * DIGITS, (written, otherwise))
    exchanged = left[MONTH] == right[DAY] and left[DAY] == right[MONTH] and left[MONTH] != left[DAY]
    if exchanged:
        # Month and day changed places: the digits that differ, or all four, crosswise as the first row writes them.
        both = zip(left[MONTH] + left[DAY], right[MONTH] + right[DAY], strict=True)
        month_first = written.places.index(MONTH.start) < written.places.index(DAY.start)
        crossed = (SWAPPED, SWAPPED, CROSSED, CROSSED) if month_first else (CROSSED, CROSSED, SWAPPED, SWAPPED)
        swap_signs = "".join(
            SAME if x == y and date_swap == "digits" else sign for (x, y), sign in zip(both, crossed, strict=True)
        )
        signs = _digit_signs(left[YEAR], right[YEAR]) + swap_signs
    elif all(left[part] != right[part] for part in (YEAR, MONTH, DAY)):
        return _different("date", a, b, left, right, (written, otherwise))
    else:
        signs = "".join(_digit_signs(left[part], right[part]) for part in (YEAR, MONTH, DAY))
    return _aligned("date", a, b, left, right, signs, signs, (written, otherwise))


def _unread(a: str, b: str, first: tuple[str, Layout] | None, second: tuple[str, Layout] | None) -> Comparison:
    """Dates of which at least one is in no declared format: the same or different, nothing between."""
    (left, written), (right, otherwise) = first or (characters(a), None), second or (characters(b), None)
    if a == b:
        same = SAME * len(left)
        return _aligned("date", a, b, left, right, same, same)
    return _different("date", a, b, left, right, (written, otherwise))


def _digit_signs(left: str, right: str) -> str:
    """Digit by digit; two neighbours that changed places are a transposition."""
    signs, place = "", 0
    while place < len(left):
        if left[place] == right[place]:
            signs += SAME
        elif left[place : place + 2] == right[place : place + 2][::-1] and place + 1 < len(left):
            signs += FIRST + SECOND
        else:
            signs += REPLACED
        place = len(signs)
    return signs


def _ends(left: Sequence[str], right: Sequence[str]) -> tuple[str, str] | None:
    """What becomes of the characters if one value is the beginning or the end of the other."""
    if len(left) == len(right):
        return None
    longer, shorter = (left, right) if len(left) > len(right) else (right, left)
    gap = len(longer) - len(shorter)
    if longer[: len(shorter)] == shorter:
        signs = SAME * len(shorter) + ALONE * gap
    elif longer[gap:] == shorter:
        signs = ALONE * gap + SAME * len(shorter)
    else:
        return None
    found = SAME * len(shorter)
    if 2 * gap > len(longer):  # too little in common to speak of an alignment: the partial view shows both whole
        signs, found = DIFFERENT * len(longer), DIFFERENT * len(shorter)
    return (signs, found) if len(left) > len(right) else (found, signs)


Layouts = tuple[Layout | None, Layout | None]


def _aligned(
    kind: Kind,
    a: str,
    b: str,
    left: Sequence[str],
    right: Sequence[str],
    signs_a: str,
    signs_b: str,
    written: Layouts = (None, None),
) -> Comparison:
    met = {*signs_a, *signs_b}
    equal = met <= {SAME} and left == right
    icons = tuple(mark for sign, mark in _ICONS if sign in met)
    sides = (ValueView(a, left, signs_a, ROW_1, written[0]), ValueView(b, right, signs_b, ROW_2, written[1]))
    return Comparison(kind, *sides, equal, (masking_icons.EQUAL,) if equal else icons, has_partial=True)


def _different(
    kind: Kind, a: str, b: str, left: Sequence[str], right: Sequence[str], written: Layouts = (None, None)
) -> Comparison:
    sides = (
        ValueView(a, left, DIFFERENT * len(left), ROW_1, written[0]),
        ValueView(b, right, DIFFERENT * len(right), ROW_2, written[1]),
    )
    return Comparison(kind, *sides, equal=False, markup=(masking_icons.DIFFERENT,), has_partial=False)


_ICONS = (
    (SWAPPED, masking_icons.DATE_SWAPPED),
    (FIRST, masking_icons.TRANSPOSED),
    (ALONE, masking_icons.INSERTED),
    (REPLACED, masking_icons.REPLACED),
    (DIFFERENT, masking_icons.DIFFERENT),
)


# Rules of attributes: kinds, formats, normalisation, columns that may be swapped.
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
