"""Store of all state: one SQLite file by default, PostgreSQL by URL, migrated when it is opened.

Needs the extra `store`. Rooms write through `Store.writing()`, one transaction at a time, and read through
`Store.reading()`; the tables are in `discreet.store.tables`, and rows change state by `discreet.store.transitions`.
"""

from discreet.errors import MissingExtra

try:
    import sqlalchemy as _sqlalchemy  # noqa: F401 - asked for here, so that its absence is said in words
except ImportError:
    raise MissingExtra("store", needed_for="Keeping state (ledger, budgets)") from None

from discreet.store.connection import Address, default_folder
from discreet.store.gateway_limits import Exposures
from discreet.store.gateway_limits import StoredExposure as Kept
from discreet.store.store import Store

__all__ = ["Address", "Exposures", "Kept", "Store", "default_folder"]
