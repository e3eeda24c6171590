"""`discreet reproduce`: a paper gone through, every printed number beside ours; and a case study of our own."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet import report
from discreet.cli.options import option, policy_option, seed_option
from discreet.cli.output import CommandResult, bullet, finding_lines, heading, output, paragraph, say, table, working
from discreet.errors import UsageError
from discreet.kernel import Classes
from discreet.policy import Policy
from discreet.reference.case_study import REGISTRY, CaseStudy
from discreet.sources import read

if TYPE_CHECKING:
    from discreet.reference.items import Reproduction

PAPERS = {
    "fmdp": "a planning adversary (Xia et al. 2015)",
    "anontokens": "decoy records (Antonatos et al. 2019)",
    "mindfirl": "record linkage with masked values, KAPR (Li et al.)",
    "mscore": "the misuseability weight (Sundaramoorthy, Srinivasa Rao Madhane, after Harel et al.)",
}
"""Each paper by the name of its module in `discreet.reference`."""
WIDEST = 26


@click.command(name="reproduce", short_help="Compute what a paper prints, with a verdict on every number.")
@click.argument("paper", type=click.Choice(list(PAPERS)))
@option("--quick", is_flag=True, help="Fewer samples and fewer timed records: under half a minute.")
@seed_option("generated data")
@output("Print every item as JSON.", report="--out")
def command(paper: str, quick: bool, seed: int) -> CommandResult:
    """Compute every table, figure, worked example, threshold and finding of PAPER, beside what it prints.

    Each item has a verdict: it reproduces, it differs, or it cannot be computed since data or definitions are not
    disclosed; and the reason unless it reproduces. `--out` writes one page with the paper's figures and tables.

    \b
    Papers:
      fmdp        a planning adversary: Figures 5 to 10, five findings
      anontokens  decoy records: Tables 1 to 5, Figures 2 and 3
      mindfirl    the KAPR score: Tables 1 to 5
      mscore      the misuseability weight: Table 1, the nine cases of Figure 3

    \b
    Examples:
      discreet reproduce mindfirl
      discreet reproduce fmdp --out fmdp.html
      discreet reproduce anontokens --quick --json
    """
    return reproduced(paper, quick=quick, seed=seed)


def reproduced(paper: str, *, quick: bool, seed: int) -> CommandResult:
    """The result of going through a paper."""
    from discreet.reference.items import reproduction_page

    with working(f"Going through {PAPERS[paper]}"):
        found: Reproduction = import_module(f"discreet.reference.{paper}").reproduce(quick=quick, seed=seed)
    return CommandResult(
        found.to_dict,
        [heading(found.title), paragraph(found.words()), "", item_lines(found)],
        page=lambda **stamp: reproduction_page(found, **stamp),
        next_step=f"discreet reproduce {paper} --out {paper}.html",
    )


def item_lines(found: Reproduction) -> Iterator[str]:
    """The items as a table, then every reason once."""
    from discreet.reference.items import briefly, shown

    def cell(value: object) -> str:
        text = "-" if value is None else shown(value)
        return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"

    rows = [(item.id, item.where, cell(item.printed), cell(item.ours), item.verdict) for item in found.items]
    yield table(["item", "where", "printed", "ours", "verdict"], rows)
    reasons = briefly(item for item in found.items if item.verdict != "reproduces")
    if reasons:
        yield ""
        yield heading("Why")
    for item in reasons:
        yield bullet(f"{item.id}: {item.why}")


# Our own case study after one of them, on other people.
NEARBY = Path("..") / "shared" / "data" / "adult"
"""Where the UCI Adult data are looked for when no data are given."""
ADULT_QUASI = ("sex", "age", "race", "marital-status", "education", "native-country", "occupation")
"""What a registry might say of the people in them."""
COLUMNS = ("zip", "sex", "birth_year", "race")
SHARE = 0.005
"""The share of a generated state that the data contain."""


@dataclass(frozen=True, eq=False)
class StudyPeople:
    """The people of a case study: in the data and in the registry."""

    name: str
    sample: Classes
    registry: Classes
    origin: str
    """Where the registry comes from, in words."""
    policy: Policy | None = None


@click.command(name="case-study", short_help="Reproduce the paper on planning adversaries, or try it on your people.")
@option("--data", metavar="FILE", help="The people to be attacked in our own case study.")
@policy_option("Policy that gives the columns of --data their roles.", required=False)
@option("--people", type=click.IntRange(1_000, 50_000_000), help="People in the registry of our own case study.")
@option("--quick", is_flag=True, help="As in discreet reproduce fmdp.")
@seed_option("registry")
@output("Print the figures as JSON.", report="--out", default=Path("case-study.html"))
def case_study(data: str | None, policy_file: str | None, people: int | None, quick: bool, seed: int) -> CommandResult:
    """Reproduce the paper of Xia et al. (2015): another name for discreet reproduce fmdp.

    With --data or --people it is our own case study instead, with the amounts of the paper on other people: six figures
    and five statements of ours, which are not those of the paper.

    \b
    Examples:
      discreet attack case-study
      discreet attack case-study --data people.csv --policy policy.toml --out case-study.html
      discreet attack case-study --people 100000

    The registry of --data is synthetic: half of its people look like those in the data, half only have the same values
    column by column. With --people alone a state is generated, and the data are a sample of its people.
    """
    if (data is None) != (policy_file is None):
        raise UsageError(
            "--data and --policy belong together.", remedy="Give both; discreet policy init drafts a policy."
        )
    if data is None and people is None:
        return reproduced("fmdp", quick=quick, seed=seed)
    if quick:
        raise UsageError("--quick is for the paper only.", remedy="Leave out --data and --people, or --quick.")
    people = REGISTRY if people is None else people
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
        lambda: {"source": subjects.name, **study.to_dict()},
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

    size = f"{study.people:,} people against {subjects.registry.records:,} in the registry"
    yield heading(f"Case study on {subjects.name}: {size}")
    yield paragraph(OWN)
    yield ""
    yield from finding_lines(lambda: report.case_study_findings(study))
    yield ""
    yield paragraph("What the paper prints, and what of it does not come out: discreet reproduce fmdp.")
