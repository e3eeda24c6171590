"""The project file: strict, in words, relative to itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import PolicyError
from discreet.report.project import ProjectFile, draft_project

LEAST = 'title = "Spring"\ndata = "a.csv"\npolicy = "p.toml"\n'


def refusal(source: str) -> PolicyError:
    with pytest.raises(PolicyError) as caught:
        ProjectFile.parse(source)
    return caught.value


def test_an_unknown_key_is_refused_with_its_line_and_a_suggestion() -> None:
    error = refusal(LEAST + 'publised = "safe.csv"\n')
    assert "unknown key 'publised'" in str(error)
    assert "Did you mean 'published'?" in str(error)
    assert error.line == 4
    assert error.exit_code == 4


@pytest.mark.parametrize("key", ["title", "data", "policy"])
def test_what_is_needed_is_asked_for(key: str) -> None:
    lines = [line for line in LEAST.splitlines() if not line.startswith(key)]
    assert f"'{key}' is missing" in str(refusal("\n".join(lines)))


def test_kinds_are_not_guessed() -> None:
    assert "'releases'" in str(refusal(LEAST + 'releases = "spring"\n'))
    assert "not valid TOML" in str(refusal("title = spring"))


def test_paths_are_relative_to_the_file_and_addresses_stay(tmp_path: Path) -> None:
    text = LEAST + 'population = "pop.csv"\nstore = "postgresql://db.example/discreet"\nreleases = ["one"]\n'
    (tmp_path / "project.toml").write_text(text, encoding="utf-8")
    for given_path in (tmp_path, tmp_path / "project.toml", str(tmp_path)):
        found = ProjectFile.load(given_path)
        assert (found.data, found.policy) == (str(tmp_path / "a.csv"), str(tmp_path / "p.toml"))
        assert found.store == "postgresql://db.example/discreet"
        assert (found.releases, found.linkage) == (("one",), None)


@pytest.mark.parametrize("written", ["3500000", '"3,500,000"', '"3_500_000"'])
def test_a_population_may_be_a_number(written: str) -> None:
    assert ProjectFile.parse(f"{LEAST}population = {written}").population == 3_500_000


def test_a_file_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="no such project file"):
        ProjectFile.load(tmp_path)
    (tmp_path / "project.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(PolicyError, match="cannot be read"):
        ProjectFile.load(tmp_path)


@given(
    title=st.text(min_size=1, max_size=200),
    store=st.none() | st.just("store.db"),
    population=st.none() | st.integers(1, 10**9) | st.just("people.parquet"),
)
def test_a_draft_reads_back_as_it_was_meant(title: str, store: str | None, population: Any) -> None:
    text = draft_project(title=title, data="a.csv", policy="p.toml", store=store, population=population)
    found = ProjectFile.parse(text)
    assert (found.title, found.data, found.store, found.population) == (title, "a.csv", store, population)
    assert found.releases is None


def test_a_draft_speaks_of_every_key() -> None:
    text = draft_project(title="Spring", data="a.csv", policy="p.toml")
    fields = ProjectFile.__dataclass_fields__.keys() - {"file"}
    assert all(f"{key} = " in text for key in fields)
    uncommented = "\n".join(line.removeprefix("# ") for line in text.splitlines() if " = " in line)
    assert ProjectFile.parse(uncommented).databases == ("hospital",)
