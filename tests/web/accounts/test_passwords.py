"""Passwords: the stated cost, the same time for whoever does not exist, and few rules."""

from __future__ import annotations

import statistics
import time
from pathlib import Path

import pytest

from discreet.web import Settings, create_app
from discreet.web.accounts.accounts import Hasher, is_common, password_complaint
from discreet.web.framework.settings import Hashing
from tests.web.client import CHEAP, Browser, make_accounts


def test_the_time_does_not_tell_who_exists(tmp_path: Path) -> None:
    """With the real cost of argon2id, which outweighs everything else."""
    app = create_app(Settings(store=str(tmp_path / "s.db"), data=tmp_path, hashing=Hashing()))
    make_accounts(app, "auditor")
    browser = Browser(app)

    def took(name: str) -> float:
        begin = time.process_time()
        browser.sign_in(name, "not the password")
        return time.process_time() - begin

    pairs = [(took("auditor"), took("stranger")) for _ in range(4)]
    known, unknown = (statistics.median(column) for column in zip(*pairs, strict=True))
    assert min(known, unknown) > 0.02
    assert 0.6 < known / unknown < 1.6
    app.state.site.close()


def test_the_cost_of_a_password_is_the_stated_one(tmp_path: Path) -> None:
    app = create_app(Settings(store=str(tmp_path / "s.db"), data=tmp_path))
    assert app.state.site.hasher.hash("x").startswith("$argon2id$v=19$m=65536,t=3,p=4$")
    app.state.site.close()


def test_what_looks_the_same_is_the_same() -> None:
    hasher = Hasher(CHEAP)
    assert hasher.fits("Cafe\u0301 du coin", hasher.hash("Café du coin"))
    assert not hasher.fits("Cafe du coin", hasher.hash("Café du coin"))


@pytest.mark.parametrize("stored", [None, "", "plain text", "$argon2id$broken"])
def test_without_a_hash_nothing_fits(stored: str | None) -> None:
    assert not Hasher(CHEAP).fits("anything", stored)


@pytest.mark.parametrize(
    ("password", "words"),
    [
        ("short", "at least 15"),
        ("x" * 300, "at most 256"),
        ("ann.lee is my name", "name of the account"),
        ("ababababababababab", "five different"),
        ("correct horse battery", ""),
    ],
)
def test_rules_are_few_and_said_in_words(password: str, words: str) -> None:
    found = password_complaint(password, password, name="ann.lee")
    assert (words in found) if words else found == ""
    assert password_complaint(password, password + "x", name="ann.lee") == "The two passwords are not the same."


COMMON = "PasswordPassword1 qwertyuiopasdfgh 123456789012345 1q2w3e4r5t6y7u8i letmeinletmein1 Summer2026Summer2026 iloveyouiloveyou Welcome2025Welcome! P@$$w0rdP@$$w0rd qazwsxedcrfvtgb Trustno1Trustno1"  # fmt: skip
OWN = ("a sentence only tests know", "vpDq7RkzL0mXw2eT", "blue kettles never whistle", "my cat sleeps on tuesday")


def test_what_guesses_begin_with_is_refused_and_sentences_are_not() -> None:
    """Common words, runs of keys, years and repetitions, with signs for letters and in any order."""
    assert [text for text in COMMON.split() if not is_common(text)] == []
    assert [text for text in OWN if is_common(text)] == []
    assert "common words" in password_complaint("Password-Password-2026", "Password-Password-2026", name="ann.lee")
