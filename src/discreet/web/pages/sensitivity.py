"""Answering: one question to a page, by keyboard or mouse; stopped and resumed at will."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.responses import Response

from discreet.misuse.elicitation import Interview
from discreet.web.framework.context import Context, Here, go
from discreet.web.framework.problems import Problem
from discreet.web.framework.route import Loads, numbered
from discreet.web.remarks import remark
from discreet.web.sensitivity import store as studies
from discreet.web.sensitivity.panel import contradiction
from discreet.web.sensitivity.questions import named, shown, value_of
from discreet.web.sensitivity.store import Kept, Study


@dataclass(frozen=True)
class Mine:
    """A study, and what one expert said in it."""

    study: Study
    kept: Kept


def _find(context: Context, path: dict[str, str]) -> Mine | None:
    with context.site.store.reading() as connection:
        found = studies.find(connection, numbered(path["number"]))
        kept = None if found is None or context.account is None else studies.interview(connection, found.id, context.account.id)  # fmt: skip
    return None if found is None or kept is None else Mine(found, kept)


INTERVIEW = Loads("interview", find=_find, may=lambda context, mine: mine.kept.account == context.owner.id)
"""Answers belong to whoever gave them; who is not invited has none."""


def sensitivity_page(context: Here, said: str = "") -> Response:
    """What waits for one's answers, and, for custodians, all studies."""
    with context.site.store.reading() as connection:
        mine = studies.of_expert(connection, context.owner.id)
        every = studies.everything(connection) if context.may("sensitivity.change") else []
    return context.page("sensitivity.html", mine=mine, every=every, said=remark(said))


def question_page(context: Here, said: str = "") -> Response:
    """The next question, or thanks."""
    mine: Mine = context.loaded
    question = mine.kept.talk.next_question()
    return context.page(
        "question.html",
        study=mine.study,
        kept=mine.kept,
        asked=None if question is None or mine.study.closed else shown(mine.kept.talk, question),
        contradiction=contradiction(mine.kept),
        said=remark(said),
    )


def answer(context: Here) -> Response:
    """Take an answer to the question that was shown; one to another question changes nothing."""
    mine, form = _open(context), context.form
    said, asked = form.text("answer"), form.text("question")
    talk = mine.kept.talk
    question = talk.next_question()
    if question is None or asked != named(question):
        return _on(mine, said="moved-on")
    return _keep(context, mine, talk.answer(question, value_of(question, said)))


def undo(context: Here) -> Response:
    """Take the last answer back; its question comes next."""
    mine = _open(context)
    return _keep(context, mine, mine.kept.talk.undo())


def recheck(context: Here) -> Response:
    """Put the comparison that contradicts the others most once more."""
    mine = _open(context)
    return _keep(context, mine, mine.kept.talk.recheck())


def _open(context: Context) -> Mine:
    mine: Mine = context.loaded
    if mine.study.closed:
        raise Problem(409, "The study is closed.", remedy="Ask a custodian if your answers are still wanted.")
    return mine


def _keep(context: Context, mine: Mine, talk: Interview) -> Response:
    with context.site.store.writing() as connection:
        kept = studies.save(connection, mine.kept, talk, context.site.stamp())
    return _on(mine, said="" if kept else "moved-on")


def _on(mine: Mine, *, said: str) -> Response:
    return go(f"/sensitivity/{mine.study.id}/question", said=said)
