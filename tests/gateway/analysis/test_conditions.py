"""Conditions and groups about a sensitive column: none fails for any value, and one spelling is one question.

Both are checked by PostgreSQL itself, over values that make expressions fail: an error would tell of the value that it
happened at, and two conditions that share their noise but not their rows would give the exact difference.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from discreet.gateway.analysis.block_parts import Resolved, Source
from discreet.gateway.analysis.condition_grid import ConditionGrid
from discreet.gateway.analysis.conditions import canonical, total
from discreet.gateway.analysis.relations import Relation
from discreet.policy.gateway_section import GovernedTable
from discreet.sql.fragment import ColumnName, NotCovered, transformed
from discreet.sql.lexer import lexed
from discreet.sql.parser import parse_query
from discreet.sql.printer import printed

VALUES = {
    "text": ["", "B20", "b20", "I10", "E11", "B20\\", "20", "B20\x1fI10", "it's", " B20 ", "infinity", None],
    "bool": ["true", "false", None],
    "int4": ["0", "1", "31", "35", "39", "40", "-7", "2147483647", "-2147483648", None],
    "int8": ["0", "31", "35", "39", "9223372036854775807", "-9223372036854775808", None],
    "numeric": ["0", "30.5", "35.5", "39.5", "1e100", "-1e100", "NaN", "Infinity", None],
    "float8": ["0", "30.5", "35.5", "39.5", "1e308", "-1e308", "5e-324", "NaN", "-Infinity", None],
    "date": ["2025-01-01", "2025-01-31", "4713-01-01 BC", "infinity", "-infinity", None],
    "timestamptz": ["2025-01-01 00:00+00", "2025-01-31 23:30+00", "infinity", "-infinity", None],
}
"""For each type of a column: ordinary values, and such at which expressions fail."""
TABLE = GovernedTable("s.values", ("id",), "person", (), (), ("v",))
CONSTANTS = st.sampled_from(
    [
        "10",
        "20",
        "30",
        "-10",
        "0",
        "10.0",
        "1e400",
        "1/0",
        "2147483647",
        "'B20'",
        "'b%'",
        "'B20\\'",
        "'B20\x1fI10'",
        "NULL",
        "'t'",
        "'tr'",
        "'true'",
        "'no'",
        "true",
        "'2025-01-01'",
        "'2025-02-01'",
        "'2025-01-01 00:00+14'",
        "'now'",
        "'('",
        "CAST('B20' AS text)",
        "CAST('B20x' AS varchar(3))",
        "'B20x'",
        "CAST('B20  ' AS bpchar)",
        "'B20  '",
        "CAST(CAST('x' AS text) AS date)",
        "'x' || 'y'",
        "'^B2|I1'",
        "'(a+)+$'",
    ]
)
SIGNS = st.sampled_from(["=", "<>", "<", "<=", ">", ">=", "LIKE", "NOT LIKE", "ILIKE", "~", "!~", "IS DISTINCT FROM"])


NUMBER = st.sampled_from(["10", "20", "30", "3", "0", "-10", "10.0", "1e9", "1e30", "2147483640"])
DIVIDED = st.builds("{} / {}".format, st.sampled_from(["v", "CAST(v AS numeric)", "CAST(v AS float8)"]), NUMBER)
STARTS = {
    "number": st.one_of(
        DIVIDED,
        st.builds("{}({})".format, st.sampled_from(["floor", "ceil", "trunc", "round"]), DIVIDED),
        st.builds("width_bucket(v, {}, {}, {})".format, NUMBER, NUMBER, st.sampled_from(["10", "5", "3", "0"])),
        st.just("v"),
    ),
    "date": st.one_of(
        st.builds(
            "date_trunc('{}', {})".format,
            st.sampled_from(["month", "year", "day"]),
            st.sampled_from(["v", "v::timestamp"]),
        ),
        st.builds("extract({} FROM v)".format, st.sampled_from(["year", "month", "epoch"])),
        st.builds("to_char(v, '{}')".format, st.sampled_from(["YYYY-MM", "YYYY", "DD"])),
        st.just("v"),
    ),
    "text": st.one_of(
        st.builds("{}(v)".format, st.sampled_from(["lower", "upper", "btrim", "length", "ascii"])),
        st.builds("{}(v, {})".format, st.sampled_from(["left", "right", "substring", "repeat"]), NUMBER),
        st.builds("btrim(v, {})".format, st.sampled_from(["'BIEF'", "'x'", "NULL"])),
        st.just("v"),
    ),
}


def _further(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    kinds = st.sampled_from(
        ["int4", "int2", "int8", "text", "varchar", "numeric", "float8", "date", "timestamptz", "bool"]
    )
    return st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from(["+", "-", "*", "/", "%", "^", "||"]), NUMBER),
        st.builds("({} {} {})".format, NUMBER, st.sampled_from(["+", "-", "*", "/"]), inner),
        st.builds("CAST({} AS {})".format, inner, kinds),
        st.builds("{}({})".format, st.sampled_from(["floor", "ceil", "lower", "sqrt"]), inner),
        st.builds("coalesce({}, {})".format, inner, CONSTANTS),
        st.builds("CASE WHEN {} = {} THEN {} ELSE {} END".format, inner, CONSTANTS, CONSTANTS, CONSTANTS),
        st.builds("({} || '-' || {})".format, inner, inner),
    )


FAMILY = {"text": "text", "bool": "text", "date": "date", "timestamptz": "date"}
KINDS = st.sampled_from([*VALUES])


def _expressions(kind: str) -> st.SearchStrategy[str]:
    return st.recursive(STARTS[FAMILY.get(kind, "number")], _further, max_leaves=3)


EXPRESSIONS = {kind: _expressions(kind) for kind in VALUES}


def _conditions(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("NOT ({})".format, inner),
        st.builds("({}) AND ({})".format, inner, inner),
        st.builds("({}) OR ({})".format, inner, inner),
    )


def _plain(kind: str) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("{} {} {}".format, EXPRESSIONS[kind], SIGNS, CONSTANTS),
        st.builds("v {} {}".format, SIGNS, CONSTANTS),
        st.builds("{} {} v".format, CONSTANTS, SIGNS),
        st.builds("v IN ({}, {})".format, CONSTANTS, CONSTANTS),
        st.builds("v NOT IN ({})".format, CONSTANTS),
        st.builds("v IS {}".format, st.sampled_from(["NULL", "NOT NULL", "TRUE", "NOT TRUE", "FALSE", "UNKNOWN"])),
        st.just("v"),
    )


CONDITIONS = {kind: st.recursive(_plain(kind), _conditions, max_leaves=3) for kind in VALUES}


@pytest.fixture(scope="module")
def server(postgres_url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("SET search_path = pg_catalog; SET TimeZone = 'UTC'")
        for kind, values in VALUES.items():
            connection.execute(f"CREATE TEMP TABLE of_{kind} (n int4, v {kind})".encode())
            for number, value in enumerate(values):
                connection.execute(f"INSERT INTO of_{kind} VALUES (%s, %s)".encode(), (number, value))
        yield connection


def _grid(kind: str) -> ConditionGrid:
    relation = Relation(1, "s", "values", "r", {"v": kind}, TABLE, True)
    return ConditionGrid(Resolved(None, {"t": Source("t", {"v": kind}, relation)}, "", "UTC"), lambda name: 10.0)


def _read(text: str) -> Any:
    try:
        tree = parse_query(lexed(f"SELECT {text} FROM t")).items[0].inner
    except NotCovered:
        return None
    return transformed(tree, lambda one: ColumnName("t", "v") if isinstance(one, ColumnName) else one)


def _one_by_one(server: psycopg.Connection[Any], kind: str, sql: str) -> dict[int, Any]:
    """What an expression is for each value; values at which it fails are missing."""
    found = {}
    for number in range(len(VALUES[kind])):
        try:
            ((value,),) = server.execute(
                f'SELECT ({sql})::text FROM of_{kind} AS "t" WHERE n = {number}'.encode()
            ).fetchall()
        except psycopg.Error:
            continue
        found[number] = value
    return found


def _runs(server: psycopg.Connection[Any], kind: str, sql: str) -> bool:
    """Whether it runs; an error that comes without any row tells nothing, and any other fails the test."""
    try:
        server.execute(f'SELECT ({sql})::text FROM of_{kind} AS "t" WHERE false AND n < 0'.encode())
    except psycopg.Error:
        return False
    server.execute(f'SELECT ({sql})::text FROM of_{kind} AS "t"'.encode())
    return True


@given(data=st.data(), kind=KINDS)
def test_no_group_fails_for_a_value(server: psycopg.Connection[Any], data: st.DataObject, kind: str) -> None:
    text = data.draw(EXPRESSIONS[kind])
    node, grid = _read(text), _grid(kind)
    assume(node is not None)
    try:
        sql = printed(total(node, grid))
    except NotCovered:
        return
    assume(_runs(server, kind, sql))
    as_asked, as_run = _one_by_one(server, kind, printed(node)), _one_by_one(server, kind, sql)
    assert {n for n in as_asked if not _alike(as_asked[n], as_run.get(n))} == set(), (as_asked, as_run, sql)
    between = {
        as_run[n] for n, value in enumerate(VALUES[kind]) if value and re.fullmatch(r"3[0-9](?<!0)(\.5)?", value)
    }
    assert FAMILY.get(kind) or len(between) == 1, (between, sql)


def _alike(one: Any, other: Any) -> bool:
    try:
        return one == other or abs(float(one) - float(other)) <= 1e-6 * abs(float(one)) or float(one) != float(one)
    except (TypeError, ValueError):
        return False


@given(data=st.data(), kind=KINDS)
def test_conditions_of_one_spelling_choose_the_same_rows(
    server: psycopg.Connection[Any], data: st.DataObject, kind: str
) -> None:
    grid = _grid(kind)
    seen: dict[str, tuple[set[int], str]] = {}
    for text in data.draw(st.lists(CONDITIONS[kind], min_size=2, max_size=25)):
        node = _read(text)
        if node is None:
            continue
        try:
            spelt = canonical(node, grid)
            sql = printed(total(node, grid))
        except NotCovered:
            continue
        if not _runs(server, kind, sql):
            continue
        rows = {n for n, value in _one_by_one(server, kind, sql).items() if value == "true"}
        as_asked = dict(_one_by_one(server, kind, printed(node)).items())
        assert all((value == "true") == (n in rows) for n, value in as_asked.items()), text
        assert seen.setdefault(spelt, (rows, text))[0] == rows, (spelt, text, seen[spelt])


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("int4", "100 / floor(v / 10)"),
        ("int4", "1 / (floor(v / 10) - 3)"),
        ("int4", "v / 10 * 2000000000"),
        ("text", "CAST(btrim(v, 'BIE') AS int4)"),
        ("text", "CASE WHEN v = 'B20' THEN 1 / 0 ELSE 1 END"),
        ("float8", "floor(v / 10) * 1e308"),
        ("timestamptz", "date_trunc('month', v, 'nowhere')"),
        ("int4", "v / 10.0"),
        ("int4", "CAST(v AS numeric) / 10"),
    ],
)
def test_what_may_fail_is_refused(kind: str, text: str) -> None:
    with pytest.raises(NotCovered):
        total(_read(text), _grid(kind))


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("text", "CASE WHEN v = 'B20' THEN CAST(v AS char(10000000)) ELSE v END"),
        ("text", "CASE WHEN v = 'B20' THEN CAST('x' AS char(10000000)) ELSE v END"),
        ("text", "CASE WHEN v = 'B20' THEN upper(v) ELSE v END"),
        ("text", "CASE WHEN v = 'B20' THEN CASE WHEN v LIKE '%0%' THEN 'x' END END"),
        ("text", "coalesce(v, CAST('x' AS varchar(10000000)))"),
        ("text", "CAST(v AS varchar(10000000))"),
        ("text", "upper(CASE WHEN v = 'B20' THEN 'x' ELSE v END)"),
        ("text", "rpad(v, 10000000)"),
        ("int4", "CAST(v / 10 AS numeric(1000, 900))"),
        ("int4", "CASE WHEN v > 10 THEN floor(v / 10) ELSE 0 END"),
        ("timestamptz", "CAST(v AS timestamp(3))"),
    ],
)
def test_work_is_bounded_by_the_text_and_not_by_the_value(kind: str, text: str) -> None:
    """No size is asked for, and nothing is worked out for some values only."""
    with pytest.raises(NotCovered):
        total(_read(text), _grid(kind))


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        ("text", "v IN ('B20', 'I10')", "v = 'B20\x1fI10'"),
        ("bool", "NOT v", "NOT (v IS TRUE)"),
        ("text", "(v = 'a') AND (v LIKE 'b')", "v = 'a and like b'"),
        ("text", "v = CAST('B20  ' AS bpchar)", "v = 'B20  '"),
    ],
)
def test_other_rows_have_another_spelling(kind: str, one: str, other: str) -> None:
    grid = _grid(kind)
    assert canonical(_read(one), grid) != canonical(_read(other), grid)


@pytest.mark.parametrize(
    ("kind", "text"), [("bool", "v = 'tr'"), ("text", "v LIKE 'B20\\'"), ("timestamptz", "v < '2025-01-01 00:00+14'")]
)
def test_conditions_whose_meaning_is_not_known_are_refused(kind: str, text: str) -> None:
    with pytest.raises(NotCovered):
        canonical(_read(text), _grid(kind))
