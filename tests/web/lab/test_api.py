"""The adversary, asked by a program: the room's numbers, and nothing that does not fit."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest
from fastapi import FastAPI
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.attacker import Attack
from discreet.reference.case_study import PUBLISHED
from tests.examples import examples
from tests.web.client import OWN_PAGE, Browser, signed_in
from tests.web.lab.test_pages import app  # noqa: F401 - the fixture

HIS = {name: float(value) for name, value in PUBLISHED.items()}


def ask(browser: Browser, **wanted: Any) -> Any:
    return browser.send("POST", "/api/v1/attack", json={"parameters": HIS, **wanted}, headers=OWN_PAGE)


@pytest.fixture
def auditor(app: FastAPI) -> Browser:  # noqa: F811 - as above
    return signed_in(app, "auditor")


def test_the_plan_is_the_rooms(auditor: Browser) -> None:
    found = ask(auditor, sizes=[1, 10, 45, 46, 1_000_000]).json()
    his = Attack.from_dict(PUBLISHED)
    assert found["thresholds"] == asdict(his.thresholds())
    plan = his.known([1, 10, 45, 46, 1_000_000])
    for name in ("sizes", "exploits", "accesses", "reidentification", "value_raw", "expected_wrong"):
        assert found["plan"][name] == getattr(plan, name).tolist(), name
    assert found["plan"]["baseline"] == his.baseline([1, 10, 45, 46, 1_000_000]).risk.tolist()
    assert found["people"] is None
    assert found["deterrence"] == {
        "for_size": 1,
        "penalty": his.deterring_penalty(1),
        "price": his.deterring_price(1),
        "size": his.least_size(),
    }


def test_a_histogram_of_groups_gives_people(auditor: Browser) -> None:
    groups = [{"size": 0, "people": 5}, {"size": 3, "people": 10}, {"size": 500, "people": 85}]
    found = ask(auditor, groups=groups, external_size=1000, max_risk=0.2).json()
    known = found["people"]["known"]
    assert (known["in_full"], known["in_part"], known["not_at_all"]) == (10, 0, 90)
    assert known["reidentified"] == pytest.approx(6.3)
    assert found["deterrence"]["for_size"] == 3
    assert found["deterrence"]["penalty"] == Attack.from_dict(PUBLISHED).deterring_penalty(3, 0.2)


def test_thresholds_alone_need_no_sizes(auditor: Browser) -> None:
    found = ask(auditor, parameters={**HIS, "max_penalties": 1}).json()
    assert found["thresholds"]["no_access"] == 48
    assert found["plan"] is found["people"] is found["deterrence"] is None


@pytest.mark.parametrize(
    "wanted",
    [
        {"parameters": {**HIS, "prior": 0.0}},
        {"parameters": {**HIS, "gain": "8000"}},
        {"parameters": {**HIS, "gain": -1.0}},
        {"parameters": {**HIS, "discount": 0.0}},
        {"parameters": {**HIS, "max_penalties": 11}},
        {"parameters": {**HIS, "max_penalties": "often"}},
        {"parameters": {**HIS, "more": 1.0}},
        {"sizes": [-1]},
        {"sizes": [1.5]},
        {"sizes": [True]},
        {"sizes": [1] * 4001},
        {"groups": [{"size": 3, "people": 10}]},
        {"groups": [{"size": 30, "people": 10}], "external_size": 20},
        {"max_risk": 1.5},
        {"secret": 1},
    ],
)
def test_what_does_not_fit_is_refused(auditor: Browser, wanted: dict[str, Any]) -> None:
    answer = ask(auditor, **wanted)
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert "secret" not in answer.text


numbers = st.one_of(st.floats(0, 1e12), st.integers(0, 10**12), st.sampled_from([0.0, 1.0, 1e-9]))


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    changed=st.dictionaries(st.sampled_from(["gain", "access_cost", "link_cost", "exploit_cost", "penalty"]), numbers),
    slope=st.floats(-1, 1),
    often=st.one_of(st.integers(0, 2), st.just("unlimited")),
    sizes=st.lists(st.integers(0, 10**9), max_size=4),
)
def test_no_adversary_breaks_the_server(
    auditor: Browser, changed: dict[str, float], slope: float, often: Any, sizes: list[int]
) -> None:
    described = {**HIS, **{name: float(value) for name, value in changed.items()}}
    answer = ask(auditor, parameters={**described, "detection_slope": slope, "max_penalties": often}, sizes=sizes)
    assert answer.status_code in (200, 422)
