"""Thresholds of a linkage project: which pairs the machine decides, and which people do."""

from __future__ import annotations

import math
from typing import Any

from starlette.responses import Response

from discreet.errors import DiscreetError
from discreet.linkage.folder import ProjectFolder
from discreet.linkage.matching.candidate_pairs import Candidates, cut, divided, load_candidates
from discreet.linkage.matching.thresholds import Zones, distribution, zones_at
from discreet.linkage.project import Project
from discreet.report.linkage import errors_figure, pairs_findings, zones_figure
from discreet.report.toolkit.page import figure
from discreet.web.framework.context import Here, go, or_again
from discreet.web.framework.forms import Form
from discreet.web.framework.problems import Problem, problem_of

CUTS = {
    "errors": "by the errors that the machine may make",
    "capacity": "by how many pairs people can review",
    "weights": "at two weights of the chart",
}
FURTHEST = 1_000


def zones_page(context: Here) -> Response:
    """The chart of candidate pairs, and the form that divides them."""
    project: Project = context.loaded
    candidates = load_candidates(ProjectFolder.open(project.folder))
    shown: dict[str, Any] = {"zones": None}
    if candidates.zones is not None and len(candidates.pairs):
        shown = _divided(candidates, candidates.zones)
        weights = shown["weights"]
        shown["further"] = figure(errors_figure(weights), 2)
        shown["ends"] = (math.floor(weights.edges[0] * 10) / 10, math.ceil(weights.edges[-1] * 10) / 10 + 0.1)
    findings = pairs_findings(candidates)[:3]
    return context.page("linkage_zones.html", project=project, cuts=CUTS, findings=findings, **shown)


def zones_preview(context: Here) -> Response:
    """What other thresholds would give, while they are dragged: counts and expected errors."""
    candidates = load_candidates(ProjectFolder.open(context.loaded.folder))
    typed = Form({name: [value] for name, value in context.request.query_params.items()})
    try:
        shown = _divided(candidates, wanted_zones(candidates, typed))
    except DiscreetError as error:
        return context.page("linkage_zones_shown.html", fault=problem_of(error))
    return context.page("linkage_zones_shown.html", **shown)


def _divided(candidates: Candidates, zones: Zones) -> dict[str, Any]:
    """The division that these zones make, for a page."""
    weights = distribution(candidates.pairs, zones)
    return {"zones": zones, "weights": weights, "chart": figure(zones_figure(weights), 1)}


def wanted_zones(candidates: Candidates, form: Form) -> Zones:
    """The zones that a form asks for."""
    how = form.choice("how", tuple(CUTS))
    if how == "errors":
        shares = {name: _number(form, name) / 100 for name in ("false_same", "missed")}
        return cut(candidates.pairs, review=None, **shares)
    if how == "capacity":
        return cut(candidates.pairs, review=form.whole("review", least=0, most=10**9))
    return zones_at(candidates.pairs, lower=_number(form, "lower"), upper=_number(form, "upper"))


@or_again(zones_page)
def cut_zones(context: Here) -> Response:
    """Divide the candidate pairs again. Pairs that are assigned stay with their reviewers."""
    project = context.loaded
    home = ProjectFolder.open(project.folder)
    candidates = load_candidates(home)
    changed = divided(home, candidates, wanted_zones(candidates, context.form))
    counts: dict[str, Any] = changed.counts
    context.act("linkage.project", project.subject, act="zones", **counts)
    changed.save(home)
    return go(f"/linkage/{project.id}/zones", said="zones")


def _number(form: Form, name: str) -> float:
    try:
        number = float(form.text(name, most=20).replace(",", "."))
    except ValueError:
        number = float("nan")
    if not -FURTHEST <= number <= FURTHEST:
        raise Problem(422, f"The field '{name}' must be a number.", remedy="Correct it and send the form again.")
    return number
