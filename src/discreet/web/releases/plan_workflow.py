"""Workflow of a release plan: begin, change, pre-flight, approve, make, hand over; each step is recorded."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, delete

from discreet.errors import DiscreetError, IntegrityError
from discreet.releases.delivery import repository
from discreet.releases.delivery.repository import StoredRelease
from discreet.releases.delivery.service import Registry
from discreet.releases.preconditions import check_names
from discreet.store.tables.web import PARCEL
from discreet.web.accounts import second_approver
from discreet.web.accounts.second_approver import Asked
from discreet.web.datasets import store as datasets
from discreet.web.framework.context import Context
from discreet.web.framework.problems import Problem, not_found
from discreet.web.jobs import store as jobs
from discreet.web.jobs.pages import enqueue
from discreet.web.jobs.store import Job
from discreet.web.releases import store as plans
from discreet.web.releases.store import NewPlan, StoredPlan, content_of

LONGEST_REASON = 500


def begin(context: Context, wanted: NewPlan) -> int:
    """Plan a release and start its pre-flight; gives the number of the plan."""
    return _begin(context, "new", content_of(context, wanted))


def more(context: Context, kept: StoredRelease, recipients: list[str]) -> int:
    """Plan copies for further recipients; gives the number of the plan."""
    with context.site.store.reading() as connection:
        made = plans.everything(connection, release=kept.name, states=("made",))
    if not made:
        words = "This release was made on the command line, so its data set is not known here."
        remedy = "Add the recipient where it was made, on the command line."
        raise Problem(409, words, remedy=remedy, title="Not possible here")
    return _begin(context, "more", _further(context, made[-1].content, kept, recipients))


def _further(context: Context, first: dict[str, Any], kept: StoredRelease, recipients: list[str]) -> dict[str, Any]:
    with context.site.store.reading() as connection:
        gone = repository.retired(connection, kept.name)
    try:
        check_names([*kept.recipients, *recipients], "recipient")
    except DiscreetError as error:
        raise Problem(422, error.problem, remedy=error.remedy, title="No recipient was added") from None
    if gone & set(recipients):
        raise Problem(422, "A retired recipient gets no further copy.", remedy="Leave the name out.")
    same = ("release", "dataset", "dataset_name", "format", "policy", "policy_digest")
    return {**{name: first[name] for name in same}, "recipients": recipients, "of": kept.version}


def _begin(context: Context, kind: str, content: dict[str, Any]) -> int:
    def along(connection: Connection) -> int:
        by = {"account": context.owner.id, "entry": second_approver.moment(connection)}
        return plans.add(connection, kind=kind, content=content, now=context.site.stamp(), **by)

    subject = f"release:{content['release']}"
    number: int = context.act("releases.planned", subject, along=along, act="planned", **_facts(content))
    look(context, current(context, number))
    return number


def change(context: Context, plan: StoredPlan, wanted: NewPlan | list[str], *, version: int) -> None:
    """Plan something else instead; an earlier approval does not hold for it."""
    if isinstance(wanted, NewPlan):
        content = content_of(context, wanted)
    else:
        kept = Registry(context.site.ledger).require(plan.release, plan.content["of"])
        content = _further(context, plan.content, kept, wanted)
    was = changeable(context, plan)

    def along(connection: Connection) -> None:
        by = {"account": context.owner.id, "entry": second_approver.moment(connection)}
        plans.change(connection, plan, content, was=was, plan_version=version, now=context.site.stamp(), **by)

    context.act("releases.planned", plan.subject, along=along, act="changed", **_facts(content))
    look(context, current(context, plan.id))


def look(context: Context, plan: StoredPlan) -> int:
    """Start the pre-flight of a plan; gives the number of the job."""
    return _enqueue(context, plan, "preflight")


def decide(context: Context, plan: StoredPlan, *, seen: str, reason: str | None = None) -> None:
    """Allow copies to be made, or with a reason reject another planner's plan."""
    state, verb = ("approved", "approve") if reason is None else ("rejected", "reject")
    event = f"web.{state}"
    if context.owner.id == plan.account:
        words = f"You planned this yourself, or changed it last, so you cannot {verb} it."
        details = {"plan": plan.digest, "why": "own plan"}
        raise second_approver.refuse(context, event, plan.subject, words, second_approver.OTHERS, **details)
    if reason is None:
        about = {"event": event, "subject": plan.subject}
        second_approver.require(context, asked_of(plan), permission="releases.approve", **about, plan=plan.digest)
    if seen != plan.seen or not (plan.ready if reason is None else plan.state == "planned"):
        raise plans.too_late()
    if reason == "":
        raise Problem(422, "A rejection needs a reason.", remedy="Say in a sentence what should be different.")

    def along(connection: Connection) -> None:
        now = context.site.stamp()
        plans.decide(connection, plan, state, account=context.owner.id, now=now, reason=reason)

    context.act(event, plan.subject, along=along, plan=plan.digest, planned_by=plan.planner, seen=plan.seen)


def withdraw(context: Context, plan: StoredPlan) -> None:
    """Withdraw a plan."""
    was = changeable(context, plan)
    context.act(
        "releases.planned",
        plan.subject,
        along=lambda connection: plans.move(connection, plan, "withdrawn", was=was),
        act="withdrawn",
        plan=plan.digest,
    )


def make(context: Context, plan: StoredPlan) -> int:
    """Have a job seal the manifest and write the copies; gives its number."""
    return _enqueue(context, plan, "release")


def _enqueue(context: Context, plan: StoredPlan, kind: str) -> int:
    with context.site.store.reading() as connection:
        dataset = datasets.find(connection, plan.dataset)
    if dataset is None:
        remedy = "Add it again and change the plan, or withdraw the plan."
        raise Problem(409, "The data set of this plan was removed.", remedy=remedy)
    asked = {"plan": plan.id, "digest": plan.digest, "policy": plan.content["policy"]}
    if plan.kind == "new":
        asked["population"] = {"dataset": plan.content["population"]}
    if kind == "release":
        asked["seen"] = plan.seen
        if plan.state != "making":  # else an earlier job did not finish, and the new one continues it
            with context.site.store.writing() as connection:
                plans.move(connection, plan, "making", was=("approved",))
    return enqueue(context, kind, plan.dataset, asked)


def changeable(context: Context, plan: StoredPlan) -> Sequence[str]:
    """The states in which a plan can still be changed or withdrawn."""
    if plan.state != "making" or plan.kind != "new" or Registry(context.site.ledger).find(plan.release) is not None:
        return plans.CHANGEABLE
    # It was approved, but nothing is sealed yet: if its job has ended, the copies were refused.
    with context.site.store.reading() as connection:
        job = last_job(connection, plan)
    return plans.CHANGEABLE if job is not None and job.active else (*plans.CHANGEABLE, "making")


def last_job(connection: Connection, plan: StoredPlan) -> Job | None:
    """The last job of this plan as it is."""
    recent = jobs.newest(connection, dataset=plan.dataset, kinds=("preflight", "release"), most=50)
    asked = (plan.id, plan.digest)
    return next((job for job in recent if (job.asked.get("plan"), job.asked.get("digest")) == asked), None)


def asked_of(plan: StoredPlan) -> Asked:
    """What another person has to agree to."""
    return Asked(plan.planner, plan.entry, "planned")


def current(context: Context, number: int) -> StoredPlan:
    """The plan as it is now."""
    with context.site.store.reading() as connection:
        plan = plans.find(connection, number)
    if plan is None:
        raise not_found()
    return plan


def _facts(content: dict[str, Any]) -> dict[str, Any]:
    facts = {
        "data": content["dataset_name"],
        "recipients": len(content["recipients"]),
        "policy": content["policy_digest"],
        "k": content.get("k"),
        "sign_off": content.get("sign_off"),
        "population": content.get("population_name"),
    }
    return {name: value for name, value in facts.items() if value is not None}


# -- delivery ---------------------------------------------------------------------------------------------------------


def remove_packed(context: Context, name: str, recipient: str) -> None:
    """Delete the packed copies of a recipient who gets no further ones."""
    packed = delete(PARCEL).where(PARCEL.c.release == name, PARCEL.c.recipient == recipient)
    with context.site.store.writing() as connection:
        files = connection.execute(packed.returning(PARCEL.c.file)).scalars().all()
    context.site.places.folder.forget(files)


def hand_over(context: Context, kept: StoredRelease, recipient: str) -> Path:
    """Record that a copy is handed over, then give its packed file."""
    Registry(context.site.ledger).refuse_delivery(kept, recipient)
    with context.site.store.reading() as connection:
        packed = plans.packed_copies(connection, kept).get(recipient)
    path = None if packed is None else context.site.places.folder.find(packed.file)
    if packed is None or path is None:
        remedy = "Copies are made once their plan is approved; the command line writes copies into its own folder."
        raise Problem(404, "There is no packed copy for this recipient here.", remedy=remedy)
    with path.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != packed.digest:
            raise IntegrityError("A copy in the folder is not the one that was made.", remedy="Restore a backup.")
    copy, now = kept.copy(recipient), context.site.stamp()
    context.act(
        "releases.delivered",
        f"{kept.subject}/recipient:{recipient}",
        along=lambda connection: repository.change(connection, kept, recipient, to="delivered", changed=now),
        file=copy.file,
        rows=copy.rows,
        packed=packed.digest,
        manifest=kept.digest,
    )
    return path
