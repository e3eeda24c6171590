"""The JSON Schema says what the parser does."""

from __future__ import annotations

from discreet.policy import json_schema


def test_the_schema_refuses_unknown_keys_everywhere() -> None:
    schema = json_schema()
    assert schema["additionalProperties"] is False
    assert all(part["additionalProperties"] is False for part in schema["$defs"].values())


def test_every_setting_is_described() -> None:
    schema = json_schema()
    for part in [schema, *schema["$defs"].values()]:
        assert all(setting.get("description") for setting in part["properties"].values())


def test_the_roles_are_listed() -> None:
    assert json_schema()["$defs"]["ColumnSection"]["properties"]["role"]["enum"] == [
        "identifier",
        "quasi",
        "sensitive",
        "other",
        "drop",
    ]
