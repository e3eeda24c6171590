"""The examples in docstrings run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import discreet

MODULES = [
    module.name
    for module in pkgutil.walk_packages(discreet.__path__, "discreet.")
    if module.name != "discreet.anonymity.lattice.engine"  # compiled, loaded by ctypes
]


@pytest.mark.parametrize("name", ["discreet", *MODULES])
def test_examples_run(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0
