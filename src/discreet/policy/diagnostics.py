"""Diagnostics of a policy file: position in the TOML text, problem, likely meaning."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Sequence
from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import ValidationError

from discreet.errors import PolicyError
from discreet.policy.schema import RULE_KEYS, RULE_TAGS, PolicyFile


def syntax_error(error: tomllib.TOMLDecodeError, file: str) -> PolicyError:
    """Not even TOML."""
    place = re.search(r"at line (\d+)", str(error))
    problem = re.sub(r"\s*\(at .*\)$", "", str(error))
    twice = re.match("Cannot (overwrite|declare|redefine|mutate)", problem) is not None
    return PolicyError(
        "A key or section is there twice, which TOML does not allow."
        if twice
        else f"This is not valid TOML: {problem}.",
        file=file,
        line=int(place[1]) if place else None,
        remedy="Keep one of the two." if twice else 'Texts need quotes: role = "quasi".',
    )


def shape_error(
    error: ValidationError,
    *,
    file: str,
    source: str,
    known_keys: Callable[[Sequence[str]], list[str]] | None = None,
    described: str = "discreet policy schema describes every key.",
) -> PolicyError:
    """First mistake in a file, where it is, and what was probably meant."""
    # A misspelt key is reported before the key that it leaves missing.
    first = min(error.errors(include_url=False), key=lambda found: found["type"] != "extra_forbidden")
    key, kind, message = [str(part) for part in first["loc"]], first["type"], first["msg"]
    if len(key) > 3 and key[2] == "hierarchy" and key[3] in RULE_TAGS:
        del key[3]  # the tag that pydantic adds for the kind of a hierarchy
    if key[-1] in ("bool", "float", "int", "str") and len(key) > 2 and key[-2].isdigit():
        del key[-1]  # one of the kinds that an item of a list may have
    name, given = ".".join(key), first.get("input")
    known = (known_keys or _known_keys)(key[:-1]) if kind == "extra_forbidden" else []
    if key[-1] in known:
        problem, remedy = (
            f"'{'.'.join(key[:-1])}' has two rules.",
            f"A hierarchy is one rule; remove {key[-1]} or the other.",
        )
    elif kind == "extra_forbidden":
        close = difflib.get_close_matches(key[-1], known, n=1)
        problem = f"unknown key '{name}'."
        remedy = f"Did you mean '{close[0]}'?" if close else f"Known here: {', '.join(known)}."
    elif kind == "missing":
        problem, remedy = f"'{name}' is missing.", f"Add it; {described}"
    elif kind.startswith("union_tag"):
        problem = f"'{name}' is no hierarchy."
        remedy = (
            'Use { mask = 5 }, { mask = "auto" }, { prefix = [3, 1] }, { widths = [5, 10] }, { top = 90, widths = [5] }, '
            '{ cuts = [18, 65] }, { dates = ["year"] }, { map = { "a" = ["b", "*"] } }, { any = "*" } or "file.csv".'
        )
    elif kind == "literal_error" and isinstance(given, str):
        choices = [choice for choice in re.findall(r"'([^']+)'", message) if not choice.endswith("?")]
        close = difflib.get_close_matches(given, choices, n=1)
        problem = f"'{name}' is '{given}'."
        remedy = f"It must be one of: {', '.join(choices)}." + (f" Did you mean '{close[0]}'?" if close else "")
    else:
        problem, remedy = f"'{name}': {message[0].lower()}{message[1:]}.".replace(" after validation", ""), described
    more = error.error_count() - 1
    remedy += f" ({more} more to mend after this one.)" if more else ""
    return PolicyError(problem, remedy=remedy, file=file, line=line_of(source, key))


def _known_keys(place: Sequence[str]) -> list[str]:
    """Keys of the section at a place, by the types of the policy file."""
    kind: Any = PolicyFile
    for part in place:
        fields = getattr(kind, "model_fields", {})
        kind = (
            fields[part].annotation if part in fields else get_args(kind)[-1]
        )  # of a mapping or a list, what it holds
        kind = get_args(kind)[0] if get_origin(kind) in (Union, UnionType) else kind
    return list(getattr(kind, "model_fields", (*RULE_KEYS, "format")))


# Which line of a TOML file holds a key.
_PART = r"""(?:"(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_-]+)"""
_HEADER = re.compile(rf"\s*(\[\[?)\s*({_PART}(?:\s*\.\s*{_PART})*)\s*\]")
_KEY = re.compile(rf"\s*({_PART}(?:\s*\.\s*{_PART})*)\s*=")
_PARTS = re.compile(_PART)

Key = tuple[str, ...]


def line_of(source: str, key: Sequence[str]) -> int | None:
    """Line of the longest part of a key that the file has.

    >>> line_of("[columns.zip]\\nrole = 'quasi'", ["columns", "zip", "role"])
    2
    >>> line_of("[[gateway.limits]]\\n[[gateway.limits]]\\nlimit = 1", ["gateway", "limits", "1", "limit"])
    3
    """
    lines = lines_of(source)
    prefixes = (tuple(key[:length]) for length in range(len(key), 0, -1))
    return next((lines[prefix] for prefix in prefixes if prefix in lines), None)


def lines_of(source: str) -> dict[Key, int]:
    """The line on which each key comes first, to look up many."""
    lines: dict[Key, int] = {}
    table: Key = ()
    met: Counter[Key] = Counter()
    for number, line in enumerate(source.splitlines(), start=1):
        if header := _HEADER.match(line):
            table = _split(header[2])
            if header[1] == "[[":  # one of a list: the place in it is part of the key
                met[table] += 1
                table = (*table, str(met[table] - 1))
            for length in range(1, len(table) + 1):
                lines.setdefault(table[:length], number)
        elif key := _KEY.match(line):
            lines.setdefault(table + _split(key[1]), number)
    return lines


def _split(dotted: str) -> Key:
    return tuple(part.strip("\"'") for part in _PARTS.findall(dotted))
