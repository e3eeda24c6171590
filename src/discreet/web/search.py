"""Search over everything an account may see: pages, people, data sets, releases, projects, entries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sqlalchemy import Connection
from starlette.responses import Response

from discreet.web import ledger
from discreet.web.accounts import accounts
from discreet.web.datasets import store as datasets
from discreet.web.entry_sentences import sentence
from discreet.web.framework.context import Context, Here
from discreet.web.framework.forms import Text
from discreet.web.framework.permissions import PLACES
from discreet.web.framework.route import Page, Route
from discreet.web.gateway import users
from discreet.web.linkage import store as projects
from discreet.web.releases import store as plans

MOST = 8
"""Of each kind."""


@dataclass(frozen=True)
class SearchHit:
    """Something that was found, and its page."""

    kind: str
    name: str
    path: str
    about: str = ""


def search_page(context: Here, q: Text = "") -> Response:
    """What the words fit, kind by kind; only what this account may open."""
    words = q.strip()
    found: dict[str, list[SearchHit]] = {}
    if words and words.isprintable():
        with context.site.store.reading() as connection:
            for permission, finder in FINDERS:
                if context.may(permission):
                    for hit in finder(context, connection, words.lower()):
                        listed = found.setdefault(hit.kind, [])
                        if len(listed) < MOST:
                            listed.append(hit)
    return context.page("search.html", wanted=words, found=found, most=MOST)


def places_like(context: Context, connection: Connection, words: str) -> Iterator[SearchHit]:
    """Pages of the menu."""
    for place in PLACES:
        if context.may(place.permission) and words in f"{place.name} {place.purpose}".lower():
            yield SearchHit("Pages", place.name, place.path, place.purpose)


def datasets_like(context: Context, connection: Connection, words: str) -> Iterator[SearchHit]:
    """Data sets by name or column."""
    for dataset in datasets.everything(connection):
        columns = [column for column in dataset.columns if words in column.lower()]
        if words in dataset.name.lower() or columns:
            about = f"columns: {', '.join(columns[:MOST])}" if columns else f"added by {dataset.owner}"
            yield SearchHit("Data sets", dataset.name, f"/datasets/{dataset.id}", about)


def releases_like(context: Context, connection: Connection, words: str) -> Iterator[SearchHit]:
    """Plans of releases by name or recipient."""
    for plan in plans.everything(connection):
        recipients = [name for name in plan.recipients if words in name.lower()]
        if words in plan.release.lower() or recipients:
            about = f"recipients: {', '.join(recipients[:MOST])}" if recipients else plan.state
            yield SearchHit("Releases", plan.release, f"/releases/plans/{plan.id}", about)


def projects_like(context: Context, connection: Connection, words: str) -> Iterator[SearchHit]:
    """Linkage projects by name."""
    for project in projects.everything(connection):
        if words in project.name.lower():
            yield SearchHit("Linkage projects", project.name, f"/linkage/{project.id}", project.state)


def accounts_like(context: Context, connection: Connection, words: str) -> Iterator[SearchHit]:
    """Accounts by name."""
    for person in accounts.everybody(connection):
        if words in person.name:
            yield SearchHit("Accounts", person.name, "/accounts", f"{person.role}, {person.state}")


def users_like(context: Context, connection: Connection, words: str) -> Iterator[SearchHit]:
    """Users of databases by name."""
    for user in users.ranked(connection, now=context.site.stamp(), name=words).users:
        about = f"{user.database}, {user.share} % of the limit" if user.share is not None else user.database
        yield SearchHit("Database users", user.name, f"/gateway/users/{user.id}", about)


def entries_like(context: Context, connection: Connection, words: str) -> Iterator[SearchHit]:
    """Entries of the ledger by number or person."""
    if words.isascii() and words.isdigit() and len(words) <= 17:
        entry = ledger.find(connection, int(words))
        entries = [] if entry is None else [entry]
    else:
        entries = list(ledger.newest(connection, ledger.EntrySearch(actor=words), most=MOST).entries)
    for entry in entries:
        yield SearchHit(
            "Entries of the ledger",
            f"Entry {entry.sequence}",
            f"/ledger/{entry.sequence}",
            f"{entry.actor} {sentence(entry)}",
        )


FINDERS: tuple[tuple[str, Callable[[Context, Connection, str], Iterator[SearchHit]]], ...] = (
    ("dashboard.read", places_like),
    ("datasets.read", datasets_like),
    ("releases.read", releases_like),
    ("linkage.manage", projects_like),
    ("accounts.read", accounts_like),
    ("gateway.read", users_like),
    ("ledger.read", entries_like),
)
"""Where is searched, with the permission without which it is not."""
SEARCH_ROUTES: tuple[Route, ...] = (Page("/search", "dashboard.read", search_page),)
