"""Ledger: every disclosure is requested here, and happens after its entry is stored."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from types import TracebackType
from typing import Any, TypedDict, TypeVar, Unpack

from sqlalchemy import Connection, insert, select

from discreet.errors import DiscreetError, IntegrityError, StoreError, UsageError
from discreet.kernel import Amount, exact
from discreet.ledger import merkle, queries
from discreet.ledger.accounts import Accounts, Budget
from discreet.ledger.commit import Batch, Clock, Writer, keys_of
from discreet.ledger.entry import Detail, Entry, text, timestamp
from discreet.ledger.keys import Keys, kept_in_file, place_of
from discreet.ledger.merkle import MerkleTree, stored_subtree
from discreet.ledger.operations import Close, Hold, Limit, Note, Receipt, Request, Spend
from discreet.ledger.verifier import ROTATED, Verdict, rotation_part
from discreet.store import Store
from discreet.store.tables.ledger import ENTRY, RESERVATION

Result = TypeVar("Result")
MOST_PARTS = 10**15
LONGEST_HOLD = 366 * 24 * 3600


class About(TypedDict, total=False):
    """What every request may say about itself."""

    subject: str
    """What it is about, from the general to the particular: `project:7/pair:12`."""
    risk_before: Amount | None
    risk_after: Amount | None
    policy: str | None
    details: Mapping[str, Detail] | None
    along: Callable[[Connection], object] | None


@dataclass
class _Refusals:
    """Refusals of an actor and event within a minute: the first, which is an entry, and how many more."""

    minute: str
    receipt: Receipt
    more: int = 0


def utc_now() -> datetime:
    """What the clock of this machine says."""
    return datetime.now(UTC)


class Ledger:
    """Append-only, with budgets that only it spends. Safe to share between threads; open it once per process.

    >>> import tempfile, pathlib
    >>> with Ledger.open(pathlib.Path(tempfile.mkdtemp()) / "store.db") as ledger:
    ...     ledger.set_budget("ann", limit=3, actor="custodian").granted
    ...     ledger.spend("ann", 2, actor="ann", event="linkage.revealed", key="a", subject="pair:1").left
    ...     ledger.spend("ann", 2, actor="ann", event="linkage.revealed", key="b", subject="pair:2").granted
    True
    Fraction(1, 1)
    False
    """

    def __init__(self, store: Store, *, keys: Keys | None = None, clock: Clock = utc_now) -> None:
        self.store = store
        self._clock = clock
        self._writer = Writer(store, keys=open_tree(store, keys, clock), clock=clock)
        self._refusals: dict[tuple[str, str], _Refusals] = {}
        self._refusals_lock = threading.Lock()

    @classmethod
    def open(
        cls, address: str | os.PathLike[str] | None = None, *, clock: Clock = utc_now, create: bool = True
    ) -> Ledger:
        """Open the ledger of a store; without an address the one in DISCREET_STORE, or the default file."""
        store = Store.open(address, create=create)
        try:
            return cls(store, clock=clock)
        except BaseException:
            store.close()
            raise

    @property
    def keys(self) -> Keys:
        """The secrets, as they were when this process wrote last."""
        return self._writer.keys

    # -- writing down and spending ------------------------------------------------------------------------------

    def submit(self, request: Request) -> Future[Receipt]:
        """Hand in a request without waiting, as asynchronous callers do (`asyncio.wrap_future`)."""
        return self._writer.submit(request)

    def record(self, *, actor: str, event: str, key: str | None = None, **about: Unpack[About]) -> Receipt:
        """Write down what costs no budget."""
        return self.submit(Request.of(actor=actor, event=event, key=key, **about)).result()

    def refuse(self, *, actor: str, event: str, key: str | None = None, **about: Unpack[About]) -> Receipt:
        """Write down that something was refused."""
        return self.submit(Request.of(actor=actor, event=event, key=key, step=Note(refused=True), **about)).result()

    def refuse_often(self, *, actor: str, event: str, **about: Unpack[About]) -> Receipt:
        """Write down a refusal, but no more than one a minute of an actor and event; the others are counted.

        So that a person who clicks a thousand times at what they may not have does not bury other entries. The count of a minute is
        an entry of its own, as soon as the minute is over (`write_counts`) or the ledger is closed.
        """
        minute = timestamp(self._clock())[:16]
        with self._refusals_lock:
            last = self._refusals.get((actor, event))
            if last is not None and last.minute == minute:
                last.more += 1
                return last.receipt
        self.write_counts()
        receipt = self.refuse(actor=actor, event=event, **about)
        with self._refusals_lock:
            self._refusals.setdefault((actor, event), _Refusals(minute, receipt))
        return receipt

    def write_counts(self, *, all_of_them: bool = False) -> None:
        """Write down how many more refusals there were in minutes that are over."""
        minute = timestamp(self._clock())[:16]
        with self._refusals_lock:
            over = {key: last for key, last in self._refusals.items() if all_of_them or last.minute != minute}
            for key in over:
                del self._refusals[key]
        for (actor, event), last in over.items():
            if last.more:
                about: dict[str, Detail] = {
                    "more": last.more,
                    "minute": f"{last.minute}Z",
                    "first": last.receipt.sequence,
                }
                self.refuse(actor=actor, event=event, subject=last.receipt.entry.subject, details=about)

    def spend(
        self,
        budget: str,
        cost: Amount | None = None,
        *,
        actor: str,
        event: str,
        key: str,
        to: Amount | None = None,
        version: int | None = None,
        **about: Unpack[About],
    ) -> Receipt:
        """Spend a cost, or what is missing up to a total (`to`), if that much is left; the receipt says whether.

        The same key again gives the first outcome again, also a refusal. With the `version` of a budget that was
        looked at, nothing happens if it has changed since (`Outdated`).
        """
        step = Spend(budget, *_price(cost, to), version)
        return self.submit(Request.of(actor=actor, event=event, key=key, step=step, **about)).result()

    def disclose(
        self,
        send: Callable[[Receipt], Result],
        *,
        actor: str,
        event: str,
        key: str,
        budget: str | None = None,
        cost: Amount | None = None,
        **about: Unpack[About],
    ) -> Result:
        """Call `send` once its entry is durable; raise the refusal, and do not call it, if the budget says no."""
        step = Note() if budget is None else Spend(budget, *_price(cost, None))
        receipt = self.submit(Request.of(actor=actor, event=event, key=key, step=step, **about)).result()
        return send(receipt.require())

    def reserve(
        self,
        budget: str,
        cost: Amount | None = None,
        *,
        actor: str,
        event: str,
        key: str,
        to: Amount | None = None,
        version: int | None = None,
        seconds: int = 300,
        **about: Unpack[About],
    ) -> Receipt:
        """Hold back what something may cost, until it is settled or released. Nobody forgets it: it expires as spent."""
        if not 1 <= seconds <= LONGEST_HOLD:
            raise UsageError("A reservation lasts from a second to a year.", remedy="Give `seconds` in between.")
        step = Hold(budget, *_price(cost, to), version, seconds)
        return self.submit(Request.of(actor=actor, event=event, key=key, step=step, **about)).result()

    def settle(self, reservation: Receipt, cost: Amount | None = None, **about: Unpack[About]) -> Receipt:
        """What was reserved has happened: spend what it cost (all that was held, if not said), free the rest."""
        return self._close(reservation, "settled", None if cost is None else exact(cost), about)

    def release(self, reservation: Receipt, **about: Unpack[About]) -> Receipt:
        """What was reserved will not happen: free all of it. Only for what certainly did not reach anybody."""
        return self._close(reservation, "released", None, about)

    def _close(self, reservation: Receipt, outcome: str, cost: Fraction | None, about: About) -> Receipt:
        entry = reservation.entry
        step = Close(entry.sequence, outcome, cost)
        said: About = {"subject": entry.subject, "policy": entry.policy, **about}
        key = f"close:{entry.sequence}"
        return self.submit(Request.of(actor=entry.actor, event=entry.event, key=key, step=step, **said)).result()

    def expire(self) -> list[Receipt]:
        """Count as spent what was reserved and never settled: whether it was delivered is not known."""
        with self.store.reading() as connection:
            now = max(timestamp(self._clock()), MerkleTree.read(connection).time)
            late = select(RESERVATION.c.sequence).where(RESERVATION.c.closed.is_(None), RESERVATION.c.expires <= now)
            held = queries.receipts(connection, connection.execute(late).scalars().all())
        return [self._close(receipt, "expired", None, {}) for receipt in held]

    def set_budget(
        self,
        name: str,
        *,
        limit: Amount,
        parts: int | None = None,
        actor: str,
        key: str | None = None,
        **about: Unpack[About],
    ) -> Receipt:
        """Make a budget or change its limit. One is divided into `parts` (1): costs are rounded up, limits down."""
        amount = exact(limit)
        if amount < 0 or (parts is not None and not 1 <= parts <= MOST_PARTS):
            raise UsageError("A limit is not negative, and one has between 1 and 10^15 parts.", remedy="Check both.")
        step = Limit(text(name, "budget"), amount, parts)
        return self.submit(Request.of(actor=actor, event="ledger.budget", key=key, step=step, **about)).result()

    # -- reading and proving ------------------------------------------------------------------------------------

    def budget(self, name: str) -> Budget:
        """One budget."""
        with self.store.reading() as connection:
            return queries.budget(connection, name)

    def budgets(self) -> list[Budget]:
        """All budgets, by name."""
        with self.store.reading() as connection:
            return queries.budgets(connection)

    def receipt(self, *, actor: str, key: str) -> Receipt | None:
        """The outcome of an earlier request; None if there is no such entry."""
        with self.store.reading() as connection:
            return queries.by_key(connection, actor, key)

    def entries(self, **wanted: Unpack[queries.EntryFilter]) -> Iterator[Entry]:
        """Entries in order; `last=20` gives the newest twenty, the other arguments choose."""
        with self.store.reading() as connection:
            yield from queries.entries(connection, **wanted)

    def export(self) -> Iterator[bytes]:
        """All of it, line by line, as the offline verifier reads it."""
        with self.store.reading() as connection:
            yield from queries.export(connection)

    def head(self) -> dict[str, Any]:
        """The signed head: keep it where nobody who can write to the store can change it."""
        with self.store.reading() as connection:
            return MerkleTree.read(connection).head()

    def prove_inclusion(self, sequence: int, *, size: int | None = None) -> list[str]:
        """The hashes that lead from an entry to the root of the tree of this size (RFC 6962, 2.1.1)."""
        with self.store.reading() as connection:
            whole = _size(connection, size)
            if not 0 <= sequence < whole:
                raise UsageError(f"The ledger has no entry {sequence} among its first {whole}.", remedy="See its head.")
            return [node.hex() for node in merkle.inclusion(stored_subtree(connection), sequence, whole)]

    def prove_consistency(self, old: int, *, size: int | None = None) -> list[str]:
        """The hashes that show that the ledger of an old size is the beginning of this one (RFC 6962, 2.1.2)."""
        with self.store.reading() as connection:
            whole = _size(connection, size)
            if not 0 <= old <= whole:
                raise UsageError(f"The ledger has {whole} entries and never had {old} before.", remedy="See its head.")
            return [node.hex() for node in merkle.consistency(stored_subtree(connection), old, whole)]

    def verify(self, *, heads: list[Mapping[str, Any]] | None = None) -> Verdict:
        """Check everything that is stored, against itself and against heads that were kept elsewhere."""
        with self.store.reading() as connection:
            keys = keys_of(MerkleTree.read(connection), self.keys, self.store.address)
            return queries.check_store(connection, heads=heads or [], keys=keys)

    def fingerprint(self, value: str | bytes) -> str:
        """The keyed hash of a value, to be written down instead of it where its identity matters."""
        return self.keys.fingerprint(value)

    def close(self) -> None:
        """Write what waits, then close the store."""
        try:
            self.write_counts(all_of_them=True)
        except (StoreError, IntegrityError):  # the store cannot be written any more: the first of each minute is in it
            self._refusals.clear()
        self._writer.close()
        self.store.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Ledger({self.store.address})"


def _price(cost: Amount | None, to: Amount | None) -> tuple[Fraction | None, Fraction | None]:
    if (cost is None) == (to is None):
        raise UsageError("A spend says what it costs, or up to which total.", remedy="Give `cost` or `to`.")
    price, total = (None if amount is None else exact(amount) for amount in (cost, to))
    if (price or 0) < 0 or (total or 0) < 0:
        raise UsageError("A cost is not negative.", remedy="Nothing is ever given back; raise the limit instead.")
    return price, total


def _size(connection: Connection, size: int | None) -> int:
    whole = MerkleTree.read(connection).size
    if size is not None and not 0 <= size <= whole:
        raise UsageError(f"The ledger has {whole} entries, not {size}.", remedy="See its head.")
    return whole if size is None else size


# Opening a ledger: the first time it gets its name, its keys and its first entry; later its keys must be the same.
FORMAT = "discreet-ledger-1"


def open_tree(store: Store, keys: Keys | None, clock: Clock) -> Keys:
    """The keys of this ledger, which is made if it is new."""
    with store.reading() as connection:
        tree = MerkleTree.read(connection)
    if not tree.opened:
        keys = keys or Keys.of_store(store.address) or Keys.make(place_of(store.address))
        with store.writing() as connection:
            tree = MerkleTree.lock(connection)
            if not tree.opened:
                tree.open(secrets.token_hex(16), keys)
                details = {"format": FORMAT, "ledger": tree.ledger, "key": tree.key, "values": tree.values_check}
                _append(connection, tree, clock, "discreet", "ledger.opened", "opening", details)
                tree.save(connection, keys, was=0)
    keys = keys or Keys.of_store(store.address) or Keys.load(place_of(store.address))
    if (tree.key, tree.values_check) != (keys.for_tree(tree.key).public, keys.values_check):
        raise IntegrityError(
            f"The ledger in {store.address} was opened with other keys than those in {place_of(store.address)}.",
            remedy="Say in DISCREET_KEYS where its file of keys is; every program that writes to it needs the same.",
        )
    return keys.for_tree(tree.key)


def rotate_key(store: Store, *, actor: str, clock: Clock = utc_now) -> Entry:
    """Let a new key sign the heads from now on; heads that the old one signed still verify.

    Three steps, each whole or not at all: the new key is stored beside the old one; an entry in which the old key endorses it
    is written, signed with the new one; the old key is forgotten. Stopped in between, all programs go on, and this goes on when
    it is run again.
    """
    with store.reading() as connection:
        tree = MerkleTree.read(connection)
    place, given = place_of(store.address), Keys.of_store(store.address)
    keys = keys_of(tree, given, store.address)
    if given is None or given.following is None:
        if not kept_in_file():
            raise UsageError(
                "The keys are not in a file, so this command cannot store the next one.",
                remedy="Print them with the next one, `discreet ledger rotate-key --prepare`, store that, and run this again.",
            )
        given = keys.with_following()
        given.save(place)
    new = replace(given, signing=given.following or b"", following=None)
    if keys.public != new.public:  # else it was stopped after the entry
        with store.writing() as connection:
            tree = MerkleTree.lock(connection)
            tree.check(connection, None)
            keys, was = keys_of(tree, given, store.address), tree.size
            endorsed = keys.sign(rotation_part(ledger=tree.ledger, key=new.public, size=was))
            details: dict[str, Detail] = {"key": new.public, "was": tree.key, "endorsed": endorsed}
            _append(connection, tree, clock, actor, ROTATED, f"rotation:{new.public}", details)
            tree.key = new.public
            tree.save(connection, new, was=was)
    if kept_in_file():
        new.save(place)
    with store.reading() as connection:
        return next(queries.entries(connection, event=ROTATED, last=1))


def _append(
    connection: Connection,
    tree: MerkleTree,
    clock: Clock,
    actor: str,
    event: str,
    key: str,
    details: Mapping[str, Detail],
) -> None:
    """Write one entry by ourselves: those that say which key signs."""
    batch = Batch(connection, tree, Accounts(), timestamp(clock()), {})
    outcome = batch.take(Request.of(actor=actor, event=event, key=key, details=details))
    if isinstance(outcome, DiscreetError):
        raise outcome
    connection.execute(insert(ENTRY), batch.rows)
