"""One project of generated people, its truth and its candidate pairs, for all tests that only look."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from discreet.linkage import Candidates, Labels, LinkageSpec, Pairs, ProjectFolder, find_pairs, start_project
from discreet.linkage.pairfile import read_labels
from discreet.people import LinkFiles, write_extracts


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
