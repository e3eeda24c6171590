"""Questions for a server, generated from a seed: many types, both protocols, both formats, errors included.

Every answer is the same on any connection to the same server: no clocks, no random values, no session numbers.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from tests.gateway import raw

SETUP = """
DROP SCHEMA IF EXISTS identity CASCADE;
CREATE SCHEMA identity;
CREATE TYPE identity.mood AS ENUM ('sad', 'ok', 'very happy');
CREATE DOMAIN identity.positive AS int CHECK (VALUE > 0);
CREATE TYPE identity.point3 AS (x int, y text, z numeric);
CREATE TABLE identity.people (
  id int PRIMARY KEY, name text, born date, paid numeric(12, 2), mood identity.mood, tags text[], doc jsonb,
  home identity.point3, seen timestamptz, photo bytea
);
INSERT INTO identity.people
SELECT g, 'name ' || g, date '1950-01-01' + g * 37, g * 1.25, (enum_range(null::identity.mood))[1 + g % 3],
  array['a' || g, null, 'b "' || g], jsonb_build_object('n', g, 'deep', array[g, null]),
  row(g, 'y' || g, g / 7.0)::identity.point3, timestamptz '2020-01-01 00:00+00' + g * interval '1 hour 3 seconds',
  decode(md5(g::text), 'hex')
FROM generate_series(1, 500) g;
CREATE TABLE identity.still AS SELECT * FROM identity.people ORDER BY id;
CREATE FUNCTION identity.talk(n int) RETURNS int LANGUAGE plpgsql AS
  $$ BEGIN RAISE NOTICE 'talking of %', n; RAISE WARNING 'twice'; RETURN n; END $$;
"""
SPECIAL = "'NaN'", "'Infinity'", "'-Infinity'", "'0'", "'-0'", "'1e-300'", "'123456.789'"
RANGES = "'[1,5)'::int4range", "'empty'::int4range", "'(,3]'::int8range", "'[1.5,2.5]'::numrange"
ARRAYS = "array[1,2,null]", "array[[1,2],[3,4]]", "'{}'::text[]", "array['a\"b','c\\d',null,'']", "array[1.5::float8]"
NETWORKS = "'10.0.0.0/8'::cidr", "'192.168.1.7'::inet", "'::1/64'::inet", "'08:00:2b:01:02:03'::macaddr"
TIMES = (
    "timestamp '2001-02-03 04:05:06.789'",
    "timestamptz 'infinity'",
    "date '-infinity'",
    "time '23:59:59.999999'",
    "timetz '12:00+02'",
    "interval '1 year -2 days 03:04:05.006'",
    "date '0044-03-15 BC'",
)
WRONG = (
    "SELECT 1/0",
    "SELECT 'x'::int",
    "SELECT * FROM nowhere.nothing",
    "SELEC 1",
    "SELECT (-5)::identity.positive",
    "SELECT 'glad'::identity.mood",
    "INSERT INTO identity.people (id) VALUES (1)",
    "SELECT id FROM identity.people WHERE id = 'x'",
    "SELECT $1::int",
    "DO $$ BEGIN RAISE EXCEPTION 'wrong: %', 7 USING DETAIL = 'd', HINT = 'h', ERRCODE = 'P0999'; END $$",
)
OTHER = (
    "",
    ";",
    "-- nothing",
    "SET DateStyle TO 'ISO'",
    "SHOW server_version_num",
    "EXPLAIN (COSTS OFF) SELECT * FROM identity.people WHERE id = 7",
    "DO $$ BEGIN RAISE NOTICE 'hello %', 1; END $$",
    "SELECT identity.talk(g) FROM generate_series(1, 3) g",
    "UPDATE identity.people SET name = name WHERE id = 4",
    "UPDATE identity.people SET name = name WHERE id = 7 RETURNING id, name, paid",
    "CREATE TEMP TABLE IF NOT EXISTS own (a int)",
    "SELECT 1 WHERE false",
    "VALUES (1, 'a'), (2, null)",
    "SELECT",
    "SELECT FROM generate_series(1, 3)",
)
COPIES = (
    "COPY identity.still TO STDOUT",
    "COPY (SELECT id, name, tags FROM identity.people WHERE id < 50) TO STDOUT (FORMAT csv, HEADER)",
    "COPY (SELECT id, paid FROM identity.people WHERE id < 20) TO STDOUT (FORMAT binary)",
    "COPY (SELECT 1/(id - id) FROM identity.people) TO STDOUT",
)


def expression(chance: random.Random) -> str:
    """One value of one type."""
    number = chance.randint(-(2**31), 2**31 - 1)
    word = "".join(chance.choice("abc äß€𝄞'\\\"\t") for _ in range(chance.randint(0, 12))).replace("'", "''")
    return chance.choice(
        [
            f"{number}",
            f"({number % 30_000})::int2",
            f"({number})::int8 * 1000",
            f"({number})::numeric / {chance.randint(1, 999)}",
            f"({number})::numeric(20, 5)",
            f"{chance.choice(SPECIAL)}::float8",
            f"{chance.choice(SPECIAL[:5])}::float4",
            "'NaN'::numeric",
            f"'{word}'::text",
            f"'{word}'::varchar(40)",
            "'ab'::char(5)",
            "'x'::\"char\"",
            f"decode(md5('{number}'), 'hex')",
            "''::bytea",
            "null",
            "null::int",
            chance.choice(("true", "false", "null::bool")),
            chance.choice(TIMES),
            chance.choice(ARRAYS),
            chance.choice(RANGES),
            chance.choice(NETWORKS),
            f"md5('{number}')::uuid",
            f"""'{{"n": {number}, "t": [null, true, "x"]}}'::json{chance.choice(("", "b"))}""",
            "'ok'::identity.mood",
            f"{abs(number) % 100 + 1}::identity.positive",
            f"row({number}, 'y', null)::identity.point3",
            "row(1, 'a', null)",
            f"B'{number % 64:b}'",
            "B'101'::bit varying(9)",
            "point(1.5, -2)",
            "'<a>x</a>'::text",
            "'a & b'::tsquery",
            "'pg_class'::regclass",
            "'12.34'::money",
            "1234::oid",
            "'(0,7)'::tid",
        ]
    )


def statement(chance: random.Random) -> str:
    """A select of several values, of a table, of many rows, or something else."""
    kind = chance.random()
    if kind < 0.10:
        return chance.choice(WRONG)
    if kind < 0.18:
        return chance.choice(OTHER)
    columns = ", ".join(f"{expression(chance)} AS c{n}" for n in range(chance.randint(1, 8)))
    if kind < 0.72:
        return f"SELECT {columns}"
    if kind < 0.82:
        return f"SELECT {columns}, g FROM generate_series(1, {chance.choice((0, 1, 2, 30, 400))}) g"
    wanted = ", ".join(chance.sample(["id", "name", "born", "paid", "mood", "tags", "doc", "home", "seen", "photo"], 3))
    return f"SELECT {wanted} FROM identity.people p WHERE id <= {chance.randint(0, 60)} ORDER BY id"


def questions(seed: int, number: int) -> Iterator[tuple[bytes, int]]:
    """What to send, and how many times the server will then be ready."""
    chance = random.Random(seed)
    for _ in range(number):
        yield question(chance)


def question(chance: random.Random) -> tuple[bytes, int]:
    kind = chance.random()
    if kind < 0.35:
        return raw.query(statement(chance)), 1
    if kind < 0.40:
        return raw.query("; ".join(statement(chance) for _ in range(3))), 1
    if kind < 0.43:
        return raw.query(chance.choice(COPIES)), 1
    if kind < 0.47:
        return transaction(chance)
    if kind < 0.75:
        return raw.at_once(statement(chance), results=formats(chance)) + raw.SYNC, 1
    if kind < 0.82:
        text = "SELECT $1::text, $2::int + 1, id FROM identity.people WHERE id < $2::int"
        values = [None if chance.random() < 0.2 else b"t\xc3\xa4xt", str(chance.randint(-5, 40)).encode()]
        return raw.at_once(text, values=values, results=formats(chance)) + raw.SYNC, 1
    if kind < 0.90:
        return named(chance), 1
    pipeline = [raw.at_once(statement(chance), results=formats(chance)) for _ in range(chance.randint(2, 4))]
    ends = [raw.SYNC if chance.random() < 0.6 else b"" for _ in pipeline[1:]] + [raw.SYNC]
    return b"".join(a + b for a, b in zip(pipeline, ends, strict=True)), sum(map(bool, ends))


def transaction(chance: random.Random) -> tuple[bytes, int]:
    """A block; it ends, so that two sessions never wait for each other."""
    steps = ["BEGIN", *(f"SELECT {expression(chance)}" for _ in range(chance.randint(0, 3)))]
    steps += [chance.choice(WRONG)] * chance.randint(0, 1) + ["SELECT 1", chance.choice(("COMMIT", "ROLLBACK"))]
    if chance.random() < 0.5:
        return b"".join(raw.query(step) for step in steps), len(steps)
    return b"".join(raw.at_once(step) + raw.SYNC for step in steps), len(steps)


def formats(chance: random.Random) -> list[int]:
    return chance.choice(([], [0], [1]))


def named(chance: random.Random) -> bytes:
    """A named statement and portal, fetched in parts, described both ways, and closed."""
    text = f"SELECT g, 'x' || g FROM generate_series(1, {chance.randint(0, 12)}) g"
    parts = [raw.execute("p", chance.randint(1, 5)) for _ in range(chance.randint(1, 4))]
    begin = (
        raw.close("S", "s")
        + raw.parse(text, "s")
        + raw.describe("S", "s")
        + raw.bind("p", "s", results=formats(chance))
    )
    shown = [raw.describe("P", "p")] if chance.random() < 0.5 else []
    return begin + b"".join(shown) + b"".join(parts) + raw.close("P", "p") + raw.close("S", "s") + raw.SYNC
