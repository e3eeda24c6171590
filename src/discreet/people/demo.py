"""A folder to try the product in: a register, a hospital's table, a hierarchy and a policy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from discreet.errors import UsageError
from discreet.people.diagnoses import diagnosis_hierarchy
from discreet.people.recipes import generate
from discreet.people.state import State

__all__ = ["DemoFiles", "write_demo", "write_diagnosis_hierarchy"]

FEWEST_PEOPLE = 1_000
PATIENT_SHARE = 0.01
FEWEST_PATIENTS, MOST_PATIENTS = 1_000, 50_000
REGISTER = ("zip", "sex", "birth_year", "race")

POLICY = """\
# What each column of hospital.csv is, and how it may be coarsened.

[data]
delimiter = ","

# Identifiers name a person; they are never published.
[columns.person_id]
role = "identifier"

[columns.given_name]
role = "identifier"

[columns.surname]
role = "identifier"

[columns.birth_date]
role = "identifier"

# Quasi-identifiers are what an attacker can look up in a register such as population.parquet.
[columns.birth_year]
role = "quasi"
hierarchy = { widths = [2, 4, 8, 16] }  # years in intervals, each level twice as wide

[columns.sex]
role = "quasi"
hierarchy = { any = "Person" }  # one step: everybody alike

[columns.race]
role = "quasi"
hierarchy = { any = "*" }

[columns.zip]
role = "quasi"
hierarchy = { mask = 5 }  # hides one digit after the other, from the right

# Sensitive columns are what the attacker wants to learn.
[columns.diagnosis]
role = "sensitive"
hierarchy = "diagnosis.csv"  # diagnosis, group, chapter, *

[columns.income]
role = "sensitive"

# The rest neither tells who somebody is nor does much harm.
[columns.plan]
role = "other"

[columns.visits]
role = "other"

# How much harm a value does in the wrong hands, from 0 to 1 (`discreet misuse elicit` asks experts).
[sensitivity.diagnosis]
otherwise = 0.2

[sensitivity.diagnosis.values]
"HIV" = 1.0
"Schizophrenia" = 0.9
"Opioid dependence" = 0.9
"Alcohol dependence" = 0.8
"Hepatitis C" = 0.8
"Bipolar disorder" = 0.8
"Miscarriage" = 0.7
"Depression" = 0.6
"Chlamydia" = 0.6
"Infertility" = 0.6

[misuse]
limit = 2.0  # a query result may score so much, and no more
"""


@dataclass(frozen=True, slots=True)
class DemoFiles:
    """Where the files of a demo lie."""

    population: Path
    hospital: Path
    diagnosis: Path
    policy: Path


def write_demo(folder: str | Path, *, people: int, seed: int) -> DemoFiles:
    """Write a demo: a register of all people, and a hospital's table of some of the very same people."""
    if people < FEWEST_PEOPLE:
        raise UsageError(
            f"A demo needs at least {FEWEST_PEOPLE:,} people; {people:,} were asked for.",
            remedy=f"Ask for {FEWEST_PEOPLE:,} or more.",
        )
    files = _files(Path(folder))
    everybody = generate(State.of(people), seed=seed)
    everybody.select(*REGISTER).write(files.population)
    everybody.sample(_patients(people), seed=seed).write(files.hospital)
    write_diagnosis_hierarchy(files.diagnosis)
    files.policy.write_text(POLICY, encoding="utf-8")
    return files


def write_diagnosis_hierarchy(path: str | Path) -> Path:
    """Write the hierarchy of diagnoses: semicolons, no header, one row per diagnosis from fine to coarse."""
    lines = [";".join(row) + "\n" for row in diagnosis_hierarchy()]
    Path(path).write_text("".join(lines), encoding="utf-8", newline="\n")
    return Path(path)


def _files(folder: Path) -> DemoFiles:
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"'{folder}' is a file; a demo needs a folder.", remedy="Name a new folder.")
    folder.mkdir(parents=True, exist_ok=True)
    return DemoFiles(
        population=folder / "population.parquet",
        hospital=folder / "hospital.csv",
        diagnosis=folder / "diagnosis.csv",
        policy=folder / "policy.toml",
    )


def _patients(people: int) -> int:
    return min(MOST_PATIENTS, max(FEWEST_PATIENTS, round(PATIENT_SHARE * people)))
