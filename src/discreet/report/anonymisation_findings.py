"""Findings of anonymising: who remains, loss, remaining risk, optimality."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.anonymity import Anonymised
from discreet.anonymity.given_levels import optimum_words
from discreet.anonymity.limits import Requirement, Size
from discreet.report.assessment_findings import at_risk, inferred
from discreet.report.toolkit.page import Finding
from discreet.report.toolkit.words import agree, columns, crowd, lowered, one_in, part, people, plural
from discreet.risk import Assessment, Reidentification
from discreet.wording import fine_percent, measure, percent

SCALE = "on a scale from 0 (the data as they were) to 1 (nothing left)"
SAME = 1e-9
KNOWS = {
    "prosecutor": "The adversary here knows that the target is in the data (the prosecutor).",
    "journalist": "The adversary here knows only that the target is in the population (the journalist).",
}


@dataclass(frozen=True)
class Loss:
    """One way of measuring loss; per person where it is a sum."""

    name: str
    meaning: str
    said: str
    """The sentence without its full stop; `{loss}` is the loss, `{each}` that of one person."""
    source: str
    """Key of the reference."""


LOSSES = {
    loss.name: loss
    for loss in (
        Loss(
            "loss",
            "how much of its hierarchy each published value covers; a person who is left out counts as all of it",
            f"The loss is {{loss}} {SCALE}",
            "iyengar",
        ),
        Loss(
            "aecs",
            "the average size of a class",
            "On average {loss} people look alike, all who are left out counted as one class",
            "lefevre",
        ),
        Loss(
            "discernibility",
            "the size of each person's class, and of the whole table for a person who is left out, added up",
            "A person looks like {each} people on average; a person who is left out counts as like everybody",
            "bayardo",
        ),
        Loss(
            "dm_star",
            "the size of each person's class, added up, also for those who are left out",
            "A person looks like {each} people on average, those left out included",
            "ola",
        ),
        Loss(
            "precision",
            "how far up its hierarchy each column is published, averaged over columns",
            f"The loss of precision is {{loss}} {SCALE}",
            "precision",
        ),
        Loss(
            "gcp",
            "the share of its column that each published value covers, nothing for one value alone (global certainty penalty)",
            f"The global certainty penalty is {{loss}} {SCALE}",
            "ghinita",
        ),
        Loss(
            "entropy",
            "the bits it takes to guess the values back",
            "It takes {each} bits (yes-no questions) per person to guess the values back",
            "gionis",
        ),
    )
}


def loss_in_words(name: str, loss: float, people: int) -> str:
    """What was lost, as a sentence without its full stop.

    >>> loss_in_words("loss", 0.241932, 30162)
    'The loss is 0.242 on a scale from 0 (the data as they were) to 1 (nothing left)'
    """
    if name not in LOSSES:
        return f"The loss ({name}) is {measure(loss)}"
    return LOSSES[name].said.format(loss=measure(loss), each=measure(loss / (people or 1)))


@dataclass(frozen=True)
class Kept:
    """What became of one column."""

    name: str
    level: int | None
    """None where values were recoded class by class."""
    top: int
    """Its coarsest level."""
    share: float
    """How much of its information is kept."""
    untouched: bool
    before: int
    """Values that occurred."""
    after: int
    """Values that are published."""

    @property
    def gone(self) -> bool:
        """Whether nothing is left of it."""
        return self.share < SAME and self.after <= 1


@dataclass(frozen=True)
class Case:
    """An anonymised table with its risk before and after."""

    result: Anonymised
    before: Assessment
    after: Assessment | None
    """None where nobody is left."""

    @classmethod
    def of(cls, result: Anonymised, before: Assessment, after: Assessment | None) -> Case:
        """With what is measured on nobody left out."""
        return cls(result, before, after if after is not None and after.records and result.classes else None)

    @property
    def records(self) -> int:
        return self.result.records

    @property
    def suppressed(self) -> int:
        return self.result.suppressed

    @property
    def published(self) -> int:
        return self.result.published.records

    @property
    def rows(self) -> int:
        """What is lost, or left out, is a share of so many: rows, which are people unless a person has several."""
        return self.result.rows or self.records

    def left_out(self, number: int) -> str:
        """So many people, or rows where a person has several."""
        return people(number) if self.result.rows is None else plural(number, "row")

    @property
    def by_class(self) -> bool:
        """Whether values were recoded class by class, not to one level per column."""
        return not self.result.levels

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        """What was required, where the result says so in more than words."""
        return () if self.result.limits is None else tuple(self.result.limits.requirements)

    @property
    def k(self) -> int | None:
        """The k that was asked for."""
        sizes = (requirement.k for requirement in self.requirements if isinstance(requirement, Size))
        return max(sizes, default=None)

    @property
    def suppressible(self) -> int | None:
        """How many people might be left out, where the result says so."""
        return None if self.result.limits is None else int(self.result.limits.suppressible)

    @cached_property
    def columns(self) -> tuple[Kept, ...]:
        recoding, utility, rest = (
            self.result.recoding,
            self.result.utility(),
            1 - self.result.suppressed_rows / self.rows,
        )
        columns = []
        for column, codes, published in zip(
            recoding.classes.columns, recoding.classes.codes, recoding.codes, strict=True
        ):
            share, level = min(1.0, max(0.0, utility[column.name])), self.result.levels.get(column.name)
            same = level == column.level if level is not None else share > rest - SAME
            columns.append(
                Kept(
                    column.name,
                    level,
                    top=column.hierarchy.height - 1,
                    share=share,
                    untouched=same and self.published > 0,
                    before=len(np.unique(codes)),
                    after=len(np.unique(published[recoding.kept])),
                )
            )
        return tuple(columns)

    @property
    def views(self) -> tuple[str, Reidentification, Reidentification] | None:
        """The adversary that both sides know, before and after."""
        if self.after is None:
            return None
        if self.before.presence is not None and self.after.presence is not None:
            return "journalist", self.before.journalist, self.after.journalist
        return "prosecutor", self.before.prosecutor, self.after.prosecutor

    @property
    def same_threshold(self) -> bool:
        """Whether people at risk can be compared."""
        return self.after is not None and math.isclose(self.after.threshold, self.before.threshold)

    @property
    def exceeded(self) -> bool:
        """Whether more people are at risk than the limits of the data allow."""
        if self.after is None:
            return False
        # Published classes know no policy, so that their own limit may be the default.
        return self.after.binding.at_risk > self.before.allowed_at_risk if self.same_threshold else self.after.exceeded


def anonymised_findings(
    result: Anonymised, *, before: Assessment, after: Assessment | None, source: str
) -> tuple[Finding, ...]:
    """Findings in words, the most important first; `after` is None for an empty table.

    >>> from discreet.kernel import AnyValue, Classes
    >>> from discreet.anonymity import anonymise
    >>> from discreet.risk import assess
    >>> people = Classes.of(["sex", "zip"], [("F", "1"), ("M", "1")], [2, 5], rules={"sex": AnyValue()})
    >>> found = anonymise(people, k=3)
    >>> anonymised_findings(found, before=assess(people), after=found.assess(), source="people.csv")[0].headline
    'All 7 people in people.csv (100 %) remain, in 1 class (people who look alike): everybody shares sex and zip with at least 6 others.'
    """
    return tuple(finding for _, finding in by_topic(Case.of(result, before, after), source))


def by_topic(case: Case, source: str) -> Iterator[tuple[str, Finding]]:
    """The findings in order, each with the topic that its picture has too."""
    yield "crowd", remaining(case, source)
    yield "kept", cost(case)
    if case.after is not None and case.views is not None:
        yield "risk", risk(case, case.after, case.views)
    yield "certificate", proof(case)
    if case.after is not None:
        for finding in inferred(case.after):
            yield "sensitive", finding


def remaining(case: Case, source: str) -> Finding:
    """Who is still in the table, and with how many others."""
    who = part(case.published if case.after else 0, case.records, where=f" in {source}")
    if case.after is None:
        return Finding(
            f"{who} remains: no class (people who look alike) satisfies what was asked for.",
            "Give columns coarser levels, up to one value for all, or ask for less.",
        )
    if case.after.k == 1:
        shared = "at least one person is still alone, since no class size was asked for"
    else:
        others = plural(case.after.k - 1, "other")
        shared = f"everybody shares {columns(case.before.columns)} with at least {others}"
    classes = plural(case.result.classes, "class", "classes")
    return Finding(
        f"{who} {agree(case.published, 'remains', 'remain')}, in {classes} (people who look alike): {shared}.",
        "Publish these columns in this coding only: a further column, or the same ones coded otherwise, makes "
        "classes smaller.",
    )


def cost(case: Case) -> Finding:
    """What was lost, of which columns, and how many people."""
    lost = loss_in_words(case.result.loss_name, case.result.loss, case.rows)
    left_out = "nobody is left out"
    if case.suppressed:
        left_out = f"{lowered(part(case.suppressed, case.records))} {agree(case.suppressed, 'is', 'are')} left out"
        if case.result.rows is not None:
            lose = f"{agree(case.suppressed, 'loses', 'lose')} {plural(case.result.suppressed_rows, 'row')}"
            left_out = f"{lowered(part(case.suppressed, case.records))} {lose} of {case.rows:,}"
    if case.after is None:
        step = "Change what was asked for first: a table without people helps nobody."
        return Finding(f"{lost}: {left_out}.", step)
    touched = [column for column in case.columns if not column.untouched]
    least = min((column.share for column in touched), default=0.0)
    worst = [column for column in touched if column.share <= least + SAME]
    if not worst:
        stayed = (
            "Tell the recipient how many are left out." if case.suppressed else "Publish: nothing had to be changed."
        )
        return Finding(f"{lost}. Every column stayed as it was; {left_out}.", stayed)
    names = columns([column.name for column in worst])
    rest = "nothing is left" if worst[0].gone else f"{percent(worst[0].share)} is kept"
    same = [column.name for column in case.columns if column.untouched]
    others = "no column stayed as it was"
    if same:
        others = f"{columns(same)} stayed as {'it was' if len(same) == 1 else 'they were'}"
    most = f"Most was lost of {names} ({rest}); {others}" if len(case.columns) > 1 else f"Of {names}, {rest}"
    return Finding(
        f"{lost}. {most}; {left_out}.",
        f"Check that the analysis can do with {names} as published now."
        if case.by_class
        else f"If the recipient needs more of {names if len(worst) <= 3 else 'these'}, put finer steps into the hierarchy, "
        "allow more people to be left out, or drop another column, and anonymise again.",
    )


def risk(case: Case, after: Assessment, views: tuple[str, Reidentification, Reidentification]) -> Finding:
    """Who can be singled out, and how the risk moved."""
    before, name, then, now = case.before, *views
    alone = "Nobody could be singled out by the quasi-identifiers before, and nobody can be now."
    if before.uniques or after.uniques:
        still = lowered(part(after.uniques, after.records)) if after.uniques else "nobody"
        alone = f"{part(before.uniques, before.records)} could be singled out by the quasi-identifiers before; now {still} can be."
    number, threshold = at_risk(after), one_in(after.threshold)
    above = f"{people(number)} {agree(number, 'is', 'are')} above the threshold of {threshold}"
    if not number:
        step = f"Hold the next version against the same threshold: nobody is above {threshold} now."
    elif case.exceeded:
        step = f"Anonymise with k = {crowd(after.threshold):,} or more: {above}, more than the limit allows."
    else:
        step = f"Write the limit into the release decision: {above}, as it allows."
    return Finding(
        f"{alone} The highest risk of anybody {_moved(then.highest, now.highest)}, the average risk "
        f"{_moved(then.success, now.success)}.",
        f"{step} {KNOWS[name]}",
    )


def _moved(before: float, after: float) -> str:
    then, now = fine_percent(before), fine_percent(after)
    if then == now:
        return f"stays at {then}"
    return f"{'falls' if after < before else 'rises'} from {then} to {now}"


def given_words(result: Anonymised) -> str:
    """How levels that were given fare: who misses the limits, and what the optimum would have been."""
    missing = "Nobody misses the limits"
    if result.suppressed:
        missing = f"{people(result.suppressed)[:1].upper()}{people(result.suppressed)[1:]} {agree(result.suppressed, 'misses', 'miss')} the limits and {agree(result.suppressed, 'is', 'are')} left out"
    if result.exceeded:
        missing += f", but at most {result.limits.suppressible:,} may be: nothing is written"
    optimum = optimum_words(result.optimum, loss=result.loss, loss_name=result.loss_name)
    return f"Levels were given, not searched. {missing}. {optimum}"


def proof(case: Case) -> Finding:
    """Whether a better table exists."""
    certificate = case.result.certificate
    if case.result.search == "given":
        return Finding(
            given_words(case.result),
            "Allow more people to be left out, or search the levels again (without `--levels`)."
            if case.result.exceeded
            else "Compare with earlier tables that have the same levels; search again where the loss has grown too much.",
        )
    if certificate is None:
        return Finding(
            f"Values were recoded class by class, into {plural(case.result.classes, 'class', 'classes')}: the same value can be "
            "published finer in one class than in another. No optimality is claimed.",
            "Compare with one level per column (`--search optimal`), which is easier to analyse and proven to be the best of "
            "its kind.",
        )
    nodes = f"{plural(certificate.nodes, 'combination')} of levels"
    counted = f"{certificate.evaluated:,} {agree(certificate.evaluated, 'was', 'were')} counted"
    if certificate.search == "ola":
        return Finding(
            f"This is the best of the minimal ones among {nodes} ({counted}), as OLA is published: no finer one is allowed, "
            "but a coarser one may lose less.",
            "Search the optimum (`--search optimal`) to be certain.",
        )
    if not certificate.optimal:
        stopped = f"The search was stopped after {certificate.evaluated:,} of {nodes} were counted"
        step = "Give it more time (`--time-limit`) to come nearer; what was required holds either way."
        if not 0 < certificate.lower_bound <= certificate.loss:
            return Finding(f"{stopped}: a better one may exist, and nothing is known of how much better.", step)
        bound, loss = measure(certificate.lower_bound, digits=4), measure(certificate.loss, digits=4)
        saved = percent(1 - certificate.lower_bound / certificate.loss, below="less than ")
        could = f"so at most {saved} of the loss could be saved"
        return Finding(f"{stopped}. None costs less than {bound}; this one costs {loss}, {could}.", step)
    ruled_out = {
        "a coarser one already leaves out too many people": certificate.too_much_suppressed,
        "they cannot lose less": certificate.too_costly,
    }
    fates = [
        f"{number:,} {agree(number, 'was', 'were')} ruled out because {why}"
        for why, number in ruled_out.items()
        if number
    ]
    return Finding(
        f"Nothing better exists: of {nodes}, {'; '.join([counted, *fates])}.",
        "Keep this account with the release: anyone who holds the data can check it by counting.",
    )
