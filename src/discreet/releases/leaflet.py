"""The two texts that go with every copy. They say that control records exist; which ones they are is nowhere."""

from __future__ import annotations

from discreet.anonymity.result import AS_IT_IS, treatment
from discreet.releases.manifest.manifest import Manifest

README = "README.md"
AGREEMENT = "AGREEMENT.md"


def readme(manifest: Manifest, *, data: str, columns: tuple[str, ...], rows: int, digest: str) -> str:
    """What a recipient should know. It differs between copies in nothing but what the copy itself tells."""
    settings = manifest.settings
    recoded = {column.name: column for column in manifest.released.columns}
    coarse = (
        f"Values are coarsened so that everybody who is described looks like at least {settings.k - 1} others on "
        f"{_listed(tuple(recoded))}. People for whom that was not possible are left out. Every copy of this release is made "
        "in the same way."
    )
    control = (
        "This copy contains control records: rows that look like all others and describe nobody. Some rows of the original "
        "are left out as well. Both serve to find the source of a leak or of a re-identification. See "
        f"[the agreement]({AGREEMENT})."
    )
    lines = [
        f"# {manifest.release}, version {manifest.version}",
        "",
        f"`{data}` has {rows:,} rows. Its SHA-256 is `{digest}`.",
        "",
        "## How it was made",
        "",
        coarse,
        "",
        "## Control records",
        "",
        control,
        "",
        "## Columns",
        "",
        "| column | |",
        "|---|---|",
    ]
    if settings.row_ids is not None:
        lines.append(f"| {_cell(settings.row_ids)} | number of the row in this file; it means nothing elsewhere |")
    for name in columns:
        column = recoded.get(name)
        done = treatment(column.level, column.hierarchy.height) if column else AS_IT_IS
        lines.append(f"| {_cell(name)} | {'as collected' if done == AS_IT_IS else done} |")
    lines += ["", "Rows come in random order.", ""]
    return "\n".join(lines)


def _listed(names: tuple[str, ...]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _cell(name: str) -> str:
    return name.replace("|", "\\|").replace("\n", " ")
