"""How the numbers come about, what they do not say, and whose work they rest on."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.risk import Assessment

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


def remains(assessment: Assessment) -> tuple[str, ...]:
    """What these measures do not say."""
    return tuple(_remains(assessment))


def _remains(assessment: Assessment) -> Iterator[str]:
    yield (
        "Only the assessed columns count. An adversary who knows more about people, or a column that was given no role, "
        "makes crowds smaller than shown here."
    )
    yield (
        "The adversary is assumed to know every assessed value exactly. Errors in his or in these data make it harder "
        "for him, so the risks are on the safe side."
    )
    yield "He makes one guess per person. An adversary who plans, buys further data or tries again is not measured here."
    yield "Earlier releases about the same people are not taken into account: two harmless tables can be joined."
    yield _about_sensitive(assessment)
    if assessment.population_uniqueness is not None:
        yield _about_population(assessment)


def _about_sensitive(assessment: Assessment) -> str:
    if assessment.inference:
        return "What can be inferred is measured for the sensitive columns of the policy only."
    return "No column was named sensitive, so nothing is said about what can be learnt without recognising anybody."


def _about_population(assessment: Assessment) -> str:
    if assessment.presence is None:
        return (
            "Population uniques are estimates. They hold if the data are a random sample; if people were selected, by "
            "illness for instance, the truth can lie elsewhere."
        )
    return (
        "The population is taken as complete and coded like the data; people it misses have smaller crowds than shown."
    )


def method(assessment: Assessment) -> tuple[str, ...]:
    """How it was measured, with authors and years."""
    return tuple(_method(assessment))


def _method(assessment: Assessment) -> Iterator[str]:
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
        yield "How sure it is that somebody is in the data follows Nergiz et al. (2007)."
    if assessment.inference:
        yield (
            "Sensitive columns: l-diversity (Machanavajjhala et al. 2006), t-closeness with equal and hierarchical "
            "distance (Li et al. 2007), beta-likeness (Cao & Karras 2012); each for the worst class."
        )
    if assessment.economics is not None:
        yield "Economics: the adversary attacks whoever it pays to attack, once (Wan et al. 2015)."


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
