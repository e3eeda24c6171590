"""Findings of anonymising: who remains, loss, remaining risk, optimality."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.anonymity import Anonymised, Certificate
from discreet.anonymity.criteria import Requirement, Size
from discreet.kernel.arrays import Ints
from discreet.report.assessment.findings import at_risk, inferred
from discreet.report.toolkit.page import Finding
from discreet.report.toolkit.words import agree, columns, crowd, lowered, one_in, part, people, plural
from discreet.risk import Assessment, Reidentification
from discreet.wording import fine_percent, measure, percent

# What a loss means in words: per person where it is a sum.
SCALE = "on a scale from 0 (the data as they were) to 1 (nothing left)"


@dataclass(frozen=True)
class Loss:
    """One way of measuring loss."""

    name: str
    meaning: str
    said: Callable[[float, int], str]
    """The sentence for a loss among so many people, without a full stop."""
    source: str
    """Key of the reference."""


def _sized(loss: float, people: int) -> str:
    return f"On average {measure(loss)} people look alike, all who are left out counted as one class"


def _discerned(loss: float, people: int) -> str:
    return (
        f"A person looks like {measure(loss / people)} people on average; whoever is left out counts as like everybody"
    )


def _squared(loss: float, people: int) -> str:
    return f"A person looks like {measure(loss / people)} people on average, those left out included"


def _guessed(loss: float, people: int) -> str:
    return f"It takes {measure(loss / people)} bits (yes-no questions) per person to guess the values back"


LOSSES = {
    loss.name: loss
    for loss in (
        Loss(
            "loss",
            "how much of its hierarchy each published value covers; somebody who is left out counts as all of it",
            lambda loss, _: f"The loss is {measure(loss)} {SCALE}",
            "iyengar",
        ),
        Loss("aecs", "the average size of a class", _sized, "lefevre"),
        Loss(
            "discernibility",
            "the size of each person's class, and of the whole table for somebody who is left out, added up",
            _discerned,
            "bayardo",
        ),
        Loss("dm_star", "the size of each person's class, added up, also for those who are left out", _squared, "ola"),
        Loss(
            "precision",
            "how far up its hierarchy each column is published, averaged over columns",
            lambda loss, _: f"The loss of precision is {measure(loss)} {SCALE}",
            "precision",
        ),
        Loss("entropy", "the bits it takes to guess the values back", _guessed, "gionis"),
    )
}


def loss_in_words(name: str, loss: float, people: int) -> str:
    """What was lost, as a sentence without its full stop.

    >>> loss_in_words("loss", 0.241932, 30162)
    'The loss is 0.242 on a scale from 0 (the data as they were) to 1 (nothing left)'
    """
    return LOSSES[name].said(loss, people) if name in LOSSES else f"The loss ({name}) is {measure(loss)}"


# One anonymised table with the risk before and after: the facts that words and pictures share.
SAME = 1e-9


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
    """The result, and what it is compared with."""

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
        """People in the data."""
        return self.result.records

    @property
    def suppressed(self) -> int:
        """People who are left out."""
        return self.result.suppressed

    @property
    def published(self) -> int:
        """People who are published."""
        return self.records - self.suppressed

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
        return max((one.k for one in self.requirements if isinstance(one, Size)), default=None)

    @property
    def suppressible(self) -> int | None:
        """How many people might be left out, where the result says so."""
        return None if self.result.limits is None else int(self.result.limits.suppressible)

    @cached_property
    def columns(self) -> tuple[Kept, ...]:
        """What became of each column."""
        return tuple(self._columns())

    def _columns(self) -> Iterator[Kept]:
        recoding, levels, utility = self.result.recoding, self.result.levels, self.result.utility()
        untouched = 1 - self.suppressed / self.records
        for column, codes, published in zip(
            recoding.classes.columns, recoding.classes.codes, recoding.codes, strict=True
        ):
            share, level = min(1.0, max(0.0, utility[column.name])), levels.get(column.name)
            same = level == column.level if level is not None else share > untouched - SAME
            yield Kept(
                column.name,
                level,
                column.hierarchy.height - 1,
                share,
                same and self.published > 0,
                _distinct(codes),
                _distinct(published[recoding.kept]),
            )

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


def _distinct(codes: Ints) -> int:
    return len(np.unique(codes))


Teller = Callable[[Case, str], tuple[Finding, ...]]
KNOWS = {
    "prosecutor": "The adversary here knows that his target is in the data (the prosecutor).",
    "journalist": "The adversary here knows only that his target is in the population (the journalist).",
}


def anonymised_findings(
    result: Anonymised, *, before: Assessment, after: Assessment | None, source: str
) -> tuple[Finding, ...]:
    """The findings in words, the most important first; `after` is None where nobody is left.

    >>> from discreet.kernel import AnyValue, Classes
    >>> from discreet.anonymity import anonymise
    >>> from discreet.risk import assess
    >>> people = Classes.of(["sex", "zip"], [("F", "1"), ("M", "1")], [2, 5], rules={"sex": AnyValue()})
    >>> found = anonymise(people, k=3)
    >>> anonymised_findings(found, before=assess(people), after=found.assess(), source="people.csv")[0].headline
    'All 7 people in people.csv (100 %) remain, in 1 class (people who look alike): everybody shares sex and zip with at least 6 others.'
    """
    return tuple(finding for _, finding in by_topic(Case.of(result, before, after), source))


def by_topic(case: Case, source: str) -> tuple[tuple[str, Finding], ...]:
    """The findings in order, each with the topic that its picture has too."""
    return tuple((topic, finding) for topic, tell in TOPICS for finding in tell(case, source))


def _remaining(case: Case, source: str) -> tuple[Finding, ...]:
    if case.after is None:
        return (_nobody(case, source),)
    who = part(case.published, case.records, where=f" in {source}")
    classes = plural(case.result.classes, "class", "classes")
    verb = agree(case.published, "remains", "remain")
    headline = f"{who} {verb}, in {classes} (people who look alike): {_shared(case, case.after)}."
    return (
        Finding(
            headline,
            "Publish these columns in this coding only: a further column, or the same ones coded otherwise, makes "
            "classes smaller.",
        ),
    )


def _shared(case: Case, after: Assessment) -> str:
    if after.k == 1:
        return "somebody is still alone, since no size of classes was asked for"
    others = plural(after.k - 1, "other", "others")
    return f"everybody shares {columns(case.before.columns)} with at least {others}"


def _nobody(case: Case, source: str) -> Finding:
    return Finding(
        f"{part(0, case.records, where=f' in {source}')} remains: no class (people who look alike) satisfies what was asked "
        "for.",
        "Give columns coarser levels, up to one value for all, or ask for less.",
    )


def _cost(case: Case, source: str) -> tuple[Finding, ...]:
    lost = loss_in_words(case.result.loss_name, case.result.loss, case.records)
    if case.after is None:
        step = "Change what was asked for first: a table without people helps nobody."
        return (Finding(f"{lost}: {_left_out(case)}.", step),)
    headline = f"{lost}. {_columns_lost(case.columns)}; {_left_out(case)}."
    return (Finding(headline, _regain(case)),)


def _columns_lost(found: Sequence[Kept]) -> str:
    worst = worst_of(found)
    if not worst:
        return "Every column stayed as it was"
    if len(found) == 1:
        return f"Of {found[0].name}, {_what_is_left(worst)}"
    return f"Most was lost of {columns([column.name for column in worst])} ({_what_is_left(worst)}); {_stayed(found)}"


def worst_of(found: Sequence[Kept]) -> list[Kept]:
    """The columns that lost most, if any lost at all."""
    touched = [column for column in found if not column.untouched]
    least = min((column.share for column in touched), default=0.0)
    return [column for column in touched if column.share <= least + SAME]


def _what_is_left(worst: Sequence[Kept]) -> str:
    if worst[0].gone:
        return "nothing is left"
    return f"{percent(worst[0].share)} is kept"


def _stayed(found: Sequence[Kept]) -> str:
    names = [column.name for column in found if column.untouched]
    return (
        f"{columns(names)} stayed as {'it was' if len(names) == 1 else 'they were'}"
        if names
        else "no column stayed as it was"
    )


def _left_out(case: Case) -> str:
    if not case.suppressed:
        return "nobody is left out"
    return f"{lowered(part(case.suppressed, case.records))} {agree(case.suppressed, 'is', 'are')} left out"


def _regain(case: Case) -> str:
    worst = [column.name for column in worst_of(case.columns)]
    if not worst:
        return "Tell the recipient how many are left out." if case.suppressed else "Publish: nothing had to be changed."
    if case.by_class:
        return f"Check that the analysis can do with {columns(worst)} as published now."
    return (
        f"If the recipient needs more of {columns(worst) if len(worst) <= 3 else 'these'}, put finer steps into the hierarchy, allow more people to be left "
        "out, or drop another column, and anonymise again."
    )


def _risk(case: Case, source: str) -> tuple[Finding, ...]:
    if case.after is None or case.views is None:
        return ()
    name, then, now = case.views
    highest = _moved(then.highest, now.highest)
    average = _moved(then.success, now.success)
    headline = (
        f"{_singled_out(case.before, case.after)} The highest risk of anybody {highest}, the average risk {average}."
    )
    return (Finding(headline, f"{_threshold(case, case.after)} {KNOWS[name]}"),)


def _singled_out(before: Assessment, after: Assessment) -> str:
    if not before.uniques and not after.uniques:
        return "Nobody could be singled out before, and nobody can be now."
    now = part(after.uniques, after.records) if after.uniques else "nobody"
    return f"{part(before.uniques, before.records)} could be singled out before; now {lowered(now)} can be."


def _moved(before: float, after: float) -> str:
    then, now = fine_percent(before), fine_percent(after)
    if then == now:
        return f"stays at {then}"
    return f"{'falls' if after < before else 'rises'} from {then} to {now}"


def _threshold(case: Case, after: Assessment) -> str:
    number, threshold = at_risk(after), one_in(after.threshold)
    if not number:
        return f"Hold the next version against the same threshold: nobody is above {threshold} now."
    above = f"{people(number)} {agree(number, 'is', 'are')} above the threshold of {threshold}"
    if not case.exceeded:
        return f"Write the limit into the release decision: {above}, as it allows."
    return f"Anonymise with k = {crowd(after.threshold):,} or more: {above}, more than the limit allows."


def _proof(case: Case, source: str) -> tuple[Finding, ...]:
    certificate = case.result.certificate
    if certificate is None:
        return (_no_claim(case),)
    if certificate.search == "ola":
        return (_best_minimal(certificate),)
    return (_optimal(certificate) if certificate.optimal else _stopped(certificate),)


def _no_claim(case: Case) -> Finding:
    return Finding(
        f"Values were recoded class by class, into {plural(case.result.classes, 'class', 'classes')}: the same value can be "
        "published finer in one class than in another. No optimality is claimed.",
        "Compare with one level per column (`--search optimal`), which is easier to analyse and proven to be the best of "
        "its kind.",
    )


def _optimal(certificate: Certificate) -> Finding:
    fates = [
        f"{certificate.evaluated:,} {agree(certificate.evaluated, 'was', 'were')} counted",
        *_ruled_out(certificate.too_much_suppressed, "a coarser one already leaves out too many people"),
        *_ruled_out(certificate.too_costly, "they cannot lose less"),
    ]
    return Finding(
        f"Nothing better exists: of {_combinations(certificate.nodes)}, {'; '.join(fates)}.",
        "Keep this account with the release: whoever holds the data can check it by counting.",
    )


def _combinations(number: int) -> str:
    return f"{plural(number, 'combination', 'combinations')} of levels"


def _ruled_out(number: int, why: str) -> list[str]:
    return [f"{number:,} {agree(number, 'was', 'were')} ruled out because {why}"] if number else []


def _stopped(certificate: Certificate) -> Finding:
    counted = (
        f"The search was stopped after {certificate.evaluated:,} of {_combinations(certificate.nodes)} were counted"
    )
    step = "Give it more time (`--time-limit`) to come nearer; what was required holds either way."
    if not 0 < certificate.lower_bound <= certificate.loss:
        return Finding(f"{counted}: a better one may exist, and nothing is known of how much better.", step)
    bound, loss = measure(certificate.lower_bound, digits=4), measure(certificate.loss, digits=4)
    saved = percent(1 - certificate.lower_bound / certificate.loss, below="less than ")
    return Finding(
        f"{counted}. None costs less than {bound}; this one costs {loss}, so at most {saved} of the loss could be saved.",
        step,
    )


def _best_minimal(certificate: Certificate) -> Finding:
    return Finding(
        f"This is the best of the minimal ones among {_combinations(certificate.nodes)} ({certificate.evaluated:,} "
        f"{agree(certificate.evaluated, 'was', 'were')} counted), as OLA is published: no finer one is allowed, but a "
        "coarser one may lose less.",
        "Search with `--search optimal` to be certain.",
    )


def _sensitive(case: Case, source: str) -> tuple[Finding, ...]:
    return () if case.after is None else inferred(case.after, source)


TOPICS: tuple[tuple[str, Teller], ...] = (
    ("crowd", _remaining),
    ("kept", _cost),
    ("risk", _risk),
    ("certificate", _proof),
    ("sensitive", _sensitive),
)
