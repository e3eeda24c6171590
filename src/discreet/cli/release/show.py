"""`discreet release show`: how a release and its copies stand."""

from __future__ import annotations

import click

from discreet.cli import console
from discreet.cli.ledger import store_option
from discreet.cli.release.output import tell_kept


@click.command(name="show", short_help="See how a release and its copies stand.")
@click.argument("release_name", metavar="RELEASE")
@click.option("--version", "version", type=click.IntRange(1), help="An earlier version; else the newest.")
@store_option
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def command(release_name: str, version: int | None, address: str | None, as_json: bool) -> None:
    """See how RELEASE and its copies stand, after its manifest was held against the ledger and opened.

    Ends with 6 if the manifest is not the one that was committed to, or if the keys are others. Which rows are control
    records is not shown: nobody needs to know, and a trace knows.

    \b
    Example:
      discreet release show spring --store store.db
    """
    from discreet.releases.delivery.service import open_release
    from discreet.releases.plan import columns_by_role, published_columns

    opened = open_release(release_name, address, version=version)
    manifest, kept = opened.manifest, opened.kept
    if as_json:
        answers = {name: value for name, value in manifest.gates.to_dict().items() if name != "agreement"}
        about = {"levels": manifest.levels, "k": manifest.settings.k, "law": manifest.settings.law, "gates": answers}
        about["published"] = published_columns(manifest.published, manifest.released)
        console.data({**kept.to_dict(), **about, "preflight": dict(manifest.preflight)})
        return
    tell_kept(kept)
    click.echo()
    levels = ", ".join(f"{name} {level}" for name, level in manifest.levels.items())
    gates = manifest.gates
    told = [
        f"Levels: {levels}. k = {manifest.settings.k}, law {manifest.settings.law}.",
        f"{manifest.released.records:,} people in {len(manifest.released):,} classes; {len(manifest.codebook.marks)} marks.",
        *([f"Every copy has {columns_by_role(manifest.published)}."] if manifest.published else []),
        f"Signed off as {gates.sign_off}; population: {gates.population_source} ({gates.population_licence}).",
        f"The manifest is the one that the ledger committed to: {kept.digest}",
    ]
    for sentence in told:
        click.echo(console.plain(sentence))
