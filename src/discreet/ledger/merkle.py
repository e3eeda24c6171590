"""Merkle tree: proofs, and the tree of a ledger in its store.

A tree is given as `Subtree`: a function from a range of leaves to the hash of that part, so that proofs can be made
from whatever is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select, update

from discreet.errors import IntegrityError
from discreet.ledger.keys import Keys
from discreet.ledger.verifier import (
    EMPTY_ROOT,
    HEAD_FORMAT,
    NOTHING,
    Frontier,
    leaf_hash,
    node_hash,
    signature_holds,
    signed_part,
)
from discreet.store.tables.ledger import ENTRY, NODE, TREE

Subtree = Callable[[int, int], bytes]
"""The Merkle tree hash of the leaves from a start to before an end."""


def split(size: int) -> int:
    """The largest power of two below a size: where the tree parts (RFC 6962, 2.1).

    >>> [split(size) for size in (2, 3, 4, 5, 8, 9)]
    [1, 2, 2, 4, 4, 8]
    """
    return 1 << (size - 1).bit_length() - 1


def over(leaves: Sequence[bytes]) -> Subtree:
    """The tree over hashes of leaves that are at hand.

    >>> from discreet.ledger.verifier import leaf_hash
    >>> over([leaf_hash(b"")])(0, 1).hex()[:16]
    '6e340b9cffb37a98'
    """

    def subtree(start: int, end: int) -> bytes:
        if end == start:
            return EMPTY_ROOT
        if end - start == 1:
            return leaves[start]
        middle = start + split(end - start)
        return node_hash(subtree(start, middle), subtree(middle, end))

    return subtree


def inclusion(subtree: Subtree, index: int, size: int) -> list[bytes]:
    """The audit path of a leaf in the tree of this size (RFC 6962, 2.1.1)."""
    path, start, end = [], 0, size
    while end - start > 1:
        middle = start + split(end - start)
        if index < middle:
            path.append(subtree(middle, end))
            end = middle
        else:
            path.append(subtree(start, middle))
            start = middle
    return path[::-1]


def consistency(subtree: Subtree, old: int, new: int) -> list[bytes]:
    """The proof that the tree of the old size is the beginning of the tree of the new one (RFC 6962, 2.1.2)."""
    if old in (0, new):
        return []
    path, start, end, whole = [], 0, new, True
    while old != end:
        middle = start + split(end - start)
        if old <= middle:
            path.append(subtree(middle, end))
            end = middle
        else:
            path.append(subtree(start, middle))
            start, whole = middle, False
    return ([] if whole else [subtree(start, end)]) + path[::-1]


def inclusion_holds(leaf: bytes, index: int, size: int, path: Sequence[bytes], root: bytes) -> bool:
    """Does the path lead from this leaf, at this place, to the root?"""
    if not 0 <= index < size:
        return False
    node, place, last = leaf, index, size - 1
    for step in path:
        if last == 0:
            return False
        if place & 1 or place == last:
            node = node_hash(step, node)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            node = node_hash(node, step)
        place, last = place >> 1, last >> 1
    return last == 0 and node == root


def consistency_holds(old: int, old_root: bytes, new: int, new_root: bytes, path: Sequence[bytes]) -> bool:
    """Does the proof show that the old tree is the beginning of the new one?"""
    if not 0 <= old <= new:
        return False
    if old == new:
        return not path and old_root == new_root
    if old == 0:
        return not path and old_root == EMPTY_ROOT
    steps = list(path)
    place, last = old - 1, new - 1
    while place & 1:
        place, last = place >> 1, last >> 1
    if place and not steps:
        return False
    first = second = steps.pop(0) if place else old_root
    for step in steps:
        if last == 0:
            return False
        if place & 1 or place == last:
            first, second = node_hash(step, first), node_hash(step, second)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            second = node_hash(second, step)
        place, last = place >> 1, last >> 1
    return last == 0 and first == old_root and second == new_root


# The tree as it is stored: the one row that every writer locks, checks, extends and signs.
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
            node = select(NODE.c.hash).where(NODE.c.level == level, NODE.c.position == start >> level)
            stored = connection.execute(node).scalar()
            if stored is None:
                raise _broken("a node is missing")
            return bytes.fromhex(stored)
        if size < 1 << STRIDE:
            leaves = select(ENTRY.c.leaf).where(ENTRY.c.sequence >= start, ENTRY.c.sequence < end)
            part = Frontier()
            for (leaf,) in connection.execute(leaves.order_by(ENTRY.c.sequence)):
                part.append(bytes.fromhex(leaf))
            if part.size != size:
                raise _broken("an entry is missing")
            return part.root()
        middle = start + split(size)
        return node_hash(subtree(start, middle), subtree(middle, end))

    return subtree


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
