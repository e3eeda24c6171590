"""`discreet misuse elicit`: ask an expert how sensitive values are."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from discreet.cli import console
from discreet.errors import DataError, SourceNotFound, UsageError
from discreet.misuse.elicitation import Compare, Interview, Question, Rate, combine
from discreet.misuse.elicitation.comparisons import TOLERABLE
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


# The questions of an interview in a terminal; every answer is handed over before the next question.
Save = Callable[[Interview], None]
WELCOME = """\
Two kinds of questions. First: which of two things would harm a person more if it became known, and how much more?
Then: how bad would it be if all of a record became known? Records are made up; they are nobody's.
At any time: s passes, u undoes, q stops (every answer is saved), ? repeats this.
"""
RECHECKS = 2
"""How often a contradiction is put once more."""


class Stop(Exception):
    """The expert wants to stop."""


class Back(Exception):
    """The expert wants to take the last answer back."""


def talk_with(talk: Interview, save: Save) -> Interview:
    """Ask until enough is asked, or the expert stops."""
    console.say(WELCOME)
    rechecked = 0
    while True:
        question = talk.next_question()
        if not isinstance(question, Compare) and rechecked < RECHECKS and not talk.again and not talk.rated:
            talk, rechecked = _recheck(talk), rechecked + 1
            question = talk.next_question()
        if question is None:
            return talk
        try:
            talk = talk.answer(question, ask(talk, question))
        except Back:
            talk = talk.undo()
        except Stop:
            return talk
        save(talk)


def _recheck(talk: Interview) -> Interview:
    found = talk.consistency
    if found.tolerable or found.ratio is None:
        return talk
    console.say(
        f"Some comparisons contradict each other (consistency ratio {found.ratio:.2f}, good is up to {TOLERABLE:.2f}). "
        "The one that fits least comes once more:\n"
    )
    return talk.recheck()


def ask(talk: Interview, question: Question) -> float | None:
    """Put one question until the answer makes sense."""
    console.say(_words(talk, question))
    while True:
        said = click.prompt("Your answer", prompt_suffix=": ", default="", show_default=False, err=True).strip().lower()
        if said in ("q", "quit"):
            raise Stop
        if said in ("u", "undo") and talk.answers:
            raise Back
        if said in ("s", "skip", "pass"):
            return None
        found = read_comparison(said) if isinstance(question, Compare) else read_rating(said)
        if found is not None:
            return found
        if said in ("?", "help"):
            console.say(WELCOME)
        console.say(_help(question))


def _words(talk: Interview, question: Question) -> str:
    number = f"Question {len(talk.answers) + 1}, about {talk.left - 1} more after it"
    if isinstance(question, Rate):
        record = "\n".join(f"    {talk.items[item]}" for item in question.items)
        return f"\n{number}\nSomebody's name becomes known together with this (a made-up record):\n{record}\nHow bad is that, from 0 (harmless) to 10 (as bad as it gets)?"
    first, second = talk.items[question.first], talk.items[question.second]
    return f"\n{number}\nWhich would harm a person more if it became known?\n    a  {first}\n    b  {second}"


def _help(question: Question) -> str:
    if isinstance(question, Rate):
        return "A number from 0 to 10, also 7.5."
    return (
        "= if both are alike, else a or b with a number from 2 (slightly) over 3, 5, 7 to 9 (times) as harmful: a3, b9."
    )


def read_comparison(said: str) -> float | None:
    """A ratio of a over b, or None.

    >>> read_comparison("="), read_comparison("a5"), read_comparison("b 4"), read_comparison("a12")
    (1.0, 5.0, 0.25, None)
    """
    if said in ("=", "1"):
        return 1.0
    found = re.fullmatch(r"([ab]) *([1-9])", said)
    if found is None:
        return None
    return float(found[2]) if found[1] == "a" else 1 / float(found[2])


def read_rating(said: str) -> float | None:
    """A rating from 0 to 1, or None.

    >>> read_rating("10"), read_rating("7,5"), read_rating("11"), read_rating("bad")
    (1.0, 0.75, None, None)
    """
    if not re.fullmatch(r"\d{1,2}([.,]\d{1,2})?", said):
        return None
    number = float(said.replace(",", "."))
    return number / 10 if number <= 10 else None
