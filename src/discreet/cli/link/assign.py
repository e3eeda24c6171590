"""`discreet link assign`: give pairs to reviewers, take them back, or have disputes settled."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.cli import console
from discreet.cli.ledger import store_option
from discreet.cli.link.lookup import actor_of, actor_option, opened, project_called
from discreet.errors import NotThere, UsageError

if TYPE_CHECKING:
    from discreet.ledger import Ledger
    from discreet.linkage.project import Project

SETTINGS = ("initial", "kappa", "strict", "project_risk", "project_characters")


@click.command(name="assign", short_help="Give pairs to reviewers, within limits.")
@click.argument("project", metavar="PROJECT")
@click.option("--worker", "workers", multiple=True, metavar="NAME", help="Who reviews; may be given several times.")
@click.option("--overlap", type=click.IntRange(1), default=1, show_default=True, help="How many people see each pair.")
@click.option("--most", type=click.IntRange(0), metavar="N", help="Nobody gets more than N pairs.")
@click.option("--risk", metavar="SHARE", help="Privacy risk that each may learn, such as 0.12.")
@click.option("--characters", metavar="SHARE", help="Share of the characters that each may see, such as 0.3.")
@click.option("--withdraw", metavar="NAME", help="Take back what this reviewer has not decided.")
@click.option("--rebalance", is_flag=True, help="Take back what nobody has looked into, and give it out anew.")
@click.option("--adjudicator", metavar="NAME", help="Give the pairs on which reviewers differ to this person.")
@click.option("--initial", type=click.Choice(["masked", "minimum", "moderate", "full"]), default="masked", show_default=True, help="What is open before anybody asks (set once).")  # fmt: skip
@click.option("--kappa", type=click.IntRange(1), default=1, show_default=True, help="At least so many people must look like what is shown (set once).")  # fmt: skip
@click.option("--strict", is_flag=True, help="Count what masked cells give away, too (set once).")
@click.option("--project-risk", metavar="SHARE", help="Privacy risk for all reviewers together (set once).")
@click.option("--project-characters", metavar="SHARE", help="Characters for all reviewers together (set once).")
@click.option("--name", metavar="NAME", help="What to call the project in the store [its folder's name].")
@actor_option
@store_option
@click.option("--json", "as_json", is_flag=True, help="Print what was given out as JSON.")
def command(project: str, address: str | None, actor: str | None, as_json: bool, **asked: Any) -> None:
    """Give the pairs of PROJECT (its folder, or its name in the store) to reviewers.

    \b
    Examples:
      discreet link assign project --worker ann --worker ben --overlap 2 --risk 0.12 --characters 0.3
      discreet link assign project --withdraw ann
      discreet link assign project --adjudicator eve --risk 0.2

    The first time the project is made known to the store. What a reviewer opens is spent from her budget there.
    """
    who = actor_of(actor)
    with opened(address, create=True) as ledger:
        found = _project(ledger, project, who, asked)
        answer = {"project": found.name, **_done(ledger, found, who, asked)}
    if as_json:
        console.data(answer)
        return
    _tell(answer)
    console.say(f"\nNext: {console.next_step('link', 'status', found.name, store=address)}")


def _project(ledger: Ledger, name: str, actor: str, asked: dict[str, Any]) -> Project:
    from discreet.linkage.project import register_project

    ctx = click.get_current_context()
    given = [one for one in SETTINGS if ctx.get_parameter_source(one) == click.core.ParameterSource.COMMANDLINE]
    try:
        known = project_called(ledger, asked["name"] or name)
    except NotThere:
        if not (Path(name) / "project.json").is_file():
            raise UsageError(
                f"'{name}' is neither a project of the store nor the folder of one.",
                remedy="Start one with: discreet link init DATA --spec link.toml --out PROJECT",
            ) from None
        return register_project(
            ledger,
            name,
            actor=actor,
            name=asked["name"],
            initial=asked["initial"],
            kappa=asked["kappa"],
            strict=asked["strict"],
            risk_limit=asked["project_risk"],
            characters_limit=asked["project_characters"],
        )
    if given:
        raise UsageError(
            f"--{given[0].replace('_', '-')} was settled when project '{known.name}' was made known.",
            remedy="Leave it out, or make the folder known under another --name.",
        )
    return known


def _done(ledger: Ledger, project: Project, actor: str, asked: dict[str, Any]) -> dict[str, Any]:
    from discreet.linkage.review.assignments import Limits, assign, bring_pairs, rebalance, withdraw
    from discreet.linkage.review.decisions import adjudicate

    limits = Limits.of(asked["risk"], asked["characters"]) if asked["risk"] or asked["characters"] else None
    if asked["withdraw"]:
        return {"withdrawn": withdraw(ledger, project, asked["withdraw"], actor=actor)}
    if asked["adjudicator"]:
        return {"to_adjudicate": adjudicate(ledger, project, asked["adjudicator"], actor=actor, limits=limits)}
    new = bring_pairs(ledger, project)
    workers = list(asked["workers"])
    if asked["rebalance"]:
        done = rebalance(ledger, project, workers, actor=actor, overlap=asked["overlap"], most=asked["most"])
    else:
        done = assign(
            ledger, project, workers, actor=actor, overlap=asked["overlap"], limits=limits, most=asked["most"]
        )
    return {"new_pairs": new, "assigned": dict(done.pairs), "left_over": done.left_over}


def _tell(answer: dict[str, Any]) -> None:
    if "withdrawn" in answer:
        click.echo(f"{answer['withdrawn']:,} pairs were taken back; what was seen of them stays charged.")
    elif "to_adjudicate" in answer:
        click.echo(f"{answer['to_adjudicate']:,} pairs are to be adjudicated.")
    else:
        console.heading(f"Pairs of {answer['project']}")
        console.table(["reviewer", "pairs"], [(name, f"{n:,}") for name, n in answer["assigned"].items()], numeric=(1,))
        if answer["left_over"]:
            console.say(f"{answer['left_over']:,} looks at pairs found nobody: name more workers, or raise --most.")
