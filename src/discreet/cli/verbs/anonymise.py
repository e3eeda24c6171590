"""`discreet anonymise` and `compare`: the least generalised table within a limit, or within several."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import click

from discreet import report
from discreet.anonymity import LOSSES, SEARCHES, Progress, anonymise, compare, frontier, sweep
from discreet.anonymity.anonymise import RECODINGS
from discreet.anonymity.limits import EXAMPLES
from discreet.cli.options import (
    FILE,
    HIERARCHIES,
    PATH,
    dialect_notes,
    giveaway_notes,
    listed,
    option,
    policy_option,
    repeated_notes,
    target_option,
    tied_rows_notes,
    unconfirmed_notes,
)
from discreet.cli.output import OPENING, CommandResult, heading, output, paragraph, plain, say, table, working
from discreet.cli.verbs.attack import adversary
from discreet.errors import UsageError
from discreet.policy import Policy
from discreet.policy.schema import Formulas
from discreet.risk import assess
from discreet.risk.giveaways import telling_columns, told_apart
from discreet.sources import read
from discreet.wording import brief_percent, fine_percent, formula_words

if TYPE_CHECKING:
    from discreet.cli.progress import ProgressLine

T = TypeVar("T")
PASSWORD = re.compile("//[^/]*@")
"""Who logs in to a server, which no output repeats."""
DRAWN = 20_000
"""Lattices up to this many nodes are drawn whole in a report."""
MANY = 10_000_000
"""Nodes from which on a search may take so long that what shortens it is said first."""
HINT = (
    "Note: {nodes:,} combinations of levels are searched, which may take long. What helps: --time-limit SECONDS (the best so "
    "far, with a proven bound), at_least and at_most in the policy, fewer quasi-identifiers, or --search local."
)


@click.command(name="anonymise", short_help="Write the least generalised table within a limit.")
@click.argument("source", metavar="DATA")
@policy_option(HIERARCHIES)
@option("--k", type=click.IntRange(1), metavar="K", help="Smallest class: at least K people look alike.")
@option(
    "--suppression",
    type=float,
    default=0.0,
    metavar="S",
    help="Largest share of people (rows, where one has several) suppressed.",
)
@option("--loss", type=click.Choice(list(LOSSES)), default="loss", help="Information-loss metric to minimise.")
@option("--max-risk", type=float, metavar="T", help="Largest risk of any person; with marketer, the average.")
@option(
    "--risk-model",
    type=click.Choice(["prosecutor", "journalist", "marketer"]),
    default="prosecutor",
    help="Whose risk --max-risk limits.",
)
@option(
    "--attack",
    type=PATH,
    metavar="FILE",
    help="Apply --max-risk to a planning adversary (TOML; discreet attack init drafts one).",
)
@option("--average-risk", type=float, metavar="T", help="Largest average risk.")
@option(
    "--diversity",
    metavar="L",
    help='l-diversity: at least L values of each sensitive column, or JSON: {"l": 3, "kind": "entropy"}, or '
    '{"union": 2} for the column union only.',
)
@option(
    "--closeness",
    metavar="T",
    help='t-closeness: sensitive columns within T of the whole table, or JSON: {"t": 0.2, "distance": "ordered"}.',
)
@option(
    "--presence",
    type=float,
    nargs=2,
    metavar="LOW HIGH",
    help="Bounds of the probability that a person is in the data (δ-presence).",
)
@option("--k-map", type=click.IntRange(1), metavar="K", help="At least K people of the population look alike (k-map).")
@option("--population", metavar="POP", help="Table of the people an adversary may know of.")
@option(
    "--levels",
    type=FILE,
    metavar="FILE",
    help='Use these levels instead of searching: the JSON of an earlier run, or {"age": 2, ...}.',
)
@option("--search", type=click.Choice(SEARCHES), default="optimal", help="Search algorithm.")
@option(
    "--time-limit", type=float, metavar="SECONDS", help="Stop after this time, with the best so far and a proven bound."
)
@target_option("--out", metavar="TARGET", help="Write to a CSV or Parquet file, or to postgresql://...?table=NAME.")
@option(
    "--formulas",
    type=click.Choice(get_args(Formulas)),
    help="What becomes of CSV cells that a spreadsheet would run: quote puts an apostrophe before them, keep leaves them "
    "as they are [the policy's, else quote].",
)
@option(
    "--target",
    "predicted",
    metavar="COLUMN",
    help="Also compare how well a classifier predicts COLUMN from the others, before and after.",
)
@option("--overwrite", is_flag=True, help="Replace TARGET if it exists.")
@option("--dry-run", is_flag=True, help="Search, but write no table; a report is written all the same.")
@output("Print the result as JSON.", report="--report")
def command(
    source: str,
    policy_file: str,
    out: str | None,
    overwrite: bool,
    dry_run: bool,
    formulas: Formulas | None,
    predicted: str | None,
    **options: Any,
) -> CommandResult:
    """Write the least generalised version of DATA whose classes satisfy every limit.

    \b
    Examples:
      discreet anonymise people.csv --policy policy.toml --k 5 --out safe.csv
      discreet anonymise people.csv --policy policy.toml --k 5 --suppression 0.02 --loss entropy --dry-run
      discreet anonymise people.csv --policy policy.toml --max-risk 0.1 --risk-model journalist --population register.parquet
      discreet anonymise people.csv --policy policy.toml --k 5 --search local --out safe.parquet

    Stopped with Ctrl-C, the search returns the best solution so far, says how far from the optimum it may be, and ends
    with exit code 1.
    """
    if out is None and not dry_run and not click.get_current_context().params["as_json"]:
        raise UsageError("Nothing would be written.", remedy="Give --out TARGET, or --dry-run to see the result only.")
    target = None if dry_run else out
    policy = Policy.load(policy_file)
    if formulas is not None:
        policy = replace(policy, formulas=formulas)
    with working(OPENING):
        data = read(source, policy=policy)
    if target is not None:
        data.refuse_undeclared()
        data.refuse_unconfirmed()
    with working(f"Counting people who look alike in {data.name}", data) as line:
        keywords = {name: value for name, value in options.items() if value is not None}
        for name in {"diversity", "closeness"} & keywords.keys():
            try:
                # JSON has no .2, but a person writes it.
                keywords[name] = json.loads(re.sub(r"^\.(?=\d+$)", "0.", keywords[name].strip()))
            except json.JSONDecodeError:
                keywords[name] = None
            if keywords[name] is None:
                raise UsageError(f"--{name} is a number or JSON.", remedy=f"For example {name}={EXAMPLES[name]}")
        if "attack" in keywords:
            keywords["attack"] = adversary(keywords["attack"])
        if "population" in keywords:
            keywords["population"] = listed(keywords["population"], policy)
        if "levels" in keywords:
            keywords["levels"] = _levels(keywords["levels"])
        result = anonymise(data, watch=watched(line, data.name, hint="time_limit" not in keywords), **keywords)
    target = None if result.exceeded else target
    measured = cache(lambda: result.measures(target=predicted))
    if predicted is not None:
        measured()  # a column that is none is refused before anything is written
    with working("Writing the table and verifying it", data):
        written = None if target is None else result.write(target, overwrite=overwrite)
        changed = None if target is None else result.formulas(target)
    notes = [*dialect_notes(data, chosen=True), *unconfirmed_notes(policy), *_idle_options(options)]
    if changed is not None:
        notes += formula_words(changed)
    if data.undeclared:
        notes.append(
            f"Note: the policy gives no role to {', '.join(data.undeclared)}; nothing can be written before it does."
        )
    away = telling_columns(data, result.levels)
    notes += [*repeated_notes(data), *tied_rows_notes(data), *giveaway_notes(away)]
    if target is not None:
        notes.append(
            f"Wrote {written:,} rows to {PASSWORD.sub('//', target.partition('?')[0])}, verified class by class."
        )
    certificate, utility, remaining = result.certificate, result.utility(), result.published.records
    rows = [
        (column, about["role"], about["treatment"], brief_percent(utility[column]) if column in utility else "")
        for column, about in result.columns.items()
    ]
    lost, of_rows = f"{result.suppressed:,} people suppressed", ""
    if result.rows is not None:
        of_rows = f" ({result.rows - result.suppressed_rows:,} of {result.rows:,} rows)"
        lost = f"{result.suppressed_rows:,} rows of {result.suppressed:,} people suppressed"
    words = [
        heading(f"{data.name}: {remaining:,} of {result.records:,} people{of_rows} in {result.classes:,} classes"),
        f"{result.loss_name} {result.loss:.6g}; {lost}; {'; '.join(result.requirements)}.",
        "",
        table(["column", "role", "published", "detail retained"], rows, numeric=(3,)),
    ]
    words += [f"Setting of {said}." for said in result.settings_words()]
    if result.search == "given":
        words += ["", paragraph(report.given_words(result))]
    if predicted is not None:
        words += ["", paragraph(report.accuracy_words(measured()))]
    if policy.unpublished:
        words.append(f"Left out: {', '.join(policy.unpublished)}.")
    if certificate is not None:
        words += ["", paragraph(certificate.words())]

    def page(**stamp: Any) -> str:
        before = assess(data)
        small = certificate is not None and certificate.nodes <= DRAWN
        share = result.limits.suppressible / (result.rows or result.records)
        return report.anonymised_page(
            result,
            before=before,
            after=result.assess(threshold=before.threshold) if remaining else None,
            title=f"Anonymised: {data.name}",
            source=data.name,
            policy=data.policy,
            frontier=frontier(data, suppression=share, loss=result.loss_name) if small else (),
            lattice=sweep(result.recoding.classes, result.limits, loss=result.loss_name) if small else (),
            formulas=changed,
            utility=measured(),
            away=away,
            **stamp,
        )

    return CommandResult(
        lambda: {
            **result.to_dict(),
            "undeclared": list(data.undeclared),
            "unconfirmed": list(policy.unconfirmed),
            "written": written,
            "target": target,
            "formulas": changed,
            "measures": measured().to_dict(),
            **told_apart(away),
        },
        words,
        page=page,
        notes=notes,
        exit_code=int(
            result.exceeded or (certificate is not None and not certificate.optimal and certificate.search != "ola")
        ),
    )


def _idle_options(options: Mapping[str, Any]) -> list[str]:
    """What to say about options that had no effect."""
    notes, search = [], options["search"]
    if search in RECODINGS and options["loss"] != "loss":
        notes.append(f"Note: --search {search} minimises loss; --loss {options['loss']} had no effect.")
    if search in RECODINGS and options["time_limit"] is not None:
        notes.append(f"Note: --search {search} ends by itself; --time-limit had no effect.")
    if options["max_risk"] is None and options["risk_model"] != "prosecutor":
        notes.append("Note: --risk-model says whose risk --max-risk limits; without it, it had no effect.")
    return notes


def _levels(file: Path) -> Any:
    """Levels from a file that an earlier run printed, or that a person wrote."""
    example = 'The file holds the JSON of an earlier run, or levels such as {"age": 2}.'
    try:
        levels = json.loads(file.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{file} cannot be read as JSON ({type(error).__name__}).", remedy=example) from None
    if not isinstance(levels, dict):
        raise UsageError(f"{file} holds no levels by column.", remedy=example)
    return levels


def watched(line: ProgressLine | None, name: str, *, hint: bool) -> Callable[[Progress], bool]:
    """Shows how far a search is: nodes counted, best loss and proven bound; a `hint` where it may take long."""
    hints = [HINT] if hint else []

    def watch(progress: Progress) -> bool:
        if hints and progress.nodes > MANY:
            say(hints.pop().format(nodes=progress.nodes))
        if line is None:
            return True
        best = "none yet" if progress.best == float("inf") else f"{progress.best:.6g}"
        gap = f"{progress.evaluated:,} nodes counted, best {best}, bound {progress.bound:.6g}"
        line.turn(plain(f"Searching {name}: {gap}"), closed(progress))
        return True

    return watch


def closed(progress: Progress) -> float:
    """The proven bound as a share of the best loss found.

    >>> closed(Progress(evaluated=10, nodes=100, bound=0.2, best=0.4))
    0.5
    """
    return 0.0 if progress.best in (0, float("inf")) else min(1.0, progress.bound / progress.best)


# Candidates for publication side by side.
def _several(convert: Callable[[str], T], example: str) -> Callable[..., tuple[T, ...]]:
    """Values separated by commas, for an option."""

    def parse(context: click.Context, parameter: click.Parameter, value: str) -> tuple[T, ...]:
        try:
            return tuple(convert(part.strip()) for part in value.split(","))
        except ValueError:
            raise UsageError(
                f"{parameter.opts[0]} takes values separated by commas.",
                remedy=f"For example {parameter.opts[0]} {example}",
            ) from None

    return parse


@click.command(name="compare", short_help="Compare the tables that several limits would give.")
@click.argument("source", metavar="DATA")
@policy_option(HIERARCHIES)
@option("--k", default="3,5,10", metavar="K,...", callback=_several(int, "3,5,10"), help="Smallest classes to compare.")
@option(
    "--suppression",
    default="0,0.02,0.05",
    metavar="S,...",
    callback=_several(float, "0,0.02,0.05"),
    help="Largest shares of people suppressed.",
)
@option(
    "--loss",
    default="loss",
    metavar="NAME,...",
    callback=_several(str, "loss,entropy"),
    help=f"Information-loss metrics: {', '.join(LOSSES)}.",
)
@option(
    "--search",
    default="optimal",
    metavar="NAME,...",
    callback=_several(str, "optimal,local"),
    help=f"Search algorithms: {', '.join(SEARCHES)}.",
)
@option("--diversity", type=float, metavar="L", help="l-diversity: at least L values of each sensitive column.")
@option("--closeness", type=float, metavar="T", help="t-closeness: sensitive columns within T of the whole table.")
@option("--k-map", type=click.IntRange(1), metavar="K", help="At least K people of the population look alike (k-map).")
@option("--population", metavar="POP", help="Table of the people an adversary may know of.")
@option("--time-limit", type=float, metavar="SECONDS", help="Stop each search after this time, with the best so far.")
@output("Print the candidates as JSON.", report="--out")
def comparison(source: str, policy_file: str, **options: Any) -> CommandResult:
    """Show what each combination of k, suppression, loss and search would publish, side by side.

    \b
    Examples:
      discreet compare people.csv --policy policy.toml --k 3,5,10 --suppression 0,0.02,0.05
      discreet compare people.csv --policy policy.toml --k 5 --search optimal,local --out comparison.html

    People are counted once, and nothing is written but the report.
    """
    policy = Policy.load(policy_file)
    with working(OPENING):
        data = read(source, policy=policy)
    chosen = {name: value for name, value in options.items() if value is not None}
    if "population" in chosen:
        chosen["population"] = listed(chosen["population"], policy)
    with working(f"Comparing tables of {data.name}", data):
        found = compare(data, watch=watched(None, data.name, hint="time_limit" not in chosen), **chosen)
    rows = [
        (
            f"{one.k:,}",
            brief_percent(one.suppression),
            one.loss_name,
            one.search,
            "not possible" if one.loss is None else f"{one.loss:.6g}",
            "" if one.suppressed is None else f"{one.suppressed:,}",
            "" if one.classes is None else f"{one.classes:,}",
            "" if one.average_risk is None else fine_percent(one.average_risk),
            "" if one.highest_risk is None else fine_percent(one.highest_risk),
            "" if one.detail is None else brief_percent(one.detail),
            report.levels_in_words(one),
        )
        for one in found.candidates
    ]
    head = ["k", "may be suppressed", "metric", "search", "loss", "suppressed", "classes", "average risk"]
    head += ["highest risk", "detail retained", "levels"]
    words = [
        heading(f"{data.name}: {len(found.candidates)} candidates for {found.records:,} people"),
        "",
        table(head, rows, numeric=(0, 1, 4, 5, 6, 7, 8, 9)),
    ]
    if len(found.possible) < len(found.candidates):
        words += [
            "",
            paragraph(
                "Not possible: no combination of levels satisfies the limits, or k is more than there are people."
            ),
        ]
    return CommandResult(
        found.to_dict,
        words,
        page=lambda **stamp: report.comparison_page(
            found, title=f"Candidates for publication: {data.name}", source=data.name, policy=policy, **stamp
        ),
        next_step="discreet anonymise with the k and suppression of the candidate you choose",
    )
