"""Makes the tables of docs/reference from code; `make reference` writes them, and a test fails where they are stale.

A table between `<!-- generated: KIND of NAME -->` and `<!-- end -->` is regenerated. Names, values, defaults, permissions, exit codes and
signatures come from code. The descriptions beside them are written by hand and preserved; a new row takes its description
from the code (help texts, docstrings), to be improved by hand.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import click

REFERENCE = Path(__file__).parents[1] / "docs" / "reference"
PART = re.compile(r"(<!-- generated: (\w+)(?: of ([\w. -]+?))? -->\n\n)(.*?)(\n<!-- end -->)", re.DOTALL)
VALUES = {"integer": "N", "float": "X", "text": "TEXT", "path": "FILE", "file": "FILE", "directory": "DIR"}
Rows = dict[str, list[str]]


def fresh(text: str) -> str:
    """The text of a page with all its generated tables as they must be now."""
    return PART.sub(lambda part: part[1] + PARTS[part[2]](part[3] or "", rows(part[4])) + part[5], text)


def rows(table: str) -> Rows:
    """The rows of a table, by the first name in their first cell."""
    lines = [line for line in table.splitlines() if line.startswith("| `")]
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip("|"))] for line in lines]
    return {re.split(r"[`(]", row[0])[1]: row for row in cells}


def table(head: str, found: Iterator[list[str]]) -> str:
    """Rows below their head, as Markdown; `^` behind a title centres its column, `>` puts it to the right."""
    titles = head.split("|")
    marks = "|".join({"^": ":-:", ">": "--:"}.get(title[-1], "---") for title in titles)
    lines = ["| " + " | ".join(title.rstrip("^>") for title in titles) + " |", f"|{marks}|"]
    return "\n".join([*lines, *(f"| {' | '.join(cells)} |" for cells in found)]) + "\n"


def options(name: str, kept: Rows) -> str:
    """The options of a command."""
    found = [option for option in command(name).params if isinstance(option, click.Option)]
    return table("option|value|meaning|default", (_option(option, kept) for option in found))


def command(name: str) -> click.Command:
    """A command by its words, such as `discreet ledger show`."""
    from discreet.cli.main import cli

    found: click.Command = cli
    for word in name.split()[1:]:
        assert isinstance(found, click.Group)
        inner = found.get_command(click.Context(found), word)
        assert inner is not None, name
        found = inner
    return found


def _option(option: click.Option, kept: Rows) -> list[str]:
    name = option.opts[0]
    words = kept[name][2] if name in kept else _sentence(option.help or "")
    return [f"`{name}`", _value(option), words, "required" if option.required else _default(option)]


def _value(option: click.Option) -> str:
    if option.is_flag:
        return ""
    if isinstance(option.type, click.Choice):
        said = ", ".join(f"`{one}`" for one in option.type.choices)
    else:
        said = option.metavar or VALUES.get(option.type.name.split()[0], option.type.name.upper())
        said = said.replace("|", " or ")
    return f"{said}; can be repeated" if option.multiple else said


def _default(option: click.Option) -> str:
    given = option.default
    if option.is_flag or isinstance(given, bool) or not isinstance(given, str | int | float | Path):
        return ""
    return f"`{given:g}`" if isinstance(given, float) else f"`{given}`"


def errors(_: str, kept: Rows) -> str:
    """The tree of errors, each with its exit code."""
    from discreet import errors as tree

    drawn = re.findall(r"^[│├└─ ]*(\w+) +(\d+)  (.+)$", tree.__doc__ or "", re.MULTILINE)
    return table(
        "error|code>|when",
        (
            [f"`{name}`", str(getattr(tree, name).exit_code), kept[name][2] if name in kept else words]
            for name, _, words in drawn
        ),
    )


def events(_: str, __: Rows) -> str:
    """What can be an entry of the ledger."""
    from discreet.ledger import EVENTS

    return table("code|meaning", ([f"`{code}`", meaning] for code, meaning in EVENTS.items()))


def outcomes(_: str, __: Rows) -> str:
    """How it can end."""
    from discreet.ledger import OUTCOMES

    return table("outcome|meaning", ([f"`{code}`", meaning] for code, meaning in OUTCOMES.items()))


def roles(_: str, __: Rows) -> str:
    """Who there is."""
    from discreet.web.framework.permissions import ROLES

    return table("role|meaning", ([role, meaning] for role, meaning in ROLES.items()))


def permissions(_: str, __: Rows) -> str:
    """Who may do what."""
    from discreet.web.framework.permissions import GRANTED, PERMISSIONS, ROLES, SESSIONS_ONLY

    head = "|".join(["permission", "allows to", *(f"{role}^" for role in ROLES), "for tokens^"])
    granted = {name: ["✓" if name in GRANTED[role] else "" for role in ROLES] for name in PERMISSIONS}
    tokens = {name: "never" if name in SESSIONS_ONLY else "✓" for name in PERMISSIONS}
    return table(head, ([f"`{name}`", words, *granted[name], tokens[name]] for name, words in PERMISSIONS.items()))


def operations(_: str, kept: Rows) -> str:
    """What a program can ask for, and with which permission."""
    from discreet.web.routes import ROUTES

    asked = {f"{route.method} {route.path}": route for route in ROUTES if route.kind == "api"}
    order = [*(name for name in kept if name in asked), *(name for name in asked if name not in kept)]
    words = {name: kept[name][2] if name in kept else _sentence(asked[name].handler.__doc__ or "") for name in order}
    return table(
        "operation|permission|answer", ([f"`{name}`", f"`{asked[name].permission}`", words[name]] for name in order)
    )


def settings(section: str, kept: Rows) -> str:
    """The keys of a section of the policy file."""
    from discreet.policy import json_schema

    schema = json_schema()
    part = schema["properties"][section]
    nested = "additionalProperties" in part and "$ref" in part["additionalProperties"]
    reference = part["additionalProperties"]["$ref"] if nested else _reference(part)
    model = schema["$defs"][reference.rpartition("/")[2]]
    prefix = f"{section}.NAME." if nested else f"{section}."
    return table(
        "key|meaning|default", (_setting(prefix + name, one, model, kept) for name, one in model["properties"].items())
    )


def _reference(part: dict[str, Any]) -> str:
    return str(part.get("$ref") or next(one["$ref"] for one in part["anyOf"] if "$ref" in one))


def _setting(name: str, setting: dict[str, Any], model: dict[str, Any], kept: Rows) -> list[str]:
    before = kept.get(name, [])
    words = before[1] if before else _sentence(setting.get("description", ""))
    if name.rpartition(".")[2] in model.get("required", []):
        return [f"`{name}`", words, "required"]
    given = setting.get("default")
    if given is not None:
        return [f"`{name}`", words, f"`{given}`" if isinstance(given, str) else _number(given)]
    return [f"`{name}`", words, before[2] if len(before) > 2 else "none"]


def _number(given: int | float) -> str:
    return f"{given:g}" if isinstance(given, float) else str(given)


def names(module: str, kept: Rows) -> str:
    """Public names, functions with their signatures."""
    home = import_module(module)
    missing = [name for name in home.__all__ if name not in kept] if module == "discreet" else []
    return table("name|meaning", (_name(home, name, kept.get(name)) for name in [*kept, *missing]))


def _name(home: Any, name: str, before: list[str] | None) -> list[str]:
    found = getattr(home, name, None)
    cell = f"`{name}{signature(found)}`" if inspect.isfunction(found) else f"`{name}`"
    if before is None:
        return [cell, _sentence(inspect.getdoc(found) or "")]
    return [re.sub(r"^`[^`]*`", lambda _: cell, before[0]) if inspect.isfunction(found) else before[0], *before[1:]]


def signature(function: Callable[..., Any]) -> str:
    """What a function takes, without types; `...` stands for options that are handed on."""
    given, star = [], False
    for one in inspect.signature(function).parameters.values():
        if one.kind is one.VAR_POSITIONAL:
            star = True
        elif one.kind is one.KEYWORD_ONLY and not star:
            given.append("*")
            star = True
        given.append(_parameter(one))
    return f"({', '.join(given)})"


def _parameter(one: inspect.Parameter) -> str:
    if one.kind is one.VAR_KEYWORD:
        return "..."
    if one.kind is one.VAR_POSITIONAL:
        return f"*{one.name}"
    if one.default is one.empty:
        return one.name
    return f"{one.name}={_written(one.default)}"


def _written(given: Any) -> str:
    """A default as one would type it; `...` where that is long."""
    if isinstance(given, tuple):
        return f"({', '.join(map(_written, given))}{',' if len(given) == 1 else ''})"
    if isinstance(given, str):
        return json.dumps(given)
    return repr(given) if given is None or isinstance(given, int | float) else "..."


def _sentence(text: str) -> str:
    """The first sentence of a help text, as the tables write: small, and without a full stop."""
    first = text.strip().split("\n\n")[0].replace("\n", " ").rstrip(".")
    return first[:1].lower() + first[1:]


PARTS: dict[str, Callable[[str, Rows], str]] = {
    made.__name__: made for made in (options, errors, events, outcomes, roles, permissions, operations, settings, names)
}


def main() -> int:
    """Regenerate all pages, and print which have changed."""
    for page in sorted(REFERENCE.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        if (now := fresh(text)) != text:
            page.write_text(now, encoding="utf-8")
            print(f"{page.name}: regenerated")
    return 0


if __name__ == "__main__":
    sys.exit(main())
