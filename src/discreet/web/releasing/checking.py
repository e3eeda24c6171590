"""Is a job about to do what was planned and approved, with the same data? Asked by the job itself, just before."""

from __future__ import annotations

from discreet.errors import Refused
from discreet.releases.manifest.manifest import fingerprint
from discreet.sources import Table
from discreet.web.jobs.task import Task
from discreet.web.releases import store as plans
from discreet.web.releases.store import Plan


def current(task: Task) -> Plan:
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


def approved(task: Task) -> Plan:
    """The same, and somebody else has approved exactly this."""
    found = current(task)
    if found.state != "making" or found.decider is None or found.seen != task.asked["seen"]:
        raise Refused("Nobody has approved this plan as it is.", remedy="Let another custodian look at it.")
    return found


def refuse_other_data(task: Task, plan: Plan, table: Table) -> None:
    """Copies are made of what was looked at when the plan was approved."""
    seen = (plan.preflight or {}).get("of", {})
    crowd = None if task.population is None else task.places.hash(task.population)
    now = {"data": task.hash, "population": crowd, "people": task.ledger.fingerprint(fingerprint(table.classes()))}
    if seen != now:
        raise Refused(
            "The data or their population are not those that the plan was approved for: a file has changed since.",
            remedy="Put the file back, or change the plan, so that it is looked at anew and approved again.",
        )
