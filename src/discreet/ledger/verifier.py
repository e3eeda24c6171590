"""The format of the ledger and its offline check, in one file: python verifier.py EXPORT [HEAD ...]

Needs Python and, for signatures, PyNaCl; nothing else of Discreet. An export is one entry per line, as canonical
JSON, and a signed head as its last line. Entries are the leaves of the Merkle tree of RFC 6962, section 2.1; a head is
the root of that tree at one size, signed with Ed25519. Whoever kept an earlier head learns whether anything that it
covers has been changed, left out, put in or moved since.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, NoReturn

HEAD_FORMAT, ROTATION_FORMAT, ROTATED = "discreet-head-1", "discreet-rotation-1", "ledger.rotated"
HEAD_KEYS = ("format", "key", "ledger", "root", "signature", "size", "time")
ENTRY_KEYS = (
    "actor", "budget", "clock", "details", "event", "key", "outcome", "policy", "previous", "risk_after", "risk_before",
    "room", "sequence", "subject", "time",
)  # fmt: skip
NOTHING = "0" * 64
"""The previous hash of the first entry."""

EMPTY_ROOT = hashlib.sha256(b"").digest()
MOST_PROBLEMS = 20


def canonical(value: Mapping[str, Any]) -> bytes:
    """The one way to write a value: ASCII JSON, keys sorted, no spaces.

    >>> canonical({"b": 1, "a": "é"})
    b'{"a":"\\\\u00e9","b":1}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")


def parse(line: bytes) -> dict[str, Any]:
    """The value of a canonical line; anything else is a ValueError."""
    value = json.loads(line, parse_float=_no_float, parse_constant=_no_float)
    if not isinstance(value, dict) or canonical(value) != line:
        raise ValueError("not canonical")
    return value


def _no_float(text: str) -> NoReturn:
    raise ValueError("a float")


def leaf_hash(data: bytes) -> bytes:
    """The hash of a leaf (RFC 6962, 2.1)."""
    return hashlib.sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of an inner node (RFC 6962, 2.1)."""
    return hashlib.sha256(b"\x01" + left + right).digest()


@dataclass
class Frontier:
    """A tree that grows at its end; only the roots of its complete subtrees are kept, the largest first."""

    size: int = 0
    peaks: list[bytes] = field(default_factory=list)

    def append(self, leaf: bytes) -> list[bytes]:
        """Add the hash of one more leaf; gives the roots of the subtrees that it completes, by height."""
        complete, full = [leaf], self.size
        while full & 1:
            complete.append(node_hash(self.peaks.pop(), complete[-1]))
            full >>= 1
        self.peaks.append(complete[-1])
        self.size += 1
        return complete

    def root(self) -> bytes:
        """The Merkle tree hash of the leaves so far."""
        if not self.peaks:
            return EMPTY_ROOT
        node = self.peaks[-1]
        for left in reversed(self.peaks[:-1]):
            node = node_hash(left, node)
        return node


def signed_part(head: Mapping[str, Any]) -> bytes:
    """The bytes of a head that its signature is over: all of it but the signature, canonical."""
    return canonical({name: head[name] for name in HEAD_KEYS if name != "signature"})


def rotation_part(*, ledger: str, key: str, size: int) -> bytes:
    """The bytes with which an old key hands over to a new one, in the ledger's entry of number `size`."""
    return canonical({"format": ROTATION_FORMAT, "key": key, "ledger": ledger, "size": size})


def signature_holds(head: Mapping[str, Any]) -> bool:
    """Was this head signed with the key that it names?"""
    return signed_by(head["key"], signed_part(head), head["signature"])


def signed_by(key: str, message: bytes, signature: str) -> bool:
    """Is this the signature of a message by a public key, both in hex?"""
    from nacl.exceptions import BadSignatureError
    from nacl.signing import VerifyKey

    try:
        VerifyKey(bytes.fromhex(key)).verify(message, bytes.fromhex(signature))
    except (BadSignatureError, ValueError, TypeError):
        return False
    return True


def is_head(value: Any) -> bool:
    """Has this value the shape of a head?"""
    if not isinstance(value, dict) or tuple(sorted(value)) != HEAD_KEYS or value["format"] != HEAD_FORMAT:
        return False
    texts = all(isinstance(value[name], str) for name in HEAD_KEYS if name != "size")
    return texts and type(value["size"]) is int and value["size"] >= 0


@dataclass(frozen=True)
class Verdict:
    """What was checked, and every fault that was found; entries are named by their number, never by their content."""

    size: int
    root: str
    problems: tuple[str, ...]
    heads: int
    """Earlier heads that were given."""

    @property
    def holds(self) -> bool:
        """Is it whole, and does it continue what every given head has seen?"""
        return not self.problems


@dataclass
class Check:
    """Goes through the entries in order and writes down what is wrong."""

    heads: Sequence[Mapping[str, Any]]
    signatures: bool = True
    problems: list[str] = field(default_factory=list)
    tree: Frontier = field(default_factory=Frontier)
    previous: str = NOTHING
    time: str = ""
    roots: dict[int, str] = field(default_factory=dict)
    opening: Mapping[str, Any] = field(default_factory=dict)
    rotations: list[tuple[int, str]] = field(default_factory=list)
    """Sizes from which on heads are signed with another key, and that key."""

    def entry(self, line: bytes) -> list[bytes]:
        """Take one more entry; gives the roots of the subtrees that it completes."""
        number, body = self.tree.size, None
        try:
            body = parse(line)
        except (ValueError, RecursionError):
            self.fault(f"Entry {number} is not canonical JSON.")
        if body is not None and tuple(sorted(body)) != ENTRY_KEYS:
            self.fault(f"Entry {number} has not the keys of an entry.")
        elif body is not None:
            if type(body["sequence"]) is not int or body["sequence"] != number:
                self.fault(f"Entry {number} says that it is another one.")
            if body["previous"] != self.previous:
                self.fault(f"Entry {number} does not follow the entry before it.")
            if not isinstance(body["time"], str) or body["time"] < self.time:
                self.fault(f"Entry {number} is older than the entry before it.")
            else:
                self.time = body["time"]
            details = body["details"] if isinstance(body["details"], dict) else {}
            if number == 0:
                self.opening = details
            elif body["event"] == ROTATED:
                self.rotation(number, details)
        leaf = leaf_hash(line)
        complete = self.tree.append(leaf)
        self.previous = leaf.hex()
        if any(head["size"] == self.tree.size for head in self.heads):
            self.roots[self.tree.size] = self.tree.root().hex()
        return complete

    def rotation(self, number: int, details: Mapping[str, Any]) -> None:
        """Take a new signing key, if the one before it says so."""
        key, was = str(details.get("key")), str(self.key_at(number))
        message = rotation_part(ledger=str(self.opening.get("ledger")), key=key, size=number)
        if self.signatures and not signed_by(was, message, str(details.get("endorsed"))):
            self.fault(f"Entry {number} names a new key that the key before it did not endorse.")
        self.rotations.append((number + 1, key))

    def key_at(self, size: int) -> Any:
        """The key that signs a head over so many entries."""
        return next((key for first, key in reversed(self.rotations) if first <= size), self.opening.get("key"))

    def fault(self, words: str) -> None:
        """Write down what is wrong; after many, no more."""
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(words)

    def finish(self, final: Mapping[str, Any] | None) -> Verdict:
        """Hold the heads against the tree."""
        self.roots.setdefault(0, EMPTY_ROOT.hex())
        if final is None:
            self.fault("There is no signed head at the end.")
        elif final["size"] != self.tree.size or final["root"] != self.tree.root().hex():
            self.fault(f"The head at the end is over {final['size']} entries and not over these {self.tree.size}.")
        for head in chain(self.heads, [] if final is None else [final]):
            name = f"The head over {head['size']} entries"
            if self.signatures and not signature_holds(head):
                self.fault(f"{name} has a wrong signature.")
            if self.opening and head["ledger"] != self.opening.get("ledger"):
                self.fault(f"{name} is of another ledger.")
            if self.opening and head["key"] != self.key_at(head["size"]):
                self.fault(f"{name} is signed with another key than this ledger's at that size.")
            if head["size"] > self.tree.size:
                self.fault(f"{name} has seen more than the {self.tree.size} that are here.")
            elif head["size"] in self.roots and head["root"] != self.roots[head["size"]]:
                self.fault(f"{name} has seen other entries than these.")
        return Verdict(self.tree.size, self.tree.root().hex(), tuple(self.problems), len(self.heads))


def verify(
    entries: Iterable[bytes],
    final: Mapping[str, Any] | None,
    *,
    heads: Sequence[Mapping[str, Any]] = (),
    signatures: bool = True,
) -> Verdict:
    """Check entries against the head at their end and against heads that were kept elsewhere."""
    check = Check(heads, signatures)
    for line in entries:
        check.entry(line)
    return check.finish(final)


def verify_export(
    lines: Iterable[bytes], *, heads: Sequence[Mapping[str, Any]] = (), signatures: bool = True
) -> Verdict:
    """Check an export: its entries, and the head in its last line."""
    check = Check(heads, signatures)
    final: Mapping[str, Any] | None = None
    remaining = iter(lines)
    whole = next(remaining, None)
    while whole is not None:
        following = next(remaining, None)
        line = whole.removesuffix(b"\n")
        if line == whole:
            check.fault("The last line is cut short.")
        if following is None:
            try:
                content = parse(line)
                final = content if is_head(content) else None
            except (ValueError, RecursionError):
                final = None
        if final is None:
            check.entry(line)
        whole = following
    return check.finish(final)


def read_head(path: Path) -> Mapping[str, Any]:
    """A head from its file; a ValueError if it is none."""
    try:
        found = json.loads(path.read_bytes())
    except RecursionError:
        found = None
    if not is_head(found):
        raise ValueError("not a head")
    head: Mapping[str, Any] = found
    return head


def main(words: Sequence[str]) -> int:
    """Check an export against heads; 0 if it holds, 6 if not, 2 if it cannot be checked."""
    if not words:
        print(__doc__)  # noqa: T201 - this file runs on its own
        return 2
    try:
        heads = [read_head(Path(word)) for word in words[1:]]
        with Path(words[0]).open("rb") as lines:
            verdict = verify_export(lines, heads=heads)
    except (OSError, ValueError, ImportError) as error:
        print(f"Cannot check: {type(error).__name__} ({error})", file=sys.stderr)  # noqa: T201
        return 2
    for words_of_it in verdict.problems:
        print(words_of_it)  # noqa: T201
    print(f"{verdict.size} entries, root {verdict.root}: {'whole' if verdict.holds else 'NOT what was written'}.")  # noqa: T201
    return 0 if verdict.holds else 6


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
