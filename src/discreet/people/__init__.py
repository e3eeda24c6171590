"""Synthetic people: whole states of them, seeded, for the demo, the tests and the benchmarks.

>>> generate(State.of(1_000), seed=1, columns=("zip", "sex", "birth_year"))
People(1,000 rows: zip, sex, birth_year)
"""

from discreet.people.demo_files import (
    DemoFiles,
    Extracts,
    LinkFiles,
    extracts_to_link,
    write_demo,
    write_diagnosis_hierarchy,
    write_extracts,
)
from discreet.people.population import CodedWords as Coded
from discreet.people.population import People, State, counted
from discreet.people.recipes import COLUMNS, diagnosis_hierarchy, generate
from discreet.people.registry import registry

__all__ = [
    "COLUMNS",
    "Coded",
    "DemoFiles",
    "Extracts",
    "LinkFiles",
    "People",
    "State",
    "counted",
    "diagnosis_hierarchy",
    "extracts_to_link",
    "generate",
    "registry",
    "write_demo",
    "write_diagnosis_hierarchy",
    "write_extracts",
]
