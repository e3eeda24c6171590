"""Ways around the gateway that once led past it: by other shapes of tables, and by what statements leave behind."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import urlsplit

import psycopg
import pytest

from tests.evasion.detours import DETOURS, HONEST, REFUSED, WORDS
from tests.evasion.test_evasion import MOST, TRIES, Client, in_turn, patients_in
from tests.evasion.ward import PEOPLE, VALUES
from tests.gateway import raw
from tests.gateway.governed import Guarding

pytestmark = pytest.mark.postgres
Arrive = Callable[[], str]


def walked(client: Client, script: str) -> int:
    """Try a script for one patient after the other, or once; how many different answers came."""
    answers = set()
    for number in range(TRIES if "<i>" in script else 1):
        before = len(client.seen)
        if client.script(script.replace("<i>", str(10 + number)).replace("<c>", f"{9 + number:03}")):
            answers.add((number, *client.seen[before:]))
    return len(answers)


@pytest.mark.parametrize(("name", "protocol"), in_turn(DETOURS))
def test_no_detour_leads_past_the_limit(name: str, protocol: str, attacker: Arrive) -> None:
    client = Client(attacker(), protocol)
    with client.connection:
        answered = walked(client, DETOURS[name])
    assert len(client.found()) <= MOST, name
    assert answered <= MOST, f"{name}: {answered} of {TRIES} answered"


@pytest.mark.parametrize(("name", "protocol"), in_turn(REFUSED))
def test_no_statement_answers_many_questions(name: str, protocol: str, attacker: Arrive) -> None:
    client = Client(attacker(), protocol)
    with client.connection:
        client.script(REFUSED[name])
    assert client.refused == 1, name


@pytest.mark.parametrize(("name", "protocol"), in_turn(VALUES))
def test_no_shape_of_a_table_leads_past_the_limit(name: str, protocol: str, visitor: Arrive) -> None:
    client = Client(visitor(), protocol)
    with client.connection:
        walked(client, VALUES[name])
    assert len(client.found()) <= MOST, name


@pytest.mark.parametrize(("name", "protocol"), in_turn(PEOPLE))
def test_no_spelling_makes_a_value_lighter(name: str, protocol: str, visitor: Arrive) -> None:
    client = Client(visitor(), protocol)
    with client.connection:
        client.script(PEOPLE[name])
    assert client.refused == 1, name
    assert not re.search(r"name\d", "\n".join(client.seen))


@pytest.mark.parametrize(("name", "protocol"), in_turn(WORDS))
def test_words_about_names_hold_no_value(name: str, protocol: str, attacker: Arrive) -> None:
    client = Client(attacker(), protocol)
    with client.connection:
        client.script(f"SELECT {WORDS[name]} FROM patients WHERE id < 18")
    assert client.found() == set()


@pytest.mark.parametrize(("name", "protocol"), in_turn(HONEST))
def test_ordinary_work_goes_on(name: str, protocol: str, attacker: Arrive) -> None:
    client = Client(attacker(), protocol)
    with client.connection:
        assert client.script(HONEST[name]), client.seen[-1]


HIDDEN = r"SELECT 'x\', ' , diagnosis FROM patients -- '"
"""One string after the other; with standard_conforming_strings off, a statement that reads patients."""
SHIFTING = {
    "set_config": "SELECT set_config('standard_conforming_strings', 'off', false)",
    "set_config in quotes": "SELECT pg_catalog.\"set_config\"('Standard_Conforming_Strings', 'off', false)",
    "a name that is put together": "SELECT set_config('standard_' || 'conforming_strings', 'off', false)",
    "the table of settings": "UPDATE pg_settings SET setting = 'off' WHERE name LIKE 'standard_conf%'",
}


@pytest.mark.parametrize("name", list(SHIFTING))
@pytest.mark.parametrize("pipeline", [True, False])
def test_how_texts_are_read_does_not_change_within_a_pipeline(name: str, pipeline: bool, attacker: Arrive) -> None:
    """The server tells that a setting has changed only at the end, when the next text was judged already."""
    place = urlsplit(attacker())
    with raw.Raw((str(place.hostname), int(place.port or 0)), first=raw.startup(str(place.username))) as session:
        if pipeline:
            session.send(raw.at_once(SHIFTING[name]) + raw.at_once(HIDDEN) + raw.SYNC)
            came = session.until_ready()
        else:
            session.send(raw.query(SHIFTING[name]) + raw.query(HIDDEN))
            came = session.until_ready() + session.until_ready()
    assert patients_in(b"".join(came).decode("latin-1")) == set()
    assert raw.error(came)["C"] == "42501"


def test_a_table_made_anew_is_governed_at_once(postgres_url: str, ward: Guarding, visitor: Arrive) -> None:
    """Its users were never granted to read it, and the gateway looks again when a name means nothing that it knows."""
    client = Client(visitor(), "simple")
    with psycopg.connect(postgres_url, autocommit=True) as owner:
        owner.execute("CREATE TABLE lab.fresh (LIKE lab.named INCLUDING ALL)")
        owner.execute("INSERT INTO lab.fresh SELECT * FROM lab.named")
        owner.execute("DROP TABLE lab.named")
        owner.execute("ALTER TABLE lab.fresh RENAME TO named")
    with client.connection:
        client.run("SELECT k, finding FROM lab.named")
    assert client.refused == 1
    assert client.found() == set()


def test_a_refusal_names_the_score_that_led_to_it(attacker: Arrive) -> None:
    client = Client(attacker(), "simple")
    with client.connection:
        client.run("SELECT id, diagnosis FROM patients")
    found = re.search(r"exposure to ([\d.]+); your limit is 2\.00", client.seen[-1])
    assert found
    assert float(found[1]) > 2
