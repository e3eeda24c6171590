"""Candidate pairs report as one HTML file."""

from __future__ import annotations

import datetime

from discreet.linkage.matching.blocking import Blocking
from discreet.linkage.matching.candidate_pairs import Candidates
from discreet.linkage.matching.thresholds import distribution
from discreet.report.linkage.charts import errors_figure, zones_figure
from discreet.report.linkage.findings import TRIED, by_topic
from discreet.report.toolkit.html import element
from discreet.report.toolkit.page import (
    Figure,
    Part,
    Pill,
    Table,
    document,
    evidence_part,
    findings_part,
    method_part,
    remains_part,
    section,
    table,
    without_password,
)
from discreet.report.toolkit.words import plural
from discreet.wording import brief_percent

REMAINS = (
    "Pairs that no rule makes are never looked at. How many true ones are among them is the model's guess, and can be far too high.",
    "Attributes are taken to err independently of each other. Relatives, twins, and fathers and sons of one name, break that: they agree on several attributes for one reason, and the model is sure of them.",
    f"Expected errors are sums of probabilities, and hold for pairs like those from which the model was estimated or which were labelled. {TRIED}",
)
METHOD = (
    "The weight of a pair adds up what each attribute says for or against one person (Fellegi & Sunter 1969), and more for an agreement on a rare value; it was computed with Splink.",
    "How often strangers agree comes from random pairs, without the true ones among them; how often two records of one person agree comes from expectation maximisation; a level of likeness never speaks more for a pair than a closer one.",
    "Where there are labels, probabilities are the isotonic fit to them; each label counts as many pairs as it stands for.",
)
REFERENCES = (
    "Fellegi, I. & Sunter, A. (1969). A theory for record linkage. Journal of the American Statistical Association 64.",
    "Linacre, R., Lindsay, S., Manassis, T. et al. (2022). Splink: free software for probabilistic record linkage at scale. International Journal of Population Data Science 7(3).",
    "Zadrozny, B. & Elkan, C. (2002). Transforming classifier scores into accurate multiclass probability estimates. KDD.",
)


def pairs_page(found: Candidates, *, source: str, created: datetime.datetime, command: str, version: str) -> str:
    """The report: findings, pictures, rules, what remains, method, command."""
    figures = _figures(found)
    blocking = found.model.blocking if found.model else None
    elsewhere = {"method": ("method", "See the method"), "rules": ("rules", "See the rules")}
    parts = [
        findings_part(list(by_topic(found)), figures, elsewhere=elsewhere),
        *([evidence_part(figures)] if figures else []),
        Part("rules", "Rules", None if blocking is None else section("rules", "The rules", table(_rules(blocking)))),
        remains_part("What the machine does not see:", REMAINS),
        method_part(METHOD, REFERENCES),
        _reproduced(command),
    ]
    return document(
        parts,
        kicker="Candidate pairs",
        title=f"Candidate pairs of {source}",
        about=[source, plural(len(found.pairs), "pair", "pairs")],
        pills=[_pill(found)],
        created=created,
        version=version,
    )


def _figures(found: Candidates) -> list[Figure]:
    if found.zones is None or not len(found.pairs):
        return []
    data = distribution(found.pairs, found.zones)
    return [zones_figure(data), errors_figure(data)]


def _rules(blocking: Blocking) -> Table:
    rows = tuple(
        (
            f"{' and '.join(rule.attributes)} swapped" if rule.crossed else " and ".join(rule.attributes),
            f"{rule.pairs:,}",
            "not estimated" if rule.recall is None else brief_percent(rule.recall),
        )
        for rule in blocking.rules
    )
    return Table(
        "Pairs that agree on these attributes are looked at", ("Rule", "Pairs", "True pairs found"), rows, (1, 2)
    )


def _reproduced(command: str) -> Part:
    lead = element("p", "The same project gives the same pairs with this command:")
    shown = element("pre", element("code", without_password(command)))
    return Part("reproduce", "Reproduce", section("reproduce", "Reproduce", lead, shown))


def _pill(found: Candidates) -> Pill:
    waiting = found.counts["people"]
    if waiting:
        return Pill("●", f"{plural(waiting, 'pair', 'pairs')} for people", "plain")
    return Pill("▲", "No pair for people: look at a sample", "danger")
