"""`discreet trace`, and what else becomes of copies that are out: sent, recalled, deleted."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet import report
from discreet.cli.options import actor_option, folder_option, option, options, store_option
from discreet.cli.output import CommandResult, bullet, heading, output, paragraph, table, working
from discreet.cli.verbs.release import recipients_option, state_words
from discreet.errors import UsageError

if TYPE_CHECKING:
    from discreet.releases import Trace


@click.group(name="trace", short_help="Identify which recipient's copy a leak came from.")
def command() -> None:
    """Identify which recipient's copy of a release re-identified people, or the rows of a leaked file, came from.

    \b
    Examples:
      discreet trace claims claims.csv --release spring
      discreet trace leak found.csv --release spring --report trace.html
      discreet trace list --release spring
    """


trace_options = options(
    option("--release", "release_name", metavar="NAME", required=True, help="Name of the release."),
    option("--version", type=click.IntRange(1), help="An earlier version of it [the newest]."),
    option(
        "--alpha",
        type=float,
        metavar="P",
        help="Largest probability that anybody is accused although all are innocent; the first trace fixes it [0.001].",
    ),
    option("--prior", type=float, default=0.5, metavar="P", help="Prior probability that a recipient is the source."),
    option("--family", type=click.IntRange(1), metavar="N", help="All recipients to be expected, if more come."),
    actor_option,
    store_option,
)


@command.command(name="claims", short_help="Trace claims that people were re-identified.")
@click.argument("claims", metavar="CLAIMS")
@option("--exclude", metavar="FILE", help="Claims that do not count: your own audits.")
@option("--earlier", metavar="FILE", multiple=True, help="Claims of an incident that was never traced; once for each.")
@option("--alone", is_flag=True, help="Weigh these claims without those traced before; counts as a traced file.")
@trace_options
@output("Print the trace as JSON.", report="--report")
def claims(
    claims: str,
    exclude: str | None,
    earlier: tuple[str, ...],
    alone: bool,
    release_name: str,
    address: str | None,
    **options: Any,
) -> CommandResult:
    """Compare claims that people were re-identified with the copies of every recipient of a release.

    CLAIMS is a table with the quasi-identifiers of the people, one row each, raw or as published. The trace is recorded
    in the ledger before it is shown. Claims that were traced before count as well, each class once.

    \b
    Examples:
      discreet trace claims claims.csv --release spring
      discreet trace claims june.csv --release spring --earlier may.csv --exclude audit.csv --report trace.html

    Ends with exit code 1 when a recipient is accused.
    """
    from discreet.releases import trace

    options |= {"exclude": exclude or (), "earlier": earlier, "accumulate": not alone}
    return _traced(trace(release_name, claims=claims, store=address, **options))


@command.command(name="leak", short_help="Trace a leaked file.")
@click.argument("leak", metavar="FILE")
@option("--column", "columns", metavar="THEIRS=OURS", multiple=True, help="A column that has another name there.")
@option("--count", metavar="COLUMN", help="In a table of counts: the column that says how many people a row is.")
@option("--original", metavar="DATA", help="The original table, to recognise decoys by their other columns.")
@trace_options
@output("Print the trace as JSON.", report="--report")
def leak(
    leak: str,
    columns: tuple[str, ...],
    original: str | None,
    release_name: str,
    address: str | None,
    **options: Any,
) -> CommandResult:
    """Compare a leaked FILE with the copies of every recipient of a release.

    It may have any of the rows and columns of a copy, and coarser values than were published. The trace is recorded in
    the ledger before it is shown. All traced files of a release share its error rate.

    \b
    Examples:
      discreet trace leak found.csv --release spring
      discreet trace leak found.csv --release spring --column plz=zip --report trace.html
      discreet trace leak table.csv --release spring --count people

    Ends with exit code 1 when a recipient is accused.
    """
    from discreet.releases import trace

    renamed = {}
    for text in columns:
        theirs, _, ours = text.partition("=")
        if not (theirs and ours):
            raise UsageError(
                "A column that has another name is written THEIRS=OURS.", remedy="For example: --column plz=zip"
            )
        renamed[theirs] = ours
    return _traced(trace(release_name, leak=leak, columns=renamed, original=original, store=address, **options))


@command.command(name="list", short_help="List the traces of a release.")
@option("--release", "release_name", metavar="NAME", required=True, help="Name of the release.")
@store_option
@output("Print as JSON.")
def list_traces(release_name: str, address: str | None) -> CommandResult:
    """List the traces of a release, from the ledger, and who was accused.

    \b
    Example:
      discreet trace list --release spring
    """
    from discreet.releases.delivery.service import registry_of
    from discreet.releases.tracing.register import TraceRegister

    with registry_of(address) as registry:
        registry.require(release_name)
        traces = TraceRegister.of(registry.ledger, release_name).traces
    rows = [
        (
            str(past.entry),
            past.time[:16].replace("T", " "),
            past.kind,
            "" if past.number is None else str(past.number),
            past.source,
            past.accused or "nobody",
            past.actor,
        )
        for past in traces
    ]
    return CommandResult(
        lambda: [past.to_dict() for past in traces],
        [table(["entry", "time", "kind", "file", "source", "accused", "by"], rows, numeric=(0, 3))],
        notes=[] if rows else ["Nothing was traced for this release yet."],
    )


def _traced(trace: Trace) -> CommandResult:
    from discreet.releases.tracing.result import power, share

    rows = [
        (
            standing.recipient,
            f"{standing.hits:,}",
            f"{standing.misses:,}",
            power(standing.log10_e),
            "" if standing.p_value is None else f"{standing.p_value:.2g}",
            share(standing.posterior),
            "accused" if standing.accused else "",
        )
        for standing in trace.standings
    ]
    headers = ["recipient", "for", "against", "e-value", "p-value", "posterior", ""]
    words = [heading(f"{trace.source} against release {trace.release}")]
    for sentence in trace.words().splitlines():
        words += ["", bullet(sentence)]
    words += ["", table(headers, rows, numeric=(1, 2, 3, 4, 5))]
    return CommandResult(
        trace.to_dict,
        words,
        page=lambda **stamp: report.traced_page(trace, **stamp),
        exit_code=int(bool(trace.accused)),
    )


# What becomes of copies that are out: sent, recalled, deleted.
DAY = click.DateTime(["%Y-%m-%d"])


@click.command(name="retire", short_help="Give a recipient no further copies of a release.")
@click.argument("release_name", metavar="RELEASE")
@recipients_option
@actor_option
@store_option
@output("Print the state of the release as JSON.")
def retire(release_name: str, recipients: tuple[str, ...], actor: str | None, address: str | None) -> CommandResult:
    """Give a recipient no further copies of RELEASE, in this and all later versions.

    A copy already delivered remains traceable: a trace considers everyone who ever had one.

    \b
    Example:
      discreet release retire spring --recipient north
    """
    from discreet.releases.delivery.release import Release

    made = Release.open(release_name, store=address, actor=actor)
    for name in recipients:
        made = made.retire(name)
    return CommandResult(made.opened.kept.to_dict, state_words(made.opened.kept))


@click.command(name="send", short_help="Encrypt, sign and send a delivered copy.")
@click.argument("release_name", metavar="RELEASE")
@option("--recipient", metavar="NAME", required=True, help="Whose copy.")
@option("--from", "folder", type=click.Path(path_type=Path), metavar="DIR", required=True, help="Folder of the copies.")
@option("--to", "target", metavar="TARGET", required=True, help="A folder, sftp://USER@HOST/DIR, or s3://BUCKET/DIR.")
@option("--key", "keys", metavar="AGE1...", multiple=True, help="The recipient's public key of age; once for each.")
@option("--plain", is_flag=True, help="Allow that it leaves this machine unencrypted.")
@actor_option
@store_option
@output("Print what was sent as JSON.")
def send(
    release_name: str,
    recipient: str,
    folder: Path,
    target: str,
    keys: tuple[str, ...],
    plain: bool,
    actor: str | None,
    address: str | None,
) -> CommandResult:
    """Encrypt a recipient's copy (age), sign it (minisign), and put it where they fetch it.

    Only what the ledger knows as delivered is sent. The recipient verifies with the public key that is printed, which they
    should get by another way, and decrypts with their own key.

    \b
    Examples:
      discreet release send spring --recipient north --from copies --to sftp://north@files.example.org/in --key age1...
      discreet release send spring --recipient north --from copies --to outbox
    """
    from discreet.releases.delivery import shipment
    from discreet.releases.delivery.service import registry_of, whoever_asks

    place = shipment.DeliveryTarget.of(target)
    with registry_of(address) as registry, working(f"Sending to {place.shown}"):
        sent = shipment.send(
            registry,
            release_name,
            recipient,
            folder=folder,
            target=place,
            keys=keys,
            plain=plain,
            actor=actor or whoever_asks(),
        )
        public = shipment.Signer.of(registry).public
    return CommandResult(
        lambda: {**sent.to_dict(), "public_key": public},
        [
            heading(f"{sent.file} is at {sent.target}"),
            paragraph(
                f"SHA-256 {sent.digest}; {'encrypted for its recipient' if sent.encrypted else 'not encrypted'}."
            ),
            f"The recipient verifies it: minisign -Vm {sent.file} -P {public}",
        ],
    )


@click.command(name="recall", short_help="Ask recipients to delete their copies, now or by a day.")
@click.argument("release_name", metavar="RELEASE")
@recipients_option
@option("--by", type=DAY, metavar="DAY", help="Until when, such as 2027-12-31 [today].")
@option("--why", metavar="TEXT", required=True, help="The reason, in one line; it is in the letter.")
@folder_option("Folder for a letter to each recipient.")
@actor_option
@store_option
@output("Print as JSON.")
def recall(
    release_name: str,
    recipients: tuple[str, ...],
    by: datetime | None,
    why: str,
    out: Path | None,
    actor: str | None,
    address: str | None,
) -> CommandResult:
    """Ask recipients to delete their copies of RELEASE and to prove it.

    A day to come is an expiry. Recipients whose copies are recalled now get no further copies; all stay traceable.

    \b
    Examples:
      discreet release recall spring --recipient north --by 2027-12-31 --why "end of the project" --out letters
      discreet release recall spring --recipient south --why "breach of contract"
    """
    from discreet.releases.delivery import custody
    from discreet.releases.delivery.service import registry_of, whoever_asks

    today = datetime.now(UTC).date()
    day, letters = by.date() if by else today, {}
    with registry_of(address) as registry:
        kept = registry.require(release_name)
        for name in recipients:
            letters[name] = custody.recall(
                registry, kept, name, by=day, today=today, why=why, actor=actor or whoever_asks()
            )
    files = []
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        files = [out / f"{release_name}-{name}.md".replace(" ", "_") for name in recipients]
        for path, letter in zip(files, letters.values(), strict=True):
            path.write_text(letter, encoding="utf-8")
    return CommandResult(
        lambda: [{"recipient": name, "by": day.isoformat(), "letter": letter} for name, letter in letters.items()],
        [heading(f"Copies of {release_name} are to be deleted by {day.isoformat()}"), *map(bullet, recipients)],
        notes=[f"Letters: {', '.join(map(str, files))}"] if files else ["--out DIR writes the letters."],
        next_step=f"discreet release deleted {release_name} --recipient NAME --proof FILE, when a recipient has answered",
    )


@click.command(name="deleted", short_help="Record a recipient's proof that a copy was deleted.")
@click.argument("release_name", metavar="RELEASE")
@option("--recipient", metavar="NAME", required=True, help="Who deleted it.")
@option(
    "--proof",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    metavar="FILE",
    required=True,
    help="What they sent; its SHA-256 is recorded.",
)
@actor_option
@store_option
@output("Print as JSON.")
def deleted(release_name: str, recipient: str, proof: Path, actor: str | None, address: str | None) -> CommandResult:
    """Record that a recipient of RELEASE proved the deletion of their copy.

    Keep the proof itself: the ledger has its SHA-256.

    \b
    Example:
      discreet release deleted spring --recipient north --proof signed-statement.pdf
    """
    from hashlib import sha256

    from discreet.releases.delivery import custody
    from discreet.releases.delivery.service import registry_of, whoever_asks

    digest = sha256(proof.read_bytes()).hexdigest()
    with registry_of(address) as registry:
        kept = registry.require(release_name)
        custody.prove_deletion(registry, kept, recipient, proof=digest, actor=actor or whoever_asks())
    return CommandResult(
        lambda: {"recipient": recipient, "proof": digest},
        [heading(f"{recipient} deleted their copy of {release_name}"), f"SHA-256 of the proof: {digest}"],
    )


@click.command(name="due", short_help="List copies that are to be deleted.")
@click.argument("release_name", metavar="RELEASE")
@store_option
@output("Print as JSON.")
def due(release_name: str, address: str | None) -> CommandResult:
    """List delivered copies of RELEASE, their last day, and whose deletion was proved.

    \b
    Example:
      discreet release due spring

    Ends with exit code 1 when a copy should have been deleted and nobody proved it.
    """
    from discreet.releases.delivery import custody
    from discreet.releases.delivery.service import registry_of

    today = datetime.now(UTC).date()
    with registry_of(address) as registry:
        copies = custody.copies_in_custody(registry.ledger, registry.require(release_name))

    def state(copy: custody.CopyInCustody, today: date) -> str:
        if copy.deleted:
            return f"deleted, proved {copy.deleted[:10]}"
        return "OVERDUE" if copy.overdue(today) else "open" if copy.by else "no day was set"

    rows = [(copy.recipient, copy.by or "", state(copy, today), copy.why) for copy in copies]
    return CommandResult(
        lambda: [{**copy.to_dict(), "overdue": copy.overdue(today)} for copy in copies],
        [table(["recipient", "by", "state", "why"], rows)],
        notes=[] if rows else ["No copy of this release was delivered."],
        exit_code=int(any(copy.overdue(today) for copy in copies)),
    )
