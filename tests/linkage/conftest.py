"""One project of generated people with its truth for all tests that only look, and a small one on each kind of store."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from discreet.ledger import Ledger
from discreet.linkage import Candidates, Labels, LinkageSpec, Pairs, ProjectFolder, find_pairs, start_project
from discreet.linkage.matching.pairs import read_labels
from discreet.linkage.project import Project
from discreet.linkage.review.assignments import Limits, assign
from discreet.people import LinkFiles, write_extracts
from tests.linkage.worlds import folder_of, registered


@dataclass(frozen=True)
class Sample:
    """A project with what is true about it."""

    files: LinkFiles
    folder: ProjectFolder
    found: Candidates
    known: Labels

    @property
    def true(self) -> Pairs:
        return self.known.pairs.where(self.known.same)

    @property
    def same(self) -> np.ndarray:
        """Which candidate pairs are one person."""
        return self.found.pairs.labelled(self.true, self.folder.records)


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    home: Path = tmp_path_factory.mktemp("linkage")
    files = write_extracts(home / "data", people=400, seed=3)
    spec = LinkageSpec.load(files.link)
    folder = start_project(home / "project", files.first, files.second, spec=spec, key=b"tests")
    known = read_labels(folder, files.truth, ids=("id_1", "id_2"), same="same")
    return Sample(files, folder, find_pairs(folder), known)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a project of eight people and seven pairs."""
    return folder_of(tmp_path_factory.mktemp("linkage") / "people")[0].path


@pytest.fixture
def ledger(store_url: str) -> Iterator[Ledger]:
    with Ledger.open(store_url) as opened:
        yield opened


@pytest.fixture
def local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ledger]:
    """A ledger on SQLite only, for what does not depend on the store."""
    monkeypatch.setenv("DISCREET_KEYS", str(tmp_path / "store.keys"))
    with Ledger.open(tmp_path / "store.db") as opened:
        yield opened


@pytest.fixture
def project(ledger: Ledger, folder: Path) -> Project:
    """A project whose pairs Ann and Ben both have."""
    made = registered(ledger, folder)
    assign(ledger, made, ["ann", "ben"], actor="manager", overlap=2, limits=Limits.of("0.5"), rng=random.Random(1))
    return made
