"""Traces: recorded before they are shown, evidence without values."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal
from urllib.parse import quote

from sqlalchemy import Connection, Row, func, insert, select
from starlette.datastructures import UploadFile
from starlette.responses import HTMLResponse, Response

from discreet import __version__
from discreet.releases.delivery.repository import StoredRelease, subject_of
from discreet.releases.delivery.service import Opened, Registry
from discreet.releases.tracing.case import SuspectTable
from discreet.releases.tracing.register import about
from discreet.releases.tracing.result import Trace
from discreet.releases.tracing.trace import traced
from discreet.report.trace import traced_page, traced_parts
from discreet.sources import read
from discreet.store.tables.web import ACCOUNT, TRACE
from discreet.web.datasets import ingest, inspection, policies
from discreet.web.datasets import store as datasets
from discreet.web.framework.context import Context, Here, by_number
from discreet.web.framework.forms import Strict
from discreet.web.framework.problems import Problem
from discreet.web.releases import store as plans

PASTED = "pasted claims"
LONGEST_PASTE = 60_000
CHUNK = 1 << 20


@dataclass(frozen=True)
class TraceRequest:
    """The claims or the leaked file to trace, and how."""

    kind: str
    file: UploadFile | None = None
    pasted: str = ""
    exclude: UploadFile | None = None
    """The custodian's own audits, which do not count."""
    accumulate: bool = True
    """Does the evidence of earlier incidents count as well?"""
    columns: Mapping[str, str] = field(default_factory=dict)
    """Columns of a leaked file with other names: theirs to ours."""
    alpha: float | None = None
    """The error rate; None for that of the release."""
    family: int | None = None


@dataclass(frozen=True)
class TraceRecord:
    """A stored trace and its evidence."""

    id: int
    release: str
    version: int
    kind: str
    source: str
    tracer: str
    made: str
    numbers: dict[str, Any] = field(repr=False)
    parts: list[dict[str, str]] = field(repr=False)
    report: str = field(repr=False)

    @property
    def accused(self) -> list[str]:
        """Recipients against whom the evidence suffices."""
        return list(self.numbers["accused"])

    @property
    def subject(self) -> str:
        """The subject of ledger entries about it."""
        return f"{subject_of(self.release)}/trace:{self.id}"


_WHOLE = select(TRACE, ACCOUNT.c.name.label("tracer")).join(ACCOUNT, ACCOUNT.c.id == TRACE.c.account)


def _trace_of(row: Row[Any]) -> TraceRecord:
    parsed = {"numbers": json.loads(row.numbers), "parts": json.loads(row.parts)}
    plain = {name: getattr(row, name) for name in TraceRecord.__dataclass_fields__ if name not in parsed}
    return TraceRecord(**plain, **parsed)


def find(connection: Connection, number: int) -> TraceRecord | None:
    """By number."""
    row = connection.execute(_WHOLE.where(TRACE.c.id == number)).one_or_none()
    return None if row is None else _trace_of(row)


def of_release(connection: Connection, name: str) -> list[TraceRecord]:
    """The traces of a release, the newest first."""
    newest = _WHOLE.where(TRACE.c.release == name).order_by(TRACE.c.id.desc())
    return [_trace_of(row) for row in connection.execute(newest)]


def number_of(connection: Connection, name: str) -> int:
    """Number of traces of a release."""
    return int(connection.execute(select(func.count()).select_from(TRACE).where(TRACE.c.release == name)).scalar_one())


STORED_TRACE = by_number("trace", find)


def run(context: Context, kept: StoredRelease, asked: TraceRequest) -> int:
    """Trace and record the evidence; gives the number of the trace."""
    registry, numbers = Registry(context.site.ledger), []
    opened = Opened(kept, registry.open(kept))
    options: dict[str, Any] = {"alpha": asked.alpha, "family": asked.family}

    with ExitStack() as tables:

        def record(found: Trace, check: Callable[[Connection], None]) -> None:
            # What was sent is deleted before anything is kept of it.
            tables.close()
            numbers.append(keep(context, opened, found, check))

        claims = asked.kind == "claims"
        table = tables.enter_context(_table(context, asked.file, asked.pasted if claims else ""))
        if claims:
            own: Any = ()
            if asked.exclude is not None and asked.exclude.filename:
                own = tables.enter_context(_table(context, asked.exclude, ""))
            options |= {"claims": table, "exclude": own, "accumulate": asked.accumulate}
        else:
            options |= {"leak": table, "columns": dict(asked.columns), "original": _original(context, opened)}
        traced(registry, opened, record, **options)
    return numbers[-1]


def _original(context: Context, opened: Opened) -> Any:
    """The original table, if still here: it helps where quasi-identifiers are missing."""
    with context.site.store.reading() as connection:
        made = plans.everything(connection, release=opened.name, states=("made",))
        dataset = datasets.find(connection, made[-1].dataset) if made else None
        hierarchies = datasets.hierarchies(connection, dataset.id) if dataset else {}
    if dataset is None:
        return None
    policy = policies.parse(made[-1].content["policy"], hierarchies)
    return context.site.places.bare(dataset, policy)


def keep(context: Context, opened: Opened, trace: Trace, check: Callable[[Connection], None]) -> int:
    """Record the trace and store its evidence, both or neither, without values."""
    verb = "claims claims.csv" if trace.kind == "claims" else "leak file.csv"
    command = f'discreet trace {verb} --release "{trace.release}"'
    parts = [
        {"key": part.key, "name": part.name, "html": str(part.content)}
        for part in traced_parts(trace, command=command)
        if part.content is not None
    ]
    values = {
        "release": trace.release,
        "version": opened.kept.version,
        "kind": trace.kind,
        "source": trace.source,
        "account": context.owner.id,
        "made": context.site.stamp(),
        "numbers": json.dumps(trace.to_dict()),
        "parts": json.dumps(parts),
        "report": traced_page(trace, created=context.site.now(), command=command, version=__version__),
    }

    def along(connection: Connection) -> int:
        check(connection)
        return int(connection.execute(insert(TRACE).values(values).returning(TRACE.c.id)).scalar_one())

    details: dict[str, Any] = {"version": opened.kept.version, "manifest": opened.kept.digest, **about(trace)}
    number: int = context.act("releases.traced", subject_of(opened.name), along=along, **details)
    return number


@contextmanager
def _table(context: Context, upload: UploadFile | None, pasted: str) -> Iterator[SuspectTable]:
    """The table that was sent, deleted as soon as it is no longer needed."""
    sent = upload if upload is not None and upload.filename else None
    if (sent is not None) == bool(pasted.strip()):
        words = "No file was sent." if sent is None else "Send claims either as a file or pasted, not both."
        raise Problem(422, words, remedy="Choose a file with a table, or paste rows with a header.")
    name = PASTED if sent is None else ingest.plain_name(sent.filename or "")
    ending = "csv" if sent is None else inspection.ending_of(name)
    path = context.site.places.folder.new("upload", ending)
    try:
        with context.site.places.folder.create(path) as file:
            if sent is None:
                file.write(pasted.replace("\r\n", "\n").strip("\n").encode() + b"\n")
            else:
                shutil.copyfileobj(sent.file, file, CHUNK)
        inspection.inspect(path, name=name, ending=ending, settings=context.site.settings)
        with inspection.in_words(path, name):
            yield replace(SuspectTable.of(read(path)), name=name)
    finally:
        path.unlink(missing_ok=True)


# -- evidence on a page and in the API: reading it is recorded first -----------------------------------------------------


class TraceModel(Strict):
    """The evidence without any person's value; `numbers` as in the command's JSON."""

    id: int
    release: str
    version: int
    kind: Literal["claims", "leak"]
    source: str
    tracer: str
    made: str
    accused: list[str]
    numbers: dict[str, Any]


def trace_page(context: Here) -> Response:
    """The evidence of a trace; reading it is recorded, daily for each reader."""
    _record_reading(context)
    return context.page("trace.html", trace=context.loaded)


def trace(context: Here, number: str) -> TraceModel:
    """The evidence of a trace; reading it is recorded first, daily for each reader."""
    _record_reading(context)
    return TraceModel.of(context.loaded)


def _record_reading(context: Context) -> None:
    record: TraceRecord = context.loaded
    key = f"trace:{record.id}:{context.site.stamp()[:10]}"
    context.act("web.shown", record.subject, key=key, act="read", what="trace", kind=record.kind)


def take_report(context: Here) -> Response:
    """The evidence as one file that opens offline."""
    record: TraceRecord = context.loaded
    context.act("web.shown", record.subject, act="taken", what="trace", kind=record.kind)
    name = quote(f"{record.release}-trace-{record.id}.html", safe="")
    disposition = f"attachment; filename=\"trace-{record.id}.html\"; filename*=UTF-8''{name}"
    return HTMLResponse(record.report, headers={"Content-Disposition": disposition})
