"""`discreet misuse combine`: several experts' answers as one sensitivity function."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import click

from discreet.cli import console
from discreet.cli.misuse.elicit import load, warn_of
from discreet.errors import UsageError
from discreet.misuse import Sensitivity
from discreet.misuse.elicitation import Panel, combine, sections, toml

CLOSE = 0.6
"""From which tau on experts mostly agree about the order."""
DISPUTED = 0.5
"""Spread of logarithms above which a value is named: experts differ by a factor of two."""


@click.command(name="combine", short_help="Make experts' answers one sensitivity function.")
@click.argument("files", nargs=-1, required=True, metavar="ANSWERS...", type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the sections [sensitivity.COLUMN] (TOML); never overwrites.",
)
@click.option("--json", "as_json", is_flag=True, help="Print scores and agreement as JSON.")
def command(files: tuple[Path, ...], out: Path | None, as_json: bool) -> None:
    """Make the ANSWERS of one or more experts one sensitivity function, for a policy.

    \b
    Examples:
      discreet misuse combine ann.json ben.json --out sensitivity.toml
      discreet misuse combine ann.json --json
    """
    if out is not None and out.exists():
        raise UsageError(f"{out} exists already.", remedy="Give another name; a version in use is not overwritten.")
    panel = combine([load(path) for path in files])
    content = sections(panel.items, panel.scores)
    version = Sensitivity.from_dict(content).version
    text = toml(content, notes=_notes(panel, version))
    if out is not None:
        console.write_text(out, text)
    if as_json:
        console.data({"version": version, **panel.to_dict(), "sensitivity": content})
        return
    if out is None:
        click.echo(text, nl=False)
    _report(panel, version)
    if out is not None:
        console.say(f"\nWrote {out}. Paste it into the policy.")


def _notes(panel: Panel, version: str) -> list[str]:
    agreement = "" if panel.agreement is None else f", agreement (Kendall's tau) {panel.agreement:.2f}"
    return [f"Sensitivity version {version}, from {len(panel.experts)} expert(s){agreement}."]


def _report(panel: Panel, version: str) -> None:
    console.say(f"\nVersion {version}: {len(panel.items)} values, {len(panel.experts)} expert(s).")
    for expert, ratio in zip(panel.experts, panel.ratios, strict=True):
        warn_of(expert, ratio)
    if panel.agreement is not None:
        words = "they mostly agree about the order" if panel.agreement >= CLOSE else "they see the order differently"
        console.say(f"Agreement (Kendall's tau, averaged over pairs): {panel.agreement:.2f}, {words}.")
    _dispute(panel)


def _dispute(panel: Panel) -> None:
    spread: Any = panel.disagreement
    disputed = [place for place in panel.disputed if spread[place] > DISPUTED][:5]
    if not disputed:
        return
    console.say("Most in dispute:")
    for place in disputed:
        said = ", ".join(
            f"{name} {score:.2f}"
            for name, score in zip(panel.experts, panel.single[:, place], strict=True)
            if not math.isnan(score)
        )
        console.say(f"  {panel.items[place]} ({said})")
    console.say("Next: discreet misuse elicit DATA --out ONE.json --beside OTHER.json asks about these once more.")
