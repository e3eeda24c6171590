"""A log of people who do not exist, querying a hospital that does not exist: for tests, documentation and demo.

Nurses look at few patients of their own ward in full detail, clerks at bills one by one, analysts at thousands of
people whom coarse columns do not single out, researchers at columns that name nobody. Some users misuse what they may
see: they look up strangers with grave diagnoses, take hundreds of identifiable rows in a day, or ask for fine columns
where coarse ones would do. Every score follows from the generated rows by the definition of M.
"""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from discreet.kernel.arrays import Floats, Ints
from discreet.misuse.log import Scored

X = 2.0
VERSION = "generated-1"
DETAILED, ALERTING = 500, 5.0
"""Results of up to so many rows say about whom they are, and those with scores that give an alert."""
PATIENTS, WARDS = 20_000, 40
WEIGHTS = {"diagnosis": (0.1, 0.2, 0.3, 0.6, 1.0), "debt": (0.0, 0.1, 0.3)}
SHARES = {"diagnosis": (0.5, 0.25, 0.15, 0.07, 0.03), "debt": (0.7, 0.2, 0.1)}
FINE, COARSE = ("zip", "birth_date", "sex"), ("zip", "sex")


@dataclass(frozen=True)
class Habit:
    """What a role usually does in a day."""

    results: float
    rows: float
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    own_ward: bool = False


HABITS = {
    "nurse": Habit(9, 2, FINE, ("diagnosis",), own_ward=True),
    "clerk": Habit(20, 1, FINE, ("debt",)),
    "analyst": Habit(4, 800, COARSE, ("diagnosis",)),
    "researcher": Habit(2, 3_000, (), ("diagnosis", "debt")),
}
STAFF = {"nurse": 40, "clerk": 20, "analyst": 12, "researcher": 8}
_ROLES = {
    "strangers": ("nurse",),
    "harvest": ("nurse", "clerk"),
    "too fine": ("analyst",),
    "newcomer": ("nurse", "clerk"),
}
MISUSES = tuple(_ROLES)


@dataclass(frozen=True)
class Hospital:
    """Patients: what their values weigh, and how many look like them."""

    weights: dict[str, Floats]
    alike: dict[tuple[str, ...], Ints]
    ward: Ints

    @classmethod
    def of(cls, rng: np.random.Generator) -> Hospital:
        """Wards differ in how grave their diagnoses are."""
        ward = rng.integers(0, WARDS, PATIENTS)
        grave = rng.random(WARDS) < 0.15
        weights = {
            column: rng.choice(np.array(steps), PATIENTS, p=np.array(SHARES[column]))
            for column, steps in WEIGHTS.items()
        }
        lifted = np.array(WEIGHTS["diagnosis"])[rng.integers(2, 4, PATIENTS)]
        weights["diagnosis"] = np.where(grave[ward], lifted, weights["diagnosis"])
        alike = {FINE: 1 + rng.poisson(0.4, PATIENTS), COARSE: 20 + rng.poisson(40, PATIENTS)}
        return cls(weights, alike, ward)

    def score(self, patients: Ints, habit: Habit) -> tuple[float, Ints]:
        """M of a result, and D of each row."""
        size = len(patients)
        alike = self.alike[habit.quasi][patients] if habit.quasi else np.full(size, size)
        record = np.minimum(1, sum(self.weights[column][patients] for column in habit.sensitive))
        return float(size ** (1 / X) * np.max(record / alike)), alike


@dataclass(frozen=True)
class Employee:
    """A person of the staff."""

    name: str
    role: str
    busy: float
    ward: int
    first: int
    """The first day of work."""


@dataclass(frozen=True)
class Generated:
    """A log, and the days of it that are misuse."""

    results: list[Scored]
    misuse: dict[tuple[str, datetime.date], str] = field(default_factory=dict)


def generate_log(
    rng: np.random.Generator, *, days: int = 60, begin: datetime.date = datetime.date(2025, 3, 3), misusers: int = 12
) -> Generated:
    """Log of working days; each misuser has one to three bad days."""
    hospital, staff = Hospital.of(rng), list[Employee]()
    for role, people in STAFF.items():
        for number in range(1, people + 1):
            newcomer = rng.random() < 0.2
            first = int(rng.integers(days // 3, max(days // 3 + 1, days - 2))) if newcomer else 0
            busy = float(rng.lognormal(0, 0.35))
            staff.append(Employee(f"{role}-{number:02}", role, busy, int(rng.integers(WARDS)), first))
    planned = dict(_plan(rng, staff, days, misusers))
    dates = [begin + datetime.timedelta(days=number // 5 * 7 + number % 5) for number in range(days)]
    results: list[dict[str, Any]] = []
    for number, date in enumerate(dates):
        midnight = datetime.datetime.combine(date, datetime.time(), datetime.UTC)
        for employee in staff:
            misuse = planned.get((employee.name, number))
            if number < employee.first or (rng.random() < 0.15 and misuse is None):
                continue
            for habit, patients in _requests(rng, hospital, employee, misuse):
                score, alike = hospital.score(patients, habit)
                detailed = len(patients) <= DETAILED or score > ALERTING
                results.append(
                    {
                        "time": midnight + datetime.timedelta(seconds=int(rng.integers(8 * 3600, 18 * 3600))),
                        "user": employee.name,
                        "role": employee.role,
                        "score": score,
                        "x": X,
                        "rows": len(patients),
                        "columns": (*habit.quasi, *habit.sensitive),
                        "sensitivity": VERSION,
                        "statement": hashlib.sha256(f"{habit} {len(patients)}".encode()).hexdigest(),
                        "decision": "alert" if score > ALERTING else "allow",
                        "entities": tuple(patients.tolist()) if detailed else None,
                        "weights": {name: tuple(hospital.weights[name][patients].tolist()) for name in habit.sensitive}
                        if detailed
                        else None,
                        "alike": tuple(alike.tolist()) if detailed else None,
                    }
                )
    results.sort(key=lambda result: result["time"])
    numbered = [Scored(id=f"r{place:06}", **result) for place, result in enumerate(results, 1)]
    return Generated(numbered, {(name, dates[number]): kind for (name, number), kind in planned.items()})


def _plan(
    rng: np.random.Generator, staff: list[Employee], days: int, misusers: int
) -> Iterator[tuple[tuple[str, int], str]]:
    """Who misuses what they may see, on which days and how."""
    free = list(staff)
    for number in range(misusers):
        kind = MISUSES[number % len(MISUSES)]
        fits = [one for one in free if one.role in _ROLES[kind] and (kind == "newcomer") == (one.first > 0)]
        if not fits:
            continue
        employee = fits[int(rng.integers(len(fits)))]
        free.remove(employee)
        if kind == "newcomer":
            for day in range(employee.first, min(days, employee.first + 3)):
                yield (employee.name, day), kind
            continue
        for day in rng.permutation(np.arange(employee.first, days))[: int(rng.integers(1, 4))]:
            yield (employee.name, int(day)), kind


def _requests(
    rng: np.random.Generator, hospital: Hospital, employee: Employee, misuse: str | None
) -> Iterator[tuple[Habit, Ints]]:
    """Requests of an employee in a day: habit and patients; misuse comes last."""
    habit = HABITS[employee.role]
    own = np.flatnonzero(hospital.ward == employee.ward) if habit.own_ward else np.arange(PATIENTS)
    for _ in range(1 + rng.poisson(habit.results * employee.busy)):
        rows = min(len(own), 1 + int(rng.poisson(habit.rows * rng.lognormal(0, 0.5))))
        yield habit, rng.choice(own, rows, replace=False)
    if misuse == "strangers":
        grave = np.flatnonzero((hospital.weights["diagnosis"] >= 0.6) & (hospital.ward != employee.ward))
        for _ in range(int(rng.integers(8, 20))):
            yield habit, rng.choice(grave, 1)
    elif misuse == "too fine":
        rows = int(rng.integers(300, 900))
        yield replace(habit, quasi=FINE), rng.choice(PATIENTS, rows, replace=False)
    elif misuse is not None:
        rows = int(rng.integers(60, 250))
        yield replace(habit, sensitive=("diagnosis",)), rng.choice(PATIENTS, rows, replace=False)


def sample(*, user: str = "ann", role: str = "nurse", day: int = 0, score: float = 1.0, rows: int = 1) -> Scored:
    """One result without detail.

    >>> sample(score=2.0).score
    2.0
    """
    when = datetime.datetime(2025, 3, 3, 9, tzinfo=datetime.UTC) + datetime.timedelta(days=day)
    return Scored("r1", when, user, role, score, X, rows, ("diagnosis",), VERSION, "0")
