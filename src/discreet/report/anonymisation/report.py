"""Anonymisation report as one HTML file: measures, choices, method."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence

from discreet.anonymity import Anonymised, Point, Seen
from discreet.anonymity.criteria import AverageRisk, Closeness, Crowd, Diversity, Presence, Requirement
from discreet.policy import Policy
from discreet.report.anonymisation.charts import crowds, drawable, kept, risks
from discreet.report.anonymisation.charts import frontier as frontier_figure
from discreet.report.anonymisation.findings import LOSSES, Case, by_topic
from discreet.report.anonymisation.lattice import certificate
from discreet.report.anonymisation.lattice import lattice as lattice_figure
from discreet.report.assessment.charts import sensitive
from discreet.report.assessment.report import REFERENCES as MEASURES
from discreet.report.assessment.report import measures, parameters
from discreet.report.toolkit.html import Markup, element, join
from discreet.report.toolkit.page import (
    Figure,
    Part,
    Pill,
    Table,
    bullets,
    document,
    evidence_part,
    findings_part,
    method_part,
    prose,
    remains_part,
    reproduce_part,
    section,
    table,
    verdict,
)
from discreet.report.toolkit.words import listed, people
from discreet.risk import Assessment
from discreet.wording import percent

# An anonymised table as one HTML file: what it achieved, what it cost, and why nothing better exists.
ELSEWHERE = {"certificate": ("method", "See the method")}
"""Where a finding without a picture leads."""


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
) -> str:
    """The report: findings, the picture behind each, what was done, what remains, parameters, method, command.

    `after` is None where nobody is left; without a frontier or a lattice their pictures are left out.
    """
    case = Case.of(result, before, after)
    parts = anonymised_parts(case, source=source, command=command, policy=policy, frontier=frontier, lattice=lattice)
    return document(
        parts,
        kicker="Anonymised table",
        title=title,
        about=[source, f"{case.published:,} of {people(case.records)} published"],
        pills=_pills(case),
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
) -> list[Part]:
    """The sections of the report, for pages that have a frame of their own."""
    figures = tuple(pictures(case, frontier, lattice))
    return [
        findings_part(by_topic(case, source), figures, elsewhere=ELSEWHERE),
        evidence_part(figures),
        _done(case),
        remains_part("This table does not protect from everything:", remains(case)),
        Part("parameters", "Parameters", section("parameters", "Parameters", table(chosen(case, policy=policy)))),
        method_part(method(case), references(case)),
        reproduce_part(command, policy),
    ]


def pictures(case: Case, frontier: Sequence[Point], lattice: Sequence[Seen]) -> Iterator[Figure]:
    """Every figure that there are numbers for, in the order of the findings."""
    yield crowds(case)
    yield kept(case)
    if case.after is not None:
        yield risks(case, case.after)
    if any(map(drawable, frontier)):
        yield frontier_figure(case, frontier)
    if lattice:
        yield lattice_figure(case, lattice)
    if case.result.certificate is not None:
        yield certificate(case.result.certificate)
    if case.after is not None and case.after.inference:
        yield sensitive(case.after)


def _pills(case: Case) -> list[Pill]:
    found = case.result.certificate
    if case.after is None:
        return [Pill("▲", "Nobody is published", "danger")]
    if found is None:
        proof = Pill("≈", "Recoded class by class", "plain")
    elif found.optimal:
        proof = Pill("✓", "Nothing better exists", "good")
    else:
        proof = Pill("≈", "Best found, not proven", "plain")
    return [verdict(exceeded=case.exceeded), proof]


def _done(case: Case) -> Part:
    lead = element("p", "This was required of every published class (people who look alike):")
    wanted = bullets([join(words) for words in case.result.requirements])
    rest = element("p", prose(left_out(case)))
    tables = table(published(case)), table(compared(case))
    return Part("done", "What was done", section("done", "What was done", lead, wanted, rest, *tables))


# The tables of the page: every measure before and after, and what was chosen.
SEARCHES = {
    "optimal": "until nothing better is left",
    "best": "the best in the time given, with a bound",
    "ola": "the best of the minimal combinations",
}


def compared(case: Case) -> Table:
    """Every measure before and after, with its meaning."""
    head = ("Measure", "Before", "After", "Meaning")
    return Table("Each measure before and after", head, tuple(_compared(case)), (1, 2))


def _compared(case: Case) -> Iterator[tuple[str, ...]]:
    now = {} if case.after is None else {name: value for name, value, _ in measures(case.after)}
    for name, before, meaning in measures(case.before):
        yield name, before, now.get(name, "0" if name == "People" else "not measured"), meaning


def published(case: Case) -> Table:
    """Every column that leaves, its role, and what was done to it."""
    rows = tuple((name, about["role"], about["treatment"]) for name, about in case.result.columns.items())
    return Table("Every column that is published", ("Column", "Role", "Published"), rows)


def chosen(case: Case, *, policy: Policy | None) -> Table:
    """What was chosen before anything was searched."""
    rows = (*_chosen(case), *parameters(case.before, policy=policy).rows[1:])
    return Table("What was chosen before searching", ("Parameter", "Value"), rows)


def _chosen(case: Case) -> Iterator[tuple[str, str | Markup]]:
    names = case.before.columns
    yield "Columns", join(listed(names, most=len(names) + 1) or "none")
    if case.suppressible is not None:
        share = f" ({percent(case.suppressible / case.records)})" if case.suppressible else ""
        yield "May be left out", f"{people(case.suppressible)}{share}"
    yield "Loss", _loss(case)
    yield "Search", _search_measures(case)


def _loss(case: Case) -> Markup:
    name = case.result.loss_name
    meaning = f": {LOSSES[name].meaning}" if name in LOSSES else ""
    return join(element("code", name), meaning)


def _search_measures(case: Case) -> str | Markup:
    if case.result.certificate is None:
        return "class by class"
    name = case.result.certificate.search
    return join(element("code", name), f": {SEARCHES[name]}" if name in SEARCHES else "")


def left_out(case: Case) -> str:
    """How many people were let go, and how many might have been."""
    number = f"{people(case.suppressed)} {'are' if case.suppressed > 1 else 'is'} left out"
    if not case.suppressible:
        return f"{number[:1].upper()}{number[1:]}."
    return (
        f"At most {people(case.suppressible)} ({percent(case.suppressible / case.records)}) may be left out; {number}."
    )


REFERENCES = {
    **MEASURES,
    "samarati": "Samarati, P. & Sweeney, L. (1998). Protecting privacy when disclosing information: k-anonymity and its "
    "enforcement through generalization and suppression. SRI International.",
    "ola": "El Emam, K. et al. (2009). A globally optimal k-anonymity method for the de-identification of health data. "
    "Journal of the American Medical Informatics Association 16(5).",
    "lefevre": "LeFevre, K., DeWitt, D. J. & Ramakrishnan, R. (2006). Mondrian multidimensional k-anonymity. ICDE.",
    "iyengar": "Iyengar, V. S. (2002). Transforming data to satisfy privacy constraints. KDD.",
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
    "bayardo": "Bayardo & Agrawal 2005",
    "ola": "El Emam et al. 2009",
    "precision": "Sweeney 2002",
    "gionis": "Gionis & Tassa 2009",
}
SOURCES: tuple[tuple[type[Requirement], str, str], ...] = (
    (Diversity, "machanavajjhala", "l-diversity (Machanavajjhala et al. 2006)"),
    (Closeness, "li", "t-closeness (Li et al. 2007)"),
    (Presence, "nergiz", "presence (Nergiz et al. 2007)"),
    (Crowd, "sweeney", "k-map (Sweeney 2002)"),
    (AverageRisk, "elemam", "average risk (El Emam & Dankar 2008)"),
)


def remains(case: Case) -> tuple[str, ...]:
    """What the published table does not protect from."""
    return tuple(_remains(case))


def _remains(case: Case) -> Iterator[str]:
    yield (
        "Classes hide who is who on the columns above. Whoever knows more about people, or a column that was given no role, "
        "makes them smaller than shown here."
    )
    yield _about_sensitive(case)
    if case.suppressed:
        yield (
            "The people left out are those with rare values: groups that are small already are smaller in the published "
            "table, and results about them are biased."
        )
    if case.by_class:
        yield "Values of one column overlap where classes were recoded differently; analyses have to allow for that."
    yield "Another release about the same people, coded otherwise, can be laid over this one and take protection away."


def _about_sensitive(case: Case) -> str:
    hidden = "People who look alike may have the same sensitive value: then it is known without recognising anybody."
    if _protects_values(case):
        return (
            "How well sensitive values are hidden is assured for the columns named above only; an adversary who knows that "
            "the least lossy table was chosen can sometimes reason backwards from it (Wong et al. 2007)."
        )
    if case.after is not None and case.after.inference:
        return f"{hidden} No limit was set for that; the findings say how often it happens."
    return f"{hidden} This was not looked at here: ask for `--diversity` or `--closeness` where it matters."


def _protects_values(case: Case) -> bool:
    return any(isinstance(one, Diversity | Closeness) for one in case.requirements)


def method(case: Case) -> tuple[str, ...]:
    """How it was done, with authors and years."""
    return tuple(_method(case))


def _method(case: Case) -> Iterator[str]:
    yield _coding(case)
    further = [cited for kind, _, cited in SOURCES if _asks(case, kind)]
    if further:
        yield f"Classes also had to satisfy: {'; '.join(further)}."
    yield _search(case)
    if case.result.loss_name in LOSSES:
        loss = LOSSES[case.result.loss_name]
        yield f"Loss (`{loss.name}`): {loss.meaning} ({CITED[loss.source]})."
    yield "The risk of a person is one over the size of the class (El Emam & Dankar 2008)."


def _asks(case: Case, kind: type[Requirement]) -> bool:
    return any(isinstance(one, kind) for one in case.requirements)


def _coding(case: Case) -> str:
    start = "People are counted per combination of values (k-anonymity by generalisation and suppression, Samarati & Sweeney 1998)."
    if case.by_class:
        return (
            f"{start} Each class is then given values as fine as its own people allow, so that a value can be coarse in one "
            "class and fine in another (multidimensional recoding, LeFevre et al. 2006)."
        )
    return f"{start} Each column is published at one level of its hierarchy; classes that still do not satisfy what was required are left out."


def _search(case: Case) -> str:
    certificate = case.result.certificate
    if certificate is None:
        return "The recoding improves the table step by step; it does not look at every possible one."
    if certificate.search == "ola":
        return "Levels were searched by OLA as published (El Emam et al. 2009): the least lossy of the minimal combinations."
    return (
        "Combinations of levels are taken in the order of the least they can lose. From each, a chain towards coarser levels "
        "is searched by halves for the first that is allowed. When the next bound is above the best loss found, nothing "
        "better is left."
    )


def references(case: Case) -> tuple[str, ...]:
    """The papers behind what was used, by author."""
    used = {"samarati", "elemam"} | {key for kind, key, _ in SOURCES if _asks(case, kind)}
    if case.by_class:
        used.add("lefevre")
    if case.result.certificate is not None and case.result.certificate.search == "ola":
        used.add("ola")
    if case.result.loss_name in LOSSES:
        used.add(LOSSES[case.result.loss_name].source)
    if _protects_values(case):
        used.add("wong")
    return tuple(sorted(REFERENCES[name] for name in used))
