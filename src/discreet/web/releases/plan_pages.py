"""Pages of release plans: forms, preflight in words, decision by a second person."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from sqlalchemy import Connection
from starlette.responses import Response

from discreet.releases.decoys.detectability import WARN, either_way
from discreet.releases.marks.pairing import FEWEST_MARKS
from discreet.releases.power import ALPHA
from discreet.releases.preconditions import AGREEMENT
from discreet.releases.preflight import ESCAPES, RECOGNISED
from discreet.report.toolkit.words import plural
from discreet.web.accounts.second_approver import History, Second
from discreet.web.datasets import store as datasets
from discreet.web.datasets.store import Dataset
from discreet.web.framework.context import Context, Here, go
from discreet.web.framework.format import remark
from discreet.web.framework.forms import Form
from discreet.web.framework.problems import Problem, problem_of
from discreet.web.framework.route import Loads, numbered
from discreet.web.jobs import queue
from discreet.web.jobs.pages import progress_of
from discreet.web.releases import decisions
from discreet.web.releases import store as plans
from discreet.web.releases.store import FORMATS, LONGEST_AGREEMENT, NewPlan, Plan
from discreet.wording import percent


def _find(context: Context, path: dict[str, str]) -> Plan | None:
    with context.site.store.reading() as connection:
        return plans.find(connection, numbered(path["number"]))


PLAN = Loads("plan", find=_find, may=lambda context, plan: context.may(context.route.permission))
"""Plans belong to the custodians of the store together; who may decide on one is asked where it is decided."""


def new_page(context: Here, dataset: str = "") -> Response:
    """The form, empty but for a data set that somebody came from."""
    with context.site.store.reading() as connection:
        chosen = datasets.find(connection, numbered(dataset)) if dataset.isascii() and dataset.isdigit() else None
    given = {} if chosen is None else {"dataset": str(chosen.id), "population": str(chosen.population or "")}
    return _form(context, typed={**START, **given})


def begin(context: Here) -> Response:
    """Plan a release."""
    try:
        number = decisions.begin(context, wanted_in(context.form))
    except Exception as error:
        return _form(context, typed=typed_in(context.form), problem=_ours(error))
    return go(f"/releases/plans/{number}", said="planned")


def _form(
    context: Context, *, typed: dict[str, str], problem: Problem | None = None, plan: Plan | None = None
) -> Response:
    with context.site.store.reading() as connection:
        everything = datasets.everything(connection)
    return context.page(
        "release_new.html",
        status=problem.status if problem else 200,
        problem=problem,
        plan=plan,
        typed=typed,
        datasets=offered(everything),
        laws=LAWS,
        formats=FORMATS,
    )


def plan_page(context: Here, said: str = "") -> Response:
    """What is planned, what would come of it, and what is to be decided."""
    return plan_again(context, said=remark(said))


def plan_again(context: Context, *, said: str = "", problem: Problem | None = None) -> Response:
    """The same, also with what went wrong."""
    plan = decisions.found(context, context.loaded.id)
    with context.site.store.reading() as connection:
        now, job = queue.moment(connection), decisions.last_job(connection, plan)
        second = _second(context, connection, plan) if plan.state == "planned" else None
    running = progress_of(job, now) if job is not None and job.active else None
    return context.page(
        "release_plan.html",
        status=problem.status if problem else 200,
        problem=problem,
        plan=plan,
        second=second,
        open_to_change=plan.state in plans.CHANGEABLE or decisions.is_stuck(context, plan),
        words=plans.WORDS,
        running=running,
        failed=job if job is not None and job.state in ("failed", "cancelled") else None,
        lines=lines_of(plan.preflight) if plan.preflight else [],
        said=said,
    )


def _second(context: Context, connection: Connection, plan: Plan) -> Second:
    asked = decisions.asked_of(plan)
    return History.read(connection).view(connection, asked, context.owner.name, "releases.approve")


def change_page(context: Here) -> Response:
    """The form again, with what is planned."""
    plan: Plan = context.loaded
    if plan.state not in plans.CHANGEABLE and not decisions.is_stuck(context, plan):
        raise plans.too_late()
    return _form(context, typed=shown_of(plan.content), plan=plan)


def change(context: Here) -> Response:
    """Plan something else instead."""
    plan: Plan = context.loaded
    try:
        version = context.form.whole("version", least=1, most=10**12)
        more = plan.kind == "more"
        names = names_in(context.form.verbatim("recipients", most=40_000, lines=True)) if more else []
        if more and not names:
            raise Problem(422, "Nobody is named.", remedy="Name at least one recipient, or withdraw the plan.")
        decisions.change(context, plan, names if more else wanted_in(context.form), version=version)
    except Exception as error:
        return _form(context, typed=typed_in(context.form), problem=_ours(error), plan=plan)
    return go(f"/releases/plans/{plan.id}", said="plan-changed")


def look(context: Here) -> Response:
    """Look again at what would come of it, after a job that could not be done."""
    return _or_say(context, lambda: _looked(context), said="")


def _looked(context: Context) -> None:
    if context.loaded.state != "planned":
        raise plans.too_late()
    decisions.look(context, context.loaded)


def approve(context: Here) -> Response:
    """Let copies be made."""
    return _or_say(
        context, lambda: decisions.approve(context, context.loaded, seen=context.form.text("seen")), said="approved"
    )


def reject(context: Here) -> Response:
    """Say no, and why."""
    return _or_say(
        context,
        lambda: decisions.reject(
            context,
            context.loaded,
            seen=context.form.text("seen"),
            reason=context.form.text("reason", most=decisions.LONGEST_REASON),
        ),
        said="rejected",
    )


def withdraw(context: Here) -> Response:
    """Nothing shall come of it."""
    return _or_say(context, lambda: decisions.withdraw(context, context.loaded), said="withdrawn")


def make(context: Here) -> Response:
    """Have the copies made."""
    return _or_say(context, lambda: decisions.make(context, context.loaded), said="")


def _or_say(context: Context, act: Callable[[], object], *, said: str) -> Response:
    try:
        act()
    except Exception as error:
        return plan_again(context, problem=_ours(error))
    return go(f"/releases/plans/{context.loaded.id}", said=said)


def _ours(error: Exception) -> Problem:
    """What to say on the page; what is a bug or ails the store is not for it."""
    problem = problem_of(error)
    if problem.status >= 500:
        raise error
    return problem


# What people type into the forms of the desk.
LAWS = (
    ("0.2/0.5", "0.2 and 0.5, the default: few claims name a leaker"),
    ("0.5", "0.5 for all: simplest"),
    ("nuida:2", "against two who collude"),
    ("nuida:3", "against three who collude"),
)
START: dict[str, str] = {
    "name": "",
    "dataset": "",
    "population": "",
    "recipients": "",
    "k": "5",
    "suppression": "10",
    "law": "0.2/0.5",
    "format": "parquet",
    "population_source": "",
    "population_licence": "",
    "counts_only": "",
    "sign_off": "",
    "agreement": AGREEMENT,
    "force": "",
}
"""What the form begins with."""
LONG = {"recipients": 40_000, "agreement": LONGEST_AGREEMENT}


def names_in(text: str) -> list[str]:
    """One name to a line, or several with commas between.

    >>> names_in("north\\n south, west \\n\\n")
    ['north', 'south', 'west']
    """
    parts = [part.strip() for line in text.splitlines() for part in line.split(",")]
    return [part for part in parts if part]


def typed_in(form: Form) -> dict[str, str]:
    """Every field as it was sent, to be shown again."""
    return {name: form.verbatim(name, most=LONG.get(name, 600), lines=name in LONG) for name in START}


def wanted_in(form: Form) -> NewPlan:
    """The plan that a form describes, as the API would be told."""
    typed = {name: value.strip() for name, value in typed_in(form).items()}
    given: dict[str, Any] = {**typed, "recipients": names_in(typed["recipients"])}
    for name, words in (("dataset", "the data"), ("population", "the population")):
        given[name] = form.whole(name, least=0, most=10**17) if typed[name] else _missing(words)
    given["k"] = form.whole("k", least=2, most=10**6)
    given["suppression"] = _percent(typed["suppression"])
    given["counts_only"], given["force"] = typed["counts_only"] == "yes", typed["force"] == "yes"
    given["agreement"] = typed["agreement"].replace("\r\n", "\n")
    try:
        return NewPlan.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = str(first["loc"][0]).replace("_", " ") if first["loc"] else "form"
        raise Problem(422, f"{field}: {first['msg']}.", remedy="Correct it and send the form again.") from None


def shown_of(content: dict[str, Any]) -> dict[str, str]:
    """What was planned, as the form shows it."""
    shown = {name: str(content.get(name, "")) for name in START}
    shown["name"], shown["recipients"] = content["release"], "\n".join(content["recipients"])
    if "suppression" in content:
        shown["suppression"] = f"{100 * content['suppression']:g}"
    for name in ("counts_only", "force"):
        shown[name] = "yes" if content.get(name) else ""
    return shown


def offered(everything: list[Dataset]) -> list[tuple[str, str]]:
    """Data sets to choose from."""
    return [("", "choose one"), *((str(one.id), one.name) for one in everything)]


def renamed_in(text: str) -> dict[str, str]:
    """Columns that are called otherwise: theirs = ours, one pair to a line.

    >>> renamed_in("plz = zip\\ngeschlecht=sex")
    {'plz': 'zip', 'geschlecht': 'sex'}
    """
    pairs = {}
    for line in filter(str.strip, text.splitlines()):
        theirs, sign, ours = line.partition("=")
        if not sign or not theirs.strip() or not ours.strip():
            raise Problem(
                422, "A column that is called otherwise is written as: theirs = ours.", remedy="One to a line."
            )
        pairs[theirs.strip()] = ours.strip()
    return pairs


def _percent(text: str) -> float:
    try:
        return float(text.replace(",", ".")) / 100
    except ValueError:
        raise Problem(422, "left out: that is not a number.", remedy="Write it as 5 or 2.5, in per cent.") from None


def _missing(words: str) -> int:
    raise Problem(422, f"Nobody has chosen {words} yet.", remedy="Choose a data set from the list.")


# A pre-flight in words: one figure and one sentence for each thing that somebody decides on.
@dataclass(frozen=True)
class Line:
    """A figure, what it is a figure of, what it means, and whether it asks for a second look."""

    figure: str
    name: str
    says: str
    caution: bool = False


def lines_of(found: dict[str, Any]) -> list[Line]:
    """All that was foreseen, what costs people first and what can be traced last."""
    return list(_lines(found))


def _lines(found: dict[str, Any]) -> Iterator[Line]:
    if "records" in found:
        yield _people(found)
    yield _marks(found)
    if "rows_lost" in found:
        yield _lost(found)
        yield _shift(found)
        yield _gate(found)
    yield _claims(found)
    yield _coalition(found)


def _people(found: dict[str, Any]) -> Line:
    says = (
        f"{found['released']:,} of {found['records']:,} people can be released, in {found['classes']:,} groups of at least "
        f"{found['k']} who look alike; {found['suppressed']:,} are left out of all copies."
    )
    return Line(percent(found["released"] / found["records"]), "of people released", says)


def _marks(found: dict[str, Any]) -> Line:
    marks, few = found["marks"], found["marks"] < FEWEST_MARKS
    if "pairs" not in found:
        says = "The same as in the copies that exist: nobody else's copy changes by a further recipient."
    else:
        says = (
            f"{marks // 2:,} groups of people that a copy may lack, and as many made-up ones that it may hold, out of "
            f"{plural(found['pairs'], 'pair', 'pairs')} of about the same size and link count."
        )
    return Line(
        f"{marks:,}", "marks", f"{says} Below {FEWEST_MARKS} a leak can hardly be traced." if few else says, few
    )


def _lost(found: dict[str, Any]) -> Line:
    says = (
        f"A copy lacks this share of the released rows on average, hardly ever more than {percent(found['most_lost'])}, however "
        "many recipients there are."
    )
    return Line(percent(found["rows_lost"]), "of rows lost", says)


def _shift(found: dict[str, Any]) -> Line:
    return Line(
        percent(found["largest_shift"]),
        "largest shift",
        "No value of any column changes its share of all rows by more in an average copy; a rare one may still lose most of its people.",
    )


def _gate(found: dict[str, Any]) -> Line:
    told = either_way(found["auc"])
    warned = told > max(WARN, found["floor"])
    says = f"How well a classifier tells made-up groups from real ones: 0.5 is guessing, and up to {found['floor']:.2f} may be luck."
    more = " A recipient who tries may find some of the decoys." if warned else ""
    return Line(f"{told:.2f}", "classifier (AUC)", f"{says}{more} {RECOGNISED}", warned)


def _claims(found: dict[str, Any]) -> Line:
    if found["claims"] is None:
        says = (
            "Half of all single leakers would never be named, however many people they claim: there are too few marks."
        )
        return Line("never", "claims until a name", says, caution=True)
    says = (
        "So many claims of re-identified people, the riskiest first, until a single leaker is named in half of all cases; "
        f"anybody innocent is accused in at most {percent(ALPHA)} of releases."
    )
    return Line(f"{found['claims']:.0f}", "claims until a name", says)


def _coalition(found: dict[str, Any]) -> Line:
    most, among = found["coalition"], plural(found["recipients"], "recipient", "recipients")
    needed = found["needed"][most] if most < len(found["needed"]) else None
    further = f" {needed:,} marks would be needed for {'one' if not most else most + 1}." if needed else ""
    if not most:
        says = f"From a leaked copy nobody of {among} can be named with confidence.{further}"
        return Line("0", "leakers traced", says, caution=True)
    if most == 1:
        says = f"From an unaltered copy a leaker who acts alone is found among {among}; two who collude may get away.{further} {ESCAPES}"
        return Line("1", "leaker at a time", says)
    says = (
        f"From copies put together in one of five ways that were played, one of up to {most} is found among {among}.{further} "
        f"{ESCAPES}"
    )
    return Line(f"{most}", "may collude", says)
