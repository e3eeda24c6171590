"""Traces: recorded before they are shown, evidence without values."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Row, func, insert, select
from starlette.datastructures import UploadFile

from discreet import __version__
from discreet.releases.delivery.repository import StoredRelease, subject_of
from discreet.releases.delivery.service import Opened, Registry
from discreet.releases.tracing.case import SuspectTable
from discreet.releases.tracing.result import ALPHA, Trace
from discreet.releases.tracing.trace import about, trace_claims
from discreet.report.trace import traced_page, traced_parts
from discreet.sources import read
from discreet.store.tables.releases import TRACE
from discreet.store.tables.web import ACCOUNT
from discreet.web.datasets import ingest, inspection, policies
from discreet.web.datasets import store as datasets
from discreet.web.framework.context import Context
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
    alpha: float = ALPHA
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
    mine = _WHOLE.where(TRACE.c.release == name).order_by(TRACE.c.id.desc())
    return [_trace_of(row) for row in connection.execute(mine)]


def number_of(connection: Connection, name: str) -> int:
    """How many there are."""
    return int(connection.execute(select(func.count()).select_from(TRACE).where(TRACE.c.release == name)).scalar_one())


def run(context: Context, kept: StoredRelease, asked: TraceRequest) -> int:
    """Trace and record the evidence; gives the number of the trace."""
    opened = Opened(kept, Registry(context.site.ledger).open(kept))
    trace = _claims(context, opened, asked) if asked.kind == "claims" else _leak(context, opened, asked)
    return keep(context, opened, trace)


def _claims(context: Context, opened: Opened, asked: TraceRequest) -> Trace:
    with context.site.store.reading() as connection:
        before = of_release(connection, opened.name) if asked.accumulate else []
    # The marks that earlier traces of claims hit for the first time.
    earlier = [
        record.numbers["incidents"][-1]
        for record in reversed(before)
        if record.kind == "claims" and record.version == opened.kept.version
    ]
    with _table(context, asked.file, asked.pasted) as claims, _optional(context, asked.exclude) as own:
        return trace_claims(
            opened.traceable, claims, exclude=own, earlier=earlier, alpha=asked.alpha, family=asked.family
        )


def _leak(context: Context, opened: Opened, asked: TraceRequest) -> Trace:
    from discreet.releases.tracing.trace import trace_leak

    with _table(context, asked.file, "") as leak:
        return trace_leak(
            opened.traceable,
            leak,
            columns=dict(asked.columns),
            original=_original(context, opened),
            alpha=asked.alpha,
            family=asked.family,
        )


def _original(context: Context, opened: Opened) -> Any:
    """The table that copies were made of, if it is still here: it helps where quasi-identifiers are missing."""
    with context.site.store.reading() as connection:
        made = plans.everything(connection, release=opened.name, states=("made",))
        dataset = datasets.find(connection, made[-1].dataset) if made else None
        hierarchies = datasets.hierarchies(connection, dataset.id) if dataset else {}
    if dataset is None:
        return None
    policy = policies.parse(made[-1].content["policy"], hierarchies)
    return context.site.places.bare(dataset, policy)


def keep(context: Context, opened: Opened, trace: Trace) -> int:
    """Record the trace in the ledger and store its evidence, both or neither."""
    made: list[int] = []
    values = row_of(trace, now=context.site.stamp(), created=context.site.now())
    values |= {"version": opened.kept.version, "account": context.owner.id}

    def along(connection: Connection) -> None:
        made.append(int(connection.execute(insert(TRACE).values(values).returning(TRACE.c.id)).scalar_one()))

    details: dict[str, Any] = {"version": opened.kept.version, "manifest": opened.kept.digest, **about(trace)}
    context.act("releases.traced", subject_of(opened.name), along=along, **details)
    return made[-1]


def row_of(trace: Trace, *, now: str, created: Any) -> dict[str, Any]:
    """A trace as a row: numbers and sections of the page, without a value of a claim."""
    verb = "claims claims.csv" if trace.kind == "claims" else "leak file.csv"
    command = f'discreet trace {verb} --release "{trace.release}"'
    parts = [
        {"key": part.key, "name": part.name, "html": str(part.content)}
        for part in traced_parts(trace, command=command)
        if part.content is not None
    ]
    return {
        "release": trace.release,
        "kind": trace.kind,
        "source": trace.source,
        "made": now,
        "numbers": json.dumps(trace.to_dict()),
        "parts": json.dumps(parts),
        "report": traced_page(trace, created=created, command=command, version=__version__),
    }


@contextmanager
def _table(context: Context, upload: UploadFile | None, pasted: str) -> Iterator[SuspectTable]:
    """The table that was sent, deleted as soon as it is no longer needed."""
    sent = upload is not None and bool(upload.filename)
    if sent == bool(pasted.strip()):
        words = "No file was sent." if not sent else "Send claims either as a file or pasted, not both."
        raise Problem(422, words, remedy="Choose a .csv, .csv.gz or .parquet file, or paste rows with a header.")
    name = ingest.plain_name(upload.filename or "") if upload is not None and sent else PASTED
    ending = inspection.ending_of(name) if sent else "csv"
    path = context.site.places.folder.new("upload", ending)
    try:
        _write(context, path, upload if sent else None, pasted)
        encoding = None if ending == "parquet" else "utf-8"
        inspection.inspect(path, name=name, ending=ending, settings=context.site.settings, encoding=encoding)
        with inspection.in_words(path, name):
            yield replace(SuspectTable.of(read(path)), name=name)
    finally:
        path.unlink(missing_ok=True)


@contextmanager
def _optional(context: Context, upload: UploadFile | None) -> Iterator[Any]:
    if upload is None or not upload.filename:
        yield ()
        return
    with _table(context, upload, "") as table:
        yield table


def _write(context: Context, path: Path, upload: UploadFile | None, pasted: str) -> None:
    with context.site.places.folder.create(path) as file:
        if upload is None:
            file.write(pasted.replace("\r\n", "\n").strip("\n").encode() + b"\n")
            return
        while piece := upload.file.read(CHUNK):
            file.write(piece)
