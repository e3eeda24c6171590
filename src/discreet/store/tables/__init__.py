"""The tables, as statements speak of them, by room. The migrations make them; a test holds the two together."""

from discreet.store.tables import datasets, gateway, ledger, linkage, misuse, releases, studies, web
from discreet.store.tables.base import metadata

__all__ = ["datasets", "gateway", "ledger", "linkage", "metadata", "misuse", "releases", "studies", "web"]
