"""Findings about an attack: numbers that are true, and a next step that works."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from discreet.report import attack_findings
from discreet.report.attack_charts import Case, at_least
from tests.report.attack_samples import HIS, KINDS, case_of, crowds, town


@pytest.mark.parametrize("kind", KINDS)
def test_every_finding_has_a_number_or_a_nobody_and_a_next_step(kind: str) -> None:
    found = attack_findings(KINDS[kind], source="people.csv", threshold=0.2)
    assert len(found) >= 3
    for finding in found:
        assert re.search(r"\d|[Nn]obody|none|the only person", finding.headline)
        assert finding.headline.endswith(".")
        assert finding.next_step.endswith((".", ")."))
        assert len(finding.headline + finding.next_step) < 700


def test_who_is_attacked_and_what_deters() -> None:
    first = attack_findings(KINDS["rising"], source="people.csv", threshold=0.2)[0]
    known = KINDS["rising"].known
    assert f"would attack {known.attacked} of {known.people.sum()} people in people.csv" in first.headline
    assert f"every candidate for {known.in_full} of them, some of the candidates for {known.in_part}" in first.headline
    assert "groups of at least 29 people who look alike" in first.next_step


@pytest.mark.parametrize(
    "kind", ["constant", "once", "rising", "free list", "some unlisted", "large", "calmer with time"]
)
def test_each_way_that_is_named_really_deters_and_less_does_not(kind: str) -> None:
    case = case_of(kind)
    found = case.deterrents
    assert found is not None
    assert found.penalty is not None
    assert found.price is not None
    targets = case.targets
    for field, amount in (("penalty", found.penalty), ("access_cost", found.price)):
        enough, less = (replace(case.attack, **{field: amount * share}) for share in (1.0, 0.999))
        assert targets.expected(enough).known == 0
        assert targets.expected(less).known > 0
    assert found.size == case.attack.thresholds().no_access


def test_amounts_are_rounded_up_so_that_they_still_deter() -> None:
    case = case_of("constant")
    assert case.deterrents is not None
    assert case.deterrents.penalty is not None
    said = float(at_least(case.deterrents.penalty).replace(",", ""))
    assert said >= case.deterrents.penalty
    assert case.targets.expected(replace(case.attack, penalty=said)).known == 0


@pytest.mark.parametrize("kind", ["never fined", "never detected"])
def test_a_fine_that_he_never_pays_is_not_proposed(kind: str) -> None:
    first = attack_findings(KINDS[kind], source="people.csv", threshold=0.2)[0]
    assert "fine of" not in first.next_step
    assert "list that costs" in first.next_step


def test_planning_is_compared_with_one_guess() -> None:
    case = case_of("constant")
    headline = attack_findings(case.struck, source="p", threshold=0.2)[1].headline
    assert "about 29 of them" in headline
    assert "would find 1.8" in headline
    assert "16 times as many" in headline
    assert case.struck.known.reidentified / case.guessed == pytest.approx(16, abs=0.5)


def test_where_planning_gains_nothing_that_is_said() -> None:
    found = attack_findings(KINDS["everybody alone"], source="p", threshold=0.2)
    assert "planning gains nothing here" in found[1].headline


def test_nobody_attacked_is_said_plainly() -> None:
    found = attack_findings(KINDS["nobody attacked"], source="people.csv", threshold=0.2)
    assert (
        "would attack none of the 30 people in people.csv: an attempt would cost more than it brings"
        in found[0].headline
    )
    assert "Keep groups at 45" in found[0].next_step
    unlisted = attack_findings(KINDS["nobody listed"], source="people.csv", threshold=0.2)
    assert "nobody in the list looks like any of them" in unlisted[0].headline


def test_people_above_the_threshold_are_counted() -> None:
    struck = HIS.on(*town())
    assert Case(struck, 0.7).above == 0
    assert any("Nobody is re-identified" in one.headline for one in attack_findings(struck, source="p", threshold=0.7))
    assert Case(struck, 0.2).above == struck.known.attacked


def test_losses_are_told_only_where_they_were_given() -> None:
    def words(kind: str) -> str:
        return " ".join(one.headline for one in attack_findings(KINDS[kind], source="p", threshold=0.2))

    assert "costs you" not in words("constant")
    assert "costs you 7,245 in expectation" in words("one loss")
    assert "column cost" in words("losses")


def test_ignorance_that_protects_is_told_apart() -> None:
    struck = HIS.on(crowds([2]), crowds([2]), population=crowds([900, 100]))
    step = attack_findings(struck, source="p", threshold=0.2)[2].next_step
    assert (struck.unknown.reidentified < struck.known.reidentified) == ("how frequent" in step)
