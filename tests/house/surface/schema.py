"""JSON Schemas as flat lists: one item per key with its type and limits, without prose and without names of models."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

Schema = Mapping[str, Any]
CHOICES = ("allOf", "anyOf", "oneOf")
STRUCTURE = frozenset({*CHOICES, "$defs", "$ref", "items", "prefixItems", "properties", "required", "type"})
PROSE = frozenset({"title", "description", "examples", "components"})
LONG = 80


def flat(schema: Schema, document: Schema, path: str = "", *, required: bool = True) -> dict[str, str]:
    """All keys below a schema: `.name` for a key, `.*` for any key, `[]` for an element of a list."""
    types: dict[str, None] = {}
    facts: dict[str, None] = {}
    below: dict[str, str] = {}
    for variant in _variants(schema, document, ()):
        types |= dict.fromkeys(_types(variant))
        facts |= dict.fromkeys(_facts(variant))
        for step, inner, is_required in _inner(variant):
            below |= flat(inner, document, f"{path}{step}", required=is_required)
    return {
        path or ".": ", ".join([" or ".join(types) or "anything", *([] if required else ["optional"]), *facts]),
        **below,
    }


def _variants(schema: Schema, document: Schema, seen: tuple[str, ...]) -> Iterator[Schema]:
    """The schema with its references followed, and each alternative it allows."""
    if reference := schema.get("$ref"):
        assert reference not in seen, f"{reference} refers to itself"
        target: Any = document
        for name in reference.removeprefix("#/").split("/"):
            target = target[name]
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        yield from _variants({**target, **beside}, document, (*seen, reference))
        return
    alternatives = [alternative for key in CHOICES for alternative in schema.get(key, ())]
    for alternative in alternatives:
        yield from _variants(alternative, document, seen)
    beside = {key: value for key, value in schema.items() if key not in CHOICES}
    if not alternatives or beside.keys() - PROSE:
        yield beside


def _types(schema: Schema) -> list[str]:
    types = schema.get("type", [])
    return [types] if isinstance(types, str) else list(types)


def _facts(schema: Schema) -> list[str]:
    """Limits, choices and defaults; `additionalProperties` where it is yes or no."""
    facts = {key: value for key, value in schema.items() if key not in STRUCTURE | PROSE}
    if isinstance(facts.get("additionalProperties"), Mapping):
        del facts["additionalProperties"]
    return [f"{key} {_brief(value)}" for key, value in sorted(facts.items())]


def _brief(value: Any) -> str:
    """A value as JSON; of a long text, which people read, only the beginning."""
    is_long = isinstance(value, str) and len(value) > LONG
    return json.dumps(f"{value[:LONG].splitlines()[0]}..." if is_long else value, sort_keys=True)


def _inner(schema: Schema) -> Iterator[tuple[str, Schema, bool]]:
    required = schema.get("required", ())
    for name, inner in sorted(schema.get("properties", {}).items()):
        yield f".{name}", inner, name in required
    if isinstance(schema.get("items"), Mapping):
        yield "[]", schema["items"], True
    for position, inner in enumerate(schema.get("prefixItems", ())):
        yield f"[{position}]", inner, True
    if isinstance(schema.get("additionalProperties"), Mapping):
        yield ".*", schema["additionalProperties"], True
