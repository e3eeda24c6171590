"""Draft of a manifest: marks, decoy rows, recipients, marks carried over."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.errors import Refused
from discreet.kernel.arrays import Ints, Label
from discreet.kernel.hierarchy import text
from discreet.policy import Policy
from discreet.releases.decoys.synthesis import DecoyRows
from discreet.releases.manifest.manifest import DecoyCells, Manifest, PopulationSummary, ReleaseSettings, fingerprint
from discreet.releases.marks.codebook import Codebook, Law, Marks
from discreet.releases.marks.pairing import FEWEST_MARKS
from discreet.releases.marks.selection import mark
from discreet.releases.plan import Node, Preflight
from discreet.releases.population_link import Linked
from discreet.releases.preconditions import Gates
from discreet.releases.tracing.case import chains_of
from discreet.sources import Table


def draft(
    key: bytes,
    name: str,
    table: Table,
    node: Node,
    settings: ReleaseSettings,
    recipients: Sequence[str],
    gates: Gates,
    previous: Manifest | None,
    *,
    force: bool,
) -> Manifest:
    """Everything about a version, before it is sealed."""
    law, linked, policy = Law.parse(settings.law), node.linked, table.policy or Policy()
    marks, decoys, foreseen = _marks(key, name, table, node, law, previous, len(recipients), force=force)
    return Manifest(
        release=name,
        version=1 if previous is None else previous.version + 1,
        revision=0,
        settings=settings,
        policy=policy.digest,
        rules={column: policy.rule(column) for column in linked.data.names},
        fingerprint=fingerprint(node.classes),
        released=linked.released,
        links=linked.links,
        chains={column: chains_of(column, linked.data, linked.population) for column in linked.data.names},
        crowd=PopulationSummary.of(linked.population, sampling=linked.sampling),
        codebook=Codebook.of(marks, law, recipients, release=name, key=key),
        decoys=decoys,
        gates=gates,
        preflight=foreseen,
        published=table.published,
    )


def _marks(
    key: bytes,
    name: str,
    table: Table,
    node: Node,
    law: Law,
    previous: Manifest | None,
    recipients: int,
    *,
    force: bool,
) -> tuple[Marks, DecoyCells, dict[str, Any]]:
    """New marks for a first version; for a later one those that are left of the version before."""
    columns = tuple(column for column in table.published if column not in node.linked.data.names)
    if previous is not None:
        carried = carry(previous, node.linked, columns=columns, force=force)
        return carried.marks, carried.decoys, {"marks": len(carried.marks), "marks_before": carried.before}
    marking = mark(node.linked, table, key=key, release=name, law=law, force=force)
    foreseen = Preflight.of(marking, recipients=recipients, law=law)
    return marking.marks, as_cells(marking.decoys, columns), foreseen.to_dict()


def as_cells(rows: DecoyRows, columns: Sequence[str]) -> DecoyCells:
    """Made-up rows as texts from which their columns' types can be made again."""
    return DecoyCells({name: [_text(cell) for cell in rows.columns.get(name, ())] for name in columns}, rows.places)


def _text(cell: Any) -> Label:
    """As values are spelt elsewhere; only that a number that is none is not a missing value."""
    return "nan" if isinstance(cell, float) and math.isnan(cell) else text(cell)


# Marks that go on from one version of a release to the next, so that nobody can collude with his own earlier copy.
#
# Whoever holds two versions compares them. A made-up class that vanishes, a real one that comes back, or a class all of
# whose rows are others than before would stand out. So the marks of the first version stay marks, with the same answer for
# the same recipient and the same made-up rows, as long as the data allow it; and there are no new ones.
@dataclass(frozen=True, eq=False)
class Carried:
    """What is left of the marks of the version before."""

    marks: Marks
    decoys: DecoyCells
    before: int
    """How many there were."""


def carry(previous: Manifest, linked: Linked, *, columns: tuple[str, ...], force: bool = False) -> Carried:
    """The marks that still can be: made-up classes that are not released, and real ones that are.

    `columns` are the published columns of the table other than the quasi-identifiers.
    """
    old = previous.codebook.marks
    if set(columns) - set(previous.decoys.columns):
        raise Refused(
            f"The table has columns that version {previous.version} of '{previous.release}' had not, and made-up rows have no "
            "values for them.",
            remedy="Leave them out, or start a release of another name.",
        )
    sizes = linked.released.project(old.columns).lookup(old.labels)
    links = linked.population.project(old.columns).lookup(old.labels)
    places = np.flatnonzero(np.where(old.decoy, (sizes == 0) & (links > 0), sizes > 0))
    if len(places) < FEWEST_MARKS and not force:
        raise Refused(
            f"Too much has changed since version {previous.version} of '{previous.release}': {len(places)} of its {len(old)} "
            f"marks are left, and below {FEWEST_MARKS} a leak can hardly be traced.",
            remedy="Start a release of another name; new marks in this one would show recipients which classes they are.",
        )
    number = np.full(len(old), -1, dtype=np.int64)
    number[places] = np.arange(len(places))
    chosen = Marks(
        columns=old.columns,
        labels=tuple(old.labels[place] for place in places.tolist()),
        decoy=old.decoy[places],
        sizes=np.where(old.decoy, old.sizes, sizes)[places],
        links=links[places],
        partners=number[old.partners[places]],
    )
    return Carried(chosen, _rows(previous.decoys, places, columns), len(old))


def _rows(old: DecoyCells, places: Ints, columns: tuple[str, ...]) -> DecoyCells:
    kept = np.flatnonzero(np.isin(old.places, places)).tolist()
    cells = {name: [old.columns[name][row] for row in kept] for name in columns}
    return DecoyCells(cells, np.searchsorted(places, old.places[kept]))
