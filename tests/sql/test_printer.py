"""What is printed from the tree of a statement gives the same as the statement, on a real server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from discreet.sql.fragment import NotCovered, Select, conjunction, conjuncts, walk
from discreet.sql.lexer import lexed
from discreet.sql.parser import parse_query
from discreet.sql.printer import printed
from tests.sql.statements import SCHEMA, Statements

REFUSED = (
    "SELECT a FROM t FOR UPDATE",
    "SELECT DISTINCT ON (a) a FROM t",
    "SELECT random() FROM t",
    "SELECT pg_sleep(1)",
    "SELECT clock_timestamp()",
    "SELECT a FROM t TABLESAMPLE system (1)",
    "SELECT a INTO u FROM t",
    "WITH RECURSIVE q AS (SELECT 1) SELECT * FROM q",
    "WITH q AS (DELETE FROM t RETURNING a) SELECT * FROM q",
    "SELECT * FROM t, LATERAL (SELECT 1) x",
    "SELECT * FROM json_to_recordset('[]') AS x(a int)",
    "SELECT a FROM t WHERE (a, b) = (1, 2)",
    "SELECT t FROM t WHERE a > ALL (SELECT 1)",
    "SELECT my.function(a) FROM t",
    "SELECT a::regclass FROM t",
    "SELECT a @> b FROM t",
    "SELECT current_user",
    "SELECT 0x1F",
    'SELECT a COLLATE "C" FROM t',
    "SELECT (SELECT 1",
    "SELECT a b c FROM t",
    "SELECT string_agg(a, ',' ORDER BY b) FROM t",
    "SELECT count(*) FROM t GROUP BY DISTINCT a",
    "EXPLAIN SELECT 1",
    "SELECT 1; SELECT 2",
    "SELECT " + "(" * 300 + "1" + ")" * 300,
)


@pytest.fixture(scope="module")
def server(postgres_url: str) -> Iterator[Any]:
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("SET client_min_messages TO error")
        connection.execute(SCHEMA.encode())
        yield connection


def same(server: Any, text: str) -> bool:
    """Whether both give the same, names included; an error of the server must be the same error."""
    import psycopg

    found: list[Any] = []
    for sql in (text, printed(parse_query(lexed(text)))):
        try:
            cursor = server.execute(sql.encode())
            found.append(([one.name for one in cursor.description], Counter(map(str, cursor.fetchall()))))
        except psycopg.Error as problem:
            found.append((problem.sqlstate, None))
    assert found[0] == found[1], text
    return found[0][1] is not None


@pytest.mark.postgres
@pytest.mark.parametrize("seed", range(6))
def test_what_is_printed_gives_the_same(server: Any, seed: int) -> None:
    statements = Statements(seed)
    assert sum(same(server, statements.statement()) for _ in range(60)) > 40


@pytest.mark.postgres
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 140))
def test_thousands_of_statements_give_the_same(server: Any, seed: int) -> None:
    statements = Statements(seed)
    assert sum(same(server, statements.statement()) for _ in range(100)) > 60


@pytest.mark.parametrize("text", REFUSED)
def test_everything_else_is_refused(text: str) -> None:
    with pytest.raises(NotCovered):
        parse_query(lexed(text))


def test_conditions_are_taken_apart_and_put_together() -> None:
    tree = parse_query(lexed("SELECT a FROM t WHERE a > 1 AND (b = 'x' OR c) AND NOT d"))
    assert isinstance(tree, Select)
    parts = conjuncts(tree.where)
    assert len(parts) == 3
    assert conjuncts(conjunction(parts)) == parts
    assert sum(1 for _ in walk(tree)) > 10
