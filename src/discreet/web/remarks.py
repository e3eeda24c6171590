"""What a page says after something was done; named in the address, so that a reload says the same."""

from __future__ import annotations

REMARKS = {
    "signed-out": "You are signed out.",
    "signed-out-idle": "You were signed out: a session ends after 15 minutes without use, and 8 hours after signing in. Nothing is lost.",
    "welcome": "Your password is set, and you are signed in.",
    "password": "Your password is changed. You are signed out everywhere else, and your tokens are revoked.",
    "steps-away": "The first steps are put away. “Getting started” at the foot of every page leads back to them.",
    "steps-back": "The first steps stand on the dashboard again.",
    "closed": "The account is closed, and its sessions and tokens have ended.",
    "reopened": "The account is open again.",
    "ended": "All sessions and tokens of the account have ended.",
    "brought": "The data set is here. Its columns are being looked at.",
    "roles": "The roles are saved, and the risk is being measured anew.",
    "roles-only": "The roles are saved. Give at least one column the role quasi, so that the risk can be measured.",
    "policy": "The policy is saved.",
    "hierarchy": "The hierarchy is saved.",
    "population": "The population is saved. Measure the risk again to see what it changes.",
    "removed": "The data set is removed. Its entries in the ledger stay.",
    "cancelled": "The job is cancelled.",
    "moved-on": "That question was answered already, perhaps in another window. This one comes next.",
    "study": "The study has begun. Its experts find it under Sensitivity.",
    "invited": "The experts are invited. They find the study under Sensitivity.",
    "again": "The questions about what is most in dispute are put once more.",
    "agreed": "There is nothing to ask again: nobody differs much.",
    "study-closed": "The study is closed. Nobody answers any more.",
    "study-open": "The study is open again.",
    "version": "The version is kept, and written down in the ledger.",
    "planned": "The plan is kept. What would come of it is being looked at; then another custodian decides.",
    "plan-changed": "The plan is changed. It is looked at anew, and has to be approved anew.",
    "approved": "You approved it. The copies can be made now.",
    "rejected": "You rejected it, and whoever planned it sees why.",
    "withdrawn": "The plan is withdrawn. Its entries in the ledger stay.",
    "retired": "The recipient gets no further copies. A trace can still find the one it had.",
    "traced": "The trace is written into the ledger. Nothing of what was sent was kept.",
    "made": "The project is made: what is sensitive is split off, and pairs are found. Choose next who decides which pairs.",
    "zones": "The pairs are divided anew. Pairs that people have already stay with them.",
    "assigned": "The pairs are given out. Reviewers find them under Linkage.",
    "nothing-assigned": "There is nothing to give out: everybody who was chosen has the pairs, or has had them.",
    "pairs-withdrawn": "What was not decided is taken back. What was seen stays charged.",
    "to-settle": "The disputed pairs are given out to be settled.",
    "nothing-to-settle": "No pair is in dispute.",
    "learning": "The model learns from the decisions. Pairs are scored anew when it has.",
    "project-closed": "The project is closed: nothing more is opened or decided in it.",
    "discarded": "It is discarded, and what was uploaded for it is gone.",
    "decision-undone": "The decision is taken back. What was opened stays open.",
    "nothing-to-undo": "There is no decision to undo.",
    "lent": "The data set is lent: managers of linkage projects can link it.",
    "not-lent": "The data set is not lent any more. Projects that were made from it stay.",
    "limit-proposed": "The limit is proposed. Nothing changes before another custodian approves it.",
    "limit-approved": "The limit is in force. Running gateways take it up within a few seconds.",
    "limit-declined": "You rejected it, and whoever proposed it sees why.",
    "limit-withdrawn": "The proposal is withdrawn. Nothing comes of it.",
    "limit-withdrawal-proposed": "The withdrawal is proposed. The limit holds until another custodian approves that.",
    "limit-withdrawal-declined": "You rejected the withdrawal: the limit holds on, and the custodian who proposed it sees why.",
    "limit-ended": "The limit is withdrawn. Running gateways go back to the policy within a few seconds.",
    "revoked": "The token is revoked. Whoever uses it is refused from now on.",
    "verified": "The ledger is whole: nothing was changed, left out, put in, moved or cut off.",
}
"""Sentences by name."""


def remark(said: str | None) -> str:
    """The sentence; empty for a name that is not ours.

    >>> remark("signed-out"), remark("<b>")
    ('You are signed out.', '')
    """
    return REMARKS.get(said or "", "")
