"""A data set for the lab, as the job that attacks it leaves it."""

from __future__ import annotations

import json

from fastapi import FastAPI
from sqlalchemy import insert

from discreet.attacker.population import Targets
from discreet.store.tables.web import DATASET, JOB, RESULT
from tests.web.samples import account_number


def keep_dataset(app: FastAPI, number: int, name: str, *, targets: Targets | None) -> None:
    """A data set as a job leaves it."""
    site = app.state.site
    owner = account_number(app, "custodian")
    with site.store.writing() as connection:
        values = {"name": name, "kind": "upload", "place": "x", "columns": "[]", "account": owner, "made": site.stamp(), "version": 0}  # fmt: skip
        connection.execute(insert(DATASET).values(id=number, **values))
        if targets is None:
            return
        job = {column.name: None for column in JOB.c}
        job |= {"id": number, "kind": "attack", "dataset": number, "account": owner, "asked": "{}", "state": "done"}
        for column in JOB.c:
            if job[column.name] is None and not column.nullable:
                job[column.name] = 0
        connection.execute(insert(JOB).values(**job))
        numbers = json.dumps({"targets": targets.to_dict(), "threshold": 0.1})
        connection.execute(insert(RESULT).values(job=number, numbers=numbers, parts="[]"))
