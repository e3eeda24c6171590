"""`discreet attack`: what a planning adversary would do, and what deters them."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click
import numpy as np

import discreet
from discreet import report
from discreet.cli.main import Verbs
from discreet.cli.options import (
    FILE,
    PATH,
    draft_option,
    listed,
    number_of_people,
    option,
    options,
    policy_option,
    repeated_notes,
    target_option,
    unconfirmed_notes,
)
from discreet.cli.output import (
    CommandResult,
    finding_lines,
    hand_over,
    heading,
    output,
    say,
    table,
    working,
    write_text,
)
from discreet.errors import UsageError
from discreet.policy import Policy
from discreet.sources import read
from discreet.wording import people_in_rows

if TYPE_CHECKING:
    from discreet import Attack
    from discreet.attacker import Attacked
    from discreet.attacker.extensions import Extensions


@click.group(
    name="attack",
    cls=Verbs,
    verbs={
        "case-study": ("reproduce", "case_study", "Run a case study after a paper, on your people or ours."),
        "group": (
            "attack",
            "group",
            "Plan one group of look-alikes, with what the attack file adds to the model.",
        ),
        "init": ("attack", "init", "Draft a file with an adversary's gain, costs and risks."),
        "sweep": ("attack", "sweep", "Vary one parameter and see how decisions change."),
        "table": ("attack", "attack_table", "Predict an attack on a table (the default)."),
        "thresholds": ("attack", "thresholds", "Show the group sizes at which decisions change."),
    },
    default="table",
    short_help="Predict a planning adversary's attack, and what deters it.",
)
def command() -> None:
    """Predict what a planning adversary would do to a table, and what deters them.

    The adversary may buy a list of named people, link it with the table, and try one candidate after another until it
    no longer pays: a re-identification brings a gain, each step costs, and detection brings a fine (a factored Markov
    decision process, FMDP). In the known group they know beforehand how many people look alike, in the unknown group not.

    \b
    Examples:
      discreet attack people.csv --policy policy.toml --external voters.parquet --out report.html
      discreet attack init --out attack.toml          gain, costs and risks, to be filled in
      discreet attack thresholds --attack attack.toml
      discreet attack sweep --vary penalty=1000:50000:50

    `discreet attack DATA` is short for `discreet attack table DATA`; see `discreet attack table --help`.
    """


adversary_options = options(
    option(
        "--attack",
        "attack_file",
        type=PATH,
        metavar="FILE",
        help="The adversary's gain, costs and risks (TOML) [a published case study].",
    ),
    option(
        "--set",
        "changes",
        multiple=True,
        metavar="NAME=NUMBER",
        help="Change one parameter, such as penalty=20000; can be repeated.",
    ),
)
external_option = option(
    "--external", metavar="POP", help="The list of named people the adversary can buy [the people in DATA]."
)


def adversary(file: Path | None, changes: Sequence[str] = ()) -> Attack:
    """The adversary in a file, with some parameters changed."""
    return extended(file, changes)[0]


def extended(file: Path | None, changes: Sequence[str] = ()) -> tuple[Attack, Extensions]:
    """The same, and what the file adds to the paper's model."""
    from discreet.attacker.extensions import Extensions
    from discreet.attacker.parameters import read_attack
    from discreet.reference.case_study import PUBLISHED

    parameters: dict[str, Any] = dict(PUBLISHED) if file is None else read_attack(file)
    if file is None:
        say("Note: without --attack, the adversary is that of a published case study (Xia et al. 2015).")
    for change in changes:
        name, _, number = change.partition("=")
        parameters[name.strip()] = parameter_value(number.strip(), name.strip())
    parameters, more = Extensions.split(parameters)
    return discreet.Attack.from_dict(parameters), more


def parameter_value(text: str, name: str) -> float | int | str:
    """A parameter's value as typed."""
    if text == "unlimited":
        return text
    if name == "shared" and text in ("true", "false"):
        return text == "true"
    if name == "prior_column":
        return text
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    raise UsageError(f"'{name}' needs a number.", remedy="For example --set penalty=20000, or max_penalties=unlimited.")


@click.command(name="init", short_help="Draft a file with an adversary's gain, costs and risks.")
@draft_option()
def init(out: Path | None) -> None:
    """Draft a file with what the adversary gains, pays and risks, for a person to fill in.

    \b
    Example:
      discreet attack init --out attack.toml
    """
    from discreet.attacker.extensions import DRAFT

    hand_over(DRAFT, out, next_step=f"Put in your own numbers, then: discreet attack thresholds --attack {out}")


@click.command(name="table", short_help="Predict an attack on a table (the default).")
@click.argument("source", metavar="DATA")
@policy_option()
@external_option
@adversary_options
@option(
    "--population",
    metavar="POP",
    help="The whole population, if the list holds only part of it: how frequent the adversary expects each class to be.",
)
@option(
    "--loss",
    metavar="NUMBER|COLUMN",
    default="1",
    help="What a re-identification costs you, or the column that says so.",
)
@option("--threshold", type=float, metavar="T", help="Risk above which a person counts as at risk [policy, or 0.2].")
@target_option(
    "--classes",
    type=FILE,
    metavar="FILE",
    help="Write the risk of every class of people who look alike (CSV); it contains their values.",
)
@output("Print the figures as JSON.", report="--out")
def attack_table(
    source: str,
    policy_file: str,
    external: str | None,
    attack_file: Path | None,
    changes: tuple[str, ...],
    population: str | None,
    loss: str,
    threshold: float | None,
    classes: Path | None,
) -> CommandResult:
    """Predict whom a planning adversary would attack in DATA, how far they would go, and whom they would identify.

    \b
    Examples:
      discreet attack people.csv --policy policy.toml --external voters.parquet
      discreet attack people.csv --policy policy.toml --external voters.parquet --attack attack.toml --out report.html

    Ends with exit code 1 when more people are re-identified with a probability above the threshold than the
    policy's [limits] at_risk allows, by an adversary who knows how many people look like the target.
    """
    from discreet.attacker.extensions import extension_rows, prior_notes

    if classes is not None and classes.suffix.lower() != ".csv":
        raise UsageError(f"{classes.name} should end in .csv.", remedy="Use a name such as risks.csv.")
    attack, more = extended(attack_file, changes)
    policy = discreet.Policy.load(policy_file)
    data = discreet.read(source, policy=policy)
    with working(f"Planning the attack on {data.name}"):
        tables: dict[str, Any] = {}
        for name, given in (("population", population), ("external", external)):
            if given is not None and number_of_people(given) is not None:
                raise UsageError(
                    "A number of people does not say how frequent each class is.",
                    remedy="Give a table: a CSV or Parquet file, or a PostgreSQL URL.",
                )
            tables[name] = None if given is None else listed(given, policy)
        try:
            cost: float | str = float(loss)
        except ValueError:
            cost = loss
        assessment = discreet.assess(data, threshold=threshold, attack=attack, loss=cost, **tables)
    attacked = cast("Attacked", assessment.attack)
    extensions = more.of_table(attack, attacked, data, **tables)
    exceeded = attacked.exceeds(assessment.threshold, assessment.allowed_at_risk)
    notes = [*unconfirmed_notes(policy), *repeated_notes(data)]
    if tables["population"] is not None and tables["external"] is not None:
        notes += prior_notes(
            attack, attacked.external_size, tables["population"].classes(attacked.sample.names).records
        )
    if classes is not None:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        for number, (values, risks) in enumerate(attacked.by_class()):
            if number == 0:
                writer.writerow([*attacked.sample.names, *risks])
            writer.writerow([*values, *risks.values()])
        write_text(classes, text.getvalue())
        notes.append(f"Risk per class: {classes}. It contains people's values: protect it like the data.")
    about: dict[str, Any] = {"source": data.name, "threshold": assessment.threshold}
    title = f"What an adversary would do to {data.name}"
    people, names = int(attacked.people.sum()), ", ".join(attacked.sample.names)
    rows = [
        (words, *(f"{getattr(outcome, name):,.{digits}f}" for outcome in (attacked.known, attacked.unknown)))
        for words, name, digits in (
            ("attacked to the last candidate", "in_full", 0),
            ("attacked in part", "in_part", 0),
            ("not attacked", "not_at_all", 0),
            ("re-identified (expected)", "reidentified", 1),
            ("innocent people exploited (expected)", "harmed", 1),
            ("loss to you (expected)", "expected_loss", 1),
        )
    ]
    return CommandResult(
        lambda: {
            "records": assessment.records,
            "rows": assessment.rows,
            "classes": assessment.classes,
            "columns": list(assessment.columns),
            "threshold": assessment.threshold,
            **attacked.to_dict(assessment.threshold),
            "extensions": extensions,
            "limit": {"at_risk": assessment.allowed_at_risk, "exceeded": exceeded},
        },
        [
            heading(f"Attack on {data.name}: {people_in_rows(people, assessment.rows)} by {names}"),
            finding_lines(lambda: report.attack_findings(attacked, **about)),
            "",
            table(["people", "group sizes known", "group sizes unknown"], rows, numeric=(1, 2)),
            *([table(["extension of the model", "what follows"], extension_rows(extensions))] if extensions else []),
        ],
        page=lambda **stamp: report.attack_page(
            attacked, title=title, exceeded=exceeded, policy=data.policy, **about, **stamp
        ),
        notes=notes,
        exit_code=int(exceeded),
    )


@click.command(name="group", short_help="Plan one group of look-alikes, with what the attack file adds to the model.")
@adversary_options
@option(
    "--size", type=click.IntRange(1), required=True, metavar="N", help="People in the list who look like the target."
)
@output("Print the figures as JSON.")
def group(attack_file: Path | None, changes: tuple[str, ...], size: int) -> CommandResult:
    """Plan the attack on one target among N people who look alike, by the paper's model and by each extension of the file.

    Extensions: several lists for sale, success that is not confirmed, uncertain amounts, a belief about the group.

    \b
    Examples:
      discreet attack group --attack attack.toml --size 12
      discreet attack group --size 12 --set true_positive=0.9 --set false_positive=0.1
    """
    from discreet.attacker.extensions import extension_rows

    attack, more = extended(attack_file, changes)
    found = more.of_group(attack, size)
    return CommandResult(
        lambda: {"size": size, "parameters": asdict(attack), "extensions": found},
        [
            heading(f"A target among {size:,} people who look alike"),
            table(["model", "what follows"], extension_rows(found)),
        ],
    )


@click.command(name="thresholds", short_help="Show the group sizes at which decisions change.")
@adversary_options
@output("Print the figures as JSON.")
def thresholds(attack_file: Path | None, changes: tuple[str, ...]) -> CommandResult:
    """Show from which group size on the adversary stops early, does not buy the list, or does not start at all.

    A group is the people who look alike.

    \b
    Examples:
      discreet attack thresholds --attack attack.toml
      discreet attack thresholds --set penalty=20000 --set max_penalties=1
    """
    attack = adversary(attack_file, changes)
    limits, farthest = attack.thresholds(), attack.horizon.farthest
    buys, tries = "The adversary buys the list for groups of", "With the list in hand, the adversary would try"
    if limits.no_access is None:
        buying = f"{buys} at least {farthest:,} people who look alike; larger ones were not examined."
    elif limits.no_access == 1:
        buying = "The adversary does not buy the list for anybody."
    else:
        buying = f"{buys} up to {limits.no_access - 1:,} people who look alike, not for larger ones."
    if limits.no_exploit == 1:
        trying = f"{tries} nobody."
    elif limits.stops_early is None:
        trying = f"{tries} every candidate in groups of at least {farthest:,}."
    else:
        parts = [f"every candidate in groups of up to {limits.stops_early - 1:,}"] if limits.stops_early > 1 else []
        if limits.no_exploit != limits.stops_early:
            last = f"at least {farthest:,}" if limits.no_exploit is None else f"{limits.no_exploit - 1:,}"
            parts.append(f"some of them in groups of {limits.stops_early:,} to {last}")
        if limits.no_exploit is not None:
            parts.append("and nobody in larger ones")
        trying = f"{tries} {', '.join(parts)}."
    return CommandResult(lambda: {**asdict(limits), "parameters": asdict(attack)}, [buying, trying])


MOST_STEPS = 10_000
DETECTION = "detection"
"""What can be varied besides the parameters: the probability that the first exploit is detected."""
HEADINGS = {
    "stops_early": "stops early from",
    "no_access": "does not buy from",
    "no_exploit": "does not start from",
    "attacked_known": "attacked",
    "reidentified_known": "re-identified",
    "attacked_unknown": "attacked, sizes unknown",
    "reidentified_unknown": "re-identified, sizes unknown",
}


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
      discreet attack sweep --vary detection=0.005:0.05:10
      discreet attack sweep people.csv --policy policy.toml --external voters.parquet --vary access_cost=0:2000:21
    """
    attack = adversary(attack_file, changes)
    example = "For example penalty=1000:50000:50."
    varied, _, limits = vary.partition("=")
    parts = limits.split(":")
    if varied not in {DETECTION, *(field.name for field in fields(discreet.Attack))} or len(parts) != 3:
        raise UsageError("--vary takes a parameter and a range: NAME=FROM:TO:STEPS.", remedy=example)
    low, high, number = (parameter_value(part, varied) for part in parts)
    if isinstance(low, str) or isinstance(high, str) or not (math.isfinite(low) and math.isfinite(high)):
        raise UsageError("FROM and TO are finite numbers.", remedy=example)
    if not isinstance(number, int) or not 1 <= number <= MOST_STEPS:
        raise UsageError(f"STEPS is a whole number from 1 to {MOST_STEPS:,}.", remedy=example)
    if varied == DETECTION and not 0 < min(low, high) <= max(low, high) < 1:
        raise UsageError("A detection probability is above 0 and below 1.", remedy="--vary detection=0.005:0.1:20")
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
        if varied == DETECTION:
            # The chance that the first exploit is detected, as the intercept of the sigmoid.
            stepped = replace(attack, detection_intercept=math.log(value / (1 - value)))
        else:
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
