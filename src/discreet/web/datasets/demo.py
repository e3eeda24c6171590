"""The data of the demonstration: a hospital's extract of generated people, the register they are in, an assessment."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from discreet.errors import Refused
from discreet.people import DemoFiles, write_demo
from discreet.sources import read
from discreet.web import accounts
from discreet.web.datasets import dataset as datasets
from discreet.web.jobs import process, queue
from discreet.web.jobs.job import Job
from discreet.web.jobs.work import work_of
from discreet.web.site import Site

PEOPLE = 300_000
SEED = 1
LEASE = 600_000


def bring_hospital(site: Site) -> None:
    """Two data sets, one the population of the other, with a policy, an assessment and a planned attack that are done."""
    with tempfile.TemporaryDirectory(prefix="discreet-demo-") as folder:
        files = write_demo(folder, people=PEOPLE, seed=SEED)
        register = _bring(site, files.population, "register.parquet", {})
        text = files.policy.read_text(encoding="utf-8")
        hospital = _bring(site, files.hospital, "hospital.csv", {"policy": text, "population": register}, files)
    among: dict[str, Any] = {"policy": text, "population": {"dataset": register}}
    for kind, asked in (("profile", {}), ("assess", among), ("attack", among)):
        _done(site, kind, hospital, asked)


def _bring(site: Site, path: Path, name: str, about: dict[str, Any], files: DemoFiles | None = None) -> int:
    number, kept = datasets.new_number(), site.places.folder.new("upload", name.partition(".")[2])
    shutil.copyfile(path, kept)
    kept.chmod(0o600)
    columns = read(kept).columns
    facts: dict[str, Any] = {"kind": "upload", "place": kept.name, "size": kept.stat().st_size}

    def along(connection: Connection) -> None:
        account = _custodian(connection)
        more = {**facts, **about}
        datasets.add(connection, number, name=name, columns=columns, account=account, now=site.stamp(), **more)
        if files is not None:
            content = files.diagnosis.read_text(encoding="utf-8")
            datasets.set_hierarchy(connection, number, files.diagnosis.name, content)

    details = {"act": "registered", "name": name, "bytes": facts["size"], "columns": len(columns)}
    site.ledger.record(
        actor="custodian", event="web.dataset", subject=f"dataset:{number}", details=details, along=along
    )
    return number


def _custodian(connection: Connection) -> int:
    found = accounts.by_name(connection, "custodian")
    if found is None:
        raise LookupError("custodian")
    return found[0].id


def _done(site: Site, kind: str, dataset: int, asked: dict[str, Any]) -> None:
    """A job, done here and now instead of in a process of its own."""
    with site.store.writing() as connection:
        queue.enqueue(connection, kind=kind, dataset=dataset, account=_custodian(connection), asked=asked)
    work_off(site)


def work_off(site: Site) -> None:
    """Every job that waits, done here and now; one that is refused says why, as it would in a process of its own."""
    while (job := _next(site)) is not None:
        try:
            task = process.prepared(site.ledger, job, site.places, lambda step, share: None)
            process.store(site.ledger, job, job.claim or "", task, work_of(job.kind)(task))
        except Refused as error:
            with site.store.writing() as connection:
                queue.fail(connection, job.id, job.claim or "", problem=error.problem, remedy=error.remedy)


def _next(site: Site) -> Job | None:
    with site.store.writing() as connection:
        return queue.claim(connection, at_once=10**6, lease=LEASE)
