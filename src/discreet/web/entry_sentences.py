"""Sentences about entries of the ledger."""

from __future__ import annotations

from discreet.ledger import Entry
from discreet.store.gateway_limits import EVERYBODY

PARTS = {
    "dataset": "data set",
    "job": "job",
    "account": "account",
    "release": "release",
    "version": "version",
    "plan": "plan",
    "recipient": "recipient",
    "linkage": "linkage project",
    "worker": "reviewer",
    "pair": "pair",
    "database": "database",
    "user": "user",
    "limit": "limit",
    "study": "study",
    "report": "report",
    "project": "project",
}
"""Parts of a subject in words; others stay as they are."""
VERBS = {
    "ledger.opened": "opened the ledger",
    "ledger.budget": "set the budget of",
    "ledger.rotated": "replaced the key that signs heads",
    "ledger.published": "sent the signed head elsewhere",
    "risk.profiled": "profiled the columns of",
    "risk.assessed": "measured the risk of",
    "attacker.planned": "had an adversary plan an attack on",
    "anonymity.made": "made an anonymised table of",
    "anonymity.published": "downloaded the anonymised table of",
    "releases.planned": "planned",
    "releases.sealed": "sealed",
    "releases.made": "made the copies of",
    "releases.delivered": "handed over the copy of",
    "releases.retired": "retired",
    "releases.sent": "sent the copy of",
    "releases.recalled": "recalled the copy of",
    "releases.deleted": "received proof of deletion of the copy of",
    "releases.traced": "traced a leak to",
    "linkage.project": "worked on",
    "linkage.assigned": "assigned pairs of",
    "linkage.withdrawn": "withdrew pairs of",
    "linkage.consent": "answered the request for consent of",
    "linkage.revealed": "opened a cell of",
    "linkage.exported": "exported",
    "misuse.asked": "asked experts about",
    "misuse.weighed": "made a sensitivity function from",
    "misuse.reduced": "handed over a reduced query result of",
    "gateway.started": "began to watch",
    "gateway.answered": "gave a result to",
    "gateway.repeated": "gave results with nothing new to",
    "gateway.counted": "counted statistics for",
    "gateway.limited": "changed a limit for",
    "web.notified": "notified people of",
    "web.shown": "looked at",
    "web.approved": "approved",
    "web.rejected": "rejected",
    "web.account": "changed",
    "web.dataset": "changed",
    "web.policy": "put a policy in force for",
}
"""What was done, by event, before what it was done to."""
ACTS = {
    "proposed": "proposed",
    "withdrawn": "withdrew",
    "planned": "planned",
    "looked ahead": "previewed",
    "changed": "changed",
    "registered": "added",
    "removed": "removed",
    "lent": "lent",
    "hierarchy": "saved a hierarchy of",
    "exported": "exported",
    "taken": "downloaded",
    "zones": "divided the pairs of",
    "made": "made",
    "invited": "invited",
    "gave a link": "gave out a link to",
    "invited by the operator": "invited, as the operator,",
    "gave a link as the operator": "gave out, as the operator, a link to",
    "set password": "set the password of",
    "closed": "closed",
    "opened again": "reopened",
    "ended sessions": "ended the sessions of",
    "changed password": "changed the password of",
    "made a token": "made a token of",
    "revoked a token": "revoked a token of",
    "set a second factor": "set up a second factor of",
    "removed the second factor": "removed the second factor of",
    "reset the second factor": "reset the second factor of",
    "added a passkey": "added a passkey to",
    "removed a passkey": "removed a passkey of",
    "made recovery codes": "made recovery codes of",
    "came by single sign-on": "signed in for the first time by the provider:",
    "has another role by single sign-on": "has another role from the provider:",
    "proposed a role": "proposed a role for",
    "changed role": "changed the role of",
    "rejected a role": "rejected a role for",
    "withdrew a proposed role": "withdrew the proposal of a role for",
}
"""What was done, where an entry says it more closely."""
REFUSED = {
    "gateway.answered": "was refused a result:",
    "gateway.counted": "was refused statistics:",
    "linkage.revealed": "was refused a cell of",
    "linkage.assigned": "was refused to assign pairs of",
    "web.approved": "was refused to approve",
    "web.rejected": "was refused to reject",
}
"""The same, where the answer was no."""


def sentence(entry: Entry) -> str:
    """What happened, without the person who did it.

    >>> from dataclasses import replace
    >>> entry = Entry.read(EXAMPLE)
    >>> sentence(entry)
    'looked at data set 3, job 7, risk'
    >>> sentence(replace(entry, event="web.account", subject="account:bob", details={"act": "closed"}))
    'closed account bob'
    >>> sentence(replace(entry, event="web.approved", outcome="refused", subject="release:spring/plan:2"))
    'was refused to approve release spring, plan 2'
    """
    act, about = str(entry.details.get("act") or ""), subject_words(entry.subject)
    verb = ACTS.get(act) if entry.event != "web.shown" or act == "exported" else None
    if entry.event == "gateway.limited":
        verb = f"{verb} a limit for" if verb else None
    verb = verb or VERBS.get(entry.event, entry.event)
    if entry.outcome == "refused":
        verb = REFUSED.get(entry.event, f"was refused: {verb}")
    more = entry.details.get("more")
    again = f", {more} more times in a minute" if entry.outcome == "refused" and isinstance(more, int) else ""
    return f"{verb} {about}".strip().rstrip(":") + again


def subject_words(subject: str) -> str:
    """A subject in words, from the general to the particular.

    >>> subject_words("database:clinic/user:*"), subject_words("ledger"), subject_words("notice:limit")
    ('database clinic, all users', 'the ledger', 'limit')
    """
    if subject in ("ledger", ""):
        return "the ledger" if subject else ""
    words = []
    for part in subject.split("/"):
        kind, colon, name = part.partition(":")
        if colon and kind == "user" and name == EVERYBODY:
            words.append("all users")
        else:
            words.append(f"{PARTS.get(kind, '')} {name}".strip() if colon else part)
    return ", ".join(words)


EXAMPLE = (
    '{"actor":"ann","budget":null,"clock":null,"details":{"act":"read"},"event":"web.shown","key":"k","outcome":"done",'
    '"policy":null,"previous":"0","risk_after":null,"risk_before":null,"room":"web","sequence":1,'
    '"subject":"dataset:3/job:7/risk","time":"2026-05-04T09:00:00.000000Z"}'
)
"""An entry, for the examples."""
