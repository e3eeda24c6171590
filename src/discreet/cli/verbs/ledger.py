"""`discreet ledger` and `report`: what was disclosed, and a whole data-sharing project."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.cli.main import Verbs
from discreet.cli.options import (
    FILE,
    FOLDER,
    PATH,
    acting,
    as_option,
    draft_option,
    number_of_people,
    option,
    store_option,
    target_option,
)
from discreet.cli.output import (
    CommandResult,
    finding_lines,
    hand_over,
    heading,
    output,
    plain,
    say,
    table,
    working,
    writable,
    write_text,
)
from discreet.errors import IntegrityError, MissingExtra, SourceUnreadable, UsageError
from discreet.ledger import verifier
from discreet.wording import reason

if TYPE_CHECKING:
    from discreet.store import Store

LOOKED_AT = 1_000
"""Lines of a file that are looked through for an entry of a ledger."""
ROOMS = ("anonymity", "attacker", "gateway", "ledger", "linkage", "misuse", "releases", "risk", "web")
head_option = option(
    "--head",
    "head_files",
    type=FILE,
    multiple=True,
    metavar="FILE",
    help="A signed head stored elsewhere; may be given several times.",
)


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
    rows = []
    for entry in entries:
        charge, moment = entry.budget, entry.time[:19].replace("T", " ")
        amounts = ["", ""] if charge is None else [_amount(Fraction(charge.amount, charge.parts)), _amount(charge.left)]
        rows.append([str(entry.sequence), moment, entry.actor, entry.event, entry.outcome, entry.subject, *amounts])
    headers = ["entry", "time", "actor", "event", "outcome", "subject", "amount", "left"]
    return CommandResult(lambda: [entry.to_dict() for entry in entries], [table(headers, rows, numeric=(0, 6, 7))])


def _amount(exact: Fraction) -> str:
    """An amount for people, to four places; the JSON has it exactly."""
    return f"{float(exact):,.4f}".rstrip("0").rstrip(".")


@command.command(name="head")
@store_option
@target_option("--out", type=FILE, metavar="FILE", help="Write the head to FILE.")
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


@command.command(name="rotate-key")
@store_option
@option("--prepare", is_flag=True, help="Only print the keys with the next one, where they are not in a file.")
@as_option
def rotate_key(address: str | None, prepare: bool, actor: str | None) -> None:
    """Let a new key sign the heads from now on. Heads that the old key signed still verify.

    Programs that use the ledger go on and take the new key by themselves. If it is stopped, run it again. Keys that come from
    DISCREET_KEYS_CONTENT or DISCREET_KEYS_COMMAND are yours to store: first store what --prepare prints, which holds the secrets.
    """
    with _opened(address) as store:
        from discreet.ledger.commit import keys_of
        from discreet.ledger.ledger import rotate_key
        from discreet.ledger.merkle import MerkleTree

        if prepare:
            with store.reading() as connection:
                keys = keys_of(MerkleTree.read(connection), None, store.address)
            click.echo(keys.with_following().text(), nl=False)
            return
        entry = rotate_key(store, actor=acting(actor))
    say(f"Key {entry.details['key']} signs from entry {entry.sequence} on; it follows {entry.details['was']}.")
    say("Save a new head elsewhere: discreet ledger head --out head.json")


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
        try:
            with export_file.open("rb") as lines:
                if not any(map(_is_entry, islice(lines, LOOKED_AT))):
                    raise SourceUnreadable(
                        f"{export_file} is not an export of a ledger: none of its first lines is an entry.",
                        remedy="An export is a file written by: discreet ledger export --out FILE",
                    )
                lines.seek(0)
                verdict = verifier.verify_export(lines, heads=heads)
        except OSError as error:
            raise UsageError(f"{export_file} cannot be read ({reason(error)}).", remedy="Check the path.") from None
        except ImportError:
            raise MissingExtra("store", needed_for="Checking signatures") from None
    else:
        with _opened(address) as store, store.reading() as connection:
            from discreet.ledger.queries import check_store

            verdict = check_store(connection, heads=heads)
    words = [plain(f"✗ {problem}") for problem in verdict.problems]
    if not verdict.holds:
        words.append(f"This is NOT the ledger that was written: {verdict.size:,} entries, root {verdict.root}.")
    else:
        words.append(f"Intact: {verdict.size:,} entries, root {verdict.root}.")
        if verdict.heads:
            words.append(f"It extends {'the given head' if verdict.heads == 1 else 'all given heads'}.")
    alone = "Note: no head stored elsewhere was given, so this shows only that the ledger is consistent with itself."
    return CommandResult(
        lambda: {
            "holds": verdict.holds,
            "entries": verdict.size,
            "root": verdict.root,
            "heads": verdict.heads,
            "problems": list(verdict.problems),
        },
        words,
        notes=[alone] if verdict.holds and not verdict.heads else [],
        exit_code=0 if verdict.holds else IntegrityError.exit_code,
    )


def _is_entry(line: bytes) -> bool:
    """Whether a line may be of an export, intact or not."""
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(content, dict) and ("event" in content or verifier.is_head(content))


def read_head_file(file: Path) -> Mapping[str, Any]:
    """A signed head from its file."""
    try:
        return verifier.read_head(file)
    except (OSError, ValueError) as error:
        why = f" ({reason(error)})" if isinstance(error, OSError) else ""
        raise UsageError(
            f"{file} is not a head of a ledger{why}.",
            remedy="A head is a file written by: discreet ledger head --out FILE",
        ) from None


@command.command(name="export")
@store_option
@target_option("--out", type=FILE, metavar="FILE", help="Write to FILE instead of stdout.")
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


# `discreet backup` and `restore`: the store, its keys and the data folder, in a folder of their own.
def _data(data: Path | None) -> Path:
    from discreet.store import default_folder

    return (data or default_folder() / "data").absolute()


@click.command(name="backup", short_help="Back up store, keys and data folder, while they are used.")
@click.argument("folder", metavar="FOLDER", type=click.Path(path_type=Path))
@store_option
@option("--data", type=FOLDER, metavar="DIR", help="Folder for uploads and results, as given to `discreet serve`.")
@option("--without-keys", is_flag=True, help="Leave the keys out; store them elsewhere.")
@output("Print what was backed up as JSON.")
def backup(folder: Path, address: str | None, data: Path | None, without_keys: bool) -> CommandResult:
    """Back up the store, its keys and the data folder into FOLDER, which must not exist yet.

    Programs may go on using them. If it is stopped, there is no FOLDER; run it again.

    \b
    Examples:
      discreet backup /backup/2026-05-04
      discreet backup /backup/2026-05-04 --store postgresql://db/discreet --data /srv/discreet --without-keys
    """
    from discreet.ledger.backup import back_up, verify_backup

    made = back_up(address, folder.absolute(), data=_data(data), with_keys=not without_keys)
    verify_backup(made)
    words = [f"Wrote {folder}: {made.entries:,} entries of the ledger, {len(made.files):,} files, verified."]
    if not without_keys:
        words.append("It holds the keys: whoever reads it can read what they encrypt, and sign heads.")
    return CommandResult(lambda: _backup_json(made), words, next_step=f"discreet restore {folder} --verify")


@click.command(name="restore", short_help="Verify a backup, and put it back.")
@click.argument("folder", metavar="FOLDER", type=click.Path(path_type=Path, exists=True, file_okay=False))
@store_option
@option("--data", type=FOLDER, metavar="DIR", help="Folder for uploads and results.")
@option(
    "--head",
    "head_files",
    type=FILE,
    multiple=True,
    metavar="FILE",
    help="A signed head stored elsewhere; can be repeated.",
)
@option("--verify", "only_verify", is_flag=True, help="Verify the backup and write nothing.")
@output("Print what was verified as JSON.")
def restore(
    folder: Path, address: str | None, data: Path | None, head_files: tuple[Path, ...], only_verify: bool
) -> CommandResult:
    """Verify the backup in FOLDER, then put it back where there is no store yet.

    Every file is compared with its hash, and the ledger with its head and with heads stored elsewhere. If it is stopped,
    there is no store; run it again. Ends with exit code 6 if the backup is not what was written.

    \b
    Examples:
      discreet restore /backup/2026-05-04 --verify --head head.json
      discreet restore /backup/2026-05-04 --store store.db --data data
    """
    from discreet.ledger.backup import read_backup, verify_backup
    from discreet.ledger.backup import restore as put_back

    found = read_backup(folder.absolute())
    heads: list[Mapping[str, Any]] = [read_head_file(file) for file in head_files]
    verify_backup(found, heads=heads)
    words = [f"Intact: {found.entries:,} entries of the ledger, {len(found.files):,} files, of {found.time[:16]}Z."]
    words += [plain(f"Removed while it was taken: {name}") for name in found.missing]
    if not only_verify:
        put_back(found, address, data=_data(data))
        words.append("Restored.")
    return CommandResult(
        lambda: _backup_json(found) | {"restored": not only_verify},
        words,
        next_step="" if only_verify else "discreet ledger verify",
    )


def _backup_json(found: Any) -> dict[str, Any]:
    return {
        "folder": str(found.folder),
        "time": found.time,
        "entries": found.entries,
        "root": found.head["root"],
        "files": len(found.files),
        "missing": list(found.missing),
    }


@click.group(
    name="report",
    cls=Verbs,
    verbs={
        "init": ("ledger", "init", "Draft a project file."),
        "project": ("ledger", "project", "Report on a project (the default)."),
    },
    default="project",
    short_help="Report on a whole data-sharing project.",
)
def report() -> None:
    """Report on a whole data-sharing project: data, risk, adversary, recipients, linkage, queries, ledger.

    \b
    Examples:
      discreet report init people.csv --policy policy.toml --store store.db --out project.toml
      discreet report project.toml --out report.html
      discreet report FOLDER --out report.html --head head.json

    `discreet report PROJECT` is short for `discreet report project PROJECT`; see `discreet report project --help`.
    """


@click.command(name="init", short_help="Draft a project file.")
@click.argument("data", metavar="DATA")
@option("--policy", metavar="FILE", required=True, help="The policy file.")
@option("--title", metavar="TEXT", help="Title of the report [Sharing DATA].")
@option("--population", metavar="POP", help="The people an adversary may know of: a table, or their number.")
@option("--attack", metavar="FILE", help="What an adversary gains, pays and risks.")
@option("--published", metavar="FILE", help="The anonymised table, as it is handed out.")
@option("--store", metavar="URL", help="The store whose ledger has the disclosures.")
@draft_option()
def init(data: str, title: str | None, out: Path | None, **paths: str | None) -> None:
    """Draft a project file about sharing DATA, with a comment on every key. Paths in it are relative to it.

    \b
    Example:
      discreet report init people.csv --policy policy.toml --population 3500000 --store store.db --out project.toml
    """
    from discreet.report.project import draft_project

    folder = Path() if out is None else out.parent
    relative: dict[str, Any] = {"data": data, **paths}
    for key, path in relative.items():
        # Paths are relative to the project file; addresses and numbers stay.
        if path and "://" not in path and number_of_people(path) is None and not Path(path).is_absolute():
            relative[key] = Path(os.path.relpath(path, folder)).as_posix()
    text = draft_project(title=title or f"Sharing {Path(data).name}", **relative)
    hand_over(text, out, next_step=f"Next: discreet report {out} --out report.html")


@click.command(name="project", short_help="Report on a project (the default).")
@click.argument("project", metavar="PROJECT", type=PATH)
@option("--store", "address", metavar="URL", help="The store: a path or a URL [the project's].")
@head_option
@output("Print everything as JSON.", report="--out")
def project(project: Path, address: str | None, head_files: tuple[Path, ...]) -> CommandResult:
    """Report on PROJECT, a project file or a folder with a project.toml, in words and as one printable HTML file.

    \b
    Examples:
      discreet report project.toml --out report.html
      discreet report FOLDER --store postgresql://host/discreet --json

    Ends with exit code 1 when something is above a limit: what is released, a reviewer of pairs, or a user of a
    database. Ends with 6, without a report, when the ledger is not what was written.
    """
    from discreet.report.project import ProjectFile, project_page, statements, tell

    heads = [read_head_file(file) for file in head_files]
    with working("Reading the ledger and measuring the data"):
        story = tell(ProjectFile.load(project), store=address, heads=heads)
    stated = statements(story)
    findings = finding_lines(lambda: [each.finding for each in stated], signs=[each.sign for each in stated])
    return CommandResult(
        story.to_dict,
        [heading(story.project.title), findings],
        page=lambda **stamp: project_page(story, **stamp),
        next_step=""
        if click.get_current_context().params["report_file"]
        else f"discreet report {project} --out report.html",
        exit_code=int(story.exceeded),
    )
