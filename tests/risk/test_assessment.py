"""`assess`: every measure of one table, its limits, its words and its JSON."""

from __future__ import annotations

import json
import math
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ColumnError, EmptySource, UsageError
from discreet.kernel import Classes, Mask
from discreet.policy import Policy
from discreet.risk import Economics, assess, bands, estimate, infer, journalist, marketer, presence, prosecutor
from discreet.risk.reidentification import linked_sizes
from tests.risk.strategies import Rows, few, listings

# One class each of 1, 4 and 5 people: risks of 1, 0.25 and 0.2.
SAMPLE = Classes.of(["zip"], [("10",), ("11",), ("20",)], [1, 4, 5], rules={"zip": Mask(2)})
POPULATION = Classes.of(["zip"], [("10",), ("11",), ("20",), ("30",)], [2, 8, 100, 7], rules={"zip": Mask(2)})

KEYS = {
    "records",
    "rows",
    "classes",
    "uniques",
    "k",
    "columns",
    "levels",
    "threshold",
    "prosecutor",
    "journalist",
    "marketer",
    "average_risk",
    "population_uniqueness",
    "presence",
    "weighted",
    "household",
    "sensitive",
    "economics",
    "attack",
    "class_sizes",
    "limit",
}


def patients(**sections: Any) -> Rows:
    """Four people, two of whom look alike, seen through a policy."""
    policy = {
        "columns": {
            "zip": {"role": "quasi", "hierarchy": {"mask": 2}},
            "illness": {"role": "sensitive"},
            "name": {"role": "identifier"},
        },
        **sections,
    }
    rows = [("10", "flu", "Ada"), ("10", "cold", "Ben"), ("11", "flu", "Cleo"), ("20", "flu", "Dan")]
    return Rows(("zip", "illness", "name"), rows, Policy.from_dict(policy))


# the measures


def test_the_counts_are_those_of_the_classes() -> None:
    found = assess(SAMPLE)
    assert (found.records, found.classes, found.uniques, found.k) == (10, 3, 1, 1)
    assert found.average_risk == pytest.approx(0.3)
    assert (found.columns, dict(found.levels)) == (("zip",), {"zip": 0})


def test_without_a_population_everybody_hides_in_the_data() -> None:
    found = assess(SAMPLE)
    assert found.prosecutor == prosecutor(SAMPLE.sizes, threshold=0.2)
    assert found.journalist == journalist(SAMPLE.sizes, SAMPLE.sizes, threshold=0.2)
    assert found.marketer == pytest.approx(found.average_risk)
    assert (found.presence, found.population_uniqueness, found.population_size) == (None, None, None)


def test_a_population_as_a_table_is_what_the_journalist_looks_at() -> None:
    found, linked = assess(SAMPLE, POPULATION), linked_sizes(SAMPLE, POPULATION)[0]
    assert linked.tolist() == [2, 8, 100]
    assert found.prosecutor == prosecutor(SAMPLE.sizes, threshold=0.2)
    assert found.journalist == journalist(SAMPLE.sizes, linked, threshold=0.2)
    assert found.marketer == marketer(SAMPLE.sizes, linked)
    assert found.presence == presence(SAMPLE, POPULATION)
    assert found.population_size == 117
    assert found.population_uniqueness == estimate(SAMPLE.sizes, 117)
    assert found.population_uniques == 0


def test_people_who_are_alone_in_the_population_are_counted() -> None:
    population = Classes.of(["zip"], [("10",), ("11",), ("20",)], [1, 8, 9])
    assert assess(SAMPLE, population).population_uniques == 1


def test_a_population_as_a_number_only_tells_how_many_are_unique() -> None:
    found = assess(SAMPLE, 1000)
    assert found.population_size == 1000
    assert found.population_uniqueness == estimate(SAMPLE.sizes, 1000)
    assert found.journalist.at_risk == found.prosecutor.at_risk
    assert found.presence is None


def test_a_population_may_be_a_table_that_counts_itself() -> None:
    table = Rows(("age", "zip"), [("39", "10")] * 3)
    assert assess(SAMPLE, table).presence == presence(SAMPLE, Classes.of(["zip"], [("10",)], [3]))
    assert table.asked == [("zip",)]


def test_classes_that_went_up_are_assessed_where_they_are() -> None:
    found = assess(SAMPLE.at([1]), POPULATION)
    assert (found.classes, found.k, dict(found.levels)) == (2, 5, {"zip": 1})
    assert found.presence is not None
    assert found.presence.k_map == 10


def test_people_are_shared_out_over_bands() -> None:
    assert assess(SAMPLE).bands == bands(SAMPLE.sizes)


def test_sensitive_columns_of_the_policy_are_counted_along() -> None:
    table = patients()
    found = assess(table)
    assert list(found.inference) == ["illness"]
    assert found.inference["illness"] == infer(table.classes(sensitive=["illness"]).spreads["illness"])


def test_economics_are_played_where_amounts_are_given() -> None:
    game = Economics(adversary_gain=300, adversary_cost=4, publisher_benefit=1200, publisher_loss=300)
    assert assess(SAMPLE, POPULATION, economics=game).economics == game.play(SAMPLE.sizes, np.array([2, 8, 100]))
    assert assess(SAMPLE).economics is None


def test_the_amounts_of_the_policy_are_used_unless_others_are_given() -> None:
    amounts = {"adversary_gain": 300.0, "adversary_cost": 4.0, "publisher_benefit": 1200.0, "publisher_loss": 300.0}
    table, alone = patients(economics=amounts), np.array([2, 1, 1])
    assert assess(table).economics == Economics(**amounts).play(alone, alone)
    assert assess(table, economics=Economics(0, 0, 0, 0)).economics == Economics(0, 0, 0, 0).play(alone, alone)


# thresholds and limits


@pytest.mark.parametrize(("threshold", "at_risk"), [(0.19, 1.0), (0.2, 0.5), (0.24, 0.5), (0.25, 0.1), (1.0, 0.0)])
def test_only_people_strictly_above_the_threshold_are_at_risk(threshold: float, at_risk: float) -> None:
    assert assess(SAMPLE, threshold=threshold).prosecutor.at_risk == at_risk


def test_the_threshold_is_one_in_five_unless_told() -> None:
    assert assess(SAMPLE).threshold == 0.2


def test_the_threshold_of_the_policy_yields_to_the_one_given() -> None:
    table = patients(limits={"threshold": 0.6})
    assert assess(table).threshold == 0.6
    assert assess(table, threshold=0.4).threshold == 0.4


@pytest.mark.parametrize("threshold", [0, 0.0, -0.2, 1.0001, 20, math.nan, math.inf])
def test_silly_thresholds_are_refused(threshold: float) -> None:
    with pytest.raises(UsageError, match="threshold"):
        assess(SAMPLE, threshold=threshold)


@pytest.mark.parametrize(("allowed", "exceeded"), [(0.49, True), (0.5, False), (1.0, False), (0.0, True)])
def test_limits_are_exceeded_only_strictly_above(allowed: float, exceeded: bool) -> None:
    found = assess(patients(limits={"threshold": 0.5, "at_risk": allowed}))
    assert found.prosecutor.at_risk == 0.5
    assert found.exceeded is exceeded


def test_without_a_policy_nobody_may_be_at_risk() -> None:
    assert assess(SAMPLE).exceeded
    assert not assess(SAMPLE, threshold=1.0).exceeded


def test_limits_are_held_against_the_journalist_where_the_population_is_a_table() -> None:
    everybody = Classes.of(["zip"], [("10",), ("11",), ("20",)], [100, 100, 100])
    assert assess(SAMPLE).binding == assess(SAMPLE).prosecutor
    assert assess(SAMPLE, 1000).binding == assess(SAMPLE).prosecutor
    assert assess(SAMPLE, everybody).binding == assess(SAMPLE, everybody).journalist
    assert not assess(SAMPLE, everybody).exceeded


# populations


def test_the_population_of_the_policy_is_used_unless_another_is_given() -> None:
    table = patients(population={"size": 500})
    assert assess(table).population_size == 500
    assert assess(table, 700).population_size == 700


@pytest.mark.parametrize("size", [9, 1, 0, -5])
def test_a_population_that_cannot_hold_the_data_is_refused(size: int) -> None:
    with pytest.raises(UsageError, match="cannot hold the 10 people"):
        assess(SAMPLE, size)


def test_a_population_as_large_as_the_data_will_do() -> None:
    assert assess(SAMPLE, 10).population_size == 10


def test_a_population_may_be_a_number_of_numpy() -> None:
    assert assess(SAMPLE, np.int64(1000)).population_size == 1000


@pytest.mark.parametrize("population", [1000.5, "voters.csv", True], ids=["fraction", "path", "truth"])
def test_what_is_no_population_is_refused_in_words(population: Any) -> None:
    with pytest.raises(UsageError):
        assess(Classes.of(["zip"], [("10",)]), population)


def test_a_population_without_the_columns_of_the_data_is_refused() -> None:
    with pytest.raises(ColumnError, match="'zip'"):
        assess(SAMPLE, Classes.of(["age"], [("39",)]))


def test_a_population_that_lacks_people_of_the_data_counts_them_by_the_data() -> None:
    found = assess(SAMPLE, Classes.of(["zip"], [("10",)], [4]))
    assert found.presence is not None
    assert (found.presence.uncovered, found.presence.k_map) == (9, 4)
    assert found.population_size == 4
    json.dumps(found.to_dict(), allow_nan=False)


def test_a_table_without_people_is_refused() -> None:
    with pytest.raises(EmptySource):
        assess(Classes.of(["zip"], []))


# JSON


def test_the_keys_of_the_json_are_stable() -> None:
    found = assess(SAMPLE, POPULATION).to_dict()
    assert set(found) == KEYS
    assert set(found["prosecutor"]) == set(found["journalist"]) == {"at_risk", "highest", "success"}
    assert set(found["marketer"]) == {"success"}
    assert set(found["limit"]) == {"at_risk", "exceeded"}


@pytest.mark.parametrize("population", [None, 1000, POPULATION], ids=["unknown", "number", "table"])
def test_the_keys_do_not_depend_on_the_population(population: Classes | int | None) -> None:
    assert set(assess(SAMPLE, population).to_dict()) == KEYS


def test_the_json_says_what_the_assessment_says() -> None:
    found = assess(SAMPLE, POPULATION)
    shown = found.to_dict()
    for key in ("records", "classes", "uniques", "k", "average_risk", "threshold"):
        assert shown[key] == getattr(found, key)
    assert shown["prosecutor"]["at_risk"] == found.prosecutor.at_risk
    assert shown["journalist"]["success"] == found.journalist.success
    assert shown["marketer"]["success"] == found.marketer
    assert shown["limit"] == {"at_risk": 0.0, "exceeded": True}
    assert shown["population_uniqueness"]["population"] == 117
    assert sum(band["records"] for band in shown["class_sizes"]) == 10


def test_an_unknown_population_is_told_in_words() -> None:
    shown = assess(SAMPLE).to_dict()["population_uniqueness"]
    assert shown["population"] is None
    assert "not known" in shown["reason"]


@few
@given(st.data())
def test_the_json_has_plain_numbers_whatever_the_people(data: st.DataObject) -> None:
    listing = data.draw(listings(columns=3, fewest=1, least=1))
    sample = listing.classes_with_spread("c0")
    others = data.draw(listings(trees_of={name: listing.trees[name] for name in sample.names}))
    population = data.draw(st.sampled_from([None, sample.records, sample.records * 7, others.classes(), sample]))
    found = assess(sample, population, economics=Economics(300, 4, 1200, 300)).to_dict()
    assert json.loads(json.dumps(found, allow_nan=False)) == found


# in words


def test_the_repr_is_one_line_of_counts() -> None:
    assert repr(assess(SAMPLE)) == "Assessment(10 people, 1 unique, k=1, average risk 0.3000)"


def test_no_value_of_a_person_is_shown_anywhere() -> None:
    sample = Classes.of(["zip"], [("secret-1",), ("secret-2",)])
    found = assess(sample, sample)
    for shown in (repr(found), found._repr_html_(), json.dumps(found.to_dict())):
        assert "secret" not in shown


class Texts(HTMLParser):
    """The tags and the text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_names_of_columns_are_escaped_in_a_notebook() -> None:
    name = "<script>alert('a & b')</script>"
    page = Texts(assess(Classes.of([name], [("1",)]))._repr_html_())
    assert set(page.tags) == {"table", "caption", "tr", "th", "td"}
    assert name in page.text


def test_a_notebook_shows_the_figures() -> None:
    page = Texts(assess(SAMPLE, POPULATION)._repr_html_())
    for words in ("10", "1 (10 %)", "Average risk", "0.3000", "At risk above 0.2, journalist"):
        assert words in page.text
