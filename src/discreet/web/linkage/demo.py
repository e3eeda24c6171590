"""The demonstration has a linkage project waiting: two extracts of generated people, and pairs that only people can decide."""

from __future__ import annotations

import tempfile
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.linkage import LinkageSpec, Pairs, ProjectFolder, adopt_pairs, start_project
from discreet.linkage import reveal as door
from discreet.linkage.dispatch import Limits, assign, bring_pairs
from discreet.linkage.project import register_project
from discreet.people import write_extracts
from discreet.sources.duckdb import connect, quote, translated
from discreet.web.site import Site

NAME = "Clinic and registry"
PEOPLE, SEED = 400, 7
FOR_PEOPLE = 36
"""Pairs that go to the reviewer: as many as people had in the study of 2018."""
LIMITS = Limits.of("0.12", "0.3")
SURE = 5.4
"""Of six attributes so many agree, likeness counted in part, where it is even whether two records are one person."""
LEAST = 3
"""So many are equal at least in a pair that is worth a look."""


def bring_linkage(site: Site) -> None:
    """A project with pairs for the demonstration's worker."""
    home = site.places.folder.path / "link-demo"
    with tempfile.TemporaryDirectory(prefix="discreet-demo-") as place:
        files = write_extracts(place, people=PEOPLE, seed=SEED)
        folder = start_project(home, files.first, files.second, spec=LinkageSpec.load(files.link))
    ready_pairs(folder, most=FOR_PEOPLE)
    project = register_project(site.ledger, home, actor="manager", name=NAME, risk_limit=Fraction(1, 5))
    bring_pairs(site.ledger, project)
    assign(site.ledger, project, ["worker"], actor="manager", limits=LIMITS)
    door.prepare(project)


def ready_pairs(folder: ProjectFolder, *, most: int) -> None:
    """Candidates by a quick rule, counted on DuckDB: likeness, attribute by attribute. The most doubtful go to people."""
    names = [quote(name) for name in folder.spec.names]
    equal = " + ".join(f"coalesce((a.{name} = b.{name})::INT, 0)" for name in names)
    alike = " + ".join(f"coalesce(jaro_winkler_similarity(a.{name}, b.{name}), 0.5)" for name in names)
    crossed = "0"
    if folder.spec.swap:
        one, other = (quote(name) for name in folder.spec.swap)
        crossed = f"coalesce((a.{one} = b.{other} AND a.{other} = b.{one})::INT, 0)"
    scans = [folder.scan("identifying", table) for table in (folder.tables[0], folder.tables[-1])]
    statement = (
        f"SELECT a.record AS first, b.record AS second, {alike} + {crossed} AS score "
        f"FROM {scans[0]} a JOIN {scans[1]} b ON a.record < b.record AND {equal} + 2 * {crossed} >= {LEAST} ORDER BY ALL"
    )
    with connect() as own, translated("the project"):
        found: dict[str, Any] = own.execute(statement).fetchnumpy()
    weight = 8.0 * (np.asarray(found["score"], dtype=np.float64) - SURE)
    adopt_pairs(folder, Pairs.of(found["first"], found["second"], weight), review=most).save(folder)
