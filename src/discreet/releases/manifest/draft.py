"""The manifest of a version in the making: its marks, its made-up rows, and who has which."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from discreet.kernel.arrays import Label
from discreet.kernel.hierarchy import text
from discreet.policy import Policy
from discreet.releases.carrying import carry
from discreet.releases.decoys.decoys import DecoyRows
from discreet.releases.ladders import chains_of
from discreet.releases.laws import Law
from discreet.releases.manifest.manifest import Crowd, DecoyCells, Manifest, Settings, fingerprint
from discreet.releases.marks.codebook import Codebook, Marks
from discreet.releases.marks.selection import mark
from discreet.releases.plan import Node
from discreet.releases.preconditions import Gates
from discreet.releases.preflight import Preflight
from discreet.sources import Table


def draft(
    key: bytes,
    name: str,
    table: Table,
    node: Node,
    settings: Settings,
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
        crowd=Crowd.of(linked.population, sampling=linked.sampling),
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
    columns = _others(table, node)
    if previous is not None:
        carried = carry(previous, node.linked, columns=columns, force=force)
        return carried.marks, carried.decoys, {"marks": len(carried.marks), "marks_before": carried.before}
    marking = mark(node.linked, table, key=key, release=name, law=law, force=force)
    foreseen = Preflight.of(marking, recipients=recipients, law=law)
    return marking.marks, as_cells(marking.decoys, columns), foreseen.to_dict()


def _others(table: Table, node: Node) -> tuple[str, ...]:
    """The published columns that are no quasi-identifiers."""
    return tuple(column for column in table.published if column not in node.linked.data.names)


def as_cells(rows: DecoyRows, columns: Sequence[str]) -> DecoyCells:
    """Made-up rows as texts from which their columns' types can be made again."""
    return DecoyCells({name: [_text(cell) for cell in rows.columns.get(name, ())] for name in columns}, rows.places)


def _text(cell: Any) -> Label:
    """As values are spelt elsewhere; only that a number that is none is not a missing value."""
    return "nan" if isinstance(cell, float) and math.isnan(cell) else text(cell)
