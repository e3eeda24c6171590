"""Decision on rows against the user's limit, from policy or approval."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import PolicyError, StoreError
from discreet.gateway.analysis.disclosure import SEEN, Publication
from discreet.gateway.enforcement.verdicts import Who
from discreet.kernel.arrays import Flags
from discreet.ledger.entry import timestamp
from discreet.misuse.exposure import Exposure
from discreet.misuse.knowledge import Knowledge, bitmap
from discreet.misuse.scorer import within
from discreet.policy import Policy
from discreet.policy.gateway_section import GatewayPolicy
from discreet.policy.schema import Action
from discreet.store import Store, gateway_limits
from discreet.store.gateway_limits import EVERYBODY, Agreed


@dataclass(frozen=True, eq=False)
class EnforcementOutcome:
    """What becomes of a result."""

    what: str
    """release, subset, mask, alert or deny."""
    after: Exposure
    """What the user knows then."""
    rows: Flags | None = None
    """Of a subset: the rows that go."""
    masked: Mapping[str, Flags] | None = None
    """Of a mask: per attribute the rows in which it is emptied."""


def decide(exposure: Exposure, publication: Publication, limit: ExposureLimit, *, at: float) -> EnforcementOutcome:
    """Release it if all is within the limit; else what the limit's action makes of it."""
    exposure, publication = linked(exposure, publication, at=at)
    whole = exposure.learn(publication.knowledge(), at=at)
    if within(whole.value, limit.value):
        return EnforcementOutcome("release", whole)
    if limit.action == "alert":
        return EnforcementOutcome("alert", whole)
    if limit.action == "subset" and publication.reducible and publication.rows:
        # The most rows of least score whose exposure is within the limit; learning more never lowers it.
        order = np.argsort(record_scores(publication)[: publication.rows], kind="stable")
        behind = np.arange(publication.rows, len(publication.entities))

        def after(number: int) -> Exposure:
            return exposure.learn(publication.knowledge(np.concatenate([order[:number], behind])), at=at)

        number = _largest(len(order), lambda number: within(after(number).value, limit.value))
        if not number:
            return EnforcementOutcome("deny", exposure)
        kept = np.zeros(len(order), dtype=np.bool_)
        kept[order[:number]] = True
        return EnforcementOutcome("subset", after(number), rows=kept)
    if limit.action == "mask" and publication.rows and publication.cells:
        return _mask(exposure, publication, limit, at)
    return EnforcementOutcome("deny", exposure)


def linked(exposure: Exposure, publication: Publication, *, at: float) -> tuple[Exposure, Publication]:
    """What changes where keys were linked to people: who was seen by a key is recognisable, before and from now on."""
    if publication.unmasks:
        everybody = exposure.knowledge.entities() | bitmap(publication.marks)
        exposure = exposure.learn(Knowledge({SEEN: {0.0: everybody}}, {1: everybody}), at=at)
    if any(exposure.knowledge.cell(SEEN, mark) >= 0 for mark in publication.marks):
        publication = replace(publication, crowds=np.ones_like(publication.crowds))
    return exposure, publication


def record_scores(publication: Publication) -> NDArray[np.float64]:
    """What each row weighs by itself: its weights added up to at most 1, divided by D."""
    sums = np.zeros(len(publication.entities))
    for name in sorted(publication.weights):
        sums += np.maximum(publication.weights[name], 0.0)
    return np.divide(np.minimum(sums, 1.0), publication.crowds)


def _mask(exposure: Exposure, publication: Publication, limit: ExposureLimit, at: float) -> EnforcementOutcome:
    """The heaviest cells of the heaviest rows are emptied, as few as the limit asks for, row by row.

    Each row loses its heaviest cells until it weighs no more than some bound; the bound is the largest of the rows'
    own scores with which all is within the limit.
    """
    bounds = np.unique(np.append(record_scores(publication), 0.0))

    def after(number: int) -> Exposure:
        return exposure.learn(publication.knowledge(masked=_emptied(publication, bounds[number - 1])), at=at)

    number = _largest(len(bounds), lambda number: within(after(number).value, limit.value))
    if not number:
        return EnforcementOutcome("deny", exposure)
    shown = {name: its[: publication.rows] for name, its in _emptied(publication, bounds[number - 1]).items()}
    return EnforcementOutcome("mask", after(number), masked=shown)


def _emptied(publication: Publication, bound: float) -> dict[str, Flags]:
    names = sorted(publication.weights)
    left = np.array([publication.weights[name] for name in names])
    empty = np.zeros(left.shape, dtype=np.bool_)
    can = np.array([name in publication.cells for name in names])
    heavy = np.arange(publication.rows)
    for _ in range(int(can.sum())):
        sums = np.minimum(np.maximum(left[:, heavy], 0.0).sum(axis=0), 1.0) / publication.crowds[heavy]
        heavy = heavy[sums > bound]
        if not len(heavy):
            break
        worst = np.where(can[:, None], left[:, heavy], -1.0).argmax(axis=0)
        left[worst, heavy], empty[worst, heavy] = 0.0, True
    return {name: empty[place] for place, name in enumerate(names) if can[place]}


def _largest(most: int, holds: Callable[[int], bool]) -> int:
    """The largest number up to `most` for which something holds that holds for all smaller ones; 0 if for none."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if holds(middle):
            low = middle
        else:
            high = middle - 1
    return low


def adds_nothing(before: Exposure, after: Exposure) -> bool:
    """Whether nothing was learned, not even again in a later time."""
    starts = [start for start, part in after.buckets.items() if not _same(before.buckets.get(start), part)]
    return not starts and len(before.buckets) == len(after.buckets) and _same(before.knowledge, after.knowledge)


def _same(one: Knowledge | None, other: Any) -> bool:
    if one is None or one.crowds is not other.crowds or len(one.weights) != len(other.weights):
        return False
    return all(its is other.weights.get(name) for name, its in one.weights.items())


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
