"""Every kind of job is declared once, and whole."""

from __future__ import annotations

from typing import cast

import pytest
from fastapi import FastAPI, Request

from discreet.store.tables.linkage import WORK
from discreet.store.tables.web import JOB
from discreet.web.accounts import accounts
from discreet.web.framework.context import Context
from discreet.web.framework.permissions import GRANTED, PERMISSIONS
from discreet.web.framework.problems import Problem
from discreet.web.jobs import store as jobs
from discreet.web.jobs.kinds import KINDS, QUEUES, JobKind
from discreet.web.jobs.pages import enqueue
from tests.web.samples import make_dataset


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_a_kind_names_work_a_permission_and_a_queue_that_exist(kind: JobKind) -> None:
    assert callable(kind.load())
    assert kind.permission in PERMISSIONS
    assert kind.table in QUEUES.values()
    assert kind.words


def test_both_tables_of_jobs_are_queues_of_the_one_system() -> None:
    assert QUEUES == {"web_job": JOB, "linkage_work": WORK}
    assert {kind.name for kind in KINDS.values() if kind.table is WORK} == {"make", "retrain"}


@pytest.mark.parametrize("kind", ["profile", "release"])
def test_a_job_is_not_queued_without_the_permission_of_its_kind(app: FastAPI, kind: str) -> None:
    site = app.state.site
    number = make_dataset(app, "custodian")
    with site.store.reading() as connection:
        named = accounts.by_name(connection, "custodian")
    assert named is not None
    allowed = GRANTED["custodian"] - {KINDS[kind].permission}
    context = Context(cast(Request, None), site, site.table["GET", "/jobs"], account=named[0], permissions=allowed)
    with pytest.raises(Problem) as caught:
        enqueue(context, kind, number, {})
    assert caught.value.status == 403
    with site.store.reading() as connection:
        assert [job.kind for job in jobs.newest(connection, dataset=number)] == []
    context.permissions = GRANTED["custodian"]
    assert enqueue(context, kind, number, {}) > 0
