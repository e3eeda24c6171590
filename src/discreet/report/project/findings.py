"""Statements a decision can rest on, worst first, each with a next step."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from discreet.kernel.serialise import card, json_of
from discreet.report.assessment_findings import allowed, at_risk, inferred
from discreet.report.attack import attack_findings
from discreet.report.project.ledger_facts import Disclosed, GatewayUser, LedgerState, Released, disclosed
from discreet.report.project.measurement import Measured, ProjectFile
from discreet.report.project.measurement import measure as measure_project
from discreet.report.toolkit.page import Finding
from discreet.report.toolkit.words import agree, crowd, listed, lowered, one_in, part, plural
from discreet.wording import measure, percent

if TYPE_CHECKING:
    from discreet.linkage.progress import Progress

Standing = Literal["above", "attention", "unmeasured", "within"]
STANDINGS: dict[Standing, tuple[str, str]] = {
    "above": ("above a limit", "above a limit"),
    "attention": ("needs attention", "need attention"),
    "unmeasured": ("not measured", "not measured"),
    "within": ("in order", "in order"),
}
"""In words, of one and of several; the worst first."""
SIGNS: dict[Standing, str] = {"above": "▲", "attention": "●", "unmeasured": "○", "within": "✓"}
"""For those who do not see colours."""
NEAR = 0.8
"""From this share of a limit on, it needs attention."""


@dataclass(frozen=True)
class Statement:
    """A finding, its standing, and the section that proves it."""

    topic: str
    standing: Standing
    finding: Finding

    to_dict = json_of("topic standing says=finding.headline next=finding.next_step")

    @property
    def sign(self) -> str:
        """The standing in one character."""
        return SIGNS[self.standing]


def statements(story: Story) -> tuple[Statement, ...]:
    """Everything that can be said in a sentence, the worst first."""
    measured, disclosed = story.measured, story.disclosed
    stated: list[Statement] = []
    if measured.published is not None and measured.published.identifiers:
        name, identifiers = measured.published.name, listed(measured.published.identifiers)
        finding = Finding(
            f"{name} still has what the policy calls identifiers: {identifiers}. Anyone who has it knows who everybody is.",
            "Publish what `discreet anonymise` writes: it leaves them out.",
        )
        stated.append(Statement("anonymisation", "above", finding))
    stated.append(risk(measured))
    # What is learnt of people without recognising anybody, of the sensitive column where it is worst.
    for finding in itertools.islice(inferred(measured.leaving), 1):
        certain = any(column.distinct_l == 1 for column in measured.leaving.inference.values())
        stated.append(Statement("risk", "attention" if certain else "within", finding))
    if (struck := measured.struck) is not None:
        finding = attack_findings(struck, source=measured.leaving_name, threshold=measured.leaving.threshold)[0]
        standing: Standing = "above" if measured.struck_exceeds else "attention" if struck.known.attacked else "within"
        stated.append(Statement("attacker", standing, finding))
    stated += [Statement(topic, "unmeasured", Finding(headline, step)) for topic, headline, step in gaps(story)]
    if disclosed is not None:
        for released in disclosed.releases:
            stated += release(released, measured)
        stated += map(linkage, disclosed.linkage)
        for database in dict.fromkeys(user.database for user in disclosed.users):
            stated.append(queries(database, [user for user in disclosed.users if user.database == database]))
        stated.append(ledger(disclosed.ledger))
    order = list(STANDINGS)
    return tuple(sorted(stated, key=lambda statement: order.index(statement.standing)))


def project_findings(story: Story) -> tuple[Finding, ...]:
    """Findings of a project, the worst first."""
    return tuple(statement.finding for statement in statements(story))


def risk(measured: Measured) -> Statement:
    """Whether what leaves the house is within the limit."""
    leaving, before = measured.leaving, measured.assessment
    number = at_risk(leaving)
    if measured.published is not None:
        would = lowered(part(at_risk(before), before.records, where=f" in {measured.source}"))
        step = f"Hand out nothing else: of the data as they are, {would} would be above that risk."
    elif leaving.exceeded:
        step = "Do not hand the data out as they are. Write a coarser table with `discreet anonymise`, and name it in the project as `published`."
    else:
        step = "Write the limit into the decision, so that the next version is held against it too."
    headline = (
        f"{measured.leaving_name} is {'above' if leaving.exceeded else 'within'} the limit: "
        f"{lowered(part(number, leaving.records))} {agree(number, 'has', 'have')} a risk of more than "
        f"{one_in(leaving.threshold)} to be re-identified, and the limit allows {allowed(leaving)}."
    )
    return Statement("risk", "above" if leaving.exceeded else "within", Finding(headline, step))


def gaps(story: Story) -> Iterator[tuple[str, str, str]]:
    """What was not measured: the section, why, and how to measure it."""
    measured = story.measured
    if measured.assessment.population_size is None:
        yield (
            "risk",
            "Nobody has measured how rare these people are outside the data: the project names no population.",
            "Give `population` in the project: a register, or just the number of people.",
        )
    if measured.struck is None:
        yield (
            "attacker",
            "Nobody has asked what a planning adversary would do: the project names no adversary.",
            "Write down what an adversary gains and risks: `discreet attack init --out attack.toml`, then `attack` in the project.",
        )
    if measured.published is None:
        yield (
            "anonymisation",
            "Nothing was anonymised: the report takes it that the data leave as they are.",
            "If a coarser table is handed out, name it in the project as `published`.",
        )
    elif measured.published.levels is None and measured.assessment.presence is not None:
        yield (
            "anonymisation",
            f"{measured.published.name} was not held against the population: its values are at several levels at once.",
            "The risk above takes it that an adversary knows who is in the data, which is the stricter view.",
        )
    if story.disclosed is None:
        yield (
            "recipients",
            "Nobody can tell here who got what: the project names no store, so recipients, linkage and queries are not covered.",
            "Give `store` in the project, or `--store`.",
        )


def release(released: Released, measured: Measured) -> Iterator[Statement]:
    """Holders of a release, results of traces, and a k that is too small."""
    if released.accused:
        trace = next(trace for trace in reversed(released.traces) if trace.accused)
        headline = (
            f"A trace of release {released.name} accuses {listed(released.accused)}: {trace.source} fits that copy. Were all "
            f"innocent, anybody would be accused in at most {percent(float(trace.alpha), below='less than ')} of traces."
        )
        step = "This is evidence, not a verdict: ask for access logs before anything is concluded, and hand over nothing more."
        yield Statement("recipients", "attention", Finding(headline, step))
    else:
        holders = plural(len(released.holders), "recipient holds a copy", "recipients hold copies")
        k = "" if released.k is None else f", with at least {released.k} people alike in it"
        traces = len(released.traces)
        traced = f"{plural(traces, 'trace')} accused nobody." if traces else "No leak was traced."
        waiting = sum(copy.time is None and copy.state != "retired" for copy in released.copies)
        step = "Keep the store and its keys: only they can trace a leak."
        if waiting:
            step = f"{plural(waiting, 'copy waits', 'copies wait')} to be handed over."
        yield Statement("recipients", "within", Finding(f"{holders} of release {released.name}{k}. {traced}", step))
    # Copies were made under a k of their own, which the policy's threshold may not allow.
    needed = crowd(measured.leaving.threshold)
    if released.k is not None and released.k < needed and released.holders:
        headline = (
            f"Copies of release {released.name} may show as few as {plural(released.k, 'person', 'people')} who look alike; the threshold "
            f"of {one_in(measured.leaving.threshold)} asks for {needed:,} unless the population hides them."
        )
        step = "Measure a copy as `published`, or make the next version with a larger k."
        yield Statement("recipients", "attention", Finding(headline, step))


def linkage(project: Progress) -> Statement:
    """How much reviewers of pairs saw, against their limits."""
    shown = max((worker.characters.used for worker in project.workers), default=project.characters.used)
    learned = max((worker.risk.used for worker in project.workers), default=project.risk.used)
    fullest = max(
        (
            float(gauge.used / gauge.limit) if gauge.limit else float(gauge.used > 0)
            for gauge in gauges(project)
            if gauge.limit is not None
        ),
        default=None,
    )
    headline = (
        f"{plural(len(project.workers), 'reviewer')} of {project.project.name} saw at most {percent(float(shown))} of "
        f"the characters of {plural(project.pairs, 'pair')} and learned at most {percent(float(learned))} of their privacy "
        "risk"
    )
    if fullest is None:
        step = "Give every reviewer a limit: `discreet link assign --risk 0.12 --characters 0.3`."
        return Statement("linkage", "unmeasured", Finding(f"{headline}; nobody set a limit.", step))
    standing: Standing = "above" if fullest > 1 else "attention" if fullest >= NEAR else "within"
    step = "All pairs are decided: close the project, so that nothing more is opened."
    if left := project.verdicts.get("open", 0):
        step = f"{plural(left, 'pair is', 'pairs are')} not decided yet; what they cost is not in these numbers."
    return Statement(
        "linkage", standing, Finding(f"{headline}; at most {percent(fullest)} of any limit is used.", step)
    )


def queries(database: str, users: list[GatewayUser]) -> Statement:
    """What users of a database learned, the most exposed first."""
    most = users[0]
    rows, refused, overlooked = (
        sum(getattr(user, name) for user in users) for name in ("rows", "refused", "overlooked")
    )
    limit = "; no limit was set." if most.limit is None else f" of a limit of {measure(most.limit)}."
    headline = (
        f"{plural(len(users), 'user')} asked database {database} and got {plural(rows, 'row')}; "
        f"{plural(refused, 'request was', 'requests were')} refused. The most exposed, {most.user}, is at "
        f"{measure(most.exposure)}{limit}"
    )
    standing: Standing = "attention"
    if any(user.exceeded for user in users):
        standing = "above"
        step = "Stop or question those above their limit, and run the gateway with `--mode enforce`."
    elif overlooked:
        step = f"The gateway only watched and let {overlooked:,} of them pass: run it with `--mode enforce`."
    elif most.used is not None and most.used >= NEAR:
        step = f"Ask {most.user} what the data are needed for before the limit is raised."
    else:
        standing = "within"
        step = "Look at unusual days: `discreet misuse anomalies`."
    return Statement("queries", standing, Finding(headline, step))


def ledger(state: LedgerState) -> Statement:
    """Whether the ledger is what was written, and what it was held against."""
    headline = f"All {plural(state.size, 'entry', 'entries')} of the ledger are as they were written"
    if state.heads:
        several = f"the {state.heads} heads that were stored elsewhere"
        before = agree(state.heads, "the head that was stored elsewhere", several)
        return Statement(
            "ledger", "within", Finding(f"{headline}, and continue {before}.", "Keep the new head as well.")
        )
    step = "Keep the head at the end of this report elsewhere, and check the next report against it with `--head`."
    return Statement("ledger", "within", Finding(f"{headline}, by their own hashes and signature.", step))


# A whole data-sharing project: what was measured, what was disclosed, and whether it is within limits.
@dataclass(frozen=True, eq=False)
class Story:
    """Everything that the report tells."""

    project: ProjectFile
    measured: Measured
    disclosed: Disclosed | None
    """None where the project names no store."""

    @property
    def exceeded(self) -> bool:
        """Whether a publication, a reviewer or a user of a database is above a limit."""
        found = self.disclosed
        if found is None:
            return self.measured.exceeded
        reviewed = (gauge for project in found.linkage for gauge in gauges(project))
        beyond = any(gauge.limit is not None and gauge.used > gauge.limit for gauge in reviewed)
        return self.measured.exceeded or beyond or any(user.exceeded for user in found.users)

    def __repr__(self) -> str:
        return f"Story({self.project.title}, {'above a limit' if self.exceeded else 'within limits'})"

    def _repr_html_(self) -> str:
        rows = [(STANDINGS[each.standing][0], each.finding.headline) for each in statements(self)]
        return card(self.project.title, rows, head=("standing", "finding"))

    def to_dict(self) -> dict[str, Any]:
        """For JSON; the keys are stable."""
        nothing = {"releases": None, "linkage": None, "queries": None, "ledger": None}
        return {
            "title": self.project.title,
            **self.measured.to_dict(),
            **(nothing if self.disclosed is None else self.disclosed.to_dict()),
            "findings": [each.to_dict() for each in statements(self)],
            "exceeded": self.exceeded,
        }


def gauges(progress: Any) -> list[Any]:
    """The meters of a linkage project: of everybody together, and of each reviewer."""
    return [progress.characters, progress.risk] + [
        gauge for worker in progress.workers for gauge in (worker.characters, worker.risk)
    ]


def tell(project: ProjectFile, *, store: str | None = None, heads: Sequence[Mapping[str, Any]] = ()) -> Story:
    """Measure what can be measured now and read what was disclosed; `store` takes the place of the project's own."""
    address = project.store if store is None else store
    # First the ledger: it is quick, and nothing is told beside one that was tampered with.
    found = None if address is None else disclosed(project, address, heads=heads)
    return Story(project, measure_project(project), found)
