"""Leaks: whoever leaks a copy is named as the plan says, nobody else is, and a release without marks names nobody."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from discreet.releases.leak_suite import FALSE_CLAIMS, WAYS, LeakOutcome, LeakStage, leak, leak_words
from discreet.releases.marks.codebook import DEFAULT
from discreet.releases.power import STRATEGIES, coalition_supported
from tests.releases import marked

SMALL_PARTS = (
    "a twentieth of the rows",
    "without these, a tenth of the rows",
    "without these, a twentieth of the rows",
)
"""What takes more marks than 15,000 rows give."""


@lru_cache(maxsize=1)
def stage() -> LeakStage:
    chosen = (1_500_000, 0.01, 3)
    made, table = marked.marking(*chosen), marked.state(*chosen)[0]
    return LeakStage.of(made, table, DEFAULT, key=marked.KEY, release="spring")


@lru_cache(maxsize=1)
def outcomes() -> tuple[LeakOutcome, ...]:
    return tuple(leak(stage(), np.random.default_rng(1), runs=1, sizes=(3,)))


def test_a_copy_holds_what_its_marks_say() -> None:
    scene = stage()
    marks, linked = scene.marking.marks, scene.marking.linked
    bits = scene.traceable.present[0]
    counted = np.bincount(scene.mark_of[scene.rows(bits)] + 1, minlength=len(bits) + 1)[1:]
    sizes = np.concatenate([marks.sizes, np.ones(len(scene.marking.rows), dtype=np.int64)])
    assert counted.tolist() == (sizes * bits).tolist()
    everybody = len(scene.rows(np.ones(len(bits), dtype=bool)))
    assert everybody == linked.released.records + int(marks.sizes[marks.decoy].sum())


def test_one_leaker_and_three_who_collude_are_named_as_stated_and_nobody_else_is() -> None:
    assert coalition_supported(len(stage().traceable.probabilities), 20) >= 3
    by_name = {(one.leak, one.part): one for one in outcomes()}
    for way in WAYS:
        if way not in SMALL_PARTS:
            assert by_name[way, 1.0].named == 1, way
    for strategy in STRATEGIES:
        assert by_name[strategy, 1.0].named == 1, strategy
    assert sum(one.innocents for one in outcomes()) == 0
    assert {one.leak for one in outcomes() if not one.colluding} == {"the table itself", *FALSE_CLAIMS}


def test_words_state_what_was_found() -> None:
    found, whole, part, stated, wrong = leak_words(outcomes(), stated=3)
    assert "3: 8 of 8" in whole
    assert part.startswith("From 10 % of the rows")
    assert "one of up to 3 who collude; of up to so many 8 of 8 were named here" in stated
    assert wrong.startswith("No recipient without a part was accused in 36 ")
    escaped = [one for one in outcomes() if one.colluding == 1 and not one.named]
    assert all(f"{one.leak} (0 of 1)" in found for one in escaped)


def test_a_copy_that_nobody_got_names_nobody() -> None:
    scene, random = stage(), np.random.default_rng(2)
    bits = random.random(len(scene.traceable.probabilities)) < scene.traceable.probabilities
    for way in ("the whole copy", "all classes in doubt filled", "a table of counts"):
        assert scene.accused(WAYS[way](scene, scene.rows(bits), random)) == frozenset()
