"""`discreet attack sweep` and `case-study`: how an adversary's decisions depend on the parameters."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from discreet import report
from discreet.attacker import Attack
from discreet.cli.options import listed, option, policy_option, seed_option
from discreet.cli.output import CommandResult, bullet, finding_lines, heading, output, paragraph, say, table, working
from discreet.cli.verbs.attack import adversary, adversary_options, external_option, parameter_value
from discreet.errors import UsageError
from discreet.kernel import Classes
from discreet.policy import Policy
from discreet.reference import case_study as unreproduced
from discreet.reference.case_study import REGISTRY, CaseStudy
from discreet.sources import read

MOST_STEPS = 10_000
HEADINGS = {
    "stops_early": "stops early from",
    "no_access": "does not buy from",
    "no_exploit": "does not start from",
    "attacked_known": "attacked",
    "reidentified_known": "re-identified",
    "attacked_unknown": "attacked, sizes unknown",
    "reidentified_unknown": "re-identified, sizes unknown",
}
NEARBY = Path("..") / "shared" / "data" / "adult"
"""Where the UCI Adult data are looked for when no data are given."""
ADULT_QUASI = ("sex", "age", "race", "marital-status", "education", "native-country", "occupation")
"""What a registry might say of the people in them."""
COLUMNS = ("zip", "sex", "birth_year", "race")
SHARE = 0.005
"""The share of a generated state that the data contain."""


@click.command(name="sweep", short_help="Vary one parameter and see how decisions change.")
@click.argument("source", metavar="[DATA]", required=False)
@option(
    "--vary",
    metavar="NAME=FROM:TO:STEPS",
    required=True,
    help="The parameter and its values, such as penalty=1000:50000:50.",
)
@adversary_options
@policy_option("Policy that gives the columns of DATA their roles.", required=False)
@external_option
@output("Print the figures as JSON.")
def sweep(
    source: str | None,
    vary: str,
    attack_file: Path | None,
    changes: tuple[str, ...],
    policy_file: str | None,
    external: str | None,
) -> CommandResult:
    """See how thresholds, and with DATA the people attacked, change with one parameter of the adversary.

    \b
    Examples:
      discreet attack sweep --vary penalty=1000:50000:50
      discreet attack sweep people.csv --policy policy.toml --external voters.parquet --vary access_cost=0:2000:21
    """
    attack = adversary(attack_file, changes)
    example = "For example penalty=1000:50000:50."
    varied, _, limits = vary.partition("=")
    parts = limits.split(":")
    if varied not in {field.name for field in fields(Attack)} or len(parts) != 3:
        raise UsageError("--vary takes a parameter and a range: NAME=FROM:TO:STEPS.", remedy=example)
    low, high, number = (parameter_value(part, varied) for part in parts)
    if isinstance(low, str) or isinstance(high, str) or not (math.isfinite(low) and math.isfinite(high)):
        raise UsageError("FROM and TO are finite numbers.", remedy=example)
    if not isinstance(number, int) or not 1 <= number <= MOST_STEPS:
        raise UsageError(f"STEPS is a whole number from 1 to {MOST_STEPS:,}.", remedy=example)
    values: list[float] = np.linspace(low, high, number).tolist()
    if varied == "max_penalties":
        values = sorted({int(value) for value in values})
    if source is None and (policy_file is not None or external is not None):
        raise UsageError("--policy and --external are about DATA.", remedy="Name the table to be attacked as well.")
    target = None
    if source is not None:
        if policy_file is None:
            raise UsageError("DATA needs a policy.", remedy="Give --policy FILE; discreet policy init DATA drafts one.")
        policy = Policy.load(policy_file)
        data = read(source, policy=policy)
        with working(f"Counting people who look alike in {data.name}"):
            sample = data.classes()
            target = sample, sample if external is None else listed(external, policy).classes(sample.names)
    steps = []
    for value in values:
        changed: dict[str, Any] = {varied: value}
        stepped = replace(attack, **changed)
        step = {**changed, **asdict(stepped.thresholds())}
        if target is not None:
            attacked = stepped.on(*target)
            for knowledge, outcome in (("known", attacked.known), ("unknown", attacked.unknown)):
                step |= {f"attacked_{knowledge}": outcome.attacked, f"reidentified_{knowledge}": outcome.reidentified}
        steps.append(step)
    names = list(steps[0])
    cells = [["beyond" if cell is None else f"{cell:,.6g}" for cell in step.values()] for step in steps]
    words = [
        table([HEADINGS.get(name, name) for name in names], cells, numeric=range(len(names))),
        "",
        "Thresholds are numbers of people who look alike; beyond: not in any group that was examined.",
    ]
    if target is not None:
        words.append("Sizes unknown: the adversary buys the list before knowing how many people look like the target.")
    return CommandResult(lambda: {"vary": varied, "parameters": asdict(attack), "steps": steps}, words)


@dataclass(frozen=True, eq=False)
class StudyPeople:
    """The people of a case study: in the data and in the registry."""

    name: str
    sample: Classes
    registry: Classes
    origin: str
    """Where the registry comes from, in words."""
    policy: Policy | None = None


@click.command(name="case-study", short_help="Run a case study after a paper, on your people or ours.")
@option("--data", metavar="FILE", help="The people to be attacked [UCI Adult if at hand, or generated ones].")
@policy_option("Policy that gives the columns of --data their roles.", required=False)
@option("--people", type=click.IntRange(1_000, 50_000_000), default=REGISTRY, help="People in the registry.")
@seed_option("registry")
@output("Print the figures as JSON.", report="--out", default=Path("case-study.html"))
def case_study(data: str | None, policy_file: str | None, people: int, seed: int) -> CommandResult:
    """Run our own case study after Xia et al. (2015), with the printed amounts: six figures and five statements.

    It does not reproduce the paper's study: people and registry are different. The page also lists the thresholds
    printed in the paper that cannot be reproduced.

    \b
    Examples:
      discreet attack case-study
      discreet attack case-study --data people.csv --policy policy.toml --out case-study.html

    The registry of --data is synthetic: half of its people look like those in the data, half only have the same values
    column by column. Without data, a state is generated, and the data are a sample of its people.
    """
    if (data is None) != (policy_file is None):
        raise UsageError(
            "--data and --policy belong together.", remedy="Give both; discreet policy init drafts a policy."
        )
    with working("Generating a registry and planning the attacks"):
        if data is not None and policy_file is not None:
            subjects = _given(data, Policy.load(policy_file), people, seed)
        elif (NEARBY / "adult.csv").exists():
            say("Note: without --data, the people are those of UCI Adult, found beside this folder.")
            # Quasi-identifiers with their hierarchies; other columns have no role.
            with (NEARBY / "adult.csv").open(encoding="utf-8", newline="") as file:
                names = next(csv.reader(file, delimiter=";"))
            hierarchies = {name: str(NEARBY / f"adult_hierarchy_{name}.csv") for name in ADULT_QUASI}
            columns: dict[str, Any] = {name: {"role": "quasi", "hierarchy": path} for name, path in hierarchies.items()}
            columns |= {name: {"role": "other"} for name in names if name not in ADULT_QUASI}
            adult_policy = Policy.from_dict({"data": {"delimiter": ";"}, "columns": columns})
            subjects = _given(str(NEARBY / "adult.csv"), adult_policy, people, seed, name="UCI Adult")
        else:
            say("Note: without --data, the people are generated.")
            from discreet.people import State, counted, generate

            state = generate(State.of(people), seed=seed, columns=COLUMNS)
            sample = state.sample(max(1, round(SHARE * people)), seed=seed)
            registry = counted(state)
            origin = (
                f"The registry is a generated state of {people:,} people (seed {seed}) in {len(registry):,} classes; the "
                f"data are {len(sample):,} of the same people."
            )
            subjects = StudyPeople("generated people", counted(sample), registry, origin)
        study = CaseStudy.of(subjects.sample, subjects.registry)
    return CommandResult(
        lambda: {"source": subjects.name, **study.to_dict(), "not_reproduced": unreproduced.to_dict()},
        _study_words(study, subjects),
        page=lambda **stamp: report.case_study_page(
            study, source=subjects.name, registry=subjects.origin, policy=subjects.policy, **stamp
        ),
    )


def _given(data: str, policy: Policy, people: int, seed: int, *, name: str | None = None) -> StudyPeople:
    from discreet.people import registry

    people_in_data = read(data, policy=policy)
    sample = people_in_data.classes()
    synthetic = registry(sample, people=people, seed=seed)
    origin = (
        f"The registry of {synthetic.records:,} people is synthetic (seed {seed}): half of them look like the people in the "
        "data, each class as frequent as a Bayesian bootstrap of the data makes it; half have each column independently of "
        f"the others. It has {len(synthetic):,} classes and exists as counts only."
    )
    return StudyPeople(name or people_in_data.name, sample, synthetic, origin, policy)


def _study_words(study: CaseStudy, subjects: StudyPeople) -> Iterator[str]:
    from discreet.reference.charts import OWN
    from discreet.reference.report import TITLE, discount_words, pair_words, sunk_words

    size = f"{study.people:,} people against {subjects.registry.records:,} in the registry"
    yield heading(f"Case study on {subjects.name}: {size}")
    yield paragraph(OWN)
    yield ""
    yield from finding_lines(lambda: report.case_study_findings(study))
    yield ""
    yield heading(TITLE)
    for words in (sunk_words(), pair_words(unreproduced.pairs()), discount_words(unreproduced.discounts())):
        yield ""
        yield bullet(words)
