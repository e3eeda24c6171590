"""For every kind of object that a route loads: one that belongs to an account, as the parameters of the path.

Whoever adds a route that loads something new adds a sample here; the tests of authorisation fail without it.
"""

from __future__ import annotations

import json
import secrets
import tempfile
from collections.abc import Callable
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from fastapi import FastAPI
from sqlalchemy import insert

from discreet.linkage.project import Project, register_project
from discreet.linkage.review.assignments import assign, bring_pairs
from discreet.store.tables.web import ROLE_CHANGE, TRACE
from discreet.web.accounts import accounts, credentials, passkeys, second_approver
from discreet.web.datasets import store as datasets
from discreet.web.framework.permissions import scopes_of
from discreet.web.framework.route import Route
from discreet.web.jobs import store as jobs
from discreet.web.jobs.store import JobResult
from discreet.web.linkage import store as linkage_store
from discreet.web.releases import store as plans
from discreet.web.sensitivity import store as studies
from discreet.web.sensitivity.store import EXAMPLE, items_of
from tests.linkage.worlds import folder_of

Maker = Callable[[FastAPI, str], dict[str, str]]
"""From the application and the name of the owner to the parameters of the path."""


def account_number(app: FastAPI, name: str) -> int:
    """The number of an account."""
    with app.state.site.store.reading() as connection:
        found = accounts.by_name(connection, name)
    assert found is not None
    return found[0].id


def _asset(app: FastAPI, owner: str) -> dict[str, str]:
    return {"name": "style.css"}


def _link(app: FastAPI, owner: str) -> dict[str, str]:
    site = app.state.site
    with site.store.writing() as connection:
        return {"secret": credentials.make_link(connection, site.settings, account_number(app, owner))}


def _account(app: FastAPI, owner: str) -> dict[str, str]:
    return {"number": str(account_number(app, owner))}


def _entry(app: FastAPI, owner: str) -> dict[str, str]:
    return {"number": "0"}


def _token(app: FastAPI, owner: str) -> dict[str, str]:
    site, number = app.state.site, account_number(app, owner)
    role = owner.rstrip("0123456789")
    expires = site.stamp(ago=-timedelta(days=1))
    with site.store.writing() as connection:
        token, _ = credentials.add_token(
            connection, account=number, name="sample", scopes=tuple(scopes_of(role)), now=site.stamp(), expires=expires
        )
    return {"number": str(token.id)}


def _passkey(app: FastAPI, owner: str) -> dict[str, str]:
    site, number = app.state.site, account_number(app, owner)
    made = {"credential": secrets.token_hex(16), "public": "00", "counter": 0}
    with site.store.writing() as connection:
        passkeys.add(connection, site, number, "sample", made)
        return {"number": str(passkeys.of_account(connection, number)[-1].id)}


def _role_change(app: FastAPI, owner: str) -> dict[str, str]:
    """Proposed by this account, for one that nobody else uses."""
    site, name = app.state.site, f"person-{secrets.token_hex(4)}"
    values = {"role": "auditor", "was": "worker", "reason": "made up", "state": "proposed", "made": site.stamp()}
    with site.store.writing() as connection:
        person = accounts.add(connection, name=name, role="worker", now=site.stamp(), password="none")
        values |= {"account": person, "proposer": account_number(app, owner)}
        values |= {"entry": second_approver.moment(connection)}
        made = insert(ROLE_CHANGE).values(**values).returning(ROLE_CHANGE.c.id)
        return {"number": str(connection.execute(made).scalar_one())}


def _study(app: FastAPI, owner: str) -> dict[str, str]:
    site, number = app.state.site, account_number(app, owner)
    items = items_of(EXAMPLE)
    with site.store.writing() as connection:
        name = f"study {secrets.token_hex(4)}"
        study = studies.add(connection, name=name, items=items, ratings=3, account=number, now=site.stamp())
        studies.invite(connection, study, number, site.stamp())
    return {"number": str(study.id)}


def _version(app: FastAPI, owner: str) -> dict[str, str]:
    site, number = app.state.site, account_number(app, owner)
    study = int(_study(app, owner)["number"])
    content = {"sensitivity": {"bill": {"otherwise": 1.0}}, "experts": [], "agreement": None, "items": []}
    with site.store.writing() as connection:
        made = studies.keep_version(
            connection, study, digest="0" * 16, content=content, account=number, now=site.stamp()
        )
    return {"number": str(made)}


POLICY = '[columns.sex]\nrole = "quasi"\nhierarchy = { any = "*" }\n\n[columns.age]\nrole = "quasi"\nhierarchy = { widths = [10] }\n'


def make_dataset(app: FastAPI, owner: str, *, policy: str | None = POLICY, rows: int = 12) -> int:
    """A small data set of people who do not exist, as if it had been uploaded."""
    site, number = app.state.site, datasets.new_number()
    path = site.places.folder.new("upload", "csv")
    with site.places.folder.create(path) as file:
        file.write(b"sex,age\n" + b"".join(f"{'FM'[row % 2]},{30 + row % 3}\n".encode() for row in range(rows)))
    about = {"kind": "upload", "place": path.name, "size": path.stat().st_size, "policy": policy}
    account = account_number(app, owner)
    with site.store.writing() as connection:
        name, now = f"people {number}.csv", site.stamp()
        datasets.add(connection, number, name=name, columns=("sex", "age"), account=account, now=now, **about)
    return number


def make_job(
    app: FastAPI, owner: str, *, kind: str = "assess", done: bool = True, numbers: dict[str, Any] | None = None,
    policy: str | None = None,
) -> int:  # fmt: skip
    """A job on a data set of its own; done, it has a result, a report and a file."""
    site, dataset = app.state.site, make_dataset(app, owner)
    file = site.places.folder.new("result", "csv")
    with site.places.folder.create(file) as opened:
        opened.write(b"sex,age\n*,30\n")
    account = account_number(app, owner)
    with site.store.writing() as connection:
        number = jobs.enqueue(connection, kind=kind, dataset=dataset, account=account, asked={"policy": POLICY, "k": 2})
        if not done:
            return number
        job = jobs.claim(connection, at_once=10**6, lease=10**6)
        while job is not None and job.id != number:
            job = jobs.claim(connection, at_once=10**6, lease=10**6)
        assert job is not None
        found = JobResult(numbers or NUMBERS, [PART], "<!doctype html><title>A report</title>", policy, None, file.name)
        jobs.finish(connection, number, job.claim or "")
        jobs.keep_result(connection, number, found)
    return number


NUMBERS = {
    "records": 12,
    "uniques": 0,
    "k": 2,
    "average_risk": 0.5,
    "threshold": 0.2,
    "columns": ["sex", "age"],
    "prosecutor": {"at_risk": 1.0},
    "limit": {"at_risk": 0.0, "exceeded": True},
    "undeclared": [],
    "findings": [],
}
"""The least that pages need of an assessment."""
PART = {"key": "findings", "name": "Findings", "html": "<section id='findings'><h2>Findings</h2></section>"}


def _dataset(app: FastAPI, owner: str) -> dict[str, str]:
    return {"number": str(make_dataset(app, owner))}


def _job(app: FastAPI, owner: str) -> dict[str, str]:
    return {"number": str(make_job(app, owner))}


def make_table(app: FastAPI, owner: str) -> int:
    """A table that was made by levels: every combination of them can be looked at."""
    certificate = {"nodes": 4, "optimal": True}
    made = {"levels": {"sex": 0, "age": 1}, "loss": 0.5, "loss_name": "loss", "certificate": certificate}
    return make_job(app, owner, kind="anonymise", numbers={**NUMBERS, **made})


def _table(app: FastAPI, owner: str) -> dict[str, str]:
    return {"number": str(make_table(app, owner))}


def make_plan(app: FastAPI, owner: str, *, state: str = "planned") -> tuple[int, str]:
    """A plan that somebody made, as it stands in the store; gives its number and the name of its release."""
    site, dataset = app.state.site, make_dataset(app, owner)
    name = f"release {secrets.token_hex(4)}"
    content = {
        "release": name, "recipients": ["north"], "dataset": dataset, "dataset_name": "people.csv", "format": "csv",
        "population": dataset, "population_name": "register.csv", "k": 5, "suppression": 0.1, "law": "0.2/0.5",
        "population_source": "made up", "population_licence": "made up", "counts_only": True, "sign_off": "TEST-1",
        "agreement": "This copy contains control records.", "force": False, "policy": POLICY, "policy_digest": "0" * 64,
    }  # fmt: skip
    with site.store.writing() as connection:
        account = account_number(app, owner)
        by = {"account": account, "now": site.stamp(), "entry": second_approver.moment(connection)}
        number = plans.add(connection, kind="new", content=content, **by)
        found = plans.find(connection, number)
        assert found is not None
        plans.keep_preflight(connection, number, found.digest, PREFLIGHT)
    return number, name


PREFLIGHT = {
    "marks": 40, "recipients": 1, "k": 5, "levels": {"age": 1}, "heights": {"age": 2},
    "claims": 9.0, "coalition": 1, "needed": [20, 100, None],
    "of": {"data": None, "population": None, "people": None},
}  # fmt: skip
"""The least that pages need of a pre-flight."""


def make_trace(app: FastAPI, owner: str) -> int:
    """A trace that somebody made, as it stands in the store."""
    site, (_, release) = app.state.site, make_plan(app, owner)
    numbers = {"accused": [], "counts": {"marks": 0}, "incidents": [[]]}
    values = {"release": release, "version": 1, "kind": "claims", "source": "pasted claims", "made": site.stamp()}
    values |= {
        "numbers": json.dumps(numbers),
        "parts": json.dumps([PART]),
        "report": "<!doctype html><title>A trace</title>",
    }
    with site.store.writing() as connection:
        made = insert(TRACE).values(**values, account=account_number(app, owner)).returning(TRACE.c.id)
        return int(connection.execute(made).scalar_one())


def _plan(app: FastAPI, owner: str) -> dict[str, str]:
    return {"number": str(make_plan(app, owner)[0])}


def _release(app: FastAPI, owner: str) -> dict[str, str]:
    return {"name": make_plan(app, owner)[1]}


def _trace(app: FastAPI, owner: str) -> dict[str, str]:
    return {"number": str(make_trace(app, owner))}


@cache
def _link_folder() -> Path:
    """The folder of a small linkage project, made once."""
    return folder_of(Path(tempfile.mkdtemp(prefix="discreet-link-")) / "people")[0].path


_linked: WeakKeyDictionary[FastAPI, dict[str, Project]] = WeakKeyDictionary()


def make_linkage(app: FastAPI, owner: str) -> Project:
    """A linkage project whose pairs were given to somebody; the same again for the same application, while it is open."""
    site, known = app.state.site, _linked.setdefault(app, {})
    if owner in known:
        with site.store.reading() as connection:
            found = linkage_store.find(connection, known[owner].id)
        if found is not None and found.state == "open":
            return found
    name = f"link {secrets.token_hex(4)}"
    project = register_project(site.ledger, _link_folder(), actor="manager", name=name)
    bring_pairs(site.ledger, project)
    assign(site.ledger, project, [owner], actor="manager")
    known[owner] = project
    return project


def _linkage(app: FastAPI, owner: str) -> dict[str, str]:
    return {"number": str(make_linkage(app, owner).id)}


def _linkage_pair(app: FastAPI, owner: str) -> dict[str, str]:
    return {**_linkage(app, owner), "pair": "1"}


def _linkage_work(app: FastAPI, owner: str) -> dict[str, str]:
    site = app.state.site
    tables = [{"name": "people.csv", "columns": ["id", "name", "born"], "upload": None, "encoding": "utf-8"}]
    with site.store.writing() as connection:
        asked = {"tables": tables, "pairs": None}
        account = account_number(app, owner)
        number = linkage_store.add_work(connection, kind="make", name="people", account=account, asked=asked)
    return {"number": str(number)}


def _database_user(app: FastAPI, owner: str) -> dict[str, str]:
    from tests.web.gateway_data import somebody

    return {"number": str(somebody(app))}


def _limit(app: FastAPI, owner: str) -> dict[str, str]:
    from tests.web.gateway_data import proposed

    return {"number": str(proposed(app, owner))}


SAMPLES: dict[str, Maker] = {
    "database user": _database_user,
    "limit": _limit,
    "linkage project": _linkage,
    "linkage task": _linkage,
    "linkage pair": _linkage_pair,
    "linkage work": _linkage_work,
    "study": _study,
    "interview": _study,
    "version": _version,
    "asset": _asset,
    "link": _link,
    "account": _account,
    "entry": _entry,
    "token": _token,
    "token of any account": _token,
    "passkey": _passkey,
    "role change": _role_change,
    "data set": _dataset,
    "job": _job,
    "report": _job,
    "made table": _table,
    "plan": _plan,
    "release": _release,
    "trace": _trace,
}

OWNED = {"token", "passkey", "interview", "linkage task", "linkage pair"}
"""Objects that only their owner may have; the others are for everybody with the permission."""
NEVER_OWN = {
    "/releases/plans/{number}/approve",
    "/releases/plans/{number}/reject",
    "/gateway/limits/{number}/approve",
    "/gateway/limits/{number}/decline",
    "/api/v1/gateway/limits/{number}/approve",
    "/api/v1/gateway/limits/{number}/decline",
    "/accounts/changes/{number}/approve",
    "/accounts/changes/{number}/reject",
}
"""Routes at which somebody with the permission is refused what is their own: two people decide."""


def sample(app: FastAPI, route: Route, owner: str) -> dict[str, str]:
    """An object nobody has touched."""
    return SAMPLES[route.loads.name](app, owner) if route.loads else {}


class Kept:
    """Objects for requests that change nothing: one of each kind and owner."""

    def __init__(self, app: FastAPI) -> None:
        self._app, self._made = app, dict[tuple[str, str], dict[str, str]]()

    def __call__(self, route: Route, owner: str) -> dict[str, str]:
        key = (route.loads.name if route.loads else "", owner)
        if key not in self._made:
            self._made[key] = sample(self._app, route, owner)
        return self._made[key]
