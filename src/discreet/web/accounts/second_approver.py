"""Two people decide: what keeps one person from being both of them.

Who approves must have had an account that could be used before something was asked for, and no person's actions may have
led both to that account and to the one that asked (`descent.py`): neither of the two opened the other's, and nobody opened both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from sqlalchemy import Connection

from discreet.ledger import Entry
from discreet.ledger.entry import Detail
from discreet.ledger.tree import Tree
from discreet.web.accounts import accounts
from discreet.web.descent import Origin, account_entries, replay
from discreet.web.framework.context import Context
from discreet.web.framework.problems import Problem
from discreet.web.permissions import GRANTED

TITLE = "Two people decide"
OTHERS = "Ask another custodian to look at it; an approval is worth something because it is another person's."


@dataclass(frozen=True)
class Asked:
    """Something that one account asked for, and that another has to agree to."""

    asker: str
    entry: int
    """How many entries the ledger had then."""
    verb: str
    """What was done, in the past: planned, proposed."""
    barred: str = ""
    """An account that may not agree for another reason."""


@dataclass(frozen=True)
class Objection:
    """Why an account cannot agree, said to the person whose account it is."""

    problem: str
    why: str
    """The same in a few words, for the ledger."""
    details: Mapping[str, Detail] = field(default_factory=dict)


@dataclass(frozen=True)
class Second:
    """What a page says about who decides."""

    objection: Objection | None
    """Why the person who looks at it cannot."""
    approvers: list[str]
    """Who can."""
    next_step: str
    """The same in words, or what to do if nobody can."""


@dataclass(frozen=True)
class History:
    """All that the ledger says was done to accounts."""

    entries: tuple[Entry, ...]
    _before: dict[int, dict[str, Origin]] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def read(cls, connection: Connection) -> History:
        """From the store."""
        return cls(account_entries(connection))

    @cached_property
    def now(self) -> dict[str, Origin]:
        """Where each account came from, as it is."""
        return replay(self.entries)

    def before(self, entry: int) -> dict[str, Origin]:
        """The same as it was before an entry."""
        if entry not in self._before:
            self._before[entry] = replay(self.entries, before=entry)
        return self._before[entry]

    def objection(self, asked: Asked, decider: str) -> Objection | None:
        """What speaks against this account as the second; None if nothing does."""
        if decider == asked.asker:
            return Objection(f"You {asked.verb} this yourself.", "own")
        if decider == asked.barred:
            return Objection("This is about a database user of your own name.", "about oneself")
        mine, theirs = self.now.get(decider), self.before(asked.entry).get(asked.asker)
        if mine is None or theirs is None:
            whose = "your account" if mine is None else f"the account of {asked.asker}"
            return Objection(f"The ledger does not say how {whose} came about.", "account without a history")
        if mine.since is None or mine.since >= asked.entry:
            return _too_young(asked, mine.since)
        return _one_hand(asked, decider, mine.hands, theirs.hands)

    def view(self, connection: Connection, asked: Asked, decider: str, permission: str) -> Second:
        """What a page says to this account."""
        approvers = self.approvers(connection, asked, permission)
        return Second(self.objection(asked, decider), approvers, remedy(approvers, asked))

    def approvers(self, connection: Connection, asked: Asked, permission: str) -> list[str]:
        """Names of the accounts that can agree, in order."""
        active = [one for one in accounts.everybody(connection) if one.state == "active"]
        able = [one.name for one in active if permission in GRANTED[one.role]]
        return [name for name in able if self.objection(asked, name) is None]


def _too_young(asked: Asked, since: int | None) -> Objection:
    problem = f"Your account could not be used yet, or not as it is now, when {asked.asker} {asked.verb} this"
    where = "" if since is None else f" (entry {since} of the ledger)"
    return Objection(f"{problem}{where}.", "account not older", {"entry": since})


def _one_hand(asked: Asked, decider: str, mine: Mapping[str, int], theirs: Mapping[str, int]) -> Objection | None:
    """What shows that one person could be behind both accounts."""
    shared = mine.keys() & theirs.keys()
    did = "opened {}, gave out a link to {} or changed {}, directly or through others"
    if not shared:
        return None
    if asked.asker in shared:
        entry, who = mine[asked.asker], f"{asked.asker}, who {asked.verb} this,"
        words = f"{who} {did.format('your account', 'its password', 'its role')} (entry {entry} of the ledger)."
        return Objection(words, "account led to by the asker", {"entry": entry})
    if decider in shared:
        entry, whose = theirs[decider], f"the account of {asked.asker}, who {asked.verb} this"
        words = f"You {did.format(whose, 'its password', 'its role')} (entry {entry} of the ledger)."
        return Objection(words, "led to the account of the asker", {"entry": entry})
    hand = min(shared)
    entry, other, both = mine[hand], theirs[hand], f"both your account and that of {asked.asker}"
    words = f"{hand} {did.format(both, 'their passwords', 'their roles')} (entries {entry} and {other} of the ledger)."
    return Objection(words, "accounts led to by one person", {"entry": entry, "other": other})


def moment(connection: Connection) -> int:
    """How many entries the ledger has: what comes later has a number that is not below it."""
    return int(Tree.read(connection).size)


def remedy(approvers: list[str], asked: Asked) -> str:
    """Who can agree, or how the house gets an account that can."""
    if approvers:
        return f"It can be approved by {' or '.join(approvers)}."
    return (
        f"Nobody can approve it yet: no other account is independent of that of {asked.asker}. The operator of this server can "
        "add one (discreet account add NAME) or make an existing one independent (discreet account link NAME). "
        f"Then have it {asked.verb} again."
    )


def require(context: Context, asked: Asked, *, permission: str, event: str, subject: str, **details: Detail) -> None:
    """Refuse, and write down, an approval by an account that is no second person."""
    with context.site.store.reading() as connection:
        history = History.read(connection)
        found = history.objection(asked, context.owner.name)
        if found is None:
            return
        approvers = history.approvers(connection, asked, permission)
    next_step = remedy(approvers, asked)
    raise refuse(context, event, subject, found.problem, next_step, **details, why=found.why, **found.details)


def refuse(context: Context, event: str, subject: str, problem: str, remedy: str, **details: Detail) -> Problem:
    """Write down that it was tried, and say why not."""
    context.site.ledger.refuse(actor=context.owner.name, event=event, subject=subject, details=details)
    return Problem(403, problem, remedy=remedy, title=TITLE)
