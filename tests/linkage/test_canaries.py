"""Values that occur nowhere else are looked for wherever they must not be: store, ledger, log, errors, exports."""

from __future__ import annotations

import logging
import random
from pathlib import Path

import pytest

from discreet.errors import DiscreetError
from discreet.ledger import Ledger
from discreet.linkage.export import export
from discreet.linkage.progress import progress, summary
from discreet.linkage.review import reveal as door
from discreet.linkage.review.assignments import Limits, assign
from discreet.linkage.review.decisions import adjudicate, decide, undo
from tests.linkage.worlds import folder_of, registered, spec_of

KINDS = {"given": "string", "family": "string", "born": "date", "sex": "category", "number": "fixed"}


def canary(row: int, name: str) -> str:
    if name == "born":
        return f"18{row + 11}-0{row + 1}-2{row}"
    return f"{name[:2]}{'qxzjkw'[row] * 3}{name[-2:]}{row}7{row}"


PEOPLE = [{**{name: canary(row, name) for name in KINDS}, "diagnosis": f"illness{row}vv"} for row in range(6)]
IDENTIFYING = [value for person in PEOPLE for name, value in person.items() if name in KINDS]
DIAGNOSES = [person["diagnosis"] for person in PEOPLE]


def held(values: list[str], where: bytes) -> list[str]:
    return [value for value in values if value.encode() in where]


def test_no_value_is_anywhere_but_in_the_folder_and_before_the_reviewer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("DISCREET_KEYS", str(tmp_path / "keys"))
    home, _ = folder_of(
        tmp_path / "people", PEOPLE, [(0, 1), (2, 3), (4, 5)], spec=spec_of(KINDS, sensitive=["diagnosis"])
    )
    said: list[str] = []
    with Ledger.open(tmp_path / "store.db") as ledger:
        project = registered(ledger, home.path, kappa=1)
        limits = Limits.of("0.5", "0.6")
        assign(ledger, project, ["ann", "ben"], actor="manager", overlap=2, limits=limits, rng=random.Random(1))
        for worker in ("ann", "ben"):
            for number in (1, 2, 3):
                for name in project.attributes:
                    for key in "ab":
                        try:
                            door.reveal(ledger, project, worker, number, name, key=f"{number}-{name}-{key}")
                        except DiscreetError as error:
                            said.append(str(error))
                decide(ledger.store, project, worker, number, 1 if worker == "ann" else 6)
        undo(ledger.store, project, "ann", 1)
        decide(ledger.store, project, "ann", 1, 2)
        adjudicate(ledger, project, "eve", actor="manager")
        for number in (1, 2, 3):
            decide(ledger.store, project, "eve", number, 6)
        said += [repr(progress(ledger, project).to_dict()), repr(summary(ledger, project, "ann").to_dict())]
        said += [repr(project), repr(door.view(ledger, project, "ann", 1)), *map(repr, ledger.entries())]
        shown = repr(door.view(ledger, project, "eve", 1).to_dict())
        done = export(ledger, project, tmp_path / "out", actor="manager", form="csv")
        said.append(repr(done))
        said += [line.decode() for line in ledger.export()]
    assert any("Refused" in line for line in said)
    assert held(IDENTIFYING, shown.encode())  # the canaries do sing where they may
    store = b"".join(path.read_bytes() for path in tmp_path.glob("store.db*"))
    assert b"linkage.revealed" in store
    assert held([*IDENTIFYING, *DIAGNOSES], store + "\n".join([*said, caplog.text]).encode()) == []
    files = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    assert held(IDENTIFYING, b"".join(files.values())) == []
    linked = files.pop("linked.csv")
    assert held(DIAGNOSES, linked) == DIAGNOSES
    assert held(DIAGNOSES, b"".join(files.values())) == []


def test_the_folder_is_open_to_its_owner_only(folder: Path) -> None:
    assert folder.stat().st_mode & 0o077 == 0
