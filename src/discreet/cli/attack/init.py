"""`discreet attack init`: a file that says what the adversary gains, pays and risks."""

from __future__ import annotations

from pathlib import Path

import click

from discreet.cli import console
from discreet.errors import UsageError

DRAFT = """\
# What a planning adversary gains, pays and risks. All amounts are in one currency.
# The numbers are those of a published case study (Xia et al. 2015): put your own.
[attack]
prior = 0.63                 # probability that the person he looks for is in the list he can buy
gain = 8000                  # what a re-identification brings him
access_cost = 100            # what the list of named people costs
link_cost = 0                # what linking it with your data costs
exploit_cost = 10            # what trying one candidate costs
penalty = 10000              # what he pays when he is detected
max_penalties = "unlimited"  # how often he can be made to pay: a number, or "unlimited"
detection_intercept = -4.59  # attempt number i is detected with probability
detection_slope = 0.0        #   1 / (1 + exp(-(intercept + slope * i))), i from 0: here 1 in 100, whatever i
discount = 0.9               # what a step later is worth to him; 1 = he has all the time in the world
"""


@click.command(name="init", short_help="Draft a file with his gain, costs and risks.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write to FILE instead of stdout; never overwrites.",
)
def command(out: Path | None) -> None:
    """Draft a file with what the adversary gains, pays and risks, for a person to fill in.

    \b
    Example:
      discreet attack init --out attack.toml
    """
    if out is None:
        click.echo(DRAFT, nl=False)
        return
    if out.exists():
        raise UsageError(f"{out} exists already.", remedy="Give another name; a file that was filled in is kept.")
    console.write_text(out, DRAFT)
    console.say(f"Wrote {out}. Put in your own numbers, then: discreet attack thresholds --attack {out}")
