"""More ways around the gateway, many of which once led past it.

Statements are separated by lines of `--`, as in `attacks`. Those with <i> are tried for one patient after the other; the
others go for everybody. `DETOURS` walk through the clinic, with what `FURNITURE` puts there; `WARD` through a hospital of
another shape: names in quotes, keys of two columns or none, keys that are NULL, partitions, and all sorts of types.
"""

from __future__ import annotations

FURNITURE = """
CREATE TABLE own.box (n int, a text);
INSERT INTO own.box VALUES (1, 'x');
GRANT ALL ON own.box TO ann;
CREATE VIEW own.statistics AS SELECT tablename, histogram_bounds::text AS bounds FROM pg_stats;
CREATE FUNCTION own.fill() RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN NEW.a := (SELECT diagnosis FROM clinic.patients WHERE id = NEW.n); RETURN NEW; END $$;
CREATE TABLE own.filled (n int, a text);
CREATE TRIGGER fill BEFORE INSERT ON own.filled FOR EACH ROW EXECUTE FUNCTION own.fill();
CREATE FUNCTION own.stamp() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.n := NEW.n + 1; RETURN NEW; END $$;
CREATE TABLE own.stamped (n int);
CREATE TRIGGER stamp BEFORE INSERT ON own.stamped FOR EACH ROW EXECUTE FUNCTION own.stamp();
CREATE TABLE own.ruled (n int);
CREATE RULE tell AS ON INSERT TO own.ruled DO ALSO SELECT name, diagnosis FROM clinic.patients;
CREATE VIEW own.misnamed AS SELECT zip AS id, diagnosis FROM clinic.patients;
DO $$ BEGIN FOR i IN 10..15 LOOP
  EXECUTE format('CREATE VIEW own.single%s AS SELECT zip, diagnosis FROM clinic.patients WHERE name = %L', i, 'name' || i);
END LOOP; END $$;
CREATE SEQUENCE own.counter;
CREATE OPERATOR own.=== (LEFTARG = text, RIGHTARG = text, FUNCTION = own.peeking);
GRANT ALL ON ALL TABLES IN SCHEMA own TO ann;
GRANT ALL ON SEQUENCE own.counter TO ann;
"""

_LINKED = "SELECT v.patient, p.diagnosis FROM patients p"

_FIFTY = "'canary050'"
_EIGHT = [f"p{n}.diagnosis" for n in range(1, 9)]
_TABLES = (
    ", ".join(f"patients p{n}" for n in range(1, 9)) + " WHERE " + " AND ".join(f"p{n}.id = {n}" for n in range(1, 9))
)

DETOURS = {
    # whom a row is about
    "keys that are NULL": f"{_LINKED} LEFT JOIN visits v ON v.patient = p.id AND v.visit < 0",
    "keys that are NULL on both sides": f"{_LINKED} FULL JOIN visits v ON v.patient = p.id AND false",
    "keys that are NULL in CSV": f"COPY ({_LINKED} LEFT JOIN visits v ON v.patient = p.id AND v.visit < 0) TO STDOUT CSV",
    "keys that are not equal": f"{_LINKED} JOIN visits v ON NOT (v.patient = p.id) WHERE v.patient = 1",
    "keys compared in the list": "SELECT v.patient, p.diagnosis, v.patient = p.id FROM patients p, visits v WHERE v.patient = 1",
    "keys compared in a case": f"{_LINKED} JOIN visits v ON CASE WHEN v.patient = p.id THEN false ELSE true END WHERE v.patient = 1",
    "keys compared with NULL": f"{_LINKED} JOIN visits v ON (v.patient = p.id) IS NOT NULL WHERE v.patient = 1",
    "keys compared elsewhere": f"WITH j AS (SELECT 1 FROM patients a JOIN visits b ON a.id = b.patient) {_LINKED}, visits v WHERE v.patient = 1",
    "keys compared in an inner query": f"{_LINKED}, visits v WHERE v.patient = 1 AND NOT EXISTS (SELECT 1 WHERE v.patient = p.id)",
    "keys compared beside": f"{_LINKED} CROSS JOIN visits v LEFT JOIN LATERAL (SELECT 1 WHERE v.patient = p.id) x ON true WHERE v.patient = 1",
    "constants called like keys": f"{_LINKED}, visits v, (SELECT 1 AS id, 1 AS patient) t WHERE v.patient = 1 AND t.id = t.patient",
    "the key cut off": "SELECT diagnosis FROM patients WHERE id::varchar(1) = '1'",
    "the key as a letter": "SELECT diagnosis FROM patients WHERE id::char(1) = '1'",
    "a view's column called like the key": "SELECT diagnosis FROM own.misnamed WHERE id = '10'",
    "the least key of many": "SELECT max(diagnosis) FROM patients WHERE id BETWEEN 5 AND <i> HAVING min(id) = 5",
    "the least key of many inside": "SELECT s.d FROM (SELECT max(diagnosis) d, min(id) m FROM patients WHERE id BETWEEN 5 AND <i>) s WHERE m = 5",
    "another's key beside": "SELECT count(*) FROM patients a JOIN patients b ON true WHERE a.id = 5 AND b.id > <i> - 1 AND b.id < <i> + 1 AND b.diagnosis > 'canary<c>'",
    "another's key outside": "SELECT count(*) FROM patients a WHERE a.id = 5 AND EXISTS (SELECT 1 FROM patients b WHERE b.id > <i> - 1 AND b.id < <i> + 1 AND b.diagnosis > 'canary<c>')",
    "names by a pattern": "SELECT zip, diagnosis FROM patients WHERE name ~ '^name<i>$'",
    "names by their order": "SELECT zip, diagnosis FROM patients WHERE name >= 'name<i>' AND name <= 'name<i>'",
    "names beside groups": "SELECT zip, avg(income) FROM patients WHERE name = 'name<i>' GROUP BY zip",
    "questions beside groups": "SELECT zip, count(*) FROM patients WHERE name LIKE 'name<i>' AND diagnosis = 'canary<c>' GROUP BY zip",
    "one row of an inner query": "SELECT count(*) FROM (SELECT diagnosis FROM patients OFFSET <i> LIMIT 1) s WHERE diagnosis > 'canary<c>'",
    "rows made of one": "SELECT string_to_table(diagnosis || repeat('|x', 1000), '|') FROM patients WHERE id > <i> - 1 AND id < <i> + 1",
    "keys made of one": "SELECT jsonb_object_keys(to_jsonb(patients) || jsonb_build_object(diagnosis, 1)) FROM patients WHERE id > <i> - 1 AND id < <i> + 1",
    "a view of one": "SELECT zip, diagnosis FROM own.single<i>",
    "quasi-identifiers planned away": "SET DateStyle = 'ISO, DMY'\n--\nSELECT diagnosis, "
    + ", ".join(
        f"CASE WHEN date '02/01/2026' = date '2026-01-02' THEN {one}::text END" for one in ("zip", "born", "sex")
    )
    + " FROM patients",
    # many people in one cell or row
    "packed into a sum": "SELECT sum((income - 70000000) * (1000::numeric ^ id)) - <i> FROM patients",
    "packed into a sum of a column": "SELECT sum(x) - <i> FROM (SELECT income * (1000::numeric ^ id) AS x FROM patients) s",
    "packed into a sum inside": "SELECT a FROM (SELECT sum(x) AS a FROM (SELECT <i> + income * (1000::numeric ^ id) AS x FROM patients) s) t",
    "packed into an average": "SELECT avg(<i> + income * 1000::numeric ^ id), count(*) FROM patients",
    "packed by a recursion": "WITH RECURSIVE r(n, s) AS (SELECT 1, '' UNION ALL SELECT n + 1, s || (SELECT diagnosis FROM patients WHERE id = n) FROM r WHERE n < 50) SELECT max(s) FROM r",
    "packed by a join in a recursion": "WITH RECURSIVE r(n, s) AS (SELECT 1, '' UNION ALL SELECT n + 1, s || p.diagnosis FROM r JOIN patients p ON p.id = n WHERE n < 50) SELECT s FROM r ORDER BY n DESC LIMIT 1",
    "packed by a join": f"SELECT {' || '.join(_EIGHT)} FROM {_TABLES}",
    "packed by a join inside": f"SELECT s FROM (SELECT {' || '.join(_EIGHT)} AS s FROM {_TABLES}) x",
    "packed as a row": f"SELECT ROW({', '.join(_EIGHT)}) FROM {_TABLES}",
    "packed as json": f"SELECT to_jsonb(x) FROM (SELECT {', '.join(f'{one} AS d{n}' for n, one in enumerate(_EIGHT))} FROM {_TABLES}) x",
    "a case for each": f"SELECT {', '.join(f'max(CASE WHEN id = {n} THEN diagnosis END)' for n in range(1, 30))} FROM patients",
    # what is compared without being named
    "guesses among distinct values": "SELECT count(DISTINCT d) FROM (SELECT diagnosis AS d FROM patients WHERE id = <i> UNION ALL SELECT 'canary<c>') s",
    "guesses in a union": "SELECT count(*) FROM (SELECT diagnosis FROM patients WHERE id = <i> UNION SELECT 'canary<c>') s",
    "guesses as rows": "SELECT 1 FROM (SELECT diagnosis FROM patients WHERE id = <i> UNION SELECT 'canary<c>') s",
    "guesses in a star": "SELECT count(*) FROM (SELECT * FROM (SELECT diagnosis FROM patients WHERE id = <i>) a UNION SELECT 'canary<c>') s",
    "rows intersected": "SELECT count(*) FROM (SELECT * FROM patients WHERE id = <i> INTERSECT SELECT * FROM patients WHERE id = <i> + 1) s",
    "two alike": "SELECT count(*) FROM (SELECT DISTINCT diagnosis FROM patients WHERE id IN (5, <i>)) s",
    "two alike counted": "SELECT count(DISTINCT diagnosis) FROM patients WHERE id IN (5, <i>)",
    # the same text about others
    "a table of one's own decides": "UPDATE own.box SET n = <i>\n--\nSELECT p.income > 70000015 FROM patients p JOIN own.box b ON b.n = p.id",
    "a table of one's own asks": "UPDATE own.box SET n = <i>\n--\nSELECT count(*) FROM patients p, own.box b WHERE p.id = b.n AND p.income > 70000015",
    "a setting of one's own decides": "SET my.id = <i>\n--\nSELECT diagnosis > 'canary013' FROM patients WHERE id = current_setting('my.id')::int",
    "a setting of one's own asks": "SET my.id = <i>\n--\nSELECT count(*) FROM patients WHERE id = current_setting('my.id')::int AND diagnosis > 'canary013'",
    "the time zone decides": "SET TimeZone = 'XXX<i>'\n--\nSELECT diagnosis > 'canary013' AS a<i> FROM patients WHERE id = split_part(('2020-01-02 23:00Z'::timestamptz)::text, ' ', 2)::time::text::varchar(2)::int",
    # people marked by writing
    "marked": "BEGIN\n--\nUPDATE patients SET note = 'me<i>' WHERE id = <i>\n--\nSELECT zip, diagnosis FROM patients WHERE note = 'me<i>'\n--\nROLLBACK",
    "marked by a prepared statement": "PREPARE w<i>(int) AS UPDATE patients SET note = 'q<i>' WHERE id = $1\n--\nBEGIN\n--\nEXECUTE w<i>(<i>)\n--\nSELECT zip, diagnosis FROM patients WHERE note = 'q<i>'\n--\nROLLBACK",
    "marked and asked about": "BEGIN\n--\nUPDATE patients SET note = 'me<i>' WHERE id = <i>\n--\nSELECT count(*) FROM patients WHERE note = 'me<i>' AND diagnosis = 'canary<c>'\n--\nROLLBACK",
    "all others deleted": "BEGIN\n--\nDELETE FROM patients WHERE id <> <i>\n--\nSELECT avg(income) FROM patients\n--\nROLLBACK",
    "all others levelled": "BEGIN\n--\nUPDATE patients SET income = 1 WHERE id <> <i>\n--\nSELECT sum(income) - 199, count(*) FROM patients\n--\nROLLBACK",
    "the key of another": "BEGIN\n--\nDELETE FROM patients WHERE id = 1\n--\nUPDATE patients SET id = 1 WHERE id = <i>\n--\nSELECT id, diagnosis FROM patients WHERE id = 1\n--\nROLLBACK",
    "the key of another by a view": "BEGIN\n--\nUPDATE plain SET number = 1000 WHERE number = <i>\n--\nSELECT dx FROM plain WHERE number = 1000\n--\nROLLBACK",
    "the key of another by an upsert": "BEGIN\n--\nINSERT INTO patients (id, income) VALUES (<i>, 1) ON CONFLICT (id) DO UPDATE SET id = 1000 RETURNING id, diagnosis\n--\nROLLBACK",
    # COPY
    "a header that is none": "COPY (SELECT diagnosis FROM patients WHERE id = <i>) TO STDOUT (FORMAT csv, HEADER 0)",
    "a header that is none in text": "COPY (SELECT diagnosis FROM patients WHERE id = <i>) TO STDOUT (HEADER 0)",
    "binary of old": "COPY BINARY patients TO STDOUT",
    "binary of old with columns": "COPY BINARY patients (diagnosis) TO STDOUT",
    # how texts are read
    "a string with escapes that goes on": "SELECT E'x'\n'a\\' , ' , name, diagnosis FROM patients -- '",
    "a string in dollars that goes on": "SELECT $$x$$\n'a' , name, diagnosis FROM patients -- '",
    "an operator that looks like a parameter": "SELECT name, @income FROM patients",
    "an operator that looks like a parameter in a condition": "SELECT 1 FROM patients WHERE id = <i> AND @ income > 70000000 + <c>",
    "a slice that looks like a parameter": "SELECT (ARRAY[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15])[:income - 70000000] FROM patients WHERE id = <i>",
    # effects
    "notified on return": "LISTEN x\n--\nUPDATE patients SET note = 'x' RETURNING pg_notify('x', diagnosis)\n--\nSELECT 1",
    "set on return": "UPDATE patients SET note = 'x' WHERE id = <i> RETURNING set_config('my.x', diagnosis, false)\n--\nSELECT current_setting('my.x')",
    "counted on return": "UPDATE patients SET note = 'x' WHERE id = <i> RETURNING setval('own.counter', income)\n--\nSELECT last_value FROM own.counter",
    "statistics by a view": "SELECT * FROM own.statistics",
    "a trigger": "INSERT INTO own.filled VALUES (<i>) RETURNING a",
    "a rule": "INSERT INTO own.ruled VALUES (1)",
    "an operator and a sign": "SELECT 1 FROM patients WHERE id = <i> AND diagnosis OPERATOR(own.===)+'canary<c>'",
    "roles by a function": "SELECT set_config('ro' || 'le', 'postgres', false)\n--\nSELECT name, diagnosis FROM patients",
    "settings written to": "UPDATE pg_settings SET setting = 'off' WHERE name = 'standard_conforming_strings'\n--\nSELECT name, diagnosis FROM patients",
}

REFUSED = {
    "bits of everybody": "SELECT sum(CASE WHEN diagnosis > 'canary050' THEN 2::numeric ^ id ELSE 0 END) FROM patients",
    "a filter for each": f"SELECT {', '.join(f'count(*) FILTER (WHERE id = {n} AND diagnosis > {_FIFTY})' for n in range(1, 30))} FROM patients",
    "an inner query for each": f"SELECT {', '.join(f'EXISTS (SELECT 1 FROM patients WHERE id = {n} AND diagnosis > {_FIFTY})' for n in range(1, 30))}",
    "a number for each": f"SELECT {' + '.join(f'(SELECT count(*) * 2 ^ {n} FROM patients WHERE id = {n} AND diagnosis > {_FIFTY})' for n in range(1, 30))}",
    "a row for each": "SELECT g FROM generate_series(1, 200) g WHERE EXISTS (SELECT 1 FROM patients WHERE id = g AND diagnosis > 'canary050')",
}
"""One statement each that answers many questions, in a form in which no value is seen."""

WORDS = {
    "a relation": "diagnosis::regclass",
    "a type": "diagnosis::regtype",
    "a role": "diagnosis::regrole",
    "a schema": "diagnosis::regnamespace",
    "a function": "diagnosis::regproc",
    "another database": "('a.b.' || diagnosis)::regclass",
    "a setting": "current_setting(diagnosis)",
    "a privilege": "has_table_privilege(diagnosis, 'select')",
    "a database": "has_database_privilege(diagnosis, 'connect')",
    "a member": "pg_has_role(diagnosis, 'usage')",
    "a search": "('a b ' || diagnosis)::tsquery",
    "a text that is searched": "('''' || diagnosis)::tsvector",
    "a path": "('$ ' || diagnosis)::jsonpath",
    "a configuration": "to_tsvector(diagnosis::regconfig, 'a')",
    "many at once": "('a b ' || string_agg(diagnosis, ' '))::tsquery",
}
"""Expressions that fail, with the value in the server's words although they seem to be about the statement."""

HONEST = {
    "there is": "SELECT zip, avg(income), count(*) FROM patients GROUP BY zip\n--\nSELECT EXISTS (SELECT 1 FROM patients WHERE id = 3)",
    "pages": "SELECT id, zip, row_number() OVER (ORDER BY id) FROM patients LIMIT 10",
    "groups": "SELECT zip, avg(income), count(*) FROM patients GROUP BY zip",
    "a table of that name": "WITH visits AS (SELECT zip FROM patients) SELECT count(*) FROM visits",
    "a column of that name": "SELECT count(*) AS patients FROM own.scratch",
    "a harmless setting": "SELECT set_config('search_path', 'clinic, own', false)",
    "settings": "SELECT name, setting FROM pg_settings",
    "a harmless trigger": "INSERT INTO own.stamped VALUES (1) RETURNING n",
    "joined people": "WITH v AS (SELECT patient, reason FROM visits) SELECT p.id, p.diagnosis, v.reason FROM patients p JOIN v ON v.patient = p.id WHERE p.id <= 4",
    "what is missing": "SELECT 1 FROM patients WHERE id = 1\n--\nDROP TABLE IF EXISTS own.nothing",
}
"""Ordinary work, of which nothing is refused."""
