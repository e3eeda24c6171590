"""Anonymisation report as one HTML file: measures, choices, method."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from discreet.anonymity import Anonymised, Point, Seen
from discreet.anonymity.limits import AverageRisk, Closeness, Diversity, KMap, PresenceBounds, Requirement
from discreet.anonymity.utility import UtilityMeasures
from discreet.policy import Policy
from discreet.report.anonymisation_charts import pictures
from discreet.report.anonymisation_findings import LOSSES, Case, by_topic
from discreet.report.assessment import REFERENCES as MEASURES
from discreet.report.assessment import measures, parameters
from discreet.report.comparison import utility_part
from discreet.report.toolkit import page
from discreet.report.toolkit.html import Child, element, join
from discreet.report.toolkit.page import Cell, Pill, Row, Table, bullets
from discreet.report.toolkit.words import every, people
from discreet.risk import Assessment
from discreet.risk.giveaways import Telling
from discreet.wording import formula_words, people_in_rows, percent

ELSEWHERE = {"certificate": "method"}
"""Where a finding without a picture leads."""
SEARCHES = {
    "optimal": "until nothing better is left",
    "best": "the best in the time given, with a bound",
    "ola": "the best of the minimal combinations",
}
REFERENCES = {
    **MEASURES,
    "samarati": "Samarati, P. & Sweeney, L. (1998). Protecting privacy when disclosing information: k-anonymity and its "
    "enforcement through generalization and suppression. SRI International.",
    "ola": "El Emam, K. et al. (2009). A globally optimal k-anonymity method for the de-identification of health data. "
    "Journal of the American Medical Informatics Association 16(5).",
    "lefevre": "LeFevre, K., DeWitt, D. J. & Ramakrishnan, R. (2006). Mondrian multidimensional k-anonymity. ICDE.",
    "iyengar": "Iyengar, V. S. (2002). Transforming data to satisfy privacy constraints. KDD.",
    "ghinita": "Ghinita, G., Karras, P., Kalnis, P. & Mamoulis, N. (2007). Fast data anonymization with low information loss. VLDB.",
    "bayardo": "Bayardo, R. J. & Agrawal, R. (2005). Data privacy through optimal k-anonymization. ICDE.",
    "precision": "Sweeney, L. (2002). Achieving k-anonymity privacy protection using generalization and suppression. "
    "International Journal of Uncertainty, Fuzziness and Knowledge-Based Systems 10(5).",
    "gionis": "Gionis, A. & Tassa, T. (2009). k-Anonymization with minimal loss of information. IEEE Transactions on "
    "Knowledge and Data Engineering 21(2).",
    "wong": "Wong, R. C.-W., Fu, A. W.-C., Wang, K. & Pei, J. (2007). Minimality attack in privacy preserving data "
    "publishing. VLDB.",
}
CITED = {
    "iyengar": "Iyengar 2002",
    "lefevre": "LeFevre et al. 2006",
    "ghinita": "Ghinita et al. 2007",
    "bayardo": "Bayardo & Agrawal 2005",
    "ola": "El Emam et al. 2009",
    "precision": "Sweeney 2002",
    "gionis": "Gionis & Tassa 2009",
}
SOURCES: tuple[tuple[type[Requirement], str, str], ...] = (
    (Diversity, "machanavajjhala", "l-diversity (Machanavajjhala et al. 2006)"),
    (Closeness, "li", "t-closeness (Li et al. 2007)"),
    (PresenceBounds, "nergiz", "presence (Nergiz et al. 2007)"),
    (KMap, "sweeney", "k-map (Sweeney 2002)"),
    (AverageRisk, "elemam", "average risk (El Emam & Dankar 2008)"),
)


def anonymised_page(
    result: Anonymised,
    *,
    before: Assessment,
    after: Assessment | None,
    title: str,
    source: str,
    created: datetime.datetime,
    command: str,
    version: str,
    policy: Policy | None = None,
    frontier: Sequence[Point] = (),
    lattice: Sequence[Seen] = (),
    formulas: Mapping[str, Any] | None = None,
    utility: UtilityMeasures | None = None,
    away: Sequence[Telling] = (),
) -> str:
    """The report: findings, the picture behind each, what was done, what remains, parameters, method, command.

    `after` is None where nobody is left; without a frontier or a lattice their pictures are left out.
    """
    case = Case.of(result, before, after)
    parts = anonymised_parts(
        case,
        source=source,
        command=command,
        policy=policy,
        frontier=frontier,
        lattice=lattice,
        formulas=formulas,
        utility=utility,
        away=away,
    )
    if case.after is None:
        pills = [Pill("▲", "Nobody is published", "danger")]
    else:
        proof = Pill("≈", "Best found, not proven", "plain")
        if result.exceeded:
            proof = Pill("▲", "More people miss the limits than may be left out", "danger")
        elif result.search == "given":
            proof = Pill("=", "Levels as given", "plain")
        elif result.certificate is None:
            proof = Pill("≈", "Recoded class by class", "plain")
        elif result.certificate.optimal:
            proof = Pill("✓", "Nothing better exists", "good")
        pills = [page.verdict(exceeded=case.exceeded), proof]
    return page.document(
        parts,
        kicker="Anonymised table",
        title=title,
        about=[source, f"{case.published:,} of {people_in_rows(case.records, case.result.rows)} published"],
        pills=pills,
        created=created,
        version=version,
    )


def anonymised_parts(
    case: Case,
    *,
    source: str,
    command: str,
    policy: Policy | None = None,
    frontier: Sequence[Point] = (),
    lattice: Sequence[Seen] = (),
    formulas: Mapping[str, Any] | None = None,
    utility: UtilityMeasures | None = None,
    away: Sequence[Telling] = (),
) -> list[page.Part]:
    """The sections of the report, for pages that have a frame of their own."""
    figures = list(pictures(case, frontier, lattice))
    return [
        page.findings(by_topic(case, source), figures, elsewhere=ELSEWHERE),
        page.evidence(figures),
        page.section("done", "What was done", *done(case, formulas)),
        *([] if utility is None else [utility_part(utility)]),
        page.remains("This table does not protect from everything:", [*(one.words() for one in away), *remains(case)]),
        page.parameters("What was chosen before searching", chosen(case), policy),
        page.method(method(case), references(case)),
        page.reproduce(command, note=page.policy_note(policy)),
    ]


def done(case: Case, formulas: Mapping[str, Any] | None = None) -> list[Child | Table]:
    """Requirements, people left out, published columns, and measures before and after."""
    number = f"{people(case.suppressed)} {'are' if case.suppressed > 1 else 'is'} left out"
    if case.result.rows is not None:
        number = f"{case.left_out(case.result.suppressed_rows)} of {people(case.suppressed)} are left out"
    left_out = f"{number[:1].upper()}{number[1:]}."
    if case.suppressible:
        share = percent(case.suppressible / case.rows)
        left_out = f"At most {case.left_out(case.suppressible)} ({share}) may be left out; {number}."
    published = tuple((name, about["role"], about["treatment"]) for name, about in case.result.columns.items())
    now = {} if case.after is None else {name: value for name, value, _ in measures(case.after)}
    compared = tuple(
        (name, before, now.get(name, "0" if name == "People" else "not measured"), meaning)
        for name, before, meaning in measures(case.before)
    )
    return [
        "This was required of every published class (people who look alike):",
        bullets([join(words) for words in case.result.requirements]),
        left_out,
        Table("Every column that is published", ("Column", "Role", "Published"), published),
        *(formula_words(formulas) if formulas else ()),
        Table("Each measure before and after", ("Measure", "Before", "After", "Meaning"), compared, (1, 2)),
    ]


def chosen(case: Case) -> list[Row]:
    """What was chosen before anything was searched."""
    loss = case.result.loss_name
    rows: list[Row] = [("Columns", join(every(case.before.columns)))]
    if case.suppressible is not None:
        share = f" ({percent(case.suppressible / case.rows)})" if case.suppressible else ""
        rows.append(("May be left out", f"{case.left_out(case.suppressible)}{share}"))
    rows += [("Column", said) for said in case.result.settings_words()]
    rows.append(("Loss", join(element("code", loss), f": {LOSSES[loss].meaning}" if loss in LOSSES else "")))
    search: Cell = "class by class" if case.by_class else "none: levels were given"
    if case.result.certificate is not None:
        name = case.result.certificate.search
        search = join(element("code", name), f": {SEARCHES[name]}" if name in SEARCHES else "")
    rows.append(("Search", search))
    return rows + parameters(case.before)[1:]


def asks(case: Case, *kinds: type[Requirement]) -> bool:
    """Whether one of these criteria was required."""
    return any(isinstance(requirement, kinds) for requirement in case.requirements)


def remains(case: Case) -> Iterator[str]:
    """What the published table does not protect from."""
    yield (
        "Classes hide who is who on the columns above. An adversary who knows more about people, or a column without a role, "
        "makes them smaller than shown here."
    )
    hidden = "People who look alike may have the same sensitive value: then it is known without recognising anybody."
    if asks(case, Diversity, Closeness):
        yield (
            "How well sensitive values are hidden is assured for the columns named above only; an adversary who knows that "
            "the least lossy table was chosen can sometimes reason backwards from it (Wong et al. 2007)."
        )
    elif case.after is not None and case.after.inference:
        yield f"{hidden} No limit was set for that; the findings say how often it happens."
    else:
        yield f"{hidden} This was not looked at here: ask for diversity or closeness (`--diversity`, `--closeness`) where it matters."
    if case.suppressed:
        yield (
            "The people left out are those with rare values: groups that are small already are smaller in the published "
            "table, and results about them are biased."
        )
    if case.by_class:
        yield "Values of one column overlap where classes were recoded differently; analyses have to allow for that."
    yield "Another release about the same people, coded otherwise, can be laid over this one and take protection away."


def method(case: Case) -> Iterator[str]:
    """How it was done, with authors and years."""
    start = "People are counted per combination of values (k-anonymity by generalisation and suppression, Samarati & Sweeney 1998)."
    yield (
        f"{start} Each class is then given values as fine as its own people allow, so that a value can be coarse in one "
        "class and fine in another (multidimensional recoding, LeFevre et al. 2006)."
        if case.by_class
        else f"{start} Each column is published at one level of its hierarchy; classes that still do not satisfy what was "
        "required are left out."
    )
    further = [cited for kind, _, cited in SOURCES if asks(case, kind)]
    if further:
        yield f"Classes also had to satisfy: {'; '.join(further)}."
    certificate = case.result.certificate
    if not case.by_class and certificate is None:
        yield "Levels were given, and the table was measured at them; a search for the least loss ran beside it for comparison."
    elif certificate is None:
        yield "The recoding improves the table step by step; it does not look at every possible one."
    elif certificate.search == "ola":
        yield "Levels were searched by OLA as published (El Emam et al. 2009): the least lossy of the minimal combinations."
    else:
        yield (
            "Combinations of levels are taken in the order of the least they can lose. From each, a chain towards coarser levels "
            "is searched by halves for the first that is allowed. When the next bound is above the best loss found, nothing "
            "better is left."
        )
    if case.result.loss_name in LOSSES:
        loss = LOSSES[case.result.loss_name]
        yield f"Loss (`{loss.name}`): {loss.meaning} ({CITED[loss.source]})."
    yield "The risk of a person is one over the size of the class (El Emam & Dankar 2008)."


def references(case: Case) -> tuple[str, ...]:
    """The papers behind what was used, by author."""
    used = {"samarati", "elemam"} | {key for kind, key, _ in SOURCES if asks(case, kind)}
    if case.by_class:
        used.add("lefevre")
    if case.result.certificate is not None and case.result.certificate.search == "ola":
        used.add("ola")
    if case.result.loss_name in LOSSES:
        used.add(LOSSES[case.result.loss_name].source)
    if asks(case, Diversity, Closeness):
        used.add("wong")
    return tuple(sorted(REFERENCES[name] for name in used))
