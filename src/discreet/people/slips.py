"""What goes wrong between two records of one person, one slip per function: each takes a record and changes a copy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

__all__ = ["NICKNAMES", "SLIPS", "Person"]

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
