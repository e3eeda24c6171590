"""`discreet release fingerprints`: levels of its own for each recipient, where that is safe."""

from __future__ import annotations

from pathlib import Path

import click

from discreet.anonymity import LOSSES
from discreet.cli import console
from discreet.errors import UsageError
from discreet.policy import Policy
from discreet.releases import Fingerprints, plan_fingerprints
from discreet.releases.plan import columns_by_role
from discreet.sources import Table, read
from discreet.wording import brief_percent


@click.command(name="fingerprints", short_help="Give each recipient levels of its own, where that is safe.")
@click.argument("source", metavar="DATA")
@click.option("--policy", "policy_file", metavar="FILE", required=True, help="Policy with roles and hierarchies.")
@click.option("--recipients", type=click.IntRange(1), required=True, metavar="N", help="How many recipients there are.")
@click.option("--k", type=click.IntRange(1), default=5, show_default=True, metavar="K", help="At least K look alike.")
@click.option(
    "--suppression", type=float, default=0.0, show_default=True, metavar="S", help="Largest share of people left out."
)
@click.option("--loss", type=click.Choice(list(LOSSES)), default="loss", show_default=True, help="What to keep small.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), metavar="DIR", help="Write the copies there.")
@click.option("--leaked", metavar="COPY", help="A copy that was found: say whose it is.")
@click.option("--json", "as_json", is_flag=True, help="Print the levels as JSON.")
def command(
    source: str,
    policy_file: str,
    recipients: int,
    k: int,
    suppression: float,
    loss: str,
    out: Path | None,
    leaked: str | None,
    as_json: bool,
) -> int:
    """Give each recipient of DATA levels of its own, so that a copy tells whose it is.

    \b
    Examples:
      discreet release fingerprints people.csv --policy policy.toml --recipients 3 --k 5
      discreet release fingerprints people.csv --policy policy.toml --recipients 3 --suppression 0.05 --out copies
      discreet release fingerprints people.csv --policy policy.toml --recipients 3 --suppression 0.05 --leaked found.csv

    Copies of different levels can be joined. Levels are given out only if nobody is then among fewer than K people who
    look alike, whichever copies are joined; otherwise the command is refused (exit code 5) and says why. The same data
    and options give the same levels, so that a leaked copy can be traced later.
    """
    policy = Policy.load(policy_file)
    table = read(source, policy=policy)
    if out is not None:
        table.refuse_undeclared()
    names = [f"{number:0{len(str(recipients))}}" for number in range(1, recipients + 1)]
    with console.working(f"Looking at the combinations of levels of {table.name}"):
        found = plan_fingerprints(table, names, k=k, suppression=suppression, loss=loss)
    owners = _owners(found, leaked) if leaked is not None else None
    written = _write(found, table, out) if out is not None else None
    if as_json:
        console.data(
            {
                **found.to_dict(),
                "published": {name: {"role": role} for name, role in table.published.items()},
                "owners": owners,
                "written": written,
            }
        )
    else:
        _tell(found, table)
    if not as_json and owners is not None:
        _say_whose(owners)
    if written is not None:
        console.say(f"\nWrote {len(written):,} copies to {out}, each verified class by class.")
    return 0


def _write(found: Fingerprints, table: Table, out: Path) -> list[str]:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{out} cannot be made ({type(error).__name__}).", remedy="Give another folder.") from None
    targets = [out / f"copy-{one.recipient}.csv" for one in found.recipients]
    for one, target in zip(found.recipients, targets, strict=True):
        table.export(found.recoding(one.recipient), target)
    return [str(target) for target in targets]


def _owners(found: Fingerprints, leaked: str) -> list[str]:
    copy = read(leaked)
    names = [name for name in found.classes.names if name in copy.columns]
    if not names:
        raise UsageError("The copy has none of the columns that have levels.", remedy="Is this the right file?")
    values = {name: [label for (label,) in copy.classes([name]).tuples()] for name in names}
    return list(found.trace(values))


def _say_whose(owners: list[str]) -> None:
    click.echo()
    if len(owners) == 1:
        click.echo(
            f"The copy has the levels of recipient {owners[0]}. It may have been taken from there by somebody else."
        )
    elif owners:
        click.echo(f"The copy fits the levels of recipients {', '.join(owners)}: too little is left to tell.")
    else:
        click.echo("The copy has the levels of no recipient: it was generalised further, or does not stem from these.")


def _tell(found: Fingerprints, table: Table) -> None:
    console.heading(f"Fingerprints of {table.name}: {len(found.recipients):,} recipients, k = {found.k:,}")
    click.echo(click.wrap_text(found.words(), width=96))
    click.echo()
    rows = [
        (one.recipient, *(str(one.levels[name]) for name in found.classes.names), brief_percent(one.loss))
        for one in found.recipients
    ]
    head = ["recipient", *found.classes.names, "lost"]
    console.table(head, rows, numeric=tuple(range(1, len(head))))
    click.echo(click.wrap_text(f"Every copy has {columns_by_role(table.published)}.", width=96))
