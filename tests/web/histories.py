"""Histories of accounts, and the plainest way to tell from one who could be behind an account: going back, step by step.

Independent of `discreet.web.accounts.second_approver`, which goes forward once and keeps sets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["made", "invited", "linked", "role", "used", "closed", "reopened", "signed out", "asked"]
OPERATOR = ""


@dataclass(frozen=True)
class Step:
    """Something that happened to an account; `by` is the account that did it, none for the operator."""

    kind: Kind
    account: str
    by: str = OPERATOR
    proposer: str = ""
    """Of a role that `by` approved."""


History = list[Step]


def offer(history: History, use: int) -> int:
    """The step that made the link which was used in a step: the last one before."""
    account = history[use].account
    return max(at for at in range(use) if history[at].account == account and history[at].kind in ("invited", "linked"))


def is_fresh_start(history: History, at: int) -> bool:
    """Was a link of the operator used?"""
    return history[at].kind == "used" and history[offer(history, at)].by == OPERATOR


def behind(history: History, account: str, now: int) -> set[str]:
    """The account, and every account from which a chain of acts, each later than the one before, leads to it."""
    found = {account}
    for at in reversed([at for at in range(now) if history[at].account == account]):
        step = history[at]
        if is_fresh_start(history, at):
            break
        if step.kind in ("role", "reopened"):
            found |= behind(history, step.by, at)
            if step.proposer:
                found |= behind(history, step.proposer, at)
        elif step.kind == "used":
            made = offer(history, at)
            found |= behind(history, history[made].by, made)
    return found


def usable(history: History, account: str, now: int) -> bool:
    """Could a person sign in with it?"""
    kinds = [step.kind for step in history[:now] if step.account == account]
    open_or_not = [kind for kind in kinds if kind in ("closed", "reopened")]
    return bool({"made", "used"} & set(kinds)) and open_or_not[-1:] != ["closed"]


def older(history: History, account: str, then: int, now: int) -> bool:
    """Could it be used since then without a break, and is it as it was?"""
    changed = any(
        step.account == account and (step.kind == "role" or is_fresh_start(history, at))
        for at, step in enumerate(history[:now])
        if at >= then
    )
    return not changed and all(usable(history, account, at) for at in range(then, now + 1))


def may_approve(history: History, asker: str, then: int, decider: str, now: int) -> bool:
    """What four eyes ask for, said without any cleverness."""
    if asker == decider or not older(history, decider, then, now):
        return False
    return not behind(history, asker, then) & behind(history, decider, now)
