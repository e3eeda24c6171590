"""See what a release would look like before anything is made: marks, what they cost, and what could be traced."""

from __future__ import annotations

from typing import Any

from discreet.policy import Policy
from discreet.releases.chances import foretell
from discreet.releases.copies import recoded
from discreet.releases.laws import Law
from discreet.releases.manifest import Manifest, Settings, fingerprint
from discreet.releases.marking import mark
from discreet.releases.planning import Plan, find_node
from discreet.releases.registry import Registry
from discreet.sources import Table
from discreet.web.jobs.task import Outcome, Task
from discreet.web.releasing import plan as plans
from discreet.web.releasing.checking import current


def look_ahead(task: Task) -> Outcome:
    """What would come of a plan, kept with it."""
    wanted = current(task)
    found = _of_release(task, wanted) if wanted.kind == "new" else _of_more(task, wanted)
    return Outcome(
        event="releases.planned",
        numbers=found,
        policy=task.policy,
        details={"act": "looked ahead", "plan": wanted.digest, "marks": found["marks"]},
        subject=wanted.subject,
        along=lambda connection: plans.keep_preflight(connection, wanted.id, wanted.digest, found),
    )


def _of_release(task: Task, wanted: plans.Plan) -> dict[str, Any]:
    content = wanted.content
    task.tell("Counting people who look alike", 0.1)
    table, population = tables(task)
    settings = Settings(
        k=content["k"], suppression=content["suppression"], loss="dm_star", law=Law.parse(content["law"]).name
    )
    node = find_node(table, population, settings)
    task.tell("Choosing marks and making up decoys", 0.4)
    # With the secret of the release itself, so that what is approved is what will be made, to the last mark.
    marking = mark(
        node.linked,
        table,
        key=Registry(task.ledger).key(wanted.release),
        release=wanted.release,
        law=Law.parse(content["law"]),
        force=content["force"],
    )
    planned = Plan(node, marking, len(wanted.recipients), settings)
    task.tell("Playing leakers", 0.9)
    heights = {column.name: column.hierarchy.height for column in planned.node.linked.released.columns}
    return {**planned.to_dict(), "heights": heights, "chances": _chances(planned), "of": _stamp(task, table)}


def _chances(planned: Plan) -> dict[str, Any]:
    marking = planned.marking
    marked = set(marking.marks.labels)
    released = marking.linked.released.project(marking.marks.columns)
    free = [place for place, labels in enumerate(released.tuples()) if labels not in marked]
    return foretell(
        probabilities=marking.probabilities,
        links=marking.marks.links,
        elsewhere=marking.linked.links[free],
        recipients=planned.recipients,
    ).to_dict()


def _of_more(task: Task, wanted: plans.Plan) -> dict[str, Any]:
    registry = Registry(task.ledger)
    kept = registry.require(wanted.release, wanted.content["of"])
    manifest = registry.open(kept)
    table = task.places.bare(task.dataset, task.policy)
    task.tell("Holding the data against the release", 0.3)
    recoded(table, manifest)
    everybody = len({*kept.recipients, *wanted.recipients})
    task.tell("Playing leakers", 0.8)
    return {
        "recipients": everybody,
        "marks": len(manifest.codebook.marks),
        "k": manifest.settings.k,
        "released": manifest.released.records,
        "classes": len(manifest.released),
        "chances": _chances_of(manifest, everybody),
        "of": _stamp(task, table),
    }


def _chances_of(manifest: Manifest, recipients: int) -> dict[str, Any]:
    marks = manifest.codebook.marks
    marked = set(marks.labels)
    released = manifest.released.project(marks.columns)
    free = [place for place, labels in enumerate(released.tuples()) if labels not in marked]
    return foretell(
        probabilities=manifest.codebook.probabilities,
        links=marks.links,
        elsewhere=manifest.links[free],
        recipients=recipients,
    ).to_dict()


def tables(task: Task) -> tuple[Table, Table]:
    """The data and their population, each on the engine that holds it."""
    if task.population is None:
        raise AssertionError("a release is planned with a population")
    policy: Policy = task.policy
    return task.places.bare(task.dataset, policy), task.places.bare(task.population, policy.for_population())


def _stamp(task: Task, table: Table) -> dict[str, str | None]:
    """What was looked at, in hashes: copies are made of the same, or not at all."""
    crowd = None if task.population is None else task.places.hash(task.population)
    people = task.ledger.fingerprint(fingerprint(table.classes()))
    return {"data": task.hash, "population": crowd, "people": people}
