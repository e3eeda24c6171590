"""The tree as it is stored: the one row that every writer locks, checks, extends and signs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select, update

from discreet.errors import IntegrityError
from discreet.ledger.keys import Keys
from discreet.ledger.merkle import Subtree, split
from discreet.ledger.verifier import (
    HEAD_FORMAT,
    NOTHING,
    Frontier,
    leaf_hash,
    node_hash,
    signature_holds,
    signed_part,
)
from discreet.store.tables.ledger import ENTRY, NODE, TREE

STRIDE = 8
"""Hashes of complete subtrees are stored at every eighth level: one row per 256 entries."""


@dataclass
class MerkleTree:
    """The tree so far."""

    ledger: str
    key: str
    values_check: str
    frontier: Frontier
    last: str
    time: str
    signature: str
    nodes: list[dict[str, Any]] = field(default_factory=list)
    """Hashes of subtrees that were completed since it was read."""

    @classmethod
    def lock(cls, connection: Connection) -> MerkleTree:
        """Read the row and keep everybody else from writing until the transaction ends."""
        return cls._of(connection.execute(select(TREE).with_for_update()).one_or_none())

    @classmethod
    def read(cls, connection: Connection) -> MerkleTree:
        """Read the row."""
        return cls._of(connection.execute(select(TREE)).one_or_none())

    @classmethod
    def _of(cls, row: Any) -> MerkleTree:
        if row is None:
            raise _broken("its row is gone")
        try:
            peaks = [bytes.fromhex(row.peaks[at : at + 64]) for at in range(0, len(row.peaks), 64)]
        except ValueError:
            raise _broken("it is not readable") from None
        frontier = Frontier(row.size, peaks)
        return cls(row.ledger, row.key, row.values_check, frontier, row.last, row.time, row.signature)

    @property
    def size(self) -> int:
        """Entries in it."""
        return self.frontier.size

    @property
    def opened(self) -> bool:
        """Has it been given a name and a key?"""
        return bool(self.ledger)

    def head(self) -> dict[str, Any]:
        """The signed head."""
        root = self.frontier.root().hex()
        return {
            "format": HEAD_FORMAT,
            "key": self.key,
            "ledger": self.ledger,
            "root": root,
            "signature": self.signature,
            "size": self.size,
            "time": self.time,
        }

    def open(self, ledger: str, keys: Keys) -> None:
        """Give the empty tree its name and its key."""
        self.ledger, self.key, self.values_check, self.last = ledger, keys.public, keys.values_check, NOTHING

    def append(self, body: bytes) -> str:
        """Add one entry; gives the hash of its leaf."""
        complete = self.frontier.append(leaf_hash(body))
        for level in range(STRIDE, len(complete), STRIDE):
            position = (self.size >> level) - 1
            self.nodes.append({"level": level, "position": position, "hash": complete[level].hex()})
        self.last = complete[0].hex()
        return self.last

    def save(self, connection: Connection, keys: Keys, *, was: int) -> None:
        """Sign the new head and write it over the old one, which had the size `was`."""
        self.signature = keys.sign(signed_part(self.head()))
        if self.nodes:
            connection.execute(insert(NODE), self.nodes)
        done = connection.execute(_EXTEND, {f"new_{name}": value for name, value in self.row().items()} | {"was": was})
        if done.rowcount != 1:
            raise _broken("it was changed although it was locked")

    def row(self) -> dict[str, Any]:
        """All that is stored of it."""
        names = ("ledger", "key", "values_check", "last", "time", "signature", "size")
        peaks = "".join(peak.hex() for peak in self.frontier.peaks)
        return {**{name: getattr(self, name) for name in names}, "root": self.frontier.root().hex(), "peaks": peaks}

    def check(self, connection: Connection, seen: MerkleTree | None) -> None:
        """Refuse to build on a tree that is not as it was left: a new signature would cover up for the change.

        `seen` is the tree as this process wrote or read it last; it may have grown since, but only under our signature.
        """
        if seen is not None and seen.row() == self.row():
            return
        if seen is not None and (self.size < seen.size or (self.size == seen.size and self.head() != seen.head())):
            raise _broken("it is behind what this process has written or read")
        if len(self.frontier.peaks) != self.size.bit_count() or not signature_holds(self.head()):
            raise _broken("its head was not signed by us")
        last = connection.execute(select(ENTRY.c.body, ENTRY.c.time).where(ENTRY.c.sequence == self.size - 1)).first()
        if last is None or (leaf_hash(last.body.encode()).hex(), last.time) != (self.last, self.time):
            raise _broken("its last entry is another one")


def stored_subtree(connection: Connection) -> Subtree:
    """The tree that is stored, read only where it is needed."""

    def subtree(start: int, end: int) -> bytes:
        size = end - start
        level = max(size, 1).bit_length() - 1
        if level and level % STRIDE == 0 and size == 1 << level:
            return _node(connection, level, start >> level)
        if size < 1 << STRIDE:
            return _from_leaves(connection, start, end)
        middle = start + split(size)
        return node_hash(subtree(start, middle), subtree(middle, end))

    return subtree


def _from_leaves(connection: Connection, start: int, end: int) -> bytes:
    leaves = select(ENTRY.c.leaf).where(ENTRY.c.sequence >= start, ENTRY.c.sequence < end).order_by(ENTRY.c.sequence)
    part = Frontier()
    for (leaf,) in connection.execute(leaves):
        part.append(bytes.fromhex(leaf))
    if part.size != end - start:
        raise _broken("an entry is missing")
    return part.root()


def _node(connection: Connection, level: int, position: int) -> bytes:
    found = connection.execute(select(NODE.c.hash).where(NODE.c.level == level, NODE.c.position == position)).scalar()
    if found is None:
        raise _broken("a node is missing")
    return bytes.fromhex(found)


def _broken(why: str) -> IntegrityError:
    return IntegrityError(
        f"The tree of the ledger is not what was written: {why}. Nothing is disclosed.",
        remedy="Run: discreet ledger verify, with a head that was kept elsewhere.",
    )


_EXTEND = (
    update(TREE)
    .values({column.name: bindparam(f"new_{column.name}") for column in TREE.columns if column.name != "id"})
    .where(TREE.c.id == 1, TREE.c.size == bindparam("was"))
)
