"""A whole data-sharing project: what was measured, what was disclosed, and whether it is within limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.kernel.notebook import card
from discreet.report.project.disclosed import Disclosed, disclosed
from discreet.report.project.measurement import ProjectFile
from discreet.report.project.measuring import Measured, measure


@dataclass(frozen=True, eq=False)
class Story:
    """Everything that the report tells."""

    project: ProjectFile
    measured: Measured
    disclosed: Disclosed | None
    """None where the project names no store."""

    @property
    def exceeded(self) -> bool:
        """Whether something is above a limit: what leaves the house, a reviewer, or a user of a database."""
        found = self.disclosed
        if found is None:
            return self.measured.exceeded
        reviewed = (gauge for one in found.linkage for gauge in gauges(one))
        beyond = any(gauge.limit is not None and gauge.used > gauge.limit for gauge in reviewed)
        return self.measured.exceeded or beyond or any(user.exceeded for user in found.users)

    def __repr__(self) -> str:
        return f"Story({self.project.title}, {'above a limit' if self.exceeded else 'within limits'})"

    def _repr_html_(self) -> str:
        from discreet.report.project.statements import STANDINGS, statements

        rows = [(STANDINGS[one.standing][0], one.finding.headline) for one in statements(self)]
        return card(self.project.title, rows, head=("standing", "finding"))

    def to_dict(self) -> dict[str, Any]:
        """For JSON; the keys are stable."""
        from discreet.report.project.statements import statements

        nothing = {"releases": None, "linkage": None, "queries": None, "ledger": None}
        return {
            "title": self.project.title,
            **self.measured.to_dict(),
            **(nothing if self.disclosed is None else self.disclosed.to_dict()),
            "findings": [one.to_dict() for one in statements(self)],
            "exceeded": self.exceeded,
        }


def gauges(progress: Any) -> list[Any]:
    """The meters of a linkage project: of everybody together, and of each reviewer."""
    return [progress.characters, progress.risk] + [
        gauge for worker in progress.workers for gauge in (worker.characters, worker.risk)
    ]


def tell(project: ProjectFile, *, store: str | None = None, heads: Sequence[Mapping[str, Any]] = ()) -> Story:
    """Measure what can be measured now and read what was disclosed; `store` takes the place of the project's own."""
    address = project.store if store is None else store
    # First the ledger: it is quick, and nothing is told beside one that was tampered with.
    found = None if address is None else disclosed(project, address, heads=heads)
    return Story(project, measure(project), found)
