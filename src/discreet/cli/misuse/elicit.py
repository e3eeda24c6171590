"""`discreet misuse elicit`: ask an expert how sensitive values are."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from discreet.cli import console
from discreet.errors import DataError, SourceNotFound, UsageError
from discreet.misuse.elicitation import Interview, combine
from discreet.misuse.elicitation.items import items_of
from discreet.policy import Policy
from discreet.sources import read


@click.command(name="elicit", short_help="Ask an expert how sensitive values are.")
@click.argument("source", metavar="DATA")
@click.option("--policy", "policy_file", metavar="FILE", required=True, help="Policy that names the sensitive columns.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    required=True,
    help="Where answers are kept (JSON), after every answer.",
)
@click.option("--expert", default="expert", show_default=True, metavar="NAME", help="Who answers.")
@click.option("--column", "columns", multiple=True, metavar="NAME", help="Ask about this column only; may be repeated.")
@click.option(
    "--level", "levels", multiple=True, metavar="COLUMN=N", help="Ask about groups at level N of the hierarchy."
)
@click.option(
    "--by-value",
    multiple=True,
    metavar="NAME",
    help="Take numbers of this column as codes, not as ranges; may be repeated.",
)
@click.option("--most", type=click.IntRange(2), default=8, show_default=True, help="Most values of a column.")
@click.option("--comparisons", type=click.IntRange(0), metavar="N", help="Comparisons [twice as many as connect all].")
@click.option("--ratings", type=click.IntRange(0), default=25, show_default=True, metavar="N", help="Records to rate.")
@click.option(
    "--beside",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Another expert's answers: ask once more where opinions differ most; may be repeated.",
)
@click.option(
    "--again", type=click.IntRange(1), default=10, show_default=True, metavar="N", help="Questions to put once more."
)
@click.option("--json", "as_json", is_flag=True, help="Print the scores as JSON.")
def command(
    source: str,
    policy_file: str,
    out: Path,
    expert: str,
    beside: tuple[Path, ...],
    again: int,
    as_json: bool,
    **options: Any,
) -> None:
    """Ask an expert how sensitive the values of DATA's sensitive columns are.

    \b
    Examples:
      discreet misuse elicit people.csv --policy policy.toml --expert ann --out ann.json
      discreet misuse elicit people.csv --policy policy.toml --level diagnosis=2 --out ann.json
      discreet misuse elicit people.csv --policy policy.toml --out ann.json --beside ben.json

    Questions show values as categories, none that fewer than 5 people have, and made-up records; they are nobody's. The
    same command goes on where an interview stopped.
    """
    talk = load(out) if out.exists() else _begin(source, policy_file, expert, **options)
    if out.exists() and talk.expert != expert and expert != "expert":
        raise UsageError(f"{out} holds the answers of somebody else.", remedy="Give every expert a file of her own.")
    if beside:
        others = [load(path) for path in beside]
        talk = talk.ask_again(combine([talk, *others]).disputed, most=again)
    if talk.next_question() is not None:
        talk = _asked(talk, out)
    _tell(talk, out, as_json=as_json)


def _begin(
    source: str,
    policy_file: str,
    expert: str,
    *,
    columns: Sequence[str],
    levels: Sequence[str],
    by_value: Sequence[str],
    most: int,
    comparisons: int | None,
    ratings: int,
) -> Interview:
    policy = Policy.load(policy_file)
    table = read(source, policy=policy)
    wanted = list(columns) or list(policy.sensitive)
    table.require(wanted)
    with console.working(f"Counting values in {table.name}"):
        items = items_of(table, wanted, by_value=by_value, rules=policy.rules, levels=_levels(levels), most=most)
    # Experts get questions in different orders, the same one always in the same.
    seed = int.from_bytes(hashlib.sha256(expert.encode()).digest()[:4], "big")
    return Interview.begin(expert, items, comparisons=comparisons, ratings=ratings, seed=seed)


def _levels(given: Sequence[str]) -> dict[str, int]:
    found = {}
    for one in given:
        column, _, level = one.rpartition("=")
        if not column or not level.isdigit():
            raise UsageError("--level needs a column and a number.", remedy="For example: --level diagnosis=2")
        found[column] = int(level)
    return found


def load(path: Path) -> Interview:
    """An interview from its file."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SourceNotFound(f"There is no file {path}.", remedy="Give a file of answers.") from None
    except (OSError, ValueError):
        raise DataError(
            f"{path.name} cannot be read as answers.", remedy="Give a file that discreet misuse elicit has written."
        ) from None
    return Interview.from_dict(content)


def save(talk: Interview, path: Path) -> None:
    """Write all answers; a file is there whole or as it was before."""
    beside = path.with_name(f".{path.name}.new")
    console.write_text(beside, json.dumps(talk.to_dict(), ensure_ascii=False, indent=1))
    beside.replace(path)


def _asked(talk: Interview, out: Path) -> Interview:
    if not sys.stdin.isatty():
        raise UsageError(
            "Questions need a terminal.", remedy="Run this in one, or drive discreet.misuse.elicitation from Python."
        )
    from discreet.cli.misuse.dialogue import talk_with

    save(talk, out)
    try:
        return talk_with(talk, lambda so_far: save(so_far, out))
    except (click.Abort, KeyboardInterrupt):
        console.say(f"\nEvery answer is saved in {out}. The same command goes on from there.")
        raise


def _tell(talk: Interview, out: Path, *, as_json: bool) -> None:
    scores, ratio = talk.scores(), talk.consistency.ratio
    if as_json:
        items = [
            {"column": item.column, "label": item.label, "score": round(float(score), 4) if known else None}
            for item, score, known in zip(talk.items, scores, talk.known, strict=True)
        ]
        console.data(
            {
                "expert": talk.expert,
                "answers": len(talk.answers),
                "left": talk.left,
                "consistency_ratio": ratio,
                "items": items,
            }
        )
        return
    rows = sorted(zip(talk.items, scores, talk.known, strict=True), key=lambda row: (row[0].column, -row[1]))
    shown = [(item.column, item.label, f"{score:.3f}" if known else "?") for item, score, known in rows]
    console.table(["column", "value", "score"], shown, numeric=(2,))
    console.say(f"\n{len(talk.answers)} answers in {out}, about {talk.left} questions left.")
    warn_of(talk.expert, ratio)
    console.say(f"Next: discreet misuse combine {out} --out sensitivity.toml")


def warn_of(expert: str, ratio: float | None) -> None:
    """Say the consistency ratio, and what a high one means."""
    if ratio is None:
        return
    meaning = "good" if ratio <= 0.10 else "above 0.10: answers contradict each other; ask again where they do"
    console.say(f"Consistency ratio of {expert}: {ratio:.2f} ({meaning}).")
