"""Pages of the attacker lab: a form whose address holds everything."""

from __future__ import annotations

from typing import Any

from starlette.responses import HTMLResponse, Response

from discreet.errors import UsageError
from discreet.web.framework.context import Context, Here
from discreet.web.framework.problems import Problem, not_found
from discreet.web.lab import view as kept
from discreet.web.lab.query import CONTROLS, PRESETS, STRANGER, TOPICS, Query, read
from discreet.web.lab.view import Groups, Result, detection_words, result

TOO_FAR = "Raise what an attempt costs him, or let him be fined each time without detection that rises. The command discreet attack looks further."


def lab_page(context: Here) -> Response:
    """The controls and what comes of them."""
    query = read(context.request.query_params.multi_items())
    shown = _shown(context, query)
    choices = _choices(context)
    return context.page(
        "lab.html",
        status=_status(shown),
        topics=TOPICS,
        presets=[(name, Query(query.texts, {}, {}, query.dataset).address(**changes)) for name, changes in _presets()],
        choices=choices,
        **shown,
    )


def lab_result(context: Here) -> Response:
    """Only what comes of them, for the page's own script."""
    shown = _shown(context, read(context.request.query_params.multi_items()))
    return HTMLResponse(context.site.templates.page("lab_result.html", shown), status_code=_status(shown))


def _presets() -> list[tuple[str, dict[str, str]]]:
    standard = {control.name: control.standard for topic in TOPICS for control in topic.controls}
    return [(name, {**standard, **changes}) for name, changes in PRESETS]


def _shown(context: Context, query: Query) -> dict[str, Any]:
    groups, name, missing = _groups(context, query)
    found: Result | None = None
    problem: Problem | None = None
    if query.wrong:
        words = query.wrong.get(STRANGER, "Some of the numbers cannot be used; what is wrong stands beside each.")
        problem = Problem(422, words, remedy="Correct them, or begin anew with one of the examples.")
    elif groups is not None:
        try:
            found = result(query, groups)
        except UsageError as error:
            problem = Problem(422, error.problem, remedy=TOO_FAR)
    return {
        "query": query,
        "found": found,
        "problem": problem,
        "labels": {name: control.label for name, control in CONTROLS.items()},
        "missing": missing,
        "dataset_name": name,
        "detection": detection_words(query.attack) if not query.wrong else "",
    }


def _groups(context: Context, query: Query) -> tuple[Groups | None, str, bool]:
    """Who is looked at, the name of the data set, and whether nobody has planned an attack on it yet."""
    if query.dataset is None:
        return kept.example(), "", False
    if not context.may("datasets.read"):
        raise not_found()
    with context.site.store.reading() as connection:
        found = kept.of_dataset(connection, query.dataset)
    if found is None:
        raise not_found()
    name, groups = found
    return groups, name, groups is None


def _choices(context: Context) -> list[tuple[str, str]]:
    if not context.may("datasets.read"):
        return []
    with context.site.store.reading() as connection:
        return kept.datasets(connection)


def _status(shown: dict[str, Any]) -> int:
    return 422 if shown["problem"] else 200
