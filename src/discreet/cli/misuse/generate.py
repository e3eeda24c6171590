"""`discreet misuse generate`: a log and experts' answers of people who do not exist, to try things on."""

from __future__ import annotations

import json
from pathlib import Path

import click

from discreet.cli import console

EXPERTS = ("ann", "ben", "eva")
SCORES = {
    "Infection": 0.95,
    "Mind": 0.8,
    "Reproduction": 0.7,
    "Tumours": 0.6,
    "Nerves": 0.45,
    "Metabolism": 0.2,
    "Circulation": 0.15,
    "Digestion": 0.12,
    "Motion": 0.08,
    "Breathing": 0.06,
    "up to 30,000": 0.35,
    "over 30,000": 0.25,
}
"""What the simulated experts think of chapters of diagnoses and of incomes, but for their errors."""


@click.command(name="generate", short_help="Generate a log and experts' answers to try things on.")
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), required=True, metavar="DIR", help="Folder to write to."
)
@click.option("--days", type=click.IntRange(5, 400), default=40, show_default=True, help="Working days in the log.")
@click.option("--misusers", type=click.IntRange(0, 20), default=4, show_default=True, help="Users who misuse it.")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="The same seed gives the same log.")
@click.option("--json", "as_json", is_flag=True, help="Print the paths as JSON.")
def command(out: Path, days: int, misusers: int, seed: int, as_json: bool) -> None:
    """Generate a log of 80 users who do not exist, and three simulated experts' answers.

    \b
    Examples:
      discreet misuse generate --out demo
    """
    import numpy as np

    from discreet.misuse.generated import generate_log
    from discreet.misuse.log import write_line

    with console.working("Generating a log"):
        log = generate_log(np.random.default_rng(seed), days=days, misusers=misusers)
    paths = {"log": out / "log.jsonl", **{name: out / f"{name}.json" for name in EXPERTS}}
    console.write_text(paths["log"], "".join(write_line(one) for one in log.results))
    for name, text in _answers(seed).items():
        console.write_text(paths[name], text)
    if as_json:
        console.data({name: str(path) for name, path in paths.items()})
        return
    for path in paths.values():
        click.echo(path)
    console.say(f"\nNext: discreet misuse anomalies {paths['log']}")


def _answers(seed: int) -> dict[str, str]:
    """Three experts on the diagnoses and incomes of the demo; the third errs most."""
    import numpy as np

    from discreet.misuse.elicitation import Item, SimulatedExpert
    from discreet.people import diagnosis_hierarchy

    chapters: dict[str, list[str]] = {}
    for row in diagnosis_hierarchy():
        chapters.setdefault(row[2], []).append(row[0])
    items = [Item("diagnosis", chapter, tuple(values)) for chapter, values in chapters.items()]
    items += [Item("income", "up to 30,000", upper=30_000.0), Item("income", "over 30,000")]
    scores = np.array([SCORES[item.label] for item in items])
    return {
        name: json.dumps(
            SimulatedExpert(scores, np.random.default_rng([seed, place]), comparing=0.3 + 0.2 * place)
            .interview(name, items, seed=place)
            .to_dict(),
            ensure_ascii=False,
            indent=1,
        )
        for place, name in enumerate(EXPERTS)
    }
