"""Making a project: the tables, what their columns are, limits and pairs; then the machine works, and says how far it is."""

from __future__ import annotations

from typing import Any

from sqlalchemy import insert
from starlette.datastructures import UploadFile
from starlette.responses import JSONResponse, Response

from discreet.errors import DiscreetError
from discreet.linkage.project import INITIAL, NAME, list_projects
from discreet.store.tables.linkage import LOAN
from discreet.web.datasets import ingest, inspection
from discreet.web.datasets.store import Dataset
from discreet.web.framework.context import Context, Here, go
from discreet.web.framework.forms import Form
from discreet.web.framework.problems import Problem, problem_of
from discreet.web.framework.route import Loads, numbered
from discreet.web.linkage import columns as declared
from discreet.web.linkage import jobs as works
from discreet.web.linkage import store
from discreet.web.linkage.jobs import Work
from discreet.web.linkage.pages import limit
from discreet.web.remarks import remark

TABLES = ("first", "second")


def _find(context: Context, path: dict[str, str]) -> Work | None:
    with context.site.store.reading() as connection:
        return works.find(connection, numbered(path["number"]))


WORK = Loads("linkage work", find=_find, may=lambda context, work: context.may(context.route.permission))
"""What is in the making belongs to the managers, as projects do."""


def new_page(context: Here) -> Response:
    """The tables."""
    return _form(context)


def begin(context: Here) -> Response:
    """Keep what was sent, look at the names of the columns, and go on to what they are for."""
    kept: list[str] = []
    try:
        number = _begun(context, kept)
    except BaseException as error:
        context.site.places.folder.forget(kept)
        if not isinstance(error, DiscreetError):
            raise
        problem = problem_of(error)
        if problem.status >= 500:
            raise
        return _form(context, problem=problem)
    return go(f"/linkage/work/{number}")


def _begun(context: Context, kept: list[str]) -> int:
    form, site = context.form, context.site
    name = form.text("name", most=80)
    if not NAME.fullmatch(name):
        raise Problem(422, "A project is called by letters, digits, spaces, points and dashes.", remedy="Name it.")
    if any(one.name == name for one in list_projects(site.store)):
        raise Problem(409, "There is a project with this name already.", remedy="Choose another name.")
    encoding = form.choice("encoding", inspection.ENCODINGS)
    tables = [_table(context, which, encoding, kept) for which in TABLES]
    if tables[0] is None:
        raise Problem(422, "The first table is missing.", remedy="Choose a data set that is lent, or upload a file.")
    given = [one for one in tables if one is not None]
    pairs = _upload(context, form.files.get("pairs"), encoding, kept)
    with site.store.writing() as connection:
        asked = {"tables": given, "pairs": pairs}
        return works.add(connection, kind="make", name=name, account=context.owner.id, asked=asked)


def _table(context: Context, which: str, encoding: str, kept: list[str]) -> dict[str, Any] | None:
    uploaded = _upload(context, context.form.files.get(which), encoding, kept)
    if uploaded is not None:
        return uploaded
    chosen = context.form.text(f"{which}_dataset")
    if not chosen:
        return None
    found = next((one for one in _lent(context) if str(one.id) == chosen), None)
    if found is None:
        raise Problem(422, "That data set is not lent to linkage.", remedy="Ask a custodian to lend it.")
    return {"name": found.name, "columns": list(found.columns), "dataset": found.id, "encoding": found.encoding}


def _upload(context: Context, upload: UploadFile | None, encoding: str, kept: list[str]) -> dict[str, Any] | None:
    if upload is None or not upload.filename:
        return None
    called = ingest.plain_name(upload.filename)
    ending = inspection.ending_of(called)
    path = context.site.places.folder.new("upload", ending)
    kept.append(path.name)
    ingest.keep(context, upload, path)
    found = ingest.inspected(context, path, called, ending, encoding)
    text = None if ending == "parquet" else encoding
    return {"name": called, "columns": list(found.columns), "upload": path.name, "encoding": text}


def _lent(context: Context) -> list[Dataset]:
    with context.site.store.reading() as connection:
        return store.lent(connection)


def _form(context: Context, *, problem: Problem | None = None) -> Response:
    return context.page(
        "linkage_new.html",
        status=problem.status if problem else 200,
        problem=problem,
        name=context.form.text("name", most=2_000) if problem else "",
        lent=_lent(context),
        encodings=inspection.ENCODINGS,
        largest=context.site.settings.largest_upload,
    )


# -- what the columns are ---------------------------------------------------------------------------------------------


def work_page(context: Here, said: str = "") -> Response:
    """What the columns are for, or how far the machine is."""
    return _work(context, said=remark(said))


def _work(context: Context, *, said: str = "", problem: Problem | None = None) -> Response:
    work: Work = context.loaded
    if work.state == "done" and work.project is not None:
        return go(f"/linkage/{work.project}", said="made")
    if work.kind == "retrain":
        return go(f"/linkage/{work.project}")
    others = work.tables[1]["columns"] if len(work.tables) == 2 else []
    columns = declared.suggested(work.tables[0]["columns"], others)
    return context.page(
        "linkage_work.html",
        status=problem.status if problem else 200,
        problem=problem,
        said=said,
        work=work,
        words=words_of(work),
        columns=columns,
        others=others,
        seconds=declared.suggested(others, []),
        swap=declared.swap_of(columns),
        uses=declared.USES,
        second_uses={name: declared.USES[name] for name in declared.SECOND},
        dates={key: words for key, (words, _) in declared.DATES.items()},
        initial=INITIAL,
        typed=_typed(context.form) if problem else {},
    )


def _typed(form: Form) -> dict[str, str]:
    return {name: values[0] for name, values in form.fields.items() if len(values) == 1 and len(values[0]) <= 200}


def declare(context: Here) -> Response:
    """The columns are declared, or it is tried again: now the machine works."""
    work: Work = context.loaded
    try:
        asked = work.asked if context.form.text("again") == "yes" and "link" in work.asked else _declared(context, work)
        with context.site.store.writing() as connection:
            if not works.begin(connection, work.id, asked):
                raise Problem(409, "It is being worked on already.", remedy="Wait until it is done.")
    except DiscreetError as error:
        problem = problem_of(error)
        if problem.status >= 500:
            raise
        return _work(context, problem=problem)
    if context.site.foreman is not None:
        context.site.foreman.wake()
    return go(f"/linkage/work/{work.id}")


def _declared(context: Context, work: Work) -> dict[str, Any]:
    form = context.form
    link = declared.link_of(form, work.tables)
    score = form.text("score", most=200) or None
    if score is not None and (work.asked.get("pairs") is None or score not in work.asked["pairs"]["columns"]):
        raise Problem(422, "The pair file has no such column.", remedy="Leave the score empty, or name a column.")
    settings = {
        "initial": form.choice("initial", tuple(INITIAL)),
        "kappa": form.whole("kappa", least=1, most=10**6),
        "strict": form.text("strict") == "yes",
        "risk_limit": limit(form, "risk"),
        "characters_limit": limit(form, "characters"),
    }
    finding = {
        "review": form.whole("review", least=0, most=10**9) if form.text("review") else None,
        "most_pairs": form.whole("most_pairs", least=1, most=10**9) if form.text("most_pairs") else None,
        "once": form.text("once") == "yes",
        "score": score,
    }
    return {**work.asked, "link": link, "settings": settings, "finding": finding}


def discard(context: Here) -> Response:
    """It shall not be done; what was uploaded for it goes."""
    work: Work = context.loaded
    with context.site.store.writing() as connection:
        gone = works.discard(connection, work.id)
    if gone:
        context.site.places.folder.forget(work.uploads)
    if context.site.foreman is not None:
        context.site.foreman.wake()
    return go("/linkage", said="discarded" if gone else "")


def work_state(context: Here) -> Response:
    """How far it is, for the module that redraws the bar."""
    work: Work = context.loaded
    return JSONResponse({"state": work.state, "percent": work.percent, "words": words_of(work)})


def words_of(work: Work) -> str:
    """Where it stands."""
    share = "" if work.percent is None else f", {work.percent} %"
    again = f", attempt {work.attempts}" if work.attempts > 1 and work.active else ""
    return f"{work.step}{share}{again}"


# -- lending ----------------------------------------------------------------------------------------------------------


def lend(context: Here) -> Response:
    """A custodian lends a data set to the managers of linkage, or takes it back."""
    dataset: Dataset = context.loaded
    wanted = context.form.choice("lend", ("yes", "no")) == "yes"

    def along(connection: Any) -> None:
        connection.execute(LOAN.delete().where(LOAN.c.dataset == dataset.id))
        if wanted:
            row = {"dataset": dataset.id, "account": context.owner.id, "made": context.site.stamp()}
            connection.execute(insert(LOAN).values(row))

    context.act("web.dataset", dataset.subject, along=along, act="lent" if wanted else "not lent", to="linkage")
    return go(f"/datasets/{dataset.id}", said="lent" if wanted else "not-lent")
