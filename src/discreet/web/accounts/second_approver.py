"""Second approver: two independent people must decide.

The approver must have had a usable account before something was asked for, and no person's actions may have led both to that
account and to the one that asked: neither of the two opened the other's, and nobody opened both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from sqlalchemy import Connection, literal, select

from discreet.ledger import Entry
from discreet.ledger.entry import Detail
from discreet.ledger.merkle import MerkleTree
from discreet.store.tables.ledger import ENTRY
from discreet.store.tables.web import ACCOUNT
from discreet.web.accounts import accounts
from discreet.web.accounts.accounts import Act
from discreet.web.framework.context import Context
from discreet.web.framework.permissions import GRANTED
from discreet.web.framework.problems import Problem
from discreet.web.ledger import entry_of

# Whose actions led to an account: who invited it, gave out the links to its passwords, changed its role or opened it again.
#
# Replayed from the ledger, where nobody can change it afterwards, entry by entry, so that it is known for any moment. A link
# counts once it is used, for the account that made it: its person has seen it. It counts for good, since a later link may have
# been asked for in the name of another. Only the operator, on the command line, puts an account into the hands of one person
# alone: by making it, or by a link that is used.
HARMLESS = frozenset(
    {Act.SIGNED_OUT, Act.PASSWORD_CHANGED, Act.TOKEN_MADE, Act.TOKEN_REVOKED}
    | {Act.FACTOR_SET, Act.FACTOR_REMOVED, Act.PASSKEY_ADDED, Act.PASSKEY_REMOVED, Act.CODES_MADE}
    | {Act.ROLE_PROPOSED, Act.ROLE_REJECTED, Act.ROLE_WITHDRAWN}
)
"""Acts that put an account into nobody's hands and leave it as it was; what is not known to be harmless counts."""


@dataclass
class AccountOrigin:
    """Where an account came from."""

    hands: Mapping[str, int]
    """Everybody whose actions led to it, its own name included, each with the entry by which."""
    since: int | None = None
    """The entry since which it could be used without a break; None while it cannot be."""
    offered: Mapping[str, int] | None = field(default_factory=dict)
    """Whose hands come in with the link that waits to be used; None for a link of the operator."""
    has_password: bool = False


def replay(entries: Iterable[Entry], *, before: int | None = None) -> dict[str, AccountOrigin]:
    """The origin of every account after these entries, or as it was before one."""
    origins: dict[str, AccountOrigin] = {}
    for entry in entries:
        number = entry.sequence
        if before is not None and number >= before:
            break
        name, act = entry.subject.removeprefix("account:"), entry.details.get("act")
        account = origins.setdefault(name, AccountOrigin({name: number}))
        # Whose hands an act brings in: of the one who acts, and of everybody behind them at that moment.
        # For a role these are two: who proposed it, and who approved.
        leading = [str(name) for name in (entry.actor, entry.details.get("proposed_by")) if name]
        behind = [hand for name in leading if name in origins for hand in origins[name].hands]
        reach = dict.fromkeys((*behind, *leading), number)
        match act:
            case Act.MADE | Act.SSO_MADE:
                account.has_password, account.since = True, number
            case Act.INVITED | Act.LINKED:
                account.offered = reach
            case Act.OPERATOR_INVITED | Act.OPERATOR_LINKED:
                account.offered = None
            case Act.PASSWORD_SET:
                if account.offered is None:  # a link of the operator shuts out everybody who was behind it before
                    account.hands, account.since = {name: number}, number
                else:
                    account.hands = {**account.offered, **account.hands}
                account.offered, account.has_password = {}, True
                account.since = number if account.since is None else account.since
            case Act.CLOSED:
                account.since = None
            case Act.REOPENED:
                # An administrator who brings back the account of a person who has left may know its password.
                account.hands = {**reach, **account.hands}
                account.since = number if account.has_password else None
            case _ if act not in HARMLESS:  # such as a change of the role
                account.hands = {**reach, **account.hands}
                account.since = None if account.since is None else number
    return origins


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
    """An account that may not agree because it is about them."""
    about: str = "This is about a database user of your own name."
    """What an account that is barred is told."""


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
    _before: dict[int, dict[str, AccountOrigin]] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def read(cls, connection: Connection) -> History:
        """From the store."""
        about = ENTRY.c.subject == literal("account:") + ACCOUNT.c.name  # by the index of subjects, however long
        done = (ENTRY.c.event == "web.account", ENTRY.c.outcome == "done")
        query = select(ENTRY.c.sequence, ENTRY.c.body).join(ACCOUNT, about).where(*done).order_by(ENTRY.c.sequence)
        return cls(tuple(entry_of(row.sequence, row.body) for row in connection.execute(query)))

    @cached_property
    def now(self) -> dict[str, AccountOrigin]:
        """Where each account came from, as it is."""
        return replay(self.entries)

    def before(self, entry: int) -> dict[str, AccountOrigin]:
        """Where each account came from, as it was before an entry."""
        if entry not in self._before:
            self._before[entry] = replay(self.entries, before=entry)
        return self._before[entry]

    def objection(self, asked: Asked, decider: str) -> Objection | None:
        """What speaks against this account as the second; None if nothing does."""
        if decider == asked.asker:
            return Objection(f"You {asked.verb} this yourself.", "own")
        if decider == asked.barred:
            return Objection(asked.about, "about oneself")
        own, other = self.now.get(decider), self.before(asked.entry).get(asked.asker)
        if own is None or other is None:
            whose = "your account" if own is None else f"the account of {asked.asker}"
            return Objection(f"The ledger does not say how {whose} came about.", "account without a history")
        since = own.since
        if since is None or since >= asked.entry:
            where = "" if since is None else f" (entry {since} of the ledger)"
            moment = f"when {asked.asker} {asked.verb} this{where}"
            problem = f"Your account could not be used yet, or not as it is now, {moment}."
            return Objection(problem, "account not older", {"entry": since})
        # Could one person be behind both accounts?
        shared = own.hands.keys() & other.hands.keys()
        if not shared:
            return None
        did = "opened {}, gave out a link to {} or changed {}, directly or through others"
        if asked.asker in shared:
            entry, who = own.hands[asked.asker], f"{asked.asker}, who {asked.verb} this,"
            words = f"{who} {did.format('your account', 'its password', 'its role')} (entry {entry} of the ledger)."
            return Objection(words, "account led to by the asker", {"entry": entry})
        if decider in shared:
            entry, whose = other.hands[decider], f"the account of {asked.asker}, who {asked.verb} this"
            words = f"You {did.format(whose, 'its password', 'its role')} (entry {entry} of the ledger)."
            return Objection(words, "led to the account of the asker", {"entry": entry})
        hand = min(shared)
        first, second, both = own.hands[hand], other.hands[hand], f"both your account and that of {asked.asker}"
        words = (
            f"{hand} {did.format(both, 'their passwords', 'their roles')} (entries {first} and {second} of the ledger)."
        )
        return Objection(words, "accounts led to by one person", {"entry": first, "other": second})

    def view(self, connection: Connection, asked: Asked, decider: str, permission: str) -> Second:
        """What a page says to this account."""
        active = [account for account in accounts.everybody(connection) if account.state == "active"]
        able = [account.name for account in active if permission in GRANTED[account.role]]
        approvers = [name for name in able if self.objection(asked, name) is None]
        next_step = f"It can be approved by {' or '.join(approvers)}."
        if not approvers:
            next_step = (
                f"Nobody can approve it yet: no other account is independent of that of {asked.asker}. An administrator who "
                f"did not open that account can invite a custodian; or the operator of this server can add one (discreet "
                "account add NAME) or make an existing one independent (discreet account link NAME). Then have it "
                f"{asked.verb} again."
            )
        return Second(self.objection(asked, decider), approvers, next_step)


def moment(connection: Connection) -> int:
    """How many entries the ledger has; later ones have no lower number."""
    return int(MerkleTree.read(connection).size)


def require(context: Context, asked: Asked, *, permission: str, event: str, subject: str, **details: Detail) -> None:
    """Refuse, and write down, an approval by an account that is no second person."""
    with context.site.store.reading() as connection:
        second = History.read(connection).view(connection, asked, context.owner.name, permission)
    objection = second.objection
    if objection is not None:
        details = {**details, "why": objection.why, **objection.details}
        raise refuse(context, event, subject, objection.problem, second.next_step, **details)


def refuse(context: Context, event: str, subject: str, problem: str, remedy: str, **details: Detail) -> Problem:
    """Write down that it was tried, and say why not."""
    context.site.ledger.refuse_often(actor=context.owner.name, event=event, subject=subject, details=details)
    return Problem(403, problem, remedy=remedy, title=TITLE)
