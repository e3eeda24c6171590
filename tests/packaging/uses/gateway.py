"""Extra gateway: it starts before a real server, answers an analyst, and refuses whoever asks for everything."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import psycopg
from calling import call, started

URL = sys.argv[1]
POLICY = """
[sensitivity.diagnosis]
values = { flu = 0.2, HIV = 1.0 }
otherwise = 0.5

[misuse]
limit = 2.0

[gateway]
mode = "enforce"

[gateway.tables."public.patients"]
key = ["id"]
entity = "patient"
identifiers = ["name"]
quasi = ["zip"]
sensitive = ["diagnosis"]
"""
Path("clinic.toml").write_text(POLICY, encoding="utf-8")
with psycopg.connect(URL, autocommit=True) as connection:
    connection.execute("CREATE TABLE patients (id int PRIMARY KEY, name text, zip text, diagnosis text)")
    connection.execute("INSERT INTO patients SELECT n, 'N' || n, (n % 7)::text, 'HIV' FROM generate_series(1, 100) n")
    database, user = connection.info.dbname, connection.info.user
words = ("--upstream", URL, "--policy", "clinic.toml", "--listen", "127.0.0.1:0")
with (
    started("gateway", *words, says=r"listens on (\S+)") as place,
    psycopg.connect(f"postgresql://{user}@{place}/{database}", autocommit=True) as client,
):
    assert client.execute("SELECT count(*) FROM patients").fetchall() == [(100,)]
    said = ""
    try:
        client.execute("SELECT name, diagnosis FROM patients").fetchall()
    except psycopg.errors.InsufficientPrivilege as refused:
        said = str(refused)
    assert re.search(r"reference \S+", said), "everything was told"
assert "refused" in call("ledger", "show", "--room", "gateway").stdout
