"""Which limit holds for a user now, and what happens above it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from discreet.errors import PolicyError
from discreet.gateway.agreed import AgreedLimits
from discreet.gateway.enforcement.interface import Who
from discreet.policy import Policy
from discreet.policy.gateway_section import GatewayPolicy
from discreet.policy.schema import Action


@dataclass(frozen=True)
class Limit:
    """The largest exposure that is allowed, and what happens above it."""

    value: float
    action: Action
    context: str | None = None
    rule: str = ""
    """What set it, as entries write it: `misuse.limit`, `gateway.limits 2`, `agreed 7`."""
    application: str = ""
    """The application, where the rule is about it: then the policy names it."""


@dataclass(frozen=True)
class Limits:
    """The limits of a policy, and those that two people agreed on, which come before them."""

    policy: GatewayPolicy
    otherwise: float | None
    """That of [misuse], for everybody about whom [[gateway.limits]] says nothing."""
    clock: Callable[[], datetime] = datetime.now
    agreed: AgreedLimits | None = None

    @classmethod
    def of(cls, policy: Policy) -> Limits:
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

    def now(self, who: Who, roles: frozenset[str]) -> Limit:
        """What holds for somebody at this moment. What was agreed changes value and action, not the weights."""
        found = self._by_policy(who, roles)
        agreed = self.agreed.now(who.user) if self.agreed is not None else None
        if agreed is None:
            return found
        return replace(found, value=float(agreed.value), action=agreed.action, rule=f"agreed {agreed.id}")

    def _by_policy(self, who: Who, roles: frozenset[str]) -> Limit:
        at = self.clock().time()
        for place, rule in enumerate(self.policy.limits, start=1):
            if rule.fits(user=who.user, roles=roles, application=who.application, address=who.address, at=at):
                value = rule.limit if rule.limit is not None else self.otherwise
                if value is not None:
                    application = who.application if rule.applications else ""
                    action = rule.action or self.policy.action
                    return Limit(value, action, rule.context, f"gateway.limits {place}", application)
        value = self.otherwise if self.otherwise is not None else 0.0
        return Limit(value, self.policy.action, rule="misuse.limit")
