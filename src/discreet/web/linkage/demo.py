"""The demonstration has a linkage project waiting: two extracts of generated people, and pairs that only people can decide."""

from __future__ import annotations

import tempfile

from discreet.linkage import LinkageSpec, start_project
from discreet.linkage.matching.candidate_pairs import likely_pairs
from discreet.linkage.project import register_project
from discreet.linkage.review import reveal as door
from discreet.linkage.review.assignments import Limits, assign, bring_pairs
from discreet.people import write_extracts
from discreet.web.site import Site

NAME = "Clinic and registry"
PEOPLE, SEED = 400, 7
FOR_PEOPLE = 36
"""Pairs that go to the reviewer: as many as people had in the study of 2018."""


def bring_linkage(site: Site) -> None:
    """A project with pairs for the demonstration's worker."""
    home = site.places.folder.path / "link-demo"
    with tempfile.TemporaryDirectory(prefix="discreet-demo-") as place:
        files = write_extracts(place, people=PEOPLE, seed=SEED)
        folder = start_project(home, files.first, files.second, spec=LinkageSpec.load(files.link))
    likely_pairs(folder, review=FOR_PEOPLE).save(folder)
    project = register_project(site.ledger, home, actor="manager", name=NAME, risk_limit="0.2")
    bring_pairs(site.ledger, project)
    assign(site.ledger, project, ["worker"], actor="manager", limits=Limits.of("0.12", "0.3"))
    door.prepare(project)
