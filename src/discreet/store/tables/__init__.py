"""Tables of the store, by room; migrations create them, and a test compares the two."""

from discreet.store.tables import gateway, ledger, linkage, web
from discreet.store.tables.ledger import metadata

__all__ = ["gateway", "ledger", "linkage", "metadata", "web"]
