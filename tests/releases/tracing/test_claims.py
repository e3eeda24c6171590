"""Claims: brought to their classes, counted once, weighed as defined, told without a value of anybody."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from benchmarks.releases_world import RULES, World, marks_of, state, world
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ColumnError, SourceNotFound, UsageError
from discreet.kernel.arrays import Label
from discreet.releases.marks.codebook import DEFAULT, Codebook, derive
from discreet.releases.population_link import Linked
from discreet.releases.tracing.case import Traceable
from discreet.releases.tracing.evidence import log_e_values
from discreet.releases.tracing.result import Trace
from discreet.releases.tracing.trace import trace_claims, trace_leak
from tests.examples import examples

Rows = list[dict[str, Label]]
COLUMNS = ("zip", "sex", "birth_year")


@pytest.fixture(scope="module")
def town() -> World:
    return world(100_000, 0.1)


@pytest.fixture(scope="module")
def raw(town: World) -> dict[tuple[Label, ...], tuple[Label, ...]]:
    """Somebody of each class, as he is in the population."""
    _, population = state(100_000, 0.1)
    levels = town.linked.levels
    found = {}
    for values in population.tuples():
        paths = [RULES[name].path(str(value)) for name, value in zip(COLUMNS, values, strict=True)]
        found[tuple(path[levels[name]] for path, name in zip(paths, COLUMNS, strict=True) if path)] = values
    return found


def rows(labels: Any) -> Rows:
    return [dict(zip(COLUMNS, values, strict=True)) for values in labels]


def marks(town: World, places: Any) -> Rows:
    return rows(town.codebook.marks.labels[place] for place in places)


def of(trace: Trace, recipient: str) -> Any:
    return next(one for one in trace.standings if one.recipient == recipient)


def test_a_leaker_is_named_and_nobody_else(town: World) -> None:
    held = np.flatnonzero(town.codebook.present[3])
    trace = trace_claims(town.traceable, marks(town, held[:20]))
    assert trace.accused == ("Partner 04",)
    assert (of(trace, "Partner 04").hits, of(trace, "Partner 04").misses) == (20, 0)
    assert of(trace, "Partner 04").posterior > 0.99
    assert sum(one.posterior for one in trace.standings) < 1


@given(places=st.sets(st.integers(0, 100), min_size=1, max_size=30))
@settings(max_examples=examples(25), deadline=None)
def test_the_evidence_is_that_of_the_definition(town: World, places: set[int]) -> None:
    trace = trace_claims(town.traceable, marks(town, places))
    hit = sorted(places)
    wanted = log_e_values(town.codebook.probabilities[hit], town.codebook.present[:, hit]) / math.log(10)
    for place, name in enumerate(town.recipients):
        assert of(trace, name).log10_e == pytest.approx(wanted[place])
        assert of(trace, name).accused == (10 ** wanted[place] >= 20 / 1e-3)
    assert trace.hits == tuple(hit)
    assert trace.best_log10_e >= max(wanted) - 1e-9


def test_raw_people_and_published_labels_give_the_same_trace(town: World, raw: dict[Any, Any]) -> None:
    places = range(0, 60, 2)
    published = trace_claims(town.traceable, marks(town, places))
    people = rows(raw[town.codebook.marks.labels[place]] for place in places)
    assert trace_claims(town.traceable, people).to_dict() == published.to_dict()


def test_a_class_counts_once_however_often_it_is_claimed(town: World, raw: dict[Any, Any]) -> None:
    once = trace_claims(town.traceable, marks(town, [0, 5]))
    more = trace_claims(town.traceable, [*marks(town, [0, 5, 5, 5]), *rows([raw[town.codebook.marks.labels[0]]])])
    assert [one.log10_e for one in more.standings] == [one.log10_e for one in once.standings]
    assert (more.counts["rows"], more.counts["classes"], more.counts["marks"]) == (5, 2, 2)


def test_what_fits_no_hierarchy_is_counted_and_never_echoed(town: World) -> None:
    canary = "Zaphod-4711"
    claims = [*marks(town, [0, 1]), {"zip": canary, "sex": "F", "birth_year": "1960"},
              {"zip": "43001", "sex": "F", "birth_year": canary}]  # fmt: skip
    trace = trace_claims(town.traceable, claims)
    assert (trace.counts["unusable"], trace.counts["marks"]) == (2, 2)
    assert canary not in json.dumps(trace.to_dict()) + repr(trace)
    assert "2 rows with a value that fits no hierarchy" in trace.words()


def test_no_value_of_a_claim_is_in_what_is_told(town: World) -> None:
    claims = marks(town, range(30))
    trace = trace_claims(town.traceable, claims)
    for claim in claims:
        assert str(claim["zip"]) not in json.dumps(trace.to_dict())
        assert str(claim["birth_year"]) not in trace.words()


def test_claims_are_sorted_by_where_they_stand(town: World) -> None:
    kept = list(town.linked.released.keep(town.base).tuples())[:3]
    known = {*town.linked.released.tuples(), *town.codebook.marks.labels}
    free = [labels for labels in town.linked.population.tuples() if labels not in known][:4]
    outside = [{"zip": "99999", "sex": "F", "birth_year": "1960"}]
    trace = trace_claims(town.traceable, [*marks(town, [0]), *rows(kept), *rows(free), *outside])
    counts = {name: trace.counts[name] for name in ("marks", "everywhere", "nowhere", "outside", "unusable")}
    assert counts == {"marks": 1, "everywhere": 3, "nowhere": 4, "outside": 1, "unusable": 0}


def test_own_audits_do_not_count(town: World) -> None:
    held = np.flatnonzero(town.codebook.present[3])[:20]
    whole = trace_claims(town.traceable, marks(town, held))
    rest = trace_claims(town.traceable, marks(town, held), exclude=marks(town, held[:18]))
    assert whole.accused
    assert not rest.accused
    assert (rest.counts["excluded"], rest.hits) == (18, tuple(held[18:].tolist()))
    assert trace_claims(town.traceable, marks(town, held[18:])).standings == rest.standings


def test_incidents_count_together_however_they_are_grouped(town: World) -> None:
    held = np.flatnonzero(town.codebook.present[3])[:16]
    may, june = marks(town, held[:8]), marks(town, held[4:])
    first = trace_claims(town.traceable, may)
    assert not first.accused
    as_trace = trace_claims(town.traceable, june, earlier=[first])
    as_claims = trace_claims(town.traceable, june, earlier=[may])
    as_marks = trace_claims(town.traceable, june, earlier=[list(first.hits)])
    assert as_trace.standings == as_claims.standings == as_marks.standings
    assert as_trace.accused == ("Partner 04",)
    assert as_trace.incidents == (tuple(held[:8].tolist()), tuple(held[8:].tolist()))
    assert as_trace.counts["repeated"] == 4
    together = trace_claims(town.traceable, marks(town, held))
    assert [one.log10_e for one in together.standings] == pytest.approx([one.log10_e for one in as_trace.standings])
    again = trace_claims(town.traceable, may, earlier=[as_trace])
    assert [one.log10_e for one in again.standings] == pytest.approx([one.log10_e for one in as_trace.standings])


def test_a_late_recipient_raises_the_line_and_changes_nobodys_evidence(town: World) -> None:
    names = [*town.recipients, "Partner 21"]
    key = derive(bytes(range(32)), "release/spring")
    book = Codebook.of(town.codebook.marks, DEFAULT, names, release="spring", key=key)
    later = replace(town.traceable, codebook=book)
    claims = marks(town, np.flatnonzero(town.codebook.present[3])[:9])
    before, after = trace_claims(town.traceable, claims), trace_claims(later, claims)
    assert after.log10_needed == pytest.approx(math.log10(21 / 1e-3))
    assert of(after, "Partner 04").log10_e == of(before, "Partner 04").log10_e
    reserved = trace_claims(town.traceable, claims, family=40)
    assert reserved.log10_needed == pytest.approx(math.log10(40 / 1e-3))


def test_too_few_hits_say_that_nobody_could_be_accused(town: World) -> None:
    held = np.flatnonzero(town.codebook.present[3])[:3]
    trace = trace_claims(town.traceable, marks(town, held))
    assert not trace.possible
    assert trace.best_log10_e == pytest.approx(of(trace, "Partner 04").log10_e)
    assert "nobody could have been accused" in trace.words()


def test_no_hit_at_all_is_told_in_words(town: World) -> None:
    kept = rows(list(town.linked.released.keep(town.base).tuples())[:3])
    trace = trace_claims(town.traceable, kept)
    assert not trace.accused
    assert {one.log10_e for one in trace.standings} == {0.0}
    assert "Nobody is accused" in trace.words()
    assert json.loads(json.dumps(trace.to_dict(), allow_nan=False))["accused"] == []


def test_the_words_hold_evidence_error_rate_and_limits(town: World) -> None:
    trace = trace_claims(town.traceable, marks(town, np.flatnonzero(town.codebook.present[3])[:20]))
    told = trace.words()
    for part in ("Partner 04 is accused", "20 marks", "20,000 is the line", "0.1 %", "50 %", "hacked", "not a verdict"):
        assert part in told


@pytest.mark.parametrize("kind", ["csv", "parquet", "frame"])
def test_claims_come_from_files_and_frames(town: World, tmp_path: Any, kind: str) -> None:
    claims = marks(town, range(0, 40, 3))
    frame = pl.DataFrame(claims)
    if kind == "frame":
        given: Any = frame
    else:
        given = tmp_path / f"claims.{kind}"
        frame.write_csv(given) if kind == "csv" else frame.write_parquet(given)
    assert trace_claims(town.traceable, given).standings == trace_claims(town.traceable, claims).standings


def test_a_column_at_its_top_need_not_be_given(town: World) -> None:
    data, population = state(100_000, 0.1)
    linked = Linked.at_node(data, population, {"zip": 2, "sex": 1, "birth_year": 0}, k=5)
    found = marks_of(linked, np.random.default_rng(1))
    book = Codebook.of(found, DEFAULT, ["a", "b"], release="spring", key=bytes(32))
    release = Traceable.of(linked, book, release="spring", rules=RULES)
    whole = rows(found.labels[:9])
    short = [{"zip": row["zip"], "birth_year": row["birth_year"]} for row in whole]
    raw_sex = [{**row, "sex": "F"} for row in whole]
    for claims in (short, raw_sex):
        assert trace_claims(release, claims).to_dict() == trace_claims(release, whole).to_dict()
    with pytest.raises(ColumnError, match="'sex'"):
        trace_claims(town.traceable, short)


def test_bad_calls_are_refused_in_words(town: World, tmp_path: Any) -> None:
    claims = marks(town, [0])
    with pytest.raises(UsageError, match="alpha"):
        trace_claims(town.traceable, claims, alpha=0)
    with pytest.raises(UsageError, match="prior"):
        trace_claims(town.traceable, claims, prior=1.0)
    with pytest.raises(UsageError, match="20 recipients"):
        trace_claims(town.traceable, claims, family=3)
    with pytest.raises(UsageError, match="does not have"):
        trace_claims(town.traceable, claims, earlier=[[10**6]])
    with pytest.raises(UsageError, match="dictionaries"):
        trace_claims(town.traceable, [("43001", "F", "1960")])
    with pytest.raises(SourceNotFound):
        trace_claims(town.traceable, tmp_path / "missing.csv")
    leak = trace_leak(town.traceable, town.file(town.sizes * town.copy(3)))
    with pytest.raises(UsageError, match="Only traces of claims"):
        trace_claims(town.traceable, claims, earlier=[leak])
    other = trace_claims(world(100_000, 0.1, law="0.5").traceable, claims)
    with pytest.raises(UsageError, match="another version"):
        trace_claims(town.traceable, claims, earlier=[other])
    nobody = replace(town.codebook, recipients=(), present=np.zeros((0, len(town.codebook.marks)), dtype=bool))
    with pytest.raises(UsageError, match="Nobody ever"):
        trace_claims(replace(town.traceable, codebook=nobody), claims)
