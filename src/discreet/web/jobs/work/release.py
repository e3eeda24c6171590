"""Seal the manifest of an approved plan, then write its copies and pack each: they lie ready, and nobody has them yet."""

from __future__ import annotations

import hashlib
import os
import zipfile
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from discreet.errors import Refused
from discreet.ledger.entry import timestamp
from discreet.releases.delivery.copies import Shelved, keep_shelved, shelve
from discreet.releases.delivery.release import Release, release
from discreet.releases.delivery.repository import Kept
from discreet.releases.delivery.service import Registry
from discreet.releases.preconditions import Gates
from discreet.sources import Table
from discreet.web.jobs.task import Outcome, Task
from discreet.web.jobs.work.preflight import approved, refuse_other_data, tables
from discreet.web.releases import store as plans
from discreet.web.releases.store import PackedCopy

LONG_AGO = (1980, 1, 1, 0, 0, 0)
"""The moment that packed files carry: it tells nothing."""


def make_copies(task: Task) -> Outcome:
    """What another custodian has approved, and nothing else."""
    plan = approved(task)
    table = task.places.bare(task.dataset, task.policy)
    refuse_other_data(task, plan, table)
    task.tell("Deciding who gets which marks, and sealing that", 0.1)
    kept = _sealed_release(task, plan) if plan.kind == "new" else _sealed_more(task, plan, table)
    copies, packed = _copies(task, plan, kept, table)

    def along(connection: Connection) -> None:
        now = timestamp(task.now())
        keep_shelved(connection, kept, copies, now=now)
        for one in packed:
            plans.keep_packed(connection, one, plan=plan.id, now=now)
        plans.move(connection, plan, "made", was=("making",))

    return Outcome(
        event="releases.made",
        numbers={"release": kept.name, "version": kept.version, "copies": len(copies)},
        policy=task.policy,
        details={"release": kept.name, "version": kept.version, "copies": len(copies), "manifest": kept.digest},
        subject=plan.subject,
        along=along,
    )


def _sealed_release(task: Task, plan: plans.ReleasePlan) -> Kept:
    content, registry = plan.content, Registry(task.ledger)
    known = registry.find(plan.release)
    if known is not None and set(known.recipients) != set(plan.recipients):
        raise Refused("Somebody has made a release of this name meanwhile.", remedy="Plan it under another name.")
    table, population = tables(task)
    names = [name for name in Gates.__dataclass_fields__ if name in content]
    made = release(
        table,
        population,
        plan.recipients,
        name=plan.release,
        gates=Gates(**{name: content[name] for name in names}),
        k=content["k"],
        suppression=content["suppression"],
        law=content["law"],
        force=content["force"],
        store=task.ledger,
        actor=task.job.asker,
    )
    return made.opened.kept


def _sealed_more(task: Task, plan: plans.ReleasePlan, table: Table) -> Kept:
    opened = Release.open(plan.release, store=task.ledger, table=table, actor=task.job.asker)
    if opened.version != plan.content["of"]:
        raise Refused("There is a newer version of this release.", remedy="Withdraw the plan, and plan it anew.")
    added = [name for name in plan.recipients if name not in opened.recipients]
    return (opened.add_recipient(*added) if added else opened).opened.kept


def _copies(task: Task, plan: plans.ReleasePlan, kept: Kept, table: Table) -> tuple[list[Shelved], list[PackedCopy]]:
    done = 0

    def watch(step: str, recipient: str) -> None:
        nonlocal done
        done += step == "put"
        words = f"Writing copies, reading each back: {done} of {len(plan.recipients)}"
        task.tell(words, 0.3 + 0.6 * done / len(plan.recipients))

    with task.places.folder.workshop() as aside:
        content: Any = plan.content["format"]
        copies = shelve(
            Registry(task.ledger), kept, table, aside, recipients=plan.recipients, format=content, watch=watch
        )
        task.tell("Packing", 0.92)
        return copies, [_packed(task, kept, one) for one in copies]


def _packed(task: Task, kept: Kept, copy: Shelved) -> PackedCopy:
    """One file that only its owner can read, on the disk before the store speaks of it."""
    path = task.places.folder.new("copy", "zip")
    with task.places.folder.create(path) as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for part in sorted(copy.folder.iterdir()):
                _add(archive, part)
        file.flush()
        os.fsync(file.fileno())
    with path.open("rb") as written:
        digest = hashlib.file_digest(written, "sha256").hexdigest()
    return PackedCopy(kept.name, kept.version, copy.recipient, path.name, digest, path.stat().st_size)


def _add(archive: zipfile.ZipFile, part: Path) -> None:
    about = zipfile.ZipInfo(part.name, LONG_AGO)
    about.compress_type, about.external_attr = zipfile.ZIP_DEFLATED, 0o600 << 16
    with archive.open(about, "w", force_zip64=True) as target, part.open("rb") as source:
        while piece := source.read(1 << 20):
            target.write(piece)
