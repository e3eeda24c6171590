"""`discreet attack thresholds`: the group sizes at which the adversary changes his mind."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from discreet.attacker import Attack, Thresholds
from discreet.cli import console
from discreet.cli.attack.adversary import adversary, options


@click.command(name="thresholds", short_help="Show the group sizes at which he changes his mind.")
@options
@click.option("--json", "as_json", is_flag=True, help="Print the numbers as JSON.")
def command(attack_file: Path | None, changes: tuple[str, ...], as_json: bool) -> None:
    """Show from how many people who look alike on he stops early, does not buy the list, does not even start.

    \b
    Examples:
      discreet attack thresholds --attack attack.toml
      discreet attack thresholds --set penalty=20000 --set max_penalties=1
    """
    attack = adversary(attack_file, changes)
    found = attack.thresholds()
    if as_json:
        console.data({**asdict(found), "parameters": asdict(attack)})
        return
    click.echo(in_words(attack))


def in_words(attack: Attack) -> str:
    """The thresholds in two sentences."""
    found = attack.thresholds()
    if found.no_access is None:
        buys = "He buys the list for anybody, however many people look alike."
    elif found.no_access == 1:
        buys = "He does not buy the list for anybody."
    else:
        buys = f"He buys the list for people in groups of up to {found.no_access - 1:,} who look alike; larger ones he leaves alone."
    return f"{buys}\nWith the list in hand he would try {_how_far(found)}."


def _how_far(found: Thresholds) -> str:
    if found.no_exploit == 1:
        return "nobody"
    if found.stops_early is None:
        return "every candidate, however many there are"
    every = f"every candidate in groups of up to {found.stops_early - 1:,}" if found.stops_early > 1 else ""
    if found.no_exploit == found.stops_early:
        return f"{every}, and nobody in larger ones"
    last = "any size" if found.no_exploit is None else f"{found.no_exploit - 1:,}"
    some = f"some of them in groups of {found.stops_early:,} to {last}"
    return f"{every}, {some}, and nobody in larger ones" if every else f"{some}, and nobody in larger ones"
