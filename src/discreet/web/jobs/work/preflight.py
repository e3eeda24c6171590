"""See what a release would look like before anything is made: marks, what they cost, and what could be traced."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from discreet.errors import Refused
from discreet.policy import Policy
from discreet.releases.delivery.copies import recoded
from discreet.releases.delivery.service import Registry
from discreet.releases.manifest.manifest import Manifest, Settings, fingerprint
from discreet.releases.marks.codebook import Law
from discreet.releases.marks.selection import mark
from discreet.releases.plan import Plan, find_node
from discreet.releases.power import claims_until_traced, coalition_supported, marks_needed
from discreet.releases.preflight import Preflight
from discreet.sources import Table
from discreet.web.jobs.task import Outcome, Task
from discreet.web.releases import store as plans
from discreet.web.releases.store import ReleasePlan

PEOPLE = ("levels", "k", "requirements", "published", "records", "released", "suppressed", "classes", "population")
"""What a plan says about people; the rest is about marks."""


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


def _of_release(task: Task, wanted: plans.ReleasePlan) -> dict[str, Any]:
    content, law = wanted.content, Law.parse(wanted.content["law"])
    task.tell("Counting people who look alike", 0.1)
    table, population = tables(task)
    settings = Settings(k=content["k"], suppression=content["suppression"], loss="dm_star", law=law.name)
    node = find_node(table, population, settings)
    task.tell("Choosing marks and making up decoys", 0.4)
    # With the secret of the release itself, so that what is approved is what will be made, to the last mark.
    key = Registry(task.ledger).key(wanted.release)
    marking = mark(node.linked, table, key=key, release=wanted.release, law=law, force=content["force"])
    task.tell("Playing leakers", 0.8)
    flight = Preflight.of(marking, recipients=len(wanted.recipients), law=law)
    planned = Plan(node, marking, flight, settings, table.published).to_dict()
    heights = {column.name: column.hierarchy.height for column in node.linked.released.columns}
    facts = {name: planned[name] for name in PEOPLE}
    return {**facts, **planned["preflight"], "heights": heights, "of": _stamp(task, table)}


def _of_more(task: Task, wanted: plans.ReleasePlan) -> dict[str, Any]:
    registry = Registry(task.ledger)
    kept = registry.require(wanted.release, wanted.content["of"])
    manifest = registry.open(kept)
    table = task.places.bare(task.dataset, task.policy)
    task.tell("Holding the data against the release", 0.3)
    recoded(table, manifest)
    task.tell("Playing leakers", 0.6)
    everybody = len({*kept.recipients, *wanted.recipients})
    return {**_flight(manifest, everybody), "k": manifest.settings.k, "of": _stamp(task, table)}


def _flight(manifest: Manifest, recipients: int) -> dict[str, Any]:
    """What the marks that there are can prove among more recipients."""
    marks = manifest.codebook.marks
    real = {labels for labels, decoy in zip(marks.labels, marks.decoy.tolist(), strict=True) if not decoy}
    released = manifest.released.project(marks.columns)
    unmarked = np.array([labels not in real for labels in released.tuples()], dtype=bool)
    claims = claims_until_traced(marks, manifest.codebook.probabilities, manifest.links[unmarked], recipients)
    return {
        "recipients": recipients,
        "marks": len(marks),
        "coalition": coalition_supported(len(marks), manifest.law, recipients),
        "needed": [marks_needed(manifest.law, recipients, colluding) for colluding in (1, 2, 3)],
        "claims": None if math.isinf(claims) else claims,
    }


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


# Is a job about to do what was planned and approved, with the same data? Asked by the job itself, just before.
def current(task: Task) -> ReleasePlan:
    """The plan that the job was asked for, if it is still that plan."""
    with task.ledger.store.reading() as connection:
        found = plans.find(connection, int(task.asked["plan"]))
    if found is None or found.digest != task.asked["digest"]:
        raise Refused("The plan was changed meanwhile.", remedy="Look at the plan; another job looks at the new one.")
    if task.policy.digest != found.content["policy_digest"]:
        raise Refused(
            "A hierarchy that the policy names was replaced since this was planned.",
            remedy="Change the plan, so that it is looked at anew, and have it approved.",
        )
    return found


def approved(task: Task) -> ReleasePlan:
    """The same, and somebody else has approved exactly this."""
    found = current(task)
    if found.state != "making" or found.decider is None or found.seen != task.asked["seen"]:
        raise Refused("Nobody has approved this plan as it is.", remedy="Let another custodian look at it.")
    return found


def refuse_other_data(task: Task, plan: ReleasePlan, table: Table) -> None:
    """Copies are made of what was looked at when the plan was approved."""
    seen = (plan.preflight or {}).get("of", {})
    crowd = None if task.population is None else task.places.hash(task.population)
    now = {"data": task.hash, "population": crowd, "people": task.ledger.fingerprint(fingerprint(table.classes()))}
    if seen != now:
        raise Refused(
            "The data or their population are not those that the plan was approved for: a file has changed since.",
            remedy="Put the file back, or change the plan, so that it is looked at anew and approved again.",
        )
