"""Extra ibis: a table of a database that only Ibis reaches is counted there."""

from __future__ import annotations

import csv
import sqlite3

from calling import people

import discreet

place = people().resolve()
policy = discreet.Policy.load(place / "policy.toml")
with (place / "hospital.csv").open(encoding="utf-8", newline="") as file:
    header, *rows = csv.reader(file)
connection = sqlite3.connect(place / "hospital.db")
connection.execute(f"CREATE TABLE hospital ({', '.join(f'{name} TEXT' for name in header)})")
connection.executemany(f"INSERT INTO hospital VALUES ({', '.join('?' * len(header))})", rows)
connection.commit()
there = discreet.assess(discreet.read(f"sqlite://{place}/hospital.db?table=hospital", policy=policy))
here = discreet.assess(discreet.read(place / "hospital.csv", policy=policy))
assert (there.records, there.uniques, there.k) == (here.records, here.uniques, here.k)
