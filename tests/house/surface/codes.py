"""Codes with a meaning: events and outcomes of the ledger, roles and permissions, exit codes, environment variables."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from discreet import errors
from discreet.ledger import EVENTS, OUTCOMES
from discreet.ledger.verifier import ENTRY_KEYS, HEAD_FORMAT, HEAD_KEYS
from tests.house.surface.documented import ROOT
from tests.house.surface.names import resolved
from tests.house.surface.snapshot import Items

VARIABLE = re.compile(r"\b_?DISCREET_[A-Z_]*[A-Z]\b")
ENVIRONMENT = re.compile(r"(os\.)?(environ\b|getenv$)")


def ledger() -> Items:
    """Events and outcomes with their meaning, and the keys of entries and heads."""
    items = {f"event {code}": meaning for code, meaning in EVENTS.items()}
    items |= {f"outcome {code}": meaning for code, meaning in OUTCOMES.items()}
    items |= {f"key of an entry {key}": "always there" for key in ENTRY_KEYS}
    items |= {f"key of a head {key}": "always there" for key in HEAD_KEYS}
    return {**items, "format of a head": HEAD_FORMAT}


def roles() -> Items:
    """Roles, permissions, and which role has which permission."""
    permissions, granted, names, sessions_only = (
        resolved(f"discreet.web.framework.permissions.{name}")
        for name in ("PERMISSIONS", "GRANTED", "ROLES", "SESSIONS_ONLY")
    )
    items: Items = {f"role {role}": meaning for role, meaning in names.items()}
    for permission, meaning in permissions.items():
        holders = ", ".join(role for role in names if permission in granted[role])
        tokens = "not for tokens" if permission in sessions_only else "for tokens"
        items[f"permission {permission}"] = f"{meaning}; for {holders}; {tokens}"
    return items


def exit_codes() -> Items:
    """The tree of errors: the kind each belongs to, and the exit code of a command that ends with it."""
    classes = {name: getattr(errors, name) for name in errors.__all__}
    return {name: f"{cls.exit_code}, a kind of {cls.__mro__[1].__name__}" for name, cls in classes.items()}


def environment() -> Items:
    """Environment variables that the package reads, or that its messages tell people to set."""
    files = sorted((ROOT / "src").rglob("*.py"))
    return dict.fromkeys((name for file in files for name in _variables(file)), "is read")


def _variables(file: Path) -> Iterator[str]:
    text = file.read_text(encoding="utf-8")
    if not re.search("environ|getenv|DISCREET_", text):
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from VARIABLE.findall(node.value)
        elif isinstance(node, ast.Call) and node.args and ENVIRONMENT.match(ast.unparse(node.func)):
            yield from _text(node.args[0])
        elif isinstance(node, ast.Subscript) and ENVIRONMENT.match(ast.unparse(node.value)):
            yield from _text(node.slice)


def _text(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
