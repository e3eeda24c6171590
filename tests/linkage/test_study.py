"""Studies of reviewers: balanced interfaces, stages before pairs, static displays, gold pairs, what is exported."""

from __future__ import annotations

import csv
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from discreet.errors import NotThere, Refused, UsageError
from discreet.ledger import Ledger
from discreet.linkage import Labels, Pairs
from discreet.linkage.evaluation import evaluate
from discreet.linkage.export import clusters_of
from discreet.linkage.folder import ProjectFolder
from discreet.linkage.progress import progress
from discreet.linkage.project import Project
from discreet.linkage.review.assignments import Limits, assign, hide_gold
from discreet.linkage.review.decisions import answers_of, decide
from discreet.linkage.review.reveal import reveal, view
from discreet.linkage.review.views import CONDITIONS
from discreet.linkage.study import (
    STAGES,
    LoggedAct,
    acts_of,
    advance,
    decline,
    enrol,
    export_study,
    log,
    participant,
    start_study,
)
from tests.linkage.worlds import folder_of, registered


@pytest.fixture
def study(ledger: Ledger, tmp_path: Path) -> Project:
    """All six interfaces."""
    project = registered(ledger, folder_of(tmp_path / "people")[0].path)
    return start_study(ledger, project, CONDITIONS, actor="manager")


def admitted(ledger: Ledger, study: Project, worker: str) -> None:
    """Through all stages, half of practice and quiz right."""
    for stage in STAGES[:-1]:
        advance(ledger, study, worker, leaving=stage, right=[True, False] if stage in ("practice", "quiz") else None)


def test_interfaces_are_drawn_and_balanced(ledger: Ledger, study: Project) -> None:
    first = enrol(ledger, study, [f"w{at}" for at in range(8)], actor="manager", rng=random.Random(2))
    further = enrol(ledger, study, [f"w{at}" for at in range(6, 12)], actor="manager", rng=random.Random(3))
    assert set(further) == {"w8", "w9", "w10", "w11"}, "who takes part already keeps the interface"
    assert Counter([*first.values(), *further.values()]) == dict.fromkeys(CONDITIONS, 2)
    assert study.kind == "study"


def test_nothing_is_seen_before_consent_practice_and_quiz(ledger: Ledger, study: Project) -> None:
    enrol(ledger, study, ["ann"], actor="manager")
    for stage in STAGES[:-1]:
        for act in (lambda: view(ledger, study, "ann", 1), lambda: decide(ledger.store, study, "ann", 1, 4)):
            with pytest.raises(NotThere):
                act()
        advance(ledger, study, "ann", leaving=stage)
        assert advance(ledger, study, "ann", leaving=stage).stage != stage, "a second click changes nothing"
    assert view(ledger, study, "ann", 1).pair == 1
    decline(ledger, study, "ann")
    with pytest.raises(NotThere):
        view(ledger, study, "ann", 1)
    taking = participant(ledger.store, study, "ann")
    assert taking is not None
    assert taking.stage == "declined"


@pytest.mark.parametrize("name", CONDITIONS)
def test_each_interface_shows_what_it_says_and_static_ones_open_nothing(
    ledger: Ledger, tmp_path: Path, name: str
) -> None:
    project = registered(ledger, folder_of(tmp_path / "people")[0].path)
    study, condition = start_study(ledger, project, [name], actor="manager"), CONDITIONS[name]
    enrol(ledger, study, ["ann"], actor="manager")
    admitted(ledger, study, "ann")
    cells = view(ledger, study, "ann", 1).cells
    assert {cell.mode for cell in cells} <= {"masked": {"masked"}, "minimum": {"masked", "partial"},
        "moderate": {"masked", "partial", "full"}, "full": {"full"}}[condition.initial]  # fmt: skip
    assert any(cell.marks for cell in cells) == condition.markup
    if not condition.markup:
        assert {piece.kind for cell in cells for row in cell.rows for piece in row.pieces} == {"plain"}
    assert any(cell.next for cell in cells) == (not condition.static)
    if condition.static:
        shut = next((cell for cell in cells if cell.mode != "full"), None)
        if shut is not None:
            with pytest.raises(Refused, match="interface of the study"):
                reveal(ledger, study, "ann", 1, shut.attribute, key="k1")
            assert view(ledger, study, "ann", 1).cells == cells
    else:
        reveal(ledger, study, "ann", 1, cells[0].attribute, key="k1")
        assert view(ledger, study, "ann", 1).cells[0].mode != "masked"


def test_a_study_is_begun_before_pairs_are_assigned(ledger: Ledger, tmp_path: Path) -> None:
    project = registered(ledger, folder_of(tmp_path / "people")[0].path)
    with pytest.raises(UsageError):
        start_study(ledger, project, ["masked", "naked"], actor="manager")
    with pytest.raises(UsageError):
        enrol(ledger, project, ["ann"], actor="manager")
    assign(ledger, project, ["ann"], actor="manager")
    with pytest.raises(UsageError):
        start_study(ledger, project, ["masked"], actor="manager")


def test_gold_pairs_look_like_others_and_their_truth_counts(ledger: Ledger, tmp_path: Path) -> None:
    home, records = folder_of(tmp_path / "people")
    project = registered(ledger, home.path)
    (new,) = {(0, 5)} - set(records)
    pairs = Pairs.of([records[0][0], new[0]], [records[0][1], new[1]], np.zeros(2))
    assert hide_gold(ledger, project, Labels(pairs, np.array([True, False])), actor="manager") == 2
    assign(ledger, project, ["ann"], actor="manager", limits=Limits())
    answers = answers_of(ledger.store, project)
    assert [answered.gold for answered in answers].count(None) == len(records) - 1
    assert len(answers) == len(records) + 1
    for answered in answers:
        decide(ledger.store, project, "ann", answered.pair, 6)
        assert "gold" not in str(view(ledger, project, "ann", answered.pair).to_dict())
    (ann,) = progress(ledger, project).workers
    assert sorted(ann.gold) == [False, True]
    assert ann.too_fast
    same = clusters_of(
        ProjectFolder.open(project.folder), [one for one in answers_of(ledger.store, project) if one.gold is not None]
    )
    assert same.of[records[0][0]] == same.of[records[0][1]]
    assert same.of[new[0]] != same.of[new[1]], "called the same, known to be different"


def test_what_participants_do_is_exported_in_order_without_a_value(
    ledger: Ledger, study: Project, tmp_path: Path
) -> None:
    enrol(ledger, study, ["ann", "ben"], actor="manager", rng=random.Random(1))
    for worker in ("ann", "ben"):
        admitted(ledger, study, worker)
    log(
        ledger.store,
        study,
        "ann",
        2,
        [*acts_of('[[0, 120, 450], [99, 1, 1], "x"]', study.attributes), LoggedAct("decided", since=900)],
    )
    for pair in (2, 1):
        decide(ledger.store, study, "ann", pair, 6)
    decide(ledger.store, study, "ann", 2, 1)
    counts = export_study(ledger, study, tmp_path / "out", actor="manager")
    tables = {
        path.stem: list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
        for path in (tmp_path / "out").iterdir()
    }
    assert counts == {name: len(rows) for name, rows in tables.items()}
    assert [(row["pair"], row["answer"], row["revised"]) for row in tables["decisions"]] == [
        ("1", "same", "0"),
        ("2", "different", "1"),
    ]
    assert [row["act"] for row in tables["log"] if row["participant"] == "ann"] == [*STAGES[1:], "hover", "decided"]
    assert next((row["attribute"], row["lasted ms"]) for row in tables["log"] if row["act"] == "hover") == (
        "given",
        "450",
    )
    assert {row["quiz right"] for row in tables["participants"]} == {"1 of 2"}
    assert "Miller" not in "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "out").iterdir())
    known = Labels(Pairs.of([0], [1], np.zeros(1)), np.array([True]))
    found = evaluate(ledger, study, known, complete=True)
    assert {one.condition for one in found.reviewers} == set(found.conditions)
    assert sum(one.accuracy.answered for one in found.conditions.values()) == 2


def test_nonsense_of_a_page_is_left_out() -> None:
    for text in ("", "{}", "[[0]]", "[[0, -1, 2]]", "[[true, 1, 2]]", "[[0, 1e3, 2]]", "null", "[[[]]]"):
        assert acts_of(text, ("name",)) == []
