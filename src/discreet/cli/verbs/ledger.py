"""`discreet ledger`: show, verify and export what was disclosed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from discreet.cli.options import FILE, option, store_option
from discreet.cli.output import CommandResult, output, plain, say, table, writable, write_text
from discreet.errors import IntegrityError, MissingExtra, UsageError
from discreet.ledger import verifier

if TYPE_CHECKING:
    from discreet.ledger import Entry
    from discreet.store import Store

Command = TypeVar("Command", bound=Callable[..., Any])
ROOMS = ("anonymity", "attacker", "gateway", "ledger", "linkage", "misuse", "releases", "risk", "web")


def head_option(command: Command) -> Command:
    """Signed heads that were stored elsewhere."""
    words = "A signed head stored elsewhere; may be given several times."
    kind = FILE
    return option("--head", "head_files", type=kind, multiple=True, metavar="FILE", help=words)(command)


@click.group(name="ledger", short_help="Show, verify and export what was disclosed.")
def command() -> None:
    """Show, verify and export what was disclosed, to whom, and what is left.

    \b
    Examples:
      discreet ledger show --last 50                       the newest entries
      discreet ledger show --budgets                       what is left
      discreet ledger head --out head.json                 store this file elsewhere
      discreet ledger verify --head head.json              is it still the ledger that was signed?
      discreet ledger export --out ledger.jsonl            for an auditor
      discreet ledger verify ledger.jsonl --head head.json   what the auditor does, without the store
    """


@command.command(name="show")
@store_option
@option("--last", type=click.IntRange(1), default=20, help="How many entries at most.")
@option("--actor", metavar="NAME", help="Only what this person or program did.")
@option("--room", type=click.Choice(ROOMS), help="Only this part of Discreet.")
@option("--event", metavar="CODE", help="Only this event, such as linkage.revealed.")
@option("--outcome", metavar="NAME", help="Only this outcome, such as refused.")
@option("--subject", metavar="TEXT", help="Only this subject and those below it, such as project:7.")
@option("--budgets", is_flag=True, help="Show the budgets instead: limit, spent, reserved and left.")
@output("Print as JSON.")
def show(address: str | None, last: int, budgets: bool, **chosen: str | None) -> CommandResult:
    """Show the newest entries, or the budgets."""
    with _opened(address) as store, store.reading() as connection:
        from discreet.ledger import queries

        if budgets:
            accounts = queries.budgets(connection)
            rows = [[str(value) for value in (b.name, b.limit, b.spent, b.reserved, b.left)] for b in accounts]
            return CommandResult(
                lambda: [budget.to_dict() for budget in accounts],
                [table(["budget", "limit", "spent", "reserved", "left"], rows, numeric=(1, 2, 3, 4))],
            )
        entries = list(queries.entries(connection, last=last, **chosen))  # type: ignore[arg-type]
    headers = ["entry", "time", "actor", "event", "outcome", "subject", "amount", "left"]
    return CommandResult(
        lambda: [entry.to_dict() for entry in entries],
        [table(headers, [_entry_row(entry) for entry in entries], numeric=(0, 6, 7))],
    )


def _entry_row(entry: Entry) -> list[str]:
    charge = entry.budget
    amounts = ["", ""] if charge is None else [_amount(Fraction(charge.amount, charge.parts)), _amount(charge.left)]
    moment = entry.time[:19].replace("T", " ")
    return [str(entry.sequence), moment, entry.actor, entry.event, entry.outcome, entry.subject, *amounts]


def _amount(exact: Fraction) -> str:
    """An amount for people, to four places; the JSON has it exactly."""
    return f"{float(exact):,.4f}".rstrip("0").rstrip(".")


@command.command(name="head")
@store_option
@option("--out", type=FILE, metavar="FILE", help="Write the head to FILE.")
@output("Print the signed head as JSON.")
def head(address: str | None, out: Path | None) -> CommandResult:
    """Print the signed head: a hash of all that the ledger holds now. Store it where nobody can change it."""
    with _opened(address) as store, store.reading() as connection:
        from discreet.ledger.merkle import MerkleTree

        signed = MerkleTree.read(connection).head()
    if out is not None:
        write_text(out, verifier.canonical(signed).decode("ascii") + "\n")
        say(f"Wrote {out}. Store it elsewhere; later: discreet ledger verify --head {out}")
    rows = [(name, str(signed[name])) for name in ("ledger", "size", "root", "time", "key", "signature")]
    return CommandResult(lambda: signed, [table(["head", ""], rows)] if out is None else [])


@command.command(name="verify")
@click.argument("export_file", metavar="[EXPORT]", required=False, type=FILE)
@store_option
@head_option
@output("Print the verdict as JSON.")
def verify(export_file: Path | None, address: str | None, head_files: tuple[Path, ...]) -> CommandResult:
    """Verify the ledger in the store, or an EXPORT of it: against itself, and against heads stored elsewhere.

    Ends with exit code 6 if any entry was changed, removed, inserted, moved or cut off.
    """
    if export_file is not None and address is not None:
        raise UsageError("An export is verified without a store.", remedy="Give EXPORT or --store, not both.")
    heads = [read_head_file(file) for file in head_files]
    if export_file is not None:
        verdict = _verify_export(export_file, heads)
    else:
        with _opened(address) as store, store.reading() as connection:
            from discreet.ledger.queries import check_store

            verdict = check_store(connection, heads=heads)
    alone = "Note: no head stored elsewhere was given, so this shows only that the ledger is consistent with itself."
    return CommandResult(
        lambda: {
            "holds": verdict.holds,
            "entries": verdict.size,
            "root": verdict.root,
            "heads": verdict.heads,
            "problems": list(verdict.problems),
        },
        _verdict_words(verdict),
        notes=[alone] if verdict.holds and not verdict.heads else [],
        exit_code=0 if verdict.holds else IntegrityError.exit_code,
    )


def _verify_export(file: Path, heads: list[Mapping[str, Any]]) -> verifier.Verdict:
    try:
        with file.open("rb") as lines:
            return verifier.verify_export(lines, heads=heads)
    except OSError as error:
        raise UsageError(f"{file} cannot be read ({type(error).__name__}).", remedy="Check the path.") from None
    except ImportError:
        raise MissingExtra("store", needed_for="Checking signatures") from None


def read_head_file(file: Path) -> Mapping[str, Any]:
    """A signed head from its file."""
    try:
        return verifier.read_head(file)
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{file} is not a head of a ledger ({type(error).__name__}).",
            remedy="A head is a file written by: discreet ledger head --out FILE",
        ) from None


def _verdict_words(verdict: verifier.Verdict) -> Iterator[str]:
    for problem in verdict.problems:
        yield plain(f"✗ {problem}")
    if not verdict.holds:
        yield f"This is NOT the ledger that was written: {verdict.size:,} entries, root {verdict.root}."
        return
    yield f"Intact: {verdict.size:,} entries, root {verdict.root}."
    if verdict.heads:
        yield f"It extends {'the given head' if verdict.heads == 1 else 'all given heads'}."


@command.command(name="export")
@store_option
@option("--out", type=FILE, metavar="FILE", help="Write to FILE instead of stdout.")
@option("--json", "as_json", is_flag=True, help="Accepted for symmetry: an export is JSON lines.")
def export(address: str | None, out: Path | None, as_json: bool) -> None:
    """Write the whole ledger as JSON lines, the signed head last, for `discreet ledger verify EXPORT`."""
    del as_json
    with _opened(address) as store, store.reading() as connection:
        from discreet.ledger import queries

        lines = queries.export(connection)
        if out is None:
            for line in lines:
                click.echo(line, nl=False)
            return
        with writable(out), out.open("wb") as file:
            file.writelines(lines)
    say(f"Wrote {out}. To verify it: discreet ledger verify {out}")


def _opened(address: str | None) -> Store:
    """A store with a ledger in it."""
    from discreet.store import Store  # first: says in words if the extra is missing

    store = Store.open(address, create=False)
    with store.reading() as connection:
        from discreet.ledger.merkle import MerkleTree

        if MerkleTree.read(connection).opened:
            return store
    store.close()
    raise UsageError(f"The ledger in {store.address} has no entries.", remedy="Give the address of another store.")
