"""The log: what is written is read, what is wrong is refused by line and key, and never repeated."""

from __future__ import annotations

import datetime
import json
import math
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import EmptySource, SourceNotFound, SourceUnreadable
from discreet.misuse.generated import generate_log, sample
from discreet.misuse.log import CHECKS, Decision, Scored, parse, read_log, write_line

CANARY = "Zaphod-1952"
words = st.text(min_size=1, max_size=6).filter(lambda word: not any("\ud800" <= letter <= "\udfff" for letter in word))
zones = st.integers(-12, 12).map(lambda hours: datetime.timezone(datetime.timedelta(hours=hours)))


@st.composite
def results(draw: st.DrawFn) -> Scored:
    rows = draw(st.integers(0, 4))
    columns = draw(st.lists(words, min_size=1, max_size=3, unique=True))
    every = {"min_size": rows, "max_size": rows}
    detailed = draw(st.booleans())
    return Scored(
        id=draw(words),
        time=draw(st.datetimes(timezones=zones)),
        user=draw(words),
        role=draw(words),
        score=draw(st.floats(0, 1e6)),
        x=draw(st.sampled_from([1.0, 2.0, 3.5, math.inf])),
        rows=rows,
        columns=tuple(columns),
        sensitivity=draw(words),
        statement=draw(words),
        decision=draw(st.sampled_from(get_args(Decision))),
        enforced=draw(st.booleans()),
        context=draw(st.none() | words),
        entities=tuple(draw(st.lists(st.integers() | words, **every))) if detailed else None,
        weights={columns[0]: tuple(draw(st.lists(st.floats(0, 1), **every)))} if detailed else None,
        alike=tuple(draw(st.lists(st.integers(1, 9), **every))) if detailed else None,
    )


@given(st.lists(results(), max_size=4, unique_by=lambda one: one.id))
def test_what_is_written_is_read(written: list[Scored]) -> None:
    lines = [write_line(one) for one in written]
    assert all(line.count("\n") == 1 and line.endswith("\n") for line in lines)
    assert list(parse(lines)) == written


def test_a_generated_log_reads_back(tmp_path: Path) -> None:
    log = generate_log(np.random.default_rng(3), days=2, misusers=0).results
    path = tmp_path / "log.jsonl"
    path.write_text("".join(map(write_line, log)) + "\n", encoding="utf-8")
    assert read_log(path) == log


LINE = json.loads(
    write_line(next(one for one in generate_log(np.random.default_rng(1), days=1).results if one.rows == 2))
)
WRONG: list[tuple[str, Any]] = [
    *[("v", value) for value in (2, "1", True, None)],
    *[("id", value) for value in ("", 7, None)],
    *[("time", value) for value in (CANARY, "2025-03-03T09:00:00", 7, None)],
    *[("user", value) for value in ("", None, [CANARY])],
    *[("role", value) for value in ("", None)],
    *[("score", value) for value in (-1, CANARY, None, True)],
    *[("x", value) for value in (0.5, "two", None)],
    *[("rows", value) for value in (-1, 1.5, True, None)],
    *[("columns", value) for value in (CANARY, ["a", "a"], [7], None)],
    *[("sensitivity", value) for value in ("", None)],
    *[("statement", value) for value in ("", None)],
    *[("decision", value) for value in ("maybe", None)],
    *[("enforced", value) for value in (1, "yes", None)],
    *[("context", value) for value in ("", 7)],
    *[("entities", value) for value in ([1], [1.5, 2], CANARY, None)],
    *[("weights", value) for value in ([], {"diagnosis": [0.1]}, {"diagnosis": [0.1, 2]}, {"other": [0.1, 0.1]}, None)],
    *[("alike", value) for value in ([1], [0, 1], [True, 1], None)],
]


@pytest.mark.parametrize(("key", "value"), WRONG)
def test_a_wrong_value_is_refused_by_line_and_key(key: str, value: Any) -> None:
    good, bad = json.dumps(LINE), json.dumps({**LINE, "id": "r2", key: value})
    with pytest.raises(SourceUnreadable, match=f"log.jsonl, line 3: .*'{key}'") as caught:
        list(parse([good, "\n", bad], name="log.jsonl"))
    assert CANARY not in str(caught.value)


@pytest.mark.parametrize("key", [key for key in CHECKS if key not in ("context", "entities", "weights", "alike")])
def test_a_missing_key_is_refused(key: str) -> None:
    with pytest.raises(SourceUnreadable, match=f"'{key}' is missing"):
        list(parse([json.dumps({name: value for name, value in LINE.items() if name != key})]))


def test_every_key_has_a_wrong_value_here() -> None:
    assert {key for key, _ in WRONG} == set(CHECKS)


@pytest.mark.parametrize("line", [CANARY, f'["{CANARY}"]', f'{{"user": "{CANARY}"', "[" * 100_000, '{"score": NaN}'])
def test_what_is_no_object_is_refused_without_repeating_it(line: str) -> None:
    with pytest.raises(SourceUnreadable, match="line 1") as caught:
        list(parse([line]))
    assert CANARY not in str(caught.value)


def test_an_unknown_key_is_refused_without_repeating_it() -> None:
    with pytest.raises(SourceUnreadable, match="a key that no line may have") as caught:
        list(parse([json.dumps({**LINE, CANARY: 1})]))
    assert CANARY not in str(caught.value)


def test_an_id_may_not_come_twice() -> None:
    with pytest.raises(SourceUnreadable, match="line 2: its 'id'"):
        list(parse([json.dumps(LINE)] * 2))


def test_nothing_is_no_log(tmp_path: Path) -> None:
    with pytest.raises(SourceNotFound):
        read_log(tmp_path / "none.jsonl")
    (tmp_path / "empty.jsonl").write_text("\n", encoding="utf-8")
    with pytest.raises(EmptySource):
        read_log(tmp_path / "empty.jsonl")
    (tmp_path / "binary.jsonl").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SourceUnreadable):
        read_log(tmp_path / "binary.jsonl")


def test_a_log_is_read_in_order_of_time(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    lines = [write_line(sample(day=day)).replace('"r1"', f'"r{day}"') for day in (3, 1, 2)]
    path.write_text("".join(lines), encoding="utf-8")
    assert [one.id for one in read_log(path)] == ["r1", "r2", "r3"]


def test_what_was_delivered() -> None:
    assert [
        Scored(**{**vars(sample()), "decision": decision, "enforced": enforced}).delivered
        for decision, enforced in (("allow", True), ("deny", True), ("deny", False), ("reduce", True))
    ] == [True, False, True, True]


def test_the_documentation_names_every_key() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "misuse-log.md").read_text(encoding="utf-8")
    for key in CHECKS:
        assert f"| `{key}` |" in page
