"""Ways to a patient's secret, by family: each is tried in two worlds that differ in nothing but that secret."""

from __future__ import annotations

TARGET = 7
"""The patient whose diagnosis and income differ."""

SILENT = {
    # A denied statement has run, or has an effect that survives.
    "a row lock": "SELECT g.id FROM aside.guess g JOIN study.patients p ON p.id = g.id AND p.diagnosis = g.d FOR UPDATE OF g ;; SELECT id FROM aside.guess WHERE xmax::text <> '0'",
    "a table lock": "BEGIN ;; LOCK TABLE study.patients IN SHARE MODE ;; ROLLBACK",
    "a write": "INSERT INTO aside.guess SELECT id, diagnosis FROM study.patients ;; SELECT * FROM aside.guess ORDER BY 1, 2",
    "a table of results": "CREATE TABLE aside.copy AS SELECT id, diagnosis FROM study.patients",
    "a temporary table": "CREATE TEMP TABLE t AS SELECT id, diagnosis FROM study.patients ;; SELECT * FROM t",
    "a returned write": "UPDATE aside.guess SET d = p.diagnosis FROM study.patients p WHERE p.id = guess.id RETURNING d",
    "a block": "DO $$ BEGIN RAISE EXCEPTION '%', (SELECT diagnosis FROM study.patients WHERE id = 7); END $$",
    "a function of one's own": "SELECT aside.peek(7)",
    "a plan": "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT id FROM study.patients WHERE diagnosis = 'B20' AND id = 7",
    "a cursor": "BEGIN ;; DECLARE c CURSOR FOR SELECT diagnosis FROM study.patients WHERE diagnosis = 'B20' ORDER BY id ;; FETCH ALL c ;; COMMIT",
    "a prepared statement": "PREPARE q AS SELECT diagnosis FROM study.patients WHERE id = 7 ;; EXECUTE q",
    "statistics of the planner": "SELECT most_common_vals::text, most_common_freqs::text FROM pg_stats WHERE schemaname = 'study' AND attname = 'diagnosis'",
    "XML of a query": "SELECT query_to_xml('SELECT diagnosis FROM study.patients WHERE id = 7', true, false, '')",
    "another role": "SET ROLE postgres ;; SELECT diagnosis FROM study.patients",
    # Secrets through columns that are not governed.
    "pairs of one's own table": "SELECT array_agg(g.id || ':' || g.d) FROM aside.guess g JOIN study.patients p ON p.id = g.id AND p.diagnosis = g.d",
    "sums of powers": "SELECT sum(power(2, g.id)) FROM aside.guess g JOIN study.patients p ON p.id = g.id AND p.diagnosis = g.d",
    "a count of guesses": "SELECT count(*) FROM aside.guess g JOIN study.patients p ON p.id = g.id AND p.diagnosis = g.d",
    # Another person behind the same text.
    "a clock": "SELECT count(*) FROM study.patients WHERE diagnosis = 'B20' AND id = 7 + 0 * extract(epoch FROM clock_timestamp())::int",
    "a random person": "SELECT diagnosis FROM study.patients WHERE random() < 0.01",
    "a setting": "SELECT diagnosis FROM study.patients WHERE id = current_setting('server_version_num')::int % 1000",
    # Values of single people that look like aggregates.
    "an array": "SELECT array_agg(diagnosis ORDER BY id) FROM study.patients",
    "a list": "SELECT string_agg(name || diagnosis, ',') FROM study.patients",
    "a mode": "SELECT mode() WITHIN GROUP (ORDER BY diagnosis) FROM study.patients WHERE zip = '11' AND born = 1950",
    "JSON": "SELECT json_agg(p) FROM study.patients p",
    "bits": "SELECT bit_or(income) FROM study.patients",
    "a truth": "SELECT bool_or(diagnosis = 'B20') FROM study.patients WHERE id = 7",
    # Singling out by keys, names, limits and factors.
    "a factor": "SELECT sum(income * CASE WHEN id = 7 THEN 1 ELSE 0 END) FROM study.patients",
    "a correlation with one": "SELECT corr(income, CASE WHEN id = 7 THEN 1 ELSE 0 END) FROM study.patients",
    "the first of a list": "SELECT avg(income) FROM (SELECT income FROM study.patients ORDER BY id LIMIT 7) t",
    "a group per person": "SELECT id, avg(income) FROM study.patients GROUP BY id ORDER BY id",
    "a group per name": "SELECT name, count(*) FILTER (WHERE diagnosis = 'B20') FROM study.patients GROUP BY name ORDER BY name",
    "one by a filter": "SELECT count(*) FILTER (WHERE id = 7 AND diagnosis = 'B20') FROM study.patients",
    "one by a look-up": "SELECT count(*) FROM study.patients p WHERE diagnosis = 'B20' AND EXISTS (SELECT 1 FROM (VALUES (7)) v(i) WHERE v.i = p.id)",
    "one by a sub-select": "SELECT count(*) FROM study.patients p WHERE diagnosis = 'B20' AND (SELECT p.id) = 7",
    "one by a list": "SELECT count(*) FROM study.patients p WHERE diagnosis = 'B20' AND id IN (SELECT ward + 6 FROM study.wards WHERE ward = 1)",
    # What is known already.
    "a known value": "SELECT diagnosis, count(*) FROM study.patients WHERE income <> 63900 GROUP BY 1 ORDER BY 1",
    "a value off the grid": "SELECT count(*) FROM study.patients WHERE income > 63901",
    "a group per value": "SELECT income, count(*) FROM study.patients GROUP BY income ORDER BY 1",
    # Presence and absence.
    "an outer join": "SELECT g.id, p.id IS NULL AS missing FROM aside.guess g LEFT JOIN study.patients p ON p.id = g.id AND p.diagnosis = 'B20' ORDER BY 1",
    "not in": "SELECT id FROM aside.guess WHERE id NOT IN (SELECT id FROM study.patients WHERE diagnosis = 'B20') ORDER BY 1",
    "not exists": "SELECT id FROM aside.guess g WHERE NOT EXISTS (SELECT FROM study.patients p WHERE p.id = g.id AND p.diagnosis = 'B20') ORDER BY 1",
    "except": "SELECT id FROM aside.guess EXCEPT SELECT id FROM study.patients WHERE diagnosis = 'B20' ORDER BY 1",
    "intersect": "SELECT id FROM aside.guess INTERSECT SELECT id FROM study.patients WHERE diagnosis = 'B20' ORDER BY 1",
    # Errors.
    "division by zero": "SELECT 1 / (CASE WHEN diagnosis = 'B20' THEN 0 ELSE 1 END) FROM study.patients",
    "division in an aggregate": "SELECT avg(1 / (income - 63900)) FROM study.patients",
    "a cast": "SELECT diagnosis::int FROM study.patients",
    "a narrow cast": "SELECT sum((income * 100000)::int) FROM study.patients",
    "a pattern": "SELECT count(*) FROM study.patients WHERE 'x' ~ diagnosis",
    "an overflow": "SELECT avg(income * 2000000) FROM study.patients WHERE id = 7",
    # Order, rank and neighbours.
    "a rank": "SELECT name, rank() OVER (ORDER BY income) FROM study.patients ORDER BY 1",
    "a neighbour": "SELECT lag(diagnosis) OVER (ORDER BY id) FROM study.patients",
    "an order": "SELECT name FROM study.patients ORDER BY diagnosis, id LIMIT 5",
    # Whole rows, hidden columns, copies.
    "everything": "SELECT * FROM study.patients",
    "a copy": "COPY study.patients (diagnosis) TO STDOUT",
    "a copy of a query": "COPY (SELECT diagnosis FROM study.patients ORDER BY id) TO STDOUT",
    "a row as text": "SELECT p::text FROM study.patients p",
    "a table in a function": "SELECT row_to_json(p) FROM study.patients p",
    "a lateral function": "SELECT e.value FROM study.patients p, json_each_text(to_json(p)) e",
    "a sample": "SELECT count(*) FROM study.patients TABLESAMPLE system (1) WHERE diagnosis = 'B20'",
    "a recursion": "WITH RECURSIVE r AS (SELECT id, diagnosis FROM study.patients WHERE id = 1 UNION ALL SELECT p.id, p.diagnosis FROM study.patients p JOIN r ON p.id = r.id + 1) SELECT * FROM r",
}
"""Nothing that comes back may differ between the two worlds: not the rows, nor whether they come, nor why not."""

CHARGED = {
    "a look-up": "SELECT diagnosis FROM study.patients WHERE id = 7",
    "a question": "SELECT id FROM study.patients WHERE id = 7 AND diagnosis = 'B20'",
    "an error": "SELECT diagnosis::int FROM study.patients WHERE id = 7",
    "a division": "SELECT 1 / (CASE WHEN diagnosis = 'B20' THEN 0 ELSE 1 END) FROM study.patients WHERE id = 7",
    "an error in a row that is skipped": "SELECT CASE WHEN diagnosis = 'B20' THEN diagnosis::int ELSE 0 END FROM study.patients WHERE id = 7 OFFSET 5",
    "an error in a row that another hides": "SELECT CASE WHEN diagnosis = 'B20' THEN diagnosis::int ELSE 0 END FROM study.patients WHERE id IN (7, 8) ORDER BY id = 7 LIMIT 1",
    "a result that is too large": "SELECT lpad('x', CASE WHEN diagnosis = 'B20' THEN 70000000 ELSE 1 END) FROM study.patients WHERE id = 7",
    "an order of two": "SELECT id FROM study.patients WHERE id IN (7, 8) ORDER BY income",
}
"""Each tells of a person or two, and costs as much in either world: absence, errors and order are answers."""
