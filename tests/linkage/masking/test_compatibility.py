"""What the masked display itself gives away."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import Refused
from discreet.linkage import Display, compare, compare_names
from discreet.linkage.masking.text import frequency
from tests.linkage.brute import is_missing
from tests.linkage.strategies import KINDS, shown

NAMES = ["given", "family"]


def marks(records: list[dict[str, Any]], record: dict[str, Any], name: str) -> Any:
    """How common a name is, by counting."""
    return frequency(sum(one[name] == record[name] for one in records))


def look(records: list[dict[str, Any]], a: dict[str, Any], b: dict[str, Any], name: str, mode: Any) -> Any:
    """Everything that two records show in one cell."""
    swap = compare_names((a["given"], a["family"]), (b["given"], b["family"]))
    swapped = name in NAMES and swap[0].markup[0].name == "name-swap"
    cell = swap[NAMES.index(name)] if swapped else compare(KINDS[name], a[name], b[name])
    missing = is_missing(a[name]) or is_missing(b[name])
    common = None if name not in NAMES or missing else (marks(records, a, name), marks(records, b, name))
    return cell.masked, cell.markup, cell.text(mode), common


def expected(records: list[dict[str, Any]], pair: tuple[int, int], modes: dict[str, str]) -> list[int]:
    """For both rows: the records that, attribute by attribute, look the same beside some other record."""
    first, second = (records[place] for place in pair)
    found = [set(range(len(records))), set(range(len(records)))]
    for name, mode in modes.items():
        if mode == "full":
            for row, own in enumerate((first, second)):
                found[row] &= {
                    place
                    for place, one in enumerate(records)
                    if one[name] == own[name] or (is_missing(one[name]) and is_missing(own[name]))
                }
            continue
        seen = look(records, first, second, name, mode)
        alike = [
            both
            for both in itertools.permutations(range(len(records)), 2)
            if look(records, records[both[0]], records[both[1]], name, mode) == seen
        ]
        for row in (0, 1):
            found[row] &= {both[row] for both in alike}
    return [len(one) for one in found]


@given(st.data(), shown(most=6))
def test_strict_anonymity_is_that_of_the_definition(data: st.DataObject, table: Any) -> None:
    records, pairs = table
    for record in records:
        record |= {name: None for name in KINDS if is_missing(record[name])}
    display = Display(records, kinds=KINDS, pairs=pairs[:1], swaps=[("given", "family")], names=NAMES)
    for name in KINDS:
        mode = data.draw(st.sampled_from(["masked", "partial", "full"]))
        if display.cell(0, name).takes(mode):
            display = display.open(0, name, mode)
    swapped = display.cell(0, "given").markup[0].name == "name-swap"
    modes = {name: display.mode(0, name) for name in KINDS}
    counted = expected(records, pairs[0], modes)
    if not swapped and any(_swaps(records)):
        # beside cells that are not exchanged, the exchange of others is not held against them
        assert all(k >= least for k, least in zip(display.strict_anonymity, counted, strict=True))
    else:
        assert list(display.strict_anonymity) == counted
    assert all(0 < strict <= plain for strict, plain in zip(display.strict_anonymity, display.anonymity, strict=True))
    assert display.strict_score >= display.score


def _swaps(records: list[dict[str, Any]]) -> list[bool]:
    return [a["given"] == b["family"] and b["given"] == a["family"] for a, b in itertools.permutations(records, 2)]


PEOPLE = [{"name": name} for name in ("Ann", "Bea", "Eve", "Alexandra", "Ann")]


def test_a_length_can_single_somebody_out() -> None:
    display = Display(PEOPLE, kinds={"name": "string"}, pairs=[(0, 3), (0, 4)])
    assert display.anonymity == (5, 5, 5, 5)
    assert display.strict_anonymity == (4, 1, 2, 2)
    assert display.score == display.strict_score == 0


def test_how_common_a_name_is_can_single_somebody_out() -> None:
    plain: Any = {"kinds": {"name": "string"}, "pairs": [(1, 3), (0, 2)]}
    assert Display(PEOPLE, **plain).strict_anonymity == (4, 1, 4, 4)
    assert Display(PEOPLE, **plain, names=["name"]).strict_anonymity == (2, 1, 2, 2)


def test_prices_and_kappa_may_count_it() -> None:
    people = [{"name": name, "sex": "F"} for name in ("Ann", "Bea", "Eve", "Alexandra")]
    settings: Any = {"kinds": {"name": "string", "sex": "category"}, "pairs": [(0, 3)]}
    plain, strict = Display(people, **settings), Display(people, **settings, strict=True)
    assert plain.price(0, "sex") == Fraction(1, 4) * (Fraction(1, 4) + Fraction(1, 4))
    assert strict.price(0, "sex") == Fraction(1, 4) * (Fraction(1, 3) + 1)
    assert strict.open(0, "sex", "full").strict_score == strict.price(0, "sex")
    assert Display(people, **settings, kappa=2).open(0, "sex", "full").anonymity == (4, 4)
    with pytest.raises(Refused):
        Display(people, **settings, kappa=2, strict=True).open(0, "sex", "full")
