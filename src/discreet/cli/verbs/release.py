"""`discreet release`: one copy per recipient, so that a leak can be traced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import discreet
from discreet.cli.main import Verbs
from discreet.cli.options import (
    ALIKE,
    FILE,
    FORCE,
    HIERARCHIES,
    LOSS,
    SUPPRESSION,
    actor_option,
    data_and_population,
    giveaway_notes,
    option,
    options,
    policy_option,
    population_option,
    store_option,
    target_option,
)
from discreet.cli.output import CommandResult, bullet, heading, output, paragraph, plain, table, working
from discreet.errors import UsageError
from discreet.wording import reason

if TYPE_CHECKING:
    from discreet import Table
    from discreet.releases.bait_release import BaitOutline, BaitSettings
    from discreet.releases.delivery.copies import Delivered
    from discreet.releases.delivery.release import Release
    from discreet.releases.delivery.repository import StoredRelease
    from discreet.releases.plan import Plan


@click.group(
    name="release",
    cls=Verbs,
    verbs={
        "add-recipient": ("release", "add_recipient", "Give a later recipient a copy of a release."),
        "attack": ("release_study", "attack", "Simulate recipients who try to find the decoys."),
        "feasibility": ("release_study", "feasibility", "Check whether decoys can be put into a table."),
        "fingerprints": ("release_study", "fingerprints", "Give each recipient different levels, where that is safe."),
        "list": ("release", "list_releases", "List the releases in a store."),
        "make": ("release", "make", "Give every recipient a traceable copy."),
        "plan": ("release", "plan", "Preview a release; nothing is written."),
        "recall": ("trace", "recall", "Ask recipients to delete their copies, now or by a day."),
        "deleted": ("trace", "deleted", "Record a recipient's proof that a copy was deleted."),
        "due": ("trace", "due", "List copies that are to be deleted."),
        "retire": ("trace", "retire", "Give a recipient no further copies of a release."),
        "send": ("trace", "send", "Encrypt, sign and send a delivered copy."),
        "show": ("release", "show", "Show a release and the state of its copies."),
    },
    short_help="Give every recipient a traceable copy.",
)
def command() -> None:
    """Give every recipient a traceable copy.

    A trace identifies the copy that was leaked unchanged or in part. A leaker who alters the classes of doubtful size is
    not identified; see docs/explain/limitations.md.

    \b
    Examples:
      discreet release plan hospital.csv --population register.parquet --policy policy.toml
      discreet release make hospital.csv --population register.parquet --policy policy.toml --name spring \\
          --recipient north --recipient south --out copies --population-source "register 2026" \\
          --population-licence "CC BY 4.0" --counts-only --sign-off DPO-2026-17
      discreet release add-recipient spring hospital.csv --policy policy.toml --recipient east --out copies
      discreet release show spring
      discreet release feasibility people.csv --policy policy.toml --population register.parquet --grid --report grid.html
      discreet release attack people.csv --policy policy.toml --population register.parquet
      discreet release fingerprints people.csv --policy policy.toml --recipients 3 --k 5
    """


release_options = options(
    population_option,
    policy_option(HIERARCHIES),
    option("--k", type=click.IntRange(2), default=5, help=ALIKE),
    option("--suppression", type=click.FloatRange(0, 1), default=0.1, metavar="S", help=SUPPRESSION),
    option("--loss", default="dm_star", metavar="NAME", help=LOSS),
    option(
        "--law",
        default="0.2/0.5",
        metavar="LAW",
        help="How often a mark is in a copy: 0.2/0.5, 0.5, or nuida:C for C colluding recipients.",
    ),
    option("--force", is_flag=True, help=FORCE),
)
bait_options = options(
    option(
        "--mode",
        type=click.Choice(["marks", "bait"]),
        default="marks",
        help="Marks, or decoys as published (AnonTokens), which only recipients without a list of the population miss.",
    ),
    option("--decoys", type=click.IntRange(1), metavar="N", help="Bait: decoy classes per recipient [10]."),
    option(
        "--removal",
        type=click.Choice(["random", "size", "risk"]),
        help="Bait: which real classes hide decoys; all other copies lose them [risk].",
    ),
    option("--budget", type=click.FloatRange(0, 1), metavar="B", help="Bait: share of classes a copy may lose [0.05]."),
    option("--least-factor", type=click.FloatRange(1), metavar="F", help="Bait: least risk multiplication factor [1]."),
    option(
        "--most-factor",
        type=click.FloatRange(1),
        metavar="F",
        help="Bait: largest factor, such as 1.5; decoys are then drawn within [none: the riskiest first].",
    ),
)
"""How decoys of bait are chosen and hidden."""


def _bait_of(settings: dict[str, Any]) -> BaitSettings | None:
    """Take the options of bait out of a command's; None for marks."""
    from discreet.releases.bait_release import BAIT_NAMES, BaitSettings

    return BaitSettings.checked(settings.pop("mode"), {name: settings.pop(name) for name in BAIT_NAMES})


delivery_options = options(
    target_option("--out", metavar="DIR", required=True, help="Folder that gets a folder per recipient."),
    option(
        "--format",
        "file_format",
        type=click.Choice(["parquet", "csv", "csv.gz"]),
        default="parquet",
        help="Format of the copies.",
    ),
    actor_option,
    store_option,
)
recipients_option = option(
    "--recipient", "recipients", metavar="NAME", multiple=True, required=True, help="A recipient; once for each."
)


@click.command(name="plan", short_help="Preview a release; nothing is written.")
@click.argument("data", metavar="DATA")
@release_options
@bait_options
@option("--recipients", default="20", metavar="N|NAMES", help="Number of recipients, or names: a,b,c.")
@output("Print the plan as JSON.")
def plan(data: str, population: str, policy_file: str, recipients: str, **settings: Any) -> CommandResult:
    """Preview a release of DATA: levels, marks, rows lost, and how reliably a leak could be traced.

    Nothing is written and nothing is decided: the marks of a release are drawn with a secret that a plan does not have.

    \b
    Example:
      discreet release plan hospital.csv --population register.parquet --policy policy.toml --recipients 20
      discreet release plan hospital.csv --population register.parquet --policy policy.toml --recipients 3 --mode bait
    """
    from discreet.releases.bait_release import outline_bait
    from discreet.releases.plan import plan as plan_release
    from discreet.releases.preconditions import check_names
    from discreet.risk.giveaways import telling_columns, told_apart

    # How many recipients, given as a number or by their names.
    if recipients.isdecimal() and int(recipients) > 0:
        names = tuple(f"recipient {place}" for place in range(1, int(recipients) + 1))
    else:
        if recipients.isdecimal() or recipients.startswith("-"):
            raise UsageError("A release has at least one recipient.", remedy="Say how many: --recipients 20")
        names = check_names([name.strip() for name in recipients.split(",")], "recipient")
    bait = _bait_of(settings)
    source, people = data_and_population(data, population, policy_file)
    with working(f"Planning a release of {source.name}"):
        planned: Plan | BaitOutline
        if bait is None:
            planned = plan_release(source, people, len(names), **settings)
        else:
            limits = {name: settings[name] for name in ("k", "suppression", "loss")}
            planned = outline_bait(source, people, names, bait=bait, **limits)
        away = telling_columns(source, planned.node.levels)
    return CommandResult(
        lambda: {**planned.to_dict(), **told_apart(away)},
        [heading(f"A release of {source.name} to {len(names)} recipients"), *map(bullet, planned.words())],
        notes=giveaway_notes(away),
        next_step="discreet release make, with --name, --recipient for each, --out, and the confirmations it asks for",
    )


@click.command(name="make", short_help="Give every recipient a traceable copy of DATA.")
@click.argument("data", metavar="DATA")
@release_options
@bait_options
@option("--name", metavar="NAME", required=True, help="Name of the release.")
@option("--dataset", metavar="NAME", help="The data set, if earlier releases of the same people are not recognised.")
@recipients_option
@option("--population-source", metavar="TEXT", default="", help="Where the population comes from.")
@option("--population-licence", metavar="TEXT", default="", help="What allows its use for this purpose.")
@option("--counts-only", is_flag=True, help="Confirm: only counts of the population are stored.")
@option("--sign-off", metavar="ID", default="", help="Reference of your internal approval.")
@option(
    "--agreement",
    type=FILE,
    metavar="FILE",
    help="Your own data-use agreement; it must say that the copy contains control records.",
)
@delivery_options
@option("--row-ids", metavar="NAME", default="row", help="Column of new row numbers.")
@option("--no-row-ids", is_flag=True, help="Write no row numbers.")
@output("Print what was done as JSON.")
def make(
    data: str,
    population: str,
    policy_file: str,
    recipients: tuple[str, ...],
    out: str,
    file_format: Any,
    agreement: Path | None,
    row_ids: str,
    no_row_ids: bool,
    actor: str | None,
    address: str | None,
    **settings: Any,
) -> CommandResult:
    """Give every recipient a traceable copy of DATA: a folder with the data, a README and the agreement.

    A secret decides who has which control records; the decision is sealed and committed to in the ledger before any file
    appears. Repeat the command after a failure: it continues where it stopped. With the --name of an existing release,
    other data become its next version. Releases of the same people share marks and decoys, whatever they are called.

    \b
    Example:
      discreet release make hospital.csv --population register.parquet --policy policy.toml \\
          --name spring --recipient north --recipient south --recipient west --out copies \\
          --population-source "register 2026" --population-licence "CC BY 4.0" --counts-only --sign-off DPO-2026-17

    With --mode bait copies hold decoys as published (AnonTokens), each in one copy alone; all recipients are named at once.
    """
    from discreet.releases.delivery.release import release
    from discreet.releases.preconditions import AGREEMENT, Gates

    confirmed = {
        name: settings.pop(name) for name in ("population_source", "population_licence", "counts_only", "sign_off")
    }
    try:
        text = AGREEMENT if agreement is None else agreement.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{agreement} cannot be read ({reason(error)}).",
            remedy="Give a text file in UTF-8, or leave it out.",
        ) from None
    gates, bait = Gates(**confirmed, agreement=text).check(), _bait_of(settings)
    tables = data_and_population(data, population, policy_file)
    with working(f"Sealing release {settings['name']}"):
        made = release(
            *tables,
            recipients,
            gates=gates,
            bait=bait,
            row_ids=None if no_row_ids else row_ids,
            store=address,
            actor=actor,
            **settings,
        )
    with working(f"Writing {len(recipients)} copies"):
        copies = made.write(out, format=file_format, recipients=recipients)
    return _delivered(made.refreshed(), copies, tables[0])


@click.command(name="add-recipient", short_help="Give a later recipient a copy of a release.")
@click.argument("release_name", metavar="RELEASE")
@click.argument("data", metavar="DATA")
@policy_option("The policy of the release.")
@recipients_option
@delivery_options
@output("Print what was done as JSON.")
def add_recipient(
    release_name: str,
    data: str,
    policy_file: str,
    recipients: tuple[str, ...],
    out: str,
    file_format: Any,
    actor: str | None,
    address: str | None,
) -> CommandResult:
    """Give a later recipient a copy of RELEASE, written from the same DATA as the others.

    Nobody else's copy changes. The population is not needed again: the sealed manifest has all that is needed of it.

    \b
    Example:
      discreet release add-recipient spring hospital.csv --policy policy.toml --recipient east --out copies
    """
    from discreet.releases.delivery.release import Release

    source = discreet.read(data, policy=discreet.Policy.load(policy_file))
    made = Release.open(release_name, store=address, table=source, actor=actor)
    new = [name for name in recipients if name not in made.recipients]
    with working(f"Writing {len(recipients)} copies"):
        made.refuse_other_data()
        made = made.add_recipient(*new) if new else made
        copies = made.write(out, format=file_format, recipients=recipients)
    return _delivered(made.refreshed(), copies, source)


def _delivered(made: Release, copies: Sequence[Delivered], data: Table) -> CommandResult:
    """What was written, for whom, and what published columns tell about people."""
    from discreet.releases.plan import columns_by_role
    from discreet.risk.giveaways import telling_columns, told_apart

    away = telling_columns(data, made.manifest.levels)
    rows = [
        (copy.recipient, f"{copy.rows:,}", copy.file[:16], copy.folder if copy.new else f"{copy.folder} (existed)")
        for copy in copies
    ]
    words = [
        heading(
            f"Release {made.name}, version {made.version}: {len(copies)} copies, {made.preflight.get('marks', 0)} marks"
        ),
        table(["recipient", "rows", "SHA-256", "folder"], rows, numeric=(1,)),
    ]
    if made.manifest.published:
        words.append(paragraph(f"Every copy has {columns_by_role(made.manifest.published)}."))
    words.append(f"The manifest is sealed; the ledger holds its SHA-256: {made.opened.kept.digest}")
    return CommandResult(
        lambda: {**made.to_dict(), "delivered": [copy.to_dict() for copy in copies], **told_apart(away)},
        words,
        notes=[
            *giveaway_notes(away),
            *([made.preflight["warning"]] if made.manifest.bait else []),
            *made.preflight.get("notes", []),
            "Who has which control records is known only to the store and its keys: back up both.",
            "Store a head of the ledger elsewhere: discreet ledger head --out head.json",
        ],
        next_step=f"discreet release show {made.name}",
    )


def state_words(kept: StoredRelease) -> list[str]:
    """The state of the copies of one version."""
    rows = [
        (
            copy.recipient,
            copy.state,
            "" if copy.rows is None else f"{copy.rows:,}",
            (copy.file or "")[:16],
            copy.changed[:16].replace("T", " "),
        )
        for copy in kept.copies
    ]
    head = ["recipient", "state", "rows", "SHA-256", "since"]
    return [heading(f"Release {kept.name}, version {kept.version}"), table(head, rows, numeric=(2,))]


@click.command(name="show", short_help="Show a release and the state of its copies.")
@click.argument("release_name", metavar="RELEASE")
@option("--version", "version", type=click.IntRange(1), help="An earlier version [the newest].")
@store_option
@output("Print as JSON.")
def show(release_name: str, version: int | None, address: str | None) -> CommandResult:
    """Show RELEASE and the state of its copies, after its manifest was checked against the ledger and opened.

    Ends with exit code 6 if the manifest is not the one committed to, or if the keys are others. Which rows are control
    records is not shown: only a trace needs to know.

    \b
    Example:
      discreet release show spring --store store.db
    """
    from discreet.releases.delivery.service import open_release
    from discreet.releases.plan import columns_by_role, published_columns

    opened = open_release(release_name, address, version=version)
    manifest, gates = opened.manifest, opened.manifest.gates
    levels = ", ".join(f"{name} {level}" for name, level in manifest.levels.items())
    classes, marks = f"{len(manifest.released):,} classes", f"{len(manifest.codebook.marks)} marks"
    words = [
        *state_words(opened.kept),
        "",
        plain(f"Levels: {levels}. k = {manifest.settings.k}, law {manifest.settings.law}."),
        f"{manifest.released.records:,} people in {classes}; {marks}.",
    ]
    if manifest.published:
        words.append(plain(f"Every copy has {columns_by_role(manifest.published)}."))
    words += [
        plain(f"Approved under {gates.sign_off}; population: {gates.population_source} ({gates.population_licence})."),
        f"The manifest is the one that the ledger committed to: {opened.kept.digest}",
    ]
    return CommandResult(
        lambda: {
            **opened.kept.to_dict(),
            "levels": manifest.levels,
            "k": manifest.settings.k,
            "law": manifest.settings.law,
            "gates": {name: value for name, value in gates.to_dict().items() if name != "agreement"},
            "published": published_columns(manifest.published, manifest.released),
            "preflight": dict(manifest.preflight),
        },
        words,
    )


@click.command(name="list", short_help="List the releases in a store.")
@store_option
@output("Print as JSON.")
def list_releases(address: str | None) -> CommandResult:
    """List the releases in a store, each in its newest version. Needs no keys.

    \b
    Example:
      discreet release list --store store.db
    """
    from discreet.store import Store  # first: says in words if the extra is missing

    with Store.open(address, create=False) as store, store.reading() as connection:
        from discreet.releases.delivery import repository

        releases = repository.every_one(connection)
    rows = []
    for kept in releases:
        states = Counter(copy.state for copy in kept.copies)
        copies = ", ".join(f"{states[state]} {state}" for state in repository.STATES if states[state])
        rows.append((kept.name, str(kept.version), str(len(kept.copies)), copies, kept.made[:10]))
    return CommandResult(
        lambda: [kept.to_dict() for kept in releases],
        [table(["release", "version", "recipients", "copies", "since"], rows, numeric=(1, 2))],
        notes=[] if rows else ["There is no release in this store yet."],
        next_step="" if rows else "discreet release plan DATA --population POP --policy FILE",
    )
