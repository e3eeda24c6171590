"""What the room of releases offers is documented."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet import releases
from discreet.kernel import Classes, Widths
from discreet.releases import feasibility, feasibility_grid, plan_fingerprints

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"


def section(command: str) -> str:
    page = (REFERENCE / "json.md").read_text(encoding="utf-8")
    return page.split(f"## {command} --json\n")[1].split("\n## ")[0]


@pytest.mark.parametrize("name", releases.__all__)
def test_every_public_name_of_the_releases_room_is_documented(name: str) -> None:
    assert f"`{name}" in (REFERENCE / "python.md").read_text(encoding="utf-8")


def test_every_key_of_feasibility_is_documented() -> None:
    people = Classes.of(["zip"], [("1",), ("2",), ("3",)], [6, 5, 1])
    everybody = Classes.of(["zip"], [("1",), ("2",), ("3",), ("4",)], [60, 40, 9, 3])
    page, grid = section("discreet release feasibility"), feasibility_grid(people, everybody).to_dict()
    for key in [*feasibility(people, everybody, k=3).to_dict(), *grid, *grid["cells"][0], *grid["cells"][3], "grid"]:
        assert f"`{key}`" in page, key


def test_every_key_of_fingerprints_is_documented() -> None:
    page = section("discreet release fingerprints")
    people = Classes.of(["age"], [(str(age),) for age in range(8)] * 2, rules={"age": Widths((2, 4))})
    found = plan_fingerprints(people, ["a", "b"], k=2).to_dict()
    for key in [*found, *found["recipients"][0], "owners", "written"]:
        assert f"`{key}`" in page, key
