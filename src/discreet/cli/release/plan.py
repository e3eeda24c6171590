"""`discreet release plan`: what a release would look like, without a store and without a secret."""

from __future__ import annotations

import click

from discreet.cli import console
from discreet.cli.release.options import Tables, node_options
from discreet.errors import UsageError


@click.command(name="plan", short_help="See what a release would look like; nothing is written.")
@click.argument("data", metavar="DATA")
@node_options
@click.option(
    "--recipients", default="20", show_default=True, metavar="N|NAMES", help="How many will get a copy, or who: a,b,c."
)
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON.")
def command(
    data: str,
    population: str,
    policy_file: str,
    k: int,
    suppression: float,
    loss: str,
    law: str,
    force: bool,
    recipients: str,
    as_json: bool,
) -> None:
    """See what a release of DATA would look like: levels, marks, rows lost, and how well a leak could be traced.

    Nothing is written, and nothing is decided: the marks of a release are drawn with a secret that a plan has not.

    \b
    Example:
      discreet release plan hospital.csv --population register.parquet --policy policy.toml --recipients 20
    """
    from discreet.releases.plan import plan

    people = _number(recipients)
    tables = Tables.read(data, population, policy_file)
    with console.working(f"Planning a release of {tables.data.name}"):
        found = plan(
            tables.data, tables.population, people, k=k, suppression=suppression, loss=loss, law=law, force=force
        )
    if as_json:
        console.data(found.to_dict())
        return
    console.heading(f"A release of {tables.data.name} to {people} recipients")
    for sentence in found.words():
        click.echo(click.wrap_text(console.plain(sentence), width=96, initial_indent="• ", subsequent_indent="  "))
    console.say(
        "\nNext: discreet release make, with --name, a --recipient each, --out, and the answers that it asks for"
    )


def _number(recipients: str) -> int:
    """How many, said as a number or by naming them."""
    if recipients.isdecimal() and int(recipients) > 0:
        return int(recipients)
    from discreet.releases.preconditions import check_names

    if recipients.isdecimal() or recipients.startswith("-"):
        raise UsageError("A release has at least one recipient.", remedy="Say how many: --recipients 20")
    return len(check_names([name.strip() for name in recipients.split(",")], "recipient"))
