"""Whose actions led to an account: what is replayed from the ledger is what going back step by step finds."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import assume, event, example, given, settings
from hypothesis import strategies as st

from discreet.ledger import Entry
from discreet.web.accounts.accounts import Act
from discreet.web.accounts.second_approver import Asked, replay
from discreet.web.accounts.second_approver import History as Known
from tests.examples import examples
from tests.web.histories import OPERATOR, History, Step, behind, may_approve, older, usable

NAMES = tuple("abcdef")
KINDS = ("made", "invited", "linked", "role", "used", "closed", "reopened", "signed out", "asked")
ACTS = {
    "made": Act.MADE,
    "invited": Act.INVITED,
    "linked": Act.LINKED,
    "role": Act.ROLE_CHANGED,
    "used": Act.PASSWORD_SET,
    "closed": Act.CLOSED,
    "reopened": Act.REOPENED,
    "signed out": Act.SIGNED_OUT,
    "asked": "made a token",
}
"""The last one is an act on one's own account that changes nothing."""
many = settings(max_examples=examples(200))
OPERATORS = {"invited": Act.OPERATOR_INVITED, "linked": Act.OPERATOR_LINKED}


def is_possible(history: History, step: Step) -> bool:
    """Could the application have let it happen?"""
    known = [one for one in history if one.account == step.account]
    if step.by != OPERATOR and not usable(history, step.by, len(history)):
        return False
    if step.kind == "role" and (step.proposer in (step.by, "") or not usable(history, step.proposer, len(history))):
        return False
    if step.kind in ("made", "invited"):
        return not known and (step.kind == "made") <= (step.by == OPERATOR)
    if not known:
        return False
    if step.kind == "used":
        last = next((one.kind for one in reversed(known) if one.kind in ("invited", "linked", "used", "closed")), "")
        return step.by == OPERATOR and last in ("invited", "linked")
    if step.kind == "asked":
        return step.by == step.account
    open_now = [one.kind for one in known if one.kind in ("closed", "reopened")][-1:] != ["closed"]
    return open_now if step.kind != "reopened" else not open_now


@st.composite
def histories(draw: st.DrawFn) -> History:
    """What may have happened."""
    steps = st.builds(
        Step,
        st.sampled_from(KINDS),
        st.sampled_from(NAMES),
        st.sampled_from((OPERATOR, *NAMES)),
        st.sampled_from(NAMES),
    )
    found: History = [Step("made", name) for name in NAMES[: draw(st.integers(1, 3))]]
    for step in draw(st.lists(steps, max_size=60)):
        if step.by == OPERATOR and step.kind in ("role", "closed", "reopened", "signed out"):
            continue
        if is_possible(found, step):
            found.append(step if step.kind == "role" else replace(step, proposer=""))
    return found


def entries(history: History) -> tuple[Entry, ...]:
    """The same as the ledger has it."""
    return tuple(entry_of(number, step) for number, step in enumerate(history))


def entry_of(number: int, step: Step) -> Entry:
    by_operator = step.by == OPERATOR
    act = OPERATORS.get(step.kind, ACTS[step.kind]) if by_operator else ACTS[step.kind]
    actor = step.account if step.kind in ("made", "used") else step.by or "root"
    about = {
        "actor": actor,
        "room": "web",
        "event": "web.account",
        "outcome": "done",
        "subject": f"account:{step.account}",
    }
    risks = {"risk_before": None, "risk_after": None, "policy": None, "budget": None, "clock": None}
    details = {"act": str(act)} | ({"proposed_by": step.proposer} if step.proposer else {})
    return Entry(number, f"{number:09}", **about, **risks, key=str(number), details=details, previous="")  # type: ignore[arg-type]


@many
@given(histories(), st.integers(0, 60))
def test_what_is_replayed_is_what_going_back_finds(history: History, moment: int) -> None:
    found = replay(entries(history), before=moment)
    now = min(moment, len(history))
    assert found.keys() == {step.account for step in history[:now]}
    for name, origin in found.items():
        assert set(origin.hands) == behind(history, name, now)
        assert (origin.since is not None) == usable(history, name, now)
        if origin.since is not None:
            assert older(history, name, origin.since + 1, now)
            assert not older(history, name, origin.since, now)


PUPPETS = [
    Step("made", "a"),
    Step("invited", "b", "a"),
    Step("used", "b"),
    Step("invited", "c", "b"),
    Step("used", "c"),
]
TWO = [Step("made", "a"), Step("made", "b")]
TAKEN_OVER = [*TWO, Step("linked", "a", "b"), Step("used", "a")]
ONCE_HELPED = [
    *TWO,
    Step("made", "c"),
    Step("linked", "b", "a"),
    Step("used", "b"),
    Step("linked", "b", "c"),
    Step("used", "b"),
]


@many
@given(histories(), st.integers(0, 60))
@example(PUPPETS, 5)
@example(TAKEN_OVER, 2).via("b took the account of a over after a had asked, and so is a second person for that")
@example(ONCE_HELPED, 7).via("a link of c does not undo that a once made one")
def test_the_rule_is_the_plain_one(history: History, moment: int) -> None:
    """For every two accounts, and for something that was asked for at any moment."""
    names, then = sorted({step.account for step in history}), min(moment, len(history))
    known, allowed = Known(entries(history)), 0
    for asker in names:
        if not usable(history, asker, then):
            continue
        for decider in names:
            granted = known.objection(Asked(asker, then, "planned"), decider) is None
            assert granted == may_approve(history, asker, then, decider, len(history)), (asker, decider)
            allowed += granted
    event(f"an account may approve: {allowed > 0}")


@many
@given(histories())
def test_nobody_loses_a_hand_but_by_the_operator(history: History) -> None:
    """What is known of an account's origin grows, until the operator gives out a link to it that is used."""
    assume(len(history) > 1)
    before, after = replay(entries(history[:-1])), replay(entries(history))
    for name, origin in before.items():
        if not origin.hands.keys() <= after[name].hands.keys():
            assert history[-1] == Step("used", name)
            assert set(after[name].hands) == {name}


def test_an_account_without_a_history_approves_nothing() -> None:
    known = Known(entries([Step("made", "a")]))
    for asked, decider in ((Asked("a", 1, "planned"), "x"), (Asked("x", 1, "planned"), "a")):
        found = known.objection(asked, decider)
        assert found is not None
        assert "does not say how" in found.problem
