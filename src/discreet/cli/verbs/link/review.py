"""`discreet link assign` and `review`: who decides which pairs, and how."""

from __future__ import annotations

import secrets
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.cli.options import acting, as_option, option, store_option
from discreet.cli.output import CommandResult, heading, on_store, output, say, table
from discreet.cli.verbs.link.group import ledger_for, opened_ledger, project_named
from discreet.errors import NotThere, Refused, UsageError

if TYPE_CHECKING:
    from discreet.ledger import Ledger
    from discreet.linkage.project import Project
    from discreet.linkage.review.views import Gauge, PairView

SETTINGS = ("initial", "kappa", "strict", "project_risk", "project_characters")
"""Settings of a project, fixed when it is registered."""
LETTERS = "abcdefghijklmo"
"""Keys of cells; n, p, q and z mean something else."""
HELP = """\
  a b c ...  open that cell one step; an opened cell cannot be closed, and is charged
  1 2 3      different: high, medium, low confidence
  4 5 6      the same: low, medium, high confidence
  0          can't tell
  z          undo this answer, or the previous one
  n p        next, previous pair
  ?          this help
  q          stop; everything is saved"""


@click.command(name="assign", short_help="Assign pairs to reviewers, within limits.")
@click.argument("project", metavar="PROJECT")
@option("--worker", "workers", multiple=True, metavar="NAME", help="A reviewer; may be given several times.")
@option("--overlap", type=click.IntRange(1), default=1, help="Reviewers per pair.")
@option("--most", type=click.IntRange(0), metavar="N", help="Most pairs per reviewer.")
@option("--risk", metavar="SHARE", help="Limit of each reviewer's privacy risk (KAPR), such as 0.12.")
@option("--characters", metavar="SHARE", help="Largest share of characters shown to each reviewer, such as 0.3.")
@option("--withdraw", metavar="NAME", help="Withdraw the pairs that this reviewer has not decided.")
@option("--rebalance", is_flag=True, help="Withdraw the pairs that nobody has opened, and assign them again.")
@option("--study", is_flag=True, help="Study of interfaces: all pairs to each worker, in one drawn at random.")
@option(
    "--interface",
    "interfaces",
    multiple=True,
    metavar="NAME",
    help="Interface of the study, such as masked, full or 'on demand'; several times [the authors' five].",
)
@option("--gold", metavar="FILE", help="Hide pairs of known truth among the others: two columns of ids.")
@option("--same", metavar="COLUMN", help="Column of --gold that says whether a pair is the same person [all are].")
@option("--adjudicator", metavar="NAME", help="Assign the pairs on which reviewers differ to this person.")
@option(
    "--initial",
    type=click.Choice(["masked", "minimum", "moderate", "full"]),
    default="masked",
    help="What is open at the start (set once).",
)
@option(
    "--kappa", type=click.IntRange(1), default=1, help="Smallest number of people who match what is shown (set once)."
)
@option("--strict", is_flag=True, help="Also charge what masked cells give away (set once).")
@option("--project-risk", metavar="SHARE", help="Limit of the privacy risk of all reviewers together (set once).")
@option("--project-characters", metavar="SHARE", help="Limit of characters for all reviewers together (set once).")
@option("--name", metavar="NAME", help="Name of the project in the store [its folder's name].")
@as_option
@store_option
@output("Print the assignment as JSON.")
def assign(project: str, address: str | None, actor: str | None, **options: Any) -> CommandResult:
    """Assign the pairs of PROJECT (its folder, or its name in the store) to reviewers.

    \b
    Examples:
      discreet link assign project --worker ann --worker ben --overlap 2 --risk 0.12 --characters 0.3
      discreet link assign project --withdraw ann
      discreet link assign project --study --worker ann --worker ben --gold known.csv
      discreet link assign project --adjudicator eve --risk 0.2

    The first call registers the project in the store. What a reviewer opens is charged to their budget there.
    """
    from discreet.linkage.folder import ProjectFolder
    from discreet.linkage.matching.pairs import read_labels
    from discreet.linkage.review import assignments
    from discreet.linkage.review.decisions import adjudicate
    from discreet.linkage.review.views import CONDITIONS
    from discreet.linkage.study import enrol, start_study

    who = acting(actor)
    limits = None
    with ledger_for(project, address) as ledger:
        registered = _registered(ledger, project, who, options)
        if options["risk"] or options["characters"]:
            limits = assignments.Limits.of(options["risk"], options["characters"])
        done: dict[str, Any] = {"project": registered.name}
        if options["withdraw"]:
            done["withdrawn"] = assignments.withdraw(ledger, registered, options["withdraw"], actor=who)
            words = [f"{done['withdrawn']:,} pairs were withdrawn; what was seen of them remains charged."]
        elif options["adjudicator"]:
            adjudicator = options["adjudicator"]
            done["to_adjudicate"] = adjudicate(ledger, registered, adjudicator, actor=who, limits=limits)
            words = [f"{done['to_adjudicate']:,} pairs are to be adjudicated."]
        else:
            new, workers = assignments.bring_pairs(ledger, registered), list(options["workers"])
            if options["gold"]:
                labels = read_labels(ProjectFolder.open(registered.folder), options["gold"], same=options["same"])
                done["gold"] = assignments.hide_gold(ledger, registered, labels, actor=who)
            if options["study"] and registered.study is None:
                interfaces = options["interfaces"] or [name for name, one in CONDITIONS.items() if one.static]
                registered = start_study(ledger, registered, interfaces, actor=who)
            shared: dict[str, Any] = {"actor": who, "overlap": options["overlap"], "most": options["most"]}
            if registered.study is not None:
                drawn = enrol(ledger, registered, workers, actor=who, limits=limits)
                done |= {"new_pairs": new, "interfaces": drawn}
                words = [
                    heading(f"Participants of {registered.name}"),
                    table(["participant", "interface"], list(drawn.items())),
                ]
            elif options["rebalance"]:
                assigned = assignments.rebalance(ledger, registered, workers, **shared)
            else:
                assigned = assignments.assign(ledger, registered, workers, limits=limits, **shared)
            if registered.study is None:
                done |= {"new_pairs": new, "assigned": dict(assigned.pairs), "left_over": assigned.left_over}
                rows = [(name, f"{count:,}") for name, count in assigned.pairs.items()]
                words = [heading(f"Pairs of {registered.name}"), table(["reviewer", "pairs"], rows, numeric=(1,))]
    left = done.get("left_over")
    return CommandResult(
        lambda: done,
        words,
        notes=[f"{left:,} reviews remain unassigned: name more workers, or raise --most."] if left else [],
        next_step=on_store("link", "status", registered.name, store=address),
    )


def _registered(ledger: Ledger, name: str, actor: str, options: dict[str, Any]) -> Project:
    """The project in the store; a folder unknown to it is registered."""
    from discreet.linkage.project import register_project

    try:
        known = project_named(ledger, options["name"] or name)
    except NotThere:
        if not (Path(name) / "project.json").is_file():
            raise UsageError(
                f"'{name}' is neither a project of the store nor the folder of one.",
                remedy="Start one with: discreet link init DATA --spec link.toml --out PROJECT",
            ) from None
        settings: dict[str, Any] = {key: options[key] for key in ("name", "initial", "kappa", "strict")}
        limits = {"risk_limit": options["project_risk"], "characters_limit": options["project_characters"]}
        return register_project(ledger, name, actor=actor, **settings, **limits)
    source_of = click.get_current_context().get_parameter_source
    given = [setting for setting in SETTINGS if source_of(setting) == click.core.ParameterSource.COMMANDLINE]
    if given:
        raise UsageError(
            f"--{given[0].replace('_', '-')} was fixed when project '{known.name}' was registered.",
            remedy="Leave it out, or register the folder under another --name.",
        )
    return known


@click.command(name="review", short_help="Review pairs in the terminal.")
@click.argument("project", metavar="PROJECT")
@option("--worker", required=True, metavar="NAME", help="The reviewer to whom pairs were assigned.")
@store_option
@output("Print the summary at the end as JSON.")
def review(project: str, worker: str, address: str | None) -> CommandResult:
    """Review the pairs of PROJECT that were assigned to a reviewer: one key and Enter at a time.

    \b
    Examples:
      discreet link review project --worker ann

    A letter opens a cell by one step, at the price beside it; 1 2 3 | 4 5 6 answer different | same, 0 can't tell.
    """
    from discreet.linkage.progress import summary
    from discreet.linkage.review.views import CHOICES

    with opened_ledger(address) as ledger:
        reviewed = project_named(ledger, project)
        ReviewTerminal(ledger, reviewed, worker).run()
        done = summary(ledger, reviewed, worker)
    rows = [
        (" ".join(part for part in CHOICES[choice] if part), f"{count:,}")
        for choice, count in done.choices.items()
        if count
    ]
    words = [
        "",
        heading(f"{done.decided:,} of {done.pairs:,} pairs decided. Thank you."),
        table(["answer", "pairs"], rows, numeric=(1,)),
        f"characters shown {_gauge(done.characters)}, privacy risk {_gauge(done.risk)}",
    ]
    return CommandResult(done.to_dict, words)


@dataclass
class ReviewTerminal:
    """A review session in a terminal, on the same budget as in the browser."""

    ledger: Ledger
    project: Project
    worker: str

    def run(self) -> None:
        """Show pairs and obey keys until the reviewer stops or all pairs are decided."""
        from discreet.linkage.review.decisions import next_pair

        number = next_pair(self.ledger.store, self.project, self.worker)
        if number is None:
            say("There is nothing left to decide.")
            return
        say(HELP)
        say("What you open stays open and is charged to you; an answer can be undone, a reveal cannot.")
        shown, asks = self._show(number), sys.stdin.isatty()
        while True:
            if asks:
                click.echo("> ", nl=False, err=True)
            line = sys.stdin.readline()
            # A line may hold several keys; the session ends with the input.
            for key in line.split() if line else ["q"]:
                if key == "q":
                    return
                following = self._obey(shown, key)
                if following is None:
                    say("That was your last pair: z takes the answer back, q ends.")
                shown = following or shown

    def _show(self, number: int) -> PairView:
        from discreet.linkage.review.reveal import view

        return _drawn(view(self.ledger, self.project, self.worker, number))

    def _obey(self, shown: PairView, key: str) -> PairView | None:
        """The pair to continue with; None if all are decided."""
        from discreet.linkage.review.decisions import decide, last_decided, next_pair, undo
        from discreet.linkage.review.reveal import reveal

        session, number = (self.ledger.store, self.project, self.worker), shown.pair
        if key in "0123456" and len(key) == 1:
            decide(*session, number, int(key))
            following = next_pair(*session)
            return None if following is None else self._show(following)
        if key == "z":
            last = number if shown.choice is not None else last_decided(*session)
            if last is not None:
                undo(*session, last)
            return self._show(number if last is None else last)
        if key in ("n", "p"):
            other = shown.following if key == "n" else shown.previous
            return self._show(number if other is None else other)
        cells = dict(zip(LETTERS, shown.cells, strict=False))
        if key not in cells:
            say(HELP)
            return shown
        opening: dict[str, Any] = {"key": secrets.token_hex(16), "seen": shown.version}
        try:
            opened = reveal(self.ledger, self.project, self.worker, number, cells[key].attribute, **opening)
        except Refused as refusal:
            say(str(refusal))
            return self._show(number)
        return _drawn(opened)


def _drawn(shown: PairView) -> PairView:
    """The pair, after it was drawn on the terminal."""
    from discreet.linkage.review.views import REFUSALS, percent

    if sys.stdout.isatty():
        click.clear()
    if len(shown.cells) > len(LETTERS):
        raise UsageError("A terminal has keys for 14 attributes.", remedy="Review this project in the browser.")
    answer = "" if shown.choice is None else f", answered {shown.choice}"
    click.echo(heading(f"{shown.project}   pair {shown.place} of {shown.pairs}, {shown.decided} decided{answer}"))
    click.echo(f"characters shown {_gauge(shown.characters)}   privacy risk {_gauge(shown.risk)}")
    rows = []
    for letter, cell in zip(LETTERS, shown.cells, strict=False):
        common = [row.frequency.name for row in cell.rows if row.frequency is not None]
        seen = ", ".join([*(mark.words for mark in cell.marks), *dict.fromkeys(common)])
        price = ""
        if cell.next is not None and cell.next.refused is not None:
            price = f"closed: {REFUSALS[cell.next.refused]}"
        elif cell.next is not None:
            price = f"{cell.next.mode}: up to +{percent(cell.next.characters):.2f} % +{percent(cell.next.risk):.2f} %"
        key = letter if cell.next else ""
        rows.append((key, cell.attribute, cell.rows[0].text, cell.rows[1].text, seen, price))
    click.echo(table(["", "attribute", "A", "B", "", "next step"], rows))
    return shown


def _gauge(gauge: Gauge) -> str:
    from discreet.linkage.review.views import percent

    limit = "" if gauge.limit is None else f" (limit {percent(gauge.limit):.1f} %)"
    return f"{percent(gauge.used):.1f} %{limit}"
