"""Opening a ledger: the first time it gets its name, its keys and its first entry; later its keys must be the same."""

from __future__ import annotations

import secrets

from sqlalchemy import insert

from discreet.errors import IntegrityError
from discreet.ledger.commit import Clock
from discreet.ledger.entry import Entry, row_of, timestamp
from discreet.ledger.keys import Keys, place_of
from discreet.ledger.tree import Tree
from discreet.store import Store
from discreet.store.tables.ledger import ENTRY

FORMAT = "discreet-ledger-1"


def open_tree(store: Store, keys: Keys | None, clock: Clock) -> Keys:
    """The keys of this ledger, which is made if it is new."""
    with store.reading() as connection:
        tree = Tree.read(connection)
    if not tree.opened:
        keys = keys or _found_or_made(store)
        tree = _first_entry(store, keys, clock)
    keys = keys or Keys.load(place_of(store.address))
    if (tree.key, tree.values_check) != (keys.public, keys.values_check):
        raise IntegrityError(
            f"The ledger in {store.address} was opened with other keys than those in {place_of(store.address)}.",
            remedy="Say in DISCREET_KEYS where its file of keys is; every program that writes to it needs the same.",
        )
    return keys


def _found_or_made(store: Store) -> Keys:
    place = place_of(store.address)
    return Keys.load(place) if place.exists() else Keys.make(place)


def _first_entry(store: Store, keys: Keys, clock: Clock) -> Tree:
    with store.writing() as connection:
        tree = Tree.lock(connection)
        if tree.opened:
            return tree
        tree.open(secrets.token_hex(16), keys)
        entry = Entry(
            sequence=0,
            time=timestamp(clock()),
            clock=None,
            actor="discreet",
            room="ledger",
            event="ledger.opened",
            outcome="done",
            subject="",
            risk_before=None,
            risk_after=None,
            policy=None,
            key="opening",
            budget=None,
            details={"format": FORMAT, "ledger": tree.ledger, "key": tree.key, "values": tree.values_check},
            previous=tree.last,
        )
        body = entry.body()
        connection.execute(insert(ENTRY), [row_of(entry, body, tree.append(body))])
        tree.time = entry.time
        tree.save(connection, keys, was=0)
        return tree
