"""New linkage project: tables, columns, limits and pairs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import insert
from starlette.datastructures import UploadFile
from starlette.responses import JSONResponse, Response

from discreet.linkage import LinkageSpec
from discreet.linkage.project import INITIAL, NAME, list_projects
from discreet.store.tables.linkage import LOAN
from discreet.web.datasets import ingest, inspection
from discreet.web.datasets.store import Dataset
from discreet.web.framework.context import Context, Here, by_number, go, or_again
from discreet.web.framework.forms import Form
from discreet.web.framework.problems import Problem
from discreet.web.jobs import store as jobs
from discreet.web.linkage import store
from discreet.web.linkage.store import Work

TABLES = ("first", "second")
WORK = by_number("linkage work", store.find_work)
"""Managers look after projects in the making together, as they do after projects."""


def new_page(context: Here) -> Response:
    """The form for the tables."""
    return context.page(
        "linkage_new.html",
        name=context.form.text("name", most=2_000) if context.problem else "",
        lent=_lent(context),
        encodings=inspection.ENCODINGS,
        listed=inspection.LISTED,
        largest=context.site.settings.largest_upload,
    )


@or_again(new_page)
def begin(context: Here) -> Response:
    """Store the tables, read their column names, and continue with the columns' uses."""
    form, site = context.form, context.site
    name = form.text("name", most=80)
    if not NAME.fullmatch(name):
        words = "The name of a project consists of letters, digits, spaces, points and dashes."
        raise Problem(422, words, remedy="Choose such a name.")
    if any(project.name == name for project in list_projects(site.store)):
        raise Problem(409, "There is a project with this name already.", remedy="Choose another name.")
    encoding = form.choice("encoding", inspection.ENCODINGS)
    uploads: list[str] = []
    try:
        tables = [_table(context, which, encoding, uploads) for which in TABLES]
        if tables[0] is None:
            words = "Choose a data set that is lent, or upload a file."
            raise Problem(422, "The first table is missing.", remedy=words)
        pairs = _upload(context, form.files.get("pairs"), encoding, uploads)
        asked = {"tables": [table for table in tables if table is not None], "pairs": pairs}
        with site.store.writing() as connection:
            number = store.add_work(connection, kind="make", name=name, account=context.owner.id, asked=asked)
    except BaseException:
        site.places.folder.forget(uploads)
        raise
    return go(f"/linkage/work/{number}")


def _table(context: Context, which: str, encoding: str, uploads: list[str]) -> dict[str, Any] | None:
    uploaded = _upload(context, context.form.files.get(which), encoding, uploads)
    if uploaded is not None:
        return uploaded
    chosen = context.form.text(f"{which}_dataset")
    if not chosen:
        return None
    dataset = next((dataset for dataset in _lent(context) if str(dataset.id) == chosen), None)
    if dataset is None:
        raise Problem(422, "That data set is not lent to linkage.", remedy="Ask a custodian to lend it.")
    columns = list(dataset.columns)
    return {"name": dataset.name, "columns": columns, "dataset": dataset.id, "encoding": dataset.encoding}


def _upload(context: Context, upload: UploadFile | None, encoding: str, uploads: list[str]) -> dict[str, Any] | None:
    if upload is None or not upload.filename:
        return None
    name = ingest.plain_name(upload.filename)
    ending = inspection.ending_of(name)
    path = context.site.places.folder.new("upload", ending)
    uploads.append(path.name)
    ingest.keep(context, upload, path)
    table = ingest.inspected(context, path, name, ending, encoding)
    return {"name": name, "columns": list(table.columns), "upload": path.name, "encoding": table.encoding}


def _lent(context: Context) -> list[Dataset]:
    with context.site.store.reading() as connection:
        return store.lent(connection)


# -- what the columns are ---------------------------------------------------------------------------------------------


def work_page(context: Here) -> Response:
    """What the columns are for, or the progress of the machine."""
    work: Work = context.loaded
    if work.state == "done" and work.project is not None:
        return go(f"/linkage/{work.project}", said="made")
    if work.kind != "make":
        return go(f"/linkage/{work.project}")
    others = work.tables[1]["columns"] if len(work.tables) == 2 else []
    sent = context.form.fields.items() if context.problem else ()
    columns = suggested(work.tables[0]["columns"], others)
    return context.page(
        "linkage_work.html",
        work=work,
        words=work.progress_words(),
        columns=columns,
        others=others,
        seconds=suggested(others, []),
        swap=swap_of(columns),
        uses=USES,
        second_uses={name: USES[name] for name in SECOND},
        dates={key: words for key, (words, _) in DATES.items()},
        initial=INITIAL,
        typed={name: values[0] for name, values in sent if len(values) == 1 and len(values[0]) <= 200},
    )


@or_again(work_page)
def declare(context: Here) -> Response:
    """Take the declaration of the columns, or try again, and let the machine work."""
    work: Work = context.loaded
    form, asked = context.form, work.asked
    if form.text("again") != "yes" or "link" not in asked:
        link = link_of(form, work.tables)
        score = form.text("score", most=200) or None
        if score is not None and (asked.get("pairs") is None or score not in asked["pairs"]["columns"]):
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
            "rules": rules_of(form.verbatim("rules", most=2_000, lines=True), list(link["linkage"]["identifying"])),
        }
        asked = {**asked, "link": link, "settings": settings, "finding": finding}
    with context.site.store.writing() as connection:
        if not store.begin_work(connection, work.id, asked):
            raise Problem(409, "It is being worked on already.", remedy="Wait until it is done.")
    context.site.wake_supervisor()
    return go(f"/linkage/work/{work.id}")


def limit(form: Form, name: str) -> str | None:
    """A limit in per cent as an exact share; None for an empty field."""
    text = form.text(name, most=20).replace(",", ".").replace("%", "").strip()
    if not text:
        return None
    plain = text.replace(".", "", 1)
    if not (plain.isascii() and plain.isdigit()) or not 0 <= float(text) <= 100:
        raise Problem(422, "A limit is a number from 0 to 100 per cent.", remedy="Write it as 12.5, or leave it empty.")
    whole, _, part = text.partition(".")
    return f"{int(whole or '0') * 10 ** len(part) + int(part or '0')}/{100 * 10 ** len(part)}"


def discard(context: Here) -> Response:
    """Discard it, and delete what was uploaded for it."""
    work: Work = context.loaded
    with context.site.store.writing() as connection:
        discarded = jobs.cancel(connection, work.id, of=Work.table, states=store.ALIVE)
    if discarded:
        context.site.places.folder.forget(work.uploads)
    context.site.wake_supervisor()
    return go("/linkage", said="discarded" if discarded else "")


def work_state(context: Here) -> Response:
    """The progress, for the script that redraws the bar."""
    work: Work = context.loaded
    return JSONResponse({"state": work.state, "percent": work.percent, "words": work.progress_words()})


# -- lending ----------------------------------------------------------------------------------------------------------


def lend(context: Here) -> Response:
    """Lend a data set to the managers of linkage, or take it back."""
    dataset: Dataset = context.loaded
    wanted = context.form.choice("lend", ("yes", "no")) == "yes"

    def along(connection: Any) -> None:
        connection.execute(LOAN.delete().where(LOAN.c.dataset == dataset.id))
        if wanted:
            row = {"dataset": dataset.id, "account": context.owner.id, "made": context.site.stamp()}
            connection.execute(insert(LOAN).values(row))

    context.act("web.dataset", dataset.subject, along=along, act="lent" if wanted else "not lent", to="linkage")
    return go(f"/datasets/{dataset.id}", said="lent" if wanted else "not-lent")


# -- what columns are for: suggested by their names, declared by a manager, turned into a link file ------------------------

USES = {
    "out": "leave it out",
    "string": "identifying: a name or text",
    "fixed": "identifying: a number such as an ID or a ZIP code",
    "date": "identifying: a date",
    "category": "identifying: a category such as sex",
    "sensitive": "sensitive: stored separately",
    "id": "identifier of the record",
}
KINDS = ("string", "fixed", "date", "category")
SECOND = ("out", "sensitive", "id")
"""Uses of a column of the second table, besides being the counterpart of one of the first."""
DATES = {
    "iso-us": ("2026-05-31 or 05/31/2026", None),
    "points": ("31.05.2026", ["%d.%m.%Y"]),
    "slashes": ("31/05/2026", ["%d/%m/%Y"]),
    "plain": ("20260531", ["%Y%m%d"]),
}
NONE = ""
HINTS: tuple[tuple[str, str], ...] = (
    (r"ssn|national|soc_sec|insurance|phone", "fixed"),
    (r"(^|_)(id|key|record_?id|rec_id)$", "id"),
    (r"birth|born|dob|date", "date"),
    (r"^(sex|gender|race|ethnicity|state|title|marital.*)$", "category"),
    (r"zip|postcode|postal|number", "fixed"),
    (r"name|surname|given|family|street|address|city|suburb|town|initial", "string"),
)
FIRST_NAME, LAST_NAME = re.compile(r"given|first|forename", re.I), re.compile(r"sur|last|family", re.I)


@dataclass(frozen=True)
class ColumnUse:
    """A column of the first table as the form shows it."""

    place: int
    name: str
    use: str
    other: str
    """The column of the second table that means the same."""


def suggested(columns: Sequence[str], others: Sequence[str]) -> list[ColumnUse]:
    """The likely use of each column, by its name alone; no value is read.

    >>> [column.use for column in suggested(["id", "surname", "birth_date", "zip", "diagnosis"], [])]
    ['id', 'string', 'date', 'fixed', 'sensitive']
    >>> [column.use for column in suggested(["patient_id", "visit_id", "national_id"], [])]
    ['id', 'fixed', 'fixed']
    """
    uses = [_use(name) for name in columns]
    uses = ["fixed" if use == "id" and "id" in uses[:place] else use for place, use in enumerate(uses)]
    return [
        ColumnUse(place, name, use, partner(name, others))
        for place, (name, use) in enumerate(zip(columns, uses, strict=True))
    ]


def _use(name: str) -> str:
    return next((use for pattern, use in HINTS if re.search(pattern, name, re.IGNORECASE)), "sensitive")


def partner(name: str, others: Sequence[str]) -> str:
    """The column of another table with the same name, or also a date.

    >>> partner("birth_date", ["id", "born"])
    'born'
    """
    plain = {re.sub(r"[^a-z0-9]", "", other.lower()): other for other in others}
    same = plain.get(re.sub(r"[^a-z0-9]", "", name.lower()))
    if same is None and _use(name) == "date":
        same = next((other for other in others if _use(other) == "date"), None)
    return same or NONE


def swap_of(columns: Sequence[ColumnUse]) -> tuple[str, str]:
    """The columns of first and last names, which may have been exchanged."""
    names = [column.name for column in columns if column.use == "string"]
    first = next((name for name in names if FIRST_NAME.search(name)), NONE)
    last = next((name for name in names if LAST_NAME.search(name)), NONE)
    return (first, last) if first and last else (NONE, NONE)


def link_of(form: Form, tables: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The link file that a form declares, checked."""
    first = tables[0]
    uses = {name: form.choice(f"use-{place}", tuple(USES)) for place, name in enumerate(first["columns"])}
    formats = DATES[form.choice("dates", tuple(DATES))][1]
    identifying: dict[str, Any] = {}
    for name, use in uses.items():
        if use in KINDS:
            identifying[name] = {"kind": use, **({"formats": formats} if use == "date" and formats else {})}
    if len(identifying) < 2:
        raise _unfit("At least two columns must be identifying.")
    described = _described(uses, first)
    chosen = [form.choice(f"swap-{which}", (NONE, *identifying)) for which in ("first", "last")]
    if bool(chosen[0]) != bool(chosen[1]):
        raise _unfit("Choose both columns of names that may be exchanged, or none.")
    section: dict[str, Any] = {"identifying": identifying, **({"swap": chosen} if chosen[0] else {}), **described}
    if len(tables) == 2:
        others, renamed = tuple(tables[1]["columns"]), {}
        for name in identifying:
            other = form.choice(f"other-{first['columns'].index(name)}", (NONE, *others))
            if not other:
                raise _unfit("An identifying column has no counterpart in the second table.")
            if other != name:
                renamed[name] = other
        taken = {renamed.get(name, name) for name in identifying}
        left = [(place, name) for place, name in enumerate(others) if name not in taken]
        uses = {name: form.choice(f"second-{place}", SECOND) for place, name in left}
        section["second"] = {"columns": renamed, **_described(uses, tables[1])}
    link = {"linkage": section}
    LinkageSpec.from_dict(link)
    return link


def rules_of(text: str, identifying: Sequence[str]) -> list[list[str]] | None:
    """Blocking rules as they are typed: one per line, columns separated by commas; None where nothing is typed.

    >>> rules_of("surname, birth_date\\n zip", ["surname", "birth_date", "zip"])
    [['surname', 'birth_date'], ['zip']]
    """
    rules = [[name.strip() for name in line.split(",") if name.strip()] for line in text.splitlines()]
    given = [rule for rule in rules if rule]
    if any(name not in identifying for rule in given for name in rule):
        raise Problem(
            422, "A blocking rule names a column that is not identifying.", remedy=f"Use: {', '.join(identifying)}."
        )
    return given or None


def _described(uses: dict[str, str], table: dict[str, Any]) -> dict[str, Any]:
    """What a link file says of a table besides its identifying columns."""
    identifiers = [name for name, use in uses.items() if use == "id"]
    if len(identifiers) > 1:
        raise _unfit("Only one column can be the identifier of the record.")
    return {
        "sensitive": [name for name, use in uses.items() if use == "sensitive"],
        **({"id": identifiers[0]} if identifiers else {}),
        **({"encoding": table["encoding"]} if table.get("encoding") else {}),
    }


def _unfit(words: str) -> Problem:
    return Problem(422, words, remedy="Correct it and send the form again.")
