"""Small linkage projects of generated people, ready to be reviewed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas

from discreet.ledger import Ledger
from discreet.linkage import LinkageSpec, Pairs, ProjectFolder, adopt_pairs, start_project
from discreet.linkage.project import Project, register_project
from discreet.linkage.review.assignments import bring_pairs

KINDS = {"given": "string", "family": "string", "born": "date", "sex": "category", "number": "fixed"}

PEOPLE: list[dict[str, str | None]] = [
    {"given": "Mary", "family": "Miller", "born": "1964-08-09", "sex": "F", "number": "1742682819"},
    {"given": "Marie", "family": "Miller", "born": "1964-09-08", "sex": "F", "number": "1742668281"},
    {"given": "Robert", "family": "Jones", "born": "1971-01-30", "sex": "M", "number": "3300112233"},
    {"given": "Jones", "family": "Robert", "born": "1971-01-30", "sex": "M", "number": "3300112234"},
    {"given": "Ann", "family": "Lee", "born": "1980-05-05", "sex": "F", "number": None},
    {"given": "Anne", "family": "Leigh", "born": None, "sex": "F", "number": "9988776655"},
    {"given": "Mary", "family": "Jones", "born": "1964-08-19", "sex": "F", "number": "1742682818"},
    {"given": "Ann", "family": "Lee", "born": "1981-05-05", "sex": "X", "number": "9988776655"},
]
PAIRS = [(0, 1), (2, 3), (4, 5), (4, 7), (5, 7), (0, 6), (1, 6)]


def spec_of(
    kinds: Mapping[str, str] = KINDS,
    *,
    swap: tuple[str, str] | None = ("given", "family"),
    sensitive: Sequence[str] = (),
) -> LinkageSpec:
    """A link file for these attributes; values are kept as they are."""
    section: dict[str, Any] = {
        "id": "id",
        "case": "keep",
        "sensitive": list(sensitive),
        "identifying": {name: {"kind": kind} for name, kind in kinds.items()},
    }
    if swap is not None:
        section["swap"] = list(swap)
    return LinkageSpec.from_dict({"linkage": section})


def folder_of(
    path: Path,
    people: Sequence[Mapping[str, Any]] = PEOPLE,
    pairs: Iterable[tuple[int, int]] = PAIRS,
    *,
    spec: LinkageSpec | None = None,
) -> tuple[ProjectFolder, list[tuple[int, int]]]:
    """A project of one table with these pairs for people; gives the pairs by their record numbers, in order."""
    rows = [{"id": f"r{place}", **person} for place, person in enumerate(people)]
    columns = {name: [row.get(name) for row in rows] for name in rows[0]}
    folder = start_project(path, pandas.DataFrame(columns), spec=spec or spec_of(), key=b"k" * 32)
    record = folder.records_of([row["id"] for row in rows], "first")
    chosen = sorted(tuple(sorted((int(record[a]), int(record[b])))) for a, b in pairs)
    first, second = ([pair[side] for pair in chosen] for side in (0, 1))
    adopt_pairs(folder, Pairs.of(first, second, np.full(len(first), np.nan))).save(folder)
    return folder, [(a, b) for a, b in chosen]


def registered(ledger: Ledger, folder: Path, **settings: Any) -> Project:
    """The folder of a project, registered in a store with its pairs."""
    project = register_project(ledger, folder, actor="manager", **settings)
    bring_pairs(ledger, project)
    return project
