"""What is declared about attributes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from discreet.errors import UsageError
from discreet.linkage.masking.record_pair import Rules

KINDS: Any = {"given": "string", "family": "string", "born": "date", "sex": "category"}


def test_settings_are_for_all_attributes_or_by_attribute() -> None:
    rules = Rules.of(KINDS, normalise={"given": ["strip", "casefold"], "sex": "strip"}, formats={"born": "DD.MM.YYYY"})
    assert rules.normalise == (("strip", "casefold"), (), (), ("strip",))
    assert rules.formats[2] == ("DD.MM.YYYY",)
    assert rules.formats[0] == ("YYYY-MM-DD", "MM/DD/YYYY")
    assert Rules.of(KINDS, normalise="nfc").normalise == (("nfc",),) * 4


def test_they_survive_json() -> None:
    rules = Rules.of(KINDS, swaps=[("given", "family")], names=["family"], date_swap="whole", normalise="nfc")
    assert Rules.from_dict(json.loads(json.dumps(rules.to_dict()))) == rules


@pytest.mark.parametrize(
    "wrong",
    [
        {"kinds": {}},
        {"kinds": {"a": "text"}},
        {"swaps": [("given", "born")]},
        {"swaps": [("given", "given")]},
        {"swaps": [("given", "family"), ("family", "given")]},
        {"swaps": [("given", "surname")]},
        {"names": ["surname"]},
        {"formats": {"surname": "YYYY-MM-DD"}},
        {"formats": "YYYY"},
        {"normalise": {"given": "soundex"}},
        {"date_swap": "both"},
    ],
)
def test_nonsense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        Rules.of(**{"kinds": KINDS, **wrong})
