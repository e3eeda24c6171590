"""For every kind of object that a route loads: one that belongs to an account, as the parameters of the path.

Whoever adds a route that loads something new adds a sample here; the tests of authorisation fail without it.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from datetime import timedelta

from fastapi import FastAPI

from discreet.web import accounts, links, tokens
from discreet.web.permissions import scopes_of
from discreet.web.sensitivity import study as studies
from discreet.web.sensitivity.typed import EXAMPLE, items_of

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
        return {"secret": links.make(connection, site, account_number(app, owner))}


def _account(app: FastAPI, owner: str) -> dict[str, str]:
    return {"number": str(account_number(app, owner))}


def _entry(app: FastAPI, owner: str) -> dict[str, str]:
    return {"number": "0"}


def _token(app: FastAPI, owner: str) -> dict[str, str]:
    site, number = app.state.site, account_number(app, owner)
    role = owner.rstrip("0123456789")
    expires = site.stamp(ago=-timedelta(days=1))
    with site.store.writing() as connection:
        token, _ = tokens.add(
            connection, account=number, name="sample", scopes=tuple(scopes_of(role)), now=site.stamp(), expires=expires
        )
    return {"number": str(token.id)}


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


SAMPLES: dict[str, Maker] = {
    "study": _study,
    "interview": _study,
    "version": _version,
    "asset": _asset,
    "link": _link,
    "account": _account,
    "entry": _entry,
    "token": _token,
}

OWNED = {"token", "interview"}
"""Objects that only their owner may have; the others are for everybody with the permission."""
