"""One project with everything in it, made once per test worker."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from discreet.report.project import ProjectFile, Story, tell
from tests.report.project.world import furnish


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project file; for looking only."""
    return furnish(tmp_path_factory.mktemp("whole"))


@pytest.fixture
def mine(whole: Path, tmp_path: Path) -> Path:
    """The same project, to be changed."""
    return Path(shutil.copytree(whole.parent, tmp_path / "mine")) / whole.name


@pytest.fixture(scope="session")
def story(whole: Path) -> Story:
    """What the project tells."""
    return tell(ProjectFile.load(whole))
