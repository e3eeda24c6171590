"""Watch: the thread that notifies people, publishes heads and verifies daily.

Several processes may watch one store: what is sent is written into the ledger first, under a key of its own, and only the process
whose entry it is sends it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from discreet.errors import DiscreetError, KeyReused
from discreet.ledger import queries
from discreet.ledger.entry import Detail
from discreet.ledger.merkle import MerkleTree
from discreet.operations.channels import Channel, NotDelivered, Notification
from discreet.web.framework.problems import Problem, place_of
from discreet.web.framework.shared_state import Site
from discreet.web.ledger import last_check, verified
from discreet.web.operations import notices

log = logging.getLogger("discreet.web")

PAUSE = 15.0
"""Seconds between two looks."""
MOST_TRIES = 6
"""So often a message is sent that does not get through, each time after a longer while; what waits is in the next digest."""
ACTOR = "discreet"
PUBLISHED = "ledger.published"


@dataclass(frozen=True)
class Unsent:
    """A message that one channel has not taken yet."""

    channel: Channel
    message: Notification
    tries: int
    due: datetime


class StoreWatch:
    """Looks every few seconds for what is to be sent."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.unsent: list[Unsent] = []
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to watch."""
        self._thread = threading.Thread(target=self._run, name="discreet-watch", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop soon; messages that did not get through are in the next digest."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self.look()
            except DiscreetError as error:
                log.warning("watch: %s", error.problem)
            except Exception as error:
                log.error("watch: %s", place_of(error))
            self._stop.wait(PAUSE)

    def look(self) -> None:
        """One round."""
        operations, now = self.site.settings.operations, self.site.now()
        self._send_again(now)
        if operations.notify:
            self._verify_if_old(now)
            with self.site.store.reading() as connection:
                found = notices.everything(connection, now)
                if operations.digest is not None and now.time() >= operations.digest:
                    found.append(notices.digest(connection, now))
            for message in found:
                self._tell(message, operations.notify)
        if operations.heads:
            self._publish_head(now)

    def _tell(self, message: Notification, channels: Sequence[Channel]) -> None:
        """Tell it once, over all processes and restarts."""
        with self.site.store.reading() as connection:
            if queries.by_key(connection, ACTOR, f"notice:{message.key}") is not None:
                return
        named = ", ".join(channel.name for channel in channels)[:400]
        details = {"kind": message.kind, "to": named}
        self._write_and_send(
            "web.notified", f"notice:{message.key}", f"notice:{message.kind}", details, message, channels
        )

    def _publish_head(self, now: datetime) -> None:
        """Send the head if it is new and the last one is old enough."""
        operations = self.site.settings.operations
        with self.site.store.reading() as connection:
            head = MerkleTree.read(connection).head()
            last = next(queries.entries(connection, event=PUBLISHED, last=1), None)
        if last is not None:
            soon = now - datetime.fromisoformat(last.time) < operations.heads_every
            if soon or last.sequence == head["size"] - 1:
                return
        text = (
            f"The signed head of the ledger over {head['size']} entries. Keep it: discreet ledger verify --head FILE."
        )
        message = Notification(
            f"head:{head['size']}", "head", f"Head of the ledger, {head['size']} entries", text, {"head": head}
        )
        details = {
            "size": head["size"],
            "root": head["root"],
            "to": ", ".join(to.name for to in operations.heads)[:400],
        }
        self._write_and_send(PUBLISHED, message.key, "ledger", details, message, operations.heads)

    def _write_and_send(
        self,
        event: str,
        key: str,
        subject: str,
        details: Mapping[str, Detail],
        message: Notification,
        channels: Sequence[Channel],
    ) -> None:
        try:
            receipt = self.site.ledger.record(actor=ACTOR, event=event, key=key, subject=subject, details=details)
        except KeyReused:
            return
        if not receipt.replayed:
            path = message.facts.get("path")
            whole = (
                message
                if path is None
                else replace(message, text=f"{message.text}\n\n{self.site.settings.origin}{path}")
            )
            for channel in channels:
                self._send(Unsent(channel, whole, 0, self.site.now()))

    def _send(self, unsent: Unsent) -> None:
        try:
            unsent.channel.send(unsent.message)
            self.site.events.count("messages", outcome="sent")
        except NotDelivered as error:
            log.warning("watch: a message to %s did not get through: %s", unsent.channel.name, error)
            tries = unsent.tries + 1
            self.site.events.count("messages", outcome="failed")
            if tries < MOST_TRIES:
                later = self.site.now() + timedelta(seconds=PAUSE * 2**tries)
                self.unsent.append(replace(unsent, tries=tries, due=later))

    def _send_again(self, now: datetime) -> None:
        due, self.unsent = [one for one in self.unsent if one.due <= now], [one for one in self.unsent if one.due > now]
        for one in due:
            self._send(one)

    def _verify_if_old(self, now: datetime) -> None:
        with self.site.store.reading() as connection:
            check = last_check(connection)
        if check is not None and now - datetime.fromisoformat(check.time) < self.site.settings.operations.verify_every:
            return
        try:
            verified(self.site, actor=ACTOR)
        except Problem:  # a person verifies it just now
            return
