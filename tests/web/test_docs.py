"""The documentation of roles, permissions and the API is that of the code."""

from __future__ import annotations

import re
from pathlib import Path

from discreet.web.framework.permissions import GRANTED, PERMISSIONS, ROLES, SESSIONS_ONLY
from discreet.web.routes import ROUTES

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"


def rows(page: str, columns: int) -> list[list[str]]:
    """The rows of tables with so many columns."""
    text = (REFERENCE / page).read_text(encoding="utf-8")
    found = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in re.findall(r"^\|.*\|$", text, re.MULTILINE)
    ]
    return [row for row in found if len(row) == columns]


def test_roles_are_those_of_the_code() -> None:
    assert {row[0]: row[1] for row in rows("roles.md", 2)[2:]} == ROLES


def test_permissions_are_those_of_the_code() -> None:
    head, _, *documented = rows("roles.md", 8)
    assert head[2:7] == list(ROLES)
    expected = [
        [f"`{name}`", meaning, *("✓" if name in GRANTED[role] else "" for role in ROLES), "never" if name in SESSIONS_ONLY else "✓"]
        for name, meaning in PERMISSIONS.items()
    ]  # fmt: skip
    assert documented == expected


def test_every_operation_of_the_api_is_documented_with_its_permission() -> None:
    documented = {(row[0], row[1]) for row in rows("api.md", 3)[2:]}
    assert documented == {
        (f"`{route.method} {route.path}`", f"`{route.permission}`") for route in ROUTES if route.kind == "api"
    }


def test_every_status_is_documented() -> None:
    from discreet.web.framework.forms import PROBLEMS

    documented = {int(row[0]) for row in rows("api.md", 2)[2:] if row[0].isdigit()}
    assert {int(status) for status in PROBLEMS} | {405, 500} == documented
