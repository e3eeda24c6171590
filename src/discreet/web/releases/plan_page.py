"""Plans of releases: their page and forms, the pre-flight in words, API."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import ValidationError
from starlette.responses import Response

from discreet.releases.bait_release import BAIT_NAMES
from discreet.releases.decoys.detectability import WARN, either_way
from discreet.releases.marks.pairing import FEWEST_MARKS
from discreet.releases.marks.row_marks import FEW_PEOPLE, VALUE_WORST
from discreet.releases.plan import BORROWED, ESCAPES
from discreet.releases.power import ALPHA
from discreet.releases.preconditions import AGREEMENT
from discreet.report.toolkit.words import plural
from discreet.web.accounts.second_approver import History
from discreet.web.datasets import policies
from discreet.web.datasets import store as datasets
from discreet.web.datasets.dataset_page import earlier_levels
from discreet.web.framework.context import Context, Here, by_number, go, or_again
from discreet.web.framework.forms import Form, Strict
from discreet.web.framework.problems import Problem
from discreet.web.framework.route import numbered
from discreet.web.jobs import store as jobs
from discreet.web.jobs.pages import progress_of
from discreet.web.releases import plan_workflow
from discreet.web.releases import store as plans
from discreet.web.releases.store import FORMATS, LONGEST_AGREEMENT, NewPlan, StoredPlan
from discreet.wording import percent

PLAN = by_number("plan", plans.find)
"""Custodians look after plans together; who may decide on one is checked where it is decided."""


def new_page(context: Here, dataset: str = "", made: str = "") -> Response:
    """The form of a new plan, with the data set and the table whose page led here."""
    with context.site.store.reading() as connection:
        chosen = datasets.find(connection, numbered(dataset)) if dataset.isascii() and dataset.isdigit() else None
    given = {} if chosen is None else {"dataset": str(chosen.id), "population": str(chosen.population or "")}
    if chosen is not None and made in (earlier := earlier_levels(context, chosen)):
        asked = earlier[made].asked
        given |= {"levels": json.dumps(earlier[made].levels), "k": str(asked.get("k") or START["k"])}
        given["suppression"] = f"{100 * asked['suppression']:g}"
    return _form(context, {**START, **given})


def _form(context: Context, start: dict[str, str], plan: StoredPlan | None = None) -> Response:
    """The form as it starts, or with what was typed and not accepted."""
    with context.site.store.reading() as connection:
        every = datasets.everything(connection)
    offered = [("", "choose one"), *((str(dataset.id), dataset.name) for dataset in every)]
    waiting = {str(dataset.id) for dataset in every if policies.guesses(dataset.policy)}
    data = [(number, f"{name} (roles not confirmed)" if number in waiting else name) for number, name in offered]
    typed = start if context.problem is None else typed_in(context.form)
    shown: dict[str, Any] = {"plan": plan, "typed": typed, "data": data, "datasets": offered, "formats": FORMATS}
    try:
        shown["levels"] = levels_in(typed["levels"])
    except Problem:
        shown["levels"] = None
    return context.page("release_new.html", **shown)


@or_again(new_page)
def begin_by_form(context: Here) -> Response:
    """Plan a release."""
    return go(f"/releases/plans/{plan_workflow.begin(context, wanted_in(context.form))}", said="planned")


def plan_page(context: Here) -> Response:
    """The plan, its pre-flight, and what is to be decided."""
    plan = plan_workflow.current(context, context.loaded.id)
    second = None
    with context.site.store.reading() as connection:
        now, job = jobs.moment(connection), plan_workflow.last_job(connection, plan)
        if plan.state == "planned":
            asked, name = plan_workflow.asked_of(plan), context.owner.name
            second = History.read(connection).view(connection, asked, name, "releases.approve")
    return context.page(
        "release_plan.html",
        plan=plan,
        second=second,
        open_to_change=plan.state in plan_workflow.changeable(context, plan),
        running=progress_of(job, now) if job is not None and job.active else None,
        failed=job if job is not None and job.state in ("failed", "cancelled") else None,
        lines=list(preflight_lines(plan.preflight)) if plan.preflight else [],
    )


def change_page(context: Here) -> Response:
    """The form with what is planned."""
    plan: StoredPlan = context.loaded
    if context.problem is None and plan.state not in plan_workflow.changeable(context, plan):
        raise plans.too_late()
    start = {name: "" if plan.content.get(name) is None else str(plan.content[name]) for name in START}
    start |= {"name": plan.release, "recipients": "\n".join(plan.recipients)}
    start["levels"] = json.dumps(plan.content["levels"]) if plan.content.get("levels") else ""
    for name in ("suppression", "budget"):
        if plan.content.get(name) is not None:
            start[name] = f"{100 * plan.content[name]:g}"
    start |= {name: "yes" if plan.content.get(name) else "" for name in ("counts_only", "force")}
    return _form(context, start, plan)


@or_again(change_page)
def change(context: Here) -> Response:
    """Plan something else instead."""
    plan, form = context.loaded, context.form
    version = form.whole("version", least=1, most=10**12)
    if plan.kind == "more":
        wanted: NewPlan | list[str] = names_in(form.verbatim("recipients", most=LONG["recipients"], lines=True))
    else:
        wanted = wanted_in(form)
    if not wanted:
        raise Problem(422, "No recipient is named.", remedy="Name at least one recipient, or withdraw the plan.")
    plan_workflow.change(context, plan, wanted, version=version)
    return _back(context, "plan-changed")


def _back(context: Context, said: str = "") -> Response:
    return go(f"/releases/plans/{context.loaded.id}", said=said)


@or_again(plan_page)
def look(context: Here) -> Response:
    """Repeat the pre-flight, after a job that failed or was cancelled."""
    if context.loaded.state != "planned":
        raise plans.too_late()
    plan_workflow.look(context, context.loaded)
    return _back(context)


@or_again(plan_page)
def approve(context: Here) -> Response:
    """Allow the copies to be made."""
    plan_workflow.decide(context, context.loaded, seen=context.form.text("seen"))
    return _back(context, "approved")


@or_again(plan_page)
def reject(context: Here) -> Response:
    """Reject it, with a reason."""
    reason = context.form.text("reason", most=plan_workflow.LONGEST_REASON)
    plan_workflow.decide(context, context.loaded, seen=context.form.text("seen"), reason=reason)
    return _back(context, "rejected")


@or_again(plan_page)
def withdraw(context: Here) -> Response:
    """Withdraw the plan."""
    plan_workflow.withdraw(context, context.loaded)
    return _back(context, "withdrawn")


@or_again(plan_page)
def make(context: Here) -> Response:
    """Start making the copies."""
    plan_workflow.make(context, context.loaded)
    return _back(context)


# -- what is typed into the forms -------------------------------------------------------------------------------------

START: dict[str, str] = {
    **dict.fromkeys(NewPlan.model_fields, ""),
    "k": "5",
    "suppression": "10",
    "law": "0.2/0.5",
    "mode": "marks",
    "format": "parquet",
    "agreement": AGREEMENT,
}
"""The fields of an empty form."""
LONG = {"recipients": 40_000, "agreement": LONGEST_AGREEMENT, "levels": 40_000}


def names_in(text: str) -> list[str]:
    """Names, one per line or separated by commas.

    >>> names_in("north\\n south, west \\n\\n")
    ['north', 'south', 'west']
    """
    parts = [part.strip() for line in text.splitlines() for part in line.split(",")]
    return [part for part in parts if part]


def typed_in(form: Form) -> dict[str, str]:
    """Every field as it was sent, to be shown again."""
    return {name: form.verbatim(name, most=LONG.get(name, 600), lines=name in LONG) for name in START}


def levels_in(text: str) -> dict[str, int] | None:
    """Levels by column, as the form carries them; None for those that are searched.

    >>> levels_in(""), levels_in('{"zip": 2}')
    (None, {'zip': 2})
    """
    try:
        levels = json.loads(text) if text else None
        if levels is not None and not all(isinstance(level, int) for level in levels.values()):
            raise ValueError
    except (ValueError, AttributeError, RecursionError):
        remedy = "Start from the table again, or leave the levels to the search."
        raise Problem(422, "The levels cannot be read.", remedy=remedy) from None
    return levels


def wanted_in(form: Form) -> NewPlan:
    """The plan that a form describes, as the API takes it."""
    typed = {name: value.strip() for name, value in typed_in(form).items()}
    given: dict[str, Any] = {**typed, "recipients": names_in(typed["recipients"])}
    for name, words in (("dataset", "data"), ("population", "population")):
        if not typed[name]:
            raise Problem(422, f"The {words} is not chosen yet.", remedy="Choose a data set from the list.")
        given[name] = form.whole(name, least=0, most=10**17)
    given["k"] = form.whole("k", least=2, most=10**6)
    given["levels"] = levels_in(typed["levels"])
    given["suppression"] = _number(typed["suppression"], "The share of people who may be left out, in per cent,") / 100
    given["mode"] = typed["mode"] or "marks"
    given |= _bait_in(typed) if given["mode"] == "bait" else dict.fromkeys(BAIT_NAMES)
    given["counts_only"], given["force"] = typed["counts_only"] == "yes", typed["force"] == "yes"
    given["agreement"] = typed["agreement"].replace("\r\n", "\n")
    try:
        return NewPlan.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = str(first["loc"][0]).replace("_", " ") if first["loc"] else "form"
        raise Problem(422, f"{field}: {first['msg']}.", remedy="Correct it and send the form again.") from None


def _bait_in(typed: dict[str, str]) -> dict[str, Any]:
    """The settings of bait; an empty field is the default."""
    readers: dict[str, Any] = {
        "decoys": lambda text: (
            int(text) if text.isascii() and text.isdigit() else _number(text, "The number of decoys")
        ),
        "removal": str,
        "budget": lambda text: _number(text, "The share of classes that a copy may lose") / 100,
        "least_factor": lambda text: _number(text, "The least factor"),
        "most_factor": lambda text: _number(text, "The largest factor"),
    }
    return {name: read(typed[name]) if typed[name] else None for name, read in readers.items()}


def _number(text: str, what: str) -> float:
    try:
        return float(text.replace(",", "."))
    except ValueError:
        raise Problem(422, f"{what} is not a number.", remedy="Write it as 5 or 2.5.") from None


# -- the pre-flight in words: a figure and a sentence for each thing to decide on -------------------------------------


@dataclass(frozen=True)
class PreflightLine:
    """A figure, its name, what it means, and whether it needs attention."""

    figure: str
    name: str
    says: str
    caution: bool = False


def preflight_lines(preview: dict[str, Any]) -> Iterator[PreflightLine]:
    """The pre-flight, from what it costs people to what can be traced."""
    if "records" in preview:
        says = (
            f"{preview['released']:,} of {preview['records']:,} people can be released, in {preview['classes']:,} classes of "
            f"at least {preview['k']} people who look alike; {preview['suppressed']:,} are left out of all copies."
        )
        yield PreflightLine(percent(preview["released"] / preview["records"]), "of people released", says)

    for says in (*preview.get("doubts", ()), *preview.get("notes", ())):
        yield PreflightLine("!", "people", says, caution=True)
    if preview.get("mode") == "bait":
        yield from _bait_lines(preview)
        return
    marks, rows = preview["marks"], preview.get("row_marks", 0)
    few = marks + rows < FEWEST_MARKS
    says = "The same as in the existing copies: a further recipient changes no other copy."
    if "pairs" in preview:
        says = (
            f"{marks // 2:,} classes of people that a copy may lack, and as many decoy classes that it may contain, out of "
            f"{plural(preview['pairs'], 'pair', 'pairs')} of about the same size and link count."
        )
    says += f" Below {FEWEST_MARKS} a leak can hardly be traced." if few else ""
    yield PreflightLine(f"{marks:,}", "class marks", says, few)
    if "row_marks" in preview:
        says = "Single rows of other classes that a copy may lack; they trace leaked files, also where classes of doubtful size are left out."
        yield PreflightLine(f"{rows:,}", "row marks", says)

    if "rows_lost" in preview:
        says = (
            "On average a copy lacks this share of the released rows, and hardly ever more than "
            f"{percent(preview['most_lost'])}, however many recipients there are."
        )
        yield PreflightLine(percent(preview["rows_lost"]), "of rows lost", says)
        if worst := max(preview.get("worst", ()), key=lambda value: value["most"], default=None):
            says = (
                f"This share of the people with {worst['column']} {worst['value'] or 'missing'} may be lacking in a copy, the most of any value of at "
                f"least {FEW_PEOPLE} people or of rare values together; {percent(worst['average'])} are on average."
            )
            yield PreflightLine(percent(worst["most"]), "of one value lost", says, worst["most"] > VALUE_WORST)
        says = "In an average copy no value of any column changes its share of all rows by more."
        yield PreflightLine(percent(preview["largest_shift"]), "largest shift", says)
        yield _detectability(preview)

    if preview["claims"] is None:
        says = "There are too few marks: half of all single leakers would never be identified, however many people they claim."
        yield PreflightLine("never", "claims until identified", says, caution=True)
    else:
        says = (
            "This many claims of re-identified people, the riskiest first, identify a single leaker in half of all cases; an "
            f"innocent recipient is accused in at most {percent(ALPHA)} of releases."
        )
        yield PreflightLine(f"{preview['claims']:.0f}", "claims until identified", says)

    most, among = preview["coalition"], plural(preview["recipients"], "recipient", "recipients")
    needed = preview["needed"][most] if most < len(preview["needed"]) else None
    further = f" {needed:,} marks would be needed for {'one' if not most else most + 1}." if needed else ""
    if not most:
        says = f"A leaked copy identifies none of {among} with confidence.{further}"
        yield PreflightLine("0", "leakers traced", says, caution=True)
    elif most == 1:
        says = f"A whole file identifies a leaker who acts alone among {among}; two who collude may escape.{further} {ESCAPES}"
        yield PreflightLine("1", "leaker at a time", says)
    else:
        says = (
            f"Copies combined in any of the eight ways that were simulated identify one of up to {most} colluding recipients "
            f"among {among}.{further} {ESCAPES}"
        )
        yield PreflightLine(f"{most}", "may collude", says)


def _bait_lines(preview: dict[str, Any]) -> Iterator[PreflightLine]:
    """Decoys as published: what each copy gets and lacks, and whom they do not find."""
    low, high = preview["factors"]
    says = (
        f"Each of {preview['recipients']:,} recipients gets {preview['decoys']:,} decoy classes of its own, of "
        f"{preview['candidates']:,} candidates; {low:.2f} to {high:.2f} times as risky as the riskiest person."
    )
    yield PreflightLine(f"{preview['decoys']:,}", "decoys per copy", says)
    says = (
        f"Each copy alone holds {preview['alone']:,} real classes and lacks {preview['removed']:,} that another one holds alone "
        f"(removal by {preview['removal']}): at most this share of the people."
    )
    yield PreflightLine(percent(preview["most_lost"]), "of people lost", says)
    says = "In no copy does a column change by more: half the sum of the changes of its shares."
    yield PreflightLine(percent(preview["largest_shift"]), "largest shift", says)
    says = (
        "A class that only one of several colluding copies holds is a decoy with this probability, n_d/(n_d + n_e), for "
        "recipients who have nothing but their copies."
    )
    yield PreflightLine(percent(preview["probability_of_decoy"]), "is a decoy", says)
    yield PreflightLine("1.00", "AUC by look-alikes", preview["warning"], caution=True)


def _detectability(preview: dict[str, Any]) -> PreflightLine:
    auc = either_way(preview["auc"])
    detectable = auc > max(WARN, preview["floor"])
    says = f"How well a classifier distinguishes decoys from real classes: 0.5 is guessing, and up to {preview['floor']:.2f} may be chance."
    if detectable:
        says += " A recipient who tries may find some of the decoys."
    return PreflightLine(f"{auc:.2f}", "classifier (AUC)", f"{says} {BORROWED}", detectable)


# -- API --------------------------------------------------------------------------------------------------------------

PlanState = Literal["planned", "approved", "rejected", "withdrawn", "making", "made"]


class PlanModel(Strict):
    """A plan, approved by another custodian who has signed in, never by a token."""

    id: int
    release: str
    kind: Literal["new", "more"]
    state: PlanState
    version: int
    planner: str
    changed: str
    decider: str | None
    decided: str | None
    reason: str | None
    recipients: list[str]
    digest: str
    preflight: dict[str, Any] | None
    """The pre-flight; null while its job runs, or where it was refused."""
    job: int | None
    """The last job of its pre-flight or its copies; poll it under jobs."""


def begin(context: Here, wanted: NewPlan) -> PlanModel:
    """Plan a release; a job runs its pre-flight."""
    return model_of(context, plan_workflow.begin(context, wanted))


def plan(context: Here, number: str) -> PlanModel:
    """One plan."""
    return model_of(context, context.loaded.id)


def model_of(context: Context, number: int) -> PlanModel:
    """A plan as it is now."""
    plan = plan_workflow.current(context, number)
    with context.site.store.reading() as connection:
        job = plan_workflow.last_job(connection, plan)
    preflight = {name: value for name, value in plan.preflight.items() if name != "of"} if plan.preflight else None
    recipients = list(plan.recipients)
    return PlanModel.of(plan, recipients=recipients, preflight=preflight, job=job.id if job else None)
