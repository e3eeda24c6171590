"""What a request gives away by its conditions."""

from __future__ import annotations

import logging
import sys
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import MissingExtra, RequestError, UsageError
from discreet.kernel.hierarchy import text
from discreet.misuse import score
from discreet.misuse.scorer import conditions
from tests.examples import examples
from tests.misuse.paper import QUASI, SOURCE, F

GOLD = {"account": {"Gold"}}
EITHER = {"account": {"Gold", "Silver"}}
UNTOLD: dict[str, Any] = {"account": None}

CASES: list[tuple[str, dict[str, Any]]] = [
    # what must hold
    ("select name from c where account = 'Gold'", GOLD),
    ("select name from c where 'Gold' = account", GOLD),
    ("select name from c where (account = 'Gold') and age > 3", GOLD),
    ("select name from c where account in ('Gold', 'Silver')", EITHER),
    ("select name from c where account in (values ('Gold'), ('Silver'))", EITHER),
    ("select name from c where account = any(array['Gold', 'Silver'])", EITHER),
    ("select name from c where account = any('{Gold,Silver}')", EITHER),
    ("select name from c where (account, job) in (('Gold', 'a'), ('Silver', 'a'))", {**EITHER, "job": {"a"}}),
    ("select name from c where (account, job) = ('Gold', 'a')", {**GOLD, "job": {"a"}}),
    ("select name from c where account is not distinct from 'Gold'", GOLD),
    ("select name from c where account like 'Gold'", GOLD),
    ("select name from c where bill between 5 and 5", {"bill": {"5"}}),
    ("select name from c where bill = 5.50 and tax = -1", {"bill": {"5.5"}, "tax": {"-1"}}),
    ("select name from c where account::text = 'Gold'::varchar", GOLD),
    ("select name from c where account = 'Gold' collate \"C\"", GOLD),
    ("select name from c where \"Account\" = 'Gold'", GOLD),
    ("select name from c where hiv and not tb", {"hiv": {"true"}, "tb": {"false"}}),
    ("select name from c where hiv is true and tb is false", {"hiv": {"true"}, "tb": {"false"}}),
    # what need not hold
    ("select name from c", {}),
    ("select name from c where account <> 'Gold'", {}),
    ("select name from c where not account = 'Gold'", {}),
    ("select name from c where account not in ('Gold')", {}),
    ("select name from c where account like 'G%'", {}),
    ("select name from c where bill between 5 and 6", {}),
    ("select name from c where bill > 5", {}),
    ("select name from c where account = 'Gold' or job = 'a'", {}),
    ("select name from c where account = 'Gold' or true", {}),
    ("select name from c where account = 'Gold' or 1 = 1", {}),
    ("select name from c where (account = 'Gold') is not true", {}),
    ("select case when account = 'Gold' then 1 end from c", {}),
    # one of several
    ("select name from c where account = 'Gold' or account = 'Silver'", EITHER),
    ("select name from c where (account = 'Gold' and job = 'a') or (city = 'b' and account = 'Silver')", EITHER),
    ("select name from c where account = 'Gold' or (job = 'a' and false)", GOLD),
    ("select name from c where not (account <> 'Gold' or job = 'a')", GOLD),
    ("select name from c where not (not account = 'Gold')", GOLD),
    ("select name from c where coalesce(account = 'Gold', false)", GOLD),
    ("select name from c where coalesce(account = 'Gold', true)", {}),
    # cases
    ("select name from c where case when account = 'Gold' then true else false end", GOLD),
    ("select name from c where case when account = 'Gold' then 1 else 0 end = 1", GOLD),
    ("select name from c where case when account = 'Gold' then 1 else 0 end = 0", {}),
    ("select name from c where case account when 'Gold' then 1 when 'Silver' then 1 end = 1", EITHER),
    ("select name from c where case when account <> 'Gold' then 0 else 1 end = 1", GOLD),
    ("select name from c where (account = 'Gold')::int = 1", GOLD),
    # joins
    ("select a.name from a join b on a.id = b.id and b.account = 'Gold'", GOLD),
    ("select a.name from a, b where a.id = b.id and b.account = 'Gold'", GOLD),
    ("select a.name from a left join b on b.account = 'Gold'", {}),
    ("select a.name from a right join b on b.account = 'Gold'", {}),
    ("select a.name from a full join b on b.account = 'Gold'", {}),
    ("select a.name from a left join b on a.id = b.id where b.account = 'Gold'", GOLD),
    ("select a.name from a join b on a.kind = b.account where a.kind = 'Gold'", {**GOLD, "kind": {"Gold"}}),
    ("select a.name from a join b on a.kind = b.code join c on b.code = c.account where a.kind = 'Gold'", {**GOLD, "kind": {"Gold"}, "code": {"Gold"}}),
    ("select s.name from a left join (select * from c where account = 'Gold') s on true", {}),
    ("select s.name from (select * from c where account = 'Gold') s left join a on true", GOLD),
    # subqueries, common table expressions, aliases
    ("select name from (select name, account as kind from c) s where kind = 'Gold'", GOLD),
    ("select name from (select name, account as kind from c) s where s.kind = 'Gold'", GOLD),
    ("select name from (select c.* from c) s where s.account = 'Gold'", GOLD),
    ("select name from (select job as account from c) s where account = 'Gold'", {"job": {"Gold"}}),
    ("with s as (select name, account as kind from c) select name from s where kind = 'Gold'", GOLD),
    ("with s(n, k) as (select name, account from c) select n from s as t where t.k = 'Gold'", GOLD),
    ("with r as (select * from c where account = 'Gold'), s as (select * from r) select name from s", GOLD),
    ("select n from (select name, account from c) as s(n, k) where k = 'Gold'", GOLD),
    ("select name from (select name, case when account = 'Gold' then 1 else 0 end f from c) s where f = 1", GOLD),
    ("select name from (select account k, name from c union all select kind, name from d) s where k = 'Gold'", {}),
    ("select name from (select account k, name from c union all select account, name from d) s where k = 'Gold'", GOLD),
    ("select name from c where exists (select 1 from d where d.id = c.id and d.account = 'Gold')", GOLD),
    ("select name from c where not exists (select 1 from d where d.id = c.id and d.account = 'Gold')", {}),
    ("select name from c where id in (select id from d where account = 'Gold')", GOLD),
    ("select name from c where id not in (select id from d where account = 'Gold')", {}),
    ("select name from c where id = any(select id from d where account = 'Gold')", GOLD),
    ("select name from c where account = (select 'Gold')", GOLD),
    ("select name from c where account = (select max(kind) from d where kind = 'Gold')", {"kind": {"Gold"}}),
    ("select l.k from c, lateral (select c.account as k) l where l.k = 'Gold'", GOLD),
    # groups
    ("select account, count(*) from c group by account having account = 'Gold'", GOLD),
    ("select job from c group by job having max(account) = 'Gold' and count(bill) = 3", GOLD),
    # several queries in one
    ("select name from c where account = 'Gold' union select name from c where account = 'Silver'", EITHER),
    ("select name from c where account = 'Gold' union select name from c", {}),
    ("select name from c where account = 'Gold' intersect select name from c", GOLD),
    ("select name from c where account = 'Gold' except select name from c", GOLD),
    ("select name from c except select name from c where account = 'Gold'", {}),
    # statements other than SELECT
    ("update c set name = 'x' where account = 'Gold' returning name", GOLD),
    ("delete from c where account = 'Gold' returning name", GOLD),
    ("copy (select name from c where account = 'Gold') to stdout", GOLD),
    ("create table d as select name from c where account = 'Gold'", GOLD),
    # one value, but which one the request does not tell
    ("select name from c where account = $1", UNTOLD),
    ("select name from c where upper(account) = 'GOLD'", UNTOLD),
    ("select name from c where account || '' = 'Gold'", UNTOLD),
    ("select name from c where account = 'Go' || 'ld'", UNTOLD),
    ("select name from (select name, lower(account) l from c) s where l = 'gold'", UNTOLD),
    ("select name from c where to_json(c) ->> 'account' = 'Gold'", {"*": None, "c": None}),
    # conditions on columns of the same name do not narrow each other down: they may be of different tables
    ("select name from c where account in ('Gold', 'White') and account = 'White'", {"account": {"Gold", "White"}}),
]  # fmt: skip


@pytest.mark.parametrize(("request_text", "expected"), CASES, ids=[case[0] for case in CASES])
def test_what_fixes_a_column(request_text: str, expected: dict[str, Any]) -> None:
    found = conditions(request_text)
    assert {name: values if values is None else set(values) for name, values in found.items()} == expected


@pytest.mark.parametrize(
    ("request_text", "expected"),
    [
        ("from c select name where account = 'Gold'", GOLD),
        ("select name from c where account in ['Gold', 'Silver']", EITHER),
        ("select name from c where list_contains(['Gold'], account)", GOLD),
        ("select name from c where account = ?", UNTOLD),
        ("select name, account from c qualify account = 'Gold'", GOLD),
        ("select name from c where columns(*) = 'Gold'", {"*": None}),
        ("select name from c where if(account = 'Gold', true, false)", GOLD),
    ],
)
def test_what_fixes_a_column_in_duckdb(request_text: str, expected: dict[str, Any]) -> None:
    found = conditions(request_text, dialect="duckdb")
    assert {name: values if values is None else set(values) for name, values in found.items()} == expected


def test_parameters_are_used_where_they_are_known() -> None:
    sql = "select name from c where account = $2 and job = $1 and city = $3"
    assert conditions(sql, parameters=["Lawyer", "Gold"]) == {"account": {"Gold"}, "job": {"Lawyer"}, "city": None}
    either = conditions("select name from c where account = ? and bill = ?", dialect="duckdb", parameters=["Gold", 5])
    assert either == {"account": {"Gold", "5"}, "bill": {"Gold", "5"}}
    named = conditions("select 1 from c where account = :kind", dialect="duckdb", parameters={"kind": "Gold"})
    assert named == {"account": {"Gold"}}


@pytest.mark.parametrize(
    "request_text",
    ["", "selec name", "select from where", "select 1; select 2", "explain select 1", "do $$ begin end $$", "vacuum c", "set role boss", "select name from c as t(a, b) where a = 'Gold'", "select '", "(" * 3000 + "select 1" + ")" * 3000],
)  # fmt: skip
def test_what_cannot_be_understood_is_refused(request_text: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG), pytest.raises(RequestError) as caught:
        conditions(request_text)
    assert caught.value.exit_code == 2
    assert "boss" not in str(caught.value)
    assert caplog.text == ""


@pytest.mark.parametrize("number", [150, 5000])
def test_long_lists_of_alternatives_are_read(number: int) -> None:
    alternatives = " or ".join(f"job = 'j{place}'" for place in range(number))
    assert len(conditions(f"select name from c where {alternatives}")["job"] or ()) == number
    listed = ", ".join(f"'j{place}'" for place in range(number))
    assert len(conditions(f"select name from c where job in ({listed})")["job"] or ()) == number


def test_what_is_nested_too_deeply_is_refused() -> None:
    sql = "select name from c where " + "not (" * 5000 + "job = 'a'" + ")" * 5000
    with pytest.raises(RequestError, match="nested too deeply"):
        conditions(sql)


def test_other_dialects_are_refused() -> None:
    with pytest.raises(UsageError, match="oracle"):
        conditions("select 1", dialect="oracle")


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    with pytest.raises(MissingExtra, match=r"discreet\[misuse\]"):
        conditions("select 1")


PAPER: dict[str, Any] = {"source": SOURCE, "quasi": QUASI, "sensitivity": F}


def test_a_condition_counts_as_a_known_cell_of_every_row() -> None:
    jobs = [{"job": row["job"]} for row in SOURCE if row["account"] == "Gold"]
    plain = score(jobs, **PAPER)
    assert plain.value == 0.0
    asked = score(jobs, request="select job from c where account = 'Gold'", **PAPER)
    assert asked.value == pytest.approx(2**0.5 * 1.0 / 2)
    assert asked.added == ("account",)
    worst = score(jobs, request="select job from c where account in ('White', 'Silver')", **PAPER)
    assert worst.value == pytest.approx(2**0.5 * 0.7 / 2)
    assert score(jobs, request="select job from c where account = $1", **PAPER).value == asked.value
    assert (
        score(jobs, request="select job from c where account = $1", parameters=["White"], **PAPER).value < asked.value
    )
    assert score(jobs, request="select job from c where to_json(c)::text = '1'", **PAPER).value == asked.value
    assert score(jobs, request="select job from c where account <> 'Gold'", **PAPER).value == 0.0


def test_a_column_of_the_result_is_not_added_again() -> None:
    rows = [{"job": "Lawyer", "account": "White"}]
    found = score(rows, request="select job, account from c where account = 'Gold'", **PAPER)
    assert found.added == ()
    assert found.value == score(rows, **PAPER).value


def test_a_quasi_identifier_that_the_request_fixes_makes_the_crowd_smaller() -> None:
    rows = [{"sex": "Female", "account": "Gold"}]
    plain = score(rows, **PAPER)
    asked = score(rows, request="select sex, account from c where job = 'Lawyer'", **PAPER)
    assert (plain.weighed.crowds[0], asked.weighed.crowds[0]) == (6, 2)
    assert asked.value > plain.value
    several = score(rows, request="select sex, account from c where job in ('Lawyer', 'Teacher')", **PAPER)
    assert several.value == plain.value


def test_the_score_with_conditions_is_never_lower() -> None:
    rows = [{"account": "Gold"}]
    asked = score(rows, request="select account from c where job = 'Lawyer'", **PAPER)
    assert asked.value == score(rows, **PAPER).value == 1.0


def test_entities_are_asked_for_as_well() -> None:
    rows = [{"id": 1, "bill": 20}, {"id": 1, "bill": 300}]
    found = score(
        rows,
        source=[{"id": 1}],
        quasi=["id"],
        sensitivity=F,
        entity="id",
        request="select 1 from c where account = 'Bronze'",
    )
    assert found.value == pytest.approx(0.1 + 0.3 + 0.3)


ATOMS = st.sampled_from(
    ["a = 1", "a = 2", "b = 1", "b <> 1", "a in (1, 2)", "a is null", "a = b", "b = c", "c = 2", "a <> 3", "b between 2 and 2", "true", "false", "a > 1", "case when a = 1 then b = 1 else c = 2 end", "coalesce(a = 1, b = 2)", "(a, b) in ((1, 2), (2, 2))", "exists (select 1 from t u where u.a = t.a and u.b = 1)"]
)  # fmt: skip
PREDICATES = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda two: f"({two[0]} and {two[1]})"),
        st.tuples(inner, inner).map(lambda two: f"({two[0]} or {two[1]})"),
        inner.map(lambda one: f"(not {one})"),
    ),
    max_leaves=6,
)
ROWS = [(a, b, c) for a in (1, 2, 3, None) for b in (1, 2, None) for c in (1, 2)]


@pytest.fixture(scope="module")
def database() -> Any:
    connection = duckdb.connect()
    connection.execute("create table t (a int, b int, c int)")
    connection.executemany("insert into t values (?, ?, ?)", ROWS)
    yield connection
    connection.close()


@settings(max_examples=examples(200), deadline=None)
@given(predicate=PREDICATES)
def test_whatever_is_said_to_be_fixed_is_fixed(database: Any, predicate: str) -> None:
    sql = f"select a, b, c from t where {predicate}"
    rows = database.execute(sql).fetchall()
    for name, values in conditions(sql, dialect="duckdb").items():
        assert values is not None
        # Conditions inside EXISTS speak of another row of the same column, so they widen what is possible.
        met = {text(row["abc".index(name)]) for row in rows}
        assert met <= values or "exists" in predicate
