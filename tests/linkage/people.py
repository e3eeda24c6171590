"""Generated people, some of them twice: the second time with the errors that records have."""

from __future__ import annotations

import random
from typing import Any

from discreet.people import State, generate

KINDS: Any = {
    "person_id": "fixed",
    "given_name": "string",
    "surname": "string",
    "birth_date": "date",
    "sex": "category",
    "race": "category",
}


def people(size: int, *, seed: int = 1) -> list[dict[str, Any]]:
    """Records of generated people, dates as MM/DD/YYYY."""
    found = generate(State.of(size), seed=seed, columns=tuple(KINDS))
    columns = {name: found.column(name).tolist() for name in KINDS}
    columns["person_id"] = [str(one) for one in columns["person_id"]]
    columns["birth_date"] = [f"{one:%m/%d/%Y}" for one in columns["birth_date"]]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def with_errors(record: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """The same person, written down by somebody else."""
    found = dict(record)
    for name in rng.sample(["person_id", "given_name", "surname", "birth_date"], k=rng.randint(1, 3)):
        found[name] = None if rng.random() < 0.1 else typo(found[name], rng)
    if rng.random() < 0.1:
        found["given_name"], found["surname"] = record["surname"], record["given_name"]
    if rng.random() < 0.1:
        month, day, year = record["birth_date"].split("/")
        found["birth_date"] = f"{day}/{month}/{year}"
    return found


def typo(value: str, rng: random.Random) -> str:
    """One character wrong, left out, doubled or exchanged with its neighbour; separators stay."""
    place = rng.choice([place for place, sign in enumerate(value[:-1]) if sign.isalnum()])
    match rng.randrange(4) if value.isalpha() else 0:
        case 0:
            return value[:place] + rng.choice("0123456789" if value[0].isdigit() else "aeinrst") + value[place + 1 :]
        case 1:
            return value[:place] + value[place + 1 :]
        case 2:
            return value[:place] + value[place] + value[place:]
        case _:
            return value[:place] + value[place + 1] + value[place] + value[place + 2 :]
