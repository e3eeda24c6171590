"""`discreet attack case-study`: a case study after a paper, on a table of people and a synthetic registry."""

from __future__ import annotations

import csv
import datetime
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from discreet import __version__
from discreet.cli import console
from discreet.errors import UsageError
from discreet.kernel import Classes
from discreet.policy import Policy
from discreet.reference.case_study import REGISTRY, CaseStudy
from discreet.sources import read

NEARBY = Path("..") / "shared" / "data" / "adult"
"""Where the UCI Adult data are looked for when no data are given."""
KNOWN = ("sex", "age", "race", "marital-status", "education", "native-country", "occupation")
"""What a registry might say of the people in them; the rest is nobody's business."""
COLUMNS = ("zip", "sex", "birth_year", "race")
SHARE = 0.005
"""The share of a generated state that the data hold."""


@dataclass(frozen=True, eq=False)
class Stage:
    """Whom it is about."""

    name: str
    sample: Classes
    registry: Classes
    words: str
    policy: Policy | None = None


@click.command(name="case-study", short_help="Play a case study after a paper, on your people or ours.")
@click.option("--data", metavar="FILE", help="The people to be attacked [UCI Adult if at hand, or generated ones].")
@click.option("--policy", "policy_file", metavar="FILE", help="Policy that gives the columns of --data their roles.")
@click.option(
    "--people",
    type=click.IntRange(1_000, 50_000_000),
    default=REGISTRY,
    show_default=True,
    help="People in the registry.",
)
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="The same seed, the same registry.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("case-study.html"),
    show_default=True,
    metavar="FILE",
    help="Where the page goes (HTML).",
)
@click.option("--json", "as_json", is_flag=True, help="Print the numbers as JSON.")
def command(data: str | None, policy_file: str | None, people: int, seed: int, out: Path, as_json: bool) -> None:
    """Play our own case study after Xia et al. (2015), with the printed amounts: six figures and five statements.

    It is not a reproduction of the paper's: people and registry are others. The page also tells which thresholds the
    paper prints that do not come out.

    \b
    Examples:
      discreet attack case-study
      discreet attack case-study --data people.csv --policy policy.toml --out case-study.html

    The registry of --data is synthetic: half of its people look like those in the data, half only have the same values
    column by column. Without data, a state is generated, and the data are some of its people.
    """
    console.refuse_other_than_html(out)
    with console.working("Making a registry and planning the attacks"):
        stage = _stage(data, policy_file, people, seed)
        study = CaseStudy.of(stage.sample, stage.registry)
        _write(out, study, stage)
    if as_json:
        console.data(_as_json(study, stage))
    else:
        _tell(study, stage)
    console.say(f"\nCase study: {out}")


def _stage(data: str | None, policy_file: str | None, people: int, seed: int) -> Stage:
    if (data is None) != (policy_file is None):
        raise UsageError(
            "--data and --policy belong together.", remedy="Give both; discreet policy init drafts a policy."
        )
    if data is not None and policy_file is not None:
        return _given(data, Policy.load(policy_file), people, seed)
    if (NEARBY / "adult.csv").exists():
        console.say("Note: no --data, so the people are those of UCI Adult, found beside this folder.")
        return _given(str(NEARBY / "adult.csv"), _adult_policy(), people, seed, name="UCI Adult")
    console.say("Note: no --data, so the people are generated.")
    return _generated(people, seed)


def _given(data: str, policy: Policy, people: int, seed: int, *, name: str | None = None) -> Stage:
    from discreet.people import registry

    table = read(data, policy=policy)
    sample = table.classes()
    made = registry(sample, people=people, seed=seed)
    words = (
        f"The registry of {made.records:,} people is synthetic (seed {seed}): half of them look like the people in the data, "
        "each class as frequent as a Bayesian bootstrap of the data makes it; half have each column independently of the "
        f"others. It has {len(made):,} classes and exists as counts only."
    )
    return Stage(name or table.name, sample, made, words, policy)


def _adult_policy() -> Policy:
    """Every column that a registry might have with its hierarchy; the others have no role."""
    with (NEARBY / "adult.csv").open(encoding="utf-8", newline="") as file:
        names = next(csv.reader(file, delimiter=";"))
    columns = {name: {"role": "quasi", "hierarchy": str(NEARBY / f"adult_hierarchy_{name}.csv")} for name in KNOWN}
    others: dict[str, Any] = {name: {"role": "other"} for name in names if name not in KNOWN}
    return Policy.from_dict({"data": {"delimiter": ";"}, "columns": {**columns, **others}})


def _generated(people: int, seed: int) -> Stage:
    from discreet.people import State, counted, generate

    everybody = generate(State.of(people), seed=seed, columns=COLUMNS)
    sample = everybody.sample(max(1, round(SHARE * people)), seed=seed)
    registry = counted(everybody)
    words = (
        f"The registry is a generated state of {people:,} people (seed {seed}) in {len(registry):,} classes; the data are "
        f"{len(sample):,} of the very same people."
    )
    return Stage("generated people", counted(sample), registry, words)


def _tell(study: CaseStudy, stage: Stage) -> None:
    from discreet.reference import case_study
    from discreet.reference.charts import OWN
    from discreet.reference.report import TITLE, discount_words, pair_words, sunk_words
    from discreet.report import case_study_findings

    console.heading(
        f"The case study on {stage.name}: {study.people:,} people against {stage.registry.records:,} in the registry"
    )
    click.echo(click.wrap_text(OWN, width=96))
    click.echo()
    console.findings(case_study_findings(study))
    click.echo()
    console.heading(TITLE)
    for words in (sunk_words(), pair_words(case_study.pairs()), discount_words(case_study.discounts())):
        click.echo()
        click.echo(click.wrap_text(words, width=96, initial_indent="• ", subsequent_indent="  "))


def _as_json(study: CaseStudy, stage: Stage) -> dict[str, Any]:
    from discreet.reference import case_study

    return {"source": stage.name, **study.to_dict(), "not_reproduced": case_study.to_dict()}


def _write(out: Path, study: CaseStudy, stage: Stage) -> None:
    from discreet.report import case_study_page

    page = case_study_page(
        study,
        source=stage.name,
        registry=stage.words,
        created=datetime.datetime.now(datetime.UTC),
        command=console.command_line(),
        version=__version__,
        policy=stage.policy,
    )
    console.write_text(out, page)
