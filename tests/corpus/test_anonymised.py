"""Real tables made anonymous by their drafted policy, checked by code that uses nothing of ours."""

from __future__ import annotations

import tomllib
from typing import Any

import pandas
import pytest

import discreet
from tests.corpus.tables import TABLES

BY_NAME = {table.name: table for table in TABLES if "quasi" in table.roles.values()}
K, SUPPRESSION, MOST = 5, 0.05, 6
"""The recipient gets so many quasi-identifiers at most: with forty of them nothing but asterisks would be left."""
PLACE = "place of the row"


def confirmed(frame: pandas.DataFrame) -> dict[str, Any]:
    """The drafted policy as a person might confirm it, with a column that says where each row was."""
    drafts = discreet.profile(discreet.read(frame), largest=1).drafts()
    chosen = [draft.column for draft in drafts if draft.role == "quasi"][:MOST]
    columns: dict[str, Any] = {PLACE: {"role": "other"}}
    for draft in drafts:
        columns[draft.column] = {"role": "drop" if draft.role == "quasi" else draft.role}
        if draft.column in chosen:
            columns[draft.column] = {"role": "quasi", "hierarchy": tomllib.loads(f"rule = {draft.hierarchy}")["rule"]}
    return {"data": {"person": "row"}, "columns": columns}


@pytest.mark.parametrize("name", BY_NAME)
def test_classes_rows_and_order_are_as_promised(name: str) -> None:
    frame = BY_NAME[name].read().reset_index(drop=True)
    policy = confirmed(frame)
    frame[PLACE] = range(len(frame))
    roles = {column: section["role"] for column, section in policy["columns"].items()}
    quasi = [column for column, role in roles.items() if role == "quasi"]
    safe = discreet.anonymise(frame, k=K, suppression=SUPPRESSION, policy=policy, search="optimal").to_pandas()
    # Nobody is in a class of fewer than k, and few are left out.
    assert set(safe.columns) == {column for column, role in roles.items() if role not in ("identifier", "drop")}
    assert safe.groupby(quasi, dropna=False).size().min() >= K
    assert len(frame) * (1 - SUPPRESSION) <= len(safe) <= len(frame)
    # Each row is one of the rows that came, with the sensitive values it had.
    places = safe[PLACE].astype(int)
    assert places.is_unique
    came = frame.loc[places].reset_index(drop=True)
    for column in (column for column, role in roles.items() if role == "sensitive"):
        pandas.testing.assert_series_equal(
            pandas.to_numeric(safe[column], errors="coerce").astype(float),
            pandas.to_numeric(came[column], errors="coerce").astype(float),
            check_names=False,
        )
    # Where a row is says nothing of where it was: five standard errors of a rank correlation by chance.
    assert abs(places.corr(pandas.Series(range(len(safe))), method="spearman")) < 5 / (len(safe) - 1) ** 0.5
