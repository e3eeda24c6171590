"""Two extracts of the same people: the truth is true, cases are what they say, seeds repeat."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from discreet.errors import UsageError
from discreet.linkage import LinkageSpec
from discreet.people import Extracts, extracts_to_link, write_extracts
from discreet.people.demo_files import IDENTIFYING, NICKNAMES, NO_SLIP, SLIPS

Row = dict[str, str | None]


@pytest.fixture(scope="module")
def made() -> Extracts:
    return extracts_to_link(2_000, seed=3)


def rows(made: Extracts, side: int) -> dict[str, Row]:
    table = (made.first, made.second)[side]
    columns = {name: table.column(name).tolist() for name in table.columns}
    listed = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    for row in listed:
        if side:
            month, day, year = row.pop("born").split("/")
            row["birth_date"] = f"{year}-{month}-{day}"
    return {row["id"]: row for row in listed}


def told(made: Extracts) -> list[tuple[Row, Row, int, str]]:
    first, second = rows(made, 0), rows(made, 1)
    columns = [made.truth.column(name).tolist() for name in ("id_1", "id_2", "same", "case")]
    return [(first[a], second[b], same, case) for a, b, same, case in zip(*columns, strict=True)]


def differing(one: Row, other: Row) -> set[str]:
    return {name for name in IDENTIFYING if one[name] != other[name]}


def test_sizes(made: Extracts) -> None:
    assert len(made.first) == 1_600
    assert len(made.second) == 1_200 + 400 + 120
    assert len(made.pairs) == 1_200
    assert len({a for a, _ in made.pairs}) == len({b for _, b in made.pairs}) == 1_200


def test_whoever_has_no_slip_is_written_alike(made: Extracts) -> None:
    same = [differing(one, other) for one, other, yes, case in told(made) if yes and case == NO_SLIP]
    assert len(same) > 500
    assert not any(same)


CHANGED = {
    "typo": ({"given_name"}, {"surname"}),
    "nickname": ({"given_name"},),
    "surname changed": ({"surname"},),
    "names swapped": ({"given_name", "surname"},),
    "day and month swapped": ({"birth_date"},),
    "ID missing": ({"national_id"},),
    "digits transposed": ({"national_id"},),
    "moved": ({"zip"}, set()),
}


@pytest.mark.parametrize("case", SLIPS)
def test_a_slip_changes_what_it_says(made: Extracts, case: str) -> None:
    found = [(one, other) for one, other, yes, which in told(made) if yes and which == case]
    assert found
    for one, other in found:
        assert differing(one, other) in CHANGED[case]
        if case == "nickname":
            assert NICKNAMES[str(one["given_name"])] == other["given_name"]
        if case == "names swapped":
            assert (one["given_name"], one["surname"]) == (other["surname"], other["given_name"])
        if case == "digits transposed":
            assert Counter(str(one["national_id"])) == Counter(str(other["national_id"]))
        if case == "ID missing":
            assert other["national_id"] is None
        if case == "day and month swapped":
            assert str(one["birth_date"])[5:] == "-".join(reversed(str(other["birth_date"])[5:].split("-")))


def test_twins_and_fathers_are_other_people(made: Extracts) -> None:
    unlike = [(one, other, case) for one, other, yes, case in told(made) if not yes]
    assert Counter(case for _, _, case in unlike) == {"twins": 60, "father and son": 60}
    for one, other, case in unlike:
        assert one["national_id"] != other["national_id"]
        if case == "twins":
            assert not differing(one, other) - {"given_name", "national_id"}
        else:
            assert one["given_name"] == other["given_name"]
            assert int(str(other["birth_date"])[:4]) - int(str(one["birth_date"])[:4]) >= 19


def test_the_same_seed_gives_the_same_tables(made: Extracts) -> None:
    again, other = extracts_to_link(2_000, seed=3), extracts_to_link(2_000, seed=4)
    assert again.first.column("surname").tolist() == made.first.column("surname").tolist()
    assert again.pairs == made.pairs
    assert other.first.column("surname").tolist() != made.first.column("surname").tolist()


def test_the_files_fit_together(tmp_path: Path) -> None:
    files = write_extracts(tmp_path / "new", people=200, seed=1)
    spec = LinkageSpec.load(files.link)
    header = files.second.read_text(encoding="utf-8").splitlines()[0].split(",")
    assert {attribute.columns[1] for attribute in spec.attributes} | set(spec.sides[1].sensitive) | {"id"} == set(
        header
    )


def test_too_few_people_and_no_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        extracts_to_link(10, seed=1)
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(UsageError):
        write_extracts(tmp_path / "file", people=200, seed=1)
