"""The tree of RFC 6962: published vectors, and every proof of every small tree."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.ledger.merkle import consistency, consistency_holds, inclusion, inclusion_holds, over
from discreet.ledger.verifier import EMPTY_ROOT, Frontier, leaf_hash, node_hash

# The vectors of the certificate-transparency project (merkletree/merkle_tree_test.cc).
INPUTS = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"]
ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
A, B, C = (
    "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
    "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
    "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
)
D, E = (
    "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
    "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
)
INCLUSION = {(0, 1): [], (0, 8): [A, B, C], (5, 8): [D, E, ROOTS[4]], (2, 3): [ROOTS[2]], (1, 5): [ROOTS[1], B, D]}
CONSISTENCY = {
    (1, 1): [],
    (1, 8): [A, B, C],
    (6, 8): ["0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a", E, ROOTS[4]],
    (2, 5): [B, D],
}
LEAVES = [leaf_hash(bytes.fromhex(text)) for text in INPUTS]
TREE = over(LEAVES)


def hexes(nodes: list[bytes]) -> list[str]:
    return [node.hex() for node in nodes]


@pytest.mark.parametrize("size", range(9))
def test_the_published_roots(size: int) -> None:
    growing = Frontier()
    for leaf in LEAVES[:size]:
        growing.append(leaf)
    assert TREE(0, size).hex() == growing.root().hex() == ROOTS[size]


@pytest.mark.parametrize(("index", "size"), INCLUSION)
def test_the_published_audit_paths(index: int, size: int) -> None:
    assert hexes(inclusion(TREE, index, size)) == INCLUSION[index, size]


@pytest.mark.parametrize(("old", "new"), CONSISTENCY)
def test_the_published_consistency_proofs(old: int, new: int) -> None:
    assert hexes(consistency(TREE, old, new)) == CONSISTENCY[old, new]


def test_leaves_and_nodes_cannot_be_taken_for_each_other() -> None:
    assert leaf_hash(b"") == hashlib.sha256(b"\x00").digest()
    assert node_hash(b"a", b"b") == hashlib.sha256(b"\x01ab").digest()
    assert leaf_hash(b"\x01ab") != node_hash(b"a", b"b")


def brute_root(leaves: list[bytes]) -> bytes:
    """The definition of RFC 6962, 2.1, word by word."""
    if not leaves:
        return EMPTY_ROOT
    if len(leaves) == 1:
        return leaves[0]
    k = 1
    while k * 2 < len(leaves):
        k *= 2
    return node_hash(brute_root(leaves[:k]), brute_root(leaves[k:]))


MANY = [leaf_hash(bytes([number])) for number in range(40)]
ALL = over(MANY)


@pytest.mark.parametrize("size", range(1, 41))
def test_every_proof_of_a_small_tree_holds_and_no_other(size: int) -> None:
    root = ALL(0, size)
    assert root == brute_root(MANY[:size])
    for index in range(size):
        path = inclusion(ALL, index, size)
        assert inclusion_holds(MANY[index], index, size, path, root)
        assert not inclusion_holds(leaf_hash(b"other"), index, size, path, root)
        assert not inclusion_holds(MANY[index], index, size, [*path, root], root)
        assert not path or not inclusion_holds(MANY[index], index, size, path[:-1], root)
        assert not inclusion_holds(MANY[index], index + 1, size, path, root) or size == 1
    for old in range(size + 1):
        path = consistency(ALL, old, size)
        assert consistency_holds(old, ALL(0, old), size, root, path)
        assert not consistency_holds(old, leaf_hash(b"other"), size, root, path)
        assert not consistency_holds(old, ALL(0, old), size, leaf_hash(b"other"), path) or old == 0
        assert not path or not consistency_holds(old, ALL(0, old), size, root, path[:-1])


@given(st.integers(1, 40), st.data())
def test_a_changed_proof_does_not_hold(size: int, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, size - 1))
    path = inclusion(ALL, index, size)
    if path:
        place = data.draw(st.integers(0, len(path) - 1))
        path[place] = leaf_hash(path[place])
        assert not inclusion_holds(MANY[index], index, size, path, ALL(0, size))


@pytest.mark.parametrize(("index", "size"), [(-1, 3), (3, 3), (0, 0)])
def test_there_is_no_proof_for_what_is_not_there(index: int, size: int) -> None:
    assert not inclusion_holds(MANY[0], index, size, [], MANY[0])
    assert not consistency_holds(5, EMPTY_ROOT, 3, EMPTY_ROOT, [])
