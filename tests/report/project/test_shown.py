"""Results of the rooms in a notebook: the story and the release of the project, and what other rooms answer."""

from __future__ import annotations

from pathlib import Path

from discreet.attacker import Attack
from discreet.demo.chapters import open_ledger
from discreet.demo.store_chapters import RECIPIENTS
from discreet.errors import Refused
from discreet.linkage import Display
from discreet.misuse import Exposure, Sensitivity
from discreet.policy import Policy
from discreet.releases import Plan, Release, plan
from discreet.report.project import Story, statements
from discreet.sources import read
from tests.report.samples import Outline
from tests.report.test_trace import TRACES


def words(result: object) -> str:
    outline = Outline(result._repr_html_())  # type: ignore[attr-defined]
    return " ".join(text for _, text in outline.texts)


def test_a_story_shows_its_findings(story: Story) -> None:
    shown = words(story)
    assert all(one.finding.headline in shown for one in statements(story))
    assert repr(story) == "Story(A whole story, within limits)"


def test_a_release_shows_its_recipients(mine: Path) -> None:
    with open_ledger(mine.parent / "store.db") as ledger:
        shown = words(Release.open("spring", store=ledger))
    assert all(name in shown for name in RECIPIENTS)
    assert "delivered" in shown


def planned(folder: Path) -> Plan:
    policy = Policy.load(folder / "policy.toml")
    hospital = read(folder / "hospital.csv", policy=policy)
    register = read(folder / "population.parquet", policy=policy.for_population())
    for k in (3, 2):
        try:
            return plan(hospital, register, 3, k=k, force=True)
        except Refused:
            continue
    raise AssertionError("some size leaves enough marks")


def test_a_plan_shows_what_a_custodian_decides_on(whole: Path) -> None:
    found = planned(whole.parent)
    shown = words(found)
    assert all(" ".join(said.split()) in " ".join(shown.split()) for said in found.words())


def test_a_trace_shows_every_recipient() -> None:
    for trace in TRACES.values():
        shown = words(trace)
        assert all(one.recipient in shown for one in trace.standings)


def test_what_an_adversary_answers() -> None:
    his = Attack(prior=0.63, gain=8000, access_cost=100, link_cost=0, exploit_cost=10, penalty=10000, max_penalties=1)
    assert "gain 8,000" in words(his)
    assert "54" in words(his.thresholds())
    assert "63 %" in words(his.known([1, 100]))


def test_pairs_and_exposures_show_numbers_and_no_value() -> None:
    people = [{"name": "Mary"}, {"name": "Mark"}, {"name": "Mary"}]
    opened = Display(people, kinds={"name": "string"}, pairs=[(0, 1)]).open(0, "name", "partial")
    assert "18.8 %" in words(opened)
    f = Sensitivity.from_dict({"illness": {"otherwise": 0.5}})
    seen = Exposure(f).after(entities=[1], values={"illness": ["gout"]}, at=0.0)
    assert "0.5" in words(seen)
    assert not any(value in words(opened) + words(seen) for value in ("Mar", "gout"))
