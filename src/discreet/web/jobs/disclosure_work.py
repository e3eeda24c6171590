"""Work of jobs that lead to disclosures: releases and linkage projects.

The store gets names and numbers only. Killed at any moment the work leaves a whole release or project with its entry in
the ledger, or files and folders that are swept out or replaced by the next attempt.
"""

from __future__ import annotations

import hashlib
import math
import os
import shutil
import zipfile
from pathlib import Path
from typing import Any, cast

import numpy as np
from sqlalchemy import Connection, select, update

from discreet.errors import Refused
from discreet.ledger.entry import timestamp
from discreet.linkage import (
    LinkageSpec,
    ProjectFolder,
    adopt_pairs,
    find_pairs,
    load_candidates,
    read_labels,
    read_pairs,
    start_project,
)
from discreet.linkage.folder import add_table
from discreet.linkage.matching.candidate_pairs import extended
from discreet.linkage.project import project_of, register_project
from discreet.linkage.review import reveal
from discreet.linkage.review.decisions import answers_of, labels_of
from discreet.releases.bait_release import BAIT_NAMES, BaitSettings, outline_bait
from discreet.releases.delivery.copies import Shelved, keep_shelved, recoded, shelve
from discreet.releases.delivery.release import (
    Release,
    continued,
    data_set_of,
    foreseen_again,
    levels_of_next_version,
    release,
)
from discreet.releases.delivery.repository import StoredRelease
from discreet.releases.delivery.service import Registry
from discreet.releases.manifest import ReleaseSettings, fingerprint
from discreet.releases.marks.codebook import Law
from discreet.releases.marks.selection import mark
from discreet.releases.plan import Node, Preflight, find_node
from discreet.releases.plan import Plan as PlanResult
from discreet.releases.power import claims_until_traced, coalition_supported, marks_needed
from discreet.releases.preconditions import Gates
from discreet.risk.giveaways import telling_columns
from discreet.sources import Table, read
from discreet.store.tables.linkage import PROJECT
from discreet.web.datasets import store as datasets
from discreet.web.jobs.process import JobOutcome, JobTask, TableTask
from discreet.web.jobs.store import Lost
from discreet.web.jobs.table_work import given_away
from discreet.web.linkage.store import Work
from discreet.web.releases import store as plans
from discreet.web.releases.store import PackedCopy, StoredPlan

LONG_AGO = (1980, 1, 1, 0, 0, 0)
"""The moment that packed files carry: it reveals nothing."""
PEOPLE = ("levels", "k", "requirements", "published", "records", "released", "suppressed", "classes", "population")
"""What a plan says about people; the rest is about marks."""


def preview_plan(task: TableTask) -> JobOutcome:
    """Preview a plan: marks, their cost, and what could be traced."""
    plan = _current_plan(task)
    preview = _preview_release(task, plan) if plan.kind == "new" else _preview_copies(task, plan)
    return JobOutcome(
        event="releases.planned",
        numbers=preview,
        policy=task.policy,
        details={"act": "looked ahead", "plan": plan.digest, "marks": preview["marks"]},
        subject=plan.subject,
        along=lambda connection: plans.keep_preflight(connection, plan.id, plan.digest, preview),
    )


def _preview_release(task: TableTask, plan: StoredPlan) -> dict[str, Any]:
    content, law = plan.content, Law.parse(plan.content["law"])
    task.tell("Counting people who look alike", 0.1)
    table, population = _tables(task)
    if (bait := _bait_of(content)) is not None:
        scope, _ = data_set_of(Registry(task.ledger), plan.release, table, None, force=content["force"])
        key, limits = Registry(task.ledger).key(scope), {name: content[name] for name in ("k", "suppression")}
        outline = outline_bait(table, population, plan.recipients, bait=bait, key=key, release=scope, **limits)
        return _foreseen(task, table, outline.node, outline.to_dict())
    settings = ReleaseSettings(k=content["k"], suppression=content["suppression"], loss="dm_star", law=law.name)
    registry, levels, force = Registry(task.ledger), content.get("levels"), content["force"]
    # With the secret of the data set itself, so that what is approved is what will be made, to the last mark.
    scope, previous = data_set_of(registry, plan.release, table, None, force=force)
    if previous is not None:
        previous.refuse_change_of_bait()
        levels = levels_of_next_version(previous, settings, levels)
    node, key = find_node(table, population, settings, levels=levels), registry.key(scope)
    task.tell("Choosing marks and making up decoys", 0.4)
    if previous is not None:
        again = continued(previous, node, table, plan.recipients, key=key, force=force)
        facts = node.people(settings, table.published)
        preview = foreseen_again(previous, again, recipients=len(plan.recipients))
        return _foreseen(task, table, node, {**facts, "preflight": preview})
    marking = mark(node.linked, table, key=key, release=scope, law=law, single_rows=node.only_size, force=force)
    task.tell("Simulating leaks", 0.8)
    flight = Preflight.of(marking, recipients=len(plan.recipients), law=law)
    return _foreseen(task, table, node, PlanResult(node, marking, flight, settings, table.published).to_dict())


def _bait_of(content: dict[str, Any]) -> BaitSettings | None:
    """The settings of bait that were planned; plans of before had none."""
    return BaitSettings.checked(content.get("mode", "marks"), {name: content.get(name) for name in BAIT_NAMES})


def _foreseen(task: TableTask, table: Table, node: Node, planned: dict[str, Any]) -> dict[str, Any]:
    """A plan for its page."""
    heights = {column.name: column.hierarchy.height for column in node.linked.released.columns}
    facts = {name: planned[name] for name in PEOPLE}
    told = given_away(telling_columns(table, node.levels))
    return {**facts, **planned["preflight"], **told, "heights": heights, "of": _stamp(task, table)}


def _preview_copies(task: TableTask, plan: StoredPlan) -> dict[str, Any]:
    """What the marks of an existing release can prove among more recipients."""
    registry = Registry(task.ledger)
    kept = registry.require(plan.release, plan.content["of"])
    manifest = registry.open(kept)
    manifest.refuse_change_of_bait()
    table = task.places.bare(task.dataset, task.policy)
    task.tell("Comparing the data with the release", 0.3)
    recoded(table, manifest)
    task.tell("Simulating leaks", 0.6)
    recipients = len({*kept.recipients, *plan.recipients})
    marks = manifest.codebook.marks
    real = {labels for labels, decoy in zip(marks.labels, marks.decoy.tolist(), strict=True) if not decoy}
    released = manifest.released.project(marks.columns)
    unmarked = np.array([labels not in real for labels in released.tuples()], dtype=bool)
    rows = 0 if manifest.rows is None else len(manifest.rows.rows)
    claims = claims_until_traced(marks, manifest.codebook.probabilities, manifest.links[unmarked], recipients)
    return {
        "recipients": recipients,
        "marks": len(marks),
        "row_marks": rows,
        "coalition": coalition_supported(len(marks) + rows, recipients),
        "needed": [marks_needed(recipients, colluding) for colluding in (1, 2, 3)],
        "claims": None if math.isinf(claims) else claims,
        "k": manifest.settings.k,
        **given_away(telling_columns(table, manifest.levels)),
        "of": _stamp(task, table),
    }


def _tables(task: TableTask) -> tuple[Table, Table]:
    """The data and their population, each on the engine that holds it."""
    if task.population is None:
        raise AssertionError("a release is planned with a population")
    population = task.places.bare(task.population, task.policy.for_population())
    return task.places.bare(task.dataset, task.policy), population


def _stamp(task: TableTask, table: Table) -> dict[str, str | None]:
    """Hashes of what was previewed: copies are made of the same."""
    population = None if task.population is None else task.places.hash(task.population)
    people = task.ledger.fingerprint(fingerprint(table.classes()))
    return {"data": task.hash, "population": population, "people": people}


def _current_plan(task: TableTask) -> StoredPlan:
    """The plan that the job was asked for, if it is still that plan."""
    with task.ledger.store.reading() as connection:
        plan = plans.find(connection, int(task.asked["plan"]))
    if plan is None or plan.digest != task.asked["digest"]:
        raise Refused("The plan was changed meanwhile.", remedy="Look at the plan; another job looks at the new one.")
    if task.policy.digest != plan.content["policy_digest"]:
        raise Refused(
            "A hierarchy that the policy names was replaced since this was planned.",
            remedy="Change the plan, so that it is previewed again, and have it approved.",
        )
    return plan


def make_copies(task: TableTask) -> JobOutcome:
    """What another custodian has approved, and nothing else."""
    plan = _current_plan(task)
    if plan.state != "making" or plan.decider is None or plan.seen != task.asked["seen"]:
        raise Refused("Nobody has approved this plan as it is.", remedy="Let another custodian look at it.")
    table = task.places.bare(task.dataset, task.policy)
    if (plan.preflight or {}).get("of", {}) != _stamp(task, table):
        raise Refused(
            "The data or their population are not those that the plan was approved for: a file has changed since.",
            remedy="Put the file back, or change the plan, so that it is previewed and approved again.",
        )
    task.tell("Assigning marks to recipients and sealing the manifest", 0.1)
    kept = _sealed_release(task, plan, table)
    done = 0

    def watch(step: str, recipient: str) -> None:
        nonlocal done
        done += step == "put"
        words = f"Writing copies, reading each back: {done} of {len(plan.recipients)}"
        task.tell(words, 0.3 + 0.6 * done / len(plan.recipients))

    with task.places.folder.workshop() as aside:
        wanted: Any = {"recipients": plan.recipients, "format": plan.content["format"]}
        copies = shelve(Registry(task.ledger), kept, table, aside, **wanted, watch=watch)
        task.tell("Packing", 0.92)
        packed = [_pack(task, kept, copy) for copy in copies]

    def along(connection: Connection) -> None:
        now = timestamp(task.now())
        keep_shelved(connection, kept, copies, now=now)
        for parcel in packed:
            plans.keep_packed(connection, parcel, plan=plan.id, now=now)
        plans.move(connection, plan, "made", was=("making",))

    return JobOutcome(
        event="releases.made",
        numbers={"release": kept.name, "version": kept.version, "copies": len(copies)},
        policy=task.policy,
        details={"release": kept.name, "version": kept.version, "copies": len(copies), "manifest": kept.digest},
        subject=plan.subject,
        along=along,
    )


def _sealed_release(task: TableTask, plan: StoredPlan, table: Table) -> StoredRelease:
    """The release of a plan, new or with more recipients."""
    if plan.kind != "new":
        opened = Release.open(plan.release, store=task.ledger, table=table, actor=task.job.asker)
        if opened.version != plan.content["of"]:
            raise Refused("There is a newer version of this release.", remedy="Withdraw the plan, and plan it again.")
        added = [name for name in plan.recipients if name not in opened.recipients]
        return (opened.add_recipient(*added) if added else opened).opened.kept
    content, registry = plan.content, Registry(task.ledger)
    namesake = registry.find(plan.release)
    if namesake is not None and set(namesake.recipients) != set(plan.recipients):
        raise Refused("A release of this name was made meanwhile.", remedy="Plan it under another name.")
    table, population = _tables(task)
    names = [name for name in Gates.__dataclass_fields__ if name in content]
    made = release(
        table,
        population,
        plan.recipients,
        name=plan.release,
        gates=Gates(**{name: content[name] for name in names}),
        k=content["k"],
        suppression=content["suppression"],
        levels=content.get("levels"),
        law=content["law"],
        force=content["force"],
        bait=_bait_of(content),
        store=task.ledger,
        actor=task.job.asker,
    )
    return made.opened.kept


def _pack(task: TableTask, kept: StoredRelease, copy: Shelved) -> PackedCopy:
    """One private file, on the disk before the store speaks of it."""
    path = task.places.folder.new("copy", "zip")
    with task.places.folder.create(path) as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for part in sorted(copy.folder.iterdir()):
                entry = zipfile.ZipInfo(part.name, LONG_AGO)
                entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o600 << 16
                with archive.open(entry, "w", force_zip64=True) as target, part.open("rb") as source:
                    shutil.copyfileobj(source, target, 1 << 20)
        file.flush()
        os.fsync(file.fileno())
    with path.open("rb") as written:
        digest = hashlib.file_digest(written, "sha256").hexdigest()
    return PackedCopy(kept.name, kept.version, copy.recipient, path.name, digest, path.stat().st_size)


def make_project(task: JobTask) -> JobOutcome:
    """Import the tables, find or adopt pairs, register the project."""
    work, asked = cast(Work, task.job), task.asked
    home = task.places.folder.path / asked["folder"]
    with task.ledger.store.reading() as connection:
        row = connection.execute(select(PROJECT.c.id).where(PROJECT.c.folder == str(home.resolve()))).one_or_none()
    if row is not None:  # an earlier attempt ended after that
        return JobOutcome(columns={"project": row.id}, useless=work.uploads)
    shutil.rmtree(home, ignore_errors=True)
    task.tell("Splitting off what is sensitive", 0.05)
    spec = LinkageSpec.from_dict(asked["link"])
    tables = []
    for given, side in zip(work.tables, spec.sides, strict=False):
        if "dataset" not in given:
            tables.append(read(_upload(task, given), side.policy))
            continue
        with task.ledger.store.reading() as connection:
            dataset = datasets.find(connection, given["dataset"])
        if dataset is None:
            raise Lost("The data set was removed.", remedy="Choose another one.")
        tables.append(task.places.bare(dataset, side.policy))
    folder = start_project(home, *tables, spec=spec)
    task.tell("Looking for pairs that may be one person", 0.3)
    finding, pairs = asked["finding"], asked.get("pairs")
    cutting = {"review": finding["review"], "once": finding["once"]}
    if pairs is None:
        candidates = find_pairs(folder, most_pairs=finding["most_pairs"], rules=finding.get("rules"), **cutting)
    else:
        candidates = adopt_pairs(folder, read_pairs(folder, _upload(task, pairs), score=finding["score"]), **cutting)
    candidates.save(folder)
    task.tell("Writing down who looks like whom", 0.9)
    project = register_project(task.ledger, home, actor=work.asker, name=work.name, **asked["settings"])
    reveal.prepare(project)
    return JobOutcome(columns={"project": project.id}, useless=work.uploads)


def score_project(task: JobTask) -> JobOutcome:
    """Score pairs of an added table, or all by a model that has learned."""
    return add_records(task) if task.asked.get("added") else retrain_model(task)


def retrain_model(task: JobTask) -> JobOutcome:
    """Estimate the model from decisions, then score and divide the pairs by it."""
    work = cast(Work, task.job)
    with task.ledger.store.reading() as connection:
        project = project_of(connection.execute(select(PROJECT).where(PROJECT.c.id == work.project)).one())
    folder, given = ProjectFolder.open(project.folder), task.asked.get("labels")
    if given is None:
        decided = labels_of(answers_of(task.ledger.store, project))
        labels = load_candidates(folder).of_sample(decided, folder)
    else:
        same, weight = (name if name in given["columns"] else None for name in ("same", "weight"))
        labels = read_labels(folder, _upload(task, given), same=same, weight=weight)
    task.tell("Learning from labels", 0.2)
    candidates = find_pairs(folder, labels=labels, once=bool(task.asked.get("once")))
    candidates.save(folder)
    task.ledger.record(
        actor=work.asker,
        event="linkage.project",
        subject=project.subject,
        key=f"linkage-work:{work.id}",
        details={"labels": len(labels.same), "people": candidates.counts["people"], "calibrated": True},
    )
    return JobOutcome(columns={"project": project.id}, useless=work.uploads)


def add_records(task: JobTask) -> JobOutcome:
    """Add a table, and link its records by the present model and thresholds."""
    work, asked = cast(Work, task.job), task.asked
    with task.ledger.store.reading() as connection:
        project = project_of(connection.execute(select(PROJECT).where(PROJECT.c.id == work.project)).one())
    folder = ProjectFolder.open(project.folder)
    before = load_candidates(folder)
    task.tell("Splitting off what is sensitive", 0.05)
    if len(folder.sizes) == asked["before"]:  # otherwise an earlier attempt ended after that
        side = folder.spec.sides[("first", "second").index(asked["like"])]
        folder = add_table(folder, read(_upload(task, asked["added"]), side.policy), like=asked["like"])
    new = folder.sizes[-1]
    task.tell("Looking for pairs that may be one person", 0.3)
    if not len(before.pairs) or before.pairs.second.max() < folder.records - new:
        before = extended(folder, before, new=new)
        before.save(folder)
    task.ledger.record(
        actor=work.asker,
        event="linkage.project",
        subject=project.subject,
        key=f"linkage-work:{work.id}",
        details={"act": "added", "records": new, **before.counts},
        along=lambda connection: connection.execute(
            update(PROJECT).where(PROJECT.c.id == project.id).values(records=folder.records)
        ),
    )
    if not folder.spec.encoded:
        reveal.prepare(project)
    return JobOutcome(columns={"project": project.id}, useless=work.uploads)


def _upload(task: JobTask, given: dict[str, Any]) -> Path:
    path = task.places.folder.find(given["upload"])
    if path is None:
        raise Lost("The uploaded file is not there any more.", remedy="Start again, and upload it again.")
    return path
