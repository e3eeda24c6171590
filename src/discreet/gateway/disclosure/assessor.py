"""Disclosure assessor: from held rows and column origins to what is learned."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.gateway.analysis.analyse import Reading
from discreet.gateway.analysis.column_origin import QUASI, ShownColumn, role_of
from discreet.gateway.catalog.admin_connection import Counted
from discreet.gateway.disclosure.assess import Telling
from discreet.gateway.disclosure.disclosure import Decoder, Entities, Publication, attribute
from discreet.gateway.session.held_rows import HeldResult
from discreet.kernel import Coded
from discreet.kernel.arrays import Ints
from discreet.misuse.sensitivity import Sensitivity
from discreet.sql.catalog import Catalog, Leaf
from discreet.sql.facts import Values as Fixed

MOST = 10_000
"""Questions of one statement that are told apart."""


@dataclass(frozen=True, eq=False)
class Publishing:
    """Everything that is needed to say what results tell."""

    catalog: Catalog
    sensitivity: Sensitivity
    counted: Callable[[str], Counted]
    entities: Entities
    smallest_group: int
    unnamed_alone: bool = False
    """Whether rows that do not say whom they are about count as somebody each, and not as a crowd."""

    def of_rows(
        self,
        held: HeldResult,
        columns: Sequence[ShownColumn],
        reading: Reading,
        *,
        digest: bytes,
        fixed: Mapping[str, Fixed],
        before: int = 0,
    ) -> Publication | None:
        """What these rows tell; None where they tell nothing of anybody. `before` rows of the same result came earlier."""
        if not held.rows:
            return None if before else self.question(reading, digest=digest, fixed=fixed)
        return Telling(self, Decoder(held), held.rows, columns, reading, digest, fixed, before).publication()

    def question(self, reading: Reading, *, digest: bytes, fixed: Mapping[str, Fixed]) -> Publication | None:
        """What may be learned from a statement's conditions even where nothing comes back, or only an error."""
        if not reading.asked:
            return None
        names = sorted(reading.asked)
        entity = self.fixed_entity(reading, fixed)
        numbers = self.entities.rows(digest, min(reading.questions, MOST)) if entity is None else entity
        weights = {attribute(leaf): np.full(len(numbers), self.weights_of(leaf).worst) for leaf in names}
        crowds = np.full(len(numbers), self.crowd_of_question(reading, fixed), dtype=np.int64)
        return Publication(numbers, weights, crowds, {attribute(leaf): self.weights_of(leaf).levels for leaf in names})

    def crowd_of_question(self, reading: Reading, fixed: Mapping[str, Fixed]) -> int:
        """How many people a statement's conditions may be about: one, as soon as they could single somebody out."""
        if reading.cut:
            return 1
        for leaf in reading.placed:
            role = role_of(leaf, self.catalog.governed[leaf[0]])
            if role != QUASI or len(fixed.get(leaf[1].casefold()) or ()) != 1:
                return 1
        found = []
        for name in reading.tables:
            known = self.known_quasi(name, fixed)
            counted = self.counted(name)
            if known and counted.prepared is not None:
                found.append(counted.prepared.crowds(tuple(known)).one(list(known.values())))
            else:
                found.append(counted.rows)
        return max(min(found, default=1), 1)

    def weights_of(self, leaf: Leaf) -> Any:
        """What the values of a sensitive column weigh."""
        return self.sensitivity.weights[attribute(leaf)]

    def known_quasi(self, table: str, fixed: Mapping[str, Fixed]) -> dict[str, Any]:
        """Quasi-identifiers of a table that the conditions fix to one value, in the order of the table."""
        names = self.catalog.governed[table].quasi
        values = {name: fixed.get(name.casefold()) for name in names}
        return {name: next(iter(its)) for name, its in values.items() if its is not None and len(its) == 1}

    def fixed_entity(self, reading: Reading, fixed: Mapping[str, Fixed]) -> Ints | None:
        """The entity that the conditions fix, where nothing but one table is spoken of."""
        if not reading.once or len(reading.tables) != 1:
            return None
        table = self.catalog.governed[next(iter(reading.tables))]
        values = [fixed.get(name.casefold()) for name in table.key]
        if not values or any(its is None or len(its) != 1 or None in its for its in values):
            return None
        codes = np.zeros(1, dtype=np.int64)
        return self.entities.numbers(table.entity, [Coded((next(iter(its or ())),), codes) for its in values])
