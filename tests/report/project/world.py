"""A data-sharing project with everything in it, made by the real parts: a release, a linkage project, users who ask."""

from __future__ import annotations

import asyncio
import contextlib
import io
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from discreet.anonymity import anonymise
from discreet.attacker.extensions import DRAFT
from discreet.demo.chapters import DemoStage, fresh_store, open_ledger
from discreet.demo.store_chapters import what_it_costs_to_link, who_leaked_it
from discreet.gateway.enforcement.exposure_accounts import Books, ExposureAccount, with_seen
from discreet.ledger import Ledger
from discreet.people import write_demo
from discreet.policy import Policy
from discreet.report.project import draft_project
from discreet.sources import read
from discreet.store import Exposures

LIMIT = 2.0


def furnish(folder: Path) -> Path:
    """Everything that the demo does but the database server; gives the project file."""
    files = write_demo(folder, people=200_000, seed=1)
    anonymise(read(files.hospital, policy=Policy.load(files.policy)), k=5, suppression=0.05).write(folder / "safe.csv")
    (folder / "attack.toml").write_text(DRAFT, encoding="utf-8")
    store = fresh_store(folder)
    with contextlib.redirect_stdout(io.StringIO()):
        stage = DemoStage(folder, 200_000, 1, files, store)
        who_leaked_it(stage)
        what_it_costs_to_link(stage)
    # In a thread of its own: where a browser is driven, this one has a loop already.
    with open_ledger(store) as ledger, ThreadPoolExecutor(1) as apart:
        apart.submit(lambda: asyncio.run(_ask(ledger, Policy.load(files.policy)))).result()
    given = {"population": "population.parquet", "attack": "attack.toml", "published": "safe.csv", "store": "store.db"}
    text = draft_project(title="A whole story", data="hospital.csv", policy="policy.toml", **given)
    (folder / "project.toml").write_text(text, encoding="utf-8")
    return folder / "project.toml"


async def _ask(ledger: Ledger, policy: Policy) -> None:
    """As the gateway does: ann gets a result, eve two and a refusal, bob one whose end was not seen."""
    ledger.record(actor="gateway", event="gateway.started", subject="database:clinic", details={"mode": "enforce"})
    await asks(ledger, policy, "ann", ["1"])
    eve = await asks(ledger, policy, "eve", ["1", "2"])
    await eve.refuse(2.5, {"rows": 1, "limit": f"{LIMIT:g}", "decision": "deny"})
    await asks(ledger, policy, "bob", ["1"], reach=False)


async def asks(
    ledger: Ledger, policy: Policy, user: str, patients: list[str], *, limit: float = LIMIT, reach: bool = True
) -> ExposureAccount:
    """One result per patient, each with a diagnosis that weighs most."""
    books = Books(ledger, Exposures(ledger.store), with_seen(policy.sensitivity), 2.0, None, "clinic", policy.digest)
    account = ExposureAccount(books, user)
    await account.load()
    for number, patient in enumerate(patients):
        after = account.exposure.after(entities=[int(patient)], values={"diagnosis": ["HIV"]}, at=float(number))
        told = {"rows": 1, "limit": f"{limit:g}", "decision": "release", "columns": "diagnosis"}
        granted = await account.grant(after, told)
        assert granted is not None
        if reach:
            await account.settle(granted)
    return account
