"""Pages of sensitivity studies, and of an expert's questions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import Connection
from starlette.responses import Response

from discreet.misuse.elicitation import Interview
from discreet.web.accounts import accounts
from discreet.web.accounts.accounts import Account
from discreet.web.framework.context import Context, Here, by_number, go
from discreet.web.framework.forms import Form
from discreet.web.framework.problems import Problem
from discreet.web.framework.route import Loads, Route, numbered
from discreet.web.sensitivity import store as studies
from discreet.web.sensitivity.store import SensitivityVersion, StoredInterview, Study
from discreet.web.sensitivity.view import (
    AGAIN,
    EXAMPLE,
    contradiction,
    items_of,
    named,
    question_view,
    text_of,
    together,
    value_of,
)

LONGEST_NAME, LONGEST_TEXT = 80, 8_000
RATINGS = 25

STUDY = by_number("study", studies.find)
VERSION = by_number("version", studies.version)
"""Studies and the versions made of them belong to the custodians together."""


def new_page(context: Here) -> Response:
    """The form of a new study."""
    return _form(context)


def begin(context: Here) -> Response:
    """Begin a study and invite its experts."""
    form = context.form
    name, text = form.text("name", most=LONGEST_NAME), form.verbatim("values", most=LONGEST_TEXT, lines=True)
    made: list[Study] = []
    try:
        if not name:
            raise Problem(422, "The study needs a name.", remedy="Give it one and send the form again.")
        items = items_of(text)
        ratings = form.whole("ratings", least=0, most=100)
        invited = _chosen(context, form)

        def along(connection: Connection) -> None:
            now = context.site.stamp()
            study = studies.add(connection, name=name, items=items, ratings=ratings, account=context.owner.id, now=now)
            for expert in invited:
                studies.invite(connection, study, expert.id, now)
            made.append(study)

        context.act("misuse.asked", f"study:{name}", along=along, values=len(items), experts=len(invited))
    except Problem as problem:
        return _form(context, problem=problem, name=name, text=text)
    return _panel(made[-1], said="study")


def _chosen(context: Context, form: Form) -> list[Account]:
    experts = _experts(context)
    chosen = form.choices("expert", [str(expert.id) for expert in experts])
    if not chosen:
        raise Problem(422, "No expert is invited.", remedy="Choose at least one expert, which may be yourself.")
    return [expert for expert in experts if str(expert.id) in chosen]


def _experts(context: Context) -> list[Account]:
    with context.site.store.reading() as connection:
        return [account for account in accounts.everybody(connection) if not account.disabled]


def _form(context: Context, *, problem: Problem | None = None, name: str = "", text: str = "") -> Response:
    experts = _experts(context)
    shown: dict[str, Any] = {"name": name, "text": text, "example": EXAMPLE, "experts": experts, "ratings": RATINGS}
    return context.page("study_new.html", problem=problem, **shown)


def _panel(study: Study, *, said: str) -> Response:
    return go(f"/sensitivity/{study.id}/panel", said=said)


def panel_page(context: Here) -> Response:
    """The experts, their combined scores, and the versions."""
    study: Study = context.loaded
    with context.site.store.reading() as connection:
        interviews = studies.interviews(connection, study.id)
        versions = studies.versions(connection, study.id)
    try:
        combined, waiting = together(interviews), ""
    except Problem as problem:
        combined, waiting = None, problem.problem
    asked = {interview.account for interview in interviews}
    return context.page(
        "study.html",
        study=study,
        experts=[(interview, contradiction(interview)) for interview in interviews],
        found=combined,
        waiting=waiting,
        versions=versions,
        others=[expert for expert in _experts(context) if expert.id not in asked],
    )


def invite(context: Here) -> Response:
    """Invite further experts."""
    study: Study = context.loaded
    invited = _chosen(context, context.form)

    def along(connection: Connection) -> None:
        for expert in invited:
            studies.invite(connection, study, expert.id, context.site.stamp())

    context.act("misuse.asked", study.subject, along=along, experts=len(invited))
    return _panel(study, said="invited")


def again(context: Here) -> Response:
    """Repeat the questions about the most disputed values to all experts."""
    study: Study = context.loaded
    with context.site.store.writing() as connection:
        disputed = together(studies.interviews(connection, study.id)).disputed
        asked = studies.ask_again(connection, study.id, disputed, most=AGAIN, now=context.site.stamp())
    return _panel(study, said="again" if asked else "agreed")


def close(context: Here) -> Response:
    """Take no further answers."""
    with context.site.store.writing() as connection:
        studies.close(connection, context.loaded.id, context.site.stamp())
    return _panel(context.loaded, said="study-closed")


def reopen(context: Here) -> Response:
    """Take answers again."""
    with context.site.store.writing() as connection:
        studies.close(connection, context.loaded.id, None)
    return _panel(context.loaded, said="study-open")


def make_version(context: Here) -> Response:
    """Store the combined scores under their digest, and record that in the ledger."""
    study: Study = context.loaded
    with context.site.store.reading() as connection:
        combined = together(studies.interviews(connection, study.id))
        same = [version for version in studies.versions(connection, study.id) if version.digest == combined.digest]
    if context.form.text("digest") != combined.digest:
        remedy = "Look at the scores again, then make the version."
        raise Problem(409, "An expert has answered meanwhile.", remedy=remedy)
    if same:
        return go(f"/sensitivity/versions/{same[0].id}")
    made: list[int] = []

    def along(connection: Connection) -> None:
        number = studies.keep_version(
            connection,
            study.id,
            digest=combined.digest,
            content=combined.content,
            account=context.owner.id,
            now=context.site.stamp(),
        )
        made.append(number)

    context.act("misuse.weighed", study.subject, along=along, version=combined.digest, experts=len(combined.experts))
    return go(f"/sensitivity/versions/{made[-1]}", said="version")


def version_page(context: Here) -> Response:
    """One version: the sections for the policy."""
    version: SensitivityVersion = context.loaded
    return context.page("version.html", version=version, toml=text_of(version.content, version.digest))


# -- an expert's answers: one question to a page, stopped and resumed at any time ----------------------------------------


@dataclass(frozen=True)
class ExpertTask:
    """A study, and one expert's interview in it."""

    study: Study
    interview: StoredInterview


def _find_task(context: Context, path: dict[str, str]) -> ExpertTask | None:
    with context.site.store.reading() as connection:
        study = studies.find(connection, numbered(path["number"]))
        if study is None or context.account is None:
            return None
        interview = studies.interview(connection, study.id, context.account.id)
    return None if interview is None else ExpertTask(study, interview)


TASK = Loads("interview", find=_find_task, may=lambda context, task: task.interview.account == context.owner.id)
"""Answers belong to the expert who gave them; an account that is not invited has none."""


def sensitivity_page(context: Here) -> Response:
    """The expert's open interviews, and, for custodians, all studies."""
    with context.site.store.reading() as connection:
        mine = studies.of_expert(connection, context.owner.id)
        every = studies.everything(connection) if context.may("sensitivity.change") else []
    return context.page("sensitivity.html", mine=mine, every=every)


def question_page(context: Here) -> Response:
    """The next question, or thanks."""
    task: ExpertTask = context.loaded
    question = task.interview.talk.next_question()
    return context.page(
        "question.html",
        study=task.study,
        kept=task.interview,
        asked=None if question is None or task.study.closed else question_view(task.interview.talk, question),
        contradiction=contradiction(task.interview),
    )


def answer(context: Here) -> Response:
    """Take an answer to the question that was shown; one to another question changes nothing."""
    task, form = _open(context), context.form
    said, asked = form.text("answer"), form.text("question")
    talk = task.interview.talk
    question = talk.next_question()
    if question is None or asked != named(question):
        return go(f"/sensitivity/{task.study.id}/question", said="moved-on")
    return _keep(context, task, talk.answer(question, value_of(question, said)))


def undo(context: Here) -> Response:
    """Take the last answer back; its question comes next."""
    task = _open(context)
    return _keep(context, task, task.interview.talk.undo())


def recheck(context: Here) -> Response:
    """Repeat the comparison that contradicts the others most."""
    task = _open(context)
    return _keep(context, task, task.interview.talk.recheck())


def _open(context: Context) -> ExpertTask:
    task: ExpertTask = context.loaded
    if task.study.closed:
        raise Problem(409, "The study is closed.", remedy="Ask a custodian if your answers are still wanted.")
    return task


def _keep(context: Context, task: ExpertTask, talk: Interview) -> Response:
    with context.site.store.writing() as connection:
        saved = studies.save(connection, task.interview, talk, context.site.stamp())
    return go(f"/sensitivity/{task.study.id}/question", said="" if saved else "moved-on")


Read = partial(Route, "GET")
Send = partial(Route, "POST", body="form")
_AT = "/sensitivity/{number}"

SENSITIVITY_ROUTES: tuple[Route, ...] = (
    Read("/sensitivity", "sensitivity.answer", sensitivity_page),
    Read("/sensitivity/new", "sensitivity.change", new_page),
    Send("/sensitivity/new", "sensitivity.change", begin),
    Read("/sensitivity/versions/{number}", "sensitivity.change", version_page, loads=VERSION),
    Read(f"{_AT}/question", "sensitivity.answer", question_page, loads=TASK),
    Send(f"{_AT}/answer", "sensitivity.answer", answer, loads=TASK),
    Send(f"{_AT}/undo", "sensitivity.answer", undo, loads=TASK),
    Send(f"{_AT}/recheck", "sensitivity.answer", recheck, loads=TASK),
    Read(f"{_AT}/panel", "sensitivity.change", panel_page, loads=STUDY),
    Send(f"{_AT}/invite", "sensitivity.change", invite, loads=STUDY),
    Send(f"{_AT}/again", "sensitivity.change", again, loads=STUDY),
    Send(f"{_AT}/close", "sensitivity.change", close, loads=STUDY),
    Send(f"{_AT}/reopen", "sensitivity.change", reopen, loads=STUDY),
    Send(f"{_AT}/versions", "sensitivity.change", make_version, loads=STUDY),
)
