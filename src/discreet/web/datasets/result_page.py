"""Query results of a data set: misuse score, and reduction to a limit."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from typing import Any

from starlette.responses import Response

from discreet.misuse import score
from discreet.misuse.prepared_source import FACTORS
from discreet.misuse.reduction import WAYS, as_written, reduced
from discreet.misuse.result_formats import as_csv
from discreet.misuse.scorer import settings_by_policy
from discreet.misuse.sensitivity import reminder
from discreet.policy import Policy
from discreet.sources import Table, read
from discreet.web.datasets import dataset_page, ingest, inspection, policies
from discreet.web.datasets import store as datasets
from discreet.web.datasets.store import Dataset
from discreet.web.framework.context import Context, Here, or_again
from discreet.web.framework.problems import Problem

SHORT = {"k": "k: people alike", "l-diversity": "l: different values", "alpha-k": "1/alpha: most frequent value"}
"""The distinguishing factors in a few words."""


def _policy(context: Context) -> Policy:
    """The policy of the data set, with confirmed roles and weights."""
    dataset: Dataset = context.loaded
    with context.site.store.reading() as connection:
        hierarchies = datasets.hierarchies(connection, dataset.id)
    policy = policies.parse(dataset.policy or "", hierarchies)
    policies.require_confirmed(policy)
    if not policy.sensitivity:
        raise Problem(
            409,
            "The policy does not say how sensitive values are.",
            remedy="Ask experts under Sensitivity, then put the sections into the policy of this data set.",
        )
    return policy


def result_page(context: Here) -> Response:
    """The form; after a result was scored, what it could do."""
    return _shown(context, None)


def _shown(context: Context, found: dict[str, Any] | None) -> Response:
    dataset: Dataset = context.loaded
    lacking, due, limit = "", "", ""
    try:
        policy = _policy(context)
        limit = "" if policy.misuse.limit is None else f"{policy.misuse.limit:g}"
        day = date.fromisoformat(context.site.stamp()[:10])
        due = reminder(policy.sensitivity, day, days=policy.misuse.review_days)
    except Problem as problem:
        lacking = f"{problem.problem} {problem.remedy}"
    with context.site.store.reading() as connection:
        around = dataset_page.frame(context, connection, "result")
    typed = {name: context.form.verbatim(name, most=20) for name in ("limit", "x", "factor", "way")}
    start = {"limit": limit, "x": "2", "factor": "k", "way": "rows"}
    return context.page(
        "dataset_result.html",
        typed=typed if any(typed.values()) else start,
        factors=list(SHORT.items()),
        ways=[("rows", "leave out rows"), ("cells", "empty cells"), ("generalise", "coarser quasi-identifiers")],
        lacking=lacking,
        due=due,
        found=found,
        name=dataset.name,
        **around,
    )


@or_again(result_page)
def score_result(context: Here) -> Response:
    """The misuse score of an uploaded result."""
    with _given(context) as (given, settings):
        source = as_written(settings["source"], given, _policy(context).rules, settings["sensitivity"])
        scored = score(given, **{**settings, "source": source})
        found = {
            "value": scored.value, "rows": scored.rows, "record_score": scored.record_score,
            "normalised": scored.normalised, "top": scored.top,
            "name": ingest.plain_name(context.form.files["file"].filename or ""),
        }  # fmt: skip
    context.act("web.shown", context.loaded.subject, act="read", what="misuse score", rows=scored.rows)
    return _shown(context, found)


@or_again(result_page)
def reduce_result(context: Here) -> Response:
    """Part of an uploaded result within a limit, recorded before it is sent."""
    form = context.form
    way, limit = form.choice("way", tuple(WAYS)), _number(form.text("limit"), "The limit", least=0)
    with _given(context) as (given, settings):
        policy = _policy(context)
        found = reduced(given, way, limit=limit, rules=policy.rules, **settings)
        content = as_csv(found.rows, given.columns, policy.delimiter or ",")
    context.act(
        "misuse.reduced",
        context.loaded.subject,
        way=way, limit=f"{limit:g}", before=f"{found.before:.6g}", after=f"{found.after:.6g}",
        rows=found.given, left=len(found.rows), empty_cells=found.empty_cells,
    )  # fmt: skip
    headers = {"Content-Disposition": 'attachment; filename="reduced.csv"'}
    return Response(content.encode(), media_type="text/csv; charset=utf-8", headers=headers)


@contextmanager
def _given(context: Context) -> Iterator[tuple[Table, dict[str, Any]]]:
    """An uploaded result, and the settings of its score."""
    form, policy = context.form, _policy(context)
    upload = form.files.get("file")
    if upload is None or not upload.filename:
        raise Problem(422, "No file is chosen.", remedy="Choose the result of a query, with a header.")
    name = ingest.plain_name(upload.filename)
    ending = inspection.ending_of(name)
    factor, x = form.choice("factor", tuple(FACTORS)), _number(form.text("x") or "2", "x", least=1)
    path = context.site.places.folder.new("upload", ending)
    try:
        ingest.keep(context, upload, path)
        ingest.inspected(context, path, name, ending, inspection.DETECT)
        with inspection.in_words(path, name):
            # Values are compared as they are, whatever they generalise to.
            people = context.site.places.bare(context.loaded, replace(policy, rules={}))
            settings = settings_by_policy(people, policy, x=x, factor=factor)
            given = read(path, policy=Policy(delimiter=policy.delimiter, encoding=policy.encoding))
            yield given, settings
    finally:
        context.site.places.folder.forget([path.name])


def _number(text: str, what: str, *, least: float) -> float:
    try:
        number = float(text.replace(",", "."))
    except ValueError:
        number = math.nan
    if not number >= least:
        raise Problem(422, f"{what} is a number from {least:g} up.", remedy="Write it as 1 or 0.5.")
    return number
