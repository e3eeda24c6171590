"""Extracts of two tables about partly the same people, with errors and the truth.

Most people in both tables are written alike; the others show one or two slips. Besides, there are people who look like
one but are two: twins (same surname, birthday and ZIP, neighbouring IDs) and fathers and sons of one name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np

from discreet.errors import UsageError
from discreet.people.population import Array, People, decoded, stream
from discreet.people.recipes import generate
from discreet.people.state import State

__all__ = ["NICKNAMES", "SLIPS", "Extracts", "LinkFiles", "Person", "extracts_to_link", "write_extracts"]

FEWEST = 100
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
    """Where the files lie."""

    first: Path
    second: Path
    truth: Path
    link: Path


def extracts_to_link(people: int = 1_000, *, seed: int) -> Extracts:
    """Two extracts of so many generated people: six tenths are in both, two tenths in either one.

    >>> extracts_to_link(200, seed=1).truth
    People(132 rows: id_1, id_2, same, case)
    """
    if people < FEWEST:
        raise UsageError(f"Two extracts need at least {FEWEST} people.", remedy=f"Ask for {FEWEST} or more.")
    everybody, rng = _people(people, seed), stream(seed, "extracts")
    doubles = _lookalikes(everybody, rng)
    both, alone = round(BOTH * people), round(ALONE * people)
    first = everybody[: both + alone]
    rest = everybody[both + alone :]
    slipped = [_slipped(person, rng) for person in everybody[:both]]
    twins = [double for double, _, _ in doubles]
    left, order_left = _ordered([*first], rng)
    right, order_right = _ordered([*(one for one, _ in slipped), *rest, *twins], rng)
    start = both + len(rest)
    same = [(place, place, 1, case) for place, (_, case) in enumerate(slipped)]
    unlike = [(of, start + place, 0, case) for place, (_, of, case) in enumerate(doubles)]
    truth = [(f"A{order_left[a]:06d}", f"B{order_right[b]:06d}", yes, case) for a, b, yes, case in [*same, *unlike]]
    return Extracts(_table(left, 0), _table(right, 1), _truth(truth))


def write_extracts(folder: str | Path, *, people: int, seed: int) -> LinkFiles:
    """Write the two tables, the truth and a link file."""
    home = Path(folder)
    if home.exists() and not home.is_dir():
        raise UsageError(f"'{home}' is a file; a folder is needed.", remedy="Name a new folder.")
    home.mkdir(parents=True, exist_ok=True)
    files = LinkFiles(home / "first.csv", home / "second.csv", home / "truth.csv", home / "link.toml")
    made = extracts_to_link(people, seed=seed)
    for table, path in ((made.first, files.first), (made.second, files.second), (made.truth, files.truth)):
        table.write(path)
    files.link.write_text(LINK, encoding="utf-8")
    return files


def _people(people: int, seed: int) -> list[Person]:
    """Everybody as a record, with a surname and a ZIP to change to."""
    wanted = ("given_name", "surname", "birth_date", "sex", "zip", "diagnosis", "visits", "plan", "income", "person_id")
    made = generate(State.of(people), seed=seed, columns=wanted)
    texts = {name: decoded(made.columns[name]).astype(str) for name in wanted}
    rng = stream(seed, "changes")
    texts["other_surname"] = rng.permutation(texts["surname"])
    texts["other_zip"] = rng.permutation(texts["zip"])
    texts["national_id"] = np.array([number[:9] for number in texts.pop("person_id")])
    rows = zip(*(column.tolist() for column in texts.values()), strict=True)
    return [dict(zip(texts, row, strict=True)) for row in rows]


def _slipped(person: Person, rng: np.random.Generator) -> tuple[Person, str]:
    """The person as the second table has her, and what happened."""
    if rng.random() >= SLIPPED:
        return person, NO_SLIP
    happened: list[str] = []
    for _ in range(2 if rng.random() < TWICE else 1):
        names = [name for name in SLIPS if name not in happened]
        for name in rng.permutation(names).tolist():
            changed = SLIPS[name](person, rng)
            if changed is not None:
                person = changed
                happened.append(name)
                break
    return person, ", ".join(sorted(happened))


def _lookalikes(everybody: Sequence[Person], rng: np.random.Generator) -> list[tuple[Person, int, str]]:
    """People of the second table who look like somebody of the first one: who, like whom, and why."""
    in_first = round((BOTH + ALONE) * len(everybody))
    chosen = rng.choice(in_first, round((TWINS + FATHERS) * len(everybody)), replace=False).tolist()
    border = round(len(chosen) * TWINS / (TWINS + FATHERS))
    names = [person["given_name"] for person in everybody]
    found: list[tuple[Person, int, str]] = []
    for place, one in enumerate(chosen):
        person = everybody[one]
        if place < border:
            other = names[int(rng.integers(len(names)))]
            number = person["national_id"] or "0"
            last = str((int(number[-1]) + 1) % 10)
            twin = {**person, "given_name": other, "national_id": number[:-1] + last}
            found.append((twin, one, "twins"))
        else:
            found.append((_son(person, rng), one, "father and son"))
    return found


def _son(person: Person, rng: np.random.Generator) -> Person:
    year = int((person["birth_date"] or "")[:4])
    born = f"{year + int(rng.integers(19, 36))}-{int(rng.integers(1, 13)):02d}-{int(rng.integers(1, 29)):02d}"
    surname = f"{person['surname']} Jr" if rng.random() < 0.5 else person["surname"]
    number = str(rng.integers(100_000_000, 1_000_000_000))
    return {**person, "surname": surname, "birth_date": born, "national_id": number}


def _ordered(rows: list[Person], rng: np.random.Generator) -> tuple[list[Person], Array]:
    """The rows in a random order, and where each has gone."""
    order = rng.permutation(len(rows))
    placed = np.empty(len(rows), dtype=np.int64)
    placed[order] = np.arange(len(rows))
    return [rows[place] for place in order.tolist()], placed


def _table(rows: Sequence[Person], side: int) -> People:
    letter, born = ("A", "birth_date") if side == 0 else ("B", "born")
    columns = {"id": np.array([f"{letter}{place:06d}" for place in range(len(rows))], dtype=object)}
    for name in (*IDENTIFYING, *SENSITIVE[side]):
        cells = [_written(row[name], name, side) for row in rows]
        columns[born if name == "birth_date" else name] = np.array(cells, dtype=object)
    return People(columns)


def _written(cell: str | None, name: str, side: int) -> str | None:
    """The second table writes dates as MM/DD/YYYY."""
    if cell is None or name != "birth_date" or side == 0:
        return cell
    year, month, day = cell.split("-")
    return f"{month}/{day}/{year}"


def _truth(rows: Sequence[tuple[str, str, int, str]]) -> People:
    one, other, same, case = zip(*rows, strict=True)
    return People(
        {
            "id_1": np.array(one, dtype=object),
            "id_2": np.array(other, dtype=object),
            "same": np.array(same, dtype=np.int8),
            "case": np.array(case, dtype=object),
        }
    )


# What goes wrong between two records of one person, one slip per function: each takes a record and changes a copy.
Person = dict[str, str | None]
"""given_name, surname, birth_date (YYYY-MM-DD), sex, zip, national_id, and what a table adds."""

NICKNAMES: Mapping[str, str] = MappingProxyType(
    dict(
        pair.split("/")
        for pair in [
            "Edith/Edie",
            "Mildred/Millie",
            "Agnes/Aggie",
            "Bertha/Bertie",
            "Mabel/Mae",
            "Dorothy/Dottie",
            "Ethel/Ettie",
            "Shirley/Shirl",
            "Joan/Joanie",
            "Judith/Judy",
            "Sandra/Sandy",
            "Sharon/Shari",
            "Brenda/Bren",
            "Janet/Jan",
            "Cynthia/Cindy",
            "Pamela/Pam",
            "Denise/Dee",
            "Teresa/Tess",
            "Rhonda/Ronnie",
            "Monica/Mona",
            "Melissa/Missy",
            "Vanessa/Nessa",
            "Danielle/Dani",
            "Lindsey/Linz",
            "Brittany/Britt",
            "Jasmine/Jazz",
            "Chelsea/Chels",
            "Alexis/Lexi",
            "Helen/Nell",
            "Anna/Annie",
            "Laura/Laurie",
            "Julia/Jules",
            "Elena/Lena",
            "Naomi/Nomi",
            "Maria/Mia",
            "Clarence/Clary",
            "Chester/Chet",
            "Wilbur/Will",
            "Herbert/Herb",
            "Vernon/Vern",
            "Melvin/Mel",
            "Leroy/Roy",
            "Harold/Harry",
            "Stanley/Stan",
            "Norman/Norm",
            "Donald/Don",
            "Gerald/Gerry",
            "Dennis/Denny",
            "Douglas/Doug",
            "Jeffrey/Jeff",
            "Joshua/Josh",
            "Brandon/Bran",
            "Trevor/Trev",
            "Jordan/Jordy",
            "Austin/Aus",
            "Carlos/Charlie",
            "Miguel/Mick",
            "Peter/Pete",
            "Thomas/Tom",
            "Simon/Si",
            "Victor/Vic",
            "Martin/Marty",
            "Oscar/Ozzie",
            "Samuel/Sam",
            "Adrian/Ade",
            "Julian/Jules",
            "Anton/Tony",
            "Randy/Ran",
            "Terry/Tel",
        ]
    )
)
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def _typo(person: Person, rng: np.random.Generator) -> Person | None:
    """One letter of a name dropped, doubled, replaced or exchanged with the next."""
    field = ("given_name", "surname")[rng.integers(2)]
    name = person[field] or ""
    if len(name) < 4:
        return None
    at, way = int(rng.integers(1, len(name) - 1)), rng.integers(4)
    middles = (name[at + 1 :], name[at] + name[at:], LETTERS[rng.integers(26)] + name[at + 1 :])
    rest = middles[way] if way < 3 else name[at + 1] + name[at] + name[at + 2 :]
    changed = name[:at] + rest
    return None if changed == name else {**person, field: changed}


def _nickname(person: Person, _: np.random.Generator) -> Person | None:
    short = NICKNAMES.get(person["given_name"] or "")
    return None if short is None else {**person, "given_name": short}


def _new_surname(person: Person, _: np.random.Generator) -> Person | None:
    """Married or divorced: the surname is somebody else's, handed along as `other_surname`."""
    other = person["other_surname"]
    return None if other == person["surname"] else {**person, "surname": other}


def _names_swapped(person: Person, _: np.random.Generator) -> Person | None:
    return {**person, "given_name": person["surname"], "surname": person["given_name"]}


def _day_and_month_swapped(person: Person, _: np.random.Generator) -> Person | None:
    year, month, day = (person["birth_date"] or "").split("-")
    return None if day == month or int(day) > 12 else {**person, "birth_date": f"{year}-{day}-{month}"}


def _id_missing(person: Person, _: np.random.Generator) -> Person | None:
    return {**person, "national_id": None}


def _id_transposed(person: Person, rng: np.random.Generator) -> Person | None:
    number = person["national_id"] or ""
    places = [at for at in range(len(number) - 1) if number[at] != number[at + 1]]
    if not places:
        return None
    at = places[rng.integers(len(places))]
    return {**person, "national_id": number[:at] + number[at + 1] + number[at] + number[at + 2 :]}


def _moved(person: Person, _: np.random.Generator) -> Person | None:
    return {**person, "zip": person["other_zip"]}


SLIPS: Mapping[str, Callable[[Person, np.random.Generator], Person | None]] = MappingProxyType(
    {
        "typo": _typo,
        "nickname": _nickname,
        "surname changed": _new_surname,
        "names swapped": _names_swapped,
        "day and month swapped": _day_and_month_swapped,
        "ID missing": _id_missing,
        "digits transposed": _id_transposed,
        "moved": _moved,
    }
)
"""Each gives None where it does not fit the person."""
