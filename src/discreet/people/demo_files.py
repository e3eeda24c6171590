"""Files to try the product with: a register and a hospital's table; two extracts to link, with the truth.

Most people in both extracts are written alike; the others show one or two slips. Besides, there are people who look like
one but are two: twins (same surname, birthday and ZIP, neighbouring IDs) and fathers and sons of one name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np

from discreet.errors import UsageError
from discreet.people.population import Array, People, State, decoded, stream
from discreet.people.recipes import diagnosis_hierarchy, generate

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

[gateway.aggregates.columns.income]
bounds = [0, 150000]  # in sums and averages, what lies outside counts as the nearest bound
step = 5000  # conditions and groups are multiples of this
"""


@dataclass(frozen=True, slots=True)
class DemoFiles:
    """The files of a demo."""

    population: Path
    hospital: Path
    diagnosis: Path
    policy: Path
    visits: Path
    """Written as offices write tables, and without a policy."""


def write_demo(folder: str | Path, *, people: int, seed: int) -> DemoFiles:
    """Write a demo: a register of all people, a hospital's table of some of them."""
    if people < FEWEST_PEOPLE:
        raise UsageError(
            f"A demo needs at least {FEWEST_PEOPLE:,} people; {people:,} were asked for.",
            remedy=f"Ask for {FEWEST_PEOPLE:,} or more.",
        )
    home = _folder(folder)
    names = ("population.parquet", "hospital.csv", "diagnosis.csv", "policy.toml", "visits.csv")
    files = DemoFiles(*(home / name for name in names))
    everybody = generate(State.of(people), seed=seed)
    everybody.select(*REGISTER).write(files.population)
    patients = everybody.sample(_patients(people), seed=seed)
    patients.write(files.hospital)
    write_visits(files.visits, patients, seed=seed)
    write_diagnosis_hierarchy(files.diagnosis)
    files.policy.write_text(POLICY, encoding="utf-8")
    return files


def write_diagnosis_hierarchy(path: str | Path) -> Path:
    """Write the hierarchy of diagnoses: semicolons, no header, one row per diagnosis from fine to coarse."""
    lines = [";".join(row) + "\n" for row in diagnosis_hierarchy()]
    Path(path).write_text("".join(lines), encoding="utf-8", newline="\n")
    return Path(path)


VISITED = 600
JOBS = ("Bäcker", "Gärtner", "Lehrer", "Maurer", "Pfleger", "Rentner", "Schüler", "Verkäufer")
CODES = ("C50.9", "E11.9", "F32.1", "I10", "I21.4", "J45.0", "K35.8", "M54.5", "N39.0")
VISITS = "Patientennr;Geburtsdatum;Geschlecht;PLZ;Beruf;Datum;Diagnose;Gewicht\r\n"


def write_visits(path: Path, patients: People, *, seed: int) -> None:
    """Write a table as a German practice exports it: Windows letters, decimal commas, days first, a row per visit."""
    rng, lines = stream(seed, "visits file"), [VISITS]
    columns = [decoded(patients.column(name)).tolist()[:VISITED] for name in ("birth_date", "sex", "zip")]
    for number, (born, sex, postcode) in enumerate(zip(*columns, strict=True), start=20_417):
        person = f"{number};{born:%d.%m.%Y};{1 if sex == 'M' else 2};{postcode};{rng.choice(JOBS)}"
        weight = rng.normal(74, 12)
        for _ in range(int(rng.integers(1, 4))):
            day = np.datetime64("2025-01-02") + rng.integers(360)
            said = f"{weight + rng.normal():.1f}".replace(".", ",") if rng.random() < 0.9 else "NA"
            lines.append(f"{person};{day.item():%d.%m.%Y};{rng.choice(CODES)};{said}\r\n")
    path.write_bytes("".join(lines).encode("cp1252"))


def _patients(people: int) -> int:
    return min(MOST_PATIENTS, max(FEWEST_PATIENTS, round(PATIENT_SHARE * people)))


def _folder(path: str | Path) -> Path:
    folder = Path(path)
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"'{folder}' is a file; a folder is needed.", remedy="Name a new folder.")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


# Two extracts about partly the same people.
FEWEST_EXTRACTED = 100
BOTH, ALONE = 0.6, 0.2
SLIPPED, TWICE = 0.5, 0.25
"""Shares of the people in both tables with a slip, and of those with a second one."""
TWINS, FATHERS = 0.03, 0.03
IDENTIFYING = ("given_name", "surname", "birth_date", "sex", "zip", "national_id")
SENSITIVE = (("diagnosis", "visits"), ("plan", "income"))
NO_SLIP = "no slip"

LINK = """\
# Which columns tell people apart, which are split off, and how they are written.
[linkage]
id = "id"                              # names a record; is not published
sensitive = ["diagnosis", "visits"]    # split off at import
swap = ["given_name", "surname"]       # may have been entered the wrong way round

[linkage.identifying]
given_name = { kind = "string" }
surname = { kind = "string" }
birth_date = { kind = "date" }         # YYYY-MM-DD or MM/DD/YYYY unless formats = [...] says otherwise
sex = { kind = "category" }
zip = { kind = "fixed" }
national_id = { kind = "fixed" }

[linkage.second]                       # where the second table differs
sensitive = ["plan", "income"]
columns = { birth_date = "born" }
"""


@dataclass(frozen=True)
class Extracts:
    """Two tables, and pairs of their ids that are one person or only look like it."""

    first: People
    second: People
    truth: People
    """Columns id_1, id_2, same (1 or 0) and case."""

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The ids of all pairs that are one person."""
        same = self.truth.column("same") == 1
        ids = (self.truth.column(name)[same].tolist() for name in ("id_1", "id_2"))
        return list(zip(*ids, strict=True))


@dataclass(frozen=True)
class LinkFiles:
    """The files of two extracts."""

    first: Path
    second: Path
    truth: Path
    link: Path


def extracts_to_link(people: int = 1_000, *, seed: int) -> Extracts:
    """Two extracts of so many generated people: six tenths are in both, two tenths in either one.

    >>> extracts_to_link(200, seed=1).truth
    People(132 rows: id_1, id_2, same, case)
    """
    if people < FEWEST_EXTRACTED:
        raise UsageError(
            f"Two extracts need at least {FEWEST_EXTRACTED} people.", remedy=f"Ask for {FEWEST_EXTRACTED} or more."
        )
    # Everybody as a record, with a surname and a ZIP to change to.
    wanted = ("given_name", "surname", "birth_date", "sex", "zip", "diagnosis", "visits", "plan", "income", "person_id")
    made = generate(State.of(people), seed=seed, columns=wanted)
    texts = {name: decoded(made.columns[name]).astype(str) for name in wanted}
    changes = stream(seed, "changes")
    texts["other_surname"] = changes.permutation(texts["surname"])
    texts["other_zip"] = changes.permutation(texts["zip"])
    texts["national_id"] = np.array([number[:9] for number in texts.pop("person_id")])
    rows = zip(*(column.tolist() for column in texts.values()), strict=True)
    everybody: list[Person] = [dict(zip(texts, row, strict=True)) for row in rows]

    rng = stream(seed, "extracts")
    doubles = _lookalikes(everybody, rng)
    both, alone = round(BOTH * people), round(ALONE * people)
    slipped = [_slipped(person, rng) for person in everybody[:both]]
    rest = everybody[both + alone :]
    left, order_left = _ordered(everybody[: both + alone], rng)
    right, order_right = _ordered(
        [*(person for person, _ in slipped), *rest, *(double for double, _, _ in doubles)], rng
    )
    start = both + len(rest)
    same = [(place, place, 1, case) for place, (_, case) in enumerate(slipped)]
    unlike = [(of, start + place, 0, case) for place, (_, of, case) in enumerate(doubles)]
    firsts, seconds, answers, cases = zip(*same, *unlike, strict=True)
    truth = {
        "id_1": np.array([f"A{order_left[place]:06d}" for place in firsts], dtype=object),
        "id_2": np.array([f"B{order_right[place]:06d}" for place in seconds], dtype=object),
        "same": np.array(answers, dtype=np.int8),
        "case": np.array(cases, dtype=object),
    }
    return Extracts(_table(left, 0), _table(right, 1), People(truth))


def write_extracts(folder: str | Path, *, people: int, seed: int) -> LinkFiles:
    """Write the two tables, the truth and a link file."""
    home = _folder(folder)
    files = LinkFiles(home / "first.csv", home / "second.csv", home / "truth.csv", home / "link.toml")
    made = extracts_to_link(people, seed=seed)
    for table, path in ((made.first, files.first), (made.second, files.second), (made.truth, files.truth)):
        table.write(path)
    files.link.write_text(LINK, encoding="utf-8")
    return files


def _slipped(person: Person, rng: np.random.Generator) -> tuple[Person, str]:
    """The person as the second table has them, and what happened."""
    if rng.random() >= SLIPPED:
        return person, NO_SLIP
    happened: list[str] = []
    for _ in range(2 if rng.random() < TWICE else 1):
        names = [name for name in SLIPS if name not in happened]
        for name in rng.permutation(names).tolist():
            changed = _slip(name, person, rng)
            if changed is not None:
                person = changed
                happened.append(name)
                break
    return person, ", ".join(sorted(happened))


def _lookalikes(everybody: Sequence[Person], rng: np.random.Generator) -> list[tuple[Person, int, str]]:
    """People of the second table who look like another one of the first: who, like whom, and why."""
    in_first = round((BOTH + ALONE) * len(everybody))
    chosen = rng.choice(in_first, round((TWINS + FATHERS) * len(everybody)), replace=False).tolist()
    border = round(len(chosen) * TWINS / (TWINS + FATHERS))
    names = [person["given_name"] for person in everybody]
    doubles: list[tuple[Person, int, str]] = []
    for place, model in enumerate(chosen):
        person = everybody[model]
        if place < border:
            other = names[int(rng.integers(len(names)))]
            number = person["national_id"] or "0"
            last = str((int(number[-1]) + 1) % 10)
            doubles.append(({**person, "given_name": other, "national_id": number[:-1] + last}, model, "twins"))
            continue
        year = int((person["birth_date"] or "")[:4])
        born = f"{year + int(rng.integers(19, 36))}-{int(rng.integers(1, 13)):02d}-{int(rng.integers(1, 29)):02d}"
        surname = f"{person['surname']} Jr" if rng.random() < 0.5 else person["surname"]
        number = str(rng.integers(100_000_000, 1_000_000_000))
        son = {**person, "surname": surname, "birth_date": born, "national_id": number}
        doubles.append((son, model, "father and son"))
    return doubles


def _ordered(rows: list[Person], rng: np.random.Generator) -> tuple[list[Person], Array]:
    """The rows in a random order, and where each has gone."""
    order = rng.permutation(len(rows))
    placed = np.empty(len(rows), dtype=np.int64)
    placed[order] = np.arange(len(rows))
    return [rows[place] for place in order.tolist()], placed


def _table(rows: Sequence[Person], side: int) -> People:
    letter, born = ("A", "birth_date") if side == 0 else ("B", "born")
    columns: dict[str, list[str | None]] = {"id": [f"{letter}{place:06d}" for place in range(len(rows))]}
    for name in (*IDENTIFYING, *SENSITIVE[side]):
        columns[born if name == "birth_date" else name] = [row[name] for row in rows]
    if side == 1:  # the second table writes dates as MM/DD/YYYY
        columns[born] = [f"{day[5:7]}/{day[8:]}/{day[:4]}" for day in map(str, columns[born])]
    return People({name: np.array(cells, dtype=object) for name, cells in columns.items()})


# What goes wrong between two records of one person.
Person = dict[str, str | None]
"""given_name, surname, birth_date (YYYY-MM-DD), sex, zip, national_id, and what a table adds."""

_SHORT = """
Edith/Edie Mildred/Millie Agnes/Aggie Bertha/Bertie Mabel/Mae Dorothy/Dottie Ethel/Ettie Shirley/Shirl
Joan/Joanie Judith/Judy Sandra/Sandy Sharon/Shari Brenda/Bren Janet/Jan Cynthia/Cindy Pamela/Pam Denise/Dee
Teresa/Tess Rhonda/Ronnie Monica/Mona Melissa/Missy Vanessa/Nessa Danielle/Dani Lindsey/Linz Brittany/Britt
Jasmine/Jazz Chelsea/Chels Alexis/Lexi Helen/Nell Anna/Annie Laura/Laurie Julia/Jules Elena/Lena Naomi/Nomi
Maria/Mia Clarence/Clary Chester/Chet Wilbur/Will Herbert/Herb Vernon/Vern Melvin/Mel Leroy/Roy Harold/Harry
Stanley/Stan Norman/Norm Donald/Don Gerald/Gerry Dennis/Denny Douglas/Doug Jeffrey/Jeff Joshua/Josh
Brandon/Bran Trevor/Trev Jordan/Jordy Austin/Aus Carlos/Charlie Miguel/Mick Peter/Pete Thomas/Tom Simon/Si
Victor/Vic Martin/Marty Oscar/Ozzie Samuel/Sam Adrian/Ade Julian/Jules Anton/Tony Randy/Ran Terry/Tel
"""
NICKNAMES: Mapping[str, str] = MappingProxyType(dict(pair.split("/") for pair in _SHORT.split()))
LETTERS = "abcdefghijklmnopqrstuvwxyz"
SLIPS = (
    "typo", "nickname", "surname changed", "names swapped", "day and month swapped", "ID missing", "digits transposed",
    "moved",
)  # fmt: skip


def _slip(kind: str, person: Person, rng: np.random.Generator) -> Person | None:
    """A copy of a record with one slip; None where the slip does not fit the person."""
    match kind:
        case "typo":  # one letter of a name is dropped, doubled, replaced or exchanged with the next
            field = ("given_name", "surname")[rng.integers(2)]
            name = person[field] or ""
            if len(name) < 4:
                return None
            at, way = int(rng.integers(1, len(name) - 1)), rng.integers(4)
            middles = (name[at + 1 :], name[at] + name[at:], LETTERS[rng.integers(26)] + name[at + 1 :])
            rest = middles[way] if way < 3 else name[at + 1] + name[at] + name[at + 2 :]
            change: Person = {field: name[:at] + rest}
        case "nickname":
            change = {"given_name": NICKNAMES.get(person["given_name"] or "", person["given_name"])}
        case "surname changed":  # married or divorced: the surname is another person's
            change = {"surname": person["other_surname"]}
        case "names swapped":
            return {**person, "given_name": person["surname"], "surname": person["given_name"]}
        case "day and month swapped":
            year, month, day = (person["birth_date"] or "").split("-")
            change = {} if int(day) > 12 else {"birth_date": f"{year}-{day}-{month}"}
        case "ID missing":
            return {**person, "national_id": None}
        case "digits transposed":
            number = person["national_id"] or ""
            places = [at for at in range(len(number) - 1) if number[at] != number[at + 1]]
            if not places:
                return None
            at = places[rng.integers(len(places))]
            change = {"national_id": number[:at] + number[at + 1] + number[at] + number[at + 2 :]}
        case _:
            return {**person, "zip": person["other_zip"]}
    return None if change.items() <= person.items() else {**person, **change}
