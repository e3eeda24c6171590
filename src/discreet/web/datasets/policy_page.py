"""Policy of a data set on its pages: roles, rows and values, levels, text, files of hierarchies."""

from __future__ import annotations

from collections.abc import Mapping
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
from discreet.web.datasets.table_settings import (
    COLUMNS,
    DECIMALS,
    WHOSE,
    TableSettings,
    data_settings,
    level_settings,
    offered,
)
from discreet.web.framework.context import Context, Here, go, or_again
from discreet.web.framework.problems import Problem, problem_of
from discreet.web.jobs.pages import ask, wanted_of


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
