"""Shares and measures as people read them."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from discreet.wording import brief_percent, fine_percent, percent


@given(st.floats(0, 1))
def test_percent_never_claims_nothing_or_all(share: float) -> None:
    text = percent(share)
    assert (text == "0 %") == (share == 0)
    assert (text == "100 %") == (share == 1)
    assert text not in ("0.0 %", "100.0 %", "-0 %")


@given(st.integers(1, 10**7), st.integers(1, 10**7))
def test_percent_of_people_is_within_a_tenth(some: int, more: int) -> None:
    share = some / (some + more)
    assume(0.001 <= share <= 0.999)
    assert float(percent(share).removesuffix(" %")) == pytest.approx(share * 100, abs=0.0501)


@given(st.floats(0, 1))
def test_a_short_percentage_says_the_same_with_signs(share: float) -> None:
    assert brief_percent(share) == percent(share).replace("fewer than", "<").replace("more than", ">")


@given(st.floats(1e-9, 0.999))
def test_a_fine_percentage_tells_how_small_a_share_is(share: float) -> None:
    assert float(fine_percent(share).removesuffix(" %")) == pytest.approx(share * 100, rel=0.0501, abs=1e-12)
