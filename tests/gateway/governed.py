"""A clinic with generated patients, and governed gateways before it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

from discreet.gateway import Gateway, Settings, Upstream
from discreet.gateway.enforcement.governor import Governor
from discreet.ledger import Ledger
from discreet.policy import Policy

CANARIES = [f"canary{number:03}" for number in range(200)]
"""The diagnoses of the clinic, each one patient's own, so that a value that is seen says whose it was."""

SCHEMA = """
DROP SCHEMA IF EXISTS clinic CASCADE; DROP SCHEMA IF EXISTS own CASCADE;
CREATE SCHEMA clinic; CREATE SCHEMA own;
CREATE TABLE clinic.patients (id int PRIMARY KEY, name text, zip text, born int, sex text, diagnosis text, income int,
  note text);
INSERT INTO clinic.patients
  SELECT g, 'name' || g, '1' || (g % 4), 1950 + g % 5, CASE g % 2 WHEN 0 THEN 'F' ELSE 'M' END,
         'canary' || lpad((g - 1)::text, 3, '0'), 70000000 + g, 'note' FROM generate_series(1, 200) g;
CREATE TABLE clinic.visits (visit int PRIMARY KEY, patient int, reason text, day date);
INSERT INTO clinic.visits SELECT g, (g + 1) / 2, 'reason' || g % 7, date '2026-01-01' + g % 90
  FROM generate_series(1, 400) g;
CREATE VIEW clinic.plain AS SELECT id AS number, zip, diagnosis AS dx FROM clinic.patients;
CREATE VIEW clinic.upper AS SELECT id, upper(diagnosis) AS loud, income + 0 AS money FROM clinic.patients;
CREATE VIEW clinic.nested AS SELECT number, dx FROM clinic.plain WHERE zip <> '0';
CREATE VIEW clinic.pairs AS SELECT a.id, b.diagnosis FROM clinic.patients a JOIN clinic.patients b ON b.id = a.id + 1;
CREATE MATERIALIZED VIEW clinic.kept AS SELECT id, diagnosis FROM clinic.patients;
CREATE TABLE own.places (zip text, town text);
INSERT INTO own.places VALUES ('10', 'Here'), ('11', 'There');
CREATE TABLE own.scratch (a text, b text, n int);
CREATE FUNCTION own.peek(who int) RETURNS text LANGUAGE sql AS 'SELECT diagnosis FROM clinic.patients WHERE id = who';
CREATE FUNCTION own.shout(who int) RETURNS void LANGUAGE plpgsql AS
  $$ BEGIN RAISE NOTICE '%', (SELECT diagnosis FROM clinic.patients WHERE id = who); END $$;
CREATE FUNCTION own.row_peek(clinic.patients) RETURNS text LANGUAGE sql AS 'SELECT $1.diagnosis';
CREATE FUNCTION own.peeking(text, text) RETURNS bool LANGUAGE sql AS 'SELECT $1 = $2';
CREATE OPERATOR own.=~= (LEFTARG = text, RIGHTARG = text, FUNCTION = own.peeking);
CREATE VIEW own.hidden AS SELECT own.peek(1) AS dx;
CREATE PROCEDURE own.tell() LANGUAGE plpgsql AS
  $$ BEGIN RAISE EXCEPTION '%', (SELECT diagnosis FROM clinic.patients WHERE id = 1); END $$;
ALTER TABLE clinic.patients ADD CONSTRAINT sane CHECK (income > 0);
DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'ann') THEN
  CREATE ROLE ann LOGIN; CREATE ROLE ben LOGIN; CREATE ROLE analysts; GRANT analysts TO ben; CREATE ROLE eve LOGIN;
END IF; END $$;
GRANT USAGE ON SCHEMA clinic TO ann, ben, eve; GRANT USAGE, CREATE ON SCHEMA own TO ann, ben, eve;
GRANT REFERENCES (name, zip, born, sex, diagnosis, income, note) ON clinic.patients TO ann, ben, eve;
GRANT REFERENCES (patient, reason, day) ON clinic.visits TO ann, ben, eve;
GRANT ALL ON ALL TABLES IN SCHEMA own TO ann, ben, eve;
ALTER ROLE ann SET search_path = clinic, own, public; ALTER ROLE ben SET search_path = clinic, own, public;
ALTER ROLE eve SET search_path = clinic, own, public;
ANALYZE clinic.patients;
"""

POLICY = """
[sensitivity.income]
bins = [[1000, 0.1]]
otherwise = 1.0

[misuse]
x = 2
limit = {limit}

[gateway]
mode = "{mode}"
action = "{action}"
exempt = ["postgres"]
{days}
[gateway.aggregates.columns.income]
bounds = [70000000, 70001000]
step = 50

[gateway.tables."clinic.patients"]
key = ["id"]
entity = "patient"
identifiers = ["name"]
quasi = ["zip", "born", "sex"]
sensitive = ["diagnosis", "income"]

[gateway.tables."clinic.visits"]
key = ["patient"]
entity = "patient"
sensitive = ["reason"]
"""


def policy(
    *, limit: float = 2.0, mode: str = "enforce", action: str = "deny", more: str = "", days: float | None = None
) -> Policy:
    """The policy of the clinic."""
    return Policy.parse(
        POLICY.format(limit=limit, mode=mode, action=action, days=f"days = {days}" if days else "") + more
    )


def furnish(url: str) -> None:
    """Make the clinic afresh."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET client_min_messages TO error")
        connection.execute(SCHEMA.encode())


def close_holes(url: str, chosen: Policy) -> None:
    """Take from users whatever leads past the gateway, as the audit of rights proposes it."""
    import psycopg

    from discreet.gateway.rights import holes

    section = chosen.gateway
    assert section is not None
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET client_min_messages TO error; SET track_counts TO off")
        for _ in range(5):
            with connection.transaction(), connection.cursor() as cursor:
                found = holes(cursor, [*section.tables], exempt=section.exempt, trusted=section.functions)
            for remedy in dict.fromkeys(one.remedy for one in found):
                connection.execute(remedy.encode())
            if not found:
                return
    raise AssertionError(found)


class Guarding:
    """A governed gateway in a thread of its own."""

    def __init__(self, upstream: Upstream, url: str, store: str | Path, chosen: Policy, **settings: Any) -> None:
        self._upstream, self._url, self._store, self._policy = upstream, url, store, chosen
        self._settings = settings
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)
        self._problem: BaseException | None = None

    def __enter__(self) -> Guarding:
        self._thread.start()
        assert self._ready.wait(30)
        if self._problem is not None:
            raise self._problem
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(30)
        assert not self._thread.is_alive()

    async def _run(self) -> None:
        self.loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        try:
            with Ledger.open(self._store) as self.ledger:
                self.governor = Governor(self._policy, own=self._url, ledger=self.ledger)
                await self.governor.start()
                settings = Settings(self._upstream, judge=self.governor, grace=0.5, **self._settings)
                async with Gateway(settings) as self.gateway:
                    self.port = self.gateway.port
                    self._ready.set()
                    await self._stop.wait()
                await self.governor.close()
        except BaseException as problem:
            self._problem = problem
            self._ready.set()

    def url(self, user: str = "ann") -> str:
        return f"postgresql://{user}@127.0.0.1:{self.port}/postgres"

    def do(self, work: Callable[[], Any]) -> Any:
        """Run something in the gateway's own thread."""

        async def once() -> Any:
            return work()

        return asyncio.run_coroutine_threadsafe(once(), self.loop).result(10)

    def exposure(self, user: str = "ann") -> float:
        """What a user's exposure is now, as stored."""
        from discreet.misuse import Exposure
        from discreet.store import Exposures

        kept = Exposures(self.ledger.store).of(f"postgres/{user}")
        return 0.0 if kept is None else Exposure.from_bytes(kept.content).value


@contextmanager
def connected(url: str) -> Iterator[Any]:
    """A client."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        yield connection
