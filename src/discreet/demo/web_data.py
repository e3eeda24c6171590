"""Demonstration data of the web application: accounts, data sets, gateway, linkage, releases.

What users know is worked out by the misuse room from results about people who do not exist, and written down in the order
and the words of a gateway: the exposure and its entry in one transaction, then that the rows were handed over.
"""

from __future__ import annotations

import io
import secrets
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
from fastapi import Request
from sqlalchemy import Connection

from discreet.errors import Refused
from discreet.gateway.statistics import Answers, Moment, WhoSet
from discreet.ledger import Ledger
from discreet.ledger.entry import Detail
from discreet.linkage import LinkageSpec, start_project
from discreet.linkage.matching.likely_pairs import likely_pairs
from discreet.linkage.project import register_project
from discreet.linkage.review import reveal as door
from discreet.linkage.review.assignments import Limits, assign, bring_pairs
from discreet.misuse import Exposure, Sensitivity
from discreet.people import DemoFiles, write_demo, write_extracts
from discreet.policy.gateway_section import AggregatesPolicy
from discreet.releases.delivery.service import Opened, Registry
from discreet.releases.preconditions import AGREEMENT
from discreet.releases.tracing.case import SuspectTable
from discreet.releases.tracing.trace import traced
from discreet.sources import read
from discreet.store.gateway_limits import PARTS, write_exposure
from discreet.web.accounts import accounts
from discreet.web.accounts.accounts import Account, Act
from discreet.web.datasets import store as datasets
from discreet.web.framework.context import Context
from discreet.web.framework.permissions import GRANTED, ROLES
from discreet.web.framework.route import Route
from discreet.web.framework.settings import Settings
from discreet.web.framework.shared_state import Site
from discreet.web.gateway.entry_view import ANSWERED, subject_of
from discreet.web.gateway.limits import NewLimit, propose_limit
from discreet.web.jobs import process
from discreet.web.jobs import store as jobs
from discreet.web.releases import plan_workflow, tracing
from discreet.web.releases.store import NewPlan
from discreet.web.sensitivity import store as studies
from discreet.web.sensitivity.store import EXAMPLE, items_of

# The data of the demonstration: a hospital's extract of generated people, the register they are in, an assessment.
PEOPLE = 300_000
SEED = 1


def bring_hospital(site: Site) -> None:
    """A data set and its population, with a policy, an assessment and an attack."""
    with tempfile.TemporaryDirectory(prefix="discreet-demo-") as folder:
        files = write_demo(folder, people=PEOPLE, seed=SEED)
        register = _bring(site, files.population, "register.parquet", {})
        text = files.policy.read_text(encoding="utf-8")
        hospital = _bring(site, files.hospital, "hospital.csv", {"policy": text, "population": register}, files)
    among: dict[str, Any] = {"policy": text, "population": {"dataset": register}}
    for kind, asked in (("profile", {}), ("assess", among), ("attack", among)):
        # A job, done here and now instead of in a process of its own.
        with site.store.writing() as connection:
            jobs.enqueue(connection, kind=kind, dataset=hospital, account=_account(connection).id, asked=asked)
        work_off(site)


def _bring(site: Site, path: Path, name: str, about: dict[str, Any], files: DemoFiles | None = None) -> int:
    number, kept = datasets.new_number(), site.places.folder.new("upload", name.partition(".")[2])
    shutil.copyfile(path, kept)
    kept.chmod(0o600)
    columns = read(kept).columns
    facts: dict[str, Any] = {"kind": "upload", "place": kept.name, "size": kept.stat().st_size}

    def along(connection: Connection) -> None:
        account = _account(connection).id
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


def _account(connection: Connection, name: str = "custodian") -> Account:
    named = accounts.by_name(connection, name)
    if named is None:
        raise LookupError(name)
    return named[0]


def work_off(site: Site) -> None:
    """Do every waiting job here and now; a refused one says why."""
    while True:
        with site.store.writing() as connection:
            job = jobs.claim(connection, at_once=10**6, lease=600_000)
        if job is None:
            return
        try:
            process.perform(site.ledger, job, job.claim or "", site.places, lambda step, share: None)
        except Refused as error:
            with site.store.writing() as connection:
                jobs.fail(connection, job.id, job.claim or "", problem=error.problem, remedy=error.remedy)


DAYS = 14
COLUMN = "public.patients.diagnosis"
WEIGHTS = {"values": {"B20": 1.0, "F32": 0.8, "J45": 0.3, "I10": 0.2}, "otherwise": 0.2}
USUAL = ("I10", "J45", "I10", "F32")
POLICY = "d" * 64
LIMIT = 2.0
ANALYST, HOARDER, MANAGER, NEWCOMER = "r.okafor", "m.lindqvist", "manager", "k.brandt"


@dataclass
class Past:
    """A clock that is set by hand."""

    now: datetime

    def __call__(self) -> datetime:
        return self.now


@dataclass
class DatabaseUser:
    """A database user and their account, as a gateway would keep it."""

    ledger: Ledger
    clock: Past
    database: str
    name: str
    enforced: bool = True
    version: int = 0
    exposure: Exposure = field(default_factory=lambda: Exposure(Sensitivity.from_dict({COLUMN: WEIGHTS}), x=2.0))

    def ask(self, people: range, diagnoses: tuple[str, ...], *, alike: int = 1) -> None:
        """Ask for some people; the answer is given or refused as a gateway would."""
        values = [diagnoses[number % len(diagnoses)] for number in people]
        at = self.clock.now.timestamp()
        known: dict[str, Any] = {"entities": list(people), "distinguishing": [alike] * len(people), "at": at}
        after = self.exposure.after(values={COLUMN: values}, **known)
        above = after.value > LIMIT
        details: dict[str, Detail] = {"rows": len(people), "columns": COLUMN, "limit": f"{LIMIT:.6g}"}
        details |= {"rule": "misuse.limit", "decision": "deny" if above else "release"}
        if above and self.enforced:
            worst = self.exposure.after(values={COLUMN: ["B20"] * len(people)}, **known)
            self.ledger.refuse(**self._entry({**details, "columns": COLUMN.rpartition(".")[2]}, worst))
        else:
            budget, person = f"gateway:{self.database}/{self.name}", f"{self.database}/{self.name}"
            if not self.version:
                self.ledger.set_budget(budget, limit=10**9, parts=PARTS, actor="gateway", key=budget)
            cost = max(Fraction(0), _amount(after.value) - _amount(self.exposure.value))
            seen, content = self.version, after.to_bytes()
            receipt = self.ledger.reserve(
                budget,
                cost,
                key=f"{person}/{seen}",
                along=lambda link: write_exposure(link, person, content, seen=seen),
                **self._entry(details if self.enforced else {**details, "enforced": False}, after),
            )
            self.ledger.settle(receipt)
            self.exposure, self.version = after, seen + 1
        self.clock.now += timedelta(minutes=7)

    def count(self, groups: int, among: int = 4_000) -> None:
        """Ask how many have a diagnosis, by groups of some size; people are their numbers."""
        unit = Moment("count", (COLUMN,), condition="diagnosis IN (B20)")
        table = WhoSet("patients", "true", "id", f"id % {groups}", (unit,))

        def people(_: str) -> Iterator[tuple[str, bytes, bytes]]:
            for group in range(groups):
                yield str(group), np.arange(group, among, groups, dtype=">u8").tobytes(), b""

        Answers(self.ledger, self.database, b"demonstration", AggregatesPolicy()).admit(self.name, [table], people)
        self.clock.now += timedelta(minutes=5)

    def try_to(self, reason: str) -> None:
        """Send a statement that is not run."""
        self.ledger.refuse(**self._entry({"reason": f"Refused: {reason}"}))
        self.clock.now += timedelta(minutes=2)

    def _entry(self, details: dict[str, Detail], after: Exposure | None = None) -> dict[str, Any]:
        """What an entry says, with the exposure before and after where there is one."""
        subject = subject_of(self.database, self.name)
        entry = {"actor": self.name, "event": ANSWERED, "subject": subject, "policy": POLICY, "details": details}
        if after is None:
            return entry
        return {**entry, "risk_before": _amount(self.exposure.value), "risk_after": _amount(after.value)}


def _amount(value: float) -> Fraction:
    return Fraction(Decimal(f"{value:.6f}"))


def begin(settings: Settings) -> None:
    """Write two weeks of a gateway into an unused store, before it is opened."""
    now = settings.clock()
    clock = Past(_morning(now, DAYS))
    with Ledger.open(settings.store, clock=clock) as ledger:
        for database, mode, tables in (("clinic", "enforce", 2), ("registry", "shadow", 1)):
            started: dict[str, Detail] = {"mode": mode, "tables": tables, "x": "2"}
            about: dict[str, Any] = {"actor": "gateway", "event": "gateway.started", "subject": f"database:{database}"}
            ledger.record(**about, policy=POLICY, details=started)
        names = (ANALYST, HOARDER, MANAGER)
        analyst, hoarder, manager = (DatabaseUser(ledger, clock, "clinic", name) for name in names)
        newcomer = DatabaseUser(ledger, clock, "registry", NEWCOMER, enforced=False)
        for day in range(DAYS):
            clock.now = max(clock.now, _morning(now, DAYS - day))
            chosen = np.random.default_rng(day)
            for _ in range(2):
                start = int(chosen.integers(0, 4_000))
                analyst.ask(range(start, start + int(chosen.integers(40, 160))), USUAL, alike=45)
            analyst.count(12 + 5 * day)  # few groups: the audit of what they say together is cubic
            if day < DAYS - 1:
                hoarder.ask(range(10 * day, 10 * day + 3), USUAL, alike=25)
            if day == DAYS - 2:
                # A few patients after the other, until the limit stops it; then other statements.
                for number in range(7_000, 7_112, 8):
                    hoarder.ask(range(number, number + 8), ("F32", "I10"), alike=5)
                for number in range(8_000, 8_005):
                    hoarder.ask(range(number, number + 40), ("B20",), alike=2)
                hoarder.try_to("values of governed tables cannot be copied.")
                hoarder.try_to("EXPLAIN tells of values of governed tables.")
            if day == 5:
                manager.ask(range(30), USUAL, alike=12)
                manager.ask(range(5_000, 5_040), ("B20", "F32"))
            if day % 4 == 1:
                newcomer.ask(range(100 * day, 100 * day + 12), ("B20", "I10"), alike=3 if day > 8 else 15)


def _morning(now: datetime, ago: int) -> datetime:
    return datetime.combine((now - timedelta(days=ago)).date(), time(9), UTC)


def bring_gateway(site: Site) -> None:
    """A limit that one custodian proposed and that awaits approval."""
    context = _as(site, "deputy", Route("POST", "/gateway/limits", "gateway.limit", bring_gateway))
    until = (site.now() + timedelta(days=30)).date().isoformat()
    reason = "Yearly report of the wards; the groups are large, but there are many of them."
    wanted: dict[str, Any] = {"database": "clinic", "name": ANALYST, "limit": "3", "action": "subset"}
    propose_limit(context, NewLimit(**wanted, until=until, reason=reason))


# The demonstration has a linkage project: two extracts of generated people, and pairs for a reviewer.
PROJECT = "Clinic and registry"
LINKED_PEOPLE, LINKED_SEED = 400, 7
FOR_PEOPLE = 36
"""Pairs that go to the reviewer: as many as people had in the study of 2018."""


def bring_linkage(site: Site) -> None:
    """A project with pairs for the demonstration's worker."""
    home = site.places.folder.path / "link-demo"
    with tempfile.TemporaryDirectory(prefix="discreet-demo-") as place:
        files = write_extracts(place, people=LINKED_PEOPLE, seed=LINKED_SEED)
        folder = start_project(home, files.first, files.second, spec=LinkageSpec.load(files.link))
    likely_pairs(folder, review=FOR_PEOPLE).save(folder)
    project = register_project(site.ledger, home, actor="manager", name=PROJECT, risk_limit="0.2")
    bring_pairs(site.ledger, project)
    assign(site.ledger, project, ["worker"], actor="manager", limits=Limits.of("0.12", "0.3"))
    door.prepare(project)


# The demonstration has one release that was delivered and traced, and one plan that awaits approval.
DATA, REGISTER = "hospital.csv", "register.parquet"
LEAKER = "ministry"
SPRING = ("university", LEAKER, "insurer")
AUTUMN = ("university", "registry", "institute")
LEAKED = 0.5
"""The share of rows of a copy that leaks."""
KS = (3, 2)
"""Tried in this order: the first with enough marks is taken."""


def bring_releases(site: Site) -> None:
    """One release planned, approved, delivered and leaked; one plan awaiting approval."""
    route = Route("POST", "/releases/new", "releases.change", bring_releases)
    first, second = (_as(site, name, route) for name in ("custodian", "deputy"))
    number = _planned(first, "spring-2026", SPRING)
    if number is None:
        return
    plan = plan_workflow.current(second, number)
    plan_workflow.decide(second, plan, seen=plan.seen)
    plan_workflow.make(first, plan_workflow.current(first, number))
    work_off(site)
    release = Registry(site.ledger).find("spring-2026")
    if release is not None and plan_workflow.current(first, number).state == "made":
        for recipient in SPRING[:2]:
            path = plan_workflow.hand_over(first, release, recipient)
            if recipient == LEAKER:
                leaked = path.read_bytes()
        registry = Registry(site.ledger)
        opened = Opened(release, registry.open(release))
        with site.places.folder.workshop() as aside, zipfile.ZipFile(io.BytesIO(leaked)) as archive:
            lines = archive.read("data.csv").splitlines(keepends=True)
            file = aside / "found-on-a-forum.csv"
            file.write_bytes(b"".join(lines[: 1 + round(LEAKED * (len(lines) - 1))]))
            given = SuspectTable.of(read(file))
            table = SuspectTable(file.name, given.columns, given.counted)
            traced(registry, opened, partial(tracing.keep, first, opened), leak=table)
    _planned(second, "autumn-2026", AUTUMN)


def _as(site: Site, name: str, route: Route) -> Context:
    """A request of a custodian, made without a browser."""
    with site.store.reading() as connection:
        account = _account(connection, name)
    return Context(cast(Request, None), site, route, account=account, permissions=GRANTED["custodian"])


def _planned(context: Context, name: str, recipients: tuple[str, ...]) -> int | None:
    """A plan that can be approved; None if there are too few marks."""
    with context.site.store.reading() as connection:
        numbers = {dataset.name: dataset.id for dataset in datasets.everything(connection)}
    for k in KS:
        wanted: dict[str, Any] = {"name": name, "dataset": numbers[DATA], "population": numbers[REGISTER], "k": k}
        wanted |= {"recipients": list(recipients), "format": "csv", "counts_only": True, "agreement": AGREEMENT}
        wanted |= {"population_source": "Register of a state that does not exist", "population_licence": "generated"}
        number = plan_workflow.begin(context, NewPlan(**wanted, sign_off="DPO-2026-17"))
        work_off(context.site)
        if plan_workflow.current(context, number).ready:
            return number
        plan_workflow.withdraw(context, plan_workflow.current(context, number))
    return None


# The demonstration asks all accounts how sensitive the values of its hospital are.
STUDY = "What a hospital knows"
RATINGS = 6
"""Few, so that an interview is short."""


def bring_study(site: Site) -> None:
    """A study to which all accounts are invited."""
    items = items_of(EXAMPLE)

    def along(connection: Connection) -> None:
        people, now = accounts.everybody(connection), site.stamp()
        owner = next(person for person in people if person.role == "custodian")
        study = studies.add(connection, name=STUDY, items=items, ratings=RATINGS, account=owner.id, now=now)
        for person in people:
            studies.invite(connection, study, person.id, now)

    details = {"values": len(items)}
    site.ledger.record(actor="custodian", event="misuse.asked", subject=f"study:{STUDY}", details=details, along=along)


# The demonstration has an account per role and a second custodian, with random passwords.
NAMES = {**{role: role for role in ROLES}, "deputy": "custodian"}
"""Who can sign in, and in which role: a release needs a second custodian."""


@dataclass(frozen=True)
class Visitor:
    """An account of the demonstration, with its password."""

    name: str
    role: str
    password: str


def furnish(site: Site) -> list[Visitor]:
    """Fill an empty store; gives the accounts."""
    visitors = []
    for name, role in NAMES.items():
        visitor = Visitor(name, role, "-".join(secrets.token_hex(2) for _ in range(4)))
        account: dict[str, Any] = {
            "name": name,
            "role": role,
            "now": site.stamp(),
            "password": site.hasher.hash(visitor.password),
        }
        site.ledger.record(
            actor="demo",
            event="web.account",
            subject=f"account:{name}",
            details={"act": Act.MADE.value, "role": role},
            along=partial(accounts.add, **account),
        )
        visitors.append(visitor)
    for bring in STEPS:
        bring(site)
    site.visitors = tuple(
        (visitor.name, visitor.role, visitor.password) for visitor in visitors if visitor.name in ROLES
    )
    return visitors


STEPS: tuple[Callable[[Site], None], ...] = (bring_hospital, bring_study, bring_releases, bring_linkage, bring_gateway)
"""What fills the demonstration, in this order."""
