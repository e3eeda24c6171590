"""Proofs about the Merkle tree of RFC 6962: that an entry is in it, and that it only ever grew.

A tree is given as `Subtree`: a function from a range of leaves to the hash of that part, so that proofs can be made
from whatever is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from discreet.ledger.verifier import EMPTY_ROOT, node_hash

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
