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
MISUSES = ("strangers", "harvest", "too fine", "newcomer")


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
    """Somebody with habits of her own."""

    name: str
    role: str
    busy: float
    ward: int
    first: int
    """The day she begins."""


@dataclass(frozen=True)
class Generated:
    """A log, and which days in it are misuse, which a real log does not tell."""

    results: list[Scored]
    misuse: dict[tuple[str, datetime.date], str] = field(default_factory=dict)


def generate_log(
    rng: np.random.Generator, *, days: int = 60, begin: datetime.date = datetime.date(2025, 3, 3), misusers: int = 12
) -> Generated:
    """Working days from `begin` on; each misuser has one to three bad days, newcomers their first ones."""
    hospital = Hospital.of(rng)
    staff = list(_staff(rng, days))
    planned = dict(_plan(rng, staff, days, misusers))
    dates = [begin + datetime.timedelta(days=number // 5 * 7 + number % 5) for number in range(days)]
    results: list[Scored] = []
    for number, date in enumerate(dates):
        for employee in staff:
            misuse = planned.get((employee.name, number))
            if number < employee.first or (rng.random() < 0.15 and misuse is None):
                continue
            results += _day(rng, hospital, employee, date)
            if misuse is not None:
                results += _bad(rng, hospital, employee, date, misuse)
    found = [replace(one, id=f"r{place:06}") for place, one in enumerate(sorted(results, key=lambda one: one.time), 1)]
    return Generated(found, {(name, dates[number]): kind for (name, number), kind in planned.items()})


def _staff(rng: np.random.Generator, days: int) -> Iterator[Employee]:
    for role, people in STAFF.items():
        for number in range(people):
            newcomer = rng.random() < 0.2
            first = int(rng.integers(days // 3, max(days // 3 + 1, days - 2))) if newcomer else 0
            busy = float(rng.lognormal(0, 0.35))
            yield Employee(f"{role}-{number + 1:02}", role, busy, int(rng.integers(WARDS)), first)


def _plan(
    rng: np.random.Generator, staff: list[Employee], days: int, misusers: int
) -> Iterator[tuple[tuple[str, int], str]]:
    free = list(staff)
    for number in range(misusers):
        kind = MISUSES[number % len(MISUSES)]
        fits = [one for one in free if _fits(one, kind)]
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


def _fits(employee: Employee, kind: str) -> bool:
    roles = {
        "strangers": ("nurse",),
        "harvest": ("nurse", "clerk"),
        "too fine": ("analyst",),
        "newcomer": ("nurse", "clerk"),
    }
    return employee.role in roles[kind] and (kind == "newcomer") == (employee.first > 0)


def _day(rng: np.random.Generator, hospital: Hospital, employee: Employee, date: datetime.date) -> Iterator[Scored]:
    habit = HABITS[employee.role]
    patients = np.flatnonzero(hospital.ward == employee.ward) if habit.own_ward else np.arange(PATIENTS)
    for _ in range(1 + rng.poisson(habit.results * employee.busy)):
        rows = min(len(patients), 1 + int(rng.poisson(habit.rows * rng.lognormal(0, 0.5))))
        yield _result(rng, hospital, employee, date, habit, rng.choice(patients, rows, replace=False))


def _bad(
    rng: np.random.Generator, hospital: Hospital, employee: Employee, date: datetime.date, kind: str
) -> Iterator[Scored]:
    habit = HABITS[employee.role]
    if kind == "strangers":
        grave = np.flatnonzero((hospital.weights["diagnosis"] >= 0.6) & (hospital.ward != employee.ward))
        for _ in range(int(rng.integers(8, 20))):
            yield _result(rng, hospital, employee, date, habit, rng.choice(grave, 1))
        return
    if kind == "too fine":
        rows = int(rng.integers(300, 900))
        habit = replace(habit, quasi=FINE)
    else:
        rows = int(rng.integers(60, 250))
        habit = replace(habit, sensitive=("diagnosis",))
    yield _result(rng, hospital, employee, date, habit, rng.choice(PATIENTS, rows, replace=False))


def _result(
    rng: np.random.Generator,
    hospital: Hospital,
    employee: Employee,
    date: datetime.date,
    habit: Habit,
    patients: Ints,
) -> Scored:
    score, alike = hospital.score(patients, habit)
    detailed = len(patients) <= DETAILED or score > ALERTING
    seconds = int(rng.integers(8 * 3600, 18 * 3600))
    return Scored(
        id="r",
        time=datetime.datetime.combine(date, datetime.time(), datetime.UTC) + datetime.timedelta(seconds=seconds),
        user=employee.name,
        role=employee.role,
        score=score,
        x=X,
        rows=len(patients),
        columns=(*habit.quasi, *habit.sensitive),
        sensitivity=VERSION,
        statement=hashlib.sha256(f"{habit} {len(patients)}".encode()).hexdigest(),
        decision="alert" if score > ALERTING else "allow",
        entities=tuple(patients.tolist()) if detailed else None,
        weights={column: tuple(hospital.weights[column][patients].tolist()) for column in habit.sensitive}
        if detailed
        else None,
        alike=tuple(alike.tolist()) if detailed else None,
    )


def sample(*, user: str = "ann", role: str = "nurse", day: int = 0, score: float = 1.0, rows: int = 1) -> Scored:
    """One result without detail.

    >>> sample(score=2.0).score
    2.0
    """
    when = datetime.datetime(2025, 3, 3, 9, tzinfo=datetime.UTC) + datetime.timedelta(days=day)
    return Scored("r1", when, user, role, score, X, rows, ("diagnosis",), VERSION, "0")
