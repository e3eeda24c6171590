"""Nothing sensitive stands anywhere in what is run without being charged, noised or refused."""

from __future__ import annotations

import pytest

from discreet.gateway.explanation import explained
from tests.gateway.governed import policy

SECRET = "(SELECT income FROM patients WHERE id = 7)"
HIDDEN = {
    "limit": f"SELECT town FROM places LIMIT {SECRET}",
    "limit of a list": f"SELECT zip FROM patients LIMIT {SECRET}",
    "offset": f"SELECT zip FROM patients OFFSET {SECRET}",
    "limit inside": f"SELECT count(*) FROM (SELECT zip FROM patients LIMIT {SECRET}) t",
    "limit of a union": f"SELECT zip FROM patients UNION ALL SELECT town FROM places LIMIT {SECRET}",
    "series": f"SELECT g FROM generate_series(1, {SECRET}) g JOIN patients ON true",
    "series alone": f"SELECT count(*) FROM patients, generate_series(1, {SECRET}) g",
    "correlated": "SELECT zip FROM patients p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.patient = p.id AND v.reason = 'x')",
    "correlated in the list": "SELECT (SELECT reason FROM visits v WHERE v.patient = p.id) FROM patients p",
    "natural join": "SELECT count(*) FROM patients a NATURAL JOIN (SELECT diagnosis FROM patients WHERE id = 7) b",
    "using": "SELECT sum(a.born) FROM patients a JOIN patients b USING (diagnosis)",
    "percentile": f"SELECT percentile_cont({SECRET}) WITHIN GROUP (ORDER BY income) FROM patients",
    "measure of keys": "SELECT sum(CASE WHEN diagnosis > 'm' THEN 2::numeric ^ id ELSE 0 END) FROM patients",
    "grouped by key": "SELECT id, avg(income) FROM patients GROUP BY id",
}


@pytest.mark.parametrize("name", list(HIDDEN))
def test_no_corner_of_a_statement_hides_a_question(name: str) -> None:
    found = explained(HIDDEN[name], policy())
    assert found.refused, found.lines


@pytest.mark.parametrize(
    "statement",
    [
        f"SELECT {SECRET}, town FROM places",
        f"SELECT town FROM places WHERE length(town) > {SECRET}",
        f"VALUES ({SECRET})",
        f"SELECT p.zip FROM patients p LEFT JOIN places x ON x.town = {SECRET}::text",
        f"SELECT zip FROM patients WHERE born > {SECRET}",
        "SELECT max(d) FROM (SELECT diagnosis AS d FROM patients WHERE id = 7) t",
        "SELECT diagnosis FROM patients WHERE id = 7 UNION SELECT town FROM places",
        "WITH q AS (SELECT id, upper(diagnosis) d FROM patients) SELECT count(*) FROM q WHERE d = 'X' AND id = 7",
    ],
)
def test_what_is_released_on_the_way_is_charged(statement: str) -> None:
    found = explained(statement, policy())
    assert found.refused or any("charged with" in line for line in found.lines), found.lines
