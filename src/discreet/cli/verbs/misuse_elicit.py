"""`discreet misuse elicit`, `combine` and `generate`: how sensitive values are, asked of experts."""

from __future__ import annotations

import datetime
import hashlib
import json
import math
import re
import sys
import time
from pathlib import Path
from typing import Any

import click

from discreet.cli.options import (
    FILE,
    PATH,
    draft_option,
    folder_option,
    option,
    policy_option,
    target_option,
)
from discreet.cli.output import CommandResult, output, say, table, working, write_text
from discreet.errors import DataError, SourceNotFound, UsageError
from discreet.misuse import Sensitivity
from discreet.misuse.elicitation import Compare, Interview, Question, Rate, sections, toml
from discreet.misuse.elicitation import combine as combine_interviews
from discreet.misuse.elicitation.comparisons import TOLERABLE
from discreet.misuse.elicitation.items import items_of
from discreet.policy import Policy
from discreet.sources import read

WELCOME = """\
Two kinds of questions. First: which of two things would harm a person more if it became known, and how much more?
Then: how bad would it be if a whole record became known? Records are made up and describe no real person.
At any time: s skips, u undoes, q stops (every answer is saved), ? repeats this.
"""
RECHECKS = 2
"""How often a contradiction is asked about again."""
CLOSE = 0.6
"""Kendall's tau from which experts mostly agree about the order."""
DISPUTED = 0.5
"""Spread of logarithms above which a value is named: experts differ by a factor of two."""


@click.command(name="elicit", short_help="Ask an expert how sensitive values are.")
@click.argument("source", metavar="DATA")
@policy_option("Policy that names the sensitive columns.")
@target_option(
    "--out", type=FILE, metavar="FILE", required=True, help="File of answers (JSON), saved after every answer."
)
@option("--expert", default="expert", metavar="NAME", help="Who answers.")
@option("--column", "columns", multiple=True, metavar="NAME", help="Ask about this column only; may be repeated.")
@option("--level", "levels", multiple=True, metavar="COLUMN=N", help="Ask about groups at level N of the hierarchy.")
@option(
    "--by-value",
    multiple=True,
    metavar="NAME",
    help="Treat numbers of this column as codes, not as ranges; may be repeated.",
)
@option("--most", type=click.IntRange(2), default=8, help="Most values per column.")
@option("--comparisons", type=click.IntRange(0), metavar="N", help="Comparisons [twice as many as connect all].")
@option("--ratings", type=click.IntRange(0), default=25, metavar="N", help="Records to rate.")
@option(
    "--beside",
    multiple=True,
    type=PATH,
    metavar="FILE",
    help="Another expert's answers: ask again where opinions differ most; may be repeated.",
)
@option("--again", type=click.IntRange(1), default=10, metavar="N", help="Questions to ask again.")
@output("Print the scores as JSON.")
def elicit(
    source: str,
    policy_file: str,
    out: Path,
    expert: str,
    columns: tuple[str, ...],
    levels: tuple[str, ...],
    by_value: tuple[str, ...],
    most: int,
    comparisons: int | None,
    ratings: int,
    beside: tuple[Path, ...],
    again: int,
) -> CommandResult:
    """Ask an expert how sensitive the values of DATA's sensitive columns are.

    \b
    Examples:
      discreet misuse elicit people.csv --policy policy.toml --expert ann --out ann.json
      discreet misuse elicit people.csv --policy policy.toml --level diagnosis=2 --out ann.json
      discreet misuse elicit people.csv --policy policy.toml --out ann.json --beside ben.json

    Questions show values as categories, never one that fewer than 5 people have, and made-up records that describe no
    real person. The same command continues an interview that was stopped.
    """
    if out.exists():
        interview = load(out)
        if interview.expert != expert and expert != "expert":
            raise UsageError(f"{out} holds the answers of another expert.", remedy="Give every expert a separate file.")
    else:
        policy = Policy.load(policy_file)
        data = read(source, policy=policy)
        chosen = list(columns) or [name for name, role in policy.roles.items() if role == "sensitive"]
        data.require(chosen)
        with working(f"Counting values in {data.name}"):
            numbers = {}
            for text in levels:
                column, _, level = text.rpartition("=")
                if not column or not level.isdigit():
                    raise UsageError("--level needs a column and a number.", remedy="For example: --level diagnosis=2")
                numbers[column] = int(level)
            items = items_of(data, chosen, by_value=by_value, rules=policy.rules, levels=numbers, most=most)
        # Experts get questions in different orders, the same expert always in the same one.
        seed = int.from_bytes(hashlib.sha256(expert.encode()).digest()[:4], "big")
        interview = Interview.begin(expert, items, comparisons=comparisons, ratings=ratings, seed=seed)
    if beside:
        panel = combine_interviews([interview, *(load(path) for path in beside)])
        interview = interview.ask_again(panel.disputed, most=again)
    if interview.next_question() is not None:
        if not sys.stdin.isatty():
            raise UsageError(
                "Questions need a terminal.", remedy="Run this in one, or use discreet.misuse.elicitation from Python."
            )
        save(interview, out)
        try:
            interview = conduct(interview, out)
        except (click.Abort, KeyboardInterrupt):
            say(f"\nEvery answer is saved in {out}. The same command continues from there.")
            raise
    scored = list(zip(interview.items, interview.scores(), interview.known, strict=True))
    rows = [
        (item.column, item.label, f"{score:.3f}" if known else "?")
        for item, score, known in sorted(scored, key=lambda row: (row[0].column, -row[1]))
    ]
    answered = f"{len(interview.answers)} answers in {out}, about {interview.left} questions left."
    return CommandResult(
        lambda: {
            "expert": interview.expert,
            "answers": len(interview.answers),
            "left": interview.left,
            "consistency_ratio": interview.consistency.ratio,
            "items": [
                {"column": item.column, "label": item.label, "score": round(float(score), 4) if known else None}
                for item, score, known in scored
            ],
        },
        [table(["column", "value", "score"], rows, numeric=(2,))],
        notes=[answered, *consistency_words(interview.expert, interview.consistency.ratio)],
        next_step=f"discreet misuse combine {out} --out sensitivity.toml",
    )


def today() -> str:
    """The day, for the age of a sensitivity function."""
    return datetime.datetime.now(datetime.UTC).date().isoformat()


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


def save(interview: Interview, path: Path) -> None:
    """Write all answers; the file is complete or as it was before."""
    beside = path.with_name(f".{path.name}.new")
    write_text(beside, json.dumps(interview.to_dict(), ensure_ascii=False, indent=1))
    beside.replace(path)


def consistency_words(expert: str, ratio: float | None) -> list[str]:
    """The consistency ratio, and what a high one means."""
    if ratio is None:
        return []
    meaning = "good" if ratio <= 0.10 else "above 0.10: answers contradict each other; ask again where they do"
    return [f"Consistency ratio of {expert}: {ratio:.2f} ({meaning})."]


def conduct(interview: Interview, out: Path) -> Interview:
    """Ask until done or stopped; every answer is saved before the next question."""
    say(WELCOME)
    rechecked = 0
    while True:
        question = interview.next_question()
        compared = not isinstance(question, Compare) and not interview.again and not interview.rated
        if compared and rechecked < RECHECKS:
            rechecked += 1
            consistency = interview.consistency
            if not consistency.tolerable and consistency.ratio is not None:
                say(
                    f"Some comparisons contradict each other (consistency ratio {consistency.ratio:.2f}, good is up to "
                    f"{TOLERABLE:.2f}). The one that fits least is asked again:\n"
                )
                interview = interview.recheck()
                question = interview.next_question()
        if question is None:
            return interview
        following = ask(interview, question)
        if following is None:
            return interview
        interview = following
        save(interview, out)


def ask(interview: Interview, question: Question) -> Interview | None:
    """Ask one question until the answer makes sense; None to stop."""
    begun = time.monotonic()
    asked = f"\nQuestion {len(interview.answers) + 1}, about {interview.left - 1} more after it\n"
    if isinstance(question, Rate):
        record = "\n".join(f"    {interview.items[item]}" for item in question.items)
        asked += (
            f"A person's name becomes known together with this (a made-up record):\n{record}\n"
            "How bad is that, from 0 (harmless) to 10 (as bad as possible)?"
        )
    else:
        first, second = interview.items[question.first], interview.items[question.second]
        asked += f"Which would harm a person more if it became known?\n    a  {first}\n    b  {second}"
    say(asked)
    while True:
        typed = (
            click.prompt("Your answer", prompt_suffix=": ", default="", show_default=False, err=True).strip().lower()
        )
        if typed in ("q", "quit"):
            return None
        if typed in ("u", "undo") and interview.answers:
            return interview.undo()
        if typed in ("s", "skip", "pass"):
            return interview.answer(question, None, seconds=time.monotonic() - begun)
        answer = read_comparison(typed) if isinstance(question, Compare) else read_rating(typed)
        if answer is not None:
            return interview.answer(question, answer, seconds=time.monotonic() - begun)
        if typed in ("?", "help"):
            say(WELCOME)
        if isinstance(question, Rate):
            say("A number from 0 to 10, also 7.5.")
        else:
            say("= if both are alike, else a or b with a number from 2 (slightly) to 9 (times) as harmful: a3, b9.")


def read_comparison(typed: str) -> float | None:
    """A ratio of a over b, or None.

    >>> read_comparison("="), read_comparison("a5"), read_comparison("b 4"), read_comparison("a12")
    (1.0, 5.0, 0.25, None)
    """
    if typed in ("=", "1"):
        return 1.0
    match = re.fullmatch(r"([ab]) *([1-9])", typed)
    if match is None:
        return None
    return float(match[2]) if match[1] == "a" else 1 / float(match[2])


def read_rating(typed: str) -> float | None:
    """A rating from 0 to 1, or None.

    >>> read_rating("10"), read_rating("7,5"), read_rating("11"), read_rating("bad")
    (1.0, 0.75, None, None)
    """
    if not re.fullmatch(r"\d{1,2}([.,]\d{1,2})?", typed):
        return None
    number = float(typed.replace(",", "."))
    return number / 10 if number <= 10 else None


@click.command(name="combine", short_help="Combine experts' answers into one sensitivity function.")
@click.argument("files", nargs=-1, required=True, metavar="ANSWERS...", type=PATH)
@draft_option("Write the sections [sensitivity.COLUMN] (TOML); never overwrites.")
@output("Print scores and agreement as JSON.")
def combine(files: tuple[Path, ...], out: Path | None) -> CommandResult:
    """Combine the ANSWERS of one or more experts into one sensitivity function, for a policy.

    \b
    Examples:
      discreet misuse combine ann.json ben.json --out sensitivity.toml
      discreet misuse combine ann.json --json
    """
    panel = combine_interviews([load(path) for path in files])
    content = sections(panel.items, panel.scores)
    version = Sensitivity.from_dict(content).version
    agreement = "" if panel.agreement is None else f", agreement (Kendall's tau) {panel.agreement:.2f}"
    note = f"Sensitivity version {version}, from {len(panel.experts)} expert(s){agreement}."
    text = toml(content, notes=[note], elicited=today())
    notes = [f"Version {version}: {len(panel.items)} values, {len(panel.experts)} expert(s)."]
    for expert, ratio in zip(panel.experts, panel.ratios, strict=True):
        notes += consistency_words(expert, ratio)
    if panel.agreement is not None:
        words = "they mostly agree about the order" if panel.agreement >= CLOSE else "they order values differently"
        notes.append(f"Agreement (Kendall's tau, averaged over pairs): {panel.agreement:.2f}, {words}.")
    spread: Any = panel.disagreement
    disputed = [index for index in panel.disputed if spread[index] > DISPUTED][:5]
    if disputed:
        notes.append("Most disputed:")
        for index in disputed:
            scores = zip(panel.experts, panel.single[:, index], strict=True)
            given = ", ".join(f"{name} {score:.2f}" for name, score in scores if not math.isnan(score))
            notes.append(f"  {panel.items[index]} ({given})")
        notes.append("Next: discreet misuse elicit DATA --out ONE.json --beside OTHER.json asks about these again.")
    if out is not None:
        write_text(out, text)
        notes.append(f"Wrote {out}. Paste it into the policy.")
    return CommandResult(
        lambda: {"version": version, **panel.to_dict(), "sensitivity": content},
        [text.rstrip("\n")] if out is None else [],
        notes=notes,
    )


@click.command(name="fit", short_help="Learn sensitivity from a column of customer value.")
@click.argument("source", metavar="DATA")
@policy_option("Policy that names the sensitive columns.")
@option("--value", required=True, metavar="COLUMN", help="Numbers: what each person is worth, such as yearly revenue.")
@option("--column", "columns", multiple=True, metavar="NAME", help="Learn this column only; may be repeated.")
@draft_option("Write the sections [sensitivity.COLUMN] (TOML); never overwrites.")
@output("Print the weights as JSON.")
def fit(source: str, policy_file: str, value: str, columns: tuple[str, ...], out: Path | None) -> CommandResult:
    """Learn how sensitive values are from what the people of DATA are worth, by monotone regression.

    A category weighs the mean value of its people; of numbers the weight rises or falls with the number. Values that fewer
    than 5 people have share one weight.

    \b
    Examples:
      discreet misuse fit customers.parquet --policy policy.toml --value revenue --out sensitivity.toml
    """
    from discreet.misuse.elicitation.value_fit import fit_to_value
    from discreet.misuse.input_tables import columns_of
    from discreet.misuse.result_formats import coded, labels

    policy = Policy.load(policy_file)
    data = read(source, policy=Policy(delimiter=policy.delimiter, encoding=policy.encoding))
    wanted = columns or tuple(name for name in policy.sensitive if name != value)
    for name in (*wanted, value):
        if name not in data.columns:
            raise UsageError(f"{data.name} has no column '{name}'.", remedy=f"It has: {', '.join(data.columns)}.")
    if not wanted:
        raise UsageError("The policy has no sensitive column.", remedy="Name one with --column.")
    with working(f"Reading {data.name}"):
        cells = columns_of(data)
        worth = [_worth(label) for label in labels(cells.cells(value))]
        if all(math.isnan(number) for number in worth):
            raise DataError(f"Column '{value}' holds no numbers.", remedy="Name a column of numbers with --value.")
        content = {name: fit_to_value(name, coded(cells.cells(name)), worth) for name in wanted}
    version = Sensitivity.from_dict(content).version
    note = f"Sensitivity version {version}, learnt from column {value} of {len(worth):,} people."
    text = toml(content, notes=[note], elicited=today())
    if out is not None:
        write_text(out, text)
    return CommandResult(
        lambda: {"version": version, "value": value, "people": len(worth), "sensitivity": content},
        [text.rstrip("\n")] if out is None else [],
        notes=[note, *([f"Wrote {out}. Paste it into the policy."] if out is not None else [])],
    )


def _worth(label: str | None) -> float:
    try:
        return float(label or "nan")
    except ValueError:
        return math.nan


@click.command(name="compare", short_help="Compare record ranking with pairwise comparison.")
@click.argument("files", nargs=-1, required=True, metavar="ANSWERS...", type=PATH)
@folder_option("Write the study there: answers.csv and scores.csv; the folder must not exist.")
@output("Print scores, errors and agreement as JSON.")
def compare(files: tuple[Path, ...], out: Path | None) -> CommandResult:
    """Compare two ways of elicitation on the same experts: record ranking and pairwise comparison.

    Each expert's ANSWERS are scored by records alone (non-negative least squares), by comparisons alone (AHP), and by both. The
    error is how far a method misses the expert's own score of a record, each record predicted from all other answers.

    \b
    Examples:
      discreet misuse compare ann.json ben.json
      discreet misuse compare ann.json ben.json --out study
    """
    from discreet.misuse.evaluation import METHODS, compare_methods, study_files

    interviews = [load(path) for path in files]
    combine_interviews(interviews)  # refuses interviews about different values
    found = compare_methods(interviews)

    def written(number: float | None, form: str = ".2f") -> str:
        return "none" if number is None else f"{number:{form}}"

    rows = [
        (
            row.expert,
            row.method,
            f"{row.questions}",
            "" if row.seconds is None else f"{row.seconds:.0f}",
            written(row.error),
            written(found.tau(row.expert)) if row.method == "both" else "",
        )
        for row in found.rows
    ]
    between = "; ".join(f"{method} {written(found.agreement(method))}" for method in METHODS)
    if out is not None:
        if out.exists():
            raise UsageError(f"{out} exists already.", remedy="Give a folder that does not exist yet.")
        for name, content in study_files(interviews).items():
            write_text(out / name, content)
    return CommandResult(
        found.to_dict,
        [
            table(
                ["expert", "method", "answers", "seconds each", "error", "tau between methods"],
                rows,
                numeric=(2, 3, 4, 5),
            ),
        ],
        notes=[f"Agreement between experts (Kendall's tau): {between}.", *([f"Wrote {out}."] if out else [])],
    )
