"""Reserve, then settle: what may have been delivered is never forgotten."""

from __future__ import annotations

import pytest

from discreet.errors import BudgetExhausted, Outdated, UsageError
from discreet.ledger import Ledger, Receipt
from tests.ledger.conftest import Clock

WHO = {"actor": "ann", "event": "gateway.answered"}


@pytest.fixture
def rich(ledger: Ledger) -> Ledger:
    """A ledger in which Ann may spend ten."""
    ledger.set_budget("ann", limit=10, actor="custodian")
    return ledger


def state(ledger: Ledger) -> tuple[int, int, int]:
    budget = ledger.budget("ann")
    return int(budget.spent), int(budget.reserved), int(budget.left)


def reserve(ledger: Ledger, cost: int, key: str = "r") -> Receipt:
    return ledger.reserve("ann", cost, key=key, subject="statement:1", **WHO)


def test_what_is_reserved_cannot_be_spent_by_others(rich: Ledger) -> None:
    assert reserve(rich, 7).granted
    assert state(rich) == (0, 7, 3)
    assert not rich.spend("ann", 4, key="s", **WHO).granted
    assert not reserve(rich, 4, "r2").granted


def test_settling_spends_what_it_cost_and_frees_the_rest(rich: Ledger) -> None:
    held = reserve(rich, 7)
    settled = rich.settle(held, 5, risk_after=1)
    assert state(rich) == (5, 0, 5)
    entry = settled.entry
    assert (entry.outcome, entry.event, entry.subject) == ("settled", "gateway.answered", "statement:1")
    assert entry.budget is not None
    assert (entry.budget.amount, entry.budget.held, entry.budget.reservation) == (5, 7, held.sequence)


def test_releasing_frees_all_of_it(rich: Ledger) -> None:
    receipt = rich.release(reserve(rich, 7))
    assert state(rich) == (0, 0, 10)
    assert not receipt.granted


def test_a_reservation_is_closed_once_and_the_same_again_is_a_repetition(rich: Ledger) -> None:
    held = reserve(rich, 7)
    first = rich.settle(held, 5)
    again = rich.settle(held, 5)
    assert (again.entry, again.replayed) == (first.entry, True)
    for other in (lambda: rich.settle(held, 4), lambda: rich.release(held)):
        with pytest.raises(Outdated):
            other()
    assert state(rich) == (5, 0, 5)


def test_more_than_was_reserved_cannot_be_settled(rich: Ledger) -> None:
    held = reserve(rich, 7)
    with pytest.raises(BudgetExhausted):
        rich.settle(held, 8)
    assert state(rich) == (0, 7, 3)


@pytest.mark.parametrize("seconds", [0, -1, 10**9])
def test_a_reservation_lasts_a_while_and_not_for_ever(rich: Ledger, seconds: int) -> None:
    with pytest.raises(UsageError, match="lasts"):
        rich.reserve("ann", 1, key="r", seconds=seconds, **WHO)


def test_what_was_not_reserved_cannot_be_settled(rich: Ledger) -> None:
    with pytest.raises(UsageError, match="reserved nothing"):
        rich.settle(rich.spend("ann", 1, key="s", **WHO))
    refused = reserve(rich, 11)
    with pytest.raises(UsageError, match="reserved nothing"):
        rich.settle(refused)


def test_a_crash_leaves_the_reservation_counted_and_it_expires_as_spent(
    rich: Ledger, clock: Clock, store_url: str
) -> None:
    held = reserve(rich, 7)
    with Ledger.open(store_url, clock=clock) as restarted:  # the one that reserved is gone
        assert state(restarted) == (0, 7, 3)
        clock.turn(seconds=299)
        assert restarted.expire() == []
        clock.turn(seconds=1)
        (expired,) = restarted.expire()
        assert (expired.entry.outcome, expired.amount) == ("expired", 7)
        assert restarted.expire() == []
        assert state(restarted) == (7, 0, 3)
    with pytest.raises(Outdated):
        rich.settle(held)
    assert rich.verify().holds


def test_turning_the_clock_back_does_not_let_a_reservation_live_longer(rich: Ledger, clock: Clock) -> None:
    reserve(rich, 7)
    clock.turn(hours=1)
    rich.record(actor="ann", event="web.shown")
    clock.turn(hours=-2)
    assert [receipt.entry.outcome for receipt in rich.expire()] == ["expired"]


def test_a_total_can_be_reserved_and_counts_what_others_hold(rich: Ledger) -> None:
    version = rich.budget("ann").version
    assert rich.reserve("ann", to=6, version=version, key="a", **WHO).amount == 6
    with pytest.raises(Outdated):
        rich.reserve("ann", to=6, version=version, key="b", **WHO)
    assert rich.reserve("ann", to=9, key="b", **WHO).amount == 3
    assert state(rich) == (0, 9, 1)
