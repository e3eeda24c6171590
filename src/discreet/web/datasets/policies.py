"""Policy of a data set: confirmed text, and uploaded files of hierarchies."""

from __future__ import annotations

import difflib
import re
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.errors import HierarchyError, PolicyError
from discreet.policy import Policy
from discreet.policy.diagnostics import line_of
from discreet.policy.draft import value
from discreet.store import Store
from discreet.web.datasets.store import Dataset, hierarchies
from discreet.web.framework.problems import Problem

FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}\.(csv|txt)")
LARGEST_HIERARCHY = 4 * 1024 * 1024
PRESETS: dict[str, Sequence[Any]] = {
    "number": ({"widths": [5, 10, 20, 40]}, {"widths": [2, 4, 8, 16]}, {"widths": [10, 100, 1000]}),
    "date": ({"dates": ["month", "year", "decade"]}, {"dates": ["year", "decade"]}),
    "code": ({"mask": "auto"}, {"mask": 5}, {"mask": 4}, {"mask": 3}, {"prefix": [3, 1]}),
    "text": ({"mask": "auto"}, {"mask": 5}),
    "boolean": (),
    "empty": (),
}
"""What is offered for a column that looks like this, beside what it has and what was suggested."""
ANY = {"any": "*"}
MOST_NAMED = 10
"""Columns that a refusal names."""


def parse(text: str, hierarchies: Mapping[str, str], columns: Sequence[str] | None = None) -> Policy:
    """The policy; reads hierarchies of the data set, never a path."""
    try:
        sections = tomllib.loads(text).get("columns", {})
    except tomllib.TOMLDecodeError:
        sections = {}  # the policy itself says what is wrong with the text
    for name, section in sections.items() if isinstance(sections, dict) else ():
        rule = section.get("hierarchy") if isinstance(section, dict) else None
        if isinstance(rule, str) and rule not in hierarchies:
            raise HierarchyError(
                f"hierarchy of column '{name}': there is no such file with this data set.",
                remedy="Upload it below the policy first, then name it here.",
                line=line_of(text, ["columns", name, "hierarchy"]),
            )
    with tempfile.TemporaryDirectory(prefix="discreet-policy-") as folder:
        for name, content in hierarchies.items():
            Path(folder, name).write_text(content, encoding="utf-8")
        try:
            policy = Policy.parse(text, folder=folder, file="")
        except PolicyError as error:
            words = error.problem.replace(f"{folder}/", "")
            raise PolicyError(words, remedy=error.remedy, line=error.line) from None
    keys = {getattr(policy, key): key for key in ("count", "weight", "household") if getattr(policy, key)}
    for name in (*policy.roles, *keys):
        if columns is not None and name not in columns:
            close = difflib.get_close_matches(name, columns, n=1)
            raise PolicyError(
                f"the data set has no column '{name}'.",
                remedy=f"Did you mean '{close[0]}'?" if close else "Remove its section.",
                line=line_of(text, ["columns", name] if name in policy.roles else ["data", keys[name]]),
            )
    return policy


def in_words(error: PolicyError) -> Problem:
    """What is wrong with a policy, for the page on which it is edited."""
    place = f"Line {error.line}: " if error.line else ""
    return Problem(422, f"{place}{error.problem}", remedy=error.remedy, title="The policy is not saved")


@dataclass(frozen=True)
class HierarchyChoice:
    """A hierarchy that can be chosen for a column."""

    key: str
    words: str
    rule: Any


def choices(looks: str, suggested: str | None, present: Any, hierarchies: Mapping[str, str]) -> list[HierarchyChoice]:
    """Hierarchies that are offered for a column."""
    rules: list[Any] = [None, present, ANY, *PRESETS.get(looks, ()), *hierarchies]
    if suggested:
        rules.append(tomllib.loads(f"rule = {suggested}")["rule"])
    offered: dict[str, Any] = {key_of(rule): rule for rule in rules}
    return [HierarchyChoice(key, words_of(rule), rule) for key, rule in offered.items()]


def key_of(rule: Any) -> str:
    """A hierarchy as a form sends it: as TOML writes it."""
    return "" if rule is None else value(rule)


def rule_of(key: str) -> Any:
    """The hierarchy that a form sent."""
    try:
        return tomllib.loads(f"rule = {key}")["rule"] if key else None
    except tomllib.TOMLDecodeError:
        raise Problem(
            422, "There is no such hierarchy.", remedy="Choose one of the list, or write it into the policy."
        ) from None


def words_of(rule: Any) -> str:
    """A hierarchy in a few words.

    >>> words_of({"mask": 5}), words_of({"widths": [5, 10]}), words_of(None)
    ('hide characters, 5 steps', 'intervals of 5, 10', 'not at all')
    """
    match rule:
        case None:
            return "not at all"
        case {"mask": "auto"}:
            return "hide characters, as many steps as there are"
        case {"mask": steps}:
            return f"hide characters, {steps} steps"
        case {"prefix": lengths}:
            return "the first " + ", ".join(map(str, lengths)) + " characters"
        case {"cuts": cuts}:
            return "intervals cut at " + ", ".join(map(str, cuts))
        case {"top": _} | {"bottom": _}:
            ends = [f"{end} {rule[end]}" for end in ("bottom", "top") if end in rule]
            return ", ".join(
                [*ends, *([f"intervals of {', '.join(map(str, rule['widths']))}"] if "widths" in rule else [])]
            )
        case {"map": listed}:
            return f"a list of {len(listed):,} values"
        case {"widths": widths}:
            return "intervals of " + ", ".join(f"{width:,}" for width in widths)
        case {"dates": units}:
            return "dates by " + ", ".join(units)
        case {"any": label}:
            return f"the value, then {label}"
        case str(name):
            return f"the file {name}"
    return value(rule)


def rules(text: str | None) -> dict[str, tuple[str, Any]]:
    """Role and hierarchy of each column, as the text has them: a role that is a guess has a question mark."""
    content = tomllib.loads(text) if text else {}
    return {name: (section["role"], section.get("hierarchy")) for name, section in content.get("columns", {}).items()}


def guesses(text: str | None) -> dict[str, str]:
    """Columns whose role no person has confirmed, with that role."""
    return {name: role.removesuffix("?") for name, (role, _) in rules(text).items() if role.endswith("?")}


def require_confirmed(policy: Policy) -> None:
    """Stop where something would be written or released by guessed roles."""
    if policy.unconfirmed:
        raise Problem(
            409,
            f"Not confirmed: {policy.spelled(policy.unconfirmed)}. Nothing is written or released by guessed roles.",
            remedy="Confirm the roles on the tab Policy of the data set, or correct them on its tab Profile.",
            title="The roles are not confirmed",
        )


def require_declared(policy: Policy, columns: Sequence[str]) -> None:
    """Stop where something would be written or released and a column has no role: nobody decided on it."""
    known = {*policy.roles, policy.count, policy.weight}
    if undeclared := [name for name in columns if name not in known]:
        more = f" and {len(undeclared) - MOST_NAMED:,} more" if len(undeclared) > MOST_NAMED else ""
        raise Problem(
            409,
            f"Without a role: {', '.join(undeclared[:MOST_NAMED])}{more}. Nothing is published that nobody decided on.",
            remedy="Give each a role on the tab Profile of the data set; drop leaves a column out of what is published.",
            title="Columns without a role",
        )


def file_name(given: str) -> str:
    """A name that a policy can speak of."""
    name = given.replace("\\", "/").rpartition("/")[2]
    if not FILE_NAME.fullmatch(name):
        raise Problem(
            422,
            "The name of a hierarchy's file has letters, digits, dots, dashes and underlines, and ends in .csv.",
            remedy="Rename the file, and send it again.",
        )
    return name


def hierarchy_text(content: bytes) -> str:
    """The text of a hierarchy's file, if it can be one."""
    if len(content) > LARGEST_HIERARCHY:
        raise Problem(413, f"A hierarchy has at most {LARGEST_HIERARCHY:,} bytes.", remedy="Send a smaller one.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Problem(422, "The hierarchy is not written in UTF-8.", remedy="Save it as UTF-8 text.") from None
    if "\0" in text or not text.strip():
        raise Problem(
            422, "That is not a hierarchy.", remedy="One row per value, from fine to coarse: value;group;all."
        )
    return text


def checked(store: Store, dataset: Dataset, text: str) -> Policy:
    """A text as the policy of a data set, with its hierarchies."""
    with store.reading() as connection:
        files = hierarchies(connection, dataset.id)
    try:
        return parse(text, files, dataset.columns)
    except PolicyError as error:
        raise in_words(error) from None


def with_quasi(store: Store, dataset: Dataset, *, otherwise: str) -> tuple[str, Policy]:
    """The policy as text and parsed, where a column must be a quasi-identifier."""
    if dataset.policy is None:
        remedy = "Have its columns profiled first: that drafts one."
        raise Problem(409, "The data set has no policy yet.", remedy=remedy)
    policy = checked(store, dataset, dataset.policy)
    if not policy.quasi:
        raise Problem(
            409,
            otherwise,
            remedy="Give the columns that an adversary may know from elsewhere the role 'quasi'.",
            title="The policy is not complete",
        )
    return dataset.policy, policy
