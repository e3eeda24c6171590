"""Pages of studies, and of an expert's questions."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection
from starlette.responses import Response

from discreet.misuse.elicitation import Interview
from discreet.web.accounts import accounts
from discreet.web.accounts.accounts import Account
from discreet.web.framework.context import Context, Here, go
from discreet.web.framework.format import remark
from discreet.web.framework.forms import Form
from discreet.web.framework.problems import Problem
from discreet.web.framework.route import Loads, numbered
from discreet.web.sensitivity import store as studies
from discreet.web.sensitivity.store import Kept, Study, Version
from discreet.web.sensitivity.view import (
    AGAIN,
    EXAMPLE,
    Combined,
    contradiction,
    items_of,
    named,
    shown,
    text_of,
    together,
    value_of,
)

LONGEST_NAME, LONGEST_TEXT = 80, 8_000
RATINGS = 25


def _find(context: Context, path: dict[str, str]) -> Study | None:
    with context.site.store.reading() as connection:
        return studies.find(connection, numbered(path["number"]))


STUDY = Loads("study", find=_find, may=lambda context, study: context.may("sensitivity.change"))
"""Studies belong to the custodians, who look after them together."""


def _find_version(context: Context, path: dict[str, str]) -> Version | None:
    with context.site.store.reading() as connection:
        return studies.version(connection, numbered(path["number"]))


VERSION = Loads("version", find=_find_version, may=lambda context, version: context.may("sensitivity.change"))
"""So do the versions made of them."""


def new_page(context: Here) -> Response:
    """The form."""
    return _form(context)


def begin(context: Here) -> Response:
    """A new study, its experts invited."""
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
            for one in invited:
                studies.invite(connection, study, one.id, now)
            made.append(study)

        context.act("misuse.asked", f"study:{name}", along=along, values=len(items), experts=len(invited))
    except Problem as problem:
        return _form(context, problem=problem, name=name, text=text)
    return go(f"/sensitivity/{made[-1].id}/panel", said="study")


def _chosen(context: Context, form: Form) -> list[Account]:
    everybody = _experts(context)
    chosen = form.choices("expert", [str(one.id) for one in everybody])
    if not chosen:
        raise Problem(422, "Nobody is invited.", remedy="Choose at least one expert, which may be yourself.")
    return [one for one in everybody if str(one.id) in chosen]


def _experts(context: Context) -> list[Account]:
    with context.site.store.reading() as connection:
        return [one for one in accounts.everybody(connection) if not one.disabled]


def _form(context: Context, *, problem: Problem | None = None, name: str = "", text: str = "") -> Response:
    return context.page(
        "study_new.html",
        status=problem.status if problem else 200,
        problem=problem,
        name=name,
        text=text,
        example=EXAMPLE,
        experts=_experts(context),
        ratings=RATINGS,
    )


def panel_page(context: Here, said: str = "") -> Response:
    """The experts, what they say together, and the versions."""
    study: Study = context.loaded
    with context.site.store.reading() as connection:
        kept = studies.interviews(connection, study.id)
        versions = studies.versions(connection, study.id)
    found, waiting = _together(kept)
    asked = {one.account for one in kept}
    return context.page(
        "study.html",
        study=study,
        experts=[(one, contradiction(one)) for one in kept],
        found=found,
        waiting=waiting,
        versions=versions,
        others=[one for one in _experts(context) if one.id not in asked],
        said=remark(said),
    )


def _together(kept: list[Kept]) -> tuple[Combined | None, str]:
    try:
        return together(kept), ""
    except Problem as problem:
        return None, problem.problem


def invite(context: Here) -> Response:
    """Ask further experts."""
    study: Study = context.loaded
    invited = _chosen(context, context.form)

    def along(connection: Connection) -> None:
        for one in invited:
            studies.invite(connection, study, one.id, context.site.stamp())

    context.act("misuse.asked", study.subject, along=along, experts=len(invited))
    return go(f"/sensitivity/{study.id}/panel", said="invited")


def again(context: Here) -> Response:
    """Put the questions about what is most in dispute once more to everybody."""
    study: Study = context.loaded
    with context.site.store.writing() as connection:
        disputed = together(studies.interviews(connection, study.id)).disputed
        asked = studies.ask_again(connection, study.id, disputed, most=AGAIN, now=context.site.stamp())
    return go(f"/sensitivity/{study.id}/panel", said="again" if asked else "agreed")


def close(context: Here) -> Response:
    """Nobody answers any more."""
    study: Study = context.loaded
    with context.site.store.writing() as connection:
        studies.close(connection, study.id, context.site.stamp())
    return go(f"/sensitivity/{study.id}/panel", said="study-closed")


def reopen(context: Here) -> Response:
    """Answers are taken again."""
    study: Study = context.loaded
    with context.site.store.writing() as connection:
        studies.close(connection, study.id, None)
    return go(f"/sensitivity/{study.id}/panel", said="study-open")


def make_version(context: Here) -> Response:
    """Keep what experts say together under a digest, and write that down."""
    study: Study = context.loaded
    with context.site.store.reading() as connection:
        found = together(studies.interviews(connection, study.id))
        there = [one for one in studies.versions(connection, study.id) if one.digest == found.digest]
    if context.form.text("digest") != found.digest:
        raise Problem(
            409, "Somebody has answered meanwhile.", remedy="Look at the scores again, then make the version."
        )
    if there:
        return go(f"/sensitivity/versions/{there[0].id}")
    made: list[int] = []

    def along(connection: Connection) -> None:
        now = context.site.stamp()
        number = studies.keep_version(
            connection, study.id, digest=found.digest, content=found.content, account=context.owner.id, now=now
        )
        made.append(number)

    context.act("misuse.weighed", study.subject, along=along, version=found.digest, experts=len(found.experts))
    return go(f"/sensitivity/versions/{made[-1]}", said="version")


def version_page(context: Here, said: str = "") -> Response:
    """One version: the sections for the policy."""
    version: Version = context.loaded
    return context.page(
        "version.html", version=version, toml=text_of(version.content, version.digest), said=remark(said)
    )


# Answering: one question to a page, by keyboard or mouse; stopped and resumed at will.
@dataclass(frozen=True)
class Mine:
    """A study, and what one expert said in it."""

    study: Study
    kept: Kept


def _find_interview(context: Context, path: dict[str, str]) -> Mine | None:
    with context.site.store.reading() as connection:
        found = studies.find(connection, numbered(path["number"]))
        kept = None if found is None or context.account is None else studies.interview(connection, found.id, context.account.id)  # fmt: skip
    return None if found is None or kept is None else Mine(found, kept)


INTERVIEW = Loads("interview", find=_find_interview, may=lambda context, mine: mine.kept.account == context.owner.id)
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
