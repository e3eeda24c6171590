"""What is generated from a resolved statement gives the same as the statement; what is concluded from joins holds in rows."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from discreet.gateway.analysis.people import parts_of, person_of
from discreet.gateway.analysis.relations import Named, Relation, Relations, Setting
from discreet.gateway.analysis.resolve import Resolver
from discreet.gateway.analysis.statements import asked
from discreet.policy.gateway_section import GovernedTable
from discreet.sql.fragment import ColumnName, NotCovered, Output, Select
from discreet.sql.printer import printed
from tests.sql.statements import SCHEMA, Statements

pytestmark = pytest.mark.postgres
T = dict(zip("abcdefg", ("int4", "text", "numeric", "date", "timestamp", "float8", "bool"), strict=True))
PLAIN = [
    Relation(1, "printed", "t", "r", T),
    Relation(2, "printed", "u", "r", {"a": "int4", "name": "text", "Odd name": "int4"}),
]
PEOPLE = """
DROP SCHEMA IF EXISTS joined CASCADE; CREATE SCHEMA joined;
CREATE TABLE joined.p (id int PRIMARY KEY, k int, s text); INSERT INTO joined.p VALUES (1, 1, 'a'), (2, 1, 'b'), (3, NULL, 'c');
CREATE TABLE joined.q (id int PRIMARY KEY, k int, s text); INSERT INTO joined.q VALUES (1, 2, 'a'), (2, 1, 'b'), (4, 1, 'd');
CREATE TABLE joined.v (id int, k int, s text); INSERT INTO joined.v VALUES (1, 1, 'x'), (1, 2, 'y'), (2, 1, 'z'), (NULL, 1, 'n');
CREATE TABLE joined.w (id int UNIQUE, k int); INSERT INTO joined.w VALUES (1, 1), (2, 2), (NULL, 1), (NULL, 3);
CREATE TABLE joined.x (id int, k int); INSERT INTO joined.x VALUES (1, 1), (1, 2), (3, 2);
"""
GOVERNED = {name: GovernedTable(f"joined.{name}", ("id",), "person", (), (), ("s",)) for name in "pqv"}
JOINED = [
    Relation(
        place, "joined", name, "r", {"id": "int4", "k": "int4", **({"s": "text"} if name in GOVERNED else {})},
        GOVERNED.get(name), name in GOVERNED, (frozenset(["id"]),) if name in "pqw" else (),
    )
    for place, name in enumerate("pqvwx", start=10)
]  # fmt: skip


@pytest.fixture(scope="module")
def server(postgres_url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("SET client_min_messages TO error")
        connection.execute((SCHEMA + PEOPLE).encode())
        yield connection


def resolved(text: str, relations: list[Relation]) -> Any:
    ask = asked(text)
    if ask.problem is not None:
        raise ask.problem
    known = {one.name: one for one in relations}
    names: dict[tuple[str, str], Named | None] = {
        (schema, name): Named(known[name].oid, True, False) for schema, name in ask.names
    }
    return Resolver(Relations.of(relations), Setting(names), "s").resolve(ask.tree)


class Outputs(Statements):
    """Statements that name outputs in GROUP BY and ORDER BY, also constants, and sub-selects in FROM."""

    def statement(self) -> str:
        return (
            super().statement()
            if self._chance.random() < 0.4
            else self._of(self.ordered(), self.named(), self.nested())
        )

    def constant(self) -> str:
        return self._of("1", "2", "-1", "'x'", "1 + 1", "NULL::int", "(SELECT 3)", "2::bigint", "true")

    def ordered(self) -> str:
        items = [f"{self.constant()} AS one", f"{self.number(1)} AS two", f"{self.text(1)} AS three", "a"]
        self._chance.shuffle(items)
        order = self._of("one", "one DESC, two", "three, one", "two", "1", "4, one")
        return f"SELECT {', '.join(items)} FROM printed.t ORDER BY {order}, a, b, c LIMIT {self._of('3', '7 OFFSET 2')}"

    def named(self) -> str:
        one, group = self.constant(), self._of("one", "one, g", "g, one", "three", "one, three", "3", "2, one")
        return f"SELECT {one} AS one, b AS three, g, count(*) AS n FROM printed.t GROUP BY {group}, b, g ORDER BY n, one, b, g"

    def nested(self) -> str:
        inner = f"SELECT a, {self.number(1)} AS n, {self.constant()} AS one, b FROM printed.t WHERE {self.condition(1)}"
        kind = self._of("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")
        outer = f"(SELECT u.a, u.name, x.n FROM printed.u LEFT JOIN ({inner}) x ON x.a = u.a)"
        return self._of(
            f"SELECT q.a, q.n + 1 AS m, q.one FROM ({inner}) AS q ORDER BY one, m, a LIMIT 9",
            f"SELECT t.a, y.name, y.n FROM printed.t t {kind} {outer} y ON y.a = t.a AND t.a > {self._of('3', 'y.a - 1')}",
            "SELECT a, (SELECT max(u.a) FROM printed.u u WHERE u.a < t.a) AS m FROM printed.t t ORDER BY m, a LIMIT 5",
            f"SELECT count(*) AS n, x.b FROM ({inner}) x GROUP BY x.b HAVING count(*) > {self._of('1', '2')} ORDER BY n, b",
        )


@pytest.mark.parametrize("seed", range(10))
def test_a_thousand_generated_statements_give_the_same(server: psycopg.Connection[Any], seed: int) -> None:
    statements, answered = Outputs(seed), 0
    for _ in range(100):
        text = statements.statement()
        try:
            made = printed(resolved(text, PLAIN).query)
        except NotCovered:
            continue
        found = []
        for sql in (text, made):
            try:
                cursor = server.execute(sql.encode())
                names = [one.name for one in cursor.description or ()]
                found.append((names, Counter(map(str, cursor.fetchall()))))
            except psycopg.Error as problem:
                found.append(([problem.sqlstate], None))
        if found[0][1] is None and found[1][1] is not None:
            continue  # ORDER BY of a text that is no number is an error there, and nothing here
        assert found[0] == found[1], (text, made)
        answered += found[0][1] is not None
    assert answered > 60


KINDS = ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN")


def joined(chance: random.Random, names: list[str]) -> str:
    """A FROM of some tables, with equations anywhere in its conditions."""

    def condition(here: list[str]) -> str:
        one, two = chance.choice(here), chance.choice(here)
        columns = chance.choice([("id", "id"), ("id", "id"), ("id", "k"), ("k", "k")])
        extra = chance.choice(["", "", "", "", f" AND {chance.choice(here)}.k > 1", f" OR {chance.choice(here)}.k = 2"])
        return f"{one}.{columns[0]} = {two}.{columns[1]}{extra}"

    trees = [(name[0] if name == name[0] else f"{name[0]} {name}", [name]) for name in names]
    trees = [(f"joined.{text}", here) for text, here in trees]
    while len(trees) > 1:
        left, right = trees.pop(chance.randrange(len(trees))), trees.pop(chance.randrange(len(trees)))
        kind, here = chance.choice(KINDS), left[1] + right[1]
        on = "" if kind == "CROSS JOIN" else f" ON {' AND '.join(condition(here) for _ in range(chance.randint(1, 2)))}"
        text = f"({left[0]} {kind} {right[0]}{on})"
        trees.append((text, here))
    where = chance.choice(["", "", f" WHERE {condition(trees[0][1])}"])
    return trees[0][0] + where


@pytest.mark.parametrize("seed", range(8))
def test_what_is_concluded_from_joins_holds_in_every_row(server: psycopg.Connection[Any], seed: int) -> None:
    """One row for each person, and one person for all sensitive columns: never claimed where rows say otherwise."""
    chance, claimed = random.Random(seed), Counter[str]()
    for _ in range(600):
        names = chance.sample(["p", "q", "v", "w", "x", "p2", "w2"], chance.randint(2, 4))
        governed = [name for name in names if name[0] in GOVERNED]
        if not governed:
            continue
        about = chance.sample(governed, chance.randint(1, min(2, len(governed))))
        try:
            found = resolved(f"SELECT {', '.join(f'{name}.s' for name in about)} FROM {joined(chance, names)}", JOINED)
            aliases = frozenset(one.inner.table for one in found.query.items)
            person = person_of(found.query, found, aliases)
        except NotCovered:
            continue
        if not person.once and len(aliases) == 1:
            continue
        parts = [part.alias for part in parts_of(found.query.source) if found.sources[part.alias].table is not None]
        keys = [person.columns[0], *(ColumnName(alias, "id") for alias in parts if alias in aliases)]
        there = [ColumnName(alias, "s") for alias in parts if alias in aliases]
        items = tuple(Output(one, f"c{place}") for place, one in enumerate((*keys, *there)))
        sql = printed(Select(items, found.query.source, found.query.where))
        try:
            rows = server.execute(sql.encode()).fetchall()
        except psycopg.errors.FeatureNotSupported:  # FULL JOIN with such a condition
            continue
        people = Counter(row[0] for row in rows if row[0] is not None)
        claimed["once"] += person.once
        claimed["one"] += len(aliases) > 1
        assert not person.once or max(people.values(), default=0) <= 1, sql
        for row in rows:
            others = {key for key, value in zip(row[1 : len(keys)], row[len(keys) :], strict=True) if value is not None}
            assert row[0] is None or others <= {row[0], None}, sql
    assert claimed["once"] > 3, claimed
    assert claimed["one"] > 0, claimed


def test_equations_of_an_outer_join_say_nothing_of_other_tables() -> None:
    for kind, on in itertools.product(("LEFT", "RIGHT", "FULL"), ("w.id = p.k AND q.id = p.id", "q.id = p.id")):
        text = f"SELECT p.s FROM joined.p CROSS JOIN joined.q {kind} JOIN joined.w ON {on}"
        found = resolved(text, JOINED)
        assert not person_of(found.query, found, frozenset([found.query.items[0].inner.table])).once
