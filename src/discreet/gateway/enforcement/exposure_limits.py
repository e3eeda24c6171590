"""Exposure limits: which holds for a user now, from the policy or from what two people agreed on."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from discreet.errors import PolicyError, StoreError
from discreet.gateway.enforcement.verdicts import Who
from discreet.ledger.entry import timestamp
from discreet.policy import Policy
from discreet.policy.gateway_section import GatewayPolicy
from discreet.policy.schema import Action
from discreet.store import Store, gateway_limits
from discreet.store.gateway_limits import EVERYBODY, Agreed

# Limits that two people agreed on in the web application, as this gateway last read them.
#
# They are read when a session begins and every few seconds, beside the loop that serves everybody. If the store cannot be
# read, the last known ones hold, but none longer than its own end. What is asked while a result is judged is memory.
_LOG = logging.getLogger("discreet.gateway")
UTC_NOW = partial(datetime.now, UTC)


class AgreedLimits:
    """The limits of one database that hold, by the name of the user."""

    def __init__(self, store: Store, database: str, *, clock: Callable[[], datetime] = UTC_NOW) -> None:
        self._store, self._database, self._clock = store, database, clock
        self._known: dict[str, Agreed] = {}

    def read(self) -> None:
        """Look into the store; what is known stays if that fails."""
        try:
            with self._store.reading() as connection:
                found = gateway_limits.in_force(connection, self._database, now=timestamp(self._clock()))
        except StoreError as problem:
            _LOG.warning("limits could not be read, the last known ones hold: %s", problem.problem)
            return
        self._known = {one.name: one for one in found}

    def now(self, user: str) -> Agreed | None:
        """The limit of a user, or else of everybody; None where nobody agreed on one, or its time is over."""
        known = self._known
        if not known:
            return None
        moment = timestamp(self._clock())
        own, everybody = known.get(user) if user != EVERYBODY else None, known.get(EVERYBODY)
        return next((one for one in (own, everybody) if one is not None and one.holds(moment)), None)


# Which limit holds for a user now, and what happens above it.
@dataclass(frozen=True)
class ExposureLimit:
    """The largest exposure that is allowed, and what happens above it."""

    value: float
    action: Action
    context: str | None = None
    rule: str = ""
    """What set it, as entries write it: `misuse.limit`, `gateway.limits 2`, `agreed 7`."""
    application: str = ""
    """The application, where the rule is about it: then the policy names it."""


@dataclass(frozen=True)
class ExposureLimits:
    """The limits of a policy, and those that two people agreed on, which come before them."""

    policy: GatewayPolicy
    otherwise: float | None
    """That of [misuse], for everybody about whom [[gateway.limits]] says nothing."""
    clock: Callable[[], datetime] = datetime.now
    agreed: AgreedLimits | None = None

    @classmethod
    def of(cls, policy: Policy) -> ExposureLimits:
        """Those of a policy; a limit must hold for everybody."""
        section = policy.gateway or GatewayPolicy()
        everybody = any(
            rule.limit is not None and rule == type(rule)(limit=rule.limit, action=rule.action, context=rule.context)
            for rule in section.limits
        )
        if policy.misuse.limit is None and not everybody:
            raise PolicyError(
                "no limit holds for everybody.",
                remedy="Set `limit` in [misuse], or end [[gateway.limits]] with one that has only a limit.",
                file=policy.file,
            )
        return cls(section, policy.misuse.limit)

    def now(self, who: Who, roles: frozenset[str]) -> ExposureLimit:
        """What holds for somebody at this moment. What was agreed changes value and action, not the weights."""
        at = self.clock().time()
        otherwise = self.otherwise if self.otherwise is not None else 0.0
        found = ExposureLimit(otherwise, self.policy.action, rule="misuse.limit")
        for place, rule in enumerate(self.policy.limits, start=1):
            value = rule.limit if rule.limit is not None else self.otherwise
            fits = rule.fits(user=who.user, roles=roles, application=who.application, address=who.address, at=at)
            if fits and value is not None:
                action, application = rule.action or self.policy.action, who.application if rule.applications else ""
                found = ExposureLimit(value, action, rule.context, f"gateway.limits {place}", application)
                break
        agreed = self.agreed.now(who.user) if self.agreed is not None else None
        if agreed is None:
            return found
        return replace(found, value=float(agreed.value), action=agreed.action, rule=f"agreed {agreed.id}")
