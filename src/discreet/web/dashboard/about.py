"""About page, and static files."""

from __future__ import annotations

from starlette.responses import Response

from discreet.web.framework.context import Context, Here
from discreet.web.framework.permissions import GROUPS, ROLES
from discreet.web.framework.render import assets
from discreet.web.framework.route import Loads

KEPT = "public, max-age=31536000, immutable"
"""Nothing personal, and every version has an address of its own."""

PURPOSES = {
    "Dashboard": "what needs attention, what was disclosed lately, whether the ledger is whole",
    "Data sets": "tables of people: the roles of their columns, what they risk, how to protect them",
    "Jobs": "what takes its time: where it stands, what became of it, how to cancel it",
    "Reports": "what was measured on a data set, or on a whole project, to read, print and mail",
    "Attacker lab": "would an adversary bother, how far would he go, and what would deter him; move the sliders",
    "Sensitivity": "experts say how bad it would be if a value became known; their answers become weights",
    "Releases": "one copy per recipient: plan, approve, hand over; trace a leak to a copy",
    "Linkage": "are two records one person? The machine decides what is sure, people see almost nothing of the rest",
    "Gateway": "users of databases: exposure, limits, refusals, incidents; it stops over-asking, not an attacker",
    "Why refused": "look up the reference with which a refusal of the gateway ends",
    "Ledger": "every disclosure, refusal and decision; verify it, take it away",
    "Accounts": "who may come in, and in which role",
    "Tokens": "for programs that use the API",
}
"""What every place of the menu is for."""

MEANINGS = {
    "Data set": "a table of people, one row each, that custodians look after",
    "Role of a column": "identifier names a person, quasi is what an adversary may know, sensitive is what he would like to learn",
    "Risk": "how surely somebody is recognised; people who look alike in what an adversary may know hide each other",
    "Disclosure": "anything about people that leaves: a table, a cell, a result, a report",
    "Release": "one version of a data set for several recipients",
    "Recipient": "who is given a copy of a release",
    "Copy": "what one recipient is given, with control records that tell it apart from all others",
    "Trace": "from a leaked file, or from people who were re-identified, back to the copy it came from",
    "Exposure": "what all results that a database user has seen could do together in the wrong hands",
    "Limit": "up to where a risk or an exposure is accepted; what goes beyond it is refused or stands out",
    "Budget": "how much may be disclosed in all; only the ledger spends it",
    "Ledger": "an append-only list; what it holds is summed up in one signed hash, its head",
    "Head": "keep one elsewhere now and then: with it, any later change of what it covers is found",
}
"""The words of all pages, each for one thing."""


def about_page(context: Here) -> Response:
    """Help: what the places are for, what the words mean, how to work without a mouse."""
    places = [(place, PURPOSES[place.name]) for group in GROUPS for place in group.places]
    return context.page("about.html", roles=ROLES, places=places, meanings=MEANINGS)


def _find(context: Context, path: dict[str, str]) -> tuple[bytes, str] | None:
    return assets().get(path["name"])


ASSET = Loads("asset", find=_find, may=lambda context, asset: True)


def asset(context: Here) -> Response:
    """The style sheet, the mark, a module."""
    content, kind = context.loaded
    return Response(content, headers={"Content-Type": kind, "Cache-Control": KEPT})
