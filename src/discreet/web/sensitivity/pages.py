"""Pages of sensitivity studies, and of an expert's questions."""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection
from starlette.responses import Response

from discreet.misuse.elicitation import Compare, Interview, Question
from discreet.misuse.evaluation import compare_methods, study_files
from discreet.web.accounts import accounts
from discreet.web.accounts.accounts import Account
from discreet.web.framework.context import Context, Here, by_number, go, or_again
from discreet.web.framework.forms import Form
from discreet.web.framework.problems import Problem
from discreet.web.framework.route import Loads, Page, Route, Submit, numbered
from discreet.web.sensitivity import store as studies
from discreet.web.sensitivity.store import SensitivityVersion, StoredInterview, Study, contradiction, together

LONGEST_NAME, LONGEST_TEXT = 80, 8_000
LONGEST_ANSWER = 3_600
"""Seconds after which nobody was answering any more."""
RATINGS = 25

STUDY = by_number("study", studies.find)
VERSION = by_number("version", studies.version)
"""Studies and the versions made of them belong to the custodians together."""


def new_page(context: Here) -> Response:
    """The form of a new study."""
    form = context.form
    return context.page(
        "study_new.html",
        name=form.text("name", most=LONGEST_NAME),
        text=form.verbatim("values", most=LONGEST_TEXT, lines=True),
        example=studies.EXAMPLE,
        experts=_experts(context),
        ratings=RATINGS,
    )


@or_again(new_page)
def begin(context: Here) -> Response:
    """Begin a study and invite its experts."""
    form = context.form
    name, text = form.text("name", most=LONGEST_NAME), form.verbatim("values", most=LONGEST_TEXT, lines=True)
    if not name:
        raise Problem(422, "The study needs a name.", remedy="Give it one and send the form again.")
    items = studies.items_of(text)
    ratings = form.whole("ratings", least=0, most=100)
    invited = _chosen(context, form)

    def along(connection: Connection) -> Study:
        now = context.site.stamp()
        study = studies.add(connection, name=name, items=items, ratings=ratings, account=context.owner.id, now=now)
        for expert in invited:
            studies.invite(connection, study, expert.id, now)
        return study

    study = context.act("misuse.asked", f"study:{name}", along=along, values=len(items), experts=len(invited))
    return _panel(study, said="study")


def _chosen(context: Context, form: Form) -> list[Account]:
    experts = _experts(context)
    chosen = form.choices("expert", [str(expert.id) for expert in experts])
    if not chosen:
        raise Problem(422, "No expert is invited.", remedy="Choose at least one expert, which may be yourself.")
    return [expert for expert in experts if str(expert.id) in chosen]


def _experts(context: Context) -> list[Account]:
    with context.site.store.reading() as connection:
        return [account for account in accounts.everybody(connection) if not account.disabled]


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
    said_something = [one.talk for one in interviews if one.talk.pairs and one.talk.rated]
    return context.page(
        "study.html",
        study=study,
        experts=[(interview, contradiction(interview)) for interview in interviews],
        found=combined,
        waiting=waiting,
        methods=compare_methods(said_something) if said_something else None,
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
        asked = studies.ask_again(connection, study.id, disputed, most=studies.AGAIN, now=context.site.stamp())
    return _panel(study, said="again" if asked else "agreed")


def take_study(context: Here) -> Response:
    """Answers with their times and scores by method, recorded before they are sent."""
    study: Study = context.loaded
    with context.site.store.reading() as connection:
        talks = [interview.talk for interview in studies.interviews(connection, study.id)]
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in study_files(talks).items():
            archive.writestr(name, text)
    context.act("misuse.asked", study.subject, act="exported", experts=len(talks))
    headers = {"Content-Disposition": 'attachment; filename="study.zip"'}
    return Response(content.getvalue(), media_type="application/zip", headers=headers)


def close(context: Here) -> Response:
    """Take no further answers, or (on `/reopen`) take them again."""
    closed = context.site.stamp() if context.route.path.endswith("/close") else None
    with context.site.store.writing() as connection:
        studies.close(connection, context.loaded.id, closed)
    return _panel(context.loaded, said="study-open" if closed is None else "study-closed")


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

    def along(connection: Connection) -> int:
        values: dict[str, Any] = {"digest": combined.digest, "content": combined.content, "account": context.owner.id}
        return studies.keep_version(connection, study.id, **values, now=context.site.stamp())

    number = context.act(
        "misuse.weighed", study.subject, along=along, version=combined.digest, experts=len(combined.experts)
    )
    return go(f"/sensitivity/versions/{number}", said="version")


def version_page(context: Here) -> Response:
    """One version: the sections for the policy."""
    version: SensitivityVersion = context.loaded
    return context.page("version.html", version=version, overdue=version.reminder(context.site.stamp()[:10]))


# -- an expert's answers: one question to a page, stopped and resumed at any time ----------------------------------------


ExpertTask = tuple[Study, StoredInterview]
"""A study, and one expert's interview in it."""


def _find_task(context: Context, path: dict[str, str]) -> ExpertTask | None:
    with context.site.store.reading() as connection:
        study = studies.find(connection, numbered(path["number"]))
        if study is None or context.account is None:
            return None
        interview = studies.interview(connection, study.id, context.account.id)
    return None if interview is None else (study, interview)


TASK = Loads("interview", find=_find_task, may=lambda context, task: task[1].account == context.owner.id)
"""Answers belong to the expert who gave them; an account that is not invited has none."""


def sensitivity_page(context: Here) -> Response:
    """The expert's open interviews, and, for custodians, all studies."""
    with context.site.store.reading() as connection:
        mine = studies.of_expert(connection, context.owner.id)
        every = studies.everything(connection) if context.may("sensitivity.change") else []
        newest = {study.id: studies.versions(connection, study.id)[:1] for study in every}
    today = context.site.stamp()[:10]
    overdue = {number: found[0].reminder(today) for number, found in newest.items() if found}
    return context.page("sensitivity.html", mine=mine, every=every, overdue=overdue)


def question_page(context: Here) -> Response:
    """The next question, or thanks."""
    study, interview = context.loaded
    talk: Interview = interview.talk
    question, asked = talk.next_question(), None
    if question is not None and not study.closed:
        compares = isinstance(question, Compare)
        items = (question.first, question.second) if isinstance(question, Compare) else question.items
        asked = {
            "name": named(question),
            "number": len(talk.answers) + 1,
            "left": max(0, talk.left - 1),
            "percent": interview.percent,
            "compares": compares,
            "things": [str(talk.items[item]) for item in items],
            "buttons": comparison_buttons() if compares else rating_buttons(),
        }
    shown = {"study": study, "kept": interview, "asked": asked, "contradiction": contradiction(interview)}
    return context.page("question.html", **shown)


def answer(context: Here) -> Response:
    """Take an answer to the question that was shown; any other changes nothing."""
    (study, interview), form = _open(context), context.form
    said, asked = form.text("answer"), form.text("question")
    question = interview.talk.next_question()
    if question is None or asked != named(question):
        return go(f"/sensitivity/{study.id}/question", said="moved-on")
    # The time since the answer before; a break of an hour or more is no answering.
    pause = (datetime.fromisoformat(context.site.stamp()) - datetime.fromisoformat(interview.changed)).total_seconds()
    seconds = pause if interview.talk.answers and 0 <= pause < LONGEST_ANSWER else None
    return _keep(context, interview.talk.answer(question, value_of(question, said), seconds=seconds))


def undo(context: Here) -> Response:
    """Take the last answer back; its question comes next."""
    return _keep(context, _open(context)[1].talk.undo())


def recheck(context: Here) -> Response:
    """Repeat the comparison that contradicts the others most."""
    return _keep(context, _open(context)[1].talk.recheck())


def _open(context: Context) -> ExpertTask:
    task: ExpertTask = context.loaded
    if task[0].closed:
        raise Problem(409, "The study is closed.", remedy="Ask a custodian if your answers are still wanted.")
    return task


def _keep(context: Context, talk: Interview) -> Response:
    study, interview = context.loaded
    with context.site.store.writing() as connection:
        saved = studies.save(connection, interview, talk, context.site.stamp())
    return go(f"/sensitivity/{study.id}/question", said="" if saved else "moved-on")


# -- a question: its name, and the buttons with their keys ------------------------------------------------------------


@dataclass(frozen=True)
class Button:
    """One answer."""

    value: str
    """As the form sends it."""
    label: str
    words: str
    """The text for a screen reader."""
    key: str


STRENGTHS = {9: "extremely", 7: "very much", 5: "much", 3: "somewhat"}
RATIOS: dict[str, float] = {
    **{f"a{times}": float(times) for times in STRENGTHS},
    "alike": 1.0,
    **{f"b{times}": 1 / times for times in reversed(STRENGTHS)},
}
"""The first over the second, in nine steps of Saaty's scale."""


def comparison_buttons() -> list[Button]:
    """From the first to the second far ahead, on the keys 1 to 9."""
    labels = {"alike": ("alike", "Both are alike")}
    for times, strength in STRENGTHS.items():
        for which in "AB":
            words = f"{which} is {strength} more harmful, {times} times"
            labels[f"{which.lower()}{times}"] = (f"{times}×", words)
    return [Button(value, *labels[value], str(key)) for key, value in enumerate(RATIOS, start=1)]


def rating_buttons() -> list[Button]:
    """From 0 to 10; the key of 10 is x."""
    return [
        Button(str(number), str(number), f"{number} of 10", "x" if number == 10 else str(number))
        for number in range(11)
    ]


def named(question: Question) -> str:
    """The name of a question in the form; answers are never mixed up.

    >>> named(Compare(3, 5))
    'compare 3 5'
    """
    if isinstance(question, Compare):
        return f"compare {question.first} {question.second}"
    return "rate " + " ".join(str(item) for item in question.items)


def value_of(question: Question, said: str) -> float | None:
    """The value of an answer; None to pass."""
    if said == "pass":
        return None
    if isinstance(question, Compare):
        if said in RATIOS:
            return RATIOS[said]
    elif said in {str(number) for number in range(11)}:
        return int(said) / 10
    raise Problem(422, "This is not an answer to the question.", remedy="Choose one of the buttons.")


_AT = "/sensitivity/{number}"

SENSITIVITY_ROUTES: tuple[Route, ...] = (
    Page("/sensitivity", "sensitivity.answer", sensitivity_page),
    Page("/sensitivity/new", "sensitivity.change", new_page),
    Submit("/sensitivity/new", "sensitivity.change", begin),
    Page("/sensitivity/versions/{number}", "sensitivity.change", version_page, loads=VERSION),
    Page(f"{_AT}/question", "sensitivity.answer", question_page, loads=TASK),
    Submit(f"{_AT}/answer", "sensitivity.answer", answer, loads=TASK),
    Submit(f"{_AT}/undo", "sensitivity.answer", undo, loads=TASK),
    Submit(f"{_AT}/recheck", "sensitivity.answer", recheck, loads=TASK),
    Page(f"{_AT}/panel", "sensitivity.change", panel_page, loads=STUDY),
    Submit(f"{_AT}/invite", "sensitivity.change", invite, loads=STUDY),
    Submit(f"{_AT}/again", "sensitivity.change", again, loads=STUDY),
    Submit(f"{_AT}/export", "sensitivity.change", take_study, loads=STUDY),
    Submit(f"{_AT}/close", "sensitivity.change", close, loads=STUDY),
    Submit(f"{_AT}/reopen", "sensitivity.change", close, loads=STUDY),
    Submit(f"{_AT}/versions", "sensitivity.change", make_version, loads=STUDY),
)
