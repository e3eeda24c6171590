"""What can be written down: every event code and every outcome, in one place. Codes never change their meaning."""

from __future__ import annotations

from discreet.errors import UsageError

EVENTS = {
    "ledger.opened": "the ledger was opened; names it, its format and its signing key",
    "ledger.budget": "a budget was made, or its limit was changed",
    "risk.profiled": "the columns of a table were looked at",
    "risk.assessed": "the risk of publishing a table was measured",
    "attacker.planned": "what an adversary would do to a table was worked out",
    "anonymity.made": "an anonymised table was made; nobody has it yet",
    "anonymity.published": "an anonymised table was handed over",
    "releases.planned": "a release, or further recipients of one, was planned, changed, looked at or withdrawn",
    "releases.sealed": "the sealed manifest of a release was committed to, before delivery",
    "releases.made": "copies of a release were written and lie ready; nobody has them yet",
    "releases.delivered": "a recipient's copy of a release was handed over",
    "releases.retired": "a recipient gets no further copies of a release",
    "releases.traced": "a leak or a re-identification was traced",
    "linkage.project": "a linkage project was registered, changed or closed",
    "linkage.assigned": "pairs were given to a reviewer; what is open in them from the start is charged",
    "linkage.withdrawn": "pairs were taken from a reviewer; what was seen stays charged",
    "linkage.revealed": "characters of a pair of cells were shown to a reviewer",
    "linkage.exported": "a linked, de-identified table, decisions or a disclosure log were handed over",
    "misuse.asked": "experts were asked how sensitive values are",
    "misuse.weighed": "a version of the sensitivity function was made from experts' answers",
    "gateway.started": "a gateway began to watch a database",
    "gateway.answered": "a result set was passed to a database user",
    "gateway.repeated": "results with nothing new for a database user were passed on",
    "gateway.limited": "a limit of a database user, or its withdrawal, was proposed, or the proposal was withdrawn; web.approved puts it in force",
    "web.shown": "a page or file with risk figures or records was shown",
    "web.approved": "a person approved what another had asked for",
    "web.rejected": "a person rejected what another had asked for",
    "web.account": "an account was made, changed or closed",
    "web.dataset": "a data set was registered, changed or removed",
    "web.policy": "a policy was put in force",
}
"""Meaning by code; a code is its room, a dot and what happened."""

OUTCOMES = {
    "done": "it happened, and what it cost is spent",
    "refused": "it did not happen; the budget or a permission said no",
    "reserved": "it may happen: what it costs is held back until it is settled, released or expires",
    "settled": "what was reserved has happened; what it cost is spent, the rest is free again",
    "released": "what was reserved has not happened; all of it is free again",
    "expired": "nobody said what became of it in time; it counts as having happened, all of it is spent",
}
"""Meaning by outcome."""


def room_of(event: str) -> str:
    """The room of an event.

    >>> room_of("linkage.revealed")
    'linkage'
    """
    if event not in EVENTS:
        raise UsageError("There is no such event code.", remedy=f"Use one of: {', '.join(EVENTS)}.")
    return event.partition(".")[0]
