"""`discreet release attack`: play recipients who try to find the decoys."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from discreet.anonymity import anonymise
from discreet.cli import console
from discreet.cli.release.options import search_options
from discreet.policy import Policy
from discreet.sources import read
from discreet.wording import brief_percent

if TYPE_CHECKING:
    from discreet.releases.attacks import Outcome, Played


@click.command(name="attack", short_help="Play recipients who try to find the decoys.")
@click.argument("source", metavar="DATA")
@search_options(smallest_k=2)
@click.option("--law", default="0.2/0.5", show_default=True, metavar="LAW", help="How often a mark is in a copy.")
@click.option(
    "--mode",
    type=click.Choice(["marks", "bait", "both"]),
    default="both",
    show_default=True,
    help="Decoys among doubtful classes, decoys riskier than everybody, or one after the other.",
)
@click.option("--recipients", type=click.IntRange(1), default=4, show_default=True, help="How many play.")
@click.option(
    "--decoys", type=click.IntRange(1), default=10, show_default=True, help="Decoys per copy in the bait mode."
)
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="What the copies are drawn from.")
@click.option("--force", is_flag=True, help="Go on with fewer than 30 marks, or with decoys that can be told.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
def command(
    source: str,
    population: str,
    policy_file: str,
    k: int,
    suppression: float,
    loss: str,
    law: str,
    mode: str,
    recipients: int,
    decoys: int,
    seed: int,
    force: bool,
    as_json: bool,
) -> int:
    """Play recipients of DATA who have a list of the population and try to find the decoys in their copies.

    The copies are made in memory to be attacked, and thrown away. Ends with exit code 1 if decoys of the marks mode are
    told from real classes with an AUC above 0.60, by more than luck explains. Ten attacks are played; others tell more, above
    all where columns follow from each other or hold many decimals or round values.

    \b
    Examples:
      discreet release attack people.csv --policy policy.toml --population register.parquet
      discreet release attack people.csv --policy policy.toml --population register.parquet --mode marks --json
    """
    from discreet.releases.attacks import play
    from discreet.releases.marks.codebook import Law
    from discreet.releases.population_link import Linked

    policy, chosen = Policy.load(policy_file), Law.parse(law)
    table, everybody = read(source, policy=policy), read(population, policy=policy.for_population())
    with console.working(f"Releasing {table.name} to {recipients} recipients and attacking their copies"):
        found = anonymise(table, k=k, suppression=suppression, loss=loss)
        linked = Linked.of(found, everybody.classes(found.recoding.names))
        modes = ("marks", "bait") if mode == "both" else (mode,)
        played = play(
            linked, table, seed=seed, recipients=recipients, modes=modes, law=chosen, decoys=decoys, force=force
        )
    if as_json:
        console.data(played.to_dict())
    else:
        console.heading(f"{recipients} recipients of {table.name} look for decoys")
        _tell(played)
    return 0 if played.holds else 1


def _tell(played: Played) -> None:
    head = ["attack", "AUC", "luck", "decoys among those named", "by guessing"]
    for name, outcomes in played.outcomes.items():
        click.echo(f"\nMode: {name}")
        console.table(head, [_row(one) for one in outcomes], numeric=(1, 2, 3, 4))
    click.echo()
    for sentence in played.words():
        click.echo(click.wrap_text(console.plain(sentence), width=96, initial_indent="• ", subsequent_indent="  "))


def _row(one: Outcome) -> tuple[str, ...]:
    shares = (brief_percent(one.precision), brief_percent(one.guessing))
    return (one.attack, f"{one.auc:.2f}", f"{one.floor:.2f}", *shares)
