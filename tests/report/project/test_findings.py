"""What a decision can rest on: the worst first, nothing forgotten, and an exit for pipelines."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from discreet.demo.chapters import open_ledger
from discreet.policy import Policy
from discreet.report.project import ProjectFile, Story, project_findings, statements, tell
from discreet.report.project.findings import STANDINGS
from tests.report.project.world import asks


def told(file: Path, **changes: object) -> Story:
    return tell(replace(ProjectFile.load(file), **changes))  # type: ignore[arg-type]


def standing(story: Story, topic: str) -> list[str]:
    return [one.standing for one in statements(story) if one.topic == topic]


def test_every_topic_is_spoken_of_and_the_worst_comes_first(story: Story) -> None:
    found = statements(story)
    assert {one.topic for one in found} == {"risk", "attacker", "recipients", "linkage", "queries", "ledger"}
    order = [list(STANDINGS).index(one.standing) for one in found]
    assert order == sorted(order)
    assert project_findings(story) == tuple(one.finding for one in found)
    assert all(one.finding.headline.endswith(".") and one.finding.next_step for one in found)


def test_what_leaves_is_within_limits_though_the_data_are_not(story: Story) -> None:
    assert story.measured.assessment.exceeded
    assert standing(story, "risk") == ["within", "within"]
    assert not story.exceeded


def test_what_is_learnt_without_recognising_anybody_is_said(story: Story, whole: Path) -> None:
    says = [one for one in statements(story) if "value of diagnosis" in one.finding.headline]
    least = story.measured.leaving.inference["diagnosis"].distinct_l
    assert least > 1
    assert [one.standing for one in says] == ["within"]
    assert f"at least {least:,} values" in says[0].finding.headline
    bare = told(whole, published=None, store=None, attack=None)
    [found] = [one for one in statements(bare) if "is certain" in one.finding.headline]
    assert found.standing == "attention"
    [name] = [name for name in bare.measured.leaving.inference if f"the value of {name} is" in found.finding.headline]
    assert f"{bare.measured.leaving.inference[name].certain:,} of" in found.finding.headline


def test_data_that_leave_as_they_are_exceed_the_limit(whole: Path) -> None:
    bare = told(whole, published=None, store=None, attack=None)
    assert bare.exceeded
    assert standing(bare, "risk") == ["above", "attention"]
    assert standing(bare, "anonymisation") == ["unmeasured"]
    assert standing(bare, "recipients") == ["unmeasured"]


def test_an_adversary_who_finds_too_many_exceeds_the_limit(whole: Path) -> None:
    bare = told(whole, published=None, store=None)
    assert bare.measured.struck_exceeds
    assert standing(bare, "attacker") == ["above"]


def test_what_nobody_has_measured_is_said(whole: Path) -> None:
    gaps = told(whole, population=None, attack=None, published=None, store=None)
    assert [one.topic for one in statements(gaps) if one.standing == "unmeasured"] == [
        "risk",
        "attacker",
        "anonymisation",
        "recipients",
    ]
    complete = told(whole, releases=(), linkage=(), databases=())
    assert not [one for one in statements(complete) if one.standing == "unmeasured"]


def test_a_user_near_and_above_her_limit(mine: Path) -> None:
    policy = Policy.load(mine.parent / "policy.toml")
    with open_ledger(mine.parent / "store.db") as ledger:
        asyncio.run(asks(ledger, policy, "ann", ["4"], limit=1.5))
    near = told(mine)
    assert standing(near, "queries") == ["attention"]
    assert not near.exceeded
    with open_ledger(mine.parent / "store.db") as ledger:
        asyncio.run(asks(ledger, policy, "ann", ["5", "6"], limit=1.5))
    above = told(mine)
    assert standing(above, "queries") == ["above"]
    assert above.exceeded
    assert statements(above)[0].topic == "queries"


def test_a_trace_that_accuses_somebody_needs_attention(mine: Path) -> None:
    from discreet.releases.delivery.service import open_release, record_trace

    with open_ledger(mine.parent / "store.db") as ledger:
        said = {"kind": "claims", "source": "claims.csv", "accused": "west-clinic", "alpha": "0.001", "recipients": 3}
        record_trace(open_release("spring", ledger), ledger, details=said, actor="ann")  # type: ignore[arg-type]
    found = [one for one in statements(told(mine)) if one.topic == "recipients"]
    assert found[0].standing == "attention"
    assert "west-clinic" in found[0].finding.headline
    assert "0.1 % of traces" in found[0].finding.headline


def test_copies_with_smaller_classes_than_the_threshold_asks_for_need_attention(story: Story) -> None:
    assert story.disclosed is not None
    k = story.disclosed.releases[0].k
    assert k is not None
    small = [one for one in statements(story) if "as few as" in one.finding.headline]
    assert bool(small) == (k < 5)


def test_a_reviewer_without_a_limit_is_not_called_within_it(mine: Path) -> None:
    from discreet.linkage.project import register_project
    from discreet.linkage.review.assignments import assign, bring_pairs

    with open_ledger(mine.parent / "store.db") as ledger:
        project = register_project(ledger, mine.parent / "linkage" / "project", actor="manager", name="open")
        bring_pairs(ledger, project)
        assign(ledger, project, ["clerk"], actor="manager")
    found = {one.finding.headline: one.standing for one in statements(told(mine)) if one.topic == "linkage"}
    assert sorted(found.values()) == ["unmeasured", "within"]
    assert any("nobody set a limit" in headline for headline in found)


@pytest.mark.parametrize("key", ["title", "data", "published", "releases", "linkage", "queries", "ledger", "findings"])
def test_json_has_everything(story: Story, key: str) -> None:
    assert story.to_dict()[key]
    assert story.to_dict()["exceeded"] is False
