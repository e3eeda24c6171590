"""Extra postgres: a table in PostgreSQL is assessed where it is."""

from __future__ import annotations

import json
import sys

import psycopg
from calling import call, people

import discreet

URL = sys.argv[1]
place = people()
policy = discreet.Policy.load(place / "policy.toml")
names = (place / "hospital.csv").read_text(encoding="utf-8").partition("\n")[0].split(",")
with psycopg.connect(URL, autocommit=True) as connection:
    connection.execute(f"CREATE TABLE hospital ({', '.join(f'{name} text' for name in names)})")  # type: ignore[arg-type]
    with connection.cursor().copy("COPY hospital FROM STDIN (FORMAT csv, HEADER)") as copying:
        copying.write((place / "hospital.csv").read_bytes())
where = f"{URL}{'&' if '?' in URL else '?'}table=hospital"
there = json.loads(call("assess", where, "--policy", str(place / "policy.toml"), "--json", code=1).stdout)
here = json.loads(
    call("assess", str(place / "hospital.csv"), "--policy", str(place / "policy.toml"), "--json", code=1).stdout
)
assert (there["records"], there["uniques"], there["k"]) == (here["records"], here["uniques"], here["k"])
