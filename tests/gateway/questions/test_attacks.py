"""Attacks on one patient's secret, family by family, in two worlds: what comes back is the same in both."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.gateway.questions.attacks import CHARGED, SILENT, TARGET
from tests.gateway.questions.study import USERS, furnish, guarded

Outcome = list[tuple[Any, ...]]
WORLDS = (("B20", 63_900), ("I10", 20_000))


def outcome(session: psycopg.Connection[Any], text: str) -> Outcome:
    """What comes back, but for the number of the entry that a refusal names."""
    found: Outcome = []
    for part in text.split(" ;; "):
        try:
            if part.startswith("COPY"):
                with session.cursor().copy(part.encode()) as copy:
                    found.append(("copy", b"".join(bytes(block) for block in copy)))
                continue
            done = session.execute(part.encode())
            found.append(("rows", done.fetchall()) if done.description else ("done",))
        except psycopg.Error as problem:
            found.append(("error", problem.sqlstate, re.sub(r"\(reference \w+\)", "", str(problem))))
    return found


@pytest.fixture(scope="module")
def worlds(
    postgres_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, list[tuple[Outcome, float]]]]:
    """Outcome and exposure of every attack in both worlds."""
    furnish(postgres_url)
    found: dict[str, list[tuple[Outcome, float]]] = {}
    for number, (diagnosis, income) in enumerate(WORLDS):
        folder = tmp_path_factory.mktemp(f"world{number}")
        with psycopg.connect(postgres_url, autocommit=True) as direct:
            values = (diagnosis, income, TARGET)
            direct.execute("UPDATE study.patients SET diagnosis = %s, income = %s WHERE id = %s", values)
            direct.execute(
                "TRUNCATE aside.guess; INSERT INTO aside.guess SELECT g, 'B20' FROM generate_series(1, 20) g"
            )
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("DISCREET_KEYS", str(folder / "keys"))
            with guarded(postgres_url, folder / "store.db") as gateway:
                sessions = [psycopg.connect(gateway.url(user), autocommit=True) for user in USERS]
                for place, (name, text) in enumerate([*SILENT.items(), *CHARGED.items()]):
                    chosen = 0 if name in SILENT else place % (len(USERS) - 1) + 1
                    seen = outcome(sessions[chosen], text)
                    found.setdefault(name, []).append((seen, gateway.exposure(USERS[chosen])))
                for session in sessions:
                    session.close()
    yield found
    furnish(postgres_url)


def test_without_a_gateway_most_of_them_tell(postgres_url: str) -> None:
    """Else they would be no attacks."""
    furnish(postgres_url)
    found: dict[str, list[Outcome]] = {}
    with psycopg.connect(postgres_url, autocommit=True) as direct:
        for diagnosis, income in WORLDS:
            values = (diagnosis, income, TARGET)
            direct.execute("UPDATE study.patients SET diagnosis = %s, income = %s WHERE id = %s", values)
            direct.execute("DROP TABLE IF EXISTS aside.copy, t; DEALLOCATE ALL; ANALYZE study.patients")
            direct.execute(
                "TRUNCATE aside.guess; INSERT INTO aside.guess SELECT g, 'B20' FROM generate_series(1, 20) g"
            )
            for name, text in SILENT.items():
                found.setdefault(name, []).append(outcome(direct, text))
    telling = [name for name, (one, other) in found.items() if one != other]
    assert len(telling) >= 0.7 * len(SILENT), sorted(SILENT.keys() - telling)
    furnish(postgres_url)


@pytest.mark.parametrize("name", list(SILENT))
def test_nothing_tells_the_two_worlds_apart(worlds: dict[str, list[tuple[Outcome, float]]], name: str) -> None:
    one, other = worlds[name]
    assert one == other
    assert one[1] <= 2.0


@pytest.mark.parametrize("name", list(CHARGED))
def test_what_tells_of_a_person_is_charged_alike_in_both_worlds(
    worlds: dict[str, list[tuple[Outcome, float]]], name: str
) -> None:
    """Whether it came, came empty, or failed: the person counts."""
    (_, one), (_, other) = worlds[name]
    assert one == other
    assert 0 < one <= 2.0
