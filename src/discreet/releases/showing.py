"""What the classifier of the gate is shown: the rows of real marks and of decoys, and how alike they are to others."""

from __future__ import annotations

import numpy as np

from discreet.kernel.arrays import Ints
from discreet.releases.alike import NOBODY
from discreet.releases.decoys.decoys import DecoyRows
from discreet.releases.decoys.detectability import Exhibit
from discreet.releases.decoys.donors import Column, Donors
from discreet.releases.marks.pairing import Pairs, labels_of
from discreet.releases.population_link import Linked


def exhibit(linked: Linked, donors: Donors, pairs: Pairs, decoys: DecoyRows) -> Exhibit:
    """Real marks first, then decoys; `decoys` are placed by the number of their pair."""
    half, rows = len(pairs), [donors.rows[place] for place in pairs.real.tolist()]
    real = np.concatenate(rows)
    owners = np.concatenate([np.repeat(np.arange(half), [len(one) for one in rows]), decoys.places + half])
    labels = [*labels_of(linked.released, pairs.real), *labels_of(linked.population, pairs.free)]
    quasi = [
        Column.of(name, [labels[owner][place] for owner in owners.tolist()])
        for place, name in enumerate(linked.released.names)
    ]
    others = [
        Column.of(column.name, [*(column.cells[row] for row in real.tolist()), *decoys.columns[column.name]])
        for column in donors.columns
    ]
    alike = Column.of("alike", degrees(donors, real, decoys).tolist())
    return Exhibit([*quasi, *others, alike], owners, np.repeat([False, True], half))


def degrees(donors: Donors, real: Ints, decoys: DecoyRows) -> Ints:
    """How like each row is to the row of another class that is most like it: real rows, then decoys."""
    likeness = donors.likeness
    made = zip(*(_codes(column, decoys) for column in donors.columns), strict=True)
    return np.concatenate([likeness.degrees(real), np.array([likeness.degree(row) for row in made], dtype=np.int64)])


def _codes(column: Column, decoys: DecoyRows) -> list[int]:
    """The codes of the decoys' cells among the donors."""
    known = dict(zip(map(repr, column.cells), column.codes.tolist(), strict=True))
    return [known.get(repr(cell), NOBODY) for cell in decoys.columns[column.name]]
