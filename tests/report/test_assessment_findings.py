"""Findings: a number, a comparison, a next step, in grammatical words and without anybody's value."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.kernel import Classes, Histogram, Tally
from discreet.policy import Policy
from discreet.report import Finding, findings, profile_findings
from discreet.risk import Assessment, Economics, assess, profile
from tests.report.samples import ILL, People, crowds, every_kind, people_profile, with_illness

KINDS = dict(every_kind())


def told(assessment: Assessment) -> tuple[Finding, ...]:
    return findings(assessment, source="people.csv")


def headline(assessment: Assessment, place: int) -> str:
    return told(assessment)[place].headline


def sentences(found: tuple[Finding, ...]) -> str:
    return " ".join(f"{finding.headline} {finding.next_step}" for finding in found)


@pytest.mark.parametrize("kind", KINDS)
def test_there_are_three_or_more_whole_sentences(kind: str) -> None:
    found = told(KINDS[kind])
    assert len(found) >= 3
    for finding in found:
        assert finding.headline.endswith(".")
        assert finding.next_step.endswith(".")
        assert "  " not in sentences(found)


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_and_nouns_agree(kind: str) -> None:
    text = sentences(told(KINDS[kind]))
    assert not re.search(r"\b1 (people|others|other people|columns|values)\b", text)
    assert not re.search(r"\b(0\.0 %|100\.0 %|None|nan|inf)(?! of)", text)
    assert not re.search(r"\d{4,}", text), "thousands are separated"


@given(st.lists(st.integers(1, 9), min_size=1, max_size=30), st.floats(0.01, 1))
def test_any_table_can_be_told(sizes: list[int], threshold: float) -> None:
    assert len(told(assess(crowds(*sizes), threshold=threshold))) == 3


def test_one_unique_person() -> None:
    assert headline(KINDS["one unique"], 0) == (
        "1 of 14 people in people.csv (7.1 %) can be singled out by zip: nobody else shares that person's values."
    )
    assert headline(KINDS["one unique"], 1).startswith(
        "1 of 14 people (7.1 %) has a risk above the threshold of 1 in 5."
    )


def test_few_among_many_are_not_nought_per_cent() -> None:
    assert "(fewer than 0.1 %)" in headline(assess(crowds(1, 20_000)), 0)


def test_everybody_unique() -> None:
    assert headline(KINDS["all unique"], 0) == (
        "All 3 people in people.csv (100 %) can be singled out by zip: no two people look alike."
    )


def test_one_record() -> None:
    found = told(KINDS["one record"])
    assert (
        found[0].headline == "The only person in people.csv can be singled out by zip: there is nobody to hide among."
    )
    assert "k = 5" not in found[1].next_step


def test_nobody_unique_names_the_smallest_class() -> None:
    found = told(KINDS["nobody unique"])[0]
    assert found.headline == (
        "Nobody in people.csv can be singled out by zip: each of the 15 people shares their values with at least "
        "1 other person."
    )
    assert "(people who look alike) has 2 people, but the threshold of 1 in 5 asks for 5." in found.next_step


def test_the_limit_and_its_verdict() -> None:
    assert "The limit allows nobody: the data are above the limit." in headline(KINDS["one unique"], 1)
    assert "None of the 769 people has a risk" in headline(KINDS["safe"], 1)
    assert "within the limit" in headline(KINDS["safe"], 1)


def test_the_binding_adversary() -> None:
    assert "(the prosecutor)" in told(KINDS["size only"])[1].next_step
    assert "(the journalist)" in told(KINDS["population"])[1].next_step


def test_no_population() -> None:
    found = told(KINDS["one unique"])[2]
    assert "worst case" in found.headline
    assert "`--population`" in found.next_step


def test_population_as_a_number_names_the_model() -> None:
    found = told(KINDS["size only"])[2]
    assert found.headline.startswith("An estimated ")
    assert "of the 1,000 people of the population" in found.headline
    assert "Dankar's rule chooses Pitman's model" in found.next_step


def test_population_as_a_number_without_uniques() -> None:
    assert headline(KINDS["size, none unique"], 2).startswith("An estimated 0 of the 1,000 people")


def test_population_as_a_table() -> None:
    found = told(KINDS["population"])[2]
    assert found.headline == (
        "1 of 10 people in people.csv (10 %) is alone in the population of 73 people too, of 2 who are alone in the data."
    )
    assert "covers everybody" in found.next_step


def test_a_population_that_misses_people_is_said() -> None:
    assert "too few people like 6 people of the data" in told(KINDS["population, uncovered"])[2].next_step


def test_nobody_alone_in_the_population() -> None:
    alone = assess(crowds(1, 6), population=crowds(4, 60))
    assert headline(alone, 2) == (
        "Nobody in people.csv is alone in the population of 64 people: the smallest class there has 4, against 1 in the data."
    )


def test_a_certain_value() -> None:
    found = told(KINDS["sensitive"])[3]
    assert found.headline.startswith("For 31 of 38 people (81.6 %) the value of illness is certain")


def test_a_certain_value_without_anybody_alone() -> None:
    certain = assess(with_illness([("z1", "flu", 3), ("z2", "flu", 4), ("z2", "cold", 4)]))
    assert headline(certain, 3).startswith("For 3 of 11 people (27.3 %)")


def test_an_uncertain_value_is_compared_with_the_table() -> None:
    mixed = assess(with_illness([("z1", "flu", 3), ("z1", "cold", 3), ("z2", "flu", 2), ("z2", "cold", 10)]))
    found = told(mixed)[3]
    assert "at least 2 values, but a value can be up to 1.8 times as common as in the whole table" in found.headline
    assert "t = 0.222" in found.next_step


def test_a_value_that_everybody_has() -> None:
    same = assess(with_illness([("z1", "flu", 3), ("z2", "flu", 4)]))
    assert headline(same, 3).startswith("All 7 people (100 %) have the same value of illness")


def test_economics() -> None:
    assert headline(KINDS["sensitive, economics"], 4).startswith("Attacking pays against all 38 people (100 %)")
    dear = Economics(adversary_gain=1, adversary_cost=4, publisher_benefit=10, publisher_loss=3)
    nobody = assess(crowds(1, 6), economics=dear)
    assert headline(nobody, 3).startswith("Attacking pays against none of the 7 people")
    assert "keeps 70" in told(nobody)[3].next_step


def test_no_finding_tells_a_value() -> None:
    text = sentences(told(assess(with_illness(ILL), population=100)))
    assert not re.search(r"\b(flu|cold|z1|z2|z3)\b", text)


def test_profile_findings() -> None:
    text = [finding.headline for finding in profile_findings(people_profile())]
    assert len(text) == 4
    assert re.match(r"sex, zip, .* together single out .* of 40 people|.* single out all 40 people", text[0])
    assert text[1] == "1 of 5 columns looks like an identifier (naming a person without any other column): id."
    assert "tell all 40 people apart; the shortest is id." in text[2].replace("tells", "tell")
    assert text[3] == "The roles of all 5 columns are guesses from names and values."


def test_profile_of_a_single_column() -> None:
    class One(People):
        columns = ("id",)

    text = [finding.headline for finding in profile_findings(profile(One()))]
    assert text[0].startswith("1 of 1 column looks like an identifier")
    assert text[-1] == "The role of the only column is a guess from names and values."


def test_profile_in_which_nobody_stands_out() -> None:
    class Alike(People):
        columns = ("sex", "plan")

        def classes(self, by: object = None, *, sensitive: object = ()) -> Classes:
            names = list(by) if isinstance(by, (list, tuple)) else ["sex", "plan"]
            return Classes.of(names, [[value] * len(names) for value in "ab"], [10, 10])

        def tallies(self, names: Sequence[str]) -> Iterator[Tally]:
            return (Tally.of(Histogram.from_rows([name], [("a", 10), ("b", 10)])) for name in names)

    text = [finding.headline for finding in profile_findings(profile(Alike()))]
    assert text[0] == "No combination of up to 2 columns singles out any of the 20 people."
    assert text[2] == "No combination of up to 2 columns tells all 20 people apart."


def test_with_a_policy_findings_speak_of_its_roles() -> None:
    columns = {"id": {"role": "identifier"}, "zip": {"role": "quasi?"}, "note": {"role": "drop"}}
    text = [finding.headline for finding in profile_findings(people_profile(), Policy.from_dict({"columns": columns}))]
    assert (
        text[1]
        == "No column that would be published looks like an identifier; 2 columns of the policy are never published."
    )
    assert text[3].startswith("The role of zip is a guess that no person has confirmed.")
    sure = Policy.from_dict({"columns": {"zip": {"role": "quasi"}}})
    text = [finding.headline for finding in profile_findings(people_profile(), sure)]
    assert len(text) == 3
    assert "looks like an identifier (naming a person without any other column): id." in text[1]
