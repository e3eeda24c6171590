"""Assessment report as one HTML file: measures, columns, method."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence

from discreet.policy import Policy
from discreet.report.assessment.charts import pictures
from discreet.report.assessment.findings import allowed, by_topic, profile_findings
from discreet.report.charts.bars import spark
from discreet.report.toolkit import page
from discreet.report.toolkit.components import Cell, Row, Table, card, cards, folded_table
from discreet.report.toolkit.html import Child, element, join
from discreet.report.toolkit.words import amount, decimal, listed, one_in, people
from discreet.risk import Assessment, Profile
from discreet.wording import brief_percent

ELSEWHERE = {"economics": "measured", "population": "remains"}
"""Where a finding without a picture leads."""
ROLES = {
    "identifier": "identifier",
    "quasi": "quasi\N{NON-BREAKING HYPHEN}identifier",
    "sensitive": "sensitive",
    "other": "other",
}
REFERENCES = {
    "sweeney": "Sweeney, L. (2002). k-anonymity: a model for protecting privacy. International Journal of Uncertainty, "
    "Fuzziness and Knowledge-Based Systems 10(5).",
    "elemam": "El Emam, K. & Dankar, F. K. (2008). Protecting privacy using k-anonymity. Journal of the American Medical "
    "Informatics Association 15(5).",
    "marketer": "Dankar, F. K. & El Emam, K. (2010). A method for evaluating marketer re-identification risk. EDBT/ICDT "
    "Workshops.",
    "dankar": "Dankar, F. K., El Emam, K., Neisa, A. & Roffey, T. (2012). Estimating the re-identification risk of "
    "clinical data sets. BMC Medical Informatics and Decision Making 12:66.",
    "zayatz": "Zayatz, L. (1991). Estimation of the percent of unique population elements on a microdata file using the "
    "sample. U.S. Bureau of the Census.",
    "pitman": "Pitman, J. (1995). Exchangeable and partially exchangeable random partitions. Probability Theory and "
    "Related Fields 102.",
    "hoshino": "Hoshino, N. (2001). Applying Pitman's sampling formula to microdata disclosure risk assessment. Journal of "
    "Official Statistics 17(4).",
    "chen": "Chen, G. & Keller-McNulty, S. (1998). Estimation of identification disclosure risk in microdata. Journal of "
    "Official Statistics 14(1).",
    "nergiz": "Nergiz, M. E., Atzori, M. & Clifton, C. (2007). Hiding the presence of individuals from shared databases. "
    "SIGMOD.",
    "machanavajjhala": "Machanavajjhala, A., Gehrke, J., Kifer, D. & Venkitasubramaniam, M. (2006). l-diversity: privacy "
    "beyond k-anonymity. ICDE.",
    "li": "Li, N., Li, T. & Venkatasubramanian, S. (2007). t-closeness: privacy beyond k-anonymity and l-diversity. ICDE.",
    "cao": "Cao, J. & Karras, P. (2012). Publishing microdata with a robust privacy guarantee. Proceedings of the VLDB "
    "Endowment 5(11).",
    "wan": "Wan, Z. et al. (2015). A game theoretic framework for analyzing re-identification risk. PLoS ONE 10(3).",
}


def assessment_page(
    assessment: Assessment,
    *,
    title: str,
    source: str,
    created: datetime.datetime,
    command: str,
    version: str,
    policy: Policy | None = None,
    profile: Profile | None = None,
) -> str:
    """The report: findings, the picture behind each, measures, what remains, parameters, method, command."""
    return page.document(
        assessment_parts(assessment, source=source, command=command, policy=policy, profile=profile),
        kicker="Risk assessment",
        title=title,
        about=[source, people(assessment.records)],
        pills=[page.verdict(exceeded=assessment.exceeded)],
        created=created,
        version=version,
    )


def assessment_parts(
    assessment: Assessment,
    *,
    source: str,
    command: str,
    policy: Policy | None = None,
    profile: Profile | None = None,
) -> list[page.Part]:
    """The sections of the report, for pages that have a frame of their own."""
    figures = list(pictures(assessment, profile))
    measured = Table(
        "Each measure with its meaning", ("Measure", "Value", "Meaning"), tuple(measures(assessment)), (1,)
    )
    return [
        page.findings(by_topic(assessment, source), figures, elsewhere=ELSEWHERE),
        page.evidence(figures),
        page.section("columns", "Columns", *([] if profile is None else columns(profile)), title="The columns"),
        page.section("measured", "Measures", measured, title="What was measured"),
        page.remains("These measures do not say everything:", remains(assessment)),
        page.section("parameters", "Parameters", parameters(assessment, policy=policy)),
        page.method(method(assessment), references(assessment)),
        page.reproduce(command, note=page.policy_note(policy)),
    ]


def columns(profile: Profile) -> list[Child | Table]:
    """Role, distinct values, share unique and shape of each column; shapes and shares, never values."""
    rows, shapes = [], []
    for place, column in enumerate(profile.columns):
        shares = [share.records / profile.records for share in column.distribution]
        shape: Cell = "not shown"
        if shares:
            about = f"{len(shares)} bars; the tallest is {brief_percent(max(shares))} of people."
            shape = spark(shares, key=f"shape-{place}", title=f"Distribution of {column.name}", about=about)
        rows.append(
            (
                join(column.name),
                ROLES[column.role],
                f"{column.distinct:,}",
                brief_percent(column.share_unique),
                shape,
                f"{column.missing:,}",
                column.looks,
                join(column.reason),
            )
        )
        bars = ", ".join(map(brief_percent, shares)) or "not shown"
        shapes.append((join(column.name), bars, brief_percent((column.hidden + column.missing) / profile.records)))
    head = ("Column", "May be", "Distinct", "People alone", "Shape", "Missing", "Looks like", "Because")
    bars_head = ("Column", "Share of people in each bar, from the left", "In no bar")
    return [
        cards([card(finding) for finding in profile_findings(profile)], kind="pairs"),
        "Shapes show how people spread over values or ranges. Values are left out, so that this report can be passed on.",
        Table("The columns and what they may be to an adversary", head, tuple(rows), (2, 3, 5)),
        folded_table(Table("The shapes in numbers", bars_head, tuple(shapes), (2,))),
    ]


def measures(assessment: Assessment) -> Iterator[tuple[str, str, str]]:
    """Name, value and meaning of each measure."""
    yield "People", f"{assessment.records:,}", "everybody in the data"
    yield "Classes", f"{assessment.classes:,}", "sets of people who look alike on the assessed columns"
    yield "Unique people", f"{assessment.uniques:,}", "classes of one"
    yield "k", f"{assessment.k:,}", "people in the smallest class"
    average = decimal(assessment.average_risk, digits=4)
    yield "Average risk", average, "mean over people of one over the size of their class"
    prosecuted, reported = (brief_percent(view.at_risk) for view in (assessment.prosecutor, assessment.journalist))
    yield "Prosecutor: above the threshold", prosecuted, "people, if their presence in the data is known"
    yield "Journalist: above the threshold", reported, "people, if only their presence in the population is known"
    yield "Marketer: success", brief_percent(assessment.marketer), "people linked rightly when everybody is linked"
    if (presence := assessment.presence) is not None:
        lowest, highest = brief_percent(presence.lowest), brief_percent(presence.highest)
        yield "k-map", f"{presence.k_map:,}", "people in the population who look like the rarest person in the data"
        yield "Presence, lowest", lowest, "least probability that a person of the population is in the data"
        yield "Presence, highest", highest, "largest such probability; 100 % means certain"
        yield "Uncovered people", f"{presence.uncovered:,}", "people of the data whom the population shows too few of"
    if (game := assessment.economics) is not None:
        yield "Attacked", f"{game.attacked:,}", "people whom it pays to attack"
        yield "Re-identified", decimal(game.reidentified, digits=1), "of them, expected"
        yield "Adversary's payoff", amount(game.adversary), "expected, in all"
        yield "Publisher's payoff", amount(game.publisher), "expected, in all"


def parameters(assessment: Assessment, *, policy: Policy | None) -> Table:
    """What was chosen before anything was counted."""
    levels = assessment.levels
    assessed = [
        name + (f" (generalised to level {levels[name]})" if levels.get(name) else "") for name in assessment.columns
    ]
    population = "not given"
    if assessment.population_size is not None:
        kind = "a size only" if assessment.presence is None else "a table"
        population = f"{people(assessment.population_size)}, given as {kind}"
    rows: list[Row] = [
        ("Assessed columns", join(_all(assessed))),
        ("Sensitive columns", join(_all(tuple(assessment.inference)))),
        ("Threshold", f"{assessment.threshold:g}: a risk above {one_in(assessment.threshold)} counts as at risk"),
        ("Limit", f"{allowed(assessment)} above the threshold"),
        ("Population", population),
    ]
    if policy is not None and policy.file:
        rows.append(("Policy", element("code", policy.file)))
    return Table("What was chosen before counting", ("Parameter", "Value"), tuple(rows))


def _all(names: Sequence[str]) -> str:
    return listed(names, most=len(names) + 1) or "none"


def remains(assessment: Assessment) -> Iterator[str]:
    """What these measures do not say."""
    yield (
        "Only the assessed columns count. An adversary who knows more about people, or a column without a role, "
        "makes classes smaller than shown here."
    )
    yield (
        "The adversary is assumed to know every assessed value exactly. Errors in either data set make a match "
        "harder, so the risks are on the safe side."
    )
    yield "One guess per person is measured. An adversary who plans, buys further data or tries again is not measured here."
    yield "Earlier releases about the same people are not taken into account: two harmless tables can be joined."
    yield (
        "What can be inferred is measured for the sensitive columns of the policy only."
        if assessment.inference
        else "No column was named sensitive, so nothing is said about what can be learnt without recognising anybody."
    )
    if assessment.population_uniqueness is None:
        return
    if assessment.presence is None:
        yield (
            "Population uniques are estimates. They hold if the data are a random sample; if people were selected, by "
            "illness for instance, the truth can be different."
        )
    else:
        yield "The population is taken as complete and coded like the data; people it misses have fewer look-alikes than shown."


def method(assessment: Assessment) -> Iterator[str]:
    """How it was measured, with authors and years."""
    yield (
        "People are counted per combination of values in the assessed columns; every measure is computed from these "
        "counts alone. People with the same values form a class, and k is the size of the smallest (Sweeney 2002)."
    )
    yield (
        "The risk of a person is one over the size of the class: in the data for the prosecutor, in the population for "
        "the journalist (El Emam & Dankar 2008). The marketer links everybody and gets a share right, to "
        "which each class adds its size in the data over its size in the population (Dankar & El Emam 2010)."
    )
    if assessment.population_uniqueness is not None:
        yield (
            "Unique people of the population are estimated by the models of Zayatz (1991), Pitman (1995; Hoshino 2001) "
            "and the slide negative binomial (Chen & Keller-McNulty 1998); the rule of Dankar et al. (2012) chooses one."
        )
    if assessment.presence is not None:
        yield "How certain it is that a person is in the data follows Nergiz et al. (2007)."
    if assessment.inference:
        yield (
            "Sensitive columns: l-diversity (Machanavajjhala et al. 2006), t-closeness with equal and hierarchical "
            "distance (Li et al. 2007), beta-likeness (Cao & Karras 2012); each for the worst class."
        )
    if assessment.economics is not None:
        yield "Economics: the adversary attacks each person for whom an attack pays, once (Wan et al. 2015)."


def references(assessment: Assessment) -> tuple[str, ...]:
    """The papers behind the measures that were used, by author."""
    used = ["sweeney", "elemam", "marketer"]
    if assessment.population_uniqueness is not None:
        used += ["dankar", "zayatz", "pitman", "hoshino", "chen"]
    if assessment.presence is not None:
        used += ["nergiz"]
    if assessment.inference:
        used += ["machanavajjhala", "li", "cao"]
    if assessment.economics is not None:
        used += ["wan"]
    return tuple(sorted(REFERENCES[name] for name in used))
