"""Policy of a data set on its pages: roles, rows and values, levels, text, files of hierarchies."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection
from starlette.responses import Response

from discreet.errors import PolicyError
from discreet.policy.diagnostics import Key
from discreet.policy.draft import Change, confirmed, edited, with_settings
from discreet.web.datasets import ingest, policies
from discreet.web.datasets import store as datasets
from discreet.web.datasets.dataset_page import ROLES, finished, frame, profile_page
from discreet.web.datasets.store import Dataset
from discreet.web.framework.context import Context, Here, go, or_again
from discreet.web.framework.forms import Form
from discreet.web.framework.problems import Problem, problem_of
from discreet.web.jobs.pages import ask, wanted_of

NOT_SAID, ONE_ROW, SEVERAL = "", "row", "columns"
WHOSE = (
    (NOT_SAID, "not said: each row counts as a person, unless its numbers show otherwise"),
    (ONE_ROW, "each row is a person, even where numbers repeat"),
    (SEVERAL, "a person may have several rows; these columns say whose a row is:"),
)
DECIMALS = (("", "not said: a point"), (".", "a point, as in 2.5"), (",", "a comma, as in 2,5"))
COLUMNS = {
    "household": "Household",
    "weight": "Survey weight",
    "count": "Number of people a row stands for",
}
"""Keys of [data] that name a column, as the page calls them."""
LIMITS = ("weight", "at_least", "at_most")
MOST_CODES = 50


@dataclass(frozen=True)
class LevelRow:
    """A quasi-identifier with its worth and the levels at which it may be published."""

    place: int
    name: str
    words: str
    """How it is generalised."""
    weight: str
    at_least: str
    at_most: str


@dataclass(frozen=True)
class TableSettings:
    """What the forms show: the policy as it is, or what was typed."""

    whose: str
    person: tuple[str, ...]
    """The columns that say whose a row is, and an empty one for another."""
    columns: Mapping[str, str]
    missing: str
    """One code on each line."""
    decimal: str
    levels: tuple[LevelRow, ...]

    @classmethod
    def of(cls, dataset: Dataset, form: Form) -> TableSettings:
        """From the policy, and from a form that was not accepted."""
        content = tomllib.loads(dataset.policy or "")
        data = content.get("data", {})
        person = data.get("person")
        named = [person] if isinstance(person, str) else [*(person or ())]
        whose = NOT_SAID if person is None else ONE_ROW if person == ONE_ROW else SEVERAL
        chosen = [] if whose != SEVERAL else named
        levels = tuple(
            LevelRow(
                dataset.columns.index(name),
                name,
                policies.words_of(section.get("hierarchy")),
                *(_again(form, f"{key}-{dataset.columns.index(name)}", section.get(key)) for key in LIMITS),
            )
            for name, section in content.get("columns", {}).items()
            if section["role"].startswith("quasi") and name in dataset.columns
        )
        return cls(
            whose=_again(form, "whose", whose),
            person=tuple(_again(form, f"person-{place}", name) for place, name in enumerate([*chosen, ""])),
            columns={key: _again(form, key, data.get(key)) for key in COLUMNS},
            missing=_again(form, "missing", "\n".join(map(str, data.get("missing", ())))),
            decimal=_again(form, "decimal", data.get("decimal")),
            levels=levels,
        )


def _again(form: Form, name: str, present: Any) -> str:
    """What was typed, or what the policy says."""
    return form.fields[name][0] if name in form.fields else "" if present is None else f"{present}"


def data_settings(dataset: Dataset, form: Form) -> dict[Key, Any]:
    """What the form says of rows and values, by section and key of the policy; None for what is not said."""
    whose = form.choice("whose", [key for key, _ in WHOSE])
    names = [form.verbatim(name, most=1_000) for name in sorted(form.fields) if name.startswith("person-")]
    person = list(dict.fromkeys(name for name in names if name))
    if whose == SEVERAL and not person:
        raise Problem(422, "No column says whose a row is.", remedy="Choose at least one, or another answer.")
    if whose == SEVERAL and person == [ONE_ROW]:
        raise Problem(
            422,
            "A column named 'row' cannot say whose a row is: that word stands for each row being a person.",
            remedy="Rename the column in the file.",
        )
    columns = {key: form.verbatim(key, most=1_000) for key in COLUMNS}
    for name in (*person, *columns.values()):
        if name and name not in dataset.columns:
            raise Problem(422, "The data set has no such column.", remedy="Choose one of the list.")
    before = {str(code): code for code in tomllib.loads(dataset.policy or "").get("data", {}).get("missing", ())}
    codes = list(dict.fromkeys(form.verbatim("missing", most=5_000, lines=True).replace("\r", "").split("\n")))
    missing = [before[code] if code in before else _code(code.strip()) for code in codes if code.strip()]
    if len(missing) > MOST_CODES:
        raise Problem(422, f"There are more than {MOST_CODES} codes.", remedy="Give only those that stand for missing.")
    values: dict[str, Any] = {
        "person": {NOT_SAID: None, ONE_ROW: ONE_ROW, SEVERAL: person[0] if len(person) == 1 else person}[whose],
        "missing": missing or None,
        "decimal": form.choice("decimal", [key for key, _ in DECIMALS]) or None,
        **{key: name or None for key, name in columns.items()},
    }
    settings: dict[Key, Any] = {("data", key): value for key, value in values.items()}
    roles = {name: role for name, (role, _) in policies.rules(dataset.policy).items()}
    for name in person if whose == SEVERAL else ():
        # A number that says whose row it is names a person; what was guessed otherwise is a new question.
        if roles.get(name, "?").endswith("?"):
            settings["columns", name, "role"] = "identifier?"
    return settings


def _code(typed: str) -> str | int | float:
    """A code for a missing value: a number where it is written as one, whatever its decimals."""
    for kind in (int, float):
        try:
            return kind(typed) if typed.isascii() and not typed.strip("+-.0123456789") else typed
        except ValueError:
            continue
    return typed


def level_settings(dataset: Dataset, form: Form) -> dict[Key, Any]:
    """What the form says of the columns that are shown, by section and key of the policy."""
    settings: dict[Key, Any] = {}
    for place, name in enumerate(dataset.columns):
        if f"weight-{place}" not in form.fields:
            continue
        weight = form.text(f"weight-{place}", most=20).replace(",", ".")
        settings["columns", name, "weight"] = _number(weight, name) if weight else None
        for key in ("at_least", "at_most"):
            level = f"{key}-{place}"
            settings["columns", name, key] = form.whole(level, least=0, most=1_000) if form.text(level) else None
    return settings


def _number(text: str, name: str) -> float | int:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number <= 1e6:
        raise Problem(
            422,
            f"The worth of {name} is no number above 0.",
            remedy="1 is usual; 2 makes its detail worth twice as much.",
        )
    return int(number) if number.is_integer() else number


def offered(columns: Sequence[str]) -> list[tuple[str, str]]:
    """Columns to choose from, or none."""
    return [("", "none"), *((name, name) for name in columns)]


def policy_page(context: Here) -> Response:
    """The policy as text, with what was typed, and files of hierarchies."""
    dataset: Dataset = context.loaded
    text = typed_policy(context) if "policy" in context.form.fields else dataset.policy or ""
    with context.site.store.reading() as connection:
        around = frame(context, connection, "policy")
        profiled = finished(connection, dataset.id, "profile")
        hierarchies = datasets.hierarchies(connection, dataset.id)
    columns = profiled[0].result.numbers["columns"] if profiled else ()
    return context.page(
        "dataset_policy.html",
        text=text,
        roles=ROLES,
        reasons={column["name"]: column["reason"] for column in columns},
        settings=TableSettings.of(dataset, context.form),
        whose=WHOSE,
        decimals=DECIMALS,
        named=COLUMNS,
        offered=offered(dataset.columns),
        hierarchies={name: content.count("\n") for name, content in hierarchies.items()},
        **around,
    )


def typed_policy(context: Context) -> str:
    """The text of a policy that a form sent."""
    return context.form.verbatim("policy", most=60_000, lines=True).replace("\r\n", "\n")


def in_words(error: Exception) -> Problem:
    """What is wrong with a form, for the page on which it was typed."""
    return policies.in_words(error) if isinstance(error, PolicyError) else problem_of(error)


@or_again(profile_page, in_words)
def save_roles(context: Here) -> Response:
    """Change roles and hierarchies; the risk is measured again."""
    dataset: Dataset = context.loaded
    form, rules = context.form, policies.rules(dataset.policy)
    sure = form.text("confirm", most=20)  # the place of a column whose role is confirmed as chosen, or "all"
    changes = {}
    for place, name in enumerate(dataset.columns):
        if f"role-{place}" not in form.fields:
            continue
        role: Any = form.choice(f"role-{place}", [f"{role}{mark}" for mark in ("", "?") for role in ROLES])
        role = role.removesuffix("?") if sure == str(place) else role
        rule = policies.rule_of(form.text(f"rule-{place}", most=500))
        if rules.get(name) != (role, rule):
            changes[name] = Change(role, rule)
    text = edited(dataset.policy or "", changes)
    text = confirmed(text, policies.guesses(text)) if sure == "all" else text
    changed = ingest.change_policy(context, dataset, text, version=_version(context))
    page = f"/datasets/{dataset.id}"
    if sure and sure != "all":
        return go(page, said="confirmed")
    if not policies.checked(context.site.store, changed, text).quasi:
        return go(page, said="roles-only")
    ask(context, changed, "assess", wanted_of("assess", {}))
    return go(page, said="roles")


@or_again(policy_page, in_words)
def confirm_by_form(context: Here) -> Response:
    """Confirm the role of a column, or of all."""
    form = context.form
    columns = None if form.text("all") else [form.verbatim("column", most=1_000)]
    ingest.confirm_roles(context, context.loaded, columns, version=_version(context))
    return go(f"/datasets/{context.loaded.id}/policy", said="confirmed")


@or_again(policy_page, in_words)
def save_policy(context: Here) -> Response:
    """The policy as text."""
    text = typed_policy(context)
    ingest.change_policy(context, context.loaded, text, version=_version(context))
    return go(f"/datasets/{context.loaded.id}/policy", said="policy")


@or_again(policy_page, in_words)
def save_rows(context: Here) -> Response:
    """Whose a row is, weights, missing codes, decimals."""
    return _save_settings(context, data_settings(context.loaded, context.form))


@or_again(policy_page, in_words)
def save_levels(context: Here) -> Response:
    """What the detail of each column is worth, and its levels."""
    return _save_settings(context, level_settings(context.loaded, context.form))


def _save_settings(context: Context, settings: Mapping[Key, Any]) -> Response:
    dataset: Dataset = context.loaded
    text = with_settings(dataset.policy or "", settings)
    ingest.change_policy(context, dataset, text, version=_version(context))
    return go(f"/datasets/{dataset.id}/policy", said="policy")


def _version(context: Context) -> int:
    """The version of the policy that the form was made from."""
    return context.form.whole("version", least=0, most=10**12)


@or_again(policy_page, in_words)
def save_hierarchy(context: Here) -> Response:
    """A file of a hierarchy that the policy can name."""
    dataset: Dataset = context.loaded
    upload = context.form.files.get("file")
    if upload is None or not upload.filename:
        raise Problem(422, "No file was chosen.", remedy="Choose a .csv file: one row per value, from fine to coarse.")
    name = policies.file_name(upload.filename)
    text = policies.hierarchy_text(upload.file.read(policies.LARGEST_HIERARCHY + 1))
    sample = f'[columns.x]\nrole = "quasi"\nhierarchy = "{name}"\n'
    policies.parse(sample, {name: text})

    def along(connection: Connection) -> None:
        datasets.set_hierarchy(connection, dataset.id, name, text)

    context.act("web.policy", dataset.subject, along=along, act="hierarchy", file=name, rows=text.count("\n"))
    return go(f"/datasets/{dataset.id}/policy", said="hierarchy")
