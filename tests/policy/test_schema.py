"""The JSON Schema says what the parser does."""

from __future__ import annotations

from itertools import combinations

from discreet.policy import json_schema


def test_the_schema_refuses_unknown_keys_everywhere() -> None:
    schema = json_schema()
    assert schema["additionalProperties"] is False
    assert all(part["additionalProperties"] is False for part in schema["$defs"].values())


def test_every_setting_is_described() -> None:
    schema = json_schema()
    for part in [schema, *schema["$defs"].values()]:
        assert all(setting.get("description") for setting in part["properties"].values())


def test_the_roles_are_listed_each_also_with_a_question_mark() -> None:
    roles = ["identifier", "quasi", "sensitive", "other", "drop"]
    listed = json_schema()["$defs"]["ColumnSection"]["properties"]["role"]["enum"]
    assert listed == [*roles, *(f"{role}?" for role in roles)]


def test_an_editor_finds_one_kind_of_hierarchy_at_most() -> None:
    parts = json_schema()["$defs"]
    rules = {name: part for name, part in parts.items() if name.endswith("Rule") and name != "AutoMaskRule"}
    needed = {name: [{*one["required"]} for one in part.get("anyOf", [part])] for name, part in rules.items()}
    for one, other in combinations(rules, 2):
        shared = rules[one]["properties"].keys() & rules[other]["properties"].keys()
        assert not any(first | second <= shared for first in needed[one] for second in needed[other])
    assert len(rules) == 8
