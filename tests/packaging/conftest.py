"""The archives, built once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.packaging.building import build, copy_of_the_project


@pytest.fixture(scope="package")
def archives(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The wheel and the source archive of the project as it is now."""
    folder = tmp_path_factory.mktemp("packaging")
    return build(copy_of_the_project(folder / "project"), folder / "dist")


@pytest.fixture(scope="package")
def wheel(archives: tuple[Path, Path]) -> Path:
    """The wheel."""
    return archives[0]
