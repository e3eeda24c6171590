"""Statements a decision can rest on, worst first, each with a next step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from discreet.kernel.notebook import card
from discreet.report.assessment.findings import allowed, at_risk, inferred
from discreet.report.attack import attack_findings
from discreet.report.project.ledger_facts import Disclosed, GatewayUser, Released, disclosed
from discreet.report.project.measurement import Measured, ProjectFile
from discreet.report.project.measurement import measure as measurement_measure
from discreet.report.toolkit.page import Finding
from discreet.report.toolkit.words import agree, crowd, listed, lowered, one_in, part, plural
from discreet.wording import measure, percent

if TYPE_CHECKING:
    from discreet.linkage.progress import Progress
    from discreet.report.project.ledger_facts import LedgerState

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
"""From this share of a limit on somebody should know."""


@dataclass(frozen=True)
class Statement:
    """A finding, how it stands, and the section that proves it."""

    topic: str
    standing: Standing
    finding: Finding

    @property
    def sign(self) -> str:
        """How it stands, in one character."""
        return SIGNS[self.standing]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "topic": self.topic,
            "standing": self.standing,
            "says": self.finding.headline,
            "next": self.finding.next_step,
        }


def statements(story: Story) -> tuple[Statement, ...]:
    """Everything that can be said in a sentence, the worst first."""
    order = list(STANDINGS)
    return tuple(sorted(_statements(story), key=lambda one: order.index(one.standing)))


def project_findings(story: Story) -> tuple[Finding, ...]:
    """The same as findings."""
    return tuple(one.finding for one in statements(story))


def _statements(story: Story) -> Iterator[Statement]:
    yield from _names_left(story.measured)
    yield _risk(story.measured)
    yield from _given_away(story.measured)
    yield from _attacker(story.measured)
    yield from _unmeasured(story)
    if story.disclosed is None:
        return
    for release in story.disclosed.releases:
        yield _release(release)
        yield from _small_classes(release, story.measured)
    for project in story.disclosed.linkage:
        yield _linkage(project)
    for database in dict.fromkeys(user.database for user in story.disclosed.users):
        yield _queries(database, [user for user in story.disclosed.users if user.database == database])
    yield _ledger(story.disclosed.ledger)


def _names_left(measured: Measured) -> Iterator[Statement]:
    shown = measured.published
    if shown is None or not shown.identifiers:
        return
    names = listed(shown.identifiers)
    headline = (
        f"{shown.name} still has what the policy calls identifiers: {names}. Whoever has it knows who everybody is."
    )
    yield Statement(
        "anonymisation", "above", Finding(headline, "Publish what `discreet anonymise` writes: it leaves them out.")
    )


def _risk(measured: Measured) -> Statement:
    found, exceeded = measured.leaving, measured.leaving.exceeded
    number = at_risk(found)
    who = lowered(part(number, found.records))
    headline = (
        f"{measured.leaving_name} is {'above' if exceeded else 'within'} the limit: {who} {agree(number, 'has', 'have')} a "
        f"risk of more than {one_in(found.threshold)} to be re-identified, and the limit allows {allowed(found)}."
    )
    return Statement("risk", "above" if exceeded else "within", Finding(headline, _what_leaves(measured)))


def _given_away(measured: Measured) -> Iterator[Statement]:
    """What is learnt of people without recognising anybody, of the sensitive column where it is worst."""
    found = measured.leaving
    for finding in inferred(found, measured.leaving_name)[:1]:
        certain = any(one.distinct_l == 1 for one in found.inference.values())
        yield Statement("risk", "attention" if certain else "within", finding)


def _what_leaves(measured: Measured) -> str:
    before = measured.assessment
    if measured.published is not None:
        would = lowered(part(at_risk(before), before.records, where=f" in {measured.source}"))
        return f"Hand out nothing else: of the data as they are, {would} would be above that risk."
    if measured.leaving.exceeded:
        return "Do not hand the data out as they are. Write a coarser table with `discreet anonymise`, and name it in the project as `published`."
    return "Write the limit into the decision, so that the next version is held against it too."


def _attacker(measured: Measured) -> Iterator[Statement]:
    struck = measured.struck
    if struck is None:
        return
    found = attack_findings(struck, source=measured.leaving_name, threshold=measured.leaving.threshold)[0]
    standing: Standing = "above" if measured.struck_exceeds else "attention" if struck.known.attacked else "within"
    yield Statement("attacker", standing, found)


def _unmeasured(story: Story) -> Iterator[Statement]:
    for topic, headline, step in _gaps(story):
        yield Statement(topic, "unmeasured", Finding(headline, step))


def _gaps(story: Story) -> Iterator[tuple[str, str, str]]:
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
            "Write down what he gains and risks: `discreet attack init --out attack.toml`, then `attack` in the project.",
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
            f"{measured.published.name} was not held against the population: its values stand on several levels at once.",
            "The risk above takes it that an adversary knows who is in the data, which is the stricter view.",
        )
    if story.disclosed is None:
        yield (
            "recipients",
            "Nobody can tell here who got what: the project names no store, so recipients, linkage and queries are not covered.",
            "Give `store` in the project, or `--store`.",
        )


def _release(release: Released) -> Statement:
    holders = plural(len(release.holders), "recipient holds a copy", "recipients hold copies")
    if release.accused:
        trace = next(one for one in reversed(release.traces) if one.accused)
        headline = (
            f"A trace of release {release.name} accuses {listed(release.accused)}: {trace.source} fits that copy. Were all "
            f"innocent, anybody would be accused in at most {percent(float(trace.alpha), below='less than ')} of traces."
        )
        step = "This is evidence, not a verdict: ask for access logs before anything is concluded, and hand over nothing more."
        return Statement("recipients", "attention", Finding(headline, step))
    k = "" if release.k is None else f", with at least {release.k} people alike in it"
    traced = _traced(len(release.traces))
    waiting = sum(copy.time is None and copy.state != "retired" for copy in release.copies)
    step = (
        f"{plural(waiting, 'copy waits', 'copies wait')} to be handed over."
        if waiting
        else "Keep the store and its keys: only they can trace a leak."
    )
    return Statement("recipients", "within", Finding(f"{holders} of release {release.name}{k}. {traced}", step))


def _small_classes(release: Released, measured: Measured) -> Iterator[Statement]:
    """Copies were made under a k of their own, which the policy's threshold may not allow."""
    needed = crowd(measured.leaving.threshold)
    if release.k is None or release.k >= needed or not release.holders:
        return
    headline = (
        f"Copies of release {release.name} may show as few as {plural(release.k, 'person', 'people')} who look alike; the threshold "
        f"of {one_in(measured.leaving.threshold)} asks for {needed:,} unless the population hides them."
    )
    step = "Measure a copy as `published`, or make the next version with a larger k."
    yield Statement("recipients", "attention", Finding(headline, step))


def _traced(number: int) -> str:
    if not number:
        return "No leak was traced."
    return f"{plural(number, 'trace', 'traces')} accused nobody."


def _linkage(project: Progress) -> Statement:
    risk = max((worker.risk.used for worker in project.workers), default=project.risk.used)
    shown = max((worker.characters.used for worker in project.workers), default=project.characters.used)
    limits = [gauge for gauge in gauges(project) if gauge.limit is not None]
    fullest = max(
        (float(gauge.used / gauge.limit) if gauge.limit else float(gauge.used > 0) for gauge in limits), default=None
    )
    who = plural(len(project.workers), "reviewer", "reviewers")
    headline = (
        f"{who} of {project.project.name} saw at most {percent(float(shown))} of the characters of "
        f"{plural(project.pairs, 'pair', 'pairs')} and learned at most {percent(float(risk))} of their privacy risk"
    )
    if fullest is None:
        step = "Give every reviewer a limit: `discreet link assign --risk 0.12 --characters 0.3`."
        return Statement("linkage", "unmeasured", Finding(f"{headline}; nobody set a limit.", step))
    standing: Standing = "above" if fullest > 1 else "attention" if fullest >= NEAR else "within"
    step = _undecided(project)
    return Statement(
        "linkage", standing, Finding(f"{headline}; at most {percent(fullest)} of any limit is used.", step)
    )


def _undecided(project: Progress) -> str:
    left = project.verdicts.get("open", 0)
    if left:
        return f"{plural(left, 'pair is', 'pairs are')} not decided yet; what they cost is not in these numbers."
    return "All pairs are decided: close the project, so that nothing more is opened."


def _queries(database: str, users: list[GatewayUser]) -> Statement:
    most = users[0]
    refused, overlooked = sum(user.refused for user in users), sum(user.overlooked for user in users)
    asked = f"{plural(len(users), 'user', 'users')} asked database {database} and got {plural(sum(user.rows for user in users), 'row', 'rows')}"
    said = f"{plural(refused, 'request was', 'requests were')} refused"
    headline = f"{asked}; {said}. {_most_exposed(most)}"
    if any(user.exceeded for user in users):
        step = "Stop or question those above their limit, and run the gateway with `--mode enforce`."
        return Statement("queries", "above", Finding(headline, step))
    if overlooked:
        step = f"The gateway only watched and let {overlooked:,} of them pass: run it with `--mode enforce`."
        return Statement("queries", "attention", Finding(headline, step))
    if most.used is not None and most.used >= NEAR:
        step = f"Ask {most.user} what the data are needed for before the limit is raised."
        return Statement("queries", "attention", Finding(headline, step))
    return Statement(
        "queries", "within", Finding(headline, "Look at the days that stand out: `discreet misuse anomalies`.")
    )


def _most_exposed(user: GatewayUser) -> str:
    if user.limit is None:
        return f"The most exposed, {user.user}, stands at {measure(user.exposure)}; no limit was set."
    return f"The most exposed, {user.user}, stands at {measure(user.exposure)} of a limit of {measure(user.limit)}."


def _ledger(ledger: LedgerState) -> Statement:
    headline = f"All {plural(ledger.size, 'entry', 'entries')} of the ledger are as they were written"
    if ledger.heads:
        kept = agree(
            ledger.heads, "the head that was kept elsewhere", f"the {ledger.heads} heads that were kept elsewhere"
        )
        return Statement("ledger", "within", Finding(f"{headline}, and continue {kept}.", "Keep the new head as well."))
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
        """Whether something is above a limit: what leaves the house, a reviewer, or a user of a database."""
        found = self.disclosed
        if found is None:
            return self.measured.exceeded
        reviewed = (gauge for one in found.linkage for gauge in gauges(one))
        beyond = any(gauge.limit is not None and gauge.used > gauge.limit for gauge in reviewed)
        return self.measured.exceeded or beyond or any(user.exceeded for user in found.users)

    def __repr__(self) -> str:
        return f"Story({self.project.title}, {'above a limit' if self.exceeded else 'within limits'})"

    def _repr_html_(self) -> str:

        rows = [(STANDINGS[one.standing][0], one.finding.headline) for one in statements(self)]
        return card(self.project.title, rows, head=("standing", "finding"))

    def to_dict(self) -> dict[str, Any]:
        """For JSON; the keys are stable."""

        nothing = {"releases": None, "linkage": None, "queries": None, "ledger": None}
        return {
            "title": self.project.title,
            **self.measured.to_dict(),
            **(nothing if self.disclosed is None else self.disclosed.to_dict()),
            "findings": [one.to_dict() for one in statements(self)],
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
    return Story(project, measurement_measure(project), found)
