"""How the table was anonymised, what that does not protect from, and whose work it rests on."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.anonymity.criteria import AverageRisk, Closeness, Crowd, Diversity, Presence, Requirement
from discreet.report.anonymised.case import Case
from discreet.report.anonymised.losses import LOSSES
from discreet.report.assessment.report import REFERENCES as MEASURES

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
