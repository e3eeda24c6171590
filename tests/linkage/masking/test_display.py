"""Displays of pairs and their score."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import pandas
import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet
from discreet.errors import ColumnError, EmptySource, Refused, UsageError
from discreet.linkage import Display, Index
from tests.linkage.brute import Brute
from tests.linkage.strategies import KINDS, shown

PAPER = [
    {"name": "Mary", "dob": "08/09/1964", "race": "Hispanic"},
    {"name": "Mark", "dob": "08/09/1964", "race": "Hispanic"},
    {"name": "Mary", "dob": "09/08/1964", "race": "Black"},
    {"name": "Mary", "dob": "09/08/1964", "race": "Black"},
]
ALL_PAIRS = list(itertools.combinations(range(4), 2))
PAPER_KINDS: Any = {"name": "string", "dob": "date", "race": "category"}


def paper(**settings: Any) -> Display:
    return Display(PAPER, kinds=PAPER_KINDS, pairs=ALL_PAIRS, **settings)


# Row by row: what is seen of name, date and race, how much of each is disclosed, and how many records are compatible.
QUARTER, NONE, ALL = Fraction(1, 4), Fraction(0), Fraction(1)
ROWS: dict[str, list[tuple[tuple[str, str, str], tuple[Fraction, Fraction, Fraction], int]]] = {
    "masked": [
        (("***@", "**/**/****", "*"), (NONE, NONE, NONE), 4),
        (("***&", "**/**/****", "*"), (NONE, NONE, NONE), 4),
        (("****", "*@/*&/****", "@"), (NONE, NONE, NONE), 4),
        (("****", "*&/*@/****", "&"), (NONE, NONE, NONE), 4),
        (("****", "*@/*&/****", "@"), (NONE, NONE, NONE), 4),
        (("****", "*&/*@/****", "&"), (NONE, NONE, NONE), 4),
        (("***@", "*@/*&/****", "@"), (NONE, NONE, NONE), 4),
        (("***&", "*&/*@/****", "&"), (NONE, NONE, NONE), 4),
        (("***@", "*@/*&/****", "@"), (NONE, NONE, NONE), 4),
        (("***&", "*&/*@/****", "&"), (NONE, NONE, NONE), 4),
        (("****", "**/**/****", "*"), (NONE, NONE, NONE), 4),
        (("****", "**/**/****", "*"), (NONE, NONE, NONE), 4),
    ],
    "partial": [
        (("***y", "**/**/****", "*"), (QUARTER, NONE, NONE), 3),
        (("***k", "**/**/****", "*"), (QUARTER, NONE, NONE), 1),
        (("****", "*8/*9/****", "@"), (NONE, QUARTER, NONE), 1),
        (("****", "*9/*8/****", "&"), (NONE, QUARTER, NONE), 2),
        (("****", "*8/*9/****", "@"), (NONE, QUARTER, NONE), 1),
        (("****", "*9/*8/****", "&"), (NONE, QUARTER, NONE), 2),
        (("***k", "*8/*9/****", "@"), (QUARTER, QUARTER, NONE), 1),
        (("***y", "*9/*8/****", "&"), (QUARTER, QUARTER, NONE), 2),
        (("***k", "*8/*9/****", "@"), (QUARTER, QUARTER, NONE), 1),
        (("***y", "*9/*8/****", "&"), (QUARTER, QUARTER, NONE), 2),
        (("****", "**/**/****", "*"), (NONE, NONE, NONE), 3),
        (("****", "**/**/****", "*"), (NONE, NONE, NONE), 3),
    ],
    "full": [
        (("Mary", "08/09/1964", "Hispanic"), (ALL, ALL, ALL), 1),
        (("Mark", "08/09/1964", "Hispanic"), (ALL, ALL, ALL), 1),
        (("Mary", "08/09/1964", "Hispanic"), (ALL, ALL, ALL), 1),
        (("Mary", "09/08/1964", "Black"), (ALL, ALL, ALL), 2),
        (("Mary", "08/09/1964", "Hispanic"), (ALL, ALL, ALL), 1),
        (("Mary", "09/08/1964", "Black"), (ALL, ALL, ALL), 2),
        (("Mark", "08/09/1964", "Hispanic"), (ALL, ALL, ALL), 1),
        (("Mary", "09/08/1964", "Black"), (ALL, ALL, ALL), 2),
        (("Mark", "08/09/1964", "Hispanic"), (ALL, ALL, ALL), 1),
        (("Mary", "09/08/1964", "Black"), (ALL, ALL, ALL), 2),
        (("Mary", "09/08/1964", "Black"), (ALL, ALL, ALL), 2),
        (("Mary", "09/08/1964", "Black"), (ALL, ALL, ALL), 2),
    ],
}


@pytest.mark.parametrize(("mode", "row"), list(itertools.product(ROWS, range(12))))
def test_the_36_rows_of_the_worked_example(mode: Any, row: int) -> None:
    display = paper().open_all(mode)
    seen, shares, k = ROWS[mode][row]
    pair, side = divmod(row, 2)
    assert tuple(display.text(pair, name)[side] for name in PAPER_KINDS) == seen
    found = [display.cell(pair, name).sides[side].share(display.mode(pair, name)) for name in PAPER_KINDS]
    assert tuple(found) == shares
    assert display.anonymity[row] == k


PRINTED = {
    "masked": """
        ***@ **/**/**** N/A 4 0,0,0 0
        ***& **/**/**** N/A 4 0,0,0 0
        **** *@/*&/**** N/A 4 0,0,0 0
        **** *&/*@/**** N/A 4 0,0,0 0
        **** *@/*&/**** N/A 4 0,0,0 0
        **** *&/*@/**** N/A 4 0,0,0 0
        ***@ *@/*&/**** N/A 4 0,0,0 0
        ***& *&/*@/**** N/A 4 0,0,0 0
        ***@ *@/*&/**** N/A 4 0,0,0 0
        ***& *&/*@/**** N/A 4 0,0,0 0
        **** **/**/**** N/A 4 0,0,0 0
        **** **/**/**** N/A 4 0,0,0 0""",
    "partial": """
        ***y **/**/**** N/A 3 1/4,0,0 1/432
        ***k **/**/**** N/A 1 1/4,0,0 1/144
        **** *8/*9/**** N/A 1 0,2/8,0 1/144
        **** *9/*8/**** N/A 2 0,2/8,0 1/288
        **** *8/*9/**** N/A 1 0,2/8,0 1/144
        **** *9/*8/**** N/A 2 0,2/8,0 1/288
        ***k *8/*9/**** N/A 1 1/4,2/8,0 1/72
        ***y *9/*8/**** N/A 2 1/4,2/8,0 1/144
        ***k *8/*9/**** N/A 1 1/4,2/8,0 1/72
        ***y *9/*8/**** N/A 2 1/4,2/8,0 1/144
        **** **/**/**** N/A 3 0,0,0 0
        **** **/**/**** N/A 3 0,0,0 0""",
    "full": """
        Mary 08/09/1964 Hispanic 1 1,1,1 1/12
        Mark 08/09/1964 Hispanic 1 1,1,1 1/12
        Mary 08/09/1964 Hispanic 1 1,1,1 1/12
        Mary 09/08/1964 Black 2 1,1,1 1/24
        Mary 08/09/1964 Hispanic 1 1,1,1 1/12
        Mary 09/08/1964 Black 2 1,1,1 1/24
        Mark 08/09/1964 Hispanic 1 1,1,1 1/12
        Mary 09/08/1964 Black 2 1,1,1 1/24
        Mark 08/09/1964 Hispanic 1 1,1,1 1/12
        Mary 09/08/1964 Black 2 1,1,1 1/24
        Mary 09/08/1964 Black 2 1,1,1 1/24
        Mary 09/08/1964 Black 2 1,1,1 1/24""",
}
"""Tables 3, 4 and 5 of the paper as they are printed: name, date, race, k, p and K of each row. Twice a date of row 12 is
printed without its last star."""


@pytest.mark.parametrize("mode", PRINTED)
def test_the_tables_of_the_paper_come_out_as_printed(mode: Any) -> None:
    """Character by character. A category that is not shown in full is N/A there and a sign here."""
    display = paper().open_all(mode)
    for row, printed in enumerate(PRINTED[mode].split("\n")[1:]):
        pair, side = divmod(row, 2)
        name, born, race = (display.text(pair, column)[side] for column in PAPER_KINDS)
        shares = [display.cell(pair, column).sides[side].share(display.mode(pair, column)) for column in PAPER_KINDS]
        k = display.anonymity[row]
        *texts, k_, p_, risk = printed.split()
        assert [name, born, race if mode == "full" else "N/A"] == texts
        assert (k, shares) == (int(k_), [Fraction(share) for share in p_.split(",")])
        assert sum(shares) / (len(PAPER_KINDS) * 12 * k) == Fraction(risk)


def test_the_scores_of_the_worked_example() -> None:
    assert paper().score == 0
    assert paper().open_all("masked").score == 0
    assert paper().open_all("partial").score == Fraction(31, 432)
    assert paper().open_all("full").score == Fraction(3, 4)
    assert paper(date_swap="whole").open_all("partial").score == Fraction(49, 432)
    assert paper().open_all("partial").open_all("full").score == Fraction(3, 4)
    assert paper(kappa=1).open_all("partial").characters == Fraction(22, 222)
    assert paper().open_all("full").characters == 1


def test_prices_of_the_worked_example_do_not_add_up() -> None:
    display = paper()
    assert display.next_mode(0, "name") == "partial"
    assert display.price(0, "name") == Fraction(1, 36) * (Fraction(1, 4) / 3 + Fraction(1, 4))
    first, second = display.price(2, "name"), display.price(2, "race")
    both = display.open(2, "name", "full").open(2, "race", "full").score
    assert both != first + second


MODES = st.sampled_from(["partial", "full"])


@given(st.data(), shown())
def test_any_state_is_scored_as_defined(data: st.DataObject, table: Any) -> None:
    records, pairs = table
    whole, swap = data.draw(st.booleans()), data.draw(st.sampled_from([None, ("given", "family")]))
    settings: Any = {"date_swap": "whole" if whole else "digits", "swaps": [swap] if swap else []}
    formats = {"born": "MM/DD/YYYY"}
    display = Display(records, kinds=KINDS, pairs=pairs, formats=formats, **settings)
    expected = Brute(records, KINDS, pairs, whole_swap=whole, swap=swap)
    for _ in range(data.draw(st.integers(0, 6))):
        pair, name = data.draw(st.integers(0, len(pairs) - 1)), data.draw(st.sampled_from(sorted(KINDS)))
        mode = data.draw(MODES)
        if mode == "partial" and not expected.has_partial(pair, name) and not expected.agrees(pair, name):
            with pytest.raises(UsageError, match="no partial mode"):
                display.open(pair, name, mode)
            continue
        price, is_next = display.price(pair, name), display.next_mode(pair, name) == mode
        before = display.score
        display = display.open(pair, name, mode)
        expected.open(pair, name, mode)
        assert not is_next or display.score - before == price
    assert list(display.anonymity) == expected.anonymity
    assert display.score == expected.score


@given(shown(), st.sampled_from(["masked", "partial", "full"]))
def test_opening_everything_is_scored_as_defined(table: Any, mode: Any) -> None:
    records, pairs = table
    display = Display(records, kinds=KINDS, pairs=pairs, swaps=[("given", "family")]).open_all(mode)
    expected = Brute(records, KINDS, pairs, swap=("given", "family"))
    if mode != "masked":
        expected.open_all(mode)
    assert list(display.anonymity) == expected.anonymity
    assert display.score == expected.score


def steps(display: Display) -> list[tuple[int, str]]:
    return [(pair, name) for pair in range(len(display)) for name in KINDS if display.next_mode(pair, name)]


@given(st.data(), shown())
def test_opening_step_by_step_in_any_order(data: st.DataObject, table: Any) -> None:
    """Only the state matters; every step costs its price, which is never negative; in the end everything is open."""
    records, pairs = table
    display = Display(records, kinds=KINDS, pairs=pairs, swaps=[("given", "family")])
    whole = display.open_all("full")
    while left := steps(display):
        pair, name = data.draw(st.sampled_from(left))
        price, mode = display.price(pair, name), display.next_mode(pair, name)
        assert mode is not None
        after = display.open(pair, name, mode)
        assert price >= 0
        assert after.score == display.score + price
        assert 0 <= after.score <= 1
        assert all(x >= y >= 1 for x, y in zip(display.anonymity, after.anonymity, strict=True))
        assert display.characters <= after.characters
        assert display.quote(pair).steps[name].anonymity == after.anonymity[2 * pair : 2 * pair + 2]
        display = after
    assert (display.score, display.anonymity, display.characters) == (whole.score, whole.anonymity, whole.characters)
    assert all(display.price(pair, name) == 0 for pair in range(len(pairs)) for name in KINDS)


def test_names_that_changed_places_open_together() -> None:
    people = [{"given": "Ann", "family": "Hart"}, {"given": "Hart", "family": "Ann"}, {"given": "Ann", "family": "Lee"}]
    kinds: Any = {"given": "string", "family": "string"}
    display = Display(people, kinds=kinds, pairs=[(0, 1)], swaps=[("given", "family")])
    assert display.text(0, "given") == ("@@@", "&&&&")
    assert display.text(0, "family") == ("&&&&", "@@@")
    assert display.price(0, "given") == display.price(0, "family") == 1
    after = display.open(0, "family", "full")
    assert after.text(0, "given") == ("Ann", "Hart")
    assert after.mode(0, "given") == "full"
    assert after.score == 1
    assert display.open_all("partial").score == 0
    with pytest.raises(UsageError, match="no partial mode"):
        display.open(0, "given", "partial")
    assert Display(people, kinds=kinds, pairs=[(0, 1)]).text(0, "given") == ("@@@", "&&&&")


def test_what_was_seen_stays_seen() -> None:
    display = paper().open(0, "name", "full")
    assert display.open(0, "name", "partial").mode(0, "name") == "full"
    assert display.open_all("partial").mode(0, "name") == "full"
    assert paper().mode(0, "name") == "masked"


def test_an_agreeing_cell_can_be_opened_in_part() -> None:
    display = paper()
    assert display.next_mode(1, "name") == "full"
    after = display.open(1, "name", "partial")
    assert after.text(1, "name") == ("****", "****")
    assert after.anonymity[2:4] == (3, 3)
    assert after.next_mode(1, "name") == "full"
    assert display.open(0, "race", "partial").anonymity[0] == 4
    with pytest.raises(UsageError, match="no partial mode"):
        display.open(1, "race", "partial")


def test_kappa_refuses_what_leaves_too_few() -> None:
    display = paper(kappa=2)
    after = display.open(1, "dob", "partial")
    assert after.anonymity[2:4] == (2, 2)
    assert after.score == Fraction(2, 36) * (QUARTER / 2 + QUARTER / 2)
    with pytest.raises(Refused, match="leave 1 compatible base records, fewer than the 2") as refused:
        after.open(1, "name", "full")
    assert not any(value in str(refused.value) for value in ("Mary", "08", "Black"))
    with pytest.raises(Refused):
        display.open_all("full")
    assert display.price(0, "name") > 0


@given(shown(), st.integers(1, 4))
def test_with_kappa_the_score_stays_below_one(table: Any, kappa: int) -> None:
    records, pairs = table
    display = Display(records, kinds=KINDS, pairs=pairs, kappa=kappa)
    for pair, name in steps(display):
        try:
            display = display.open(pair, name, "full")
        except Refused:
            continue
        assert min(display.anonymity[2 * pair : 2 * pair + 2]) >= kappa
    assert 0 <= display.score <= 1


def test_records_come_in_any_shape(tmp_path: Any) -> None:
    path = tmp_path / "people.csv"
    polars.DataFrame(PAPER).write_csv(path)
    columns = {name: [row[name] for row in PAPER] for name in PAPER_KINDS}
    frames: list[Any] = [tuple(PAPER), columns, pandas.DataFrame(PAPER), pandas.DataFrame(PAPER).astype("category")]
    frames += [polars.DataFrame(PAPER), polars.LazyFrame(PAPER), polars.DataFrame(PAPER).to_arrow()]
    frames += [discreet.read(path), path]
    for frame in frames:
        display = Display(frame, kinds=PAPER_KINDS, pairs=ALL_PAIRS).open_all("partial")
        assert display.score == Fraction(31, 432), type(frame)


def test_a_display_of_an_index() -> None:
    index = Index.build(PAPER, PAPER_KINDS)
    assert Display(index, pairs=ALL_PAIRS).open_all("partial").score == Fraction(31, 432)
    assert Display(index, pairs=[]).score == 0
    assert Display(index, pairs=[]).characters == 0


def test_bad_input_is_refused_with_words() -> None:
    with pytest.raises(UsageError, match="No attribute is declared"):
        Display(PAPER, kinds={}, pairs=ALL_PAIRS)
    with pytest.raises(EmptySource):
        Display([], kinds=PAPER_KINDS, pairs=[])
    with pytest.raises(ColumnError, match="'zip'"):
        Display(PAPER, kinds={"zip": "string"}, pairs=[])
    for wrong in ([(0, 4)], [(-1, 0)], [(2, 2)]):
        with pytest.raises(UsageError):
            Display(PAPER, kinds=PAPER_KINDS, pairs=wrong)
    with pytest.raises(UsageError, match="There is no pair 6"):
        paper().open(6, "name", "full")
    with pytest.raises(UsageError, match="No attribute 'zip'"):
        paper().price(0, "zip")
    with pytest.raises(UsageError, match="No mode"):
        paper().open(0, "name", "half")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="kappa"):
        paper(kappa=0)


def test_a_display_does_not_change() -> None:
    display = paper()
    with pytest.raises(AttributeError, match="does not change"):
        display.strict = True
    assert repr(display.open_all("full")) == "Display(6 pairs, 4 base records, 3 attributes, score 3/4)"
