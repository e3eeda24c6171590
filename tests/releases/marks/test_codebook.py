"""Keyed decisions: the same for ever for who holds the key, fair coins for everybody else."""

from __future__ import annotations

import hmac
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import UsageError
from discreet.releases.marks.codebook import DEFAULT, Codebook, Law, Marks, canonical, derive, uniforms

KEY = bytes(range(32))


def marks(count: int) -> Marks:
    """So many marks on two columns, every second one a decoy."""
    places = np.arange(count)
    return Marks(
        columns=("zip", "sex"),
        labels=tuple((str(place // 2), "FM"[place % 2]) for place in places),
        decoy=places % 2 == 1,
        sizes=np.full(count, 5),
        links=np.full(count, 100),
        partners=places ^ 1,
    )


@pytest.mark.parametrize("text", ["0.2/0.5", "0.5", "nuida:1", "nuida:3", "nuida:6", "nuida:9", "0.1/0.2/0.7"])
def test_a_law_is_a_distribution_and_is_drawn_as_it_says(text: str) -> None:
    law = Law.parse(text)
    assert sum(law.shares) == pytest.approx(1)
    grid = (np.arange(100_000) + 0.5) / 100_000
    drawn = law.probabilities(grid)
    for value, share in zip(law.values, law.shares, strict=True):
        assert np.mean(drawn == value) == pytest.approx(share, abs=2e-5)
    assert drawn.mean() == pytest.approx(law.mean, abs=2e-5)


def test_nuida_is_what_was_published() -> None:
    assert Law.nuida(2).values == (0.5,)
    assert Law.nuida(4).values == pytest.approx((0.21132, 0.78868), abs=5e-6)
    assert Law.nuida(6).values == pytest.approx((0.11270, 0.5, 0.88730), abs=5e-6)
    assert Law.nuida(8).values == pytest.approx((0.06943, 0.33001, 0.66999, 0.93057), abs=5e-6)
    assert Law.nuida(8).shares == pytest.approx((0.24833, 0.25167, 0.25167, 0.24833), abs=5e-6)


@pytest.mark.parametrize("text", ["", "0", "1", "half", "0.5/0.5", "nan", "nuida:0", "nuida:33", "nuida:x", "0.2/2"])
def test_nonsense_is_refused_in_words(text: str) -> None:
    with pytest.raises(UsageError) as error:
        Law.parse(text)
    assert error.value.remedy


def test_the_hash_is_the_one_that_is_documented() -> None:
    book = Codebook.of(marks(1), Law.parse("0.5"), ["ministry"], release="r1", key=KEY)
    secret = derive(KEY, "presence")
    message = b'["r1"]["0","F"]["ministry"]'
    word = int.from_bytes(hmac.digest(secret, message, "sha256")[:8], "big")
    assert bool(book.present[0, 0]) == ((word >> 11) / 2**53 < 0.5)


def test_others_are_added_later_and_nothing_changes_for_the_first() -> None:
    first = Codebook.of(marks(40), DEFAULT, ["a", "b"], release="r", key=KEY)
    later = Codebook.of(marks(60), DEFAULT, ["a", "b", "c"], release="r", key=KEY)
    assert (later.present[:2, :40] == first.present).all()
    assert (later.probabilities[:40] == first.probabilities).all()


def test_marks_are_present_as_often_as_their_law_says() -> None:
    book = Codebook.of(marks(2_000), DEFAULT, [f"recipient {n}" for n in range(50)], release="r", key=KEY)
    for value in DEFAULT.values:
        share = book.present[:, book.probabilities == value].mean()
        assert share == pytest.approx(value, abs=5 * (value * (1 - value) / 50_000) ** 0.5)
    drawn = book.drawn(50, np.random.default_rng(1))
    assert drawn.mean() == pytest.approx(book.present.mean(), abs=0.01)


@pytest.mark.parametrize("change", ["key", "release", "recipient"])
def test_another_key_release_or_recipient_says_nothing_of_this_one(change: str) -> None:
    one = Codebook.of(marks(4_000), Law.parse("0.5"), ["a"], release="r", key=KEY)
    other = Codebook.of(
        marks(4_000),
        Law.parse("0.5"),
        ["b" if change == "recipient" else "a"],
        release="s" if change == "release" else "r",
        key=bytes(32) if change == "key" else KEY,
    )
    assert np.mean(one.present == other.present) == pytest.approx(0.5, abs=0.04)


@given(st.lists(st.lists(st.text(max_size=4), max_size=3), min_size=2, max_size=2, unique_by=tuple))
def test_different_parts_are_different_bytes(parts: list[list[str]]) -> None:
    assert canonical(parts[0]) != canonical(parts[1])
    assert json.loads(canonical(parts[0])) == parts[0]


@given(st.lists(st.binary(max_size=8), max_size=20))
def test_numbers_lie_where_they_should(messages: list[bytes]) -> None:
    drawn = uniforms(KEY, messages)
    assert drawn.shape == (len(messages),)
    assert ((drawn >= 0) & (drawn < 1)).all()


def test_some_of_the_marks() -> None:
    book = Codebook.of(marks(10), DEFAULT, ["a"], release="r", key=KEY)
    part = book.only(book.marks.decoy)
    assert part.marks.labels == book.marks.labels[1::2]
    assert (part.row("a") == book.row("a")[1::2]).all()


def test_short_keys_twins_and_strangers_are_refused() -> None:
    with pytest.raises(UsageError):
        derive(b"short", "law")
    with pytest.raises(UsageError):
        Codebook.of(marks(2), DEFAULT, ["a", "a"], release="r", key=KEY)
    with pytest.raises(UsageError):
        Codebook.of(marks(2), DEFAULT, ["a"], release="r", key=KEY).row("b")
