"""The audit of who sets against plain linear algebra, and what holds for every history of questions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from discreet.gateway.statistics.audit import AskedSet, WhoAudit

RATIO, PEOPLE = 6.0, 9
Floats = NDArray[np.float64]


def asked(people: Sequence[int], times: int = 1, singled: int = 0, shares: Sequence[float] | None = None) -> AskedSet:
    return AskedSet(np.array(people, dtype=np.uint64), times, singled, None if shares is None else np.array(shares))


@st.composite
def questions(draw: st.DrawFn) -> AskedSet:
    people = draw(st.lists(st.integers(0, PEOPLE - 1), min_size=1, unique=True))
    shares = draw(st.none() | st.lists(st.sampled_from([0.25, 0.5, 1.0]), min_size=len(people), max_size=len(people)))
    return asked(people, draw(st.integers(0, 2)), draw(st.integers(0, 1)), shares)


HISTORIES: Any = st.lists(questions(), max_size=10)


def plainly(sets: Sequence[AskedSet]) -> Floats:
    """Reduction per person, with one row per answer and one column per person."""
    rows, alone = [np.zeros(PEOPLE)], np.zeros(PEOPLE)
    for one in sets:
        row = np.zeros(PEOPLE)
        row[one.people.astype(int)] = 1.0 if one.shares is None else one.shares
        rows += [row] * one.times
        alone += row**2 * one.singled
    prior = 1 / (1 + alone / RATIO)
    matrix = np.array(rows)
    told = matrix @ np.diag(prior) @ matrix.T + RATIO * np.eye(len(rows))
    found: Floats = 1 - prior + prior**2 * np.einsum("ij,ij->j", matrix, np.linalg.solve(told, matrix))
    return found


def by_person(audit: WhoAudit) -> Floats:
    return np.array([audit.of(person) for person in range(PEOPLE)])


@given(HISTORIES, st.integers(1, 3))
def test_atoms_and_bounds_give_what_plain_algebra_gives(history: list[AskedSet], together: int) -> None:
    audit = WhoAudit(RATIO)
    for start in range(0, len(history), together):
        audit = audit.asked(history[start : start + together])
        assert audit.reduction >= 0  # what is worked out now must not spoil what is worked out later
    expected = plainly(history)
    assert by_person(audit) == pytest.approx(expected, abs=1e-9)
    assert audit.reduction == pytest.approx(expected.max(), abs=1e-9)
    assert audit.within(float(expected.max()) + 1e-9)
    assert expected.max() < 1e-9 or not audit.within(float(expected.max()) - 1e-9)
    bounds = dict(zip(audit.people.tolist(), audit.bounds[audit.atom].tolist(), strict=True))
    assert all(bounds.get(person, 0.0) >= expected[person] - 1e-9 for person in range(PEOPLE))


@given(HISTORIES, st.randoms(use_true_random=False))
def test_the_order_of_questions_does_not_matter(history: list[AskedSet], random: Any) -> None:
    other = list(history)
    random.shuffle(other)
    one, two = WhoAudit(RATIO).asked(history), WhoAudit(RATIO)
    for question in other:
        two = two.asked([question])
    assert by_person(one) == pytest.approx(by_person(two), abs=1e-9)


@given(HISTORIES, questions())
def test_a_further_answer_never_lowers_what_is_known_of_anybody(history: list[AskedSet], more: AskedSet) -> None:
    before = WhoAudit(RATIO).asked(history)
    assert (by_person(before.asked([more])) >= by_person(before) - 1e-9).all()


@given(HISTORIES, st.lists(questions(), max_size=3))
def test_what_is_stored_goes_on_as_before(history: list[AskedSet], more: list[AskedSet]) -> None:
    audit = WhoAudit(RATIO).asked(history)
    again = WhoAudit.from_bytes(audit.to_bytes(), audit.people.tobytes(), ratio=RATIO)
    assert by_person(again.asked(more)) == pytest.approx(by_person(audit.asked(more)), abs=1e-6)


@given(HISTORIES)
def test_answers_given_with_less_noise_count_for_more(history: list[AskedSet]) -> None:
    audit = WhoAudit(RATIO).asked(history)
    now = WhoAudit.from_bytes(audit.to_bytes(), audit.people.tobytes(), ratio=2.5 * RATIO)
    assert (by_person(now) >= by_person(audit) - 1e-9).all()


def test_bounds_decide_alone_where_there_are_many_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.gateway.statistics.audit.EXACT_CELLS", 2)
    audit = WhoAudit(RATIO).asked([asked([0, 1]), asked([1, 2]), asked([0, 2])])
    assert audit.reduction == pytest.approx(2 / (2 + RATIO))


def test_pairs_stop_after_what_the_formula_says() -> None:
    """Each pair over fresh sets of n is a look at one person: k / (k + ratio + ratio n / (ratio + n))."""
    audit, given_out, ratio = WhoAudit(48.0), 0, 48.0
    while True:
        others = np.arange(1000 * given_out + 1, 1000 * given_out + 1001, dtype=np.uint64)
        after = audit.asked([AskedSet(others), AskedSet(np.append(others, np.uint64(0)))])
        if not after.within(0.2):
            break
        audit, given_out = after, given_out + 1
    assert given_out == int(0.25 * (ratio + ratio * 1000 / (ratio + 1000)))
