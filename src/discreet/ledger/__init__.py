"""The append-only ledger of disclosures, and budgets with one spender.

Nothing leaves before its entry is on the disk: a room asks the ledger, gets a `Receipt`, and sends only if it grants.
Needs the extra `store`. `discreet.ledger.verifier` is the offline verifier and needs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.ledger.accounts import Budget
    from discreet.ledger.entry import EVENTS, OUTCOMES, Entry
    from discreet.ledger.keys import Keys
    from discreet.ledger.ledger import Ledger
    from discreet.ledger.operations import Receipt, Request
    from discreet.ledger.verifier import Verdict

__all__ = ["EVENTS", "OUTCOMES", "Budget", "Entry", "Keys", "Ledger", "Receipt", "Request", "Verdict"]

# Imported when first used, so that the offline verifier runs without the extra.
_FILES = {
    "EVENTS": "entry",
    "OUTCOMES": "entry",
    "Budget": "accounts",
    "Entry": "entry",
    "Keys": "keys",
    "Ledger": "ledger",
    "Receipt": "operations",
    "Request": "operations",
    "Verdict": "verifier",
}


def __getattr__(name: str) -> Any:
    if name not in _FILES:
        raise AttributeError(f"module 'discreet.ledger' has no attribute '{name}'")
    if _FILES[name] not in ("events", "verifier"):
        importlib.import_module("discreet.store")  # says in words if the extra is missing
    return getattr(importlib.import_module(f"discreet.ledger.{_FILES[name]}"), name)
