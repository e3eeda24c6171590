"""Survey samples in a report: weighted and household risk as findings, a figure, measures and method."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.report.charts.bars import Group, share_bar
from discreet.report.toolkit.page import Figure, Finding, Table
from discreet.report.toolkit.words import about, agree, decimal, lowered, one_in, part, people, plural
from discreet.risk import Assessment, HouseholdRisk, WeightedRisk
from discreet.wording import brief_percent, percent

SURVEY_REFERENCES = {
    "benedetti": "Benedetti, R. & Franconi, L. (1998). Statistical and technological solutions for controlled data "
    "dissemination. Pre-proceedings of New Techniques and Technologies for Statistics, vol. 1.",
    "franconi": "Franconi, L. & Polettini, S. (2004). Individual risk estimation in mu-Argus: a review. Privacy in "
    "Statistical Databases, LNCS 3050.",
}
MEMBERS = {
    "weighted": "individual risk by survey weights",
    "journalist": "risk among the people of the population",
    "prosecutor": "risk among the people in the data",
}


def survey_findings(assessment: Assessment) -> Iterator[Finding]:
    """What weights and households add, where the policy declares them."""
    if (found := assessment.weighted) is not None:
        yield weighted_finding(assessment, found)
    if (homes := assessment.household) is not None:
        yield household_finding(assessment, homes)


def weighted_finding(assessment: Assessment, found: WeightedRisk) -> Finding:
    """Expected re-identifications among the people in the sample."""
    number = round(found.at_risk * assessment.records)
    return Finding(
        f"By their survey weights the {people(assessment.records)} represent {about(found.population)} in the population: "
        f"{about(found.expected_reidentifications)} of them would be re-identified ({percent(found.global_risk)}), and "
        f"{lowered(part(number, assessment.records))} {agree(number, 'has', 'have')} an individual risk above "
        f"{one_in(assessment.threshold)}.",
        f"Protect those with the highest risk first, which is {brief_percent(found.highest)}: "
        "The risk of every row can be listed for the custodian only (`discreet assess --records`). Limits are still compared "
        "with the risk among the people in the data, which is never lower.",
    )


def household_finding(assessment: Assessment, homes: HouseholdRisk) -> Finding:
    """How many households have a member who may be recognised."""
    number = round(homes.at_risk * homes.households)
    alone = homes.without_number
    missing = (
        f" {people(alone).capitalize()} without a household number {agree(alone, 'counts', 'count')} as "
        f"{agree(alone, 'a household', 'households')} of one: add the numbers if they are known."
        if alone
        else ""
    )
    return Finding(
        f"In {number:,} of {plural(homes.households, 'household')} ({percent(homes.at_risk)}) the risk that at least one "
        f"member is re-identified is above {one_in(assessment.threshold)}; {about(homes.expected_households)} "
        f"{agree(homes.households, 'household is', 'households are')} expected to be recognised by a member.",
        "An attacker who recognises one member learns about the others. Make columns that members share coarser (size of "
        f"the household, place), or leave out the household number.{missing}",
    )


def survey_figure(assessment: Assessment) -> Figure:
    """People and households at risk, by the data alone and by survey weights."""
    threshold, alone = assessment.threshold, assessment.prosecutor
    people_rows = [("People, by the data alone", alone.at_risk, alone.success, alone.highest)]
    if (found := assessment.weighted) is not None:
        people_rows.append(("People, by survey weights", found.at_risk, found.global_risk, found.highest))
    if (homes := assessment.household) is not None:
        people_rows.append(("Households", homes.at_risk, homes.average, homes.highest))
    return Figure(
        key="survey",
        title="The sample and its population",
        about="; ".join(f"{name}: {brief_percent(above)} above the threshold" for name, above, _, _ in people_rows)
        + ".",
        reading=(
            "By the data alone a person hides among those in the sample who look alike.",
            "Survey weights say how many people of the population these represent.",
            "A household is at risk if one of its members is: 1 minus the product of (1 minus risk) over its members.",
            f"The threshold is {one_in(threshold)}.",
        ),
        chart=(
            Group(tuple(share_bar(name, above) for name, above, _, _ in people_rows), "Above the threshold"),
            Group(tuple(share_bar(name, mean) for name, _, mean, _ in people_rows), "Mean risk"),
            Group(tuple(share_bar(name, most, limit=threshold) for name, _, _, most in people_rows), "Highest risk"),
        ),
        table=Table(
            "Risk of people and households",
            ("Who", "Above the threshold", "Mean risk", "Highest risk"),
            tuple((name, *map(brief_percent, shares)) for name, *shares in people_rows),
            (1, 2, 3),
        ),
    )


def survey_measures(assessment: Assessment) -> Iterator[tuple[str, str, str]]:
    """Name, value and meaning of each measure."""
    if (found := assessment.weighted) is not None:
        yield "Weighted: above the threshold", brief_percent(found.at_risk), "people, by individual risk"
        yield "Weighted: highest", brief_percent(found.highest), "largest individual risk"
        yield "Weighted: global risk", brief_percent(found.global_risk), "mean of the individual risks"
        expected = decimal(found.expected_reidentifications, digits=1)
        yield "Weighted: re-identified", expected, "expected people, the sum of the individual risks"
        yield "Sum of weights", f"{found.population:,.0f}", "estimated people in the population"
    if (homes := assessment.household) is not None:
        yield "Households", f"{homes.households:,}", "in the data"
        above = brief_percent(homes.at_risk)
        yield "Households: above the threshold", above, f"a member is re-identified; {MEMBERS[homes.individual]}"
        yield "Households: highest", brief_percent(homes.highest), "largest risk of a household"
        yield "Households: average", brief_percent(homes.average), "mean over households"
        yield "Households: re-identified", decimal(homes.expected_households, digits=1), "expected households"
        yield "Without household number", f"{homes.without_number:,}", "people, each counted as a household of one"


def survey_method(assessment: Assessment) -> Iterator[str]:
    """How it was measured, with authors and years."""
    if assessment.weighted is not None:
        yield (
            "Individual risk by survey weights (Benedetti & Franconi 1998; Franconi & Polettini 2004): the number of people "
            "in the population who look like a class of f people has a negative binomial distribution with p = f / sum of "
            "weights, and the risk is the mean of one over that number. Global risk is the mean over people."
        )
    if assessment.household is not None:
        yield (
            "Household risk is one minus the product of (1 - risk) over the members; the risk of a member is the "
            f"{MEMBERS[assessment.household.individual]}."
        )
