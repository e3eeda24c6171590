"""Candidate pairs by a quick rule: no model, no training, a second for some hundred records.

For demonstrations and tests.
"""

from __future__ import annotations

import numpy as np

from discreet.linkage.folder import ProjectFolder
from discreet.linkage.matching.candidate_pairs import Candidates, adopt_pairs
from discreet.linkage.matching.pairs import Pairs
from discreet.sources.duckdb_scratch import connect, quote, translated

LEAST = 0.5
"""Such a share of the attributes is equal in a pair that is worth a look."""
EVEN = 0.9
"""With such a likeness it is even whether two records are one person;"""
BITS = 48.0
"""and this much speaks for or against it per unit of likeness."""
UNKNOWN = 0.5
"""The likeness of a value to a missing one."""


def likely_pairs(folder: ProjectFolder, *, review: int) -> Candidates:
    """Pairs by how alike their attributes are on average, Jaro-Winkler each; the most doubtful ones go to people.

    Compares every record with every other, so it is for small tables; `find_pairs` is for all others.
    """
    names = [quote(name) for name in folder.spec.names]
    equal = " + ".join(f"coalesce((a.{name} = b.{name})::INT, 0)" for name in names)
    alike = " + ".join(f"coalesce(jaro_winkler_similarity(a.{name}, b.{name}), {UNKNOWN})" for name in names)
    crossed = "0"
    if folder.spec.swap:
        one, other = (quote(name) for name in folder.spec.swap)
        crossed = f"coalesce((a.{one} = b.{other} AND a.{other} = b.{one})::INT, 0)"
    first, second = (folder.scan("identifying", table) for table in (folder.tables[0], folder.tables[-1]))
    with connect() as own, translated("the project"):
        rows = own.execute(
            f"SELECT a.record AS first, b.record AS second, ({alike} + {crossed}) / {len(names)} AS likeness "
            f"FROM {first} a JOIN {second} b ON a.record < b.record "
            f"AND {equal} + 2 * {crossed} >= {LEAST * len(names)} ORDER BY ALL"
        ).fetchnumpy()
    weight = BITS * (np.asarray(rows["likeness"], dtype=np.float64) - EVEN)
    return adopt_pairs(folder, Pairs.of(rows["first"], rows["second"], weight), review=review)
