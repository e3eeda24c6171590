"""`discreet link init`, `add` and `encode`: tables into a project, or to another organisation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from discreet.cli.options import FILE, PATH, acting, as_option, option, store_option, target_option
from discreet.cli.output import CommandResult, heading, output, plain, table, working
from discreet.cli.verbs.link.group import opened_ledger
from discreet.errors import UsageError


@click.command(name="init", short_help="Import tables into a linkage project.")
@click.argument("first", metavar="DATA")
@click.argument("second", metavar="[DATA2]", required=False)
@option("--spec", "spec_file", metavar="FILE", required=True, help="Link file that declares identifying columns.")
@target_option("--out", type=PATH, required=True, metavar="PROJECT", help="Folder to create; must be new.")
@option(
    "--place",
    "places",
    multiple=True,
    metavar="PART=FOLDER",
    help="Put identifying, sensitive or bridge into a new folder elsewhere, for another account; may be repeated.",
)
@option("--register", is_flag=True, help="Register the project in the store, too; otherwise `assign` does.")
@option("--name", metavar="NAME", help="Name of the project in the store [the folder's name].")
@as_option
@store_option
@output("Print what was imported as JSON.")
def init(
    first: str,
    second: str | None,
    spec_file: str,
    out: Path,
    places: tuple[str, ...],
    register: bool,
    name: str | None,
    actor: str | None,
    address: str | None,
) -> CommandResult:
    """Import one table to search for duplicates, or two tables to link.

    \b
    Examples:
      discreet link init clinic.csv registry.csv --spec link.toml --out project
      discreet link init "postgresql://host/db?table=people" --spec link.toml --out project

    Identifying and sensitive columns go into separate files in different orders; only a random pseudonym joins them.
    """
    from discreet.linkage import LinkageSpec, start_project

    spec = LinkageSpec.load(spec_file)
    with working("Importing"):
        apart = {part: Path(place) for part, _, place in (given.partition("=") for given in places)}
        folder = start_project(out, first, second, spec=spec, places=apart)
    if register:
        from discreet.linkage.project import register_project

        with opened_ledger(address, create=True) as ledger:
            register_project(ledger, out, actor=acting(actor), name=name)
    tables: list[dict[str, Any]] = folder.about["tables"]
    words = []
    for imported in tables:
        unread = imported["unread_dates"]
        rows = [
            (attribute, f"{count:,}", f"{unread[attribute]:,}" if attribute in unread else "")
            for attribute, count in imported["missing"].items()
        ]
        words += [
            heading(f"{imported['name']}: {imported['records']:,} records"),
            table(["attribute", "missing", "not read as dates"], rows, numeric=(1, 2)),
        ]
        for key, what in (("sensitive", "split off"), ("left_out", "not imported")):
            if imported[key]:
                words.append(f"{what}: {plain(', '.join(imported[key]))}")
    return CommandResult(lambda: {"project": str(out), "tables": tables}, words, next_step=f"discreet link pairs {out}")


@click.command(name="add", short_help="Add a table of further records to a linkage project.")
@click.argument("project", metavar="PROJECT", type=PATH)
@click.argument("source", metavar="DATA")
@option(
    "--like",
    type=click.Choice(["first", "second"]),
    default="first",
    help="Whose columns the table has, in the link file.",
)
@output("Print counts as JSON.")
def add(project: Path, source: str, like: str) -> CommandResult:
    """Add a table, such as next month's records, and link it with the model and the thresholds that PROJECT has.

    \b
    Examples:
      discreet link add project december.csv
      discreet link add project insurer-2.csv --like second

    What was decided about earlier records stays as it is, and people of the crosswalk keep their ids.
    """
    from discreet.linkage.folder import ProjectFolder, add_table
    from discreet.linkage.matching.candidate_pairs import extended, load_candidates

    folder = ProjectFolder.open(project)
    before = load_candidates(folder)
    if before.model is None and before.floor is None:
        raise UsageError(
            "The pairs of this project came from a file: there is no model for further records.",
            remedy=f"Find pairs with: discreet link pairs {project}",
        )
    with working("Adding records"):
        folder = add_table(folder, source, like=like)
        found = extended(folder, before, new=folder.sizes[-1])
        found.save(folder)
    counts = {way: count - before.counts[way] for way, count in found.counts.items()}
    added = folder.about["tables"][-1]
    return CommandResult(
        lambda: {"records": added["records"], "pairs": counts},
        [
            heading(f"{added['name']}: {added['records']:,} records added"),
            table(["decided", "new pairs"], [(way, f"{count:,}") for way, count in counts.items()], numeric=(1,)),
        ],
        next_step=step_after(project, encoded=folder.spec.encoded),
    )


def step_after(project: Path, *, encoded: bool) -> str:
    """The command that usually follows: encoded pairs are reviewed by nobody."""
    return (
        f"discreet link export {project} --out FOLDER --keys"
        if encoded
        else f"discreet link assign {project} --worker NAME"
    )


@click.command(name="encode", short_help="Encode a table for an organisation that may not see names.")
@click.argument("source", metavar="DATA")
@option("--spec", "spec_file", metavar="FILE", required=True, help="Link file that declares identifying columns.")
@option("--secret-file", type=FILE, required=True, metavar="FILE", help="The secret that all encoding parties share.")
@option("--new-secret", is_flag=True, help="Make the secret file, for the first party.")
@option("--schema", "schema_file", type=FILE, metavar="FILE", help="Settings as a clkhash schema [from the link file].")
@option(
    "--like",
    type=click.Choice(["first", "second"]),
    default="first",
    help="Whose columns the table has, in the link file.",
)
@option("--sensitive", is_flag=True, help="Also write the sensitive columns, for a linked table.")
@target_option("--out", type=FILE, required=True, metavar="FILE", help="CSV file to create; must be new.")
@output("Print counts and the schema as JSON.")
def encode(
    source: str, spec_file: str, secret_file: Path, new_secret: bool, schema_file: Path | None, like: str,
    sensitive: bool, out: Path,
) -> CommandResult:  # fmt: skip
    """Encode the identifying columns of DATA as one Bloom filter per record (CLK), with a secret.

    \b
    Examples:
      discreet link encode clinic.csv --spec link.toml --secret-file secret --new-secret --out clinic-clk.csv
      discreet link encode insurer.csv --spec link.toml --like second --secret-file secret --out insurer-clk.csv

    Give the file to the party that links, and the secret only to the parties that encode: with the secret, names can be
    looked up in the encodings.
    """
    from discreet.linkage import LinkageSpec
    from discreet.linkage.matching import bloom_filter

    spec = LinkageSpec.load(spec_file)
    schema = bloom_filter.ClkSchema.of(spec) if schema_file is None else bloom_filter.ClkSchema.load(schema_file, spec)
    secret = bloom_filter.new_secret(secret_file) if new_secret else bloom_filter.read_secret(secret_file)
    with working("Encoding"):
        encoded = bloom_filter.write_encodings(
            source, spec, schema=schema, secret=secret, out=out, like=like, sensitive=sensitive
        )
    words = [f"{encoded.records:,} records encoded in {schema.length:,} bits each."]
    if encoded.left_out:
        words.append(f"{encoded.left_out:,} of them lack most identifying values, and have no encoding.")
    notes = [f"Wrote {out}. It is no anonymous data: keep it for the linkage, and delete it afterwards."]
    if new_secret:
        notes.append(f"Wrote the secret to {secret_file}: hand it to the other encoding parties, and to nobody else.")
    return CommandResult(lambda: {**encoded.to_dict(), "schema": schema.to_dict()}, words, notes=notes)
