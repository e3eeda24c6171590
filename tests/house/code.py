"""The code of the package, each file read and parsed once."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
SOURCES = sorted((SOURCE / "discreet").rglob("*.py"))


@cache
def text(path: Path) -> str:
    """What is in a file."""
    return path.read_text(encoding="utf-8")


@cache
def parsed(path: Path) -> ast.Module:
    """Its tree, which nobody changes."""
    return ast.parse(text(path))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """All that is in the tree."""
    return tuple(ast.walk(parsed(path)))
