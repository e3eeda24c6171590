"""Pages of the ledger: search, one entry, verify, export."""

from __future__ import annotations

import json
import tempfile
import threading
from collections.abc import Iterator, Mapping
from typing import IO, Annotated, Any

from fastapi import Query
from sqlalchemy import insert
from starlette.responses import Response, StreamingResponse

from discreet.errors import IntegrityError
from discreet.ledger import EVENTS, OUTCOMES, Entry
from discreet.ledger.tree import Tree
from discreet.ledger.verifier import canonical, is_head
from discreet.store.tables.web import CHECK
from discreet.web.dashboard import activity
from discreet.web.framework.context import Context, Here, go
from discreet.web.framework.format import remark
from discreet.web.framework.problems import Problem
from discreet.web.framework.route import Loads, numbered
from discreet.web.ledger import store

_VERIFYING = threading.Lock()
"""Verifying reads everything; one at a time is enough."""
CHUNK = 256 * 1024


Number = Annotated[int | None, Query(ge=0, le=10**17)]


def ledger_page(context: Here, said: str = "", before: Number = None) -> Response:
    """The newest entries that were asked for."""
    wanted = store.wanted_of(context.request.query_params)
    with context.site.store.reading() as connection:
        page = store.newest(connection, wanted, before=before)
        head, check = Tree.read(connection).head(), activity.last_check(connection)
    return context.page(
        "ledger.html",
        said=remark(said),
        wanted=wanted,
        page=page,
        paged=before is not None,
        head=head,
        check=check,
        events=EVENTS,
        outcomes=OUTCOMES,
        rooms=sorted({event.partition(".")[0] for event in EVENTS}),
    )


def _find(context: Context, path: dict[str, str]) -> Entry | None:
    with context.site.store.reading() as connection:
        return store.find(connection, numbered(path["number"]))


ENTRY = Loads("entry", find=_find, may=lambda context, entry: context.may("ledger.read"))
"""Entries belong to nobody: whoever may read the ledger may read each."""


def entry_page(context: Here) -> Response:
    """One entry, and the proof that it is in the ledger."""
    entry: Entry = context.loaded
    ledger = context.site.ledger
    with context.site.store.reading() as connection:
        head = Tree.read(connection).head()
    proof = ledger.prove_inclusion(entry.sequence, size=head["size"])
    return context.page(
        "entry.html",
        entry=entry,
        meaning=EVENTS.get(entry.event, ""),
        outcome=OUTCOMES.get(entry.outcome, ""),
        head=head,
        proof=proof,
        body=json.dumps(entry.to_dict(), indent=2, ensure_ascii=False, sort_keys=True),
    )


def verify(context: Here) -> Response:
    """Check all of it, against itself, against the head of the last check and against a head that was kept elsewhere."""
    given = context.form.verbatim("head", most=4_000, lines=True).strip()
    heads = [_head(given)] if given else []
    with context.site.store.reading() as connection:
        last = activity.last_check(connection)
    if last is not None:
        heads.append(_head(last.head))
    if not _VERIFYING.acquire(blocking=False):
        raise Problem(409, "The ledger is being verified just now.", remedy="Wait a moment and look again.")
    try:
        head, problems = _verified(context, heads)
    finally:
        _VERIFYING.release()
    values = {"time": context.site.stamp(), "actor": context.owner.name, "problems": len(problems)}
    with context.site.store.writing() as connection:
        connection.execute(insert(CHECK).values(**values, head=canonical(head).decode("ascii")))
    if problems:
        return context.page("verdict.html", problems=problems, head=head)
    return go("/ledger", said="verified")


def _verified(context: Context, heads: list[Mapping[str, Any]]) -> tuple[dict[str, Any], list[str]]:
    head = context.site.ledger.head()
    try:
        return head, list(context.site.ledger.verify(heads=heads).problems)
    except IntegrityError as error:
        return head, [error.problem]


def export(context: Here) -> Response:
    """All of it as JSON lines, the signed head last; that it was taken away is an entry itself."""
    context.act("web.shown", "ledger", act="exported")
    lines = tempfile.TemporaryFile()  # noqa: SIM115 - closed when it is sent
    lines.writelines(context.site.ledger.export())
    size = lines.tell()
    lines.seek(0)
    headers = {"Content-Disposition": 'attachment; filename="ledger.jsonl"', "Content-Length": str(size)}
    return StreamingResponse(_pieces(lines), media_type="application/x-ndjson", headers=headers)


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while piece := file.read(CHUNK):
            yield piece


def _head(text: str) -> Mapping[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not is_head(found):
        raise Problem(
            422,
            "That is not a head of a ledger.",
            remedy="Paste what `discreet ledger head --json` printed, or what a file of it holds.",
        )
    head: Mapping[str, Any] = found
    return head
