"""Governed databases of one gateway: a governor each, and policies read again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.errors import PolicyError
from discreet.gateway.enforcement.governor import Governor
from discreet.gateway.enforcement.verdicts import Closed, Watch, Who
from discreet.gateway.own_connection import ResultRoom
from discreet.gateway.refusals import refused
from discreet.gateway.rights import Hole, look
from discreet.ledger.ledger import Ledger
from discreet.policy import Policy


@dataclass(frozen=True)
class GovernedDatabase:
    """A policy, and the gateway's own login to the database that it is about."""

    policy: Policy
    own: str


class GovernedDatabases:
    """The judge of a gateway: hands every session to the governor of its database."""

    def __init__(
        self,
        chosen: Sequence[GovernedDatabase],
        *,
        ledger: Ledger,
        mode: str | None = None,
        observe: Callable[..., None] = lambda event, **labels: None,
        room: ResultRoom | None = None,
    ) -> None:
        self.room = room or ResultRoom()
        self._ledger, self._mode, self._observe, self._chosen = ledger, mode, observe, tuple(chosen)
        self.governors = self._made(chosen)
        self._replaced: list[Governor] = []

    def _made(self, chosen: Sequence[GovernedDatabase], **more: Any) -> list[Governor]:
        common = {"ledger": self._ledger, "mode": self._mode, "room": self.room, **more}
        governors = [Governor(one.policy, own=one.own, **common) for one in chosen]
        for governor in governors:
            governor.observe = self._observe  # type: ignore[attr-defined, unused-ignore]
        return governors

    @property
    def mode(self) -> str:
        """What is done about results; several databases may differ."""
        return ", ".join(dict.fromkeys(governor.mode for governor in self.governors))

    async def start(self) -> None:
        """Look at every database."""
        await self._begin(self.governors)

    async def _begin(self, governors: Sequence[Governor]) -> None:
        begun: list[Governor] = []
        try:
            for governor in governors:
                await governor.start()
                begun.append(governor)
            names = [governor.database for governor in governors]
            twice = next((name for name in names if names.count(name) > 1), None)
            if twice is not None:
                raise PolicyError(
                    f"Two policies are about the database {twice}.", remedy="Give one --policy and --own per database."
                )
        except BaseException:
            for governor in begun:
                await governor.close()
            raise

    async def reload(self, chosen: Sequence[GovernedDatabase]) -> None:
        """Let other policies hold for those who come from now on; who is there keeps the one they came under.

        If anything is wrong with them, all stays as it is.
        """
        fresh = self._made(
            chosen, clock=self.governors[0].clock
        )  # a clock that was set meanwhile makes nothing forgotten
        await self._begin(fresh)
        self._replaced += self.governors
        self.governors, self._chosen = fresh, tuple(chosen)

    def undermined(self) -> list[Hole]:
        """What enforcing would lack, where only shadow decisions are made; asks the databases."""
        found: list[Hole] = []
        for governor, chosen in zip(self.governors, self._chosen, strict=True):
            if not governor.enforces:
                found += look(chosen.own, chosen.policy)[1]
        return found

    async def admit(self, who: Who) -> Watch | None:
        """The watch over a session, by the governor of its database."""
        for governor in self.governors:
            if governor.database == who.database:
                return await governor.admit(who)
        if all(who.user in governor.section.exempt for governor in self.governors):
            return None
        names = ", ".join(governor.database for governor in self.governors)
        return Closed(refused("this gateway does not govern that database.", hint=f"Connect to {names}."))

    def lacks(self) -> list[str]:
        """What keeps it from answering, in words."""
        found: list[str] = []
        for governor in self.governors:
            holes = getattr(governor, "holes", ())
            found += [hole.problem for hole in holes] if governor.enforces else []
        return found

    def height(self) -> int:
        """How many entries the ledger has: it can be read, if this answers."""
        return int(self._ledger.head()["size"])

    async def accounts(self) -> tuple[Sequence[str], list[tuple[Any, ...]]]:
        """The exposures of users who have come so far."""
        rows = []
        for governor in self.governors:
            for user, account in sorted(governor.accounts.items()):
                await account.load()
                rows.append((governor.database, user, f"{account.value:.6g}"))
        return ("database", "user", "exposure"), rows

    async def close(self) -> None:
        """Write what is still to be written."""
        for governor in [*self.governors, *self._replaced]:
            await governor.close()
