"""Which limit holds for a user now, and what happens above it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from discreet.errors import PolicyError
from discreet.gateway.judge import Who
from discreet.policy import Policy
from discreet.policy.gateway import GatewayPolicy
from discreet.policy.schema import Action


@dataclass(frozen=True)
class Limit:
    """The largest exposure that is allowed, and what happens above it."""

    value: float
    action: Action
    context: str | None = None


@dataclass(frozen=True)
class Limits:
    """The limits of a policy."""

    policy: GatewayPolicy
    otherwise: float | None
    """That of [misuse], for everybody about whom [[gateway.limits]] says nothing."""
    clock: Callable[[], datetime] = datetime.now

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
        """What holds for somebody at this moment."""
        at = self.clock().time()
        for rule in self.policy.limits:
            if rule.fits(user=who.user, roles=roles, application=who.application, address=who.address, at=at):
                value = rule.limit if rule.limit is not None else self.otherwise
                if value is not None:
                    return Limit(value, rule.action or self.policy.action, rule.context)
        return Limit(self.otherwise if self.otherwise is not None else 0.0, self.policy.action)
