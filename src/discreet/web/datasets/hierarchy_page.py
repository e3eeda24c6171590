"""Hierarchy editor: how one column is generalised, with a preview of every level in numbers of people."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from typing import Any

import numpy as np
from starlette.responses import Response

from discreet.anonymity.anonymise import Exploration
from discreet.errors import DiscreetError
from discreet.policy.draft import Change, edited, value
from discreet.web.datasets import dataset_page, ingest, policies
from discreet.web.datasets import store as datasets
from discreet.web.datasets.dataset_page import MOST_PEOPLE
from discreet.web.datasets.store import Dataset
from discreet.web.framework.context import Context, Here, go, or_again
from discreet.web.framework.forms import Form
from discreet.web.framework.problems import Problem, not_found, problem_of

KINDS = {
    "none": "not at all",
    "any": "the value, then one value for all",
    "widths": "intervals of growing width",
    "cuts": "intervals between cuts",
    "dates": "dates by coarser periods",
    "prefix": "the first characters, fewer and fewer",
    "mask": "characters hidden from the right",
    "map": "a list: every value with its groups",
}
EXAMPLES = {
    "any": "*",
    "widths": "5, 10, 20",
    "cuts": "18, 30, 45, 65",
    "dates": "month, year, decade",
    "prefix": "3, 1",
    "mask": "auto",
}
MOST_LABELS = 60
"""Values of a level that are listed; the others are counted together."""
MOST_LISTED = 1_000
"""Values with which a list begins; longer ones come as a file."""
LONGEST_LIST = 60_000


@dataclass(frozen=True)
class LevelCounts:
    """What one level would show: each value with its people, the smallest groups first."""

    level: int
    values: int
    smallest: int
    alone: int
    """People whose value nobody else has at this level."""
    shown: tuple[tuple[str, int], ...]


def hierarchy_page(context: Here, column: str = "") -> Response:
    """The form of one quasi-identifier, and what each level shows; looking at it is written down."""
    dataset: Dataset = context.loaded
    rules = policies.rules(dataset.policy)
    quasi = [name for name, (role, _) in rules.items() if role.startswith("quasi") and name in dataset.columns]
    name = context.form.verbatim("column", most=1_000) or column or next(iter(quasi), "")
    if name not in quasi:
        raise not_found()
    typed = _typed(context, rules[name][1])
    levels: list[LevelCounts] = []
    with context.site.store.reading() as connection:
        around = dataset_page.frame(context, connection, "policy")
        profiled = dataset_page.finished(connection, dataset.id, "profile")
    if profiled and profiled[0].result.numbers["records"] > MOST_PEOPLE:
        remedy = "Write the hierarchy into the policy as text, then measure the risk."
        large = Problem(409, "This table is too large to be counted while a page waits.", remedy=remedy)
        return _page(context, large, name=name, typed=typed, levels=levels, **around)
    day = context.site.stamp()[:10]
    key = f"hierarchy:{dataset.id}:{name}:{day}:{context.owner.name}"
    context.act("web.shown", dataset.subject, key=key, act="read", what="preview", kind="hierarchy")
    problem: Problem | None = None
    listed = ""
    try:
        if typed["kind"] == "map" and not typed["list"].strip():
            values = values_of(context, dataset, name)
            listed = "\n".join(f"{value}; " for value, _ in sorted(values)) if len(values) <= MOST_LISTED else ""
        else:
            levels = counted(context, dataset, name, rule_of(typed))
    except DiscreetError as error:
        problem = problem_of(error)
    return _page(context, problem, name=name, typed={**typed, "list": typed["list"] or listed}, levels=levels, **around)


def _page(context: Context, problem: Problem | None, **values: Any) -> Response:
    more: dict[str, Any] = {"kinds_of_rule": KINDS, "examples": EXAMPLES, "most": MOST_LABELS}
    return context.page("dataset_hierarchy.html", fault=problem, **more, **values)


def _typed(context: Context, present: Any) -> dict[str, str]:
    """What was typed, else what the policy says."""
    sent = {field: context.form.fields[field][0] for field in ("kind", "steps", "list") if field in context.form.fields}
    return {**_of_rule(present), **sent}


def _of_rule(rule: Any) -> dict[str, str]:
    """The fields of the form that stand for a rule of the policy.

    >>> _of_rule({"widths": [5, 10]})["steps"], _of_rule({"map": {"a": ["x", "y"]}})["list"]
    ('5, 10', 'a; x; y')
    """
    kind = next((kind for kind in KINDS if isinstance(rule, dict) and kind in rule and len(rule) == 1), "none")
    value = rule[kind] if kind != "none" else ""
    if isinstance(value, dict):
        lines = ["; ".join([name, *groups]) for name, groups in value.items()]
        return {"kind": kind, "steps": "", "list": "\n".join(lines)}
    steps = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return {"kind": kind, "steps": steps, "list": ""}


def rule_of(typed: dict[str, str]) -> Any:
    """The rule that the fields of the form stand for, as the policy writes it.

    >>> rule_of({"kind": "cuts", "steps": "18, 30.5", "list": ""}), rule_of({"kind": "map", "steps": "", "list": "a; x"})
    ({'cuts': [18, 30.5]}, {'map': {'a': ['x']}})
    """
    kind, steps = typed["kind"], [part for part in re.split(r"[,;\s]+", typed["steps"].strip()) if part]
    if kind not in KINDS:
        raise Problem(422, "There is no such kind of hierarchy.", remedy="Choose one of the list.")
    if kind == "none":
        return None
    if kind == "map":
        rows = [[part.strip() for part in line.split(";")] for line in typed["list"].splitlines() if line.strip()]
        wanted = {row[0]: [part for part in row[1:] if part] for row in rows}
        if not wanted or not any(wanted.values()):
            remedy = "Write one value on each line, then its groups from fine to coarse: flu; infection; *"
            raise Problem(422, "The list names no groups.", remedy=remedy)
        return {kind: wanted}
    if not steps:
        raise Problem(422, "The steps are missing.", remedy=f"For example: {EXAMPLES[kind]}.")
    if kind == "any":
        return {kind: typed["steps"].strip()}
    if kind == "dates":
        return {kind: steps}
    if kind == "mask" and steps == ["auto"]:
        return {kind: "auto"}
    try:
        numbers = [int(step) if re.fullmatch(r"-?\d{1,15}", step) else float(step) for step in steps]
    except ValueError:
        raise Problem(422, "The steps are numbers.", remedy=f"For example: {EXAMPLES[kind]}.") from None
    return {kind: numbers[0] if kind == "mask" else numbers}


def counted(context: Context, dataset: Dataset, column: str, rule: Any) -> list[LevelCounts]:
    """How many people share each value, level by level; a problem if the rule does not fit the data."""
    classes = _classes(context, dataset, column, rule)
    found = []
    for level in range(1 if rule is None else classes.columns[0].hierarchy.height):
        coarse = classes.at((level,))
        order = np.argsort(coarse.sizes, kind="stable")
        labels, codes = coarse.columns[0].labels, coarse.codes[0]
        shown = tuple((f"{labels[codes[place]]}", int(coarse.sizes[place])) for place in order[:MOST_LABELS])
        smallest = int(coarse.sizes.min()) if len(coarse) else 0
        found.append(LevelCounts(level, len(coarse), smallest, int((coarse.sizes == 1).sum()), shown))
    return found


def values_of(context: Context, dataset: Dataset, column: str) -> list[tuple[str, int]]:
    """Every value of a column with its people."""
    classes = _classes(context, dataset, column, None)
    labels = classes.columns[0].labels
    return [(f"{labels[code]}", int(people)) for code, people in zip(classes.codes[0], classes.sizes, strict=True)]


def _classes(context: Context, dataset: Dataset, column: str, rule: Any) -> Any:
    """The people of a data set by one column alone."""
    content = tomllib.loads(dataset.policy or "")
    data = content.get("data", {})
    named = [name for told in data.values() for name in (told if isinstance(told, list) else [told])]
    # A policy of its own: other columns may have levels, weights and rules that mean nothing here.
    roles = {name: {"role": about["role"]} for name, about in content.get("columns", {}).items() if name in named}
    roles[column] = {"role": "quasi", "hierarchy": rule or {"any": "*"}}
    lines = ["[data]", *(f"{key} = {value(told)}" for key, told in data.items())]
    for name, about in roles.items():
        lines += [f"[columns.{value(name)}]", *(f"{key} = {value(told)}" for key, told in about.items())]
    text = "\n".join(lines)
    with context.site.store.reading() as connection:
        hierarchies = datasets.hierarchies(connection, dataset.id)
    table = context.site.places.open(dataset, policies.parse(text, hierarchies), lambda: None)
    return Exploration.of(table, k=1).classes


@or_again(hierarchy_page)
def change_hierarchy(context: Here) -> Response:
    """Preview what was typed, or write it into the policy if it fits the data."""
    dataset: Dataset = context.loaded
    form: Form = context.form
    name = form.verbatim("column", most=1_000)
    role = policies.rules(dataset.policy).get(name, ("", None))[0]
    if form.choice("do", ["preview", "save"]) == "preview":
        return hierarchy_page(context)
    if name not in dataset.columns or not role.startswith("quasi"):
        raise not_found()
    typed = {"kind": form.text("kind"), "steps": form.text("steps", most=1_000)}
    rule = rule_of({**typed, "list": form.verbatim("list", most=LONGEST_LIST, lines=True)})
    counted(context, dataset, name, rule)
    change: Any = Change(role, rule)  # type: ignore[arg-type]
    text = edited(dataset.policy or "", {name: change})
    ingest.change_policy(context, dataset, text, version=form.whole("version", least=0, most=10**12))
    return go(f"/datasets/{dataset.id}/policy", said="hierarchy")
