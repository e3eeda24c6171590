"""`discreet anonymise`: write the least generalised table within a limit."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import click

from discreet import report
from discreet.anonymity import LOSSES, SEARCHES, Progress, anonymise, frontier, sweep
from discreet.anonymity.anonymise import RECODINGS
from discreet.anonymity.limits import EXAMPLES
from discreet.cli.options import (
    HIERARCHIES,
    PATH,
    listed,
    option,
    policy_option,
    refuse_inputs,
    tied_rows_notes,
    unconfirmed_notes,
)
from discreet.cli.output import CommandResult, heading, output, paragraph, table
from discreet.cli.verbs.attack import adversary
from discreet.errors import UsageError
from discreet.policy import Policy
from discreet.risk import assess
from discreet.sources import read
from discreet.wording import brief_percent

DRAWN = 20_000
"""Lattices up to this many nodes are drawn whole in a report."""


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
    help='l-diversity: at least L values of each sensitive column, or JSON: {"l": 3, "kind": "entropy"}.',
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
@option("--search", type=click.Choice(SEARCHES), default="optimal", help="Search algorithm.")
@option(
    "--time-limit", type=float, metavar="SECONDS", help="Stop after this time, with the best so far and a proven bound."
)
@option("--out", metavar="TARGET", help="Write to a CSV or Parquet file, or to postgresql://...?table=NAME.")
@option("--overwrite", is_flag=True, help="Replace TARGET if it exists.")
@option("--dry-run", is_flag=True, help="Search, but write no table; a report is written all the same.")
@output("Print the result as JSON.", report="--report")
def command(
    source: str,
    policy_file: str,
    out: str | None,
    overwrite: bool,
    dry_run: bool,
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
    if target is not None:
        refuse_inputs(target, source, policy_file, options.get("population"))
    policy = Policy.load(policy_file)
    data = read(source, policy=policy)
    if target is not None:
        data.refuse_undeclared()
        data.refuse_unconfirmed()
    with _progress_bar(data.name) as watch:
        keywords = {name: value for name, value in options.items() if value is not None}
        for name in {"diversity", "closeness"} & keywords.keys():
            try:
                keywords[name] = json.loads(keywords[name])
            except json.JSONDecodeError:
                keywords[name] = None
            if keywords[name] is None:
                raise UsageError(f"--{name} is a number or JSON.", remedy=f"For example {name}={EXAMPLES[name]}")
        if "attack" in keywords:
            keywords["attack"] = adversary(keywords["attack"])
        if "population" in keywords:
            keywords["population"] = listed(keywords["population"], policy)
        result = anonymise(data, watch=watch, **keywords)
    written = None if target is None else result.write(target, overwrite=overwrite)
    notes = [*unconfirmed_notes(policy), *_idle_options(options)]
    if data.undeclared:
        notes.append(
            f"Note: the policy gives no role to {', '.join(data.undeclared)}; nothing can be written before it does."
        )
    notes += tied_rows_notes(data)
    if target is not None:
        notes.append(f"Wrote {written:,} rows to {target.partition('?')[0]}, verified class by class.")
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
            **stamp,
        )

    return CommandResult(
        lambda: {
            **result.to_dict(),
            "undeclared": list(data.undeclared),
            "unconfirmed": list(policy.unconfirmed),
            "written": written,
            "target": target,
        },
        words,
        page=page,
        notes=notes,
        exit_code=int(certificate is not None and not certificate.optimal and certificate.search != "ola"),
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


@contextmanager
def _progress_bar(name: str) -> Iterator[Any]:
    """Progress on a terminal: nodes counted, best loss and proven bound."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[gap]}"),
        TimeElapsedColumn(),
        TextColumn("ETA"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, transient=True) as bar:
        task = bar.add_task(f"Searching {name}", total=1.0, gap="")

        def watch(progress: Progress) -> bool:
            best = "none yet" if progress.best == float("inf") else f"{progress.best:.6g}"
            gap = f"{progress.evaluated:,} nodes counted, best {best}, bound {progress.bound:.6g}"
            bar.update(task, completed=closed(progress), gap=gap)
            return True

        yield watch


def closed(progress: Progress) -> float:
    """The proven bound as a share of the best loss found.

    >>> closed(Progress(evaluated=10, nodes=100, bound=0.2, best=0.4))
    0.5
    """
    return 0.0 if progress.best in (0, float("inf")) else min(1.0, progress.bound / progress.best)
