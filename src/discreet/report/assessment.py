"""Assessment report: charts with the tables of their numbers, measures, columns, method."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence

from discreet.policy import Policy
from discreet.report.assessment_findings import MODELS, ROLES, allowed, by_topic, profile_findings, role_in
from discreet.report.charts.bars import Bar, Fill, Group, count_bar, share_bar, spark
from discreet.report.survey import SURVEY_REFERENCES, survey_figure, survey_measures, survey_method
from discreet.report.toolkit import page
from discreet.report.toolkit.html import Child, join
from discreet.report.toolkit.page import Cell, Figure, Row, Table, card, cards, folded_table
from discreet.report.toolkit.words import amount, crowd, decimal, every, one_in, people, plural, points
from discreet.risk import Assessment, Band, PopulationUniqueness, Profile
from discreet.risk.giveaways import Telling
from discreet.wording import brief_percent, people_in_rows, percent

STANDING: dict[Fill, str] = {"risk": "at risk", "partly": "partly at risk", "plain": "within the threshold"}
ESTIMATORS = {"zayatz": "Zayatz", "pitman": "Pitman", "snb": "Slide negative binomial"}


def pictures(assessment: Assessment, profile: Profile | None) -> Iterator[Figure]:
    """Every figure that the numbers allow, in the order of the findings."""
    yield crowds(assessment)
    yield adversaries(assessment)
    if assessment.population_uniqueness is not None:
        yield population(assessment, assessment.population_uniqueness)
    if assessment.inference:
        yield sensitive(assessment)
    if assessment.weighted is not None or assessment.household is not None:
        yield survey_figure(assessment)
    if profile is not None and profile.telling:
        yield combinations(profile)


def inhabited(bands: tuple[Band, ...]) -> tuple[Band, ...]:
    """Without the empty bands beyond the largest class."""
    last = max((place for place, band in enumerate(bands) if band.records), default=0)
    return bands[: last + 1]


def standing(band: Band, threshold: float) -> Fill:
    """Whether the people of a band are at risk, all or some of them."""
    if 1 / band.smallest <= threshold:
        return "plain"
    return "risk" if band.largest is not None and 1 / band.largest > threshold else "partly"


def alike(band: Band) -> str:
    """The band in words."""
    return "alone" if band.largest == 1 else f"{band.label} alike"


def crowds(assessment: Assessment) -> Figure:
    """How many people share their values with how many others."""
    records, threshold, needed = assessment.records, assessment.threshold, crowd(assessment.threshold)
    bands = [(band, standing(band, threshold)) for band in inhabited(assessment.bands)]
    groups = []
    for fill, title in STANDING.items():
        mine = [band for band, kind in bands if kind == fill]
        if mine:
            bars = tuple(count_bar(alike(band), band.records, records, fill=fill) for band in mine)
            groups.append(Group(bars, title.capitalize(), people(sum(band.records for band in mine))))
    rows = tuple(
        (alike(band), f"{band.classes:,}", f"{band.records:,}", brief_percent(band.records / records), STANDING[fill])
        for band, fill in bands
    )
    head = ("Class size", "Classes", "People", "Share", "Threshold")
    return Figure(
        key="crowd",
        title="How many people look alike",
        about=f"{people(assessment.uniques).capitalize()} alone, out of {people(records)}, by class size.",
        reading=(
            "A class is a set of people who look alike on the assessed columns. The smaller it is, the surer a guess.",
            "No risk can be above a threshold of 1, so no bar is striped."
            if needed == 1
            else f"Striped bars are people above the threshold of {one_in(threshold)}: fewer than {needed:,} look alike.",
            "The full width of a bar is everybody in the data.",
        ),
        chart=tuple(groups),
        table=Table("People by the size of their class", head, rows, (1, 2, 3)),
    )


def adversaries(assessment: Assessment) -> Figure:
    """What each adversary achieves with one guess per person."""
    views = (("Prosecutor", assessment.prosecutor), ("Journalist", assessment.journalist))
    limit, threshold, marketer = assessment.allowed_at_risk, assessment.threshold, assessment.marketer
    above = " and ".join(f"{brief_percent(view.at_risk)} by the {name.lower()}" for name, view in views)
    success = [share_bar(name, view.success) for name, view in views]
    rows = [
        (name, *(brief_percent(share) for share in (view.success, view.at_risk, view.highest))) for name, view in views
    ]
    return Figure(
        key="adversaries",
        title="Three adversaries, one guess each",
        about=f"People above the threshold: {above}; the marketer guesses {brief_percent(marketer)} right.",
        reading=(
            (
                "The prosecutor knows that the target is in the data; the journalist only that the target is in the population; the "
                "marketer links everybody and is content with a good share."
            ),
            "Without a table of the population the three coincide: the prosecutor's is the worst case."
            if assessment.presence is None
            else "Limits are held against the journalist, since the population is known.",
            "Ticks mark the limit and the threshold; striped bars go beyond them.",
        ),
        chart=(
            Group((*success, share_bar("Marketer", marketer)), "Right guesses on average"),
            Group(
                tuple(share_bar(name, view.at_risk, limit=limit) for name, view in views),
                "People above the threshold",
                f"limit {brief_percent(limit)}",
            ),
            Group(
                tuple(share_bar(name, view.highest, limit=threshold) for name, view in views),
                "Highest risk of anybody",
                f"threshold {brief_percent(threshold)}",
            ),
        ),
        table=Table(
            "Success of the adversaries",
            ("Adversary", "Right guesses", "People above the threshold", "Highest risk"),
            (
                *rows,
                ("Marketer", brief_percent(marketer), "not defined", "not defined"),
                ("Limit", "none set", brief_percent(limit), brief_percent(threshold)),
            ),
            (1, 2, 3),
        ),
    )


def population(assessment: Assessment, estimate: PopulationUniqueness) -> Figure:
    """Unique people of the data who are unique in the population: counted and estimated."""
    records = assessment.records
    alone = [share_bar("Alone in the data", assessment.uniques / records, fill="risk")]
    if assessment.population_uniques is not None:
        share = assessment.population_uniques / records
        alone.append(share_bar("Alone in the population as well", share, fill="risk"))
    models = [
        share_bar(name + (" (chosen)" if key == estimate.model else ""), share)
        for key, name in ESTIMATORS.items()
        if (share := getattr(estimate, key)) is not None
    ]
    fraction = percent(estimate.sampling_fraction, below="less than ")
    return Figure(
        key="population",
        title="Alone in the data, alone in the population",
        about=f"By the chosen estimate {percent(estimate.dankar)} of the population are unique.",
        reading=(
            "A person who is alone in the data may have look-alikes outside it.",
            f"Dankar's rule chooses {MODELS[estimate.model]} at a sampling fraction of {fraction}."
            if estimate.model in MODELS
            else "Nobody is unique in the data, so the models have nothing to extrapolate.",
            "Models assume that the data are a random sample of the population."
            if assessment.population_uniques is None
            else "Counting in the population table beats any estimate; the models are shown to compare.",
        ),
        chart=(
            Group(tuple(alone), "Counted", f"of {records:,}"),
            Group(tuple(models), "Estimated for the population", f"of {estimate.population:,}"),
        ),
        table=Table(
            "Unique people",
            ("Who", "How known", "Share", "Of"),
            (
                *((bar.label, "counted", bar.value, f"{records:,}") for bar in alone),
                *((bar.label, "estimated", bar.value, f"{estimate.population:,}") for bar in models),
            ),
            (2, 3),
        ),
    )


def sensitive(assessment: Assessment) -> Figure:
    """How far classes are from the table, per sensitive column."""
    columns = assessment.inference
    least = min(measures.distinct_l for measures in columns.values())
    trees = any((one.hierarchical_t, one.ordered_t) != (None, None) for one in columns.values())
    groups, rows = [], []
    for name, measures in columns.items():
        fill: Fill = "risk" if measures.distinct_l == 1 else "plain"
        bars = [Bar("Distance t", decimal(measures.equal_t), measures.equal_t, fill=fill)]
        tree = "no hierarchy"
        if measures.hierarchical_t is not None:
            tree = decimal(measures.hierarchical_t)
            bars.append(Bar("Distance t along the hierarchy", tree, measures.hierarchical_t, fill=fill))
        order = "no order"
        if measures.ordered_t is not None:
            order = decimal(measures.ordered_t)
            bars.append(Bar("Distance t along the order", order, measures.ordered_t, fill=fill))
        certain = ", certain for some" if measures.distinct_l == 1 else ""
        groups.append(Group(tuple(bars), name, f"distinct l = {measures.distinct_l:,}{certain}"))
        recursive = f"({decimal(measures.recursive_c)}, {measures.recursive_l})"
        distances = (decimal(measures.equal_t), tree, order, decimal(measures.beta))
        rows.append((name, f"{measures.distinct_l:,}", decimal(measures.entropy_l), recursive, *distances))
    head = ("Column", "Distinct l", "Entropy l", "Recursive (c, l)", "t, equal", "t, hierarchy", "t, ordered", "Beta")
    return Figure(
        key="sensitive",
        title="What classes give away",
        about=f"{plural(len(columns), 'sensitive column')}; the least number of values is {least}.",
        reading=(
            "Distinct l is the least number of different values in a class: 1 means that for some people it is certain.",
            "t is the distance between the most unusual class and the whole table: 0 = alike, 1 = nothing in common.",
            *(["Along the hierarchy, or the order, near values count as less far apart."] if trees else []),
        ),
        chart=tuple(groups),
        table=Table("What classes give away about sensitive columns", head, tuple(rows), (1, 2, 3, 4, 5, 6)),
    )


def combinations(profile: Profile) -> Figure:
    """How few columns single people out: the most telling combination of each size."""
    best = profile.telling[-1]
    bars, rows = [], []
    for telling in profile.telling:
        size, names, share = len(telling.columns), ", ".join(telling.columns), brief_percent(telling.share)
        value = f"{telling.unique:,} · {share}"
        bars.append(Bar(plural(size, "column"), value, telling.share, note=names))
        rows.append((f"{size:,}", names, f"{telling.unique:,}", share))
    tried = plural(profile.singling_out.largest, "column")
    head = ("Columns", "Which", "People alone", "Share")
    return Figure(
        key="combinations",
        title="How few columns single people out",
        about=f"With {plural(len(best.columns), 'column')}, {percent(best.share)} of people are alone.",
        reading=points(f"""
- Of all combinations of one, two or more columns, the one of each size that singles out most people.
- Combinations of up to {tried} were tried, without columns that are nearly unique by themselves."""),
        chart=(Group(tuple(bars)),),
        table=Table("The most telling combination of each size", head, tuple(rows), (0, 2, 3)),
    )


ELSEWHERE = {"economics": "measured", "population": "remains"}
"""Where a finding without a picture leads."""
REFERENCES = {
    **SURVEY_REFERENCES,
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
REMAINS = points("""
- Only the assessed columns count. An adversary who knows more about people, or a column without a role, makes classes
  smaller than shown here.
- The adversary is assumed to know every assessed value exactly. Errors in either data set make a match harder, so the
  risks are on the safe side.
- One guess per person is measured. An adversary who plans, buys further data or tries again is not measured here.
- Earlier releases about the same people are not taken into account: two harmless tables can be joined.""")
ESTIMATED, COMPLETE = points("""
- Population uniques are estimates. They hold if the data are a random sample; if people were selected, by illness for
  instance, the truth can be different.
- The population is taken as complete and coded like the data; people it misses have fewer look-alikes than shown.""")


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
    away: Sequence[Telling] = (),
) -> str:
    """The report: findings, the picture behind each, measures, what remains, parameters, method, command."""
    return page.document(
        assessment_parts(assessment, source=source, command=command, policy=policy, profile=profile, away=away),
        kicker="Risk assessment",
        title=title,
        about=[source, people_in_rows(assessment.records, assessment.rows)],
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
    away: Sequence[Telling] = (),
) -> list[page.Part]:
    """The sections of the report, for pages that have a frame of their own."""
    figures = list(pictures(assessment, profile))
    measured = Table(
        "Each measure with its meaning", ("Measure", "Value", "Meaning"), tuple(measures(assessment)), (1,)
    )
    cited = ["sweeney", "elemam", "marketer"]
    cited += ["dankar", "zayatz", "pitman", "hoshino", "chen"] if assessment.population_uniqueness is not None else []
    cited += ["nergiz"] if assessment.presence is not None else []
    cited += ["machanavajjhala", "li", "cao"] if assessment.inference else []
    cited += ["wan"] if assessment.economics is not None else []
    cited += ["benedetti", "franconi"] if assessment.weighted is not None else []
    return [
        page.findings(by_topic(assessment, source), figures, elsewhere=ELSEWHERE),
        page.evidence(figures),
        page.section("columns", "Columns", *([] if profile is None else columns(profile, policy)), title="The columns"),
        page.section("measured", "Measures", measured, title="What was measured"),
        page.remains("These measures do not say everything:", [*(one.words() for one in away), *remains(assessment)]),
        page.parameters("What was chosen before counting", parameters(assessment), policy),
        page.method(method(assessment), sorted(REFERENCES[name] for name in cited)),
        page.reproduce(command, note=page.policy_note(policy)),
    ]


def columns(profile: Profile, policy: Policy | None = None) -> list[Child | Table]:
    """Role, distinct values, uniqueness and shape of each column; never its values.

    Roles are those of the policy; without one they are guesses, with their reasons.
    """
    rows, shapes = [], []
    for place, column in enumerate(profile.columns):
        shares = [share.records / profile.records for share in column.distribution]
        shape: Cell = "not shown"
        if shares:
            about = f"{len(shares)} bars; the tallest is {brief_percent(max(shares))} of people."
            shape = spark(shares, key=f"shape-{place}", title=f"Distribution of {column.name}", about=about)
        role = ROLES[column.role] if policy is None else role_in(policy, column.name)
        counted: Row = (f"{column.distinct:,}", brief_percent(column.share_unique), shape, f"{column.missing:,}")
        why = [join(column.reason)] if policy is None else []
        rows.append((join(column.name), role, *counted, column.looks, *why))
        bars = ", ".join(map(brief_percent, shares)) or "not shown"
        shapes.append((join(column.name), bars, brief_percent((column.hidden + column.missing) / profile.records)))
    shared = ("Distinct", "People alone", "Shape", "Missing", "Looks like")
    head = ("Column", "May be", *shared, "Because") if policy is None else ("Column", "Role", *shared)
    caption = "The columns and what they may be to an adversary" if policy is None else "The columns and their roles"
    bars_head = ("Column", "Share of people in each bar, from the left", "In no bar")
    return [
        cards([card(finding) for finding in profile_findings(profile, policy)], kind="pairs"),
        "Shapes show how people spread over values or ranges. Values are left out, so that this report can be passed on.",
        Table(caption, head, tuple(rows), (2, 3, 5)),
        folded_table(Table("The shapes in numbers", bars_head, tuple(shapes), (2,))),
    ]


def measures(assessment: Assessment) -> Iterator[tuple[str, str, str]]:
    """Name, value and meaning of each measure."""
    yield "People", f"{assessment.records:,}", "everybody in the data"
    if assessment.rows is not None:
        yield "Rows", f"{assessment.rows:,}", "a person may have several; the riskiest one decides"
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
    yield from survey_measures(assessment)
    if (game := assessment.economics) is not None:
        yield "Attacked", f"{game.attacked:,}", "people whom it pays to attack"
        yield "Re-identified", decimal(game.reidentified, digits=1), "of them, expected"
        yield "Adversary's payoff", amount(game.adversary), "expected, in all"
        yield "Publisher's payoff", amount(game.publisher), "expected, in all"


def parameters(assessment: Assessment) -> list[Row]:
    """What was chosen before anything was counted."""
    levels = assessment.levels
    assessed = [
        name + (f" (generalised to level {levels[name]})" if levels.get(name) else "") for name in assessment.columns
    ]
    population = "not given"
    if assessment.population_size is not None:
        kind = "a size only" if assessment.presence is None else "a table"
        population = f"{people(assessment.population_size)}, given as {kind}"
    return [
        ("Assessed columns", join(every(assessed))),
        ("Sensitive columns", join(every(tuple(assessment.inference)))),
        ("Threshold", f"{assessment.threshold:g}: a risk above {one_in(assessment.threshold)} counts as at risk"),
        ("Limit", f"{allowed(assessment)} above the threshold"),
        ("Population", population),
    ]


def remains(assessment: Assessment) -> Iterator[str]:
    """What these measures do not say."""
    yield from REMAINS
    yield (
        "What can be inferred is measured for the sensitive columns of the policy only."
        if assessment.inference
        else "No column was named sensitive, so nothing is said about what can be learnt without recognising anybody."
    )
    if assessment.population_uniqueness is not None:
        yield COMPLETE if assessment.presence is not None else ESTIMATED


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
    yield from survey_method(assessment)
    if assessment.presence is not None:
        yield "How certain it is that a person is in the data follows Nergiz et al. (2007)."
    if assessment.inference:
        yield (
            "Sensitive columns: l-diversity (Machanavajjhala et al. 2006), t-closeness with equal, hierarchical and "
            "ordered distance (Li et al. 2007), beta-likeness (Cao & Karras 2012); each for the worst class."
        )
    if assessment.economics is not None:
        yield "Economics: the adversary attacks each person for whom an attack pays, once (Wan et al. 2015)."
