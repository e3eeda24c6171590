"""Decisions on plans: plan, change, approve, reject, withdraw; two people, one entry each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection

from discreet.errors import DiscreetError
from discreet.releases.delivery import repository
from discreet.releases.delivery.repository import Kept
from discreet.releases.delivery.service import Registry
from discreet.releases.preconditions import check_names
from discreet.web.accounts import second_approver
from discreet.web.accounts.second_approver import Asked
from discreet.web.datasets import store as datasets
from discreet.web.framework.context import Context
from discreet.web.framework.problems import Problem, not_found
from discreet.web.jobs import store as jobs
from discreet.web.jobs.requests import enqueue
from discreet.web.jobs.store import Job
from discreet.web.releases import store as plans
from discreet.web.releases.store import NewPlan, Plan, content_of

LONGEST_REASON = 500


def begin(context: Context, wanted: NewPlan) -> int:
    """Plan a release and look at what would come of it; gives the number of the plan."""
    content = content_of(context, wanted)
    _refuse_known(context, wanted.name)
    return _begin(context, "new", content)


def more(context: Context, kept: Kept, recipients: list[str]) -> int:
    """Plan copies for recipients who come later; gives the number of the plan."""
    with context.site.store.reading() as connection:
        made = plans.everything(connection, release=kept.name, states=("made",))
        gone = repository.retired(connection, kept.name)
    if not made:
        raise Problem(
            409,
            "This release was made outside the desk, so the desk does not know its data.",
            remedy=f'Use the command line: discreet release add-recipient "{kept.name}"',
            title="Not from here",
        )
    return _begin(context, "more", _further(made[-1].content, kept, recipients, gone))


def _further(first: dict[str, Any], kept: Kept, recipients: list[str], gone: set[str]) -> dict[str, Any]:
    try:
        check_names([*kept.recipients, *recipients], "recipient")
    except DiscreetError as error:
        raise Problem(422, error.problem, remedy=error.remedy, title="Nobody is added yet") from None
    if gone & set(recipients):
        raise Problem(422, "Somebody who was retired gets no further copy.", remedy="Leave the name out.")
    same = ("release", "dataset", "dataset_name", "format", "policy", "policy_digest")
    return {**{name: first[name] for name in same}, "recipients": recipients, "of": kept.version}


def _begin(context: Context, kind: str, content: dict[str, Any]) -> int:
    made: list[int] = []

    def along(connection: Connection) -> None:
        made.append(
            plans.add(
                connection,
                kind=kind,
                content=content,
                account=context.owner.id,
                now=context.site.stamp(),
                entry=second_approver.moment(connection),
            )
        )

    subject = f"release:{content['release']}"
    context.act("releases.planned", subject, along=along, act="planned", **_facts(content))
    look(context, found(context, made[-1]))
    return made[-1]


def change(context: Context, plan: Plan, wanted: NewPlan | list[str], *, version: int) -> None:
    """Plan something else instead; an approval of what was planned before does not hold for it."""
    if isinstance(wanted, NewPlan):
        content = content_of(context, wanted)
        _refuse_known(context, wanted.name)
    else:
        kept = Registry(context.site.ledger).require(plan.release, plan.content["of"])
        with context.site.store.reading() as connection:
            gone = repository.retired(connection, kept.name)
        content = _further(plan.content, kept, wanted, gone)

    was = _changeable(context, plan)

    def along(connection: Connection) -> None:
        by = {"account": context.owner.id, "entry": second_approver.moment(connection)}
        plans.change(connection, plan, content, was=was, plan_version=version, now=context.site.stamp(), **by)

    context.act("releases.planned", plan.subject, along=along, act="changed", **_facts(content))
    look(context, found(context, plan.id))


def look(context: Context, plan: Plan) -> int:
    """Have a job look at what would come of a plan; gives its number."""
    _refuse_removed(context, plan)
    return enqueue(context, "preflight", plan.dataset, _asked(plan))


def approve(context: Context, plan: Plan, *, seen: str) -> None:
    """Let copies be made. The planner cannot, nor an account that the same person could be behind, nor one that saw
    something else."""
    _refuse_own(context, plan, "web.approved", "approve")
    about = {"event": "web.approved", "subject": plan.subject}
    second_approver.require(context, asked_of(plan), permission="releases.approve", **about, plan=plan.digest)
    if not plan.ready or seen != plan.seen:
        raise plans.too_late()
    _decide(context, plan, "approved", event="web.approved")


def reject(context: Context, plan: Plan, *, seen: str, reason: str) -> None:
    """Say no, and why. One's own plan is withdrawn instead."""
    _refuse_own(context, plan, "web.rejected", "reject")
    if plan.state != "planned" or seen != plan.seen:
        raise plans.too_late()
    if not reason:
        raise Problem(422, "A rejection needs a reason.", remedy="Say in a sentence what should be different.")
    _decide(context, plan, "rejected", event="web.rejected", reason=reason)


def _decide(context: Context, plan: Plan, state: str, *, event: str, reason: str | None = None) -> None:
    def along(connection: Connection) -> None:
        now = context.site.stamp()
        plans.decide(connection, plan, state, account=context.owner.id, now=now, reason=reason)

    context.act(event, plan.subject, along=along, plan=plan.digest, planned_by=plan.planner, seen=plan.seen)


def withdraw(context: Context, plan: Plan) -> None:
    """Nothing shall come of it."""
    was = _changeable(context, plan)
    context.act(
        "releases.planned",
        plan.subject,
        along=lambda connection: plans.move(connection, plan, "withdrawn", was=was),
        act="withdrawn",
        plan=plan.digest,
    )


def make(context: Context, plan: Plan) -> int:
    """Have a job seal the manifest and write the copies of an approved plan; gives its number."""
    _refuse_removed(context, plan)
    with context.site.store.writing() as connection:
        if plan.state != "making":  # else the job before did not come to its end, and goes on where it stopped
            plans.move(connection, plan, "making", was=("approved",))
    return enqueue(context, "release", plan.dataset, {**_asked(plan), "seen": plan.seen})


def _changeable(context: Context, plan: Plan) -> Sequence[str]:
    """The states in which a plan can still be changed or withdrawn."""
    return (*plans.CHANGEABLE, "making") if is_stuck(context, plan) else plans.CHANGEABLE


def is_stuck(context: Context, plan: Plan) -> bool:
    """Was it approved, but its copies were refused before anything was sealed?"""
    if plan.state != "making" or plan.kind != "new" or Registry(context.site.ledger).find(plan.release) is not None:
        return False
    with context.site.store.reading() as connection:
        job = last_job(connection, plan)
    return job is None or not job.active


def last_job(connection: Connection, plan: Plan) -> Job | None:
    """The last job of this plan as it is."""
    recent = jobs.newest(connection, dataset=plan.dataset, kinds=("preflight", "release"), most=50)
    mine = [job for job in recent if (job.asked.get("plan"), job.asked.get("digest")) == (plan.id, plan.digest)]
    return mine[0] if mine else None


def _refuse_removed(context: Context, plan: Plan) -> None:
    with context.site.store.reading() as connection:
        there = datasets.find(connection, plan.dataset) is not None
    if not there:
        raise Problem(
            409,
            "The data set of this plan was removed.",
            remedy="Bring it again and change the plan, or withdraw it.",
        )


def _asked(plan: Plan) -> dict[str, Any]:
    asked = {"plan": plan.id, "digest": plan.digest, "policy": plan.content["policy"]}
    crowd = {"population": {"dataset": plan.content["population"]}} if plan.kind == "new" else {}
    return {**asked, **crowd}


def asked_of(plan: Plan) -> Asked:
    """What another person has to agree to."""
    return Asked(plan.planner, plan.entry, "planned")


def found(context: Context, number: int) -> Plan:
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
    }
    more_facts = {
        "k": content.get("k"),
        "sign_off": content.get("sign_off"),
        "population": content.get("population_name"),
    }
    return {**facts, **{name: value for name, value in more_facts.items() if value is not None}}


def _refuse_known(context: Context, name: str) -> None:
    if Registry(context.site.ledger).find(name) is not None:
        raise Problem(
            409,
            "There is a release of this name already.",
            remedy="Add recipients on its page, or choose another name. A next version is made with: discreet release make",
            title="The release is not planned yet",
        )


def _refuse_own(context: Context, plan: Plan, event: str, verb: str) -> None:
    """Four eyes: a refusal that is written down, since somebody tried."""
    if context.owner.id != plan.account:
        return
    raise second_approver.refuse(
        context,
        event,
        plan.subject,
        f"You planned this yourself, or changed it last, so you cannot {verb} it.",
        second_approver.OTHERS,
        plan=plan.digest,
        why="own plan",
    )
