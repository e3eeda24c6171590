"""Marks that go on from one version of a release to the next, so that nobody can collude with his own earlier copy.

Whoever holds two versions compares them. A made-up class that vanishes, a real one that comes back, or a class all of
whose rows are others than before would stand out. So the marks of the first version stay marks, with the same answer for
the same recipient and the same made-up rows, as long as the data allow it; and there are no new ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.errors import Refused
from discreet.kernel.arrays import Ints
from discreet.releases.manifest.manifest import DecoyCells, Manifest
from discreet.releases.marks.codebook import Marks
from discreet.releases.marks.pairing import FEWEST_MARKS
from discreet.releases.population_link import Linked


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
    return Carried(_chosen(old, places, sizes, links), _rows(previous.decoys, places, columns), len(old))


def _chosen(old: Marks, places: Ints, sizes: Ints, links: Ints) -> Marks:
    number = np.full(len(old), -1, dtype=np.int64)
    number[places] = np.arange(len(places))
    return Marks(
        columns=old.columns,
        labels=tuple(old.labels[place] for place in places.tolist()),
        decoy=old.decoy[places],
        sizes=np.where(old.decoy, old.sizes, sizes)[places],
        links=links[places],
        partners=number[old.partners[places]],
    )


def _rows(old: DecoyCells, places: Ints, columns: tuple[str, ...]) -> DecoyCells:
    kept = np.flatnonzero(np.isin(old.places, places)).tolist()
    cells = {name: [old.columns[name][row] for row in kept] for name in columns}
    return DecoyCells(cells, np.searchsorted(places, old.places[kept]))
