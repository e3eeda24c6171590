"""Small cases of every shape that the report may meet."""

from __future__ import annotations

from discreet.kernel import Classes, Mask
from discreet.releases import Feasibility, FeasibilityGrid, feasibility, feasibility_grid
from discreet.report import feasibility_page
from tests.report.samples import HOSTILE, WHEN

KEPT, LEFT, OTHERS = 8, 3, 5
"""Large classes of the data, small ones that are left out, and classes only the population has."""


def town(name: str = "zip", *, strangers: bool = False) -> tuple[Classes, Classes]:
    """Eleven classes of the data beside sixteen of the population; with strangers, one class it does not have."""
    mine = [(f"1{place:02}", 30 + place) for place in range(KEPT)] + [(f"2{place:02}", 1) for place in range(LEFT)]
    theirs = [(code, 20 * size) for code, size in mine] + [(f"3{place:02}", 5 + 40 * place) for place in range(OTHERS)]
    rules = {name: Mask(3)}
    mine += [("999", 2)] if strangers else []
    return (
        Classes.of([name], [(code,) for code, _ in mine], [size for _, size in mine], rules=rules),
        Classes.of([name], [(code,) for code, _ in theirs], [size for _, size in theirs], rules=rules),
    )


def made(people: Classes, everybody: Classes, **limits: float) -> tuple[Feasibility, FeasibilityGrid]:
    """One pair of limits and a grid."""
    return feasibility(people, everybody, **limits), feasibility_grid(people, everybody)  # type: ignore[arg-type]


def _kinds() -> dict[str, tuple[Feasibility, FeasibilityGrid]]:
    people, everybody = town()
    return {
        "room": made(people, everybody, k=5),
        "no room": made(people, people, k=5),
        "nobody released": made(people, everybody, k=200, suppression=1.0),
        "uncovered": made(*town(strangers=True), k=2),
        "hostile": made(*town(HOSTILE), k=5),
    }


KINDS = _kinds()


def page(kind: str, *, grid: bool = True, source: str = "people.csv") -> str:
    """The report with everything else fixed."""
    found, cells = KINDS[kind]
    return feasibility_page(
        found,
        grid=cells if grid else None,
        title=f"Room for decoys in {source}",
        source=source,
        population="register.csv",
        created=WHEN,
        command="discreet release feasibility people.csv",
        version="1.2.3",
    )
