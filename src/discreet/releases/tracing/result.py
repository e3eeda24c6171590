"""Result of a trace: evidence per recipient, error rate, and its explanation."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from discreet.kernel.serialise import card, json_of
from discreet.releases.tracing.evidence import ClaimOrigin

# What a trace found: how much speaks for and against each recipient, who is accused, and what the error rate is.
ALPHA = 1e-3
"""Probability that anybody at all is accused though all are innocent."""
MOST_LIGHTS = 48
"""Marks that came up and are shown one by one."""
PRIOR = 0.5
"""Probability that one of the recipients is the source before the evidence is looked at, if nobody says otherwise."""


@dataclass(frozen=True)
class RecipientEvidence:
    """One recipient: marks that speak for and against it being the source, and how strongly."""

    recipient: str
    hits: int
    """Marks that came up and are in its copy."""
    misses: int
    """Marks that came up and are not."""
    log10_e: float
    """The e-value as a power of ten."""
    posterior: float
    accused: bool
    p_value: float | None = None
    """Of a leaked file: a bound on how often a recipient who never had a copy would look as bad; one over the e-value."""


@dataclass(frozen=True)
class Trace:
    """The outcome of a trace. It holds no value of any person: marks are numbers.

    `accused` are the recipients against whom the evidence reaches the line; were all innocent, anybody would be
    accused with probability at most `alpha`.
    """

    release: str
    kind: Literal["claims", "leak"]
    fingerprint: str
    """Tells to which list of marks the numbers belong."""
    source: str
    alpha: float
    prior: float
    family: int
    """Recipients among whom the error rate is shared."""
    standings: tuple[RecipientEvidence, ...]
    """The strongest evidence first."""
    incidents: tuple[tuple[int, ...], ...]
    """Per incident, the numbers of the marks that were hit for the first time; the last one is this one."""
    best_log10_e: float
    """The evidence there would be against a recipient who holds every mark that came up."""
    counts: Mapping[str, int]
    """Rows, classes and marks, by what became of them."""
    origin: ClaimOrigin | None = None
    best_p_value: float | None = None
    columns: Mapping[str, int] = field(default_factory=dict)
    """Of a leaked file: the columns that were used, and how many levels above the published one they are."""
    notes: tuple[str, ...] = ()
    """What a reader should know about how the table was read."""
    number: int | None = None
    """Which of the traced files of the release this is; None for claims with all that were claimed before."""
    lights: Mapping[str, tuple[bool, ...]] = field(default_factory=dict)
    """Per recipient, which of the marks that came up its copy has; of many marks some, evenly."""
    file: str = ""
    """Tells what was looked at from other files: equal where the same is said of every mark."""

    @property
    def accused(self) -> tuple[str, ...]:
        """The recipients who are accused, the strongest evidence first."""
        return tuple(one.recipient for one in self.standings if one.accused)

    @property
    def hits(self) -> tuple[int, ...]:
        """The numbers of the marks that came up in this incident for the first time."""
        return self.incidents[-1]

    @property
    def log10_needed(self) -> float:
        """The e-value from which on a recipient is accused, N/alpha by the share of this look, as a power of ten."""
        return math.log10(self.family) - math.log10(self.line)

    @property
    def line(self) -> float:
        """The part of alpha that is spent on this look."""
        return self.alpha * share_of(self.number)

    @property
    def possible(self) -> bool:
        """Whether a recipient could have been accused whose copy holds every mark that came up."""
        if self.best_p_value is not None:
            return self.best_p_value <= self.line / self.family
        return self.best_log10_e >= self.log10_needed

    def words(self) -> str:
        """All of it in sentences."""
        return "\n".join(f"{statement.says} {statement.then}".strip() for statement in statements(self))

    to_dict = json_of(
        "release kind fingerprint source accused alpha prior family log10_needed possible best_log10_e "
        "best_p_value recipients=standings counts incidents origin columns notes number file",
        words=lambda self: self.words(),
    )

    def _repr_html_(self) -> str:
        rows = [
            (one.recipient, f"{one.hits:,}", f"{one.misses:,}", "yes" if one.accused else "no")
            for one in self.standings
        ]
        head = ("recipient", "marks for", "marks against", "accused")
        return card(self.words(), rows, head=head)

    def __repr__(self) -> str:
        who = ", ".join(self.accused) or "nobody"
        return f"Trace({self.kind} against {self.release}: {who} accused of {len(self.standings)})"


ALTERNATIVES = (
    "This is evidence, not a verdict. It says from whose copy the people or rows came, not who took them: the recipient may "
    "have been hacked, one of its staff may have acted alone, or it may have passed the copy on with or without a right to."
)
OWN = (
    "Anyone holding the sealed manifest and a copy, or the custodian's own files, can make claims that point to any recipient: "
    "keep who had access to the keys with this trace."
)


@dataclass(frozen=True)
class TraceStatement:
    """A statement about a topic of a trace, and what to do about it."""

    topic: str
    says: str
    then: str = ""


def statements(trace: Trace) -> Iterator[TraceStatement]:
    """Everything that can be said, the most important first."""
    leak = trace.kind == "leak"
    for evidence in trace.standings:
        if not evidence.accused:
            continue
        seen = count(evidence.hits + evidence.misses, "mark", "marks")
        yield TraceStatement(
            "recipients",
            f"{evidence.recipient} is accused: of {seen} that the {'file shows' if leak else 'claims hit'}, "
            f"{evidence.hits:,} {'is' if evidence.hits == 1 else 'are'} in its copy and "
            f"{evidence.misses:,} {'is' if evidence.misses == 1 else 'are'} not.",
            "Ask for access logs and for what was done with the copy before anything else is concluded.",
        )
        strength = _strength(trace, evidence)
        yield TraceStatement(
            "recipients",
            f"{strength[:1].upper()}{strength[1:]}. If before the evidence the chance was {share(trace.prior)} that one "
            f"recipient is the source, any of {trace.family:,} alike, it is now {share(evidence.posterior)} that it is "
            f"{evidence.recipient}.",
            "The prior is yours to choose: weigh the evidence with what else is known.",
        )
    if not trace.accused:
        if trace.possible:
            best = (
                "A copy with every mark that came up would have been named, so the evidence does not point at one copy."
            )
            then = "Look for another source: a second release, the original, or several recipients together."
        elif leak:
            best = "Not even a copy that fits the file perfectly would differ from those that nobody had: it holds too little."
            then = "Look for more rows, or for a version of the file with more columns."
        else:
            best = (
                f"Even a recipient whose copy holds every mark that was hit would only reach {power(trace.best_log10_e)}: "
                "nobody could have been accused."
            )
            then = "Trace again when more claims are known; evidence adds up."
        first = trace.standings[0]
        says = f"Nobody is accused. The strongest evidence is against {first.recipient}: {_strength(trace, first)}."
        yield TraceStatement("recipients", f"{says} {best}", then)
    others = "" if trace.family == len(trace.standings) else " (some of them still to come)"
    if trace.number is None:
        looks, rate = "releases, however often one looks and however incidents are put together", ""
    else:
        looks = "releases, by all their traced files together"
        rate = (
            f" This is file {trace.number:,} of the release, and has {share(share_of(trace.number))} of that rate; the same file again "
            "changes nothing, and every other one has less."
        )
    yield TraceStatement(
        "error-rate",
        f"Were all {count(trace.family, 'recipient', 'recipients')}{others} innocent, anybody would be accused in at most "
        f"{share(trace.alpha)} of {looks}.{rate}",
        "If an accusation must be rarer, choose a smaller alpha before the first trace: it is fixed by then.",
    )
    if trace.origin is not None and trace.origin.claims:
        yield from _about_origin(trace, trace.origin)
    yield _about_rows(trace)
    for note in trace.notes:
        yield TraceStatement("read", note)
    yield TraceStatement("alternatives", ALTERNATIVES, OWN)


def _strength(trace: Trace, one: RecipientEvidence) -> str:
    if one.p_value is not None:
        return (
            f"a recipient who never had a copy would look as bad with probability {one.p_value:.2g} or less, and "
            f"{trace.line / trace.family:.2g} is the line"
        )
    return f"the evidence (e-value) is {power(one.log10_e)}, and {power(trace.log10_needed)} is the line"


def _about_origin(trace: Trace, origin: ClaimOrigin) -> Iterator[TraceStatement]:
    """Whether a copy was used at all, as decoys among the claims show."""
    where = "claimed" if trace.kind == "claims" else "in the file"
    hit = f"{origin.decoys:,} of {count(origin.claims, 'class', 'classes')} {where} {'is a decoy' if origin.decoys == 1 else 'are decoys'}"
    chance = f"people picked at random among those with as many look-alikes would have given {origin.expected:.1f}"
    if origin.p_value <= trace.alpha:
        lead, link = "A copy of this release was used", ", and"
        then = "Treat it as a breach of a copy, also where nobody is accused yet."
    elif trace.accused:
        lead, link = "Decoys alone would not show it", ";"
        then = "That a copy was used follows from the accusation, which counts real marks as well."
    else:
        lead, link = "Nothing shows that a copy of this release was used", ";"
        then = "Ask where it comes from: people can be named, and tables be made, without any copy."
    yield TraceStatement("origin", f"{lead}: {hit}{link} {chance} (p = {origin.p_value:.2g}).", then)
    if origin.own_copy is not None and origin.own_copy <= trace.alpha and not trace.accused:
        yield TraceStatement(
            "origin",
            f"Hardly any decoys are among the marks that were hit (p = {origin.own_copy:.2g}, had a copy been used as it is): the "
            "claims may come from the original table, which has none, or from a copy whose decoys were left out.",
            "Conclude nothing from that alone: it fits anyone who can read the original, and a recipient who found the decoys.",
        )


def _about_rows(trace: Trace) -> TraceStatement:
    """How the claims or the file were read, and what became of the rows."""
    n = trace.counts
    if trace.kind == "leak":
        levels = {
            name: f"{count(step, 'level', 'levels')} coarser" if step else "as published"
            for name, step in trace.columns.items()
        }
        where = ", ".join(f"{name} ({level})" for name, level in levels.items())
        says = f"{count(n['rows'], 'row', 'rows')}, read by {where or 'the other columns of decoys'}: {n['matched']:,} match the release"
        rest = [("foreign", "are in no copy"), ("left_out", "are written too coarsely to be used")]
        says += "".join(f", {n[name]:,} {what}" for name, what in rest if n[name])
        says += f". {count(n['marks'], 'mark', 'marks')} of {n['visible']:,} that it could show came up"
        return TraceStatement("read", f"{says}.")
    says = f"{count(n['rows'], 'claim', 'claims')} in {count(n['classes'], 'class', 'classes')}: {count(n['marks'], 'mark', 'marks')} ({count(n['decoys'], 'decoy', 'decoys')}, {count(n['real_marks'], 'real', 'real')})"
    rest = [
        ("repeated", "hit before and not counted again"),
        ("everywhere", "in every copy"),
        ("nowhere", "in no copy"),
        ("excluded", "left out as own audits"),
    ]
    says += "".join(f", {n[name]:,} {what}" for name, what in rest if n[name])
    lost = [
        ("unusable", "with a value that fits no hierarchy"),
        ("outside", "of people whom neither data nor population show"),
    ]
    says += "".join(f"; {count(n[name], 'row', 'rows')} {what}" for name, what in lost if n[name])
    then = f"All that {len(trace.incidents):,} incidents hit counts together." if len(trace.incidents) > 1 else ""
    return TraceStatement("read", f"{says}.", then)


def share_of(number: int | None) -> float:
    """The share of alpha that a traced file has, given its number; all shares of a release add up to one.

    >>> share_of(None), share_of(1), sum(share_of(number) for number in range(1, 1_000)) < 1
    (1.0, 0.5, True)
    """
    return 1.0 if number is None else 1 / (number * (number + 1))


def count(number: int, one: str, many: str) -> str:
    """A number with its noun."""
    return f"{number:,} {one if number == 1 else many}"


def power(log10: float) -> str:
    """A number of any size from its power of ten.

    >>> power(4.30103), power(-2.0), power(12.5)
    ('20,000', '0.01', '3.2e+12')
    """
    if -3 <= log10 < 6:
        return f"{10**log10:,.0f}" if log10 >= 1 else f"{10**log10:.2g}"
    exponent = int(log10 // 1)
    return f"{10 ** (log10 - exponent):.1f}e{exponent:+d}"


def share(value: float) -> str:
    """A probability as a percentage that never claims to be certain.

    >>> share(0.001), share(0.5), share(0.9999999), share(1e-9)
    ('0.1 %', '50 %', 'more than 99.99 %', 'less than 0.01 %')
    """
    if value > 0.9999:
        return "more than 99.99 %"
    if value < 0.0001:
        return "less than 0.01 %"
    return f"{value * 100:.4g} %"
