"""What the columns of tables are for linkage: suggested by their names, declared by a manager, turned into a link file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from discreet.linkage import LinkageSpec
from discreet.web.framework.forms import Form
from discreet.web.framework.problems import Problem

USES = {
    "out": "leave it out",
    "string": "tells people apart: a name or text",
    "fixed": "tells people apart: a number such as an ID or a ZIP code",
    "date": "tells people apart: a date",
    "category": "tells people apart: a category such as sex",
    "sensitive": "sensitive: split off",
    "id": "names the record",
}
KINDS = ("string", "fixed", "date", "category")
SECOND = ("out", "sensitive", "id")
"""What a column of the second table can be besides the partner of one of the first."""
DATES = {
    "iso-us": ("2026-05-31 or 05/31/2026", None),
    "points": ("31.05.2026", ["%d.%m.%Y"]),
    "slashes": ("31/05/2026", ["%d/%m/%Y"]),
    "plain": ("20260531", ["%Y%m%d"]),
}
NONE = ""
HINTS: tuple[tuple[str, str], ...] = (
    (r"(^|_)(id|key|record_?id|rec_id)$", "id"),
    (r"birth|born|dob|date", "date"),
    (r"^(sex|gender|race|ethnicity|state|title|marital.*)$", "category"),
    (r"zip|postcode|postal|ssn|national|number|phone|soc_sec|insurance", "fixed"),
    (r"name|surname|given|family|street|address|city|suburb|town|initial", "string"),
)
FIRST_NAME, LAST_NAME = re.compile(r"given|first|forename", re.I), re.compile(r"sur|last|family", re.I)


@dataclass(frozen=True)
class Column:
    """A column of the first table as the form shows it."""

    place: int
    name: str
    use: str
    other: str
    """The column of the second table that means the same."""


def suggested(columns: Sequence[str], others: Sequence[str]) -> list[Column]:
    """What columns are most likely for, by their names; nothing was looked at.

    >>> [one.use for one in suggested(["id", "surname", "birth_date", "zip", "diagnosis"], [])]
    ['id', 'string', 'date', 'fixed', 'out']
    """
    return [Column(place, name, _use(name), partner(name, others)) for place, name in enumerate(columns)]


def _use(name: str) -> str:
    return next((use for pattern, use in HINTS if re.search(pattern, name, re.IGNORECASE)), "out")


def partner(name: str, others: Sequence[str]) -> str:
    """The column of another table that is called alike, or means a date of birth as well.

    >>> partner("birth_date", ["id", "born"])
    'born'
    """
    plain = {re.sub(r"[^a-z0-9]", "", one.lower()): one for one in others}
    found = plain.get(re.sub(r"[^a-z0-9]", "", name.lower()))
    if found is None and _use(name) == "date":
        found = next((one for one in others if _use(one) == "date"), None)
    return found or NONE


def swap_of(columns: Sequence[Column]) -> tuple[str, str]:
    """The two names that may have been entered the wrong way round, where there are such columns."""
    names = [one.name for one in columns if one.use == "string"]
    first = next((name for name in names if FIRST_NAME.search(name)), NONE)
    last = next((name for name in names if LAST_NAME.search(name)), NONE)
    return (first, last) if first and last else (NONE, NONE)


def link_of(form: Form, tables: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The link file that a form declares, checked; a problem in words if it does not fit."""
    first = tables[0]
    uses = {name: form.choice(f"use-{place}", tuple(USES)) for place, name in enumerate(first["columns"])}
    formats = DATES[form.choice("dates", tuple(DATES))][1]
    identifying: dict[str, Any] = {}
    for name, use in uses.items():
        if use in KINDS:
            identifying[name] = {"kind": use, **({"formats": formats} if use == "date" and formats else {})}
    if len(identifying) < 2:
        raise _unfit("At least two columns must tell people apart.")
    section: dict[str, Any] = {
        "identifying": identifying,
        "sensitive": [name for name, use in uses.items() if use == "sensitive"],
        **_id([name for name, use in uses.items() if use == "id"]),
        **_swap(form, identifying),
        **_encoding(first),
    }
    if len(tables) == 2:
        section["second"] = _second(form, tables[1], list(first["columns"]), list(identifying))
    link = {"linkage": section}
    LinkageSpec.from_dict(link)
    return link


def _id(names: Sequence[str]) -> dict[str, str]:
    if len(names) > 1:
        raise _unfit("Only one column can name the record.")
    return {"id": names[0]} if names else {}


def _swap(form: Form, identifying: dict[str, Any]) -> dict[str, list[str]]:
    chosen = [form.choice(f"swap-{which}", (NONE, *identifying)) for which in ("first", "last")]
    if bool(chosen[0]) != bool(chosen[1]):
        raise _unfit("Names are exchanged in twos: choose both, or none.")
    return {"swap": chosen} if chosen[0] else {}


def _second(form: Form, table: dict[str, Any], columns: Sequence[str], identifying: Sequence[str]) -> dict[str, Any]:
    others = tuple(table["columns"])
    renamed = {}
    for name in identifying:
        other = form.choice(f"other-{columns.index(name)}", (NONE, *others))
        if not other:
            raise _unfit("A column that tells people apart has no partner in the second table.")
        if other != name:
            renamed[name] = other
    taken = {renamed.get(name, name) for name in identifying}
    uses = {name: form.choice(f"second-{place}", SECOND) for place, name in enumerate(others) if name not in taken}
    return {
        "columns": renamed,
        "sensitive": [name for name, use in uses.items() if use == "sensitive"],
        **_id([name for name, use in uses.items() if use == "id"]),
        **_encoding(table),
    }


def _encoding(table: dict[str, Any]) -> dict[str, str]:
    return {"encoding": table["encoding"]} if table.get("encoding") else {}


def _unfit(words: str) -> Problem:
    return Problem(422, words, remedy="Correct it and send the form again.")
