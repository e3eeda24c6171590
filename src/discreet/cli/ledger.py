"""`discreet ledger`: see, check and export what was disclosed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from discreet.cli import console
from discreet.errors import IntegrityError, MissingExtra, UsageError
from discreet.ledger import verifier

if TYPE_CHECKING:
    from discreet.ledger import Budget, Entry
    from discreet.store import Store

Command = TypeVar("Command", bound=Callable[..., Any])
ROOMS = ("anonymity", "attacker", "gateway", "ledger", "linkage", "misuse", "releases", "risk", "web")


def store_option(command: Command) -> Command:
    """The option that says which store is meant."""
    words = "The store: a path or a URL; else $DISCREET_STORE, else ~/.local/share/discreet/store.db."
    return click.option("--store", "address", metavar="URL", help=words)(command)


def head_option(command: Command) -> Command:
    """The option for heads that were kept elsewhere."""
    words = "A head that was kept elsewhere; may be given several times."
    kind = click.Path(path_type=Path, dir_okay=False)
    return click.option("--head", "head_files", type=kind, multiple=True, metavar="FILE", help=words)(command)


@click.group(name="ledger", short_help="See, check and export what was disclosed.")
def command() -> None:
    """See, check and export what was disclosed, to whom, and what is left.

    \b
    Examples:
      discreet ledger show --last 50                       what happened lately
      discreet ledger show --budgets                       what is left
      discreet ledger head --out head.json                 keep this file elsewhere
      discreet ledger verify --head head.json              is it still the ledger that head has seen?
      discreet ledger export --out ledger.jsonl            for an auditor
      discreet ledger verify ledger.jsonl --head head.json   what the auditor does, without the store
    """


@command.command(name="show")
@store_option
@click.option("--last", type=click.IntRange(1), default=20, show_default=True, help="How many entries at most.")
@click.option("--actor", metavar="NAME", help="Only what this person or program did.")
@click.option("--room", type=click.Choice(ROOMS), help="Only this room.")
@click.option("--event", metavar="CODE", help="Only this event, such as linkage.revealed.")
@click.option("--outcome", metavar="NAME", help="Only this outcome, such as refused.")
@click.option("--subject", metavar="TEXT", help="Only this subject and what is below it, such as project:7.")
@click.option("--budgets", is_flag=True, help="Show the budgets instead: what is allowed, spent, held back and left.")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def show(address: str | None, last: int, budgets: bool, as_json: bool, **chosen: str | None) -> None:
    """Show the newest entries, or the budgets."""
    with _opened(address) as store, store.reading() as connection:
        from discreet.ledger import queries

        if budgets:
            _tell_budgets(queries.budgets(connection), as_json=as_json)
        else:
            _tell_entries(list(queries.entries(connection, last=last, **chosen)), as_json=as_json)  # type: ignore[arg-type]


@command.command(name="head")
@store_option
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write the head to FILE.")
@click.option("--json", "as_json", is_flag=True, help="Print the signed head as JSON.")
def head(address: str | None, out: Path | None, as_json: bool) -> None:
    """Print the signed head: what the ledger holds now, in one hash. Keep it where nobody can change it."""
    with _opened(address) as store, store.reading() as connection:
        from discreet.ledger.tree import Tree

        found = Tree.read(connection).head()
    if out is not None:
        console.write_text(out, verifier.canonical(found).decode("ascii") + "\n")
        console.say(f"Wrote {out}. Keep it elsewhere; later: discreet ledger verify --head {out}")
    if as_json:
        console.data(found)
    elif out is None:
        rows = [(name, str(found[name])) for name in ("ledger", "size", "root", "time", "key", "signature")]
        console.table(["head", ""], rows)


@command.command(name="verify")
@click.argument("export_file", metavar="[EXPORT]", required=False, type=click.Path(path_type=Path, dir_okay=False))
@store_option
@head_option
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as JSON.")
def verify(export_file: Path | None, address: str | None, head_files: tuple[Path, ...], as_json: bool) -> int:
    """Check the ledger in the store, or an EXPORT of it: against itself, and against heads that were kept elsewhere.

    Ends with 6 if anything was changed, left out, put in, moved or cut off.
    """
    if export_file is not None and address is not None:
        raise UsageError("An export is checked without a store.", remedy="Give EXPORT or --store, not both.")
    heads = [read_head_file(file) for file in head_files]
    verdict = _check_store(address, heads) if export_file is None else _check_export(export_file, heads)
    if as_json:
        console.data({"holds": verdict.holds, "entries": verdict.size, "root": verdict.root, "heads": verdict.heads,
                      "problems": list(verdict.problems)})  # fmt: skip
    else:
        _tell_verdict(verdict)
    return 0 if verdict.holds else IntegrityError.exit_code


@command.command(name="export")
@store_option
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write to FILE, not stdout."
)
@click.option("--json", "as_json", is_flag=True, help="Accepted for symmetry: an export is JSON lines.")
def export(address: str | None, out: Path | None, as_json: bool) -> None:
    """Write all of the ledger as JSON lines, the signed head last, for `discreet ledger verify EXPORT`."""
    del as_json
    with _opened(address) as store, store.reading() as connection:
        from discreet.ledger import queries

        lines = queries.export(connection)
        if out is None:
            for line in lines:
                click.echo(line, nl=False)
        else:
            _write_lines(out, lines)
    if out is not None:
        console.say(f"Wrote {out}. To check it: discreet ledger verify {out}")


def _opened(address: str | None) -> Store:
    from discreet.store import Store  # first: says in words if the extra is missing

    store = Store.open(address, create=False)
    with store.reading() as connection:
        from discreet.ledger.tree import Tree

        if Tree.read(connection).opened:
            return store
    store.close()
    raise UsageError(f"Nothing was ever written down in {store.address}.", remedy="Give the address of another store.")


def _check_store(address: str | None, heads: list[Mapping[str, Any]]) -> verifier.Verdict:
    with _opened(address) as store, store.reading() as connection:
        from discreet.ledger.integrity import check_store

        return check_store(connection, heads=heads)


def _check_export(file: Path, heads: list[Mapping[str, Any]]) -> verifier.Verdict:
    try:
        with file.open("rb") as lines:
            return verifier.verify_export(lines, heads=heads)
    except OSError as error:
        raise UsageError(f"{file} cannot be read ({type(error).__name__}).", remedy="Check the path.") from None
    except ImportError:
        raise MissingExtra("store", needed_for="Checking signatures") from None


def read_head_file(file: Path) -> Mapping[str, Any]:
    """A head from its file; an error in words if it is none."""
    try:
        return verifier.read_head(file)
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{file} is not a head of a ledger ({type(error).__name__}).",
            remedy="A head is a file that was written by: discreet ledger head --out FILE",
        ) from None


def _write_lines(path: Path, lines: Iterable[bytes]) -> None:
    try:
        with path.open("wb") as file:
            file.writelines(lines)
    except OSError as error:
        raise UsageError(
            f"{path} cannot be written ({type(error).__name__}).", remedy="Give a path you may write to."
        ) from None


def _tell_entries(entries: list[Entry], *, as_json: bool) -> None:
    if as_json:
        console.data([entry.to_dict() for entry in entries])
        return
    headers = ["entry", "time", "actor", "event", "outcome", "subject", "amount", "left"]
    console.table(headers, [_row(entry) for entry in entries], numeric=(0, 6, 7))


def _row(entry: Entry) -> list[str]:
    charge = entry.budget
    amount, left = (
        ("", "") if charge is None else (_number(Fraction(charge.amount, charge.parts)), _number(charge.left))
    )
    moment = entry.time[:19].replace("T", " ")
    return [str(entry.sequence), moment, entry.actor, entry.event, entry.outcome, entry.subject, amount, left]


def _number(exact: Fraction) -> str:
    """An amount for people, to four places; exactly it is in the JSON."""
    return f"{float(exact):,.4f}".rstrip("0").rstrip(".")


def _tell_budgets(budgets: list[Budget], *, as_json: bool) -> None:
    if as_json:
        console.data([budget.to_dict() for budget in budgets])
        return
    rows = [[str(value) for value in (b.name, b.limit, b.spent, b.reserved, b.left)] for b in budgets]
    console.table(["budget", "limit", "spent", "held back", "left"], rows, numeric=(1, 2, 3, 4))


def _tell_verdict(verdict: verifier.Verdict) -> None:
    for problem in verdict.problems:
        click.echo(console.plain(f"✗ {problem}"))
    if not verdict.holds:
        click.echo(f"This is NOT the ledger that was written: {verdict.size:,} entries, root {verdict.root}.")
        return
    click.echo(f"Whole: {verdict.size:,} entries, root {verdict.root}.")
    if verdict.heads:
        click.echo(f"It continues what {'the given head has' if verdict.heads == 1 else 'all given heads have'} seen.")
    else:
        console.say("Note: no head that was kept elsewhere was given, so this shows only that it agrees with itself.")
