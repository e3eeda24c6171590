"""Diagnoses, their hierarchy, and whom they meet."""

from __future__ import annotations

import numpy as np

from discreet.people import People, diagnosis_hierarchy
from discreet.people.recipes import DIAGNOSES


def test_the_hierarchy_covers_all_diagnoses_once(people: People) -> None:
    values = [row[0] for row in diagnosis_hierarchy()]
    assert len(values) == len(set(values))
    assert set(people.column("diagnosis")) == set(values)


def test_every_level_coarsens_the_one_before() -> None:
    rows = diagnosis_hierarchy()
    assert len({row[:2] for row in rows} | {row[1:] for row in rows}) == len(rows) + len({row[1] for row in rows})
    assert len({row[0] for row in rows}) > len({row[1] for row in rows}) > len({row[2] for row in rows}) > 1
    assert {row[3] for row in rows} == {"*"}


def test_no_label_needs_quotes() -> None:
    assert not any(set(cell) & set(';,"\n') for row in diagnosis_hierarchy() for cell in row)


def test_shares_are_shares() -> None:
    assert all(0 <= one.women <= 1 and one.weight > 0 and one.spread > 0 for one in DIAGNOSES)


def test_some_diagnoses_meet_one_sex_only(people: People) -> None:
    sex, diagnosis = people.column("sex"), people.column("diagnosis")
    assert set(sex[diagnosis == "Pregnancy"]) == {"F"}
    assert set(sex[diagnosis == "Prostate cancer"]) == {"M"}


def test_diagnoses_have_their_age(people: People) -> None:
    age, diagnosis = 2024 - people.column("birth_year"), people.column("diagnosis")
    assert age[diagnosis == "Dementia"].mean() > 75
    assert age[diagnosis == "Pregnancy"].max() < 60
    assert age[diagnosis == "Chlamydia"].mean() < 35


def test_grave_diagnoses_bring_more_visits(people: People) -> None:
    visits, diagnosis = people.column("visits"), people.column("diagnosis")
    assert visits[diagnosis == "Lung cancer"].mean() > 2 * visits[diagnosis == "Influenza"].mean()
    assert np.var(visits) > np.mean(visits)
