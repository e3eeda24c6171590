"""Entries: canonical, exact, and without what they may not hold."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import UsageError
from discreet.ledger import EVENTS, OUTCOMES, Entry, Request
from discreet.ledger.entry import Charge, listing, timestamp
from discreet.ledger.entry import detail as entry_detail
from discreet.ledger.verifier import ENTRY_KEYS, canonical, parse

texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=30)
charges = st.builds(Charge, texts, *[st.integers(0, 2**62)] * 6, st.none() | st.integers(0, 99), st.none() | texts)
entries = st.builds(
    Entry,
    sequence=st.integers(0, 2**62),
    time=texts,
    clock=st.none() | texts,
    actor=texts,
    room=texts,
    event=st.sampled_from(list(EVENTS)),
    outcome=st.sampled_from(list(OUTCOMES)),
    subject=texts,
    risk_before=st.none() | texts,
    risk_after=st.none() | texts,
    policy=st.none() | texts,
    key=texts,
    budget=st.none() | charges,
    details=st.dictionaries(texts, st.none() | st.booleans() | st.integers() | texts, max_size=4),
    previous=texts,
)


@given(st.lists(texts.filter(bool), max_size=2_000))
def test_a_listing_fits_into_an_entry_and_names_everything_that_fits(items: list[str]) -> None:
    found = listing("published", items)
    assert entry_detail(found) == found
    assert len(found) <= 16
    if sum(len(item) + 2 for item in items) < 5_000 and all(item.isprintable() for item in items):
        assert ", ".join(found.values()) == ", ".join(items)


def test_a_listing_that_does_not_fit_says_how_much_is_missing() -> None:
    *_, last = listing("published", [f"column {number:05} (quasi)" for number in range(2_000)]).values()
    assert re.match(r"\d+ more; SHA-256 of all, one a line: [0-9a-f]{64}$", last)


@given(entries)
def test_an_entry_is_read_back_from_its_bytes_and_they_are_ascii(entry: Entry) -> None:
    body = entry.body()
    assert Entry.read(body) == entry
    assert Entry.read(body.decode("ascii")).body() == body
    assert tuple(sorted(parse(body))) == ENTRY_KEYS
    assert b"\n" not in body


@pytest.mark.parametrize(
    "line", [b"", b"{}", b"[]", b'{"a": 1}', b'{"a":1.0}', b'{"a":NaN}', b'{"a":1,"a":1}', b"\xff"]
)
def test_what_is_not_canonical_or_no_entry_is_refused(line: bytes) -> None:
    with pytest.raises(ValueError):
        Entry.read(line)


def test_keys_are_sorted_and_nothing_is_wasted() -> None:
    assert canonical({"b": [1, None], "a": True}) == b'{"a":true,"b":[1,null]}'
    with pytest.raises(ValueError):
        canonical({"a": float("nan")})


WRONG: list[dict[str, Any]] = [
    {"actor": ""},
    {"actor": "a\nb"},
    {"actor": "x" * 501},
    {"subject": "\x00"},
    {"subject": "\ud800"},
    {"key": ""},
    {"event": "linkage.unheard"},
    {"policy": "abc"},
    {"details": {"a": 0.5}},
    {"details": {"a": [1]}},
    {"details": {"": 1}},
    {"details": {f"{number}": 1 for number in range(31)}},
    {"risk_before": float("nan")},
    {"risk_after": "lots"},
]


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_what_may_not_stand_in_an_entry_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        Request.of(**{"actor": "ann", "event": "web.shown", "key": "k", **wrong})


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(UsageError, match="zone"):
        timestamp(datetime(2026, 1, 1))


def test_every_event_names_a_room_that_exists() -> None:
    from discreet.cli.verbs.ledger import ROOMS

    assert {code.partition(".")[0] for code in EVENTS} == set(ROOMS)
