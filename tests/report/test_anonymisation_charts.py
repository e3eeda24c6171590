"""Pictures of an anonymised table: every number that a chart shows is in its table, and nothing depends on colour."""

from __future__ import annotations

import re

import pytest

from discreet.report.anonymisation_charts import crowds, kept, pictures, risks
from discreet.report.charts.bars import Bar, Drawing, Group, bar_chart
from discreet.report.toolkit.page import Figure
from tests.report.anonymisation_samples import KINDS, made, nodes, points, town
from tests.report.documents import drawn, groups_of
from tests.report.samples import Outline

FIGURES = [(kind, shown) for kind, case in KINDS.items() for shown in pictures(case, points(case), nodes(case))]
NUMBER = re.compile(r"[\d,]*\.?\d+")


def values(shown: Figure) -> list[str]:
    """What a chart says in numbers, without the ticks of its axes."""
    if not isinstance(shown.chart, Drawing):
        return [bar.value for group in groups_of(shown) for bar in group.bars]
    outline = drawn(shown)[0]
    spoken = [text for tag, text in outline.texts if tag in ("text", "desc")]
    return [text for text in spoken if not re.fullmatch(r"[\d.,]+( %)?", text)]


@pytest.mark.parametrize(("kind", "shown"), FIGURES, ids=lambda value: getattr(value, "key", value))
def test_the_table_has_every_number_of_the_chart(kind: str, shown: Figure) -> None:
    cells = " ".join(text for _, text in drawn(shown)[1].texts)
    assert values(shown)
    for value in values(shown):
        if not value.startswith("Loss, in"):
            count = f"{len(shown.table.rows)}"  # a frontier says how many points it has
            assert set(NUMBER.findall(value)) <= {*NUMBER.findall(cells), count}, value


@pytest.mark.parametrize(("kind", "shown"), FIGURES, ids=lambda value: getattr(value, "key", value))
def test_a_chart_can_be_read_aloud(kind: str, shown: Figure) -> None:
    chart, table = drawn(shown)
    image = chart.all("svg")[0]
    named = (image["aria-labelledby"] or "").split()
    assert image["role"] == "img"
    assert named == [attributes["id"] for attributes in chart.all("title", "desc")]
    assert all(attributes.get("scope") in ("row", "col") for attributes in table.all("th"))


def test_there_is_a_figure_for_each_kind_of_number() -> None:
    full = ["crowd", "kept", "risk", "frontier", "lattice", "certificate"]
    case = KINDS["optimal"]
    assert [shown.key for shown in pictures(case, points(case), nodes(case))] == full
    assert [shown.key for shown in pictures(case, (), ())] == ["crowd", "kept", "risk", "certificate"]
    assert [shown.key for shown in pictures(KINDS["by class"], (), ())] == ["crowd", "kept", "risk"]
    assert [shown.key for shown in pictures(KINDS["diverse"], (), ())][-1] == "sensitive"


def test_where_nobody_is_left_there_is_no_risk_to_show() -> None:
    case = KINDS["everybody left out"]
    assert [shown.key for shown in pictures(case, points(case, 2, 3), nodes(case))] == [
        "crowd",
        "kept",
        "lattice",
        "certificate",
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_nobody_is_lost_between_before_and_after(kind: str) -> None:
    case = KINDS[kind]
    rows = crowds(case).table.rows
    for column, everybody in ((1, case.records), (3, case.records)):
        assert sum(int(str(row[column]).replace(",", "")) for row in rows) == everybody
    assert rows[-1][0] == "left out"


def test_bars_show_before_and_after() -> None:
    bars = groups_of(crowds(KINDS["one left out"]))[0].bars
    assert [(bar.label, bar.value) for bar in bars] == [
        ("alone", "1 → 0"),
        ("2 alike", "0 → 0"),
        ("3 to 4 alike", "0 → 0"),
        ("5 to 9 alike", "13 → 13"),
        ("left out", "0 → 1"),
    ]
    assert bars[0].before == pytest.approx(1 / 14)
    assert bars[0].share == 0


def test_people_still_at_risk_are_striped() -> None:
    shown = crowds(KINDS["above the limit"])
    assert "risk" in {bar.fill for bar in groups_of(shown)[0].bars}
    assert any("Striped" in words for words in shown.reading)
    assert {bar.fill for bar in groups_of(crowds(KINDS["optimal"]))[0].bars} == {"plain"}


def test_risks_that_cannot_be_compared_are_left_out() -> None:
    case = made(town(), k=5, suppression=0.1)
    other = case.result.assess(threshold=0.05)
    assert case.after is not None
    assert [bar.label for bar in groups_of(risks(case, case.after))[0].bars][-1] == "People above the threshold"
    strict = type(case)(case.result, case.before, other)
    assert [bar.label for bar in groups_of(risks(strict, other))[0].bars] == ["Highest risk of anybody", "Average risk"]


def test_levels_are_chips_and_words() -> None:
    case = KINDS["optimal"]
    bars = {bar.label: bar for bar in groups_of(kept(case))[0].bars}
    assert bars["age"].note == "level 3 of 3, one value for all"
    assert bars["age"].steps == (3, 3)
    assert bars["sex"].note == "level 0 of 1, as it was"
    assert {row[1] for row in kept(case).table.rows} == {bar.note for bar in bars.values()}


def test_classes_recoded_by_themselves_have_no_level() -> None:
    shown = kept(KINDS["by class"])
    assert {bar.note for bar in groups_of(shown)[0].bars} == {"by class"}
    assert all(bar.steps is None for bar in groups_of(shown)[0].bars)
    assert [row[3:] for row in shown.table.rows] == [("2", "2"), ("2", "3")]


def test_chips_are_filled_as_far_as_steps_were_taken() -> None:
    bars = (Bar("a", "1", 1.0, note="n", steps=(2, 3)), Bar("b", "1", 1.0, note="n", steps=(0, 1)))
    chart = Outline(str(bar_chart([Group(bars)], key="k", title="t", about="a")))
    chips = [attributes["class"] for attributes in chart.all("rect") if "chip" in (attributes["class"] or "")]
    assert chips == ["chip on", "chip on", "chip", "chip"]
    notes = {attributes["x"] for attributes in chart.all("text") if attributes["class"] == "note"}
    assert len(notes) == 1, "notes begin below each other"


def test_a_hierarchy_of_many_levels_has_no_chips() -> None:
    bar = Bar("a", "1", 1.0, note="level 3 of 40", steps=(3, 40))
    chart = Outline(str(bar_chart([Group((bar,))], key="k", title="t", about="a")))
    assert not [attributes for attributes in chart.all("rect") if "chip" in (attributes["class"] or "")]
