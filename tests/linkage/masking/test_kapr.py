"""Contributions, scores and amounts of a ledger."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import Refused, UsageError
from discreet.ledger import Ledger
from discreet.linkage import Display, Index, Meter
from tests.linkage.masking.test_index import PAIRS, RECORDS
from tests.linkage.people import KINDS

CONTRIBUTIONS = st.lists(st.fractions(0, 12), min_size=1, max_size=20)


@given(CONTRIBUTIONS, st.integers(1, 12), st.integers(1, 5), st.integers(1, 1000))
def test_what_is_spent_is_the_score_rounded_up(found: list[Fraction], attributes: int, kappa: int, parts: int) -> None:
    meter = Meter(len(found), attributes, kappa, parts)
    spent = meter.spent(sum((meter.amount(one) for one in found), start=Fraction(0)))
    assert meter.score(found) <= spent <= meter.score(found) + meter.slack
    assert meter.slack == Fraction(kappa, 2 * attributes * parts)


@given(st.lists(st.fractions(0, 12), min_size=1, max_size=20), st.integers(1, 1000))
def test_costs_along_a_way_add_up_to_the_amount_at_its_end(way: list[Fraction], parts: int) -> None:
    way = [Fraction(0), *sorted(way)]
    meter = Meter(1, 6, parts=parts)
    costs = [meter.cost(before, after) for before, after in itertools.pairwise(way)]
    assert all(cost >= 0 for cost in costs)
    assert sum(costs) == meter.amount(way[-1])


@given(st.fractions(0, 1), st.integers(1, 500))
def test_an_allowance_is_never_more_than_the_limit(limit: Fraction, pairs: int) -> None:
    meter = Meter(pairs, 6, parts=1000)
    assert limit - meter.spent(Fraction(1, 1000)) < meter.spent(meter.allowance(limit)) <= limit


def test_the_contributions_of_a_display_are_its_score() -> None:
    display = Display(RECORDS, kinds=KINDS, pairs=PAIRS[:5]).open_all("partial")
    assert display.meter.score(display.quote(pair).contribution for pair in range(5)) == display.score
    price = display.price(3, "surname")
    quote = display.quote(3)
    assert price == display.meter.price(quote.contribution, quote.steps["surname"].contribution)


def test_a_ledger_holds_the_score_of_the_present_state(tmp_path: Path) -> None:
    """Pairs opened in any order, until the limit: what is spent depends on how the pairs stand, and on nothing else."""
    index = Index.build(RECORDS, KINDS)
    pairs = [index.pair(*pair) for pair in PAIRS[:8]]
    meter, rng = Meter(len(pairs), len(KINDS)), random.Random(1)
    limit = Fraction(1, 5)
    states = [pair.masked for pair in pairs]
    with Ledger.open(tmp_path / "store.db") as ledger:
        ledger.set_budget("ann", limit=meter.allowance(limit), parts=meter.parts, actor="custodian")
        refused = False
        for step in range(200):
            place = rng.randrange(len(pairs))
            quote = index.quote(pairs[place], states[place])
            if not quote.steps:
                continue
            name = rng.choice(sorted(quote.steps))
            cost = meter.cost(quote.contribution, quote.steps[name].contribution)
            receipt = ledger.spend("ann", cost, actor="ann", event="linkage.revealed", key=f"{step}")
            refused |= not receipt.granted
            if receipt.granted:
                states[place] = quote.steps[name].state
            now = [index.quote(pair, state).contribution for pair, state in zip(pairs, states, strict=True)]
            spent = ledger.budget("ann").spent
            assert spent == sum(map(meter.amount, now))
            assert meter.score(now) <= meter.spent(spent) <= min(limit, meter.score(now) + meter.slack)
        assert refused


def test_kappa_refuses_steps() -> None:
    Meter(1, 1, kappa=3).check((3, 4))
    with pytest.raises(Refused, match="leave 2 compatible"):
        Meter(1, 1, kappa=3).check((3, 2))


def test_nonsense_is_refused() -> None:
    for wrong in ({"pairs": -1}, {"attributes": 0}, {"kappa": 0}, {"parts": 0}):
        with pytest.raises(UsageError):
            Meter(**{"pairs": 1, "attributes": 1, **wrong})
    assert Meter(0, 6).score([]) == Meter(0, 6).allowance(1) == 0
