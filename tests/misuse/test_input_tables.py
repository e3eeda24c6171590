"""Several tables about the same entities."""

from __future__ import annotations

from typing import Any

import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ColumnError, DataError, UsageError
from discreet.misuse import join, prepare, score
from tests.misuse import brute
from tests.misuse.paper import F
from tests.misuse.strategies import CELLS, XS

CUSTOMERS = [{"id": 1, "job": "Lawyer"}, {"id": 2, "job": "Teacher"}, {"id": 3, "job": "Lawyer"}]
BILLS = [
    {"customer": 1, "bill": 350},
    {"customer": 1, "bill": 350},
    {"customer": 1, "bill": 90},
    {"customer": 2, "bill": 800},
    {"customer": 9, "bill": 900},
]
ACCOUNTS = [{"owner": "1", "account": "Bronze"}, {"owner": "3", "account": "Gold"}, {"owner": None, "account": "Gold"}]
ON = ["customers.id = bills.customer", "accounts.owner = customers.id"]


def cells(table: Any) -> list[tuple[Any, ...]]:
    return list(zip(*(table.cells(name) for name in table.names), strict=True))


def test_tables_are_joined_over_declared_keys() -> None:
    joined = join({"customers": CUSTOMERS, "bills": BILLS, "accounts": pandas.DataFrame(ACCOUNTS)}, on=ON)
    assert joined.names == ("id", "job", "customer", "bill", "owner", "account")
    assert cells(joined) == [
        ("1", "Lawyer", "1", "350", "1", "Bronze"),
        ("1", "Lawyer", "1", "350", "1", "Bronze"),
        ("1", "Lawyer", "1", "90", "1", "Bronze"),
        ("2", "Teacher", "2", "800", None, None),
        ("3", "Lawyer", None, None, "3", "Gold"),
    ]


def test_columns_of_the_same_name_are_told_apart() -> None:
    joined = join({"a": [{"id": 1, "x": 1}], "b": [{"id": 1, "y": 2}]}, on=["a.id = b.id"])
    assert joined.names == ("a.id", "x", "b.id", "y")


def test_per_entity_the_distinct_values_are_added_up() -> None:
    joined = join({"customers": CUSTOMERS, "bills": BILLS, "accounts": ACCOUNTS}, on=ON)
    found = score(joined, source=CUSTOMERS, quasi=["job"], sensitivity=F, x=2.0, entity="id")
    # 1: 350 once (.3), 90 (.1), Bronze (.3), a crowd of 2; 2: 800 (1), alone; 3: Gold (1), a crowd of 2
    assert found.weighed.record_scores.tolist() == pytest.approx([0.35, 1.0, 0.5])
    assert (found.rows, found.record_score) == (3, 1.0)
    assert found.value == pytest.approx(3**0.5)
    assert [heavy.row for heavy in found.top] == [3, 4, 0]


def test_people_are_counted_in_a_joined_source_not_rows() -> None:
    joined = join({"customers": CUSTOMERS, "bills": BILLS}, on=ON[:1])
    found = score(joined, source=joined, quasi=["job"], sensitivity=F, x=2.0, entity="id")
    assert found.weighed.crowds.tolist() == [2, 1, 2]
    assert found.normalised == 1.0
    part = {name: list(joined.cells(name)[:3]) for name in joined.names}
    some = score(part, source=prepare(joined, ["job"], entity="id"), sensitivity=F, entity="id")
    assert some.normalised == pytest.approx(some.value / found.value)
    assert score(part, source=CUSTOMERS, quasi=["job"], sensitivity=F, entity="id").normalised is None


ROWS = st.lists(
    st.fixed_dictionaries(
        {"id": st.integers(1, 3), **{name: CELLS[name] for name in ("job", "city", "account", "bill")}}
    ),
    max_size=8,
)


@given(rows=ROWS, source=ROWS.filter(bool), x=XS, quasi=st.sampled_from([["job", "city"], ["city"], ["sex"]]))
def test_entities_are_scored_by_the_formula(rows: Any, source: Any, x: float, quasi: list[str]) -> None:
    source = [{**row, "sex": "F"} for row in source]
    present = [name for name in quasi if rows and name in rows[0]]
    owners = list(dict.fromkeys(row["id"] for row in rows))
    best = 0.0
    for owner in owners:
        mine = [row for row in rows if row["id"] == owner]
        weight = sum(
            F(name, cell) for name in F.columns for cell in {str(row[name]): row[name] for row in mine}.values()
        )
        alike = [
            len({other["id"] for other in source if all(other[name] == row[name] for name in present)}) for row in mine
        ]
        crowd = min(max(number, 1) for number in alike) if present else len(owners)
        best = max(best, min(1.0, weight) / crowd)
    found = score(rows, source=source, quasi=quasi, sensitivity=F, x=x, entity="id") if rows else None
    if found is not None:
        assert found.rows == len(owners)
        assert brute.close(found.value, len(owners) ** (1 / x) * best)


@given(
    rows=st.lists(st.fixed_dictionaries({name: CELLS[name] for name in ("job", "account", "bill")}), min_size=1), x=XS
)
def test_one_row_per_entity_is_the_plain_score(rows: list[dict[str, Any]], x: float) -> None:
    table = [{"id": place, **row} for place, row in enumerate(rows)]
    plain = score(table, source=table, quasi=["job"], sensitivity=F, x=x)
    assert score(table, source=table, quasi=["job"], sensitivity=F, x=x, entity="id").value == plain.value


def test_joins_that_make_no_sense_are_refused() -> None:
    tables = {"customers": CUSTOMERS, "bills": BILLS}
    for on in (
        [],
        ["customers.id = bills.customer"] * 2,
        ["customers.id"],
        ["customers.id = customers.job"],
        ["customers.id = x.y"],
    ):
        with pytest.raises(UsageError):
            join(tables, on=on)
    with pytest.raises(ColumnError, match="'number'"):
        join(tables, on=["customers.number = bills.customer"])
    with pytest.raises(UsageError):
        join({}, on=[])


def test_rows_that_are_about_nobody_are_refused() -> None:
    call: dict[str, Any] = {"source": CUSTOMERS, "quasi": ["job"], "sensitivity": F, "entity": "id"}
    with pytest.raises(DataError, match="1 rows do not say"):
        score([{"id": None, "bill": 3}], **call)
    with pytest.raises(ColumnError, match="'id'"):
        score([{"bill": 3}], **call)
