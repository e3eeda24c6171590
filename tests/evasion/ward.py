"""A hospital of another shape than the clinic, its policy, and ways to get at what is in it."""

from __future__ import annotations

from discreet.policy import Policy

SCHEMA = """
DROP SCHEMA IF EXISTS "Ward" CASCADE; DROP SCHEMA IF EXISTS lab CASCADE;
CREATE SCHEMA "Ward"; CREATE SCHEMA lab;
CREATE TYPE lab.outcome AS ENUM ('neg', 'pos');
CREATE TABLE "Ward"."Persons" ("Site" text, "No" int, "Full Name" text, "Zip" char(5), "Born" date, "Code" char(6),
  "Result" lab.outcome, "Flag" bool, "Doc" jsonb, "Raw" bytea, "Tags" text[], PRIMARY KEY ("Site", "No"));
INSERT INTO "Ward"."Persons" SELECT 'S' || g % 3, g, 'name' || g, lpad((g % 4)::text, 5, '0'), date '1950-01-01' + g % 5,
  CASE g % 2 WHEN 0 THEN 'B20' ELSE 'J00' END, (CASE g % 2 WHEN 0 THEN 'pos' ELSE 'neg' END)::lab.outcome, g % 2 = 0,
  jsonb_build_object('d', c), c::bytea, ARRAY[c]
  FROM generate_series(1, 200) g, LATERAL (SELECT 'canary' || lpad((g - 1)::text, 3, '0') AS c) x;
CREATE TABLE lab.tests (person int, kind text, finding text, level numeric) PARTITION BY LIST (kind);
CREATE TABLE lab.tests_a PARTITION OF lab.tests FOR VALUES IN ('a');
CREATE TABLE lab."Odd-Part" PARTITION OF lab.tests DEFAULT;
INSERT INTO lab.tests SELECT CASE WHEN g % 4 > 0 THEN g END, CASE g % 3 WHEN 0 THEN 'a' ELSE 'z' END,
  'canary' || lpad((g - 1)::text, 3, '0'), 70000000 + g FROM generate_series(1, 200) g;
CREATE TABLE lab.base (a int, finding text);
CREATE TABLE lab.kid (extra text) INHERITS (lab.base);
INSERT INTO lab.kid SELECT g, 'canary' || lpad((g - 1)::text, 3, '0'), 'e' FROM generate_series(1, 200) g;
CREATE TABLE lab.named (k text PRIMARY KEY, zip text, finding text);
INSERT INTO lab.named SELECT 'k' || g, '1', 'canary' || lpad((g - 1)::text, 3, '0') FROM generate_series(1, 200) g;
CREATE TABLE lab.series (person int, level numeric);
INSERT INTO lab.series SELECT g % 20, 70000000 + g % 20 FROM generate_series(1, 400) g;
CREATE VIEW lab."My View" AS SELECT "No" AS nr, "Doc" ->> 'd' AS d FROM "Ward"."Persons";
DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'nurse') THEN CREATE ROLE nurse; END IF; END $$;
GRANT USAGE ON SCHEMA "Ward", lab TO nurse;
GRANT REFERENCES ON ALL TABLES IN SCHEMA "Ward", lab TO nurse;
"""

POLICY = Policy.parse("""
[sensitivity.Code]
values = { B20 = 1.0 }
otherwise = 0.01

[sensitivity.Result]
values = { pos = 1.0 }

[sensitivity.Flag]
values = { true = 1.0 }

[sensitivity.Tags]
values = { canary001 = 1.0 }

[misuse]
x = 2
limit = 2.0

[gateway]
mode = "enforce"
exempt = ["postgres"]

[gateway.tables."Ward.Persons"]
key = ["Site", "No"]
identifiers = ["Full Name"]
quasi = ["Zip", "Born"]
sensitive = ["Code", "Result", "Flag", "Doc", "Raw", "Tags"]

[gateway.tables."lab.tests"]
key = ["person"]
sensitive = ["finding", "level"]

[gateway.tables."lab.series"]
key = ["person"]
sensitive = ["level"]

[gateway.tables."lab.base"]
key = ["a"]
sensitive = ["finding"]

[gateway.tables."lab.named"]
key = ["k"]
quasi = ["zip"]
sensitive = ["finding"]
""")

_PERSONS = '"Ward"."Persons"'

VALUES = {
    "with a name": f'SELECT "Full Name", "Doc" FROM {_PERSONS} WHERE "No" = <i>',
    "by half of the key": f'SELECT "Site", "Raw" FROM {_PERSONS} WHERE "No" = <i>',
    "an element": f'SELECT "Full Name", "Tags"[1] FROM {_PERSONS} WHERE "No" = <i>',
    "elements as rows": f'SELECT "Full Name", unnest("Tags") FROM {_PERSONS}',
    "arrays": f'SELECT "Full Name", "Tags" FROM {_PERSONS}',
    "a view": 'SELECT d FROM lab."My View" WHERE nr = <i>',
    "bytes": f'SELECT encode("Raw", \'escape\') FROM {_PERSONS} WHERE "No" = <i>',
    "a path": f'SELECT jsonb_path_query("Doc", \'$.d\') FROM {_PERSONS} WHERE "No" = <i>',
    "json as rows": f'SELECT e.value FROM {_PERSONS} p, jsonb_each_text(p."Doc") e WHERE p."No" = <i>',
    "keys that are NULL": "SELECT person, finding FROM lab.tests WHERE person IS NULL",
    "keys that are NULL in CSV": "COPY (SELECT person, finding FROM lab.tests WHERE person IS NULL) TO STDOUT CSV",
    "a partition": "SELECT person, finding FROM lab.tests_a WHERE person = <i>",
    "a partition with an odd name": 'SELECT tableoid, finding FROM lab."Odd-Part"',
    "a child": "SELECT a, finding FROM lab.kid WHERE a = <i>",
    "a parent with a star": "SELECT ctid, finding FROM lab.base *",
    "a table with a star": "SELECT * FROM (TABLE lab.kid *) t WHERE a = <i>",
    "a child in COPY": "COPY lab.kid (a, finding) TO STDOUT CSV HEADER",
    "a pattern of keys": "SELECT finding FROM lab.named WHERE k LIKE 'k<i>' OR k = 'x'",
    "an alias that means a join": "SELECT upper(finding) FROM lab.kid semi JOIN lab.named ON k = 'k1' WHERE a = <i>",
    "an alias that means a sample": "SELECT sample FROM lab.kid sample WHERE a = <i>",
    "an alias with columns": "SELECT f || '' FROM lab.kid AS k(n, f) WHERE n = <i>",
    "a join in parentheses": "SELECT q || '' FROM (lab.kid k CROSS JOIN (SELECT 1) x) AS j(p, q) WHERE p = <i>",
    "a function as a column": "SELECT k.row_to_json FROM lab.kid k WHERE a = <i>",
    "a record": "SELECT x.f FROM lab.kid k, json_to_record(json_build_object('f', k.finding)) AS x(f text) WHERE k.a = <i>",
    "deciles": "SELECT percentile_disc(ARRAY[0.1, 0.2, 0.3, 0.4, 0.5, 0.6]) WITHIN GROUP (ORDER BY finding) FROM lab.kid",
    "ranges": "SELECT range_agg(numrange(level, level + 1)) FROM lab.tests",
    "many rows of one": "SELECT avg(level)::int, count(*) FROM lab.series WHERE person = <i>",
    "a scrolling cursor": "BEGIN\n--\nDECLARE c SCROLL CURSOR FOR SELECT finding FROM lab.kid ORDER BY a\n--\nFETCH ABSOLUTE <i> FROM c\n--\nCOMMIT",
}
"""Each is looked through for canaries."""

PEOPLE = {
    "padded": f'SELECT "Full Name", "Code" FROM {_PERSONS} WHERE "No" % 2 = 0',
    "padded in a condition": f'SELECT "Full Name" FROM {_PERSONS} WHERE "Code" = \'B20   \'',
    "padded among others": f"SELECT \"Full Name\" FROM {_PERSONS} WHERE \"Code\" IN ('x', 'B20   ')",
    "a word of a list": f'SELECT "Full Name" FROM {_PERSONS} WHERE "Result" = \'pos\'',
    "a word of a list or above": f'SELECT "Full Name" FROM {_PERSONS} WHERE "Result" >= \'pos\'',
    "truth": f'SELECT "Full Name" FROM {_PERSONS} WHERE "Flag"',
    "truth as a letter": f'SELECT "Full Name" FROM {_PERSONS} WHERE "Flag" = \'t\'',
    "truth as yes": f'SELECT "Full Name" FROM {_PERSONS} WHERE "Flag" = \'YES\'',
    "truth as a number": f'SELECT "Full Name" FROM {_PERSONS} WHERE "Flag"::int = 1',
    "not untrue": f'SELECT "Full Name" FROM {_PERSONS} WHERE "Flag" IS NOT FALSE',
    "the whole table": f"TABLE {_PERSONS}",
    "quoted columns in COPY": f'COPY {_PERSONS} ("Full Name", "Result") TO STDOUT',
}
"""Each would give out the names of people of whom something is known then."""
