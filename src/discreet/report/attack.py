"""Attack report: what the attacker does, what would deter it, measures, method."""

from __future__ import annotations

import datetime
from collections.abc import Iterator

import numpy as np

from discreet.attacker import Attacked
from discreet.policy import Policy
from discreet.report.assessment import REFERENCES as MEASURES
from discreet.report.attack_charts import SAME, Case, expected, pictures
from discreet.report.toolkit import page
from discreet.report.toolkit.html import element, join
from discreet.report.toolkit.page import Cell, Finding, Row, Table, topic
from discreet.report.toolkit.words import agree, amount, decimal, every, lowered, one_in, part, people, points
from discreet.wording import brief_percent, measure, percent


def attack_findings(struck: Attacked, *, source: str, threshold: float) -> list[Finding]:
    """The findings in words, the most important first.

    >>> from discreet.attacker import Attack
    >>> from discreet.kernel import Classes
    >>> attack = Attack(prior=0.63, gain=8000, access_cost=100, link_cost=0, exploit_cost=10, penalty=10000)
    >>> people = Classes.of(["zip"], [("1",), ("2",)], [10, 90])
    >>> attack_findings(attack.on(people, people), source="people.csv", threshold=0.2)[0].headline
    'An adversary who can gain 8,000 and risks a fine of 10,000 would attack 10 of 100 people in people.csv (10 %), and would try every candidate.'
    """
    return [finding for _, finding in by_topic(Case(struck, threshold), source)]


def by_topic(case: Case, source: str) -> Iterator[tuple[str, Finding]]:
    """The findings in order, each with the topic that its picture has too."""
    known = case.struck.known
    yield "strip", attacked(case, source)
    if known.attacked or case.guessed_at:
        yield "chance", planned(case)
    yield "fates", unseen(case)
    yield "chance", at_risk(case)
    if known.harmed >= 1e-9:
        each = measure(known.harmed / known.reidentified, digits=2)
        yield topic(
            "harmed",
            f"Along the way innocent people are exploited {expected(known.harmed)} times, taken for a person in the data: "
            f"{each} times for each person found.",
            "Count them among the harmed: to be in the list and to look like a person in the data is enough.",
        )
    costly = known.losses.column is not None or bool((known.losses.highest != 1).any())
    if costly and known.attacked:
        by = f", by what column {known.losses.column} says a re-identification costs" if known.losses.column else ""
        losses = (known.expected_loss, known.highest_loss, case.struck.unknown.expected_loss)
        everybody, most, unknown = (amount(round(loss)) for loss in losses)
        yield topic(
            "loss",
            f"This costs you {everybody} in expectation{by}, and {most} for the most expensive person alone; {unknown} if "
            "the adversary does not know how many look alike.",
            "Hold that against what the release is worth, and against what deterring the adversary would cost.",
        )


def attacked(case: Case, source: str) -> Finding:
    """Who is attacked and how far, and what would deter the adversary."""
    known, attack, deterrents = case.struck.known, case.attack, case.deterrents
    fined = attack.penalty and attack.max_penalties != 0
    risks = f"risks a fine of {amount(attack.penalty)}" if fined else "risks no fine"
    size = None if deterrents is None else deterrents.size
    ways = [] if deterrents is None else deterrents.ways()
    if not known.attacked:
        listed = case.unlisted < case.records
        how = ": an attempt would cost more than it brings" if listed else ": nobody in the list looks like any of them"
        step = "Check again when the data gain value, or when a longer list is for sale."
        if size is not None and size > 1:
            step = (
                f"Keep groups at {size:,} people who look alike or more, and check again when the data gain value or a cheaper "
                "list is for sale."
            )
    else:
        how = f": every candidate for {known.in_full:,} of them, some of the candidates for {known.in_part:,}"
        if not known.in_part:
            how = ", and would try every candidate"
        elif not known.in_full:
            how = ", and would stop after some candidates"
        step = "No fine, price or group size deters all attacks: publish less detail, or to fewer people."
        if ways:
            either = ", or ".join(ways)
            step = f"{either[:1].upper()}{either[1:]} would deter an adversary who knows how many look alike from all attacks."
    who = lowered(part(known.attacked, case.records, where=f" in {source}"))
    return Finding(f"An adversary who can gain {amount(attack.gain)} and {risks} would attack {who}{how}.", step)


def planned(case: Case) -> Finding:
    """What planning finds, beside one random guess each."""
    found, guessed = case.struck.known.reidentified, case.guessed
    if abs(found - guessed) <= SAME * max(found, guessed):
        ratio = "planning gains nothing here"
    elif not guessed or not found:
        ratio = "the two disagree altogether"
    elif found > guessed:
        ratio = f"planning finds {measure(found / guessed, digits=2)} times as many"
    else:
        ratio = f"planning finds only {percent(found / guessed)} of that, since planning gives up where it does not pay"
    return Finding(
        f"The adversary is expected to re-identify {expected(found)} of them. One random guess for each, made where it pays, would find "
        f"{expected(guessed)}: {ratio}.",
        "Hold limits against the adversary who goes on, not against one guess: one guess hides most of what is possible."
        if found > guessed * (1 + SAME)
        else "Keep the classic measures as the stricter ones here; they do not depend on guesses about gains and costs.",
    )


def at_risk(case: Case) -> Finding:
    """Who is re-identified with a probability above the threshold."""
    highest = f"the threshold of {one_in(case.threshold)}; the highest is {percent(case.struck.known.highest)}."
    if not case.above:
        return Finding(
            f"Nobody is re-identified with a probability above {highest}",
            "Write the gain, the costs and the fine into the release decision: the result depends on them.",
        )
    return Finding(
        f"{part(case.above, case.records)} {agree(case.above, 'is', 'are')} re-identified with a probability above {highest}",
        "Make their groups larger, with coarser values for them, or leave them out (`discreet anonymise --k-map`).",
    )


def unseen(case: Case) -> Finding:
    """The attack by an adversary who buys the list unseen."""
    known, unknown = case.struck.known, case.struck.unknown
    if not known.attacked and not unknown.attacked:
        return Finding(
            f"Nor would the adversary attack any of the {people(case.records)} if the list had to be bought before it is known how many "
            "people in it look alike.",
            "Hold the next version against the same adversary, and against a list with more columns.",
        )
    return Finding(
        f"If the list has to be bought before it is known how many people in it look alike, the adversary attacks "
        f"{lowered(part(unknown.attacked, case.records))} and re-identifies {expected(unknown.reidentified)} of them; "
        f"with that knowledge the adversary attacks {known.attacked:,} and re-identifies {expected(known.reidentified)}.",
        "Do not publish how frequent each combination of values is: it shows whom to attack."
        if unknown.reidentified < known.reidentified * (1 - SAME)
        else "Do not count on the adversary's ignorance: it does not protect these people.",
    )


ELSEWHERE = {"harmed": "measured", "loss": "measured"}
"""Where a finding without a picture leads."""
XIA = (
    "Xia, W., Kantarcioglu, M., Wan, Z., Heatherly, R., Vorobeychik, Y. & Malin, B. (2015). Process-driven data privacy. "
    "CIKM."
)
REFERENCES = (MEASURES["wan"], XIA)
REMAINS = points("""
- The adversary is rational and acts only where it pays. One who acts out of spite, curiosity or for show does not count
  costs, and is not deterred by them.
- The gain, the costs and the chance of detection are estimates. Vary them (`discreet attack sweep`) before a decision
  rests on them.
- Each person is attacked on their own, and the list is paid for each time. An adversary who attacks many buys it once:
  then people whom nobody would attack alone can be attacked together.
- An attempt is detected independently of the others and of whether it is right, with a probability that depends only on
  how many came before.
- The adversary knows at once whether a guess was right. One who cannot tell goes on longer, and harms more people.
- Only the columns named below count, and the list is taken as coded like the data. An adversary who knows more makes
  groups smaller than shown here.
- People whom nobody in this list looks like are safe from this list only: another one may hold them under the same
  values.""")
"""What the model does not see; the last holds where people of the data are not in the list."""


def attack_page(
    struck: Attacked,
    *,
    title: str,
    source: str,
    threshold: float,
    exceeded: bool,
    created: datetime.datetime,
    command: str,
    version: str,
    policy: Policy | None = None,
) -> str:
    """The report: findings, the picture behind each, measures, what remains, parameters, method, command."""
    case = Case(struck, threshold)
    return page.document(
        attack_parts(case, source=source, command=command, policy=policy),
        kicker="Planning adversary",
        title=title,
        about=[source, people(case.records), f"against a list of {people(struck.external_size)}"],
        pills=[page.verdict(exceeded=exceeded)],
        created=created,
        version=version,
    )


def attack_parts(case: Case, *, source: str, command: str, policy: Policy | None = None) -> list[page.Part]:
    """The sections of the report, for pages that have a frame of their own."""
    figures = list(pictures(case))
    lead = "Amounts and numbers of people are expected values over the adversary's plan; people who look alike run the same risk."
    return [
        page.findings(by_topic(case, source), figures, elsewhere=ELSEWHERE),
        page.evidence(figures),
        page.section("measured", "Measures", lead, measures(case), title="What was measured"),
        page.remains("This adversary is a model:", remains(case)),
        page.parameters("What was assumed before planning", parameters(case), policy),
        page.method(method(case), REFERENCES),
        page.reproduce(command, note=page.policy_note(policy)),
    ]


def measures(case: Case) -> Table:
    """Every number for both adversaries, with its meaning."""
    outcomes = [outcome.to_dict(case.threshold) for outcome in (case.struck.known, case.struck.unknown)]
    limit = one_in(case.threshold)

    def written(value: float) -> str:
        if isinstance(value, int) or value >= 1000:
            return f"{value:,.0f}"
        return measure(value) if value else "0"

    def row(name: str, key: str, meaning: str) -> tuple[str, ...]:
        write = brief_percent if key in ("at_risk", "highest") else written
        return name, *(write(outcome[key]) for outcome in outcomes), meaning

    rows = (
        row("Attacked", "attacked", "people for whom any candidate is tried"),
        row("In full", "in_full", "of them, to the last candidate"),
        row("In part", "in_part", "of them, until it no longer pays"),
        row("Left alone", "not_at_all", "people for whom no candidate is tried"),
        row("Above the threshold", "at_risk", f"people re-identified with a probability above {limit}"),
        row("Highest risk", "highest", "probability of the most exposed person"),
        row("Re-identified", "reidentified", "people, expected"),
        row("Innocent people exploited", "people_harmed", "people of the list taken for another person, expected"),
        row("Exploits", "exploits", "candidates tried, expected"),
        row("Penalties", "penalties", "fines paid, expected"),
        row("Adversary's value", "adversary_value", "what all attacks are worth to the adversary, discounted"),
        row("Expected loss", "expected_loss", "what they cost the publisher"),
        row("Highest loss", "highest_loss", "what the most expensive person costs, expected"),
    )
    return Table("What the attack comes to", ("Measure", "Knows the groups", "Does not", "Meaning"), rows, (1, 2))


def parameters(case: Case) -> list[Row]:
    """Who the adversary is, and what is attacked."""
    attack, losses, names = case.attack, case.struck.known.losses, case.struck.sample.names
    most = attack.max_penalties
    often = {None: "for each detection", 1: "once at most"}.get(most, f"{most or 0:,} times at most")
    first, tenth = (float(chance) for chance in attack.detection(np.array([0, 9])))
    loss: Cell = f"{amount(float(losses.highest.max(initial=0.0)))} for each person"
    if losses.column is not None:
        loss = join("what column ", element("code", losses.column), " says of each person")
    return [
        ("In the list", f"{percent(attack.prior)}: how likely the target is in the list of named people at all"),
        ("Gain", f"{amount(attack.gain)} for a re-identification"),
        ("Price of the list", amount(attack.access_cost)),
        ("Cost of linking", amount(attack.link_cost)),
        ("Cost of an attempt", f"{amount(attack.exploit_cost)} for each candidate"),
        ("Fine", "never paid" if most == 0 else f"{amount(attack.penalty)}, {often}"),
        (
            "Detection",
            f"{decimal(first)} of first attempts, {decimal(tenth)} of tenth ones"
            if attack.detection_slope
            else f"{percent(first, below='less than ')} of attempts, whichever it is",
        ),
        ("Discount", f"{attack.discount:g}: what a step later is worth"),
        ("Loss", loss),
        ("Known columns", join(every(names))),
        ("List of named people", people(case.struck.external_size)),
        ("Threshold", f"{case.threshold:g}: a probability above {one_in(case.threshold)} counts as at risk"),
    ]


def remains(case: Case) -> tuple[str, ...]:
    """What the model does not see."""
    return REMAINS if case.unlisted else REMAINS[:-1]


def method(case: Case) -> tuple[str, ...]:
    """How it was computed, with authors and years."""
    return points(f"""
- The attack is a sequence of decisions: buy the list of named people, link it, try one candidate after another, stop.
  It is a factored Markov decision process (Xia et al. 2015), solved exactly for every group size by one backward
  recursion; an action is taken only if it is worth more than stopping.
- With g candidates and i of them tried in vain, the next is right with probability 1/(g/p - i), where p is the
  probability that the target is in the list, and detected with probability 1/(1 + exp(-(h0 + h1 i))). Gain and fine
  arrive one step after the cost, and later steps are discounted.
- Knowing the group, the adversary buys if that is worth more than the price. Not knowing it, the number is taken as
  binomial, by the share of the population that looks alike among {case.struck.external_size:,} people. The probability
  of a re-identification is that of the plan on the real group, not discounted.
- One guess each is the single-shot game (Wan et al. 2015): one random candidate where p/g times the gain exceeds all
  costs and the expected fine.
- The least fine, price and group size that deter all attacks are exact, found where what the attack is worth reaches
  nothing for the smallest group in the data.""")
