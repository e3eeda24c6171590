"""Two worlds that differ only in what is hidden give the same bytes: views, prices and refusals.

The worlds differ by a renaming of characters over a whole table: letters and digits that no open cell shows become others,
years move. That keeps what a masked display shows by design: lengths, which characters differ, which values agree, how
common they are, and how many people share them.
"""

from __future__ import annotations

import json
import random
import string
import tempfile
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.errors import Refused
from discreet.ledger import Ledger
from discreet.linkage import Index, Meter
from discreet.linkage.review import reveal as door
from discreet.linkage.review.assignments import Limits, assign
from discreet.linkage.review.views import PairDisplay
from tests.examples import examples
from tests.linkage.people import KINDS, with_errors
from tests.linkage.people import people as register
from tests.linkage.worlds import folder_of, registered

NAMES = ["given", "family"]
Person = dict[str, str | None]


def people_of(rng: random.Random) -> list[Person]:
    """People some of whom are others with a slip."""
    made: list[Person] = []
    for _ in range(6):
        person: Person = {
            "given": "".join(rng.choices("abcd", k=rng.randint(3, 5))),
            "family": "".join(rng.choices("abcd", k=rng.randint(3, 6))),
            "born": f"19{rng.randrange(10)}{rng.randrange(10)}-0{rng.randint(1, 9)}-1{rng.randrange(10)}",
            "sex": rng.choice("FM"),
            "number": "".join(rng.choices("0123456789", k=6)),
        }
        other = dict(person)
        match rng.randrange(5):
            case 0:
                other["given"], other["family"] = person["family"], person["given"]
            case 1:
                other["born"] = None
            case 2:
                other["family"] = f"{person['family']}x"
            case 3:
                other["number"] = person["number"][:-1] + rng.choice("0123456789")  # type: ignore[index]
            case _:
                other["sex"] = "X"
        made += [person, other]
    return made


def renamed(people: list[Person], rng: random.Random, shown: Mapping[str, set[str]]) -> list[Person]:
    """The same people with other characters wherever nothing is shown of them."""
    maps = {name: permuted(string.ascii_lowercase, shown.get("names", set()), rng) for name in ("given",)}
    maps["family"] = maps["given"]  # exchanged names stay exchanged
    maps["number"] = permuted(string.digits, shown.get("number", set()), rng)
    maps["sex"] = {} if shown.get("sex") else dict(zip("FMX", rng.sample(["W", "QQQQ", "ZZ"], 3), strict=True))
    decade = 0 if shown.get("born") else rng.randrange(10)
    return [
        {name: changed(name, value, maps.get(name, {}), decade) for name, value in person.items()} for person in people
    ]


def permuted(alphabet: str, fixed: set[str], rng: random.Random) -> dict[str, str]:
    free = [sign for sign in alphabet if sign not in fixed]
    return dict(zip(free, rng.sample(free, len(free)), strict=True))


def changed(name: str, value: str | None, signs: Mapping[str, str], decade: int) -> str | None:
    if value is None:
        return None
    if name == "born":
        return f"19{(int(value[2]) + decade) % 10}{value[3:]}"
    if name == "sex":
        return signs.get(value, value)
    return "".join(signs.get(sign, sign) for sign in value)


def session(people: list[Person], clicks: list[tuple[int, str]], *, kappa: int, limit: str) -> list[str]:
    """All that a reviewer is told in the course of some clicks."""
    said: list[str] = []
    with tempfile.TemporaryDirectory() as place, pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_KEYS", f"{place}/keys")
        pairs = [(2 * at, 2 * at + 1) for at in range(6)]
        home, _ = folder_of(Path(place) / "people", people, pairs)
        with Ledger.open(Path(place) / "store.db") as ledger:
            project = registered(ledger, home.path, kappa=kappa)
            assign(ledger, project, ["ann"], actor="manager", limits=Limits.of(limit), rng=random.Random(1))
            said += [told(door.view(ledger, project, "ann", number)) for number in range(1, 7)]
            for turn, (number, name) in enumerate(clicks):
                try:
                    said.append(told(door.reveal(ledger, project, "ann", number, name, key=f"k{turn}")))
                except Refused as error:
                    said.append(str(error))
            said += [told(door.view(ledger, project, "ann", number)) for number in range(1, 7)]
    return said


def told(view: Any) -> str:
    return json.dumps(view.to_dict(), sort_keys=True)


def characters(said: list[str]) -> dict[str, set[str]]:
    """The characters that were shown, by what they are characters of."""
    found: dict[str, set[str]] = {"names": set(), "number": set(), "born": set(), "sex": set()}
    for line in said:
        for cell in json.loads(line)["cells"] if line.startswith("{") else []:
            if cell["mode"] != "masked":
                text = "".join(row["text"] for row in cell["rows"])
                found["names" if cell["attribute"] in NAMES else cell["attribute"]] |= set(text) - set("*@&?-")
    return found


@settings(max_examples=examples(6), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    seed=st.integers(0, 2**32),
    clicks=st.lists(st.tuples(st.integers(1, 6), st.sampled_from([*NAMES, "born", "sex", "number"])), max_size=5),
    kappa=st.sampled_from([1, 2]),
    limit=st.sampled_from(["0.05", "1"]),
)
def test_what_is_hidden_changes_no_byte(seed: int, clicks: list[tuple[int, str]], kappa: int, limit: str) -> None:
    rng = random.Random(seed)
    people = people_of(rng)
    first = session(people, clicks, kappa=kappa, limit=limit)
    others = renamed(people, rng, characters(first))
    assert session(others, clicks, kappa=kappa, limit=limit) == first


def test_the_test_can_fail() -> None:
    """What is open is told: a renaming that touches it is seen."""
    people = people_of(random.Random(1))
    clicks = [(1, "given"), (1, "given")]
    first = session(people, clicks, kappa=1, limit="1")
    others = renamed(people, random.Random(2), {})
    assert session(others, [], kappa=1, limit="1") == session(people, [], kappa=1, limit="1")
    assert session(others, clicks, kappa=1, limit="1") != first


def before_paying(people: list[Person], *, strict: bool, kappa: int = 1) -> list[str]:
    """All that the pages of two pairs say before anything is opened."""
    with tempfile.TemporaryDirectory() as place, pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_KEYS", f"{place}/keys")
        home, _ = folder_of(Path(place) / "people", people, [(0, 1), (2, 3)])
        with Ledger.open(Path(place) / "store.db") as ledger:
            project = registered(ledger, home.path, strict=strict, kappa=kappa)
            assign(ledger, project, ["ann"], actor="manager", rng=random.Random(1))
            return [told(door.view(ledger, project, "ann", number)) for number in (1, 2)]


def register_of(family: str, holders: int, born: str, more: int) -> list[Person]:
    """Two pairs of which one agrees in the family name, and people who are in no pair."""
    other: Person = {"given": "Ann", "family": "Moss", "born": "1950-05-05", "sex": "F", "number": "777777"}
    one: Person = {"given": "Mary", "family": family, "born": born, "sex": "F", "number": "123456"}
    two: Person = {"given": "Marie", "family": family, "born": f"{born[:-1]}9", "sex": "F", "number": "123466"}
    pairs = [one, two, other, {**other, "given": "Anne", "number": "777787"}]
    return [
        *pairs,
        *({**other, "family": family, "given": f"Zoe{at}"} for at in range(holders - 2)),
        *({**other, "given": f"Una{at}", "born": born if at < more else "1951-06-06"} for at in range(9 - holders)),
    ]


@pytest.mark.parametrize("strict", [False, True])
def test_a_quote_does_not_tell_how_many_share_a_hidden_value(strict: bool) -> None:
    """A rarer name among those that look alike, a longer one, a birth date that others share: the pages are the same."""
    plain = before_paying(register_of("Hill", 2, "1964-08-01", 0), strict=strict)
    assert before_paying(register_of("Hill", 5, "1964-08-01", 0), strict=strict) == plain
    assert before_paying(register_of("Hill", 2, "1964-08-01", 3), strict=strict) == plain
    assert before_paying(register_of("Oaks", 4, "1937-02-11", 2), strict=strict) == plain


def test_the_length_of_values_that_agree_is_not_sent() -> None:
    """What the page shows as a tick is a tick in every byte, but for the room that a limit of characters leaves."""
    plain = before_paying(register_of("Hill", 3, "1964-08-01", 0), strict=False)
    longer = before_paying(register_of("Hills", 3, "1964-08-01", 0), strict=False)
    for said, other in zip(plain, longer, strict=True):
        cell, its = ({**json.loads(line)["cells"][1], "next": None} for line in (said, other))
        assert cell == its


def test_strictly_a_masked_cell_tells_equal_different_or_missing() -> None:
    pages = [json.loads(said)["cells"] for said in before_paying(register_of("Hill", 2, "1964-08-01", 0), strict=True)]
    texts = [["".join(row["text"] for row in cell["rows"]) for cell in cells] for cells in pages]
    assert sorted(texts) == [["@&", "**", "**", "**", "@&"], ["@&", "**", "@&", "**", "@&"]]
    assert all(row["frequency"] is None for cells in pages for cell in cells for row in cell["rows"])
    assert len({cell["next"]["risk"] for cells in pages for cell in cells}) == 1


@pytest.mark.parametrize("kappa", [1, 5])
def test_at_most_five_prices_are_quoted(kappa: int) -> None:
    quoted = {
        cell["next"]["risk"]
        for people in (register_of("Hill", 2, "1964-08-01", 0), people_of(random.Random(3)))
        for said in before_paying(people, strict=False, kappa=kappa)
        for cell in json.loads(said)["cells"]
        if cell["next"]
    }
    assert len(quoted) <= 5


@pytest.mark.parametrize(("kappa", "strict"), [(1, False), (5, False), (1, True)])
def test_cells_that_look_alike_are_quoted_alike(kappa: int, strict: bool) -> None:
    """So every value that fits a masked cell fits it after its price, too: the price tells nothing that the display does not."""
    records = register(400, seed=8)
    rng = random.Random(8)
    again = [with_errors(record, rng) for record in records[:150]]
    index = Index.build([*records, *again], KINDS, names=["given_name", "surname"], formats=("MM/DD/YYYY",))
    looks: dict[Any, set[Any]] = {}
    for place in range(150):
        pair = index.pair(place, 400 + place)
        display = PairDisplay(index.columns, pair, pair.masked, Meter(150, len(KINDS), kappa), strict)
        for j, name in enumerate(pair.attributes):
            if (mode := pair.next_mode(pair.masked, name)) is None:
                continue
            after = pair.opened(pair.masked, name, mode)
            rows = tuple((row.text, row.words, row.frequency) for row in display.rows(j))
            quote = display.most(after, Fraction(0))
            looks.setdefault((j, mode, rows, display.marks(j)), set()).add((quote.parts, quote.characters))
    assert max(map(len, looks.values())) == 1
    assert len(looks) > 10


def test_a_word_that_one_name_alone_has_is_left_out() -> None:
    """Of 200 people of one name, the word "very common" would name it; with kappa a word stands for several names."""
    people: list[Person] = [
        {"given": "Mary", "family": "Hill", "born": "1964-08-01", "sex": "F", "number": str(at)} for at in range(200)
    ]
    people += [
        {"given": f"Z{chr(97 + at)}", "family": f"Y{chr(97 + at)}", "born": None, "sex": "M", "number": None}
        for at in range(9)
    ]
    words = {
        kappa: [
            json.loads(said)["cells"][1]["rows"][0]["frequency"]
            for said in before_paying(people, strict=False, kappa=kappa)
        ]
        for kappa in (1, 2)
    }
    assert words == {1: ["very-common"] * 2, 2: [None] * 2}
