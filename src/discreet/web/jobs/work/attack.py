"""Work out what a planning adversary would do to the table."""

from __future__ import annotations

from dataclasses import asdict
from fractions import Fraction
from typing import cast

from discreet import __version__
from discreet.attacker import Attack, Attacked
from discreet.attacker.population import Targets
from discreet.reference.case_study import PUBLISHED
from discreet.report import attack_findings, attack_page
from discreet.report.attack.findings import Case
from discreet.report.attack.report import attack_parts
from discreet.risk import assess
from discreet.web.jobs.task import Outcome, Task


def attack_table(task: Task) -> Outcome:
    """The attack and its report; the adversary buys the population's table, or the people of the data themselves."""
    adversary = Attack.from_dict(task.asked.get("attack") or PUBLISHED)
    table = task.table(task.counting(2, upto=0.4, words="Counting people who look alike"))
    crowd = task.crowd(lambda: task.tell("Counting the list he can buy", 0.5))
    found = assess(table, attack=adversary, external=crowd)
    struck = cast(Attacked, found.attack)
    task.tell("Writing the report", 0.9)
    exceeded = struck.exceeds(found.threshold, found.allowed_at_risk)
    name = task.dataset.name
    command = task.command("attack", "--attack attack.toml").replace("--population", "--external")
    numbers = {**struck.to_dict(found.threshold), "threshold": found.threshold, "exceeded": exceeded}
    numbers["targets"] = Targets.of(struck).to_dict()  # what the lab works on
    numbers["findings"] = [
        asdict(finding) for finding in attack_findings(struck, source=name, threshold=found.threshold)
    ]
    return Outcome(
        event="attacker.planned",
        numbers=numbers,
        parts=attack_parts(Case(struck, found.threshold), source=name, command=command, policy=task.policy),
        report=attack_page(
            struck,
            title=f"What an adversary would do to {name}",
            source=name,
            threshold=found.threshold,
            exceeded=exceeded,
            created=task.now(),
            command=command,
            version=__version__,
            policy=task.policy,
        ),
        policy=task.policy,
        risk_before=Fraction(1, found.k),
        details={"people": found.records, "exceeded": exceeded},
    )
