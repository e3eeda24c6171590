"""Questions about small worlds of people, answered without a database."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from discreet.gateway.statistics import Answers, Moment, StatisticCell, WhoSet
from discreet.gateway.statistics.quantities import people_query
from discreet.ledger import Ledger
from discreet.policy.gateway_section import AggregateColumn, AggregatesPolicy

INCOME, ILL = "t.people.income", "t.people.ill"
SUM = Moment("sum", (INCOME,))
COUNT = Moment("count", (ILL,), condition="ill IN (yes)")
SETTINGS = AggregatesPolicy(columns=MappingProxyType({"income": AggregateColumn((0.0, 100.0), 10.0)}))


@dataclass
class PeopleWorld:
    """Who is in which cell of which relation; rows of a person are repeated keys."""

    cells: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    most: dict[str, int] = field(default_factory=dict)
    fetched: list[str] = field(default_factory=list)

    def question(self, name: str, *moments: Moment, spelling: str = "", **cells: Iterable[int]) -> WhoSet:
        """A grouping set over these people."""
        who = WhoSet(name, "true", "id", f"cell{spelling}", moments or (SUM,), once=False)
        self.cells[people_query([who])] = {label: list(people) for label, people in cells.items()}
        self.most[people_query([who])] = who.rows
        return who

    def ask(self, sql: str) -> Iterator[tuple[Any, ...]]:
        """Runs the query of a who set."""
        self.fetched.append(sql)
        for label, people in self.cells[sql].items():
            keys = sorted(set(people))
            rows = [min(people.count(key), self.most[sql]) for key in keys]
            yield label, struct.pack(f">{len(keys)}Q", *keys), struct.pack(f">{len(keys)}i", *rows)


def cell(label: str, people: Sequence[int], *values: float, version: str = "") -> StatisticCell:
    """A cell as it was counted; `version` are the sensitive values of its people."""
    return StatisticCell((label,), "", len(set(people)), f"{sorted(set(people))}{version}", values, label=label)


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ledger]:
    """A ledger of its own."""
    monkeypatch.setenv("DISCREET_KEYS", str(tmp_path / "keys"))
    with Ledger.open(tmp_path / "store.db") as opened:
        yield opened


def answers(ledger: Ledger, **settings: Any) -> Answers:
    """Answers under the default settings, or others."""
    return Answers(ledger, "clinic", b"secret", replace(SETTINGS, **settings))
