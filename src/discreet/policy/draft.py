"""Policy drafts for a custodian to confirm, and edits that keep the author's text."""

from __future__ import annotations

import itertools
import json
import re
import shlex
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.errors import UsageError
from discreet.policy.diagnostics import Key, lines_of
from discreet.policy.schema import DraftedRole, Role

HEAD = """\
# A draft. Discreet guessed the roles; the question marks say so. A person who knows the data corrects each role and
# confirms it.
# Until then the risk can be measured (quasi?, sensitive? and other? count as quasi), and nothing is written or released.
#   identifier  names a person (name, number, address)
#   quasi       an adversary may know it from elsewhere (age, postcode, sex, dates)
#   sensitive   what an adversary would like to learn (diagnosis, income)
#   other       none of these; published as it is
#   drop        left out of everything that is published
"""
COMMANDS = """\
# To confirm a role, remove its question mark, or run: discreet policy confirm POLICY [COLUMN ...] [--all]
# Check it with: discreet policy check POLICY --data DATA
"""


@dataclass(frozen=True)
class Draft:
    """What was guessed about one column, and why."""

    column: str
    role: Role
    reason: str
    hierarchy: str = ""
    """A built-in rule in TOML, where one fits."""
    values: int = 0
    """How many categories there are to group, where they are many."""
    person: bool = False
    """Whether it says whose row it is, where people have several rows."""
    weight: bool = False
    """Whether it says how many people of the population each of a survey stands for."""
    empty: int = 0
    """Rows that have nothing there."""
    household: bool = False
    """Whether it says which people live together."""


def write_draft(
    drafts: Iterable[Draft],
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    decimal: str | None = None,
    missing: Sequence[str] = (),
    commands: bool = True,
) -> str:
    """The policy file as text; it names commands unless it is for a page.

    >>> print(write_draft([Draft("zip", "quasi", "looks like a postcode", "{ mask = 5 }")]).splitlines()[-3])
    role = "quasi?"  # looks like a postcode
    """
    parts, drafts = [HEAD + (COMMANDS if commands else "")], list(drafts)
    data: dict[str, Any] = {"encoding": encoding, "delimiter": delimiter, "sheet": sheet, "decimal": decimal}
    data |= {"missing": [*missing]} if missing else {}
    written = [f"{key} = {value(given)}\n" for key, given in data.items() if given is not None]
    written += [
        f"person = {json.dumps(draft.column)}  # its numbers are on several rows each; "
        f'"row" if each row is a person all the same{_nobody(draft.empty)}\n'
        for draft in drafts
        if draft.person
    ]
    written += [
        f"household = {json.dumps(draft.column)}  # which people live together, as its name says\n"
        for draft in [draft for draft in drafts if draft.household][:1]
    ]
    written += [
        f"weight = {json.dumps(draft.column)}  # how many people of the population each stands for, as its name says\n"
        for draft in drafts
        if draft.weight
    ]
    if written:
        parts.append("[data]\n" + "".join(written))
    for draft in drafts:
        rule = f"hierarchy = {draft.hierarchy}\n" if draft.hierarchy else ""
        if draft.values and commands and draft.column.isprintable():
            rule += f"# Its {draft.values:,} values can be grouped: discreet hierarchy init DATA {shlex.quote(draft.column)} --out FILE\n"
        parts.append(f'[columns.{key_of(draft.column)}]\nrole = "{draft.role}?"  # {draft.reason}\n{rule}')
    return "\n".join(parts) + "\n"


def _nobody(rows: int) -> str:
    """What to do about rows that do not say whose they are."""
    return f"; {rows:,} rows have no number there: fill them or leave them out" if rows else ""


def key_of(name: str) -> str:
    """A name as a key of TOML.

    >>> print(key_of("zip"), key_of("birth date"))
    zip "birth date"
    """
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else value(name)


# Changing roles and hierarchies in the text of a policy; what its author wrote around them stays.
@dataclass(frozen=True)
class Change:
    """What a column shall be from now on."""

    role: DraftedRole
    hierarchy: Any = None
    """As the file's reader gives it: a rule such as {"mask": 5}, the name of a file, or None for none."""


def edited(source: str, changes: Mapping[str, Change]) -> str:
    """Text of a policy with other roles and hierarchies; comments stay if possible.

    >>> print(edited('[columns.zip]\\nrole = "other"  # sure?', {"zip": Change("quasi", {"mask": 5})}))
    [columns.zip]
    role = "quasi"  # sure?
    hierarchy = { mask = 5 }
    <BLANKLINE>
    """
    wanted = tomllib.loads(source)
    lines, places = [[line] for line in source.splitlines()], lines_of(source)
    sections = []
    for name, change in changes.items():
        hierarchy = {} if change.hierarchy is None else {"hierarchy": change.hierarchy}
        section = wanted.setdefault("columns", {}).setdefault(name, {})
        section.pop("hierarchy", None)
        section.update({"role": change.role, **hierarchy})
        # Each line may become none or several; a column that has none gets a section of its own.
        rule_lines = [f"hierarchy = {value(rule)}" for rule in hierarchy.values()]
        role, rule = _line(lines, places, name, "role"), _line(lines, places, name, "hierarchy")
        if role is None:
            sections.append("\n".join([f"[columns.{key_of(name)}]", f'role = "{change.role}"', *rule_lines]))
            continue
        role[0] = re.sub(r"=\s*(\"[^\"]*\"|'[^']*')", f'= "{change.role}"', role[0], count=1)
        if rule is None:
            role.extend(rule_lines)
        elif _means(rule[0]) != {"hierarchy": change.hierarchy}:
            rule[:] = rule_lines
    text = "\n".join(itertools.chain.from_iterable(lines)) + "\n"
    if sections:
        text = "\n\n".join([text.rstrip("\n"), *sections]) + "\n"
    return text if _means(text) == wanted else written(wanted)


def with_settings(source: str, settings: Mapping[Key, Any]) -> str:
    """Text of a policy with other settings, given by section and key; None removes one. Comments stay if possible.

    >>> print(with_settings('[data]  # as sent\\ndecimal = ","', {("data", "decimal"): None, ("data", "person"): "nr"}))
    [data]  # as sent
    person = "nr"
    <BLANKLINE>
    """
    wanted, sections = tomllib.loads(source), list[str]()
    lines, places = [[line] for line in source.splitlines()], lines_of(source)
    for (*section, key), content in settings.items():
        inner = wanted
        for name in section:
            inner = inner.setdefault(name, {})
        if inner.get(key) == content:
            continue
        inner.pop(key, None)
        if content is not None:
            inner[key] = content
        line = [] if content is None else [f"{key_of(key)} = {value(content)}"]
        place, header = places.get((*section, key)), places.get(tuple(section))
        if place is not None:
            lines[place - 1][:1] = line
        elif header is not None:
            lines[header - 1] += line
        elif line:
            title = f"[{'.'.join(map(key_of, section))}]"
            if title not in sections:
                sections.append(title)
            sections.insert(sections.index(title) + 1, line[0])
    text = "\n".join(itertools.chain.from_iterable(lines)) + "\n"
    if sections:
        text = text.rstrip("\n") + "\n\n" + "\n".join(sections) + "\n"
    wanted = {name: section for name, section in wanted.items() if section}
    means = _means(text)
    return (
        text if means is not None and {key: part for key, part in means.items() if part} == wanted else written(wanted)
    )


QUESTION = re.compile(r"(?:identifier|quasi|sensitive|other|drop)\?")
"""What may be a role with a question mark: also in a comment, or in the name of a column."""


def confirmed(source: str, names: Iterable[str]) -> str:
    """Text of a policy without the question marks of these columns' roles; every other character stays.

    >>> print(confirmed('[columns]\\nzip.role = "quasi?"  # is it "quasi?"', ["zip"]))
    [columns]
    zip.role = "quasi"  # is it "quasi?"
    """
    # Each candidate gets a number of its own; the reader of the file then says which of them is whose role.
    marks = [match.end() for match in QUESTION.finditer(source)]
    parts = [source[start:end] for start, end in itertools.pairwise([0, *marks, len(source)])]
    numbered = "".join(itertools.chain.from_iterable(zip(parts, [*map(str, range(len(marks))), ""], strict=True)))
    read, asked = (tomllib.loads(text.removeprefix("\ufeff")).get("columns", {}) for text in (source, numbered))
    sections = dict(zip(read, asked.values(), strict=True))  # a name of a column may have got a number, too
    removed = set()
    for name in names:
        role, _, number = sections[name]["role"].partition("?")
        if not number:
            raise UsageError(
                f"The role of column '{name}' cannot be changed in the text of the policy.",
                remedy=f'Write it by hand: role = "{role}"',
            )
        removed.add(int(number))
    return "".join(part[:-1] if place in removed else part for place, part in enumerate(parts))


def _means(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def _line(lines: list[list[str]], places: Mapping[Key, int], name: str, key: str) -> list[str] | None:
    """Line of a column's key, if it has a line of its own."""
    place = places.get(("columns", name, key))
    found = None if place is None else lines[place - 1]
    return found if found is not None and re.match(rf"\s*{key}\s*=", found[0]) else None


def value(content: Any) -> str:
    """Value in TOML, on one line; escapes are those of JSON, and delete.

    >>> value({"widths": [5, 10]})
    '{ widths = [5, 10] }'
    """
    if isinstance(content, Mapping):
        return "{ " + ", ".join(f"{key_of(key)} = {value(inner)}" for key, inner in content.items()) + " }"
    if isinstance(content, list):
        return "[" + ", ".join(map(value, content)) + "]"
    return json.dumps(content, ensure_ascii=False).replace("\x7f", "\\u007F")


def written(content: Mapping[str, Any]) -> str:
    """A whole policy as text, without comments."""
    sections = [(key, section) for key, section in content.items() if key != "columns"]
    sections += [(f"columns.{key_of(name)}", section) for name, section in content.get("columns", {}).items()]
    return "\n".join(
        "".join([f"[{title}]\n", *(f"{key_of(key)} = {value(inner)}\n" for key, inner in section.items())])
        for title, section in sections
    )
