"""The demonstration asks everybody how sensitive the values of its hospital are."""

from __future__ import annotations

from sqlalchemy import Connection

from discreet.web import accounts
from discreet.web.sensitivity import study as studies
from discreet.web.sensitivity.typed import EXAMPLE, items_of
from discreet.web.site import Site

NAME = "What a hospital knows"
RATINGS = 6
"""Few, so that one can get through."""


def bring_study(site: Site) -> None:
    """A study to which all accounts are invited."""
    items = items_of(EXAMPLE)

    def along(connection: Connection) -> None:
        people, now = accounts.everybody(connection), site.stamp()
        owner = next(one for one in people if one.role == "custodian")
        study = studies.add(connection, name=NAME, items=items, ratings=RATINGS, account=owner.id, now=now)
        for one in people:
            studies.invite(connection, study, one.id, now)

    details = {"values": len(items)}
    site.ledger.record(actor="custodian", event="misuse.asked", subject=f"study:{NAME}", details=details, along=along)
